//! The people at a session that Portcullis drives. A front knows two types: what it is told, and what it wants.
//!
//! `launch` starts a session and gives the front that wanted it both ends. `fanout` stands between the driver and the
//! fronts: any number of others join by the socket of the session's process (`listen`) and leave again (`attach`).

pub(crate) mod acp;
mod attach;
mod elsewhere;
mod fanout;
mod frames;
mod held;
mod launch;
mod listen;
mod recent;
mod standing;
pub(crate) mod terminal;
mod unasked;

pub(crate) use crate::agents::claude::control::{Told, Untold};
pub(crate) use attach::{Attached, Ending, find};
pub(crate) use launch::{LaunchOptions, Launched, SpareAgent, expected_mode, label, launch};
pub(crate) use unasked::unasked;
