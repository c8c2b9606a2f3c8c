//! What is for a session, on its way out of the gate.

use std::pin::pin;

use portcullis_wire::link::{EventFrame, GateMessage, WITH_TAKING_BACK, put_event};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::pace::WakePace;
use crate::hub::outlets::ToSession;
use crate::lines::put_json;
use crate::stream::Writer;

/// As much is put into one write.
const ONE_WRITE: usize = 1 << 20;
/// Bytes of the buffer that are kept between writes.
const KEPT_CAPACITY: usize = 64 << 10;

/// How a process is told of what is for its session.
#[derive(Clone, Copy)]
pub(super) struct LinkForm {
    pub(super) version: u16,
    /// Events as finished lines, where that says all.
    pub(super) lines: bool,
    pub(super) max_context: Option<usize>,
}

/// Writes what is for the session, as much in one write as has come together.
pub(super) async fn write(
    mut writer: Writer,
    mut outgoing: mpsc::Receiver<ToSession>,
    mut answers: mpsc::Receiver<GateMessage<'static>>,
    form: LinkForm,
    pace: WakePace,
) -> anyhow::Result<()> {
    let put = |bytes: &mut Vec<u8>, next: &ToSession| match next {
        // One of before does not know the word.
        ToSession::Message(message)
            if form.version < WITH_TAKING_BACK && matches!(**message, GateMessage::TakeBack { .. }) =>
        {
            Ok(())
        }
        next => put_to_session(bytes, next, form),
    };
    let (mut bytes, mut last) = (Vec::new(), None);
    let mut due = pin!(sleep_until(Instant::now()));
    loop {
        let (mut may_wait, mut waits) = (true, false);
        loop {
            tokio::select! {
                // An attach is answered behind what stands for the session already, such as a stop.
                biased;
                next = outgoing.recv() => match next {
                    Some(next) => {
                        may_wait &= matches!(next, ToSession::Event(..));
                        put(&mut bytes, &next)?;
                    }
                    // The hub let go of this process: it fell behind, or another took its place.
                    None => return Ok(writer.shutdown().await?),
                },
                Some(answer) = answers.recv() => {
                    may_wait = false;
                    put_json(&mut bytes, &answer)?;
                }
                () = &mut due, if waits => waits = false,
            }
            while bytes.len() < ONE_WRITE
                && let Ok(next) = outgoing.try_recv()
            {
                may_wait &= matches!(next, ToSession::Event(..));
                put(&mut bytes, &next)?;
            }
            while let Ok(answer) = answers.try_recv() {
                may_wait = false;
                put_json(&mut bytes, &answer)?;
            }
            if !may_wait || bytes.len() >= ONE_WRITE {
                break;
            }
            if !waits {
                let Some(until) = pace.wait_until(last) else { break };
                due.as_mut().reset(until);
                waits = true;
            }
        }
        writer.write_all(&bytes).await?;
        last = Some(Instant::now());
        bytes.clear();
        // What one large event needed is not kept for the small ones.
        bytes.shrink_to(KEPT_CAPACITY);
    }
}

fn put_to_session(bytes: &mut Vec<u8>, outgoing: &ToSession, form: LinkForm) -> std::io::Result<()> {
    match outgoing {
        ToSession::Event(held, also) => {
            // About what it takes in quotes, so that what is large need not move while it is written.
            let size = held.event.text.len().min(form.max_context.unwrap_or(usize::MAX));
            bytes.reserve(size + size / 8 + 512);
            let frame = EventFrame { also: also.clone(), ..EventFrame::of(held, form.max_context) };
            if form.lines { Ok(put_event(bytes, frame)?) } else { put_json(bytes, &GateMessage::Event(frame)) }
        }
        ToSession::Message(message) => put_json(bytes, message),
    }
}
