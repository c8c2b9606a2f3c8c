//! What a terminal sends: lines that are typed, and signals.

use std::sync::{Arc, Mutex};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, retry_on_intr};
use rustix::termios::{QueueSelector, tcflush};
use tokio::signal::unix::Signal;
use tokio::sync::mpsc;

use crate::locks::locked;

/// What is typed, line by line. The thread that reads ends with the process.
pub(crate) struct TypedLines {
    lines: mpsc::Receiver<(u64, String)>,
    begun: Arc<Mutex<Begun>>,
}

/// A line that has begun. Whoever reads from the terminal, or empties it, holds the lock: a line belongs to one time.
#[derive(Default)]
struct Begun {
    /// Grows whenever what was typed no longer counts.
    time: u64,
    bytes: Vec<u8>,
}

impl TypedLines {
    pub(crate) fn of_stdin() -> Self {
        let (send, lines) = mpsc::channel(16);
        let begun = Arc::<Mutex<Begun>>::default();
        let reading = Arc::clone(&begun);
        std::thread::spawn(move || {
            while let Ok(typed) = read_some(&reading) {
                for line in typed {
                    if send.blocking_send(line).is_err() {
                        return;
                    }
                }
            }
        });
        Self { lines, begun }
    }

    /// The next line; none when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            let (time, line) = self.lines.recv().await?;
            if time == locked(&self.begun).time {
                return Some(line);
            }
        }
    }

    /// Drops what was typed so far, also a line that has only begun: it was meant for something that is no longer shown.
    pub(crate) fn forget(&mut self) {
        let mut begun = locked(&self.begun);
        begun.time += 1;
        begun.bytes.clear();
        // Where it is no terminal, there is nothing to flush.
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    }
}

/// Waits for input and takes it. An error when there will be no more.
fn read_some(begun: &Mutex<Begun>) -> Result<Vec<(u64, String)>, Errno> {
    let stdin = std::io::stdin();
    let is_there = |timeout: Option<&Timespec>| {
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        retry_on_intr(|| poll(&mut polled, timeout))
    };
    is_there(None)?;
    let mut begun = locked(begun);
    // It may have been dropped before the lock was free, and a read would wait for the next line with it.
    if is_there(Some(&Timespec::default()))? == 0 {
        return Ok(vec![]);
    }
    let mut buffer = [0; 4096];
    let count = retry_on_intr(|| read(&stdin, &mut buffer))?;
    if count == 0 && begun.bytes.is_empty() {
        return Err(Errno::PIPE);
    }
    begun.bytes.extend_from_slice(&buffer[..count]);
    let whole = match begun.bytes.iter().rposition(|byte| *byte == b'\n') {
        _ if count == 0 => begun.bytes.len(),
        Some(end) => end + 1,
        None => 0,
    };
    let time = begun.time;
    let lines: Vec<u8> = begun.bytes.drain(..whole).collect();
    let lines = lines.split_inclusive(|byte| *byte == b'\n');
    Ok(lines.map(|line| (time, String::from_utf8_lossy(line).into_owned())).collect())
}

/// The next line; none when there will be no more. Waits for ever where nobody types.
pub(super) async fn next_line(typed: &mut Option<TypedLines>) -> Option<String> {
    match typed {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}

/// Returns at each signal.
pub(super) async fn received(signals: &mut Signal) {
    if signals.recv().await.is_none() {
        std::future::pending::<()>().await;
    }
}
