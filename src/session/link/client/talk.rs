//! What is said on one connection to the gate, in both directions.

use std::sync::atomic::Ordering;

use anyhow::Context as _;
use bytes::{BufMut as _, Bytes, BytesMut};
use portcullis_core::{AskId, EventId};
use portcullis_wire::link::{Answered, EventFrame, GateMessage, LineHead, Numbered, SessionMessage};
use portcullis_wire::stream::StreamBatch;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use super::{Delivery, FinishedEvent, LinkClient, MESSAGES, QueuedMessage, SHORTEST_PAUSE, VERDICTS};
use crate::lines::{Line, Lines, put_json};
use crate::session::ring::StreamRing;
use crate::stream::{Reader, Writer};

impl LinkClient {
    pub(super) async fn talk(
        &mut self,
        lines: &mut Lines<Reader>,
        outgoing: &mpsc::Sender<BytesMut>,
    ) -> anyhow::Result<()> {
        while !self.ended {
            tokio::select! {
                line = lines.next_whole() => {
                    // It stopped, or was killed: the next attempt finds another, or says why not.
                    let Some(line) = line? else { return Ok(()) };
                    self.hear(&line)?;
                    while let Some(Line::Whole(line)) = lines.buffered() {
                        self.hear(&line)?;
                    }
                }
                // A place first: who waits for the gate to read must go on reading, or both would wait for ever.
                (place, said) = next_message(outgoing, &mut self.messages), if self.unconfirmed.len() < MESSAGES => {
                    let mut bytes = BytesMut::new();
                    self.say(&mut bytes, said)?;
                    while let Ok(said) = self.messages.try_recv() {
                        self.say(&mut bytes, Some(said))?;
                    }
                    place.context("the gate went away")?.send(bytes);
                }
                (place, batch) = next_batch(outgoing, &self.stream) => {
                    self.said += 1;
                    let mut bytes = BytesMut::new();
                    let message = SessionMessage::Streamed(Box::new(batch));
                    put_json((&mut bytes).writer(), &Numbered { n: self.said, message: &message })?;
                    place.context("the gate went away")?.send(bytes);
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, bytes: &mut BytesMut, said: Option<QueuedMessage>) -> std::io::Result<()> {
        let Some(n) = self.note(said) else { return Ok(()) };
        self.refuse_unknown();
        match self.unconfirmed.get(&n) {
            Some((message, _)) => put_json(bytes.writer(), &Numbered { n, message }),
            None => Ok(()),
        }
    }

    fn hear(&mut self, message: &Bytes) -> anyhow::Result<()> {
        if let Some((LineHead { id, .. }, line)) = LineHead::of_message(message) {
            let line = message.slice_ref(line.as_bytes());
            self.deliver.try_send(Delivery::Line(FinishedEvent { id, line })).context("handing on an event")?;
            self.holding.insert(id);
            return Ok(());
        }
        match serde_json::from_slice(message)? {
            GateMessage::Event(frame) => self.hear_event(frame)?,
            // One with names that have to be unquoted.
            GateMessage::Line(line) => self.hear_event(line.frame()?)?,
            GateMessage::Verdict { ask, origin, source, ruling, at } => {
                self.settled(ask, at, Delivery::Verdict { ask, origin, source, ruling })?;
            }
            GateMessage::Closed { ask, source, .. } => self.settled(ask, None, Delivery::Closed { ask, source })?,
            GateMessage::Order { id, order } => {
                self.deliver.try_send(Delivery::Order { id, order }).context("handing on an order")?;
            }
            GateMessage::Outside { sender } => {
                self.deliver.try_send(Delivery::Outside { sender }).context("handing on who was read")?;
            }
            GateMessage::TakeBack { event } => {
                self.deliver.try_send(Delivery::TakeBack { event }).context("handing on what is taken back")?;
                self.holding.retain(|held| *held != event);
            }
            GateMessage::Look { look, after, at_once } => self.stream.look(look, after, at_once),
            GateMessage::LookAway { look } => self.stream.look_away(look),
            GateMessage::Done { n, answer } => {
                self.confirmed(n, answer)?;
                if n == self.attach_number {
                    self.attached.store(true, Ordering::Relaxed);
                    self.deliver.try_send(Delivery::Attached).context("handing on the attach")?;
                }
                // The gate takes what it is told: only now is it well.
                self.pause = SHORTEST_PAUSE;
            }
        }
        Ok(())
    }

    fn hear_event(&mut self, frame: EventFrame<'_>) -> anyhow::Result<()> {
        let ids: Vec<EventId> = frame.ids().collect();
        self.deliver.try_send(Delivery::Event(frame.into_owned())).context("handing on an event")?;
        self.holding.extend(ids);
        Ok(())
    }

    /// What settles an ask is handed on once, however often it is sent.
    fn settled(&mut self, ask: AskId, at: Option<u64>, delivery: Delivery) -> anyhow::Result<()> {
        if self.verdicts.iter().any(|(handed, _)| *handed == ask) {
            return Ok(());
        }
        self.deliver.try_send(delivery).context("handing on a verdict")?;
        self.verdicts.push_back((ask, at));
        if self.verdicts.len() > VERDICTS {
            self.verdicts.pop_front();
        }
        Ok(())
    }

    fn confirmed(&mut self, n: u64, answer: Answered) -> anyhow::Result<()> {
        match (self.unconfirmed.remove(&n), answer) {
            // Nobody waits for it, so nobody would say it again: keep it, and attach anew.
            (Some((message, None)), Answered::Refused(fault)) => {
                self.unconfirmed.insert(n, (message, None));
                anyhow::bail!("{}", fault.in_words());
            }
            (Some((_, Some(reply))), answer) => drop(reply.send(answer)),
            _ => {}
        }
        Ok(())
    }
}

type Place<'a> = Result<mpsc::Permit<'a, BytesMut>, mpsc::error::SendError<()>>;

/// What the process says next, once there is a place for it on the way to the gate. May be dropped while waiting.
async fn next_message<'a>(
    outgoing: &'a mpsc::Sender<BytesMut>,
    messages: &mut mpsc::Receiver<QueuedMessage>,
) -> (Place<'a>, Option<QueuedMessage>) {
    let place = outgoing.reserve().await;
    (place, messages.recv().await)
}

/// The next entries for someone who looks, once there is a place for them. May be dropped while waiting.
async fn next_batch<'a>(outgoing: &'a mpsc::Sender<BytesMut>, stream: &StreamRing) -> (Place<'a>, StreamBatch) {
    let place = outgoing.reserve().await;
    (place, stream.next_batch().await)
}

pub(super) async fn write(mut writer: Writer, mut frames: mpsc::Receiver<BytesMut>) -> std::io::Result<()> {
    while let Some(mut bytes) = frames.recv().await {
        while let Ok(more) = frames.try_recv() {
            bytes.unsplit(more);
        }
        writer.write_all_buf(&mut bytes).await?;
    }
    writer.shutdown().await
}
