//! What the user's and the project's rules say of a call, as their files are at that moment, and within a time.
//!
//! A judgement looks at the disk, and its work grows with files that a project brings. It runs in a thread of its own:
//! whatever it meets there, the session's process goes on, and a judgement that is late is an ask.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use portcullis_core::policy::{Call, Decision, Judgement, Mode, OutsidePolicy};
use portcullis_core::{AskKind, Replaced};
use portcullis_wire::tools;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::replaced::OpenedFile;
use super::request::{Decision as GateDecision, ToolRequest};
use crate::fixed;
use crate::rules::{Rules, late};

/// A call waits no longer than this for each of its judgements: by the owner's rules alone, then by all.
const JUDGED_WITHIN: Duration = Duration::from_secs(2);
/// Judgements at once. One that a file system keeps waiting keeps its place, and what finds none is late.
const MOST_AT_ONCE: usize = 16;

/// The rules of one session.
#[derive(Clone)]
pub(crate) struct Judge {
    pub(super) judged_in: Arc<JudgedIn>,
    pub(super) places: Arc<Semaphore>,
}

/// What the rules say of a call.
#[derive(Debug)]
pub(super) enum Judged {
    InTime(Judgement),
    /// Not all of them have spoken: what counts instead.
    Late(Judgement),
}

/// Where a session's calls are judged.
pub(super) struct JudgedIn {
    pub(super) rules: Arc<Rules>,
    /// Where the session was started, and other folders it may work in.
    pub(super) folders: Arc<(PathBuf, Vec<PathBuf>)>,
    pub(super) label: String,
}

impl Judge {
    pub(crate) fn new(rules: Rules, folder: PathBuf, added: Vec<PathBuf>, label: String) -> Self {
        let judged_in = JudgedIn { rules: Arc::new(rules), folders: Arc::new((folder, added)), label };
        Self { judged_in: Arc::new(judged_in), places: Arc::new(Semaphore::new(MOST_AT_ONCE)) }
    }

    /// The same rules for another session in the same folders.
    pub(crate) fn beside(&self, label: String) -> Self {
        let JudgedIn { rules, folders, .. } = &*self.judged_in;
        let judged_in = JudgedIn { rules: Arc::clone(rules), folders: Arc::clone(folders), label };
        Self { judged_in: Arc::new(judged_in), places: Arc::new(Semaphore::new(MOST_AT_ONCE)) }
    }

    /// The rules of a user whose home is this folder, for a session there.
    #[cfg(test)]
    pub(crate) fn of_home(folder: &Path) -> Self {
        Self::new(Rules::of_home(folder), folder.to_owned(), vec![], "api".to_owned())
    }

    /// Every place, as if file systems that do not answer kept it.
    #[cfg(test)]
    pub(super) async fn every_place(&self) -> tokio::sync::OwnedSemaphorePermit {
        let places = Arc::clone(&self.places);
        places.acquire_many_owned(u32::try_from(MOST_AT_ONCE).unwrap()).await.unwrap()
    }

    /// Looks at the rules as they are now. Relative paths of the call lead from its own folder. The owner's rules are
    /// judged first and alone: what an untrusted file of the project costs delays none of their denials.
    pub(super) async fn judge(&self, request: &ToolRequest) -> Judgement {
        match self.judge_in_time(request).await {
            Judged::InTime(judgement) | Judged::Late(judgement) => judgement,
        }
    }

    /// The same, for whoever has to know whether all of the rules have spoken.
    pub(super) async fn judge_in_time(&self, request: &ToolRequest) -> Judged {
        if let Some(judgement) = self.judge_by_look(request).await {
            return Judged::InTime(judgement);
        }
        let mode = request.mode();
        let asked = request.clone();
        let known = Arc::new(OnceLock::new());
        let telling = Arc::clone(&known);
        // One thread for both: to go there and back takes longer than most judgements.
        let by_trusted = self.within(move |judged_in| {
            let (context, call) = (judged_in.context(asked.folder.as_ref()), call(&asked));
            let set = judged_in.rules.snapshot();
            let (denied, quorum) = Rules::known_at_once(&set, &context, &call);
            // What else a line holds must not make a denial late, nor forget how many people a rule wants.
            telling.get_or_init(|| quorum);
            match denied {
                Some(denied) => (denied, false),
                None => Rules::decide_by_trusted(&set, mode, &context, call),
            }
        });
        let by_trusted = by_trusted.await;
        let quorum = known.get().copied().flatten();
        let Some((by_trusted, has_more)) = by_trusted else { return Judged::Late(late(mode, None, quorum)) };
        let is_denied =
            denied_by(&by_trusted).is_some() || request.own.is_none() && by_trusted.decision == Decision::Deny;
        if is_denied || !has_more && request.own.is_none() {
            return Judged::InTime(by_trusted);
        }
        let asked = request.clone();
        let by_all = self.within(move |judged_in| {
            let context = judged_in.context(asked.folder.as_ref());
            let clients = asked.own.as_ref().map(|own| own.rules.as_slice()).unwrap_or_default();
            judged_in.rules.decide_with(clients, mode, &context, call(&asked))
        });
        match by_all.await {
            Some(by_all) => Judged::InTime(by_all),
            None => Judged::Late(late(mode, Some(by_trusted), quorum)),
        }
    }

    /// Whether the call may pass unasked although text from outside went before the model.
    pub(super) async fn passes_outside_guard(&self, request: &ToolRequest, policy: OutsidePolicy) -> bool {
        let asked = request.clone();
        let passes = self.within(move |judged_in| {
            judged_in.rules.passes_outside_guard(&judged_in.context(asked.folder.as_ref()), call(&asked), policy)
        });
        passes.await.unwrap_or(false)
    }

    /// Whether no rule denies or asks for reading a file, which is about to leave without a call of a tool for it.
    pub(crate) async fn may_be_read(&self, path: &str) -> Result<(), String> {
        let read = tools::call("Read", &json!({"file_path": path}));
        let judged =
            self.within(move |judged_in| judged_in.rules.decide(Mode::Default, &judged_in.context(None), read));
        match judged.await.unwrap_or_else(|| late(Mode::Default, None, None)) {
            judgement if denied_by(&judgement).is_some() || judgement.must_be_asked() => Err(judgement.why),
            _ => Ok(()),
        }
    }

    /// What the client's settings in the project say; none where that cannot be told in time, or not for all of them.
    pub(crate) async fn settings_of_project(&self) -> Option<Vec<Value>> {
        let said = self.in_time(|judged_in| judged_in.rules.settings_of_project(&judged_in.folders.0)).await;
        if said.is_none() {
            tracing::warn!("the project's settings were not read in time, and may have a hook that answers");
        }
        said.flatten()
    }

    /// The file that the call would replace as a whole, for whoever decides; none where there is none, and where that cannot be
    /// told in time.
    pub(super) async fn replaced(&self, request: &ToolRequest) -> Option<Replaced> {
        let path = request.input.get("file_path").and_then(Value::as_str).filter(|_| request.tool == "Write")?;
        let start = request.folder.as_deref().map_or(self.judged_in.folders.0.as_path(), Path::new);
        let path = start.join(path);
        let name = path.to_str()?.to_owned();
        let opened = self.within(move |judged_in| OpenedFile::at(&judged_in.folders.0, &path)).await.flatten()?;
        // By the name that the call says, and by the file that was opened.
        let mut may_be_read = self.may_be_read(&name).await.is_ok();
        if let Some(real) = opened.path().filter(|real| may_be_read && *real != name) {
            may_be_read = self.may_be_read(real).await.is_ok();
        }
        self.within(move |_| opened.told(may_be_read)).await
    }

    /// Which of these tools a rule denies, whatever they are called with. What cannot be told in time is not denied here:
    /// each call is judged by itself.
    pub(super) async fn denied_tools(&self, tools: Vec<String>) -> Vec<bool> {
        let count = tools.len();
        let judged = self.within(move |judged_in| {
            let context = judged_in.context(None);
            let judge = |tool: &String| judged_in.rules.decide(Mode::Default, &context, Call::new(tool, [].into()));
            tools.iter().map(|tool| denied_by(&judge(tool)).is_some()).collect::<Vec<_>>()
        });
        judged.await.unwrap_or_else(|| vec![false; count])
    }

    /// What the rules say in time; none where they are late.
    async fn within<T: Send + 'static>(&self, work: impl FnOnce(&JudgedIn) -> T + Send + 'static) -> Option<T> {
        let judged = self.in_time(work).await;
        if judged.is_none() {
            tracing::warn!("a call was not judged within {:?}, and is asked for", longest());
        }
        judged
    }

    /// What comes out in time; none where it is late.
    async fn in_time<T: Send + 'static>(&self, work: impl FnOnce(&JudgedIn) -> T + Send + 'static) -> Option<T> {
        let judged_in = Arc::clone(&self.judged_in);
        let judging = async {
            let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
            // One that breaks down gives its place back, and is late.
            let judging = tokio::task::spawn_blocking(move || {
                let made = work(&judged_in);
                drop(place);
                made
            });
            judging.await.ok()
        };
        tokio::time::timeout(longest(), judging).await.ok().flatten()
    }

    /// Decides before a call, or about its permission, where nobody else can: what a person must decide is left to the
    /// terminal where the client asks there, and denied where it would not.
    pub(crate) async fn decide_alone(&self, request: &ToolRequest) -> GateDecision {
        if let Some(why) = request.unjudgeable() {
            return GateDecision::deny(why);
        }
        let judgement = self.judge(request).await;
        if denied_by(&judgement).is_some() {
            return GateDecision::deny(judgement.why);
        }
        if !judgement.must_be_asked() || request.kind() != AskKind::Tool {
            return GateDecision::NoDecision;
        }
        if asks_a_person(request, &judgement) {
            return GateDecision::Ask { reason: judgement.why };
        }
        GateDecision::deny(format!(
            "A person must decide this ({}), and the session's own portcullis process does not answer: `portcullis doctor` \
             says why.",
            judgement.why
        ))
    }
}

impl JudgedIn {
    pub(super) fn context(&self, folder: Option<&String>) -> portcullis_core::policy::Context {
        let (started, added) = &*self.folders;
        let shell = self.rules.session_shell(started);
        let mut context = self.rules.around(started, added, Some(&self.label), shell);
        // Where the agent has gone meanwhile is where its relative paths lead, but no folder it may work in.
        if let Some(folder) = folder.filter(|folder| Path::new(folder).is_absolute()) {
            context.cwd.clone_from(folder);
        }
        context
    }
}

fn longest() -> Duration {
    fixed::wait("JUDGED_WITHIN", JUDGED_WITHIN)
}

fn call(request: &ToolRequest) -> Call {
    tools::call(&request.tool, &request.input)
}

/// The rule of somebody that denies the call, and not only might. Where no rule speaks, the client's own mode and settings
/// decide.
pub(super) fn denied_by(judgement: &Judgement) -> Option<String> {
    let is_denied = judgement.decision == Decision::Deny;
    let rule = judgement.rule.as_ref().filter(|rule| is_denied && rule.decision == Decision::Deny)?;
    Some(rule.pattern.to_string())
}

/// Whether the client, told to ask about this call, has one person decide it, and that is enough.
pub(super) fn asks_a_person(request: &ToolRequest, judgement: &Judgement) -> bool {
    let several = quorum(judgement) > 1 && request.capabilities.terminal;
    // In auto mode Claude Code has its own check decide about these before it asks anybody, or asks only at its terminal.
    let is_checked_first = request.mode() == Mode::Auto && judgement.is_mandatory();
    request.capabilities.heeds_ask && !several && !is_checked_first
}

/// How many people must allow the call.
pub(super) fn quorum(judgement: &Judgement) -> u8 {
    judgement.quorum.and_then(|quorum| u8::try_from(quorum).ok()).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::tests::request;
    use super::*;

    #[tokio::test]
    async fn a_judgement_that_breaks_down_is_late_and_leaves_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let judge = Judge::of_home(folder.path());
        for _ in 0..MOST_AT_ONCE + 1 {
            assert_eq!(judge.within(|_| -> u32 { panic!("as the engine might") }).await, None);
        }
        assert_eq!(judge.within(|_| 1).await, Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_cannot_be_judged_in_time_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let judge = Judge::of_home(folder.path());
        let request = ToolRequest { mode: Some("bypassPermissions".to_owned()), ..request("ls") };
        assert_eq!(judge.judge(&request).await.decision, Decision::Allow);
        let all = judge.every_place().await;
        let judgement = judge.judge(&request).await;
        assert!(judgement.must_be_asked() && judgement.why.contains("takes too long"), "{judgement:?}");
        assert!(!judge.passes_outside_guard(&request, OutsidePolicy::Guard).await);
        drop(all);
        assert_eq!(judge.judge(&request).await.decision, Decision::Allow);
    }
}
