//! Text that passes through: written from what was said, read in its quotes, and unquoted only where someone looks.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

#[derive(Clone, Copy, Debug)]
pub enum Words<'a> {
    Plain(&'a str),
    /// A JSON string, as it came.
    Quoted(&'a RawValue),
}

impl<'a> Words<'a> {
    /// What was said. An error when the quotes hold what is no text.
    pub fn unquoted(self) -> serde_json::Result<Cow<'a, str>> {
        #[derive(Deserialize)]
        struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
        match self {
            Self::Plain(text) => Ok(text.into()),
            Self::Quoted(raw) => serde_json::from_str(raw.get()).map(|Text(text)| text),
        }
    }

    /// About as many bytes as it takes in quotes.
    pub fn size(self) -> usize {
        match self {
            Self::Plain(text) => text.len() + text.len() / 8,
            Self::Quoted(raw) => raw.get().len(),
        }
    }
}

impl PartialEq for Words<'_> {
    fn eq(&self, other: &Self) -> bool {
        matches!((self.unquoted(), other.unquoted()), (Ok(ours), Ok(theirs)) if ours == theirs)
    }
}

impl Serialize for Words<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(text) => serializer.serialize_str(text),
            Self::Quoted(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        if raw.get().starts_with('"') { Ok(Self::Quoted(raw)) } else { Err(D::Error::custom("expected a string")) }
    }
}
