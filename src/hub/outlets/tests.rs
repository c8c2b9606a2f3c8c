//! What an outlet sends again when something is taken back from its process.

use std::collections::BTreeSet;

use portcullis_core::{EventId, Input, SessionId};

use super::super::Hub;
use super::super::tests::{Process, ann, hub_on, send};
use super::WINDOW;
use crate::mint::mint;
use crate::store::Store;

async fn drop_event(hub: &Hub, event: EventId) {
    hub.submit(Input::Drop { by: ann(), event }).await.unwrap();
}

#[tokio::test]
async fn events_that_came_in_one_text_with_one_that_was_dropped_come_again_without_it() {
    for dropped in [0, 1] {
        let (hub, ..) = hub_on(Store::memory()).await;
        let mut process = Process::attach(&hub, mint(SessionId::new)).await;
        let texts = ["one", "two", "three"];
        let noisy = send(&hub, "noisy", &texts).await;
        assert_eq!(process.next_event().await.0, noisy);

        drop_event(&hub, noisy[dropped]).await;
        for event in &noisy {
            assert_eq!(process.next_taken_back().await, *event, "the whole text goes");
        }
        let (ids, text) = process.next_event().await;
        let left = |place: &usize| *place != dropped;
        assert_eq!(ids, (0..3).filter(left).map(|place| noisy[place]).collect::<Vec<_>>());
        for (place, said) in texts.iter().enumerate() {
            assert_eq!(text.contains(said), place != dropped, "{text}");
        }
        process.wrote(&hub, ids).await;
        assert_eq!(hub.look(portcullis_core::State::waiting_total).await, Ok(0));
    }
}

#[tokio::test]
async fn a_process_that_comes_back_with_them_in_hand_gets_the_others_again_too() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let session = mint(SessionId::new);
    let mut process = Process::attach(&hub, session).await;
    let noisy = send(&hub, "noisy", &["one", "two", "three"]).await;
    let calm = send(&hub, "calm", &["four"]).await;
    assert_eq!([process.next_event().await.0, process.next_event().await.0], [calm.clone(), noisy.clone()]);

    // Dropped while it is away, and afterwards.
    drop(process);
    drop_event(&hub, noisy[0]).await;
    let mut process = Process::attach_holding(&hub, session, [noisy.clone(), calm].concat()).await;
    let taken_back: BTreeSet<EventId> =
        [process.next_taken_back().await, process.next_taken_back().await, process.next_taken_back().await].into();
    assert_eq!(taken_back, noisy.iter().copied().collect());
    assert_eq!(process.next_event().await.0, noisy[1..]);
    drop_event(&hub, noisy[2]).await;
    for event in &noisy[1..] {
        assert_eq!(process.next_taken_back().await, *event);
    }
    assert_eq!(process.next_event().await.0, [noisy[1]]);
}

#[tokio::test]
async fn what_is_taken_back_makes_room_for_what_stands_behind_it() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let mut process = Process::attach(&hub, mint(SessionId::new)).await;
    let texts = vec!["x"; WINDOW + 1];
    let sent = send(&hub, "calm", &texts).await;
    for event in &sent[..WINDOW] {
        assert_eq!(process.next_event().await.0, [*event]);
    }
    drop_event(&hub, sent[0]).await;
    assert_eq!(process.next_taken_back().await, sent[0]);
    assert_eq!(process.next_event().await.0, [sent[WINDOW]]);
}

#[tokio::test]
async fn what_was_not_sent_is_not_taken_back() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let mut process = Process::attach(&hub, mint(SessionId::new)).await;
    let sent = send(&hub, "calm", &vec!["x"; WINDOW * 3]).await;
    for event in sent.iter().rev() {
        drop_event(&hub, *event).await;
    }
    for event in &sent[..WINDOW] {
        assert_eq!(process.next_event().await.0, [*event]);
    }
    for event in sent[..WINDOW].iter().rev() {
        assert_eq!(process.next_taken_back().await, *event);
    }
}

#[tokio::test]
async fn a_process_that_reads_nothing_while_all_that_it_was_sent_is_taken_back_is_not_left_behind() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let mut process = Process::attach(&hub, mint(SessionId::new)).await;
    let sent = send(&hub, "calm", &vec!["x"; WINDOW + 1]).await;
    for event in &sent[..WINDOW] {
        drop_event(&hub, *event).await;
    }
    for event in &sent[..WINDOW] {
        assert_eq!(process.next_event().await.0, [*event]);
    }
    assert_eq!(process.next_taken_back().await, sent[0]);
    assert_eq!(process.next_event().await.0, [sent[WINDOW]]);
    for event in &sent[1..WINDOW] {
        assert_eq!(process.next_taken_back().await, *event);
    }
}
