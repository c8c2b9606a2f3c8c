//! How deep JSON may be nested where it is put into more JSON: readers of it give up at 128 levels.

use serde_json::Value;

/// The levels of a tool's input. What is around it in lists and streams has its place in the rest.
pub const DEEPEST: usize = 100;

/// Whether a value is nested deeper than anybody could read it as a part of something else.
pub fn is_too_deep(value: &Value) -> bool {
    is_deeper(value, DEEPEST)
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, below)),
        Value::Object(fields) => fields.values().any(|field| is_deeper(field, below)),
        _ => false,
    }
}

/// The value, or its text where it is nested too deep.
pub fn readable(value: Value) -> Value {
    if is_too_deep(&value) { Value::from(value.to_string()) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value::from(1), |inner, _| Value::from(vec![inner]))
    }

    #[test]
    fn a_value_is_too_deep_from_the_level_after_the_last() {
        assert!(!is_too_deep(&nested(DEEPEST)) && is_too_deep(&nested(DEEPEST + 1)));
        assert_eq!(readable(nested(2)), nested(2));
        assert!(readable(nested(120)).as_str().is_some_and(|text| text.starts_with("[[[")));
    }
}
