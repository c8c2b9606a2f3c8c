//! A look at the rules that begins when a request comes, while nobody has read yet what it asks for. A call that needs no
//! more of the disk is then judged without another thread: to go there and back takes longer than the judgement.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portcullis_core::policy::{Context, Judgement, RuleSet};
use portcullis_wire::tools;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::judge::Judge;
use super::request::ToolRequest;
use crate::rules::Rules;

/// A look counts so long. For a call that had to wait before it is judged, the rules are looked at again.
const LOOK_COUNTS: Duration = Duration::from_millis(20);
/// With more bytes of arguments a call is judged in the thread where nobody waits for it.
const MOST_ARGUMENTS: usize = 64 << 10;

#[derive(Clone)]
pub(crate) struct EarlyLook {
    begun: Instant,
    /// The rules and the folders that were looked at.
    rules: Arc<Rules>,
    folders: Arc<(PathBuf, Vec<PathBuf>)>,
    seen: watch::Receiver<Option<Arc<SeenRules>>>,
}

struct SeenRules {
    set: Arc<RuleSet>,
    around: Context,
}

impl fmt::Debug for EarlyLook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EarlyLook").field("begun", &self.begun).finish_non_exhaustive()
    }
}

impl Judge {
    /// Begins a look for whichever session beside this one the request is for. None while too many look.
    pub(crate) fn look_early(&self) -> Option<EarlyLook> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let (tells, seen) = watch::channel(None);
        let judged_in = Arc::clone(&self.judged_in);
        let (rules, folders) = (Arc::clone(&judged_in.rules), Arc::clone(&judged_in.folders));
        let begun = Instant::now();
        tokio::task::spawn_blocking(move || {
            let set = judged_in.rules.snapshot();
            let around = judged_in.context(None);
            drop(place);
            // The request may have been answered by now.
            drop(tells.send(Some(Arc::new(SeenRules { set, around }))));
        });
        Some(EarlyLook { begun, rules, folders, seen })
    }

    /// The judgement by the look that began with the request. None where it does not count, or does not do for the call.
    pub(super) async fn judge_by_look(&self, request: &ToolRequest) -> Option<Judgement> {
        let look = request.looked.as_ref()?;
        // What a server's tool is told names no file of ours.
        let is_simple = request.tool.starts_with("mcp__") && request.folder.is_none() && request.own.is_none();
        let judged_in = &self.judged_in;
        let is_of_us = Arc::ptr_eq(&look.rules, &judged_in.rules) && Arc::ptr_eq(&look.folders, &judged_in.folders);
        if !is_simple || !is_of_us || !is_small(&request.input) {
            return None;
        }
        let seen = look.seen().await?;
        let around = Context { label: Some(judged_in.label.clone()), ..seen.around.clone() };
        Rules::decide_without_disk(&seen.set, request.mode(), &around, tools::call(&request.tool, &request.input))
    }
}

impl EarlyLook {
    async fn seen(&self) -> Option<Arc<SeenRules>> {
        let until = self.begun + LOOK_COUNTS;
        let mut seen = self.seen.clone();
        let known = seen.borrow_and_update().clone();
        let known = match known {
            Some(known) => known,
            // One that breaks down tells nothing.
            None => tokio::time::timeout_at(until, seen.wait_for(Option::is_some)).await.ok()?.ok()?.clone()?,
        };
        (Instant::now() < until).then_some(known)
    }
}

/// Whether the arguments are so few that nobody notices how long they take.
fn is_small(arguments: &Value) -> bool {
    fn fits(value: &Value, left: &mut usize) -> bool {
        const OTHERS: usize = 16;
        let bytes = match value {
            Value::String(text) => text.len(),
            Value::Object(fields) => fields.keys().map(String::len).sum(),
            _ => 0,
        };
        let Some(rest) = left.checked_sub(bytes + OTHERS) else { return false };
        *left = rest;
        match value {
            Value::Array(items) => items.iter().all(|item| fits(item, left)),
            Value::Object(fields) => fields.values().all(|field| fits(field, left)),
            _ => true,
        }
    }
    let mut left = MOST_ARGUMENTS;
    fits(arguments, &mut left)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::request;
    use super::*;
    use portcullis_core::policy::Decision;

    fn calling(judge: &Judge) -> ToolRequest {
        let looked = judge.look_early();
        ToolRequest { tool: "mcp__files__read".to_owned(), input: json!({"name": "a"}), looked, ..request("") }
    }

    fn write(folder: &std::path::Path, rules: &str) {
        let state = folder.join(".config/portcullis");
        std::fs::create_dir_all(&state).unwrap();
        std::fs::write(state.join("rules.toml"), rules).unwrap();
    }

    /// Waits for the look, whose thread knows nothing of the test's clock.
    async fn looked(request: &ToolRequest) {
        let mut seen = request.looked.as_ref().unwrap().seen.clone();
        drop(seen.wait_for(Option::is_some).await.unwrap());
    }

    #[tokio::test]
    async fn a_call_is_judged_by_the_look_that_began_with_its_request() {
        tokio::time::pause();
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "[[rule]]\nallow = \"mcp__files\"\n");
        let judge = Judge::of_home(folder.path());
        let call = calling(&judge);
        looked(&call).await;
        let judgement = judge.judge_by_look(&call).await.unwrap();
        assert!(judgement.decision == Decision::Allow && judgement.rule.is_some(), "{judgement:?}");
        assert_eq!(judgement, judge.judge(&ToolRequest { looked: None, ..call.clone() }).await);
        // Somebody denies it while the call waits for something else.
        write(folder.path(), "[[rule]]\ndeny = \"mcp__files\"\n");
        tokio::time::advance(LOOK_COUNTS).await;
        assert!(judge.judge_by_look(&call).await.is_none());
        assert_eq!(judge.judge(&call).await.decision, Decision::Deny);
        // The next request looks again.
        let next = calling(&judge);
        looked(&next).await;
        assert_eq!(judge.judge_by_look(&next).await.unwrap().decision, Decision::Deny);
    }

    #[tokio::test]
    async fn what_needs_the_disk_or_may_take_long_is_judged_in_a_thread() {
        tokio::time::pause();
        let folder = tempfile::tempdir().unwrap();
        let judge = Judge::of_home(folder.path());
        let call = calling(&judge);
        looked(&call).await;
        assert!(judge.judge_by_look(&call).await.is_some());
        let long = json!({"name": "a".repeat(MOST_ARGUMENTS)});
        let others = [
            ToolRequest { input: long, ..call.clone() },
            ToolRequest { tool: "Read".to_owned(), input: json!({"file_path": "/a"}), ..call.clone() },
            ToolRequest { folder: Some("/a".to_owned()), ..call.clone() },
            ToolRequest { looked: None, ..call.clone() },
        ];
        for other in others {
            assert!(judge.judge_by_look(&other).await.is_none(), "{other:?}");
        }
        let another = tempfile::tempdir().unwrap();
        assert!(Judge::of_home(another.path()).judge_by_look(&call).await.is_none(), "by the rules of another");
        assert!(judge.beside("other".to_owned()).judge_by_look(&call).await.is_some());
        // Rules that nobody has trusted are no part of it.
        let rules = folder.path().join(".portcullis/rules.toml");
        std::fs::create_dir_all(rules.parent().unwrap()).unwrap();
        std::fs::write(rules, "[[rule]]\ndeny = \"mcp__files\"\n").unwrap();
        let next = calling(&judge);
        looked(&next).await;
        assert!(judge.judge_by_look(&next).await.is_none());
        assert_eq!(judge.judge(&next).await.decision, Decision::Deny);
    }
}
