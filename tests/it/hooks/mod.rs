//! Claude Code's hooks: called by the tests as Claude Code calls them, and by the real interactive CLI.

mod adversary;
mod command;
mod confirmed;
mod events;
mod failures;
mod held;
mod modes;
mod namesake;
mod outside;
mod outside_real_cli;
mod over_http;
mod prompts;
mod rules;
mod scopes;
mod sessions;
mod stream;
mod tool_events;
mod tool_prompts;
mod unreadable;
mod usurped;
