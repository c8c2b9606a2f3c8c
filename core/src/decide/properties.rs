//! What holds for every sequence of inputs, not only for those we thought of.

use proptest::prelude::*;

use crate::state::StateMemory;
use crate::*;

const SESSIONS: u128 = 3;
const PEOPLE: [(&str, Role); 3] = [("ann", Role::Reviewer), ("tom", Role::Sender), ("root", Role::Admin)];
const ORIGINS: [&str; 3] = ["abcde", "bcdef", "not a code"];

fn any_session() -> impl Strategy<Value = SessionId> {
    (0..SESSIONS).prop_map(|number| SessionId::new(Moment(0), number))
}

fn any_person() -> impl Strategy<Value = Actor> {
    (0..PEOPLE.len()).prop_map(|index| {
        let (name, role) = PEOPLE[index];
        Actor { name: name.into(), rights: role.rights(), via: Via::Http, scope: TokenScope::Everything, device: None }
    })
}

fn any_ask() -> impl Strategy<Value = AskId> {
    (0..6_u128).prop_map(|number| AskId::new(Moment(0), number))
}

fn any_order() -> impl Strategy<Value = OrderId> {
    (0..3_u128).prop_map(|number| OrderId::new(Moment(0), number))
}

fn any_event() -> impl Strategy<Value = EventId> {
    (0..40_u128).prop_map(|number| EventId::new(Moment(0), number))
}

fn any_behavior() -> impl Strategy<Value = Behavior> {
    prop_oneof![Just(Behavior::Allow), Just(Behavior::Deny)]
}

fn any_source() -> impl Strategy<Value = Source> {
    prop_oneof![Just(Source::Channel), Just(Source::Hook), Just(Source::Control), Just(Source::Gateway)]
}

fn any_outcome() -> impl Strategy<Value = CallOutcome> {
    prop_oneof![
        Just(CallOutcome::Ran),
        Just(CallOutcome::Failed),
        Just(CallOutcome::Unknown),
        Just(CallOutcome::Denied)
    ]
}

fn any_details() -> impl Strategy<Value = Details> {
    let then = prop_oneof![Just(None), Just(Some(OnTimeout::Deny)), Just(Some(OnTimeout::NoDecision))];
    let confirm_within = prop_oneof![Just(None), Just(Some(2000))];
    (1..3_u8, then, confirm_within).prop_map(|(quorum, then, confirm_within)| {
        let timeout = then.map(|then| AskTimeout { milliseconds: 3000, then });
        Details { quorum, timeout, confirm_within, ..Details::default() }
    })
}

fn about(label: &str, continues: Option<SessionId>) -> SessionAbout {
    SessionAbout {
        label: Label::new(label).unwrap(),
        label_chosen: false,
        connected_by: "channel".into(),
        pid: None,
        person: None,
        runs_commands: false,
        folder: None,
        agent_session: None,
        continues,
        mode: None,
        driven: true,
        hooks_version: None,
        is_working: None,
        at_dialog: false,
        wakes: None,
        origin: None,
    }
}

fn any_inside() -> impl Strategy<Value = Option<Inside>> {
    prop_oneof![3 => Just(None), 1 => Just(Some(Inside { process: Some(7), agent: InsideAgent::Session(Label::new("api").unwrap()) }))]
}

fn any_text() -> impl Strategy<Value = String> {
    let codes = prop_oneof![Just("abcde"), Just("bcdef"), Just("baaaa"), Just("zzzzz")];
    let words = prop_oneof![Just("yes"), Just("no"), Just("maybe")];
    (words, codes).prop_map(|(word, code)| format!("{word} {code}"))
}

fn any_input() -> impl Strategy<Value = Input> {
    let address = prop_oneof![
        Just(Address::Open),
        any_session().prop_map(Address::Session),
        Just(Address::Label(Label::new("api").unwrap())),
    ];
    let chat = prop_oneof![Just(None), Just(ChatId::new("ops")), Just(ChatId::new("2"))];
    prop_oneof![
        4 => (any_event(), any_person(), any_inside(), any_text(), address, chat).prop_map(|(id, by, inside, text, address, chat)| Input::Said {
            id, by, inside, text: SaidText::new(text), address, chat, attributes: Default::default(), reply_to: None, idempotency_key: None
        }),
        3 => (any_person(), any_ask(), any_behavior()).prop_map(|(by, ask, behavior)| Input::Answered {
            by, target: VerdictTarget::Id(ask), ruling: Ruling::plain(behavior), idempotency_key: None
        }),
        3 => (any_ask(), any_session(), 0..ORIGINS.len(), 0..3_u64, any_source(), any_details()).prop_map(
            |(id, session, origin, entropy, source, details)| Input::Asked {
                session,
                ask: Box::new(NewAsk {
                    id, source, origin: ORIGINS[origin].into(), tool: "Bash".into(),
                    description: Text::new("d"), preview: Text::new("p"), details
                }),
                entropy
            }
        ),
        1 => (any_session(), any_ask(), any_outcome()).prop_map(|(session, ask, outcome)| Input::Called {
            session,
            call: ToolCall {
                tool: "Bash".into(), tool_use_id: None, agent: None, outcome, decided_by: "x".into(), digest: None,
                ask: Some(ask), preview: Text::new(""), unasked: outcome == CallOutcome::Ran
            }
        }),
        1 => (any_person(), any_session(), any_order(), any::<bool>()).prop_map(|(by, session, id, stop)| Input::Ordered {
            id, session, order: if stop { Order::Stop { by: by.name.clone() } } else { Order::Resume }, by
        }),
        1 => (any_session(), any_order(), any::<bool>()).prop_map(|(session, order, done)| Input::OrderSettled {
            session, order, outcome: if done { OrderOutcome::Done } else { OrderOutcome::Failed { why: "no".into() } }
        }),
        2 => (any_session(), prop_oneof![Just("api"), Just("web")], proptest::option::of(any_session()), proptest::collection::vec(any_event(), 0..3))
            .prop_map(|(session, label, continues, wrote)| Input::Attached { session, about: about(label, continues), wrote, holding: vec![] }),
        2 => (any_session(), proptest::collection::vec(any_event(), 0..4)).prop_map(|(session, events)| Input::Wrote { session, events, way: None }),
        1 => any_session().prop_map(|session| Input::Lost { session }),
        1 => any_session().prop_map(|session| Input::Ended { session, goodbye: Goodbye { why: "bye".into(), untouched: true } }),
        1 => (any_ask(), any_session()).prop_map(|(ask, session)| Input::Carried { ask, session, verdict_at: None }),
        1 => (any_ask(), any_session()).prop_map(|(ask, session)| Input::Withdrawn { ask, by: Some(session), why: "gone".into() }),
        1 => (any_session(), any_event()).prop_map(|(session, event)| Input::Opened { session, event }),
        1 => (any_session(), proptest::collection::vec(any_event(), 0..3)).prop_map(|(session, events)| Input::Read { session, events }),
        1 => any_session().prop_map(|session| Input::Replied {
            id: ReplyId::new(Moment(0), 1), session, chat: ChatId::new("ops").unwrap(), reply_to: None,
            text: Text::new("hi"), files: vec![]
        }),
        1 => (any_session(), any::<bool>()).prop_map(|(session, other)| Input::ReplyEdited {
            session, reply: ReplyId::new(Moment(0), 1), text: Text::new(if other { "ho" } else { "hi" })
        }),
        1 => Just(Input::Started { version: "1".into() }),
        1 => Just(Input::ClockSet { was: 9 }),
        1 => Just(Input::Ticked),
    ]
}

/// Inputs, each with the seconds that pass before it.
fn any_story() -> impl Strategy<Value = Vec<(u64, Input)>> {
    proptest::collection::vec(
        (prop_oneof![8 => 0..5_u64, 1 => Just(40_u64), 1 => Just(90_000_u64)], any_input()),
        0..60,
    )
}

/// Ids are minted afresh, and the journal refuses a subject that is there already: a story that takes an id again is not
/// about us.
fn is_old(input: &Input, journal: &[(Moment, Record)]) -> bool {
    let subject = match input {
        Input::Said { id, .. } => Subject::Event(*id),
        Input::Asked { ask, .. } => Subject::Ask(ask.id),
        _ => return false,
    };
    journal.iter().any(|(_, record)| record.subject() == subject)
}

/// Forgets soon, so that short stories see it.
fn forgetful() -> StateMemory {
    StateMemory { settled_events: 8, chats: 4, ended_sessions: 1, ..StateMemory::default() }
}

/// Plays a story; `each` sees every input with what it wrote and did, and the state before it.
fn play(
    story: &[(u64, Input)],
    mut each: impl FnMut(&State, &Input, &[Record], &[Effect]),
) -> (State, Vec<(Moment, Record)>) {
    let limits = Limits { waiting_events: 5, ..Limits::default() };
    let mut state = State::with_memory(limits, forgetful());
    let mut journal = vec![];
    let mut now = Moment(0);
    for (seconds, input) in story {
        now = now.plus(seconds * 1000);
        let mut inputs = vec![input.clone()];
        while !inputs.is_empty() {
            let input = inputs.remove(0);
            if is_old(&input, &journal) {
                continue;
            }
            let (records, effects) = decide(&state, now, input.clone());
            each(&state, &input, &records, &effects);
            for record in records {
                state.apply(now, &record);
                journal.push((now, record));
            }
            inputs.extend(effects.into_iter().filter_map(|effect| match effect {
                Effect::Then(input) => Some(*input),
                _ => None,
            }));
        }
    }
    (state, journal)
}

fn replayed(journal: &[(Moment, Record)], limits: Limits) -> State {
    let mut state = State::with_memory(limits, forgetful());
    journal.iter().for_each(|(at, record)| state.apply(*at, record));
    state
}

prop_compose! {
    fn any_limits()(
        counts in proptest::collection::vec(0..4_usize, 4),
        times in proptest::collection::vec(0..100_000_u64, 4),
        redeliveries: u8,
    ) -> Limits {
        Limits {
            waiting_events: counts[0],
            waiting_of_one: 2,
            waiting_bytes: counts[1],
            open_asks: counts[2],
            pairings: counts[3],
            misses: counts[0],
            event_expiry: times[0],
            redeliveries,
            redelivery_window: times[1],
            lost_grace: times[2],
            restart_grace: times[3],
        }
    }
}

proptest! {
    #[test]
    fn replaying_the_records_gives_the_same_state(story in any_story()) {
        let (state, journal) = play(&story, |_, _, _, _| {});
        prop_assert_eq!(replayed(&journal, state.limits().clone()), state);
    }

    #[test]
    fn a_snapshot_and_the_records_after_it_give_the_same_state(story in any_story(), cut in 0..200_usize) {
        let (state, journal) = play(&story, |_, _, _, _| {});
        let (before, after) = journal.split_at(cut.min(journal.len()));
        let saved = replayed(before, state.limits().clone());
        let ends = vec![(Subject::Gate, 1)];
        let bytes = saved.save(&ends);
        let empty = State::with_memory(state.limits().clone(), forgetful());
        let (mut restored, known_ends) = empty.restored(&bytes).expect("it was just saved");
        prop_assert_eq!(known_ends, ends);
        for revision in restored.text_records() {
            let (_, record) = &journal[revision as usize - 1];
            prop_assert!(restored.put_text_back(revision, record), "{:?}", record);
        }
        prop_assert_eq!(&restored, &saved);
        after.iter().for_each(|(at, record)| restored.apply(*at, record));
        prop_assert_eq!(restored, state);
    }

    #[test]
    fn any_bytes_are_a_snapshot_or_not_but_never_a_panic(cut: prop::sample::Index, flipped: prop::sample::Index, bit in 0..8_u8) {
        let story = [(0, Input::Started { version: "1".into() })];
        let (state, _) = play(&story, |_, _, _, _| {});
        let mut bytes = state.save(&[]);
        bytes[flipped.index(state.save(&[]).len())] ^= 1 << bit;
        drop(State::restore(Limits::default(), &bytes));
        bytes.truncate(cut.index(bytes.len()));
        prop_assert!(State::restore(Limits::default(), &bytes).is_none());
    }

    #[test]
    fn the_same_records_give_the_same_state_under_any_limits(story in any_story(), limits in any_limits()) {
        let (state, journal) = play(&story, |_, _, _, _| {});
        let mut under_others = replayed(&journal, limits);
        under_others.set_limits(state.limits().clone());
        prop_assert_eq!(under_others, state);
    }

    #[test]
    fn the_first_verdict_that_a_process_may_have_wins_under_any_interleaving(story in any_story()) {
        let (_, journal) = play(&story, |_, _, _, _| {});
        let mut sessions = std::collections::BTreeMap::new();
        let mut attached = std::collections::BTreeSet::new();
        // Whether the last verdict on an ask may be with its process.
        let mut sent = std::collections::BTreeMap::new();
        for (_, record) in &journal {
            match record {
                Record::Opened { .. } => attached.clear(),
                Record::Attached { session, .. } => {
                    attached.insert(*session);
                    sent.iter_mut().filter(|(ask, _)| sessions[*ask] == *session).for_each(|(_, sent)| *sent = true);
                }
                Record::Lost { session } | Record::Ended { session, .. } => drop(attached.remove(session)),
                Record::Asked { ask } => drop(sessions.insert(ask.id, ask.session)),
                Record::Answered { ask, .. } => {
                    let before = sent.insert(*ask, attached.contains(&sessions[ask]));
                    prop_assert!(before != Some(true), "answered twice");
                }
                Record::Withdrawn { ask, .. } | Record::AskExpired { ask } | Record::Joined { ask, .. } => {
                    prop_assert!(!sent.contains_key(ask), "settled after its answer");
                }
                _ => {}
            }
        }
    }

    #[test]
    fn nothing_is_allowed_that_nobody_with_the_right_allowed(story in any_story()) {
        let mut allowed_by_a_reviewer = std::collections::BTreeSet::new();
        let mut broken = None;
        play(&story, |state, input, _, effects| {
            let by = match input {
                Input::Answered { by, .. } | Input::Said { by, inside: None, .. } => Some(by),
                _ => None,
            };
            for effect in effects {
                let Effect::Carry { session, ask, ruling, .. } = effect else { continue };
                if ruling.behavior == Behavior::Deny {
                    continue;
                }
                if by.is_some_and(|by| by.may(Right::Review)) {
                    allowed_by_a_reviewer.insert(*ask);
                }
                let its_own_session = state.ask(*ask).is_some_and(|(ask, _)| ask.session == *session);
                if !allowed_by_a_reviewer.contains(ask) || !its_own_session {
                    broken = Some(input.clone());
                }
            }
        });
        prop_assert_eq!(broken, None);
    }

    #[test]
    fn a_quorum_is_of_different_people(story in any_story()) {
        let mut broken = None;
        play(&story, |state, input, _, effects| {
            let Input::Answered { by, .. } = input else { return };
            for effect in effects {
                let Effect::Carry { ask, ruling, .. } = effect else { continue };
                let Some((ask, AskLife::Open { votes })) = state.ask(*ask) else { continue };
                let mut people: std::collections::BTreeSet<&str> = votes.iter().map(|vote| vote.by.as_str()).collect();
                people.insert(&by.name);
                if ruling.behavior == Behavior::Allow && people.len() < usize::from(ask.details.quorum) {
                    broken = Some(input.clone());
                }
            }
        });
        prop_assert_eq!(broken, None);
    }

    #[test]
    fn a_deadline_that_is_due_is_dealt_with(story in any_story()) {
        let (mut state, _) = play(&story, |_, _, _, _| {});
        let Some(due) = state.next_deadline() else { return Ok(()) };
        let now = state.no_earlier(due);
        let mut inputs = vec![Input::Ticked];
        while let Some(input) = inputs.pop() {
            let (records, effects) = decide(&state, now, input);
            records.iter().for_each(|record| state.apply(now, record));
            inputs.extend(effects.into_iter().filter_map(|effect| match effect {
                Effect::Then(input) => Some(*input),
                _ => None,
            }));
        }
        prop_assert!(state.next_deadline().is_none_or(|next| next > due), "the gate would tick for ever");
    }

    #[test]
    fn one_input_writes_one_subject(story in any_story()) {
        let mut mixed = false;
        play(&story, |_, _, records, _| {
            mixed |= records.iter().any(|record| record.subject() != records[0].subject());
        });
        prop_assert!(!mixed);
    }

    #[test]
    fn every_event_is_waiting_delivered_or_accounted_for(story in any_story()) {
        let (state, journal) = play(&story, |_, _, _, _| {});
        for (_, record) in &journal {
            let Record::Received { event, .. } = record else { continue };
            let wrote = journal.iter().any(|(_, record)| match record {
                Record::Wrote { events, .. } | Record::Attached { wrote: events, .. } => events.contains(&event.id),
                Record::Seen { event: id } | Record::EventExpired { event: id } => *id == event.id,
                _ => false,
            });
            let waits = state.sessions().map(|session| Some(session.id)).chain([None])
                .chain(state.all_sessions().map(|session| Some(session.id)))
                .any(|queue| state.waiting(queue, 0).any(|tracked| tracked.event.id == event.id));
            let named_a_session_that_ended = matches!(event.address, Address::Session(_));
            prop_assert!(wrote || waits || named_a_session_that_ended, "{} vanished", event.id);
        }
    }

    #[test]
    fn no_two_open_asks_share_a_code(story in any_story()) {
        let (state, _) = play(&story, |_, _, _, _| {});
        let codes: Vec<Code> = state.open_asks().map(|ask| ask.code).collect();
        let different: std::collections::BTreeSet<Code> = codes.iter().copied().collect();
        prop_assert_eq!(codes.len(), different.len());
    }

    #[test]
    fn a_label_finds_the_sessions_that_have_it_or_wanted_it(story in any_story()) {
        play(&story, |state, _, _, _| {
            let living: Vec<&Session> = state.sessions().collect();
            for label in state.all_sessions().flat_map(|session| [&session.label, &session.about.label]) {
                let is_its = |session: &&&Session| session.label == *label || session.about.label == *label;
                let expected: Vec<SessionId> = living.iter().filter(is_its).map(|session| session.id).collect();
                let found: Vec<SessionId> = state.sessions_labelled(label).map(|session| session.id).collect();
                assert_eq!(found, expected, "{label}");
            }
        });
    }

    #[test]
    fn the_queues_weigh_what_they_hold(story in any_story()) {
        let (state, _) = play(&story, |_, _, _, _| {});
        for queue in state.all_sessions().map(|session| Some(session.id)).chain([None]) {
            let tracked: Vec<&TrackedEvent> = state.waiting(queue, 0).collect();
            prop_assert_eq!(state.waiting_size(queue), (tracked.len(), tracked.iter().map(|tracked| tracked.size).sum()));
            prop_assert!(tracked.iter().all(|tracked| tracked.to == queue && tracked.life == EventLife::Waiting));
        }
    }
}
