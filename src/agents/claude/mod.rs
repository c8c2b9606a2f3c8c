//! Claude Code: its channel, its hooks, its control protocol, and the process that we hold.

pub(crate) mod channel;
pub(crate) mod control;
pub(crate) mod hooks;
pub(crate) mod process;

/// Whether an `ask` of the hook before a tool reaches somebody in this mode. In the others Claude Code asks nobody.
fn heeds_ask(mode: Option<&str>) -> bool {
    !matches!(mode, Some("bypassPermissions" | "dontAsk"))
}
