//! Several fronts on one session, without a session: who is told what, and who is not waited for.

use portcullis_core::{AskId, Behavior, Details, Moment, NewAsk, Ruling, Source, Text};
use portcullis_wire::error::{Fault, Kind};

use super::super::frames::told_by;
use super::*;

/// The ends of a fanout: the driver's, the own front's, and the others'.
struct Ends {
    tell: mpsc::Sender<Told>,
    wanted: mpsc::Receiver<Command>,
    own: mpsc::Receiver<Told>,
    changes: mpsc::Sender<FrontChange>,
    running: tokio::task::JoinHandle<bool>,
}

impl Ends {
    fn start(prompt: Option<&str>) -> Self {
        let ((tell, told), (commands, wanted)) = (mpsc::channel(4), mpsc::channel(4));
        let ((send, own), (changes, changed)) = (mpsc::channel(4), mpsc::channel(4));
        let running = tokio::spawn(Fanout::new(commands, send, prompt).run(told, changed));
        Self { tell, wanted, own, changes, running }
    }

    async fn join(&self, front: FrontId) -> Inlet {
        let (outlet, mut inlet) = FrontOutlet::new();
        let joined = FrontChange::Joined { front, outlet, standing: Joined::default() };
        self.changes.send(joined).await.ok().unwrap();
        assert_eq!(line(&mut inlet).await, "{\"joined\":{}}");
        inlet
    }

    async fn tell(&self, told: Told) {
        self.tell.send(told).await.unwrap();
    }

    async fn wants(&self, front: FrontId, command: Command) {
        self.changes.send(FrontChange::Wants { front, command }).await.ok().unwrap();
    }
}

/// What is there soon, or not at all.
async fn soon<T>(waiting: impl Future<Output = Option<T>>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(10), waiting).await.unwrap().unwrap()
}

async fn line(inlet: &mut Inlet) -> String {
    String::from_utf8(soon(inlet.next()).await.to_vec()).unwrap().trim_end().to_owned()
}

async fn told(inlet: &mut Inlet) -> Told {
    told_by(serde_json::from_str(&line(inlet).await).unwrap()).unwrap()
}

fn ask(number: u128) -> Box<NewAsk> {
    Box::new(NewAsk {
        id: AskId::new(Moment(1), number),
        source: Source::Control,
        origin: "r".into(),
        tool: "Bash".into(),
        description: Text::new(""),
        preview: Text::new("ls"),
        details: Details::default(),
    })
}

fn notice(text: &str) -> Told {
    Told::Notice(text.to_owned())
}

#[tokio::test]
async fn a_front_that_joins_sees_the_last_words_the_open_prompts_and_then_what_happens() {
    let mut ends = Ends::start(Some("fix it"));
    ends.tell(notice("one")).await;
    ends.tell(Told::Prompt(PromptNews::Asked { ask: ask(1), code: None })).await;
    ends.tell(Told::Prompt(PromptNews::Asked { ask: ask(2), code: None })).await;
    ends.tell(Told::Prompt(PromptNews::Withdrawn { ask: ask(1).id, why: "gone".into() })).await;
    for _ in 0..4 {
        soon(ends.own.recv()).await;
    }
    let mut front = ends.join(1).await;
    assert_eq!(line(&mut front).await, r#"{"notice":"it was started with: fix it"}"#);
    assert_eq!(line(&mut front).await, r#"{"notice":"one"}"#);
    assert_eq!(line(&mut front).await, r#"{"caught_up":{"idle":false}}"#);
    assert!(
        matches!(told(&mut front).await, Told::Prompt(PromptNews::Asked { ask: open, .. }) if open.id == ask(2).id)
    );
    ends.tell(Told::Idle).await;
    assert_eq!(line(&mut front).await, r#""idle""#);
    drop(ends.tell);
    assert_eq!(line(&mut front).await, r#""ended""#);
    assert!(front.next().await.is_none() && !ends.running.await.unwrap());
}

#[tokio::test]
async fn what_one_front_says_the_others_see_and_who_answered_alone_is_told_that_it_does_not_count() {
    let mut ends = Ends::start(None);
    let (mut one, mut two) = (ends.join(1).await, ends.join(2).await);
    for front in [&mut one, &mut two] {
        assert_eq!(line(front).await, r#"{"caught_up":{"idle":true}}"#);
    }
    ends.wants(1, Command::Prompt("go".to_owned().into())).await;
    assert!(matches!(soon(ends.wanted.recv()).await, Command::Prompt(words) if words.text == "go"));
    assert!(matches!(told(&mut two).await, Told::Notice(text) if text == "another terminal says: go"));
    assert!(matches!(soon(ends.own.recv()).await, Told::Said { note, .. } if note == "another terminal says: go"));
    ends.tell(Told::Prompt(PromptNews::Asked { ask: ask(1), code: None })).await;
    for front in [&mut one, &mut two] {
        assert!(matches!(told(front).await, Told::Prompt(PromptNews::Asked { .. })));
    }
    assert!(matches!(soon(ends.own.recv()).await, Told::Prompt(PromptNews::Asked { .. })));
    ends.wants(2, Command::Answer { ask: ask(1).id, ruling: Box::new(Ruling::plain(Behavior::Allow)) }).await;
    assert!(matches!(soon(ends.wanted.recv()).await, Command::Answer { .. }));
    ends.tell(Told::Prompt(PromptNews::NotTaken { ask: ask(1).id, fault: Fault::new(Kind::Settled, "late") })).await;
    ends.tell(notice("next")).await;
    assert!(
        matches!(told(&mut two).await, Told::Prompt(PromptNews::NotTaken { fault, .. }) if fault.message == "late")
    );
    assert!(matches!(told(&mut one).await, Told::Notice(text) if text == "next"));
    assert!(matches!(soon(ends.own.recv()).await, Told::Notice(text) if text == "next"));
    ends.wants(1, Command::End).await;
    assert!(matches!(soon(ends.wanted.recv()).await, Command::End));
    drop(ends.tell);
    assert!(ends.running.await.unwrap(), "a front ended it");
}

#[tokio::test]
async fn a_front_that_does_not_read_is_cut_off_and_the_others_go_on() {
    let mut ends = Ends::start(None);
    let (stuck, mut reads) = (ends.join(1).await, ends.join(2).await);
    line(&mut reads).await;
    let text = "x".repeat(1 << 20);
    for _ in 0..=MOST_BYTES >> 20 {
        ends.tell(notice(&text)).await;
        soon(ends.own.recv()).await;
        line(&mut reads).await;
    }
    assert!(stuck.cut_off.is_cancelled() && !reads.cut_off.is_cancelled());
}

#[tokio::test]
async fn the_own_front_is_waited_for_and_others_may_join_meanwhile() {
    let mut ends = Ends::start(None);
    // As many as the channels and the fanout itself hold.
    for number in 0..9 {
        ends.tell(notice(&number.to_string())).await;
    }
    assert!(ends.tell.try_send(notice("one more")).is_err());
    let mut front = ends.join(1).await;
    for number in 0..9 {
        assert!(matches!(soon(ends.own.recv()).await, Told::Notice(text) if text == number.to_string()));
    }
    drop(ends.tell);
    let mut shown = vec![];
    while let Some(line) = front.next().await {
        shown.push(line);
    }
    assert_eq!(shown.len(), 9 + 2, "all of them, that it caught up, and the end");
    assert!(ends.own.recv().await.is_none());
}
