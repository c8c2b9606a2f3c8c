//! The owner's own command, run when a prompt has waited for some time, a session is over, or a reply came.
//!
//! What happens is read from the journal, in its order. A prompt whose command has done its work is on the record, so that
//! a gate that is started again does not call for it a second time. Replies and ends of sessions from before the start are
//! not told again.

mod command;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use portcullis_core::{Ask, AskId, ConnectorName, Input, Moment, Record, SentAbout, SentMessage};
use portcullis_wire::api::SessionView;
use portcullis_wire::notify::{Alert, NotifyView};
use portcullis_wire::sentence::{Names, sentence};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::config::NotifyTable;
use crate::fixed;
use crate::hub::{Hub, Seq, Trouble, now, read_record};

/// So many commands run at once.
const AT_ONCE: usize = 4;
/// So many wait for their turn; what comes then is counted, and told as one.
const QUEUE: usize = 32;
/// Records read from the journal at once.
const PAGE: usize = 500;
/// After so long a journal that could not be read is read again.
const AGAIN: Duration = Duration::from_secs(5);
/// The name under which the journal keeps which prompts were told.
const NAME: &str = "notify";

/// What one run of the command was about, and whether it did its work.
type Finished = (Option<AskId>, Result<(), String>);

struct Notifier {
    hub: Hub,
    command: Arc<[String]>,
    names: Names,
    /// Prompts that are open and not yet told, by when they will be.
    waiting: BTreeMap<(Moment, AskId), Ask>,
    queue: VecDeque<(Option<AskId>, Alert)>,
    /// What found no place in the queue.
    more: u64,
    running: JoinSet<Finished>,
    view: NotifyView,
    told: watch::Sender<Option<NotifyView>>,
}

/// Starts it where a command is configured. What the receiver has is for `status`.
pub(super) fn start(
    table: &NotifyTable,
    hub: &Hub,
    stop: &CancellationToken,
) -> (watch::Receiver<Option<NotifyView>>, Option<tokio::task::JoinHandle<()>>) {
    let Some(program) = table.command.first() else { return (watch::channel(None).1, None) };
    let view = NotifyView { command: program.clone(), ..NotifyView::default() };
    let (told, view_of) = watch::channel(Some(view.clone()));
    let notifier = Notifier {
        hub: hub.clone(),
        command: table.command.clone().into(),
        names: Names::default(),
        waiting: BTreeMap::new(),
        queue: VecDeque::new(),
        more: 0,
        running: JoinSet::new(),
        view,
        told,
    };
    let (after, stop) = (fixed::wait("NOTIFY_AFTER", table.after), stop.clone());
    let task = tokio::spawn(async move {
        tokio::select! {
            ended = notifier.run(after) => if let Err(error) = ended {
                tracing::error!("the command of [notify] is no longer run: {error:#}");
            },
            // Dropping the notifier kills what still runs.
            () = stop.cancelled() => {}
        }
    });
    (view_of, Some(task))
}

impl Notifier {
    async fn run(mut self, after: Duration) -> anyhow::Result<()> {
        let mut appended = self.hub.appended();
        let mut read = self.begin(after).await?;
        loop {
            appended.mark_unchanged();
            let again = match self.read_on(&mut read, after).await {
                Ok(()) => None,
                Err(Trouble::Stopping) => return Err(Trouble::Stopping.into()),
                Err(trouble) => {
                    self.note_failure(match trouble {
                        Trouble::Journal(why) => format!("the journal could not be read: {why}"),
                        other => other.to_string(),
                    });
                    Some(AGAIN)
                }
            };
            self.call_for_the_due();
            self.run_some();
            let due = self.waiting.keys().next().map(|(due, _)| Duration::from_millis(due.since(now())));
            let next = due.into_iter().chain(again).min();
            tokio::select! {
                changed = appended.changed() => changed?,
                Some(finished) = self.running.join_next() => self.finished(finished).await,
                () = tokio::time::sleep(next.unwrap_or(Duration::from_secs(3600))) => {}
            }
        }
    }

    /// Looks at what is open now. Returns how far the journal is known.
    async fn begin(&mut self, after: Duration) -> anyhow::Result<Seq> {
        let name: ConnectorName = NAME.parse()?;
        let look = self.hub.look(move |state| {
            let is_told = |ask: &Ask| {
                let known = state.connector(&name);
                known.is_some_and(|known| known.message(SentAbout::Ask(ask.id), None).is_some())
            };
            let asks: Vec<Ask> = state.open_asks().filter(|ask| !is_told(ask)).cloned().collect();
            let sessions: Vec<SessionView> = state.sessions().map(|session| SessionView::of(session, 0, 0)).collect();
            (state.revision(), asks, sessions)
        });
        let (revision, asks, sessions) = look.await?;
        sessions.iter().for_each(|session| self.names.learn_session(session));
        for ask in asks {
            self.waiting.insert((ask.at.plus(millis(after)), ask.id), ask);
        }
        Ok(Seq(revision))
    }

    async fn read_on(&mut self, read: &mut Seq, after: Duration) -> Result<(), Trouble> {
        loop {
            let page = self.hub.page(*read, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            *read = last.seq;
            for stored in &page {
                match read_record(stored) {
                    Ok(record) => self.learn(&record, stored.at, after),
                    // One that cannot be read does not keep the owner from hearing of the others.
                    Err(error) => self.note_failure(format!("not told: {error:#}")),
                }
            }
        }
    }

    fn learn(&mut self, record: &Record, at: u64, after: Duration) {
        let sentence = sentence(&mut self.names, record);
        match record {
            Record::Asked { ask } => {
                self.waiting.insert((ask.at.plus(millis(after)), ask.id), ask.clone());
            }
            Record::Answered { ask, .. }
            | Record::Withdrawn { ask, .. }
            | Record::AskExpired { ask }
            | Record::Joined { ask, .. } => self.waiting.retain(|(_, waiting), _| waiting != ask),
            other => {
                if let Some(alert) = Alert::of(other, &sentence, at) {
                    self.enqueue(None, alert);
                }
            }
        }
    }

    fn call_for_the_due(&mut self) {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= now()) {
            let ask = first.remove();
            let label = self.names.label(ask.session).unwrap_or("a session").to_owned();
            self.enqueue(Some(ask.id), Alert::prompt(&ask, &label));
        }
    }

    fn enqueue(&mut self, ask: Option<AskId>, alert: Alert) {
        if self.queue.len() < fixed::limit("NOTIFY_QUEUE", QUEUE) {
            return self.queue.push_back((ask, alert));
        }
        self.more += 1;
        self.view.coalesced += 1;
        self.tell();
    }

    fn run_some(&mut self) {
        while self.running.len() < AT_ONCE {
            let (ask, alert) = match self.queue.pop_front() {
                Some(next) => next,
                None if self.more > 0 => (None, Alert::more(std::mem::take(&mut self.more), now().0)),
                None => return,
            };
            let command = Arc::clone(&self.command);
            self.running.spawn(async move { (ask, command::run(&command, &alert).await) });
        }
    }

    async fn finished(&mut self, finished: Result<Finished, tokio::task::JoinError>) {
        let (ask, result) = finished.unwrap_or_else(|error| (None, Err(error.to_string())));
        match result {
            Ok(()) => self.view.sent += 1,
            Err(why) => {
                self.view.failed += 1;
                return self.note_failure(why);
            }
        }
        self.tell();
        let Some((ask, connector)) = ask.zip(NAME.parse().ok()) else { return };
        let messages = vec![SentMessage { about: SentAbout::Ask(ask), user: None, message: "told".to_owned() }];
        // Without the record the prompt is told once more after a restart, which does no harm.
        drop(self.hub.submit(Input::Taken { connector, position: 0, messages }).await);
    }

    fn note_failure(&mut self, why: String) {
        tracing::warn!("the command of [notify] failed: {why}");
        (self.view.last_failure, self.view.failed_at) = (Some(why), Some(now().0));
        self.tell();
    }

    fn tell(&self) {
        self.told.send_replace(Some(self.view.clone()));
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
