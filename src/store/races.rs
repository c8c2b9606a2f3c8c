//! Whatever two clients try in whatever order, each position of a subject is won once, in every kind of store.

use std::collections::HashSet;

use proptest::prelude::*;
use tempfile::tempdir;
use tokio::runtime;

use super::{Append, Durability, Entry, Refused, Seq, Store, Stored};

const SUBJECTS: [&str; 3] = ["ask/1", "ask/2", "event/1"];

/// One client appends to one subject, after what it believes to be the last record there.
#[derive(Clone, Debug)]
struct Attempt {
    client: usize,
    subject: usize,
    entries: usize,
    /// Whether the client learns from a conflict, or goes on believing what it did.
    learns: bool,
}

/// What happened, as far as anyone can see.
#[derive(Debug, PartialEq)]
struct Outcome {
    answers: Vec<Result<Seq, Refused>>,
    records: Vec<Stored>,
    /// Subject and position of every append that was taken, and how many entries it had.
    won: Vec<(usize, Option<Seq>, usize)>,
}

fn attempt() -> impl Strategy<Value = Attempt> {
    (0..2_usize, 0..SUBJECTS.len(), 1..4_usize, any::<bool>()).prop_map(|(client, subject, entries, learns)| Attempt {
        client,
        subject,
        entries,
        learns,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_position_of_a_subject_is_won_once(
        batches in prop::collection::vec(prop::collection::vec(attempt(), 1..6), 1..12)
    ) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let outcome = play(Store::memory(), &batches);
        prop_assert_eq!(&outcome, &play(Store::sqlite(&path, Durability::Process).unwrap(), &batches));

        let positions: HashSet<_> = outcome.won.iter().map(|(subject, after, _)| (subject, after)).collect();
        prop_assert_eq!(positions.len(), outcome.won.len());
        let entries: usize = outcome.won.iter().map(|(_, _, entries)| entries).sum();
        prop_assert_eq!(outcome.records.len(), entries);
    }
}

fn play(mut store: Store, batches: &[Vec<Attempt>]) -> Outcome {
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    let mut believed = [[None; SUBJECTS.len()]; 2];
    let mut outcome = Outcome { answers: Vec::new(), records: Vec::new(), won: Vec::new() };
    for batch in batches {
        let appends: Vec<Append> = batch.iter().map(|attempt| appending(attempt, &believed)).collect();
        let answers = runtime.block_on(store.append(appends.clone()));
        for ((attempt, append), answer) in batch.iter().zip(&appends).zip(&answers) {
            let belief = &mut believed[attempt.client][attempt.subject];
            match answer {
                Ok(seq) => {
                    outcome.won.push((attempt.subject, append.after, attempt.entries));
                    *belief = Some(*seq);
                }
                Err(Refused::Conflict { last }) if attempt.learns => *belief = *last,
                Err(_) => {}
            }
        }
        outcome.answers.extend(answers);
    }
    store.records().replay(Seq(0), &mut |stored| outcome.records.push(stored)).unwrap();
    store.records().verify(Some(&store.records().head().unwrap())).unwrap();
    outcome
}

fn appending(attempt: &Attempt, believed: &[[Option<Seq>; SUBJECTS.len()]; 2]) -> Append {
    let entry = |number: usize| Entry {
        at: number as u64,
        body: format!("{} of client {}", number, attempt.client).into_bytes(),
        payload: (number % 2 == 1).then(|| vec![b'.'; number].into()),
    };
    Append {
        subject: SUBJECTS[attempt.subject].to_owned(),
        after: believed[attempt.client][attempt.subject],
        fresh: false,
        entries: (0..attempt.entries).map(entry).collect(),
    }
}
