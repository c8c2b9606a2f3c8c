//! `portcullis acp`: editors drive Claude Code, beside the npm adapter, with every frame held against the published schema.

mod agent;
mod clients;
mod comparison;
mod desk;
mod editor;
mod editor_tools;
mod events;
mod frames;
mod life;
mod observed;
mod schema;
mod script;
mod sdk;
mod surface;
