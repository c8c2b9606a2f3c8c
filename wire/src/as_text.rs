//! Serde helpers for core's ids, codes, names and enums: written by `Display`, read by `FromStr`.
//!
//! `#[serde(with = "as_text")]` is for a value, `as_text::option` for one that may be missing
//! (together with `default`), and `as_text::list` for several.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct TextVisitor<T>(PhantomData<T>);

    impl<T: FromStr<Err: Display>> Visitor<'_> for TextVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(|error| E::custom(format_args!("{:?}: {error}", excerpt(text))))
        }
    }

    deserializer.deserialize_str(TextVisitor(PhantomData))
}

/// The part of a wrong text that an error repeats.
fn excerpt(text: &str) -> &str {
    portcullis_core::excerpt(text, Some(80)).0
}

/// A value that is written as text, for `option` and `list`.
struct AsText<T>(T);

impl<T: Display> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for AsText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

pub mod option {
    use super::*;

    pub fn serialize<T: Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(AsText).serialize(serializer)
    }

    pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<AsText<T>>::deserialize(deserializer)?.map(|AsText(value)| value))
    }
}

pub mod list {
    use super::*;

    pub fn serialize<T: Display, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(AsText))
    }

    pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        Ok(Vec::<AsText<T>>::deserialize(deserializer)?.into_iter().map(|AsText(value)| value).collect())
    }
}

#[cfg(test)]
mod tests {
    use portcullis_core::{AskId, Code, EventId, Label, Moment, Scope};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Example {
        #[serde(with = "crate::as_text")]
        id: EventId,
        #[serde(with = "crate::as_text")]
        scope: Scope,
        #[serde(default, with = "crate::as_text::option", skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
        #[serde(with = "crate::as_text::list")]
        asks: Vec<AskId>,
        #[serde(with = "crate::as_text")]
        label: Label,
    }

    #[test]
    fn ids_and_enums_of_core_are_texts_on_the_wire() {
        let example = Example {
            id: EventId::new(Moment(1), 2),
            scope: Scope::Always,
            code: None,
            asks: vec![AskId::new(Moment(1), 3)],
            label: Label::new("a \"b\"").unwrap(),
        };
        let written = serde_json::to_string(&example).unwrap();
        assert_eq!(
            written,
            r#"{"id":"00000000010000000000000002","scope":"always","asks":["00000000010000000000000003"],"label":"a \"b\""}"#
        );
        assert_eq!(serde_json::from_str::<Example>(&written).unwrap(), example);
        let value: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::from_value::<Example>(value).unwrap(), example);
    }

    #[test]
    fn a_wrong_text_is_refused_with_what_was_expected() {
        let wrong = r#"{"id":"00000000010000000000000002","scope":"ever","asks":[],"label":"b"}"#;
        let error = serde_json::from_str::<Example>(wrong).unwrap_err().to_string();
        assert!(error.starts_with("\"ever\": expected one of: once, session, always"), "{error}");
    }
}
