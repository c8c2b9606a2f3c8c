//! What was sent and what came out: every event once, in the order of its connection, byte for byte.

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use std::borrow::Cow;

/// Counts what each connection has sent, and checks what the session was given.
pub(crate) struct Ledger {
    size: usize,
    sent: Vec<u64>,
    received: Vec<u64>,
}

impl Ledger {
    pub(crate) fn new(connections: usize, size: usize) -> Self {
        Self { size, sent: vec![0; connections], received: vec![0; connections] }
    }

    /// The text of the connection's next event.
    pub(crate) fn next(&mut self, connection: usize) -> String {
        let text = text(connection, self.sent[connection], self.size);
        self.sent[connection] += 1;
        text
    }

    /// Takes a line of the session's input into account; it has to be an event.
    pub(crate) fn take(&mut self, line: &[u8]) -> anyhow::Result<()> {
        let shown = || String::from_utf8_lossy(&line[..line.len().min(400)]).into_owned();
        let event: Line<'_> = serde_json::from_slice(line).with_context(|| format!("no event: {}", shown()))?;
        ensure!(event.method == "notifications/claude/channel", "no event: {}", shown());
        let content = event.params.content;
        let mut words = content.split(' ');
        let connection: usize = words.next().context("no text")?.parse().context("whose event is it?")?;
        let number: u64 = words.next().context("no text")?.parse().context("which event is it?")?;
        let expected = self.received.get_mut(connection).context("nobody sent that")?;
        if number != *expected {
            bail!("connection {connection}: event {number} came where {expected} was next");
        }
        ensure!(content == text(connection, number, self.size), "not as it was sent: {}", shown());
        *expected += 1;
        Ok(())
    }

    /// Nothing is missing.
    pub(crate) fn close(&self) -> anyhow::Result<()> {
        ensure!(self.sent == self.received, "sent {:?}, received {:?}", self.sent, self.received);
        Ok(())
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// As a program would send it: mostly plain, with something to escape here and there.
fn text(connection: usize, number: u64, size: usize) -> String {
    const PATTERN: &str = "build of \"main\" failed on <b>linux</b>:\n\té at line 7, see C:\\logs ";
    let mut text = format!("{connection} {number} ");
    while text.len() < size {
        text.push_str(PATTERN);
    }
    text.truncate(text.floor_char_boundary(size));
    text
}
