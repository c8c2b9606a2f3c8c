//! What is to be done, as the model keeps it with its tools, as a plan for the editor.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::{Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate};
use serde_json::Value;

/// The tasks of the plan, by their ids, where the client keeps them one by one.
#[derive(Default)]
pub(super) struct PlanTasks(BTreeMap<u64, PlanEntry>);

impl PlanTasks {
    /// The plan, where a call changes it.
    pub(super) fn called(&mut self, tool: &str, input: &Value) -> Option<SessionUpdate> {
        match tool {
            "TodoWrite" => {
                let todos = input["todos"].as_array()?;
                let entry = |todo: &Value| Some(plan_entry(todo["content"].as_str()?, todo["status"].as_str()));
                Some(SessionUpdate::Plan(Plan::new(todos.iter().filter_map(entry).collect())))
            }
            "TaskUpdate" => {
                let id = task_id(&input["taskId"])?;
                if input["status"] == "deleted" {
                    self.0.remove(&id)?;
                } else {
                    let task = self.0.get_mut(&id)?;
                    let subject = input["subject"].as_str().unwrap_or(&task.content).to_owned();
                    let status = input["status"].as_str().map(status_of);
                    *task = PlanEntry::new(subject, PlanEntryPriority::Medium, status.unwrap_or(task.status.clone()));
                }
                Some(self.whole())
            }
            _ => None,
        }
    }

    /// The plan with a task that was made, as the client keeps it.
    pub(super) fn created(&mut self, kept: &Value) -> Option<SessionUpdate> {
        let task = &kept["task"];
        let (id, subject) = (task_id(&task["id"])?, task["subject"].as_str()?);
        self.0.insert(id, plan_entry(subject, None));
        Some(self.whole())
    }

    fn whole(&self) -> SessionUpdate {
        SessionUpdate::Plan(Plan::new(self.0.values().cloned().collect()))
    }
}

fn plan_entry(content: &str, status: Option<&str>) -> PlanEntry {
    PlanEntry::new(content, PlanEntryPriority::Medium, status.map_or(PlanEntryStatus::Pending, status_of))
}

fn status_of(status: &str) -> PlanEntryStatus {
    match status {
        "in_progress" => PlanEntryStatus::InProgress,
        "completed" => PlanEntryStatus::Completed,
        _ => PlanEntryStatus::Pending,
    }
}

fn task_id(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}
