//! What a person can set for a session in the editor: its mode and its model.

use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOption, SessionMode, SessionModeState, SessionUpdate, UnstructuredCommandInput,
};
use portcullis_core::policy::Mode;
use serde_json::Value;

/// The option by which a mode is set; the other one sets the model.
pub(super) const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";

/// What the client takes when nobody chooses.
const DEFAULT_MODEL: &str = "default";

/// A mode that a person may choose, as they are shown it.
const MODES: [(&str, &str, &str); 5] = [
    ("default", "Ask", "Asks before it changes files or runs commands"),
    ("acceptEdits", "Accept edits", "Changes files in this folder without asking"),
    ("plan", "Plan", "Looks and plans, and changes nothing"),
    ("dontAsk", "Don't ask", "Denies whatever no rule allows"),
    ("bypassPermissions", "Bypass permissions", "Asks for nothing but what a rule says"),
];

/// What is set, and what could be.
pub(super) struct Settings {
    pub(super) mode: String,
    /// A client was in the mode, or a person has set it; before, it is only what is expected.
    is_settled: bool,
    /// The owner has opted in to a mode in which nothing is asked.
    may_bypass: bool,
    model: String,
    /// Each with its name and what it is; known once the client is ready.
    models: Vec<(String, String, Option<String>)>,
    /// What the client calls the models that it is offered under these values.
    resolved: Vec<(String, String)>,
    /// The mode and the model in which the last turn began, as the client calls it.
    last_turn: Option<(String, String)>,
}

impl Settings {
    pub(super) fn new(mode: String, may_bypass: bool, model: Option<String>) -> Self {
        Self {
            mode,
            is_settled: false,
            may_bypass,
            model: model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            models: vec![],
            resolved: vec![],
            last_turn: None,
        }
    }

    /// What the client offers, as it says when it is ready.
    pub(super) fn ready(&mut self, offered: &Value) {
        let models = offered["models"].as_array().into_iter().flatten();
        let text = |model: &Value, field: &str| model[field].as_str().map(str::to_owned);
        let model = |model: &Value| {
            let value = text(model, "value")?;
            let name = text(model, "displayName").unwrap_or_else(|| value.clone());
            Some((value, name, text(model, "description")))
        };
        self.models = models.clone().filter_map(model).collect();
        let resolved = |model: &Value| Some((text(model, "value")?, text(model, "resolvedModel")?));
        self.resolved = models.filter_map(resolved).collect();
        if let Some(mode) = offered["current_permission_mode"].as_str() {
            self.set_mode(mode.to_owned());
        }
    }

    pub(super) fn set_mode(&mut self, mode: String) {
        self.mode = mode;
        self.is_settled = true;
    }

    /// The mode that the next client begins in, so that a plan stays one; none before there was any: then what is set at
    /// the gate counts.
    pub(super) fn settled_mode(&self) -> Option<String> {
        self.is_settled.then(|| self.mode.clone())
    }

    /// The model, where it is not the client's own choice.
    pub(super) fn chosen_model(&self) -> Option<String> {
        named_model(&self.model)
    }

    pub(super) fn set_model(&mut self, model: String) {
        self.model = model;
    }

    /// A turn begins with this model, as the client calls it. Whether the person has chosen another one by a command of the
    /// client (`/model`): there it says so in words alone. Some choices are another model in another mode.
    pub(super) fn turn_begins(&mut self, mode: &str, model: &str) -> bool {
        let now = (mode.to_owned(), model.to_owned());
        let before = self.last_turn.replace(now);
        let is_other = before.is_some_and(|(before_mode, before)| before_mode == mode && before != model);
        let is_what_was_chosen = self.resolved.iter().any(|(value, name)| *value == self.model && name == model);
        if !is_other || is_what_was_chosen {
            return false;
        }
        let Some((value, _)) = self.resolved.iter().find(|(_, name)| name == model) else { return false };
        self.model.clone_from(value);
        true
    }

    /// The person has chosen a model by a command of the client. The client calls it by its value or by its own name; a
    /// name that is not offered shows itself when the next turn begins.
    pub(super) fn model_is_chosen(&mut self, model: &str) -> bool {
        let is_offered = |(value, _, _): &&(String, String, Option<String>)| value == model;
        let named = self.resolved.iter().find(|(_, name)| name == model).map(|(value, _)| value);
        let Some(value) = self.models.iter().find(is_offered).map(|(value, _, _)| value).or(named).cloned() else {
            return false;
        };
        std::mem::replace(&mut self.model, value) != self.model
    }

    fn modes(&self) -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
        let (current, may_bypass) = (self.mode.clone(), self.may_bypass);
        MODES.iter().filter(move |(id, _, _)| may_bypass || *id != "bypassPermissions" || *id == current)
    }

    pub(super) fn has_mode(&self, mode: &str) -> bool {
        self.modes().any(|(id, _, _)| *id == mode)
    }

    /// Why the session cannot be set to this mode, and what to do instead.
    pub(super) fn why_not_mode(&self, mode: &str) -> Option<String> {
        if self.has_mode(mode) {
            return None;
        }
        let instead = match Mode::named(mode) {
            Some(Mode::BypassPermissions) => "it needs `allow_bypass = true` in your own configuration".to_owned(),
            Some(_) => format!("`portcullis acp --permission-mode {mode}` begins in it"),
            None => format!("it is one of {}", self.modes().map(|(id, _, _)| *id).collect::<Vec<_>>().join(", ")),
        };
        Some(format!("mode {mode:?} is not offered; {instead}"))
    }

    /// Why the session cannot be set to this model: before the client has told its models, any may be right.
    pub(super) fn why_not_model(&self, model: &str) -> Option<String> {
        let mut known: Vec<&str> = self.models.iter().map(|(value, _, _)| value.as_str()).collect();
        if !known.contains(&self.model.as_str()) {
            known.push(&self.model);
        }
        let is_offered = self.models.is_empty() || known.contains(&model);
        (!is_offered).then(|| format!("model {model:?} is not offered; it is one of {}", known.join(", ")))
    }

    pub(super) fn mode_state(&self) -> SessionModeState {
        let mut modes: Vec<SessionMode> = self
            .modes()
            .map(|(id, name, about)| SessionMode::new(*id, *name).description((*about).to_owned()))
            .collect();
        // A mode that the client has and this program does not offer, as it is named there.
        if !self.has_mode(&self.mode) {
            modes.push(SessionMode::new(self.mode.clone(), self.mode.clone()));
        }
        SessionModeState::new(self.mode.clone(), modes)
    }

    /// The same, and the model, in the form that newer editors show.
    pub(super) fn options(&self) -> Vec<SessionConfigOption> {
        let state = self.mode_state();
        let choices: Vec<SessionConfigSelectOption> = state
            .available_modes
            .into_iter()
            .map(|mode| SessionConfigSelectOption::new(mode.id.0, mode.name).description(mode.description))
            .collect();
        let mode = SessionConfigOption::select(MODE, "Mode", self.mode.clone(), choices)
            .category(SessionConfigOptionCategory::Mode);
        let mut options = vec![mode];
        if !self.models.is_empty() {
            let mut choices: Vec<SessionConfigSelectOption> = self
                .models
                .iter()
                .map(|(value, name, about)| {
                    SessionConfigSelectOption::new(value.clone(), name.clone()).description(about.clone())
                })
                .collect();
            if !self.models.iter().any(|(value, _, _)| *value == self.model) {
                choices.push(SessionConfigSelectOption::new(self.model.clone(), self.model.clone()));
            }
            let model = SessionConfigOption::select(MODEL, "Model", self.model.clone(), choices);
            options.push(model.category(SessionConfigOptionCategory::Model));
        }
        options
    }
}

/// A model by its name; none is the client's own choice.
pub(super) fn named_model(model: &str) -> Option<String> {
    Some(model.to_owned()).filter(|model| model != DEFAULT_MODEL)
}

/// The commands that the client offers.
pub(super) fn commands(offered: &Value) -> SessionUpdate {
    let commands = offered.as_array().into_iter().flatten();
    let command = |command: &Value| {
        let hint = command["argumentHint"].as_str().filter(|hint| !hint.is_empty());
        let input = hint.map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
        let about = command["description"].as_str().unwrap_or_default();
        Some(AvailableCommand::new(command["name"].as_str()?, about).input(input))
    };
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands.filter_map(command).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nobody_is_offered_a_mode_that_the_owner_has_not_allowed() {
        let settings = Settings::new("default".into(), false, None);
        assert!(!settings.has_mode("bypassPermissions") && settings.has_mode("plan"));
        assert!(Settings::new("default".into(), true, None).has_mode("bypassPermissions"));
        let why = |mode: &str| settings.why_not_mode(mode).unwrap_or_default();
        assert!(
            why("bypassPermissions").contains("allow_bypass = true") && why("auto").contains("acp --permission-mode")
        );
        assert!(why("root").ends_with("it is one of default, acceptEdits, plan, dontAsk"), "{}", why("root"));
        assert_eq!(why("plan"), "");
    }

    #[test]
    fn a_mode_that_is_only_expected_is_not_wanted_of_the_next_client() {
        let mut settings = Settings::new("acceptEdits".into(), false, None);
        assert_eq!(settings.settled_mode(), None, "another may be set at the gate");
        settings.set_mode("plan".into());
        assert_eq!(settings.settled_mode().as_deref(), Some("plan"));
        let mut settings = Settings::new("acceptEdits".into(), false, None);
        settings.ready(&json!({"current_permission_mode": "default"}));
        assert_eq!(settings.settled_mode().as_deref(), Some("default"));
    }

    #[test]
    fn models_are_offered_once_they_are_known() {
        let mut settings = Settings::new("plan".into(), false, None);
        assert_eq!((settings.options().len(), settings.why_not_model("any")), (1, None));
        settings.ready(&json!({"models": [{"value": "default", "displayName": "Default"}, {"value": "opus"}]}));
        let shown = serde_json::to_value(settings.options()).unwrap();
        assert_eq!((&shown[0]["currentValue"], &shown[1]["currentValue"]), (&json!("plan"), &json!("default")));
        assert_eq!(shown[1]["options"][1], json!({"value": "opus", "name": "opus"}));
        assert!(settings.why_not_model("opus").is_none());
        let why = settings.why_not_model("any").unwrap_or_default();
        assert!(why.ends_with("it is one of default, opus"), "{why}");
    }

    #[test]
    fn a_model_is_chosen_by_its_value_or_by_the_name_that_the_client_has_for_it() {
        let mut settings = Settings::new("default".into(), false, None);
        let model = |value: &str, name: &str| json!({"value": value, "resolvedModel": name});
        settings.ready(&json!({"models": [model("default", "o-5"), model("haiku", "h-5")]}));
        for (chosen, is_other, shown) in [
            ("haiku", true, "haiku"),
            ("h-5", false, "haiku"),
            ("of-nobody", false, "haiku"),
            ("", false, "haiku"),
            ("o-5", true, "default"),
        ] {
            assert_eq!((settings.model_is_chosen(chosen), settings.model.as_str()), (is_other, shown), "{chosen}");
        }
    }

    #[test]
    fn a_model_that_is_chosen_by_a_command_of_the_client_is_the_one_that_is_shown() {
        let mut settings = Settings::new("default".into(), false, None);
        let model = |value: &str, name: &str| json!({"value": value, "resolvedModel": name});
        settings.ready(&json!({"models": [model("default", "o-5"), model("opus", "o-5"), model("haiku", "h-5")]}));
        for (mode, model, is_other, shown) in [
            ("default", "o-5", false, "default"),
            ("default", "h-5", true, "haiku"),
            ("default", "h-5", false, "haiku"),
            ("plan", "o-5", false, "haiku"),
            ("plan", "of-nobody", false, "haiku"),
            ("plan", "o-5", true, "default"),
        ] {
            assert_eq!(
                (settings.turn_begins(mode, model), settings.model.as_str()),
                (is_other, shown),
                "{mode} {model}"
            );
        }
        settings.set_model("haiku".into());
        assert!(!settings.turn_begins("plan", "h-5"), "the person has chosen it in the editor");
    }
}
