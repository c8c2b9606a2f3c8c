//! Questions of the agent as a form in the editor, and what was filled in as an answer.

use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAction, ElicitationContentValue,
    ElicitationFormMode, ElicitationSchema, ElicitationSessionScope, EnumOption, MultiSelectPropertySchema, SessionId,
    StringPropertySchema, ToolCallId,
};
use portcullis_core::{Behavior, Edited, Ruling, Text};
use portcullis_wire::canonical::canonical;
use portcullis_wire::questions::Questions;
use serde_json::Value;

use crate::session::gatekeeper::digest;

/// A form with a field for each question, and one for words of one's own. `message` is above it.
pub(super) fn form(session: &SessionId, call: &str, input: &Value, message: &str) -> CreateElicitationRequest {
    let mut schema = ElicitationSchema::new();
    for (number, question) in Questions::of(input).0.iter().enumerate() {
        let described = &input["questions"][number];
        let options: Vec<EnumOption> = described["options"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|option| {
                let label = option["label"].as_str()?;
                Some(EnumOption::new(label, label).description(option["description"].as_str().map(str::to_owned)))
            })
            .collect();
        let title = question.text.clone();
        schema = match question.several {
            true => schema.property(field(number), MultiSelectPropertySchema::titled(options).title(title), false),
            false => schema.property(field(number), StringPropertySchema::new().title(title).one_of(options), false),
        };
        let own = StringPropertySchema::new().title("Or in your own words".to_owned());
        schema = schema.property(own_field(number), own, false);
    }
    let scope = ElicitationSessionScope::new(session.clone()).tool_call_id(ToolCallId::new(call));
    CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), message)
}

/// The answers to one question with options of which one is chosen, each with its label, for an editor without forms.
pub(super) fn single_choices(input: &Value) -> Vec<(String, Ruling)> {
    let Questions(questions) = Questions::of(input);
    let [question] = questions.as_slice() else { return vec![] };
    let labels = question.labels.iter().filter(|_| !question.several);
    let choices = labels.filter_map(|label| {
        let answers = Questions(vec![question.clone()]).filled_in(|_| Some(label.clone())).ok()?;
        Some((label.clone(), answered(input.clone(), answers)))
    });
    choices.collect()
}

fn answered(mut input: Value, answers: serde_json::Map<String, Value>) -> Ruling {
    input["answers"] = Value::Object(answers);
    let edited = Edited { digest: digest(&input), text: Text::new(canonical(&input)) };
    Ruling { input: Some(edited), ..Ruling::plain(Behavior::Allow) }
}

/// What the person said, as a ruling: the answers, or a refusal. An error says why it is no answer.
pub(super) fn ruling(response: CreateElicitationResponse, input: Value) -> Result<Ruling, String> {
    let content = match response.action {
        ElicitationAction::Accept(accepted) => accepted.content.unwrap_or_default(),
        ElicitationAction::Decline | ElicitationAction::Cancel => return Ok(Ruling::plain(Behavior::Deny)),
        _ => return Err("the editor's answer was not understood".to_owned()),
    };
    let said = |field: String| content.get(&field).and_then(in_words);
    let questions = Questions::of(&input);
    let several: Vec<bool> = questions.0.iter().map(|question| question.several).collect();
    let answers = questions.filled_in(|number| match (said(field(number)), said(own_field(number))) {
        // Words beside several choices are one more of them.
        (Some(chosen), Some(own)) if several.get(number) == Some(&true) => Some(format!("{chosen}, {own}")),
        (chosen, own) => own.or(chosen),
    })?;
    Ok(answered(input, answers))
}

fn field(number: usize) -> String {
    format!("question_{}", number + 1)
}

fn own_field(number: usize) -> String {
    format!("question_{}_own", number + 1)
}

fn in_words(value: &ElicitationContentValue) -> Option<String> {
    let text = match value {
        ElicitationContentValue::String(text) => text.clone(),
        ElicitationContentValue::StringArray(labels) => labels.join(", "),
        _ => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked() -> Value {
        json!({"questions": [
            {"question": "Which colour?", "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}]},
            {"question": "Which checks?", "multiSelect": true, "options": [{"label": "fmt"}, {"label": "clippy"}]},
        ]})
    }

    fn said(response: &Value) -> Result<Value, String> {
        let ruling = ruling(serde_json::from_value(response.clone()).unwrap(), asked())?;
        let input = ruling.input.map(|edited| serde_json::from_str::<Value>(edited.text.as_str()).unwrap());
        Ok(input.map_or(json!(ruling.behavior.name()), |input| input["answers"].clone()))
    }

    #[test]
    fn a_form_has_a_field_for_each_question_and_takes_choices_or_own_words() {
        let form = serde_json::to_value(form(&"s".to_owned().into(), "t", &asked(), "?")).unwrap();
        let fields = &form["requestedSchema"]["properties"];
        assert_eq!(fields["question_1"]["oneOf"][0], json!({"const": "Red", "title": "Red", "description": "warm"}));
        assert_eq!(fields["question_2"]["type"], "array");
        assert_eq!((&form["mode"], &form["toolCallId"]), (&json!("form"), &json!("t")));
        let content = json!({"question_1": "Blue", "question_2": ["fmt", "clippy"]});
        assert_eq!(
            said(&json!({"action": "accept", "content": content})),
            Ok(json!({"Which colour?": "Blue", "Which checks?": "fmt, clippy"}))
        );
        let content = json!({"question_1": "Blue", "question_1_own": "Green", "question_2": ["fmt"]});
        assert_eq!(
            said(&json!({"action": "accept", "content": content})),
            Ok(json!({"Which colour?": "Green", "Which checks?": "fmt"}))
        );
        let content = json!({"question_1": "Red", "question_2": ["fmt", "clippy"], "question_2_own": "doc"});
        assert_eq!(
            said(&json!({"action": "accept", "content": content})),
            Ok(json!({"Which colour?": "Red", "Which checks?": "fmt, clippy, doc"})),
            "own words are added to several choices"
        );
        let content = json!({"question_1_own": "2", "question_2_own": "7, fmt"});
        assert_eq!(
            said(&json!({"action": "accept", "content": content})),
            Ok(json!({"Which colour?": "2", "Which checks?": "7, fmt"})),
            "own words are no numbers of options"
        );
        assert_eq!(said(&json!({"action": "decline"})), Ok(json!("deny")));
        assert!(said(&json!({"action": "accept", "content": {"question_1": "Red"}})).is_err(), "one is not answered");
    }
}
