//! `portcullis run`: a Claude Code that Portcullis starts and drives itself.

pub(crate) mod api;
mod attach;
mod channels;
mod client_versions;
mod conversation;
mod endings;
mod held;
mod modes;
mod process_exit;
mod prompts;
mod rules;
mod stream;
mod terminal;
mod web_app;
