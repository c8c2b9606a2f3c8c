//! JSON in one form: objects have their keys in order, however they were written.
//!
//! What is hashed, compared as text or written down from a [`Value`] goes through here. The order of an object's keys says
//! nothing, and whether a [`Value`] keeps it depends on which crates are built into the program.

use serde_json::{Map, Value};

/// The value with the keys of every object in order.
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(sorted_fields(fields)),
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// The same of the fields of an object.
pub fn sorted_fields(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
}

/// The value as text in its one form.
pub fn canonical(value: &Value) -> String {
    sorted(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_makes_no_difference_at_any_depth() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let one = read(r#"{"b":[{"y":1,"x":2}],"a":{"d":null,"c":"é"}}"#);
        let other = read(r#"{"a":{"c":"é","d":null},"b":[{"x":2,"y":1}]}"#);
        let text = r#"{"a":{"c":"é","d":null},"b":[{"x":2,"y":1}]}"#;
        assert_eq!((canonical(&one).as_str(), canonical(&other).as_str()), (text, text));
        assert_ne!(canonical(&read("[1,2]")), canonical(&read("[2,1]")), "the order of a list says something");
    }
}
