//! The two threads that wait for the disk, so that their caller can do something else meanwhile.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::Journal;
use crate::store::{Append, Refused, Seq};

type Answers = Vec<Result<Seq, Refused>>;

/// Appends batches, one after the other.
pub(super) struct Appender(Worker<Batch>);

struct Batch {
    appends: Vec<Append>,
    answer: oneshot::Sender<Answers>,
}

impl Appender {
    pub(super) fn start(mut journal: Journal) -> io::Result<Self> {
        let append = move |batches: Receiver<Batch>| {
            for batch in batches {
                let answers = journal.append(&batch.appends);
                // A caller that no longer waits does not want to know.
                batch.answer.send(answers).ok();
            }
        };
        Worker::start("append", append).map(Self)
    }

    pub(super) async fn append(&self, appends: Vec<Append>) -> Answers {
        let count = appends.len();
        let (answer, answered) = oneshot::channel();
        // Finds no room, and waits, only when callers before this one have given up on their batches.
        if let Some(batches) = &self.0.jobs {
            batches.send(Batch { appends, answer }).ok();
        }
        // A thread that dies drops the batch and with it the answer, so that nobody hangs here.
        answered.await.unwrap_or_else(|_| {
            let refused = Refused::Failed("the journal's thread for appends has ended".to_owned());
            vec![Err(refused); count]
        })
    }
}

/// Moves what was appended from the write-ahead log into the file. That takes two syncs, for which no append waits. Then
/// the index takes it in.
pub(super) struct Checkpointer {
    worker: Worker<()>,
    /// By how many bytes the log has grown since the thread was last woken, roughly. The first append wakes it: a journal
    /// that was made larger elsewhere may lack an index.
    grown: usize,
}

impl Checkpointer {
    /// Seldom enough to be cheap, often enough that the log is soon used again from its start.
    const WORTHWHILE: usize = 4 << 20;
    /// Even the smallest batch writes a page.
    const PER_BATCH: usize = 4096;

    pub(super) fn start(journal: Journal) -> io::Result<Self> {
        let checkpoint = move |wakes: Receiver<()>| {
            for () in wakes {
                if let Err(error) = journal.checkpoint() {
                    tracing::warn!(%error, "the journal's write-ahead log stays as it is for now");
                }
                if let Err(error) = journal.index.fill(&journal.reader()) {
                    tracing::warn!(%error, "the journal's index stays as it is for now");
                }
            }
        };
        Ok(Self { worker: Worker::start("checkpoint", checkpoint)?, grown: Self::WORTHWHILE })
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

/// A thread that works off what it is sent, and ends when it is dropped.
struct Worker<T> {
    /// `None` only while being dropped: that is how the thread learns that nothing more will come.
    jobs: Option<SyncSender<T>>,
    handle: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Worker<T> {
    fn start(name: &str, work: impl FnOnce(Receiver<T>) + Send + 'static) -> io::Result<Self> {
        let (jobs, received) = mpsc::sync_channel(1);
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

    fn append() -> Append {
        Append { subject: "event/1".to_owned(), after: None, fresh: false, entries: Vec::new() }
    }

    fn assert_all_failed(answers: &Answers, count: usize) {
        assert_eq!(answers.len(), count);
        assert!(answers.iter().all(|answer| matches!(answer, Err(Refused::Failed(_)))));
    }

    #[tokio::test]
    async fn a_dead_thread_refuses_and_never_hangs() {
        let appender = Appender(Worker::start("dies", drop).unwrap());
        assert_all_failed(&appender.append(vec![append(), append()]).await, 2);
    }

    #[tokio::test]
    async fn a_thread_that_dies_over_a_batch_refuses_it_and_all_that_follow() {
        let appender = Appender(Worker::start("dies later", |batches| drop(batches.recv())).unwrap());
        assert_all_failed(&appender.append(vec![append()]).await, 1);
        assert_all_failed(&appender.append(vec![append()]).await, 1);
    }
}
