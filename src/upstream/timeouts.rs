//! How long things may take, by the variables that Claude Code documents for it.

use std::time::Duration;

use super::config::ServerEntry;

/// Of one process; a server's own `timeout` comes on top.
#[derive(Clone, Debug)]
pub(crate) struct Timeouts {
    /// `MCP_TIMEOUT`: from the start of a connection to the server's answer.
    pub(crate) connect: Duration,
    /// `MCP_TOOL_TIMEOUT`: one call, whatever progress it reports.
    tool: Duration,
    /// `CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT`: one call without any progress. None has the usual of its transport.
    idle: Option<Duration>,
    /// `MCP_SERVER_CONNECTION_BATCH_SIZE`: servers that are started at once.
    pub(crate) local_connects: usize,
    /// `MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE`: servers that are reached at once.
    pub(crate) remote_connects: usize,
}

/// How long one call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallTimes {
    pub(crate) whole: Duration,
    /// Begins anew with each progress; none for no such limit.
    pub(crate) idle: Option<Duration>,
}

const SECOND: Duration = Duration::from_secs(1);

impl Timeouts {
    pub(crate) fn read(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| variable(name).and_then(|value| value.trim().parse::<u64>().ok());
        let time = |name: &str| number(name).map(Duration::from_millis);
        let count = |name: &str, usual: usize| {
            number(name)
                .and_then(|count| usize::try_from(count).ok())
                .filter(|count| (1..=1000).contains(count))
                .unwrap_or(usual)
        };
        Self {
            connect: time("MCP_TIMEOUT").filter(|time| !time.is_zero()).unwrap_or(30 * SECOND),
            tool: time("MCP_TOOL_TIMEOUT").map_or(100_000 * SECOND, |time| time.max(SECOND)),
            idle: time("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT"),
            local_connects: count("MCP_SERVER_CONNECTION_BATCH_SIZE", 3),
            remote_connects: count("MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", 20),
        }
    }

    /// For a call of a tool of this server.
    pub(crate) fn of_call(&self, entry: &ServerEntry) -> CallTimes {
        let whole = entry.timeout.unwrap_or(self.tool);
        let usual = if entry.endpoint.is_local() { 1800 * SECOND } else { 300 * SECOND };
        let idle = match self.idle {
            Some(off) if off.is_zero() => return CallTimes { whole, idle: None },
            Some(idle) => idle.max(SECOND),
            None => usual,
        };
        // A server that was given more time is not given up earlier for its silence.
        let idle = idle.max(entry.timeout.unwrap_or_default()).min(whole);
        CallTimes { whole, idle: Some(idle) }
    }

    /// How long an HTTP request waits for the first byte of its answer.
    pub(crate) fn of_request(&self, entry: &ServerEntry) -> Duration {
        let usual = 60 * SECOND;
        let wanted =
            entry.timeout.unwrap_or_default().max(if self.tool < 100_000 * SECOND { self.tool } else { usual });
        wanted.max(usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn times(variables: &[(&str, &str)], entry: &serde_json::Value) -> (u64, Option<u64>, u64) {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let entry = super::super::config::entry_of_test(entry);
        let timeouts = Timeouts::read(&find);
        let call = timeouts.of_call(&entry);
        (call.whole.as_secs(), call.idle.map(|idle| idle.as_secs()), timeouts.of_request(&entry).as_secs())
    }

    #[test]
    fn the_documented_variables_and_the_servers_own_time_count() {
        let (stdio, http) = (json!({"command": "a"}), json!({"type": "http", "url": "http://a"}));
        assert_eq!(times(&[], &stdio), (100_000, Some(1800), 60));
        assert_eq!(times(&[], &http), (100_000, Some(300), 60));
        assert_eq!(times(&[("MCP_TOOL_TIMEOUT", "10")], &http), (1, Some(1), 60));
        assert_eq!(times(&[("MCP_TOOL_TIMEOUT", "600000")], &http), (600, Some(300), 600));
        assert_eq!(times(&[("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", "0")], &http), (100_000, None, 60));
        let slow = json!({"type": "http", "url": "http://a", "timeout": 900_000});
        assert_eq!(times(&[], &slow), (900, Some(900), 900));
    }
}
