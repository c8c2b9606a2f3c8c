//! Examples of a rule: calls that it matches, and calls that it does not. They are checked whenever the file is read.

use std::collections::BTreeMap;
use std::path::Path;

use portcullis_core::policy::{Call, Context, Given, Rule, applies, primary_field};
use toml::Spanned;
use toml::de::DeValue;

use crate::config::{Problem, quoted};

pub(super) struct Example {
    call: Call,
    shown: String,
}

impl Example {
    /// A text in the manner of the rule's tool: a command, a path, an address; or `{tool = …, input = {…}}`.
    pub(super) fn read(tool: &str, written: &Spanned<DeValue<'_>>) -> Result<Self, Problem> {
        match written.get_ref() {
            DeValue::String(text) => Self::of_text(tool, text),
            DeValue::Table(table) => {
                let tool = match table.get("tool").map(Spanned::get_ref) {
                    Some(DeValue::String(tool)) => tool.to_string(),
                    Some(_) => return Err(shape()),
                    None => tool.to_owned(),
                };
                let input = match table.get("input").map(Spanned::get_ref) {
                    Some(DeValue::Table(input)) => {
                        input.iter().map(|(key, value)| (key.get_ref().to_string(), given(value.get_ref()))).collect()
                    }
                    Some(_) => return Err(shape()),
                    None => BTreeMap::new(),
                };
                if table.iter().any(|(key, _)| !matches!(&**key.get_ref(), "tool" | "input")) {
                    return Err(shape());
                }
                let shown = format!("{tool} {input:?}");
                Ok(Self { call: Call::new(tool, input), shown })
            }
            _ => Err(shape()),
        }
    }

    fn of_text(tool: &str, text: &str) -> Result<Self, Problem> {
        let Some(field) = primary_field(tool) else {
            // For the rest the example is a tool's name.
            return Ok(Self { call: Call::new(text, BTreeMap::new()), shown: text.to_owned() });
        };
        let input = BTreeMap::from([(field.to_owned(), Given::Text(text.to_owned()))]);
        Ok(Self { call: Call::new(tool, input), shown: text.to_owned() })
    }
}

fn shape() -> Problem {
    let hint = "an example is text, such as \"npm test\", or { tool = \"Bash\", input = { command = \"npm test\" } }";
    Problem::new("this is no example", hint)
}

fn given(value: &DeValue<'_>) -> Given {
    match value {
        DeValue::String(text) => Given::Text(text.to_string()),
        DeValue::Integer(digits) => Given::Plain(digits.as_str().to_owned()),
        DeValue::Float(digits) => Given::Plain(digits.as_str().to_owned()),
        DeValue::Boolean(flag) => Given::Plain(flag.to_string()),
        DeValue::Array(items) => {
            Given::List(items.iter().filter_map(|item| item.get_ref().as_str().map(str::to_owned)).collect())
        }
        DeValue::Datetime(_) | DeValue::Table(_) => Given::Other,
    }
}

/// Relative paths of an example are seen from the folder that the rule's `/x` is seen from, and nothing is a link.
pub(super) fn check(
    rule: &Rule,
    fits: bool,
    example: &Example,
    base: &str,
    home: Option<&Path>,
) -> Result<(), Problem> {
    let around = Context::of(base, home.and_then(Path::to_str));
    let call = example.call.clone().followed(&around, |path| Some(path.to_owned()));
    if applies(rule, &around, &call) == fits {
        return Ok(());
    }
    let (what, list) = if fits { ("does not match", "no_match") } else { ("matches", "match") };
    let what = format!("the {} rule {} {what} {}", rule.decision.name(), rule.pattern, quoted(&example.shown));
    Err(Problem::new(what, format!("change the rule, or move the example to {list}")))
}
