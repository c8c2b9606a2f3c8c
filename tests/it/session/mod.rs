//! A session at the gate: the channel protocol, the link between channel and gate, events, verdicts and the model's tools.

mod agent_privileges;
mod channel_protocol;
mod event_lifecycle;
mod link_client;
mod link_server;
mod local_trust;
mod multiple_sessions;
mod names;
mod real_cli;
mod scenarios;
mod stream;
mod tools;
mod unknown_starter;
mod verdicts;
