//! The page in a real Chromium, against the real gate and, where a session is driven, the real Claude Code.

mod access;
mod admin;
mod cards;
mod chinese;
mod deceiving;
mod following;
mod hostile;
mod journey;
mod long;
mod malformed;
mod modes;
mod people;
mod prompts;
mod qr;
mod reach;
mod reading;
mod reads;
mod screens;
mod servers;
mod sessions;
mod sight;
mod site;
mod steady;
mod told;
mod whole;
mod worker;
