//! A permission prompt all the way round: the client asks, a person sees it, answers, and the client knows.

use std::time::Instant;

use anyhow::ensure;
use serde_json::{Value, json};

use super::{Run, speed};
use crate::contenders::Server;
use crate::http::{self, Connection, post};
use crate::table::quantile;

pub(crate) fn round_trip(run: &mut Run) -> anyhow::Result<()> {
    let count = run.count(500, 150);
    let mut asked = 0;
    run.rounds(speed::warm, |table, place, server| {
        let times = prompts(server, asked, count)?;
        asked += count;
        table.note("permission p50", "µs", place, quantile(&times, 0.5));
        table.note("permission p99", "µs", place, quantile(&times, 0.99));
        Ok(())
    })
}

/// Microseconds from the client's question to its answer, for each prompt.
fn prompts(server: &mut Server, first: usize, count: usize) -> anyhow::Result<Vec<f64>> {
    let mut listener = Connection::open(server.address)?;
    listener.send(&http::listen(server.address))?;
    listener.until(b": connected\n\n")?;
    let mut reviewer = Connection::open(server.address)?;
    let mut times = vec![];
    for number in first..first + count {
        let code = code(number);
        let preview = json!({"command": "cargo build --release", "description": "Build it"}).to_string();
        let request =
            json!({"request_id": code, "tool_name": "Bash", "description": "Build it", "input_preview": preview});
        let start = Instant::now();
        server.session.tell("notifications/claude/channel/permission_request", &request)?;
        listener.until(format!("yes {code}\"").as_bytes())?;
        reviewer.send(&post(server.address, "/", &format!("yes {code}")))?;
        let line = server.session.line()?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        reviewer.answered()?;
        let verdict: Value = serde_json::from_slice(&line)?;
        let wanted = json!({"request_id": code, "behavior": "allow"});
        let method = &verdict["method"];
        ensure!(method == "notifications/claude/channel/permission" && verdict["params"] == wanted, "got {verdict}");
    }
    Ok(times)
}

/// Five letters without l, another for each number.
pub(super) fn code(number: usize) -> String {
    const LETTERS: &[u8; 25] = b"abcdefghijkmnopqrstuvwxyz";
    (0..5).rev().map(|place| char::from(LETTERS[number / 25_usize.pow(place) % 25])).collect()
}
