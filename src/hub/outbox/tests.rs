//! What goes out through a connector: in order, again until it is taken, and to those alone who are still let in.

use std::sync::Arc;

use std::path::Path;

use portcullis_core::{
    Actor, Address, Answer, AskId, Behavior, Details, EventId, IdempotencyKey, Label, NewAsk, ReplyId, Role, Ruling,
    SaidText, SessionAbout, SessionId, Source, Text, TokenScope, VerdictTarget, Via,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::hub::{HubLimits, mint, start};
use crate::store::{Append, Durability, Entry, Store};

/// A hub with a session, and ann, a reviewer, who wrote to it in chat `7` of connector `ops`.
struct World {
    hub: Hub,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    session: SessionId,
}

fn ops() -> ConnectorName {
    "ops".parse().unwrap()
}

fn actor(name: &str, role: Role) -> Actor {
    Actor {
        name: name.into(),
        rights: role.rights(),
        via: Via::Connector(ops()),
        scope: TokenScope::Everything,
        device: None,
    }
}

impl World {
    async fn on(store: Store, session: SessionId) -> Self {
        let limits = HubLimits {
            queue: 4096,
            queue_bytes: 1 << 20,
            watcher: 4,
            rate: 50,
            burst: 200,
            device_rate: 50,
            device_burst: 200,
            coalesce: Default::default(),
            state: Default::default(),
            snapshot_after: 100_000,
        };
        let stop = CancellationToken::new();
        let (hub, task) = start(store, limits, "1", stop.clone()).await.unwrap();
        Self { hub, stop, task, session }
    }

    async fn new() -> (Self, Outbox) {
        let world = Self::on(Store::memory(), mint(SessionId::new)).await;
        let outbox = world.begin().await;
        (world, outbox)
    }

    async fn begin(&self) -> Outbox {
        let outbox = self.outbox().await;
        self.pair("42", "ann", Role::Reviewer).await;
        let about = SessionAbout {
            label: Label::new("api").unwrap(),
            label_chosen: false,
            connected_by: "test".into(),
            pid: None,
            runs_commands: false,
            folder: None,
            agent_session: None,
            continues: None,
            mode: None,
            driven: false,
            hooks_version: None,
            is_working: None,
            at_dialog: false,
            person: None,
            wakes: None,
            origin: None,
        };
        self.submit(Input::Attached { session: self.session, about, wrote: vec![], holding: vec![] }).await;
        self.write_in("7", "ann", Role::Reviewer).await;
        outbox
    }

    async fn outbox(&self) -> Outbox {
        Outbox::open(self.hub.clone(), ops()).await.unwrap()
    }

    async fn submit(&self, input: Input) -> Answer {
        let answer = self.hub.submit(input).await.unwrap();
        assert!(!matches!(answer, Answer::Refused(_)), "{answer:?}");
        answer
    }

    async fn pair(&self, user: &str, name: &str, role: Role) {
        let identity = format!("ops:{user}").parse().unwrap();
        let asked = self.submit(Input::AskPairing { identity, called: user.into(), entropy: 7 }).await;
        let Answer::Pairing { code } = asked else { panic!("{asked:?}") };
        let by = Actor { via: Via::Socket, ..actor("owner", Role::Admin) };
        self.submit(Input::Pair { by, code, name: name.into(), role }).await;
    }

    /// Writes in a chat of the platform, and has the session read it.
    async fn write_in(&self, chat: &str, name: &str, role: Role) {
        let id = mint(EventId::new);
        let idempotency_key: Option<IdempotencyKey> = None;
        let (text, chat) = (SaidText::new("hello"), ops().chat(chat));
        let (by, address) = (actor(name, role), Address::Session(self.session));
        let (inside, attributes, reply_to) = (None, Arc::default(), None);
        self.submit(Input::Said { id, by, inside, text, address, chat, attributes, reply_to, idempotency_key }).await;
        self.submit(Input::Wrote { session: self.session, events: vec![id], way: None }).await;
    }

    async fn reply(&self, chat: &str, text: &str) -> ReplyId {
        let (id, chat, text) = (mint(ReplyId::new), ops().chat(chat).unwrap(), Text::new(text));
        self.submit(Input::Replied { id, session: self.session, chat, reply_to: None, text, files: vec![] }).await;
        id
    }

    async fn ask(&self, quorum: u8) -> AskId {
        let id = mint(AskId::new);
        let (origin, tool, source) = (String::new(), "Bash".into(), Source::Hook);
        let (description, preview) = (Text::new("d"), Text::new("p"));
        let details = Details { quorum, ..Details::default() };
        let ask = Box::new(NewAsk { id, source, origin, tool, description, preview, details });
        self.submit(Input::Asked { session: self.session, ask, entropy: 1 }).await;
        id
    }

    async fn answer(&self, ask: AskId, name: &str, behavior: Behavior) {
        let (by, ruling) = (actor(name, Role::Reviewer), Ruling::plain(behavior));
        self.submit(Input::Answered { by, target: VerdictTarget::Id(ask), ruling, idempotency_key: None }).await;
    }

    async fn remove(&self, name: &str) {
        self.submit(Input::RemovePerson { by: actor("owner", Role::Admin), name: name.into() }).await;
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

/// The item in a word or two.
fn told(item: &Item) -> String {
    let to = match &item.to {
        Recipient::Chat(chat) => format!("chat {chat}"),
        Recipient::User(user) => format!("user {user}"),
    };
    match &item.what {
        ItemContent::Reply(reply) => format!("{to}: {}", reply.text.as_str()),
        ItemContent::Edit { text, .. } => format!("{to}: edited to {text}"),
        ItemContent::Prompt { state, .. } => format!("{to}: prompt, {state}"),
        ItemContent::Progress { ask, life } => {
            let text = portcullis_wire::text::progress(ask, life).unwrap();
            format!("{to}: {}", text.split_once(": ").unwrap().1)
        }
        ItemContent::Paired { name, role } => format!("{to}: is {name}, a {role}"),
    }
}

/// Everything there is to come, in order. Nothing of it is taken.
async fn all(outbox: &mut Outbox) -> Vec<Item> {
    let mut items = vec![];
    while let Some(item) = outbox.try_next().await.unwrap() {
        items.push(item);
    }
    items
}

async fn all_told(outbox: &mut Outbox) -> Vec<String> {
    let items = all(outbox).await;
    for item in &items {
        assert!(outbox.taken(&item.id, None));
    }
    items.iter().map(told).collect()
}

#[tokio::test]
async fn an_edited_reply_comes_with_the_platforms_name_of_the_message_it_replaces() {
    let (world, mut outbox) = World::new().await;
    all_told(&mut outbox).await;
    let reply = world.reply("7", "working on it").await;
    let first = all(&mut outbox).await.remove(0);
    assert!(outbox.taken(&first.id, Some("m1".to_owned())));
    assert_eq!(outbox.try_next().await.unwrap(), None, "all that was taken is on the record");
    world.submit(Input::ReplyEdited { session: world.session, reply, text: Text::new("done") }).await;
    let edit = all(&mut outbox).await.remove(0);
    assert_eq!((told(&edit).as_str(), edit.message.as_deref()), ("chat 7: edited to done", Some("m1")));
    assert_ne!(edit.id, first.id);
    world.end().await;
}

#[tokio::test]
async fn replies_and_prompts_and_what_became_of_them_come_in_the_order_of_the_journal() {
    let (world, mut outbox) = World::new().await;
    world.pair("43", "bob", Role::Reviewer).await;
    world.pair("44", "tom", Role::Sender).await;
    assert_eq!(
        all_told(&mut outbox).await,
        ["user 42: is ann, a reviewer", "user 43: is bob, a reviewer", "user 44: is tom, a sender"]
    );
    world.reply("7", "one").await;
    let ask = world.ask(2).await;
    world.answer(ask, "ann", Behavior::Allow).await;
    world.answer(ask, "bob", Behavior::Allow).await;
    world.submit(Input::Carried { ask, session: world.session, verdict_at: None }).await;
    world.reply("7", "two").await;
    assert_eq!(
        all_told(&mut outbox).await,
        [
            "chat 7: one",
            "user 42: prompt, answered",
            "user 43: prompt, answered",
            "user 42: allowed by ann over ops, 1 of the 2 who must agree",
            "user 43: allowed by ann over ops, 1 of the 2 who must agree",
            "user 42: allowed by bob over ops",
            "user 43: allowed by bob over ops",
            "chat 7: two",
        ]
    );
    let late = world.ask(1).await;
    world.submit(Input::Withdrawn { ask: late, by: None, why: "gone".into() }).await;
    assert_eq!(all_told(&mut outbox).await.last().unwrap(), "user 43: withdrawn, gone");
}

#[tokio::test]
async fn what_was_not_taken_comes_again_after_a_restart_under_the_same_id() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.db");
    let disk = |path: &Path| Store::sqlite(path, Durability::Process).unwrap();
    let world = World::on(disk(&journal), mint(SessionId::new)).await;
    let session = world.session;
    let mut outbox = world.begin().await;
    for number in 0..10 {
        world.reply("7", &number.to_string()).await;
    }
    let before = all(&mut outbox).await;
    assert_eq!(before.len(), 11);
    // The fifth reply is not taken, though later ones are.
    for item in before[..5].iter().chain(&before[6..8]) {
        assert!(outbox.taken(&item.id, None));
        assert!(!outbox.taken(&item.id, None), "taken once");
    }
    outbox.write_cursor().await.unwrap();
    outbox.rewind();
    let again: Vec<Item> = all(&mut outbox).await;
    assert_eq!(again, [&before[5..6], &before[8..]].concat(), "on a new connection only the rest");
    drop(outbox);
    world.end().await;

    let world = World::on(disk(&journal), session).await;
    assert_eq!(all(&mut world.outbox().await).await, before[5..], "after a restart all from the first that was not");
    let mut outbox = world.outbox().await;
    for item in all(&mut outbox).await {
        outbox.taken(&item.id, None);
    }
    assert!(all(&mut outbox).await.is_empty());
    world.end().await;
    let world = World::on(disk(&journal), session).await;
    assert_eq!(all(&mut world.outbox().await).await, []);
}

#[tokio::test]
async fn a_platform_that_takes_nothing_is_given_a_bounded_number_and_then_the_rest() {
    let (world, mut outbox) = World::new().await;
    for number in 0..1500 {
        world.reply("7", &number.to_string()).await;
    }
    let mut seen = vec![];
    loop {
        let items = all(&mut outbox).await;
        assert!(items.len() <= WINDOW && outbox.open.len() <= PAGE + WINDOW);
        if items.is_empty() {
            break;
        }
        for item in items {
            assert!(outbox.taken(&item.id, None));
            seen.push(told(&item));
        }
    }
    assert_eq!(seen.len(), 1501);
    assert_eq!(seen[1..], (0..1500).map(|number| format!("chat 7: {number}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn who_was_shown_out_is_told_nothing_any_more() {
    let (world, mut outbox) = World::new().await;
    world.pair("43", "bob", Role::Reviewer).await;
    world.write_in("8", "bob", Role::Reviewer).await;
    all_told(&mut outbox).await;
    for chat in ["7", "8"] {
        world.reply(chat, "said before").await;
    }
    world.ask(1).await;
    let handed_out = all(&mut outbox).await.len();
    assert_eq!(handed_out, 4);
    world.remove("bob").await;
    outbox.rewind();
    assert_eq!(all_told(&mut outbox).await, ["chat 7: said before", "user 42: prompt, open"]);
    world.submit(Input::Unlink { by: actor("owner", Role::Admin), identity: "ops:42".parse().unwrap() }).await;
    world.reply("7", "said after").await;
    world.ask(1).await;
    assert!(all_told(&mut outbox).await.is_empty());
}

#[tokio::test]
async fn the_platforms_own_name_for_a_prompt_comes_with_what_became_of_it() {
    let (world, mut outbox) = World::new().await;
    all_told(&mut outbox).await;
    let ask = world.ask(1).await;
    let prompt = outbox.next().await.unwrap();
    assert_eq!((&prompt.message, prompt.id.user.as_deref()), (&None, Some("42")));
    outbox.taken(&prompt.id, Some("m-1".into()));
    world.answer(ask, "ann", Behavior::Deny).await;
    assert_eq!(outbox.next().await.unwrap().message.as_deref(), Some("m-1"), "before it is on the record");
    outbox.write_cursor().await.unwrap();
    outbox.rewind();
    assert_eq!(outbox.next().await.unwrap().message.as_deref(), Some("m-1"), "and after that");
}

#[tokio::test]
async fn a_new_connector_begins_with_now_and_other_connectors_are_not_its_concern() {
    let (world, _) = World::new().await;
    world.reply("7", "long ago").await;
    let mut other = Outbox::open(world.hub.clone(), "other".parse().unwrap()).await.unwrap();
    world.reply("7", "not for it").await;
    world.ask(1).await;
    assert_eq!(all(&mut other).await, []);
    let again = Outbox::open(world.hub.clone(), "other".parse().unwrap()).await.unwrap();
    assert_eq!(again.read.0, other.written, "it begins where it began");
}

#[tokio::test]
async fn what_waited_for_more_than_a_week_does_not_go_out() {
    let mut store = Store::memory();
    let session = mint(SessionId::new);
    let (id, chat) = (mint(ReplyId::new), ops().chat("7").unwrap());
    let reply = |text: &str| {
        let text = Text::new(text);
        Record::Replied {
            reply: portcullis_core::Reply {
                id,
                session,
                chat: chat.clone(),
                reply_to: None,
                text,
                files: vec![],
                at: Moment(0),
                edited: None,
            },
        }
    };
    let taken = Record::Taken { connector: ops(), position: 0, messages: vec![] };
    let days = |number: u64| now().0 - number * 24 * 3_600_000;
    for (at, record) in [(days(30), taken), (days(8), reply("stale")), (days(6), reply("fresh"))] {
        let subject = record.subject().to_string();
        let stored = portcullis_wire::record::write(&record).unwrap();
        let after = store.records().read(&subject).unwrap().last().map(|stored| stored.seq);
        let entries = vec![Entry { at, body: stored.body, payload: stored.payload }];
        store.append(vec![Append { subject, after, fresh: false, entries }]).await[0].clone().unwrap();
    }
    let world = World::on(store, session).await;
    let mut outbox = world.begin().await;
    assert_eq!(all_told(&mut outbox).await, ["chat 7: fresh", "user 42: is ann, a reviewer"]);
}

#[tokio::test]
async fn who_waits_for_the_next_item_is_woken_by_it() {
    let (world, mut outbox) = World::new().await;
    all_told(&mut outbox).await;
    let waiting = async {
        let item = outbox.next().await.unwrap();
        (told(&item), outbox)
    };
    let mut waiting = std::pin::pin!(waiting);
    // What is dropped while it waits is only asked again: nothing is lost by it.
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("there is nothing yet"),
        _ = world.reply("7", "now") => {}
    }
    let (first, mut outbox) = waiting.await;
    assert_eq!(first, "chat 7: now");
    for number in 0..50 {
        tokio::select! {
            biased;
            _ = outbox.next() => panic!("there is nothing yet"),
            () = tokio::task::yield_now() => {}
        }
        world.reply("7", &number.to_string()).await;
        let item = outbox.next().await.unwrap();
        assert_eq!(told(&item), format!("chat 7: {number}"));
        outbox.taken(&item.id, None);
    }
}

#[tokio::test]
async fn a_gate_whose_log_someone_follows_is_in_use_and_its_own_reader_does_not_count() {
    let world = World::on(Store::memory(), mint(SessionId::new)).await;
    let _own = world.hub.appended();
    assert_eq!(world.hub.usage().await, Ok(crate::hub::Usage::Idle));
    let follower = world.hub.follow();
    assert_eq!(world.hub.usage().await, Ok(crate::hub::Usage::InUse));
    drop(follower);
    assert_eq!(world.hub.usage().await, Ok(crate::hub::Usage::Idle));
}

#[tokio::test]
async fn a_gate_with_a_connector_is_in_use() {
    let world = World::on(Store::memory(), mint(SessionId::new)).await;
    assert_eq!(world.hub.usage().await, Ok(crate::hub::Usage::Idle));
    let outbox = world.outbox().await;
    assert_eq!(world.hub.usage().await, Ok(crate::hub::Usage::InUse));
    drop(outbox);
    assert_eq!(world.hub.usage().await, Ok(crate::hub::Usage::Idle));
}

#[test]
fn an_item_is_named_as_it_is_read() {
    for text in ["7", "7@42", "7@a@b"] {
        assert_eq!(text.parse::<ItemId>().unwrap().to_string(), text);
    }
    for wrong in ["", "@42", "x@42", "-1"] {
        assert!(wrong.parse::<ItemId>().is_err(), "{wrong}");
    }
}
