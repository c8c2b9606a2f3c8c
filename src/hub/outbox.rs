//! What must go out through a connector, read from the journal behind the connector's cursor. Nothing is lost, and a slow
//! platform is waited for: unlike a watcher, an outbox is never cut off, because nothing is held for it in memory.
//!
//! The cursor is a record. It is written after the platform has taken what stands before it, so that after a crash some
//! items come again, under the same ids.

mod items;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use portcullis_core::{ConnectorName, Input, Moment, Record, SentMessage, Subject};
use tokio::sync::watch;

pub(crate) use items::{Item, ItemContent, ItemId, Recipient};

use super::run::read_record;
use super::{Hub, Trouble, now};
use crate::store::Seq;

/// Items that are handed out and not yet taken, at most.
const WINDOW: usize = 64;
/// Records read from the journal at once.
const PAGE: usize = 500;
/// The cursor is written when so many items were taken since, or when there is nothing else to do.
const BEHIND: usize = 64;
/// It is also written when so many records concerned nobody, so that they are not read again at the next start.
const FAR: u64 = 10_000;
/// What waited longer than this is passed over: a connector that was off for weeks does not flood its platform.
const OLDEST: Duration = Duration::from_secs(7 * 24 * 3600);

pub(crate) struct Outbox {
    hub: Hub,
    connector: ConnectorName,
    /// Changes when something may have come.
    more: watch::Receiver<()>,
    /// The journal has been read up to here.
    read: Seq,
    /// The cursor as the journal has it.
    written: u64,
    /// What concerns the connector and is not yet taken, in the order of the journal.
    open: BTreeMap<Seq, Open>,
    /// Items that are made and not yet handed out.
    ready: VecDeque<Item>,
    /// Items taken since the cursor was written, and the platform's names for them.
    unwritten: usize,
    messages: Vec<SentMessage>,
}

/// One record that concerns the connector.
struct Open {
    record: Record,
    /// The items made of it that are not yet taken; none before they are made.
    waiting: Option<BTreeSet<ItemId>>,
    taken: BTreeSet<ItemId>,
}

impl Outbox {
    /// A connector that runs for the first time begins with what comes from now on.
    pub(crate) async fn open(hub: Hub, connector: ConnectorName) -> Result<Self, Trouble> {
        let more = hub.outgoing();
        let name = connector.clone();
        let position = hub.look(move |state| state.connector(&name)?.position).await?;
        let position = match position {
            Some(position) if position > 0 => position,
            _ => {
                let first = Input::Taken { connector: connector.clone(), position: 0, messages: vec![] };
                hub.submit(first).await?;
                let records = hub.story(Subject::Connector(connector.clone())).await?;
                records.first().map_or(0, |first| first.seq.0)
            }
        };
        Ok(Self {
            hub,
            connector,
            more,
            read: Seq(position),
            written: position,
            open: BTreeMap::new(),
            ready: VecDeque::new(),
            unwritten: 0,
            messages: vec![],
        })
    }

    /// The next item, as soon as there is one. While [`WINDOW`] items are not taken there is none. May be dropped while
    /// waiting without losing anything.
    pub(crate) async fn next(&mut self) -> Result<Item, Trouble> {
        loop {
            self.more.mark_unchanged();
            if let Some(item) = self.try_next().await? {
                return Ok(item);
            }
            self.more.changed().await.map_err(|_| Trouble::Stopping)?;
        }
    }

    /// The next item, if there is one by now. If there is none, all that was taken is on the record.
    pub(crate) async fn try_next(&mut self) -> Result<Option<Item>, Trouble> {
        loop {
            if self.unwritten >= BEHIND {
                self.write_cursor().await?;
            }
            if let Some(item) = self.ready.pop_front() {
                return Ok(Some(item));
            }
            let unmade = self.open.iter().find(|(_, open)| open.waiting.is_none()).map(|(seq, _)| *seq);
            match unmade {
                _ if self.handed_out() >= WINDOW => break,
                Some(seq) => self.make_items(seq).await?,
                None if self.read_on().await? => {}
                None => break,
            }
        }
        self.write_cursor().await?;
        Ok(None)
    }

    /// The platform has the item, under this name of its own if it gives one. False when nobody waits for it: it was
    /// taken before.
    pub(crate) fn taken(&mut self, id: &ItemId, message: Option<String>) -> bool {
        let Some(open) = self.open.get_mut(&id.seq) else { return false };
        if !open.waiting.as_mut().is_some_and(|waiting| waiting.remove(id)) {
            return false;
        }
        open.taken.insert(id.clone());
        self.unwritten += 1;
        if let Some((about, message)) = items::about(&open.record).zip(message) {
            self.messages.push(SentMessage { about, user: id.user.clone(), message });
        }
        if open.waiting.as_ref().is_some_and(BTreeSet::is_empty) {
            self.open.remove(&id.seq);
        }
        true
    }

    /// The connection to the platform broke: what it has not taken comes again.
    pub(crate) fn rewind(&mut self) {
        self.ready.clear();
        for open in self.open.values_mut() {
            open.waiting = None;
        }
    }

    /// Writes down how far the platform has taken everything.
    pub(crate) async fn write_cursor(&mut self) -> Result<(), Trouble> {
        let position = self.open.keys().next().map_or(self.read.0, |first| first.0 - 1);
        let is_due = !self.messages.is_empty()
            || self.unwritten > 0 && position > self.written
            || position >= self.written + FAR;
        if is_due {
            // Stopped in the middle of this, the same is submitted again, and changes nothing then.
            let messages = self.messages.clone();
            self.hub.submit(Input::Taken { connector: self.connector.clone(), position, messages }).await?;
            self.written = position;
            self.messages.clear();
        }
        self.unwritten = 0;
        Ok(())
    }

    fn handed_out(&self) -> usize {
        self.open.values().filter_map(|open| open.waiting.as_ref()).map(BTreeSet::len).sum()
    }

    /// Reads a page of the journal; false when there is none.
    async fn read_on(&mut self) -> Result<bool, Trouble> {
        let page = self.hub.page(self.read, PAGE).await?;
        let Some(last) = page.last().map(|stored| stored.seq) else { return Ok(false) };
        let oldest = Moment(now().0.saturating_sub(OLDEST.as_millis() as u64));
        let mut passed_over = 0;
        for stored in page.iter().filter(|stored| items::may_go_out(stored)) {
            let record = read_record(stored).map_err(|error| Trouble::Journal(format!("{error:#}")))?;
            match items::concerns(&record, &self.connector) {
                true if Moment(stored.at) < oldest => passed_over += 1,
                true => {
                    self.open.insert(stored.seq, Open { record, waiting: None, taken: BTreeSet::new() });
                }
                false => {}
            }
        }
        if passed_over > 0 {
            tracing::warn!(connector = %self.connector, passed_over, "what waited for more than a week does not go out");
        }
        self.read = last;
        Ok(true)
    }

    /// Makes the items of a record, for those whom it concerns by now.
    async fn make_items(&mut self, seq: Seq) -> Result<(), Trouble> {
        let Some(open) = self.open.get(&seq) else { return Ok(()) };
        let mut items = items::of_record(&self.hub, &self.connector, seq, &open.record).await?;
        let Some(open) = self.open.get_mut(&seq) else { return Ok(()) };
        items.retain(|item| !open.taken.contains(&item.id));
        // What the platform has just taken is known here before it is on the record.
        let about = items::about(&open.record);
        for item in items.iter_mut().filter(|item| item.message.is_none()) {
            let same = |sent: &&SentMessage| Some(sent.about) == about && sent.user == item.id.user;
            item.message = self.messages.iter().find(same).map(|sent| sent.message.clone());
        }
        if items.is_empty() {
            self.open.remove(&seq);
            return Ok(());
        }
        open.waiting = Some(items.iter().map(|item| item.id.clone()).collect());
        self.ready.extend(items);
        Ok(())
    }
}

impl Hub {
    /// What tells of replies and prompts, to be followed by a connector.
    fn outgoing(&self) -> watch::Receiver<()> {
        self.outgoing.subscribe()
    }
}
