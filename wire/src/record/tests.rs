//! Every record is written and read back, and damaged ones never panic.

use portcullis_core::policy::{Mode, Reason, Risk, RiskLevel};
use portcullis_core::{
    Address, AskKind, AskTimeout, Behavior, ChatId, Code, Details, Device, Edited, IdempotencyKey, Label, Limits,
    McpTool, Offer, OnTimeout, Order, Replaced, ReplyId, Ruling, Scope, SentAbout, SentFile, SentMessage, Source,
    State, Text, TokenScope, Via,
};
use proptest::prelude::*;

use super::*;

const AT: Moment = Moment(1_700_000_000_000);

fn event() -> Event {
    Event {
        id: EventId::new(AT, 1),
        via: Via::Http,
        sender: "ann".into(),
        credential: Some("tom".into()),
        device: None,
        directs: true,
        scope: TokenScope::Labels(vec![Label::new("api").unwrap()]),
        chat: ChatId::new("7").unwrap(),
        address: Address::Label(Label::new("api").unwrap()),
        attributes: vec![("path".into(), "/".into()), ("severity".into(), "high\n".into())].into(),
        reply_to: Some(ReplyId::new(AT, 8)),
        idempotency_key: Some(IdempotencyKey { key: "k".into(), digest: [7; 32] }),
        text: Text::new("hällo\n"),
        at: AT,
    }
}

fn an_ask(id: AskId, session: SessionId) -> Ask {
    Ask {
        id,
        code: Code::parse("abcde").unwrap(),
        session,
        source: Source::Channel,
        origin: "abcde".into(),
        tool: "Bash".into(),
        description: Text::new("list"),
        preview: Text::new("{\"command\":\"ls\"}"),
        details: Box::default(),
        at: AT,
    }
}

pub(crate) fn every_record() -> Vec<Record> {
    let (session, ask) = (SessionId::new(AT, 2), AskId::new(AT, 3));
    let about = SessionAbout {
        label: Label::new("api").unwrap(),
        label_chosen: false,
        connected_by: "channel".into(),
        pid: Some(4),
        person: Some("claude".into()),
        runs_commands: true,
        folder: Some("/tmp".into()),
        agent_session: None,
        continues: Some(session),
        mode: Some("plan".into()),
        driven: true,
        hooks_version: Some(2),
        is_working: Some(true),
        at_dialog: true,
        wakes: Some(true),
        origin: Some(portcullis_core::ConversationOrigin::Forked),
    };
    let ruling = Ruling { why: Some("fine".into()), ..Ruling::plain(Behavior::Allow) };
    let verdict = Verdict { ruling, by: "ann".into(), via: Via::Socket, device: None, at: AT, idempotency_key: None };
    let edited = Verdict {
        ruling: Ruling {
            scope: Scope::Always,
            input: Some(Edited { text: Text::new("{\"command\":\"ls\"}"), digest: [3; 32] }),
            ..Ruling::plain(Behavior::Allow)
        },
        idempotency_key: Some(IdempotencyKey { key: "k".into(), digest: [4; 32] }),
        via: Via::Device,
        device: Some("Phone".into()),
        ..verdict.clone()
    };
    let plain = Verdict {
        ruling: Ruling { interrupt: true, mode: Some(Mode::Auto), ..Ruling::plain(Behavior::Deny) },
        ..verdict.clone()
    };
    let details = Details {
        input: Some(Text::new("{\"command\":\"ls\"}")),
        digest: Some([1; 32]),
        tool_use_id: Some("toolu_1".into()),
        agent: Some("a1".into()),
        kind: AskKind::Plan,
        offers: vec![Offer { scope: Scope::Session, words: "until it ends".into() }],
        editable: true,
        interruptible: true,
        default_to_no: true,
        requires_user_interaction: true,
        reason: Some("a rule".into()),
        risk: Some(Risk { level: RiskLevel::High, reasons: vec![Reason::Network] }),
        quorum: 2,
        timeout: Some(AskTimeout { milliseconds: 60_000, then: OnTimeout::Deny }),
        held: true,
        modes: vec![Mode::Default, Mode::AcceptEdits],
        replaced: Some(Replaced { size: 4, lines: Some(1), text: Some(Text::new("old\n")) }),
        confirm_within: Some(10_000),
        mcp: Some(McpTool { server: "a b".into(), tool: "c".into(), title: Some("C".into()) }),
    };
    let call = ToolCall {
        tool: "Bash".into(),
        tool_use_id: Some("toolu_1".into()),
        agent: None,
        outcome: CallOutcome::Ran,
        decided_by: "user_temporary".into(),
        digest: Some([2; 32]),
        ask: Some(ask),
        preview: Text::new("ls"),
        unasked: false,
    };
    let unasked = ToolCall { ask: None, decided_by: "client".into(), unasked: true, ..call.clone() };
    vec![
        Record::Opened { version: "1".into() },
        Record::ClockSet { was: 9 },
        Record::Received { event: event().into(), to: None },
        Record::Received { event: Event { address: Address::Session(session), ..event() }.into(), to: Some(session) },
        Record::Received { event: Event { address: Address::Open, ..event() }.into(), to: None },
        Record::Received {
            event: Event { via: Via::Connector("telegram".parse().unwrap()), ..event() }.into(),
            to: None,
        },
        Record::Seen { event: event().id },
        Record::EventExpired { event: event().id },
        Record::Attached {
            session,
            about: about.clone(),
            label: Label::new("api-2"),
            wrote: vec![event().id],
            moves: Moves::Recorded,
        },
        Record::Attached { session, about: about.clone(), label: None, wrote: vec![], moves: Moves::Implied },
        Record::Wrote { session, events: vec![event().id], way: None },
        Record::Wrote { session, events: vec![event().id], way: Some(portcullis_core::DeliveryWay::Wake) },
        Record::Lost { session },
        Record::Ended { session, goodbye: Goodbye { why: "bye".into(), untouched: true }, moves: Moves::Recorded },
        Record::Moved { session, events: vec![event().id], to: Some(session), redelivered: true },
        Record::Moved { session, events: vec![event().id], to: None, redelivered: false },
        Record::Requeued { session, events: vec![event().id], to: None, attempts: 2 },
        Record::Replied {
            reply: Reply {
                id: ReplyId::new(AT, 1),
                session,
                chat: ChatId::new("7").unwrap(),
                reply_to: Some(EventId::new(AT, 1)),
                text: Text::new("hi"),
                files: vec![SentFile { path: "a.txt".into(), size: 3 }],
                at: AT,
                edited: None,
            },
        },
        Record::ReplyEdited {
            session,
            reply: ReplyId::new(AT, 1),
            chat: ChatId::new("7").unwrap(),
            text: Text::new("fine"),
        },
        Record::Asked { ask: Ask { details: Box::new(details), ..an_ask(ask, session) } },
        Record::Asked { ask: an_ask(ask, session) },
        Record::Answered { ask, verdict: verdict.clone() },
        Record::Answered { ask, verdict: edited },
        Record::Voted { ask, verdict: plain },
        Record::AskExpired { ask },
        Record::Joined { ask, into: AskId::new(AT, 4) },
        Record::OutcomeReported { ask, outcome: CallOutcome::Failed, differs: true },
        Record::Called { session, call },
        Record::Called { session, call: unasked },
        Record::Described { session, about: about.clone(), label: None },
        Record::OutsideRead { session, sender: "ci".into() },
        Record::OutsideEnded { session, by: "ann".into() },
        Record::Ordered {
            session,
            id: Some(OrderId::new(AT, 8)),
            order: Order::Prompt { text: Text::new("go on"), by: "ann".into() },
            by: "ann".into(),
        },
        Record::Ordered { session, id: Some(OrderId::new(AT, 9)), order: Order::Mode("plan".into()), by: "ann".into() },
        Record::Ordered { session, id: None, order: Order::Stop { by: "ann".into() }, by: "ann".into() },
        Record::OrderDone { session, order: OrderId::new(AT, 8) },
        Record::OrderFailed { session, order: OrderId::new(AT, 8), why: "w".into() },
        Record::DefaultModeSet { folder: "/home/ann/api".into(), mode: Some(Mode::Plan), by: "ann".into() },
        Record::DefaultModeSet { folder: "/home/ann/api".into(), mode: None, by: "ann".into() },
        Record::EditorTrusted { process: "700:5b1c:90210".into(), what: "zed (pid 690)".into(), by: "ann".into() },
        Record::Carried { ask },
        Record::NotConfirmed { ask },
        Record::Withdrawn { ask, why: "gone".into() },
        Record::Missed { by: "ann".into() },
        Record::Dropped { event: event().id, by: "ann".into(), why: None },
        Record::Dropped { event: event().id, by: "ann".into(), why: Some("its device \"Phone\" was revoked".into()) },
        Record::Died { event: event().id },
        Record::Retried { event: event().id, by: "ann".into(), to: Some(session), moves: Moves::Recorded },
        Record::PersonSet { name: "tom".into(), role: Role::Reviewer, by: "ann".into() },
        Record::PersonRemoved { name: "tom".into(), by: "ann".into() },
        Record::TokenAdded {
            token: Token {
                id: TokenId::new(AT, 5),
                person: "tom".into(),
                hash: [9; 32],
                scope: TokenScope::Labels(vec![Label::new("api").unwrap()]),
                expires: Some(Moment(7)),
                since: AT,
                device: None,
                last_used: None,
            },
            by: "ann".into(),
        },
        Record::TokenAdded {
            token: Token {
                id: TokenId::new(AT, 6),
                person: "owner".into(),
                hash: [8; 32],
                scope: TokenScope::Everything,
                expires: None,
                since: AT,
                device: Some(Device { called: "Chrome, Android".into(), rights: Role::Reviewer.rights() }),
                last_used: None,
            },
            by: "owner".into(),
        },
        Record::TokenRevoked { token: TokenId::new(AT, 5), person: "tom".into(), by: "ann".into(), device: None },
        Record::TokenRevoked {
            token: TokenId::new(AT, 6),
            person: "tom".into(),
            by: "ann".into(),
            device: Some("phone".into()),
        },
        Record::PairingAsked {
            pairing: Pairing {
                code: PairingCode::from_entropy(5),
                identity: "telegram:42".parse().unwrap(),
                called: "Tom".into(),
                since: AT,
            },
        },
        Record::Paired { code: PairingCode::from_entropy(5), name: "tom".into(), role: Role::Sender, by: "ann".into() },
        Record::IdentityLinked { identity: "telegram:42".parse().unwrap(), name: "tom".into(), by: "ann".into() },
        Record::IdentityUnlinked { identity: "telegram:42".parse().unwrap(), name: "tom".into(), by: "ann".into() },
        Record::Taken { connector: "telegram".parse().unwrap(), position: 7, messages: vec![] },
        Record::Taken {
            connector: "telegram".parse().unwrap(),
            position: 8,
            messages: vec![
                SentMessage { about: SentAbout::Ask(ask), user: Some("42".into()), message: "m1".into() },
                SentMessage { about: SentAbout::Reply(ReplyId::new(AT, 1)), user: None, message: "m2".into() },
            ],
        },
        Record::PairingMissed { by: "ann".into() },
        Record::DeviceUsed { token: TokenId::new(AT, 5), person: "tom".into() },
        Record::Redacted { what: "event/1".into(), by: "ann".into() },
        Record::AccessDenied { who: "owner".into(), what: "allow from inside a session".into() },
    ]
}

#[test]
fn every_record_survives_the_journal() {
    for record in every_record() {
        let stored = write(&record).unwrap();
        let payload = stored.payload.as_deref().map_or(RecordPayload::None, RecordPayload::Kept);
        assert_eq!(read(AT, &stored.body, payload).unwrap(), record);
    }
}

#[test]
fn the_skeleton_holds_none_of_what_people_wrote() {
    for record in every_record() {
        let stored = write(&record).unwrap();
        let body = String::from_utf8(stored.body).unwrap();
        for secret in ["hällo", "\"hi\"", "list", "\"command\"", "a.txt", "fine"] {
            assert!(!body.contains(secret), "{body}");
        }
    }
}

#[test]
fn what_was_erased_reads_as_erased() {
    let stored = write(&Record::Received { event: event().into(), to: None }).unwrap();
    let Record::Received { event, .. } = read(AT, &stored.body, RecordPayload::Erased).unwrap() else { panic!() };
    assert_eq!(event.text, Text::Erased);
}

/// As the journal gives it back.
fn kept(record: &Record, is_erased: bool) -> Record {
    let stored = write(record).unwrap();
    let payload = match &stored.payload {
        None => RecordPayload::None,
        Some(_) if is_erased => RecordPayload::Erased,
        Some(payload) => RecordPayload::Kept(payload),
    };
    read(AT, &stored.body, payload).unwrap()
}

/// A state that was saved and is whole again.
fn restored(saved: &[u8], record: impl Fn(u64) -> Record) -> State {
    let (mut state, _) = State::restore(Limits::default(), saved).expect("it was just saved");
    for revision in state.text_records() {
        let record = record(revision);
        assert!(state.put_text_back(revision, &record), "{record:?}");
    }
    state
}

fn by_serde(record: &Record) -> String {
    let mut bytes = vec![];
    RecordForm::serialize(record, &mut serde_json::Serializer::new(&mut bytes)).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Into a buffer that was used before.
fn as_written(record: &Record) -> String {
    let mut body = b"of before".to_vec();
    write_into(&mut body, record).unwrap();
    String::from_utf8(body).unwrap()
}

/// Any event: with and without everything that one may have.
fn any_event() -> impl Strategy<Value = Event> {
    let text = || "[a\"\\\\\n\u{1}ä ]{1,6}";
    let plain = (any::<u128>(), text(), any::<bool>(), 0..4_usize, any::<u8>(), text());
    (plain, prop::collection::vec((prop_oneof!["path", "method", "severity"], text()), 0..3)).prop_map(
        |((id, sender, directs, address, extras, name), attributes)| {
            let has = |bit: u8| extras & 1 << bit != 0;
            let label = Label::new("a \"b\"").unwrap();
            Event {
                id: EventId::new(AT, id),
                via: if has(0) { Via::Connector("telegram".parse().unwrap()) } else { Via::Http },
                sender,
                credential: (has(1) && has(2)).then(|| name.clone()),
                device: (has(1) && has(3)).then(|| name.clone()),
                directs,
                scope: if has(1) && has(4) { TokenScope::Labels(vec![label.clone()]) } else { TokenScope::Everything },
                chat: ChatId::new(name.trim()).unwrap_or_else(|| ChatId::new("7").unwrap()),
                address: [
                    Address::Open,
                    Address::Session(SessionId::new(AT, id)),
                    Address::Label(label),
                    Address::Open,
                ][address]
                    .clone(),
                attributes: attributes.into(),
                reply_to: (has(5) && has(6)).then(|| ReplyId::new(AT, id)),
                idempotency_key: (has(5) && has(7)).then_some(IdempotencyKey { key: name, digest: [7; 32] }),
                text: Text::new("t"),
                at: AT,
            }
        },
    )
}

proptest! {
    /// What is written by hand is what the journals of all releases have.
    #[test]
    fn any_event_is_written_as_serde_writes_it(event in any_event(), to in prop::option::of(any::<u128>())) {
        let record = Record::Received { event: event.into(), to: to.map(|to| SessionId::new(AT, to)) };
        prop_assert_eq!(as_written(&record), by_serde(&record));
    }

    #[test]
    fn any_delivery_is_written_as_serde_writes_it(events: Vec<u128>, way in 0..=DeliveryWay::ALL.len()) {
        let events = events.into_iter().map(|id| EventId::new(AT, id)).collect();
        let way = DeliveryWay::ALL.get(way).copied();
        let record = Record::Wrote { session: SessionId::new(AT, 1), events, way };
        prop_assert_eq!(as_written(&record), by_serde(&record));
    }

    #[test]
    fn a_snapshot_gives_the_same_state_as_all_records_and_holds_no_text(
        story in prop::collection::vec(any::<prop::sample::Index>(), 0..120),
        cut: prop::sample::Index,
    ) {
        let every = every_record();
        let story: Vec<Record> = story.iter().map(|which| kept(which.get(&every), false)).collect();
        let cut = cut.index(story.len() + 1);
        let mut whole = State::new(Limits::default());
        story[..cut].iter().for_each(|record| whole.apply(AT, record));
        let saved = whole.save(&[]);
        for secret in ["hällo", "high\n", "list", "\"command\"", "a.txt", "fine", "until it ends", "a rule"] {
            prop_assert!(!saved.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "{}", secret);
        }
        let mut again = restored(&saved, |revision| story[revision as usize - 1].clone());
        prop_assert_eq!(&again, &whole);
        for record in &story[cut..] {
            whole.apply(AT, record);
            again.apply(AT, record);
        }
        prop_assert_eq!(again, whole);
        // What was erased after a snapshot was made does not come back by it.
        let erased = restored(&saved, |revision| kept(&story[revision as usize - 1], true));
        let shown = format!("{erased:?}");
        for secret in ["hällo", "high", "\"list\"", "\\\"command", "a.txt", "fine", "until it ends", "a rule"] {
            prop_assert!(!shown.contains(secret), "{}", secret);
        }
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error_but_never_a_panic(body: Vec<u8>, payload: Vec<u8>) {
        drop(read(AT, &body, RecordPayload::Kept(&payload)));
    }

    #[test]
    fn a_damaged_record_never_panics(which: prop::sample::Index, place: prop::sample::Index, byte: u8) {
        let stored = write(which.get(&every_record())).unwrap();
        let mut body = stored.body;
        let place = place.index(body.len());
        body[place] = byte;
        drop(read(AT, &body, stored.payload.as_deref().map_or(RecordPayload::None, RecordPayload::Kept)));
    }
}
