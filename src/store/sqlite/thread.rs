//! The threads that wait for the disk, so that their caller can do something else meanwhile.

use std::fs::File;
use std::io;
use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::Journal;
use crate::store::{Records, Safety};

/// Makes safe what was written to the write-ahead log: one sync for all that was written before it.
pub(super) struct Syncer {
    worker: Worker<Waiting>,
    /// Why a sync has failed. What the system then dropped nobody knows, and a later sync would not tell: so this stays.
    failed: Arc<OnceLock<String>>,
}

type Waiting = oneshot::Sender<Result<(), String>>;

impl Syncer {
    /// More who wait for one sync than the hub lets run ahead.
    const MOST_WAITING: usize = 64;

    pub(super) fn start(log: File) -> io::Result<Self> {
        let failed = Arc::new(OnceLock::new());
        let noted = Arc::clone(&failed);
        let sync = move |asked: Receiver<Waiting>| {
            while let Ok(first) = asked.recv() {
                // Each has asked after it had written.
                let waiting: Vec<Waiting> = iter::once(first).chain(asked.try_iter()).collect();
                // Dropped before those who wait learn that nobody answers them.
                let noting = NotingPanic(&noted);
                let synced = sync(&log, &noted);
                drop(noting);
                for waits in waiting {
                    // Who no longer waits does not want to know.
                    waits.send(synced.clone()).ok();
                }
            }
        };
        Ok(Self { worker: Worker::start("sync", Self::MOST_WAITING, sync)?, failed })
    }

    /// Told when everything that is written by now is safe.
    pub(super) fn sync(&self) -> Safety {
        let (answer, answered) = oneshot::channel();
        let is_asked = self.worker.jobs.as_ref().is_some_and(|jobs| jobs.send(answer).is_ok());
        if !is_asked {
            note_gone(&self.failed);
        }
        Safety::Later(answered)
    }

    pub(super) fn failure(&self) -> Option<&str> {
        self.failed.get().map(String::as_str)
    }
}

/// Nobody syncs any more, so nothing that is written from now on is known to be safe.
fn note_gone(failed: &OnceLock<String>) {
    failed.get_or_init(|| "the journal's thread for syncs has ended: start the gate anew".to_owned());
}

/// Remembers that the thread panicked while it synced: what was written by then may be lost.
struct NotingPanic<'a>(&'a OnceLock<String>);

impl Drop for NotingPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            note_gone(self.0);
        }
    }
}

fn sync(log: &File, failed: &OnceLock<String>) -> Result<(), String> {
    if failed.get().is_none()
        && let Err(error) = log.sync_data()
    {
        tracing::error!(%error, "the disk did not keep what was written: nothing more is taken in");
        let why = format!("the disk did not keep what was written ({error}): see to it, then start the gate anew");
        failed.get_or_init(|| why);
    }
    failed.get().map_or(Ok(()), |why| Err(why.clone()))
}

/// Moves what was appended from the write-ahead log into the file. That takes two syncs, for which no append waits. Then
/// the index takes it in.
pub(super) struct Checkpointer {
    worker: Worker<()>,
    /// By how many bytes the log has grown since the thread was last woken, roughly. The first append wakes it: a journal
    /// that was made larger elsewhere may lack an index.
    grown: usize,
    /// Set when nobody waits for the index any more.
    is_stopping: Arc<AtomicBool>,
}

/// A stop does not wait until the index is filled: the next gate goes on with that.
impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

impl Checkpointer {
    /// Seldom enough to be cheap, often enough that the log is soon used again from its start.
    const WORTHWHILE: usize = 4 << 20;
    /// Even the smallest batch writes a page.
    const PER_BATCH: usize = 4096;

    pub(super) fn start(journal: Journal) -> io::Result<Self> {
        let is_stopping = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&is_stopping);
        let checkpoint = move |wakes: Receiver<()>| {
            let is_wanted = || !stopping.load(Ordering::Relaxed);
            for () in wakes {
                if let Err(error) = journal.checkpoint() {
                    tracing::warn!(%error, "the journal's write-ahead log stays as it is for now");
                }
                if let Err(error) = journal.index.fill(&journal.reader(), &is_wanted) {
                    tracing::warn!(%error, "the journal's index stays as it is for now");
                }
            }
        };
        Ok(Self { worker: Worker::start("checkpoint", 1, checkpoint)?, grown: Self::WORTHWHILE, is_stopping })
    }

    pub(super) fn appended(&mut self, bytes: usize) {
        self.grown += Self::PER_BATCH + bytes;
        if self.grown < Self::WORTHWHILE {
            return;
        }
        self.grown = 0;
        if let Some(wakes) = &self.worker.jobs {
            // No room means that the thread is awake and has been told to stay so.
            wakes.try_send(()).ok();
        }
    }
}

/// Something to be read.
pub(super) type ReadJob = Box<dyn FnOnce(Records<'_>) + Send>;

/// Reads with a connection of its own, one after the other.
pub(super) struct Aside(Worker<ReadJob>);

impl Aside {
    const MOST_WAITING: usize = 64;

    pub(super) fn start(journal: Journal) -> io::Result<Self> {
        let read = move |reads: Receiver<ReadJob>| reads.into_iter().for_each(|read| read(Records::Sqlite(&journal)));
        Worker::start("read", Self::MOST_WAITING, read).map(Self)
    }

    /// Gives it back when there is no room, or nobody to read.
    pub(super) fn take(&self, read: ReadJob) -> Result<(), ReadJob> {
        let Some(reads) = &self.0.jobs else { return Err(read) };
        reads.try_send(read).map_err(|refused| match refused {
            TrySendError::Full(read) | TrySendError::Disconnected(read) => read,
        })
    }
}

/// A thread that works off what it is sent, and ends when it is dropped.
struct Worker<T> {
    /// `None` only while being dropped: that is how the thread learns that nothing more will come.
    jobs: Option<SyncSender<T>>,
    handle: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Worker<T> {
    fn start(name: &str, room: usize, work: impl FnOnce(Receiver<T>) + Send + 'static) -> io::Result<Self> {
        let (jobs, received) = mpsc::sync_channel(room);
        let handle = thread::Builder::new().name(name.to_owned()).spawn(move || work(received))?;
        Ok(Self { jobs: Some(jobs), handle: Some(handle) })
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.jobs.take();
        if let Some(handle) = self.handle.take()
            && handle.join().is_err()
        {
            tracing::error!("a thread of the journal had panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dead_thread_is_told_and_never_hangs() {
        let syncer = Syncer { worker: Worker::start("dies", 1, drop).unwrap(), failed: Arc::default() };
        assert!(syncer.sync().reached().await.is_err());
        let later = Worker::start("dies later", 1, |jobs: Receiver<Waiting>| drop(jobs.recv())).unwrap();
        let mut syncer = Syncer { worker: later, failed: Arc::default() };
        assert!(syncer.sync().reached().await.is_err());
        syncer.worker.handle.take().unwrap().join().unwrap();
        assert!(syncer.sync().reached().await.is_err());
        assert!(syncer.failure().is_some_and(|why| why.contains("start the gate anew")));
    }

    #[test]
    fn a_panic_while_syncing_is_remembered_before_those_who_wait_are_told() {
        let failed = OnceLock::new();
        drop(NotingPanic(&failed));
        assert_eq!(failed.get(), None, "nothing happened");
        let panicked = thread::scope(|scope| {
            scope
                .spawn(|| {
                    let _noting = NotingPanic(&failed);
                    panic!("on purpose");
                })
                .join()
        });
        assert!(panicked.is_err() && failed.get().is_some());
    }

    #[tokio::test]
    async fn after_a_sync_that_failed_none_succeeds() {
        // A pipe cannot be synced.
        let (_reader, writer) = io::pipe().unwrap();
        let syncer = Syncer::start(File::from(std::os::fd::OwnedFd::from(writer))).unwrap();
        assert_eq!(syncer.failure(), None);
        let why = syncer.sync().reached().await.unwrap_err();
        assert!(why.contains("start the gate anew"), "{why}");
        assert_eq!(syncer.failure(), Some(&*why));
        let sound = tempfile::tempfile().unwrap();
        assert_eq!(sync(&sound, &syncer.failed), Err(why), "although this one would do");
        assert_eq!(sync(&sound, &OnceLock::new()), Ok(()));
    }
}
