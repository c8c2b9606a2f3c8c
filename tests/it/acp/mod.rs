//! `portcullis acp`: editors drive Claude Code, beside the npm adapter, with every frame held against the published schema.

mod acpx;
pub(crate) mod agent;
mod clients;
mod comparison;
mod conversations;
mod desk;
pub(crate) mod editor;
mod editor_tools;
mod events;
mod failures;
pub(crate) mod frames;
mod left_behind;
mod life;
mod messages;
mod observed;
pub(crate) mod schema;
mod script;
mod sdk;
mod starting;
mod surface;
mod terminals_end;
mod told_by_client;
mod trust;
mod user_settings;
mod withdrawn;
