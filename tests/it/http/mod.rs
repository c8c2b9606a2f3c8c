//! The HTTP API: who may call it, what each request answers, and the streams.

mod api;
mod attributes;
mod devices;
mod errors;
mod files;
mod guard;
mod idempotency;
mod people;
mod plain_post;
mod post;
mod push;
mod replies;
mod routes;
mod secret_masking;
mod token_scopes;
mod tokens;
mod walkthrough;
