//! What a session has used: how full the model's context is, and what it has cost.

use agent_client_protocol::v1::schema::{Cost, SessionUpdate, UsageUpdate};
use portcullis_wire::control::{ClientNotice, Message};
use serde_json::Value;

/// As far as is known.
#[derive(Default)]
pub(super) struct SessionUsage {
    /// What the context holds, and how much it can hold.
    used: u64,
    size: Option<u64>,
    /// What the client that runs has spent; each counts from nothing.
    cost: Option<f64>,
    /// What those before it have spent.
    spent: f64,
}

impl SessionUsage {
    /// The model has said something. What the client says in its place has used nothing.
    pub(super) fn said(&mut self, message: &Message) {
        if let Some(used) = context_size(&message.message["usage"]).filter(|_| !message.is_synthetic()) {
            self.used = used;
        }
    }

    pub(super) fn turn_ended(&mut self, result: &Message) -> Option<SessionUpdate> {
        let models = result.model_usage.as_object()?;
        let size = models.values().filter_map(|usage| usage["contextWindow"].as_u64()).max();
        self.size = size.or(self.size);
        self.cost = result.total_cost_usd;
        self.update()
    }

    /// The context is smaller from now on, and not only once the model has answered again.
    pub(super) fn compacted(&mut self, message: &Message) -> Option<SessionUpdate> {
        let Some(ClientNotice::Compacted { after: Some(after), .. }) = message.client_notice() else { return None };
        self.used = after;
        self.update()
    }

    pub(super) fn client_ended(&mut self) {
        self.spent += self.cost.take().unwrap_or_default();
    }

    fn update(&self) -> Option<SessionUpdate> {
        let cost = self.cost.map(|amount| Cost::new(self.spent + amount, "USD"));
        Some(SessionUpdate::UsageUpdate(UsageUpdate::new(self.used, self.size?).cost(cost)))
    }
}

/// The tokens that the model's next request begins with.
fn context_size(usage: &Value) -> Option<u64> {
    let fields = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    usage.as_object()?;
    Some(fields.iter().filter_map(|field| usage[field].as_u64()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(value: Value) -> Message {
        serde_json::from_value(value).unwrap()
    }

    fn shown(update: Option<SessionUpdate>) -> Option<(u64, f64)> {
        let update = serde_json::to_value(update?).unwrap();
        assert_eq!((&update["sessionUpdate"], &update["size"]), (&json!("usage_update"), &json!(1000)), "{update}");
        Some((update["used"].as_u64().unwrap(), update["cost"]["amount"].as_f64().unwrap()))
    }

    #[test]
    fn what_the_context_holds_and_what_was_spent_go_on_over_compactions_and_clients() {
        let mut usage = SessionUsage::default();
        let said = |model: &str, tokens: u64| {
            let tokens = json!({"input_tokens": tokens, "output_tokens": 0});
            message(json!({"type": "assistant", "message": {"model": model, "usage": tokens}}))
        };
        let result = |cost: f64| {
            let models = json!({"opus": {"contextWindow": 1000}});
            message(json!({"type": "result", "total_cost_usd": cost, "modelUsage": models}))
        };
        let sizes = json!({"pre_tokens": 900, "post_tokens": 70});
        let compacted = message(json!({"type": "system", "subtype": "compact_boundary", "compact_metadata": sizes}));
        assert_eq!(shown(usage.compacted(&compacted)), None, "how much there could be is not known yet");
        usage.said(&said("opus", 900));
        usage.said(&said("<synthetic>", 0));
        assert_eq!(shown(usage.turn_ended(&result(0.5))), Some((900, 0.5)));
        assert_eq!(shown(usage.compacted(&compacted)), Some((70, 0.5)));
        usage.client_ended();
        assert_eq!(shown(usage.turn_ended(&result(0.25))), Some((70, 0.75)));
    }
}
