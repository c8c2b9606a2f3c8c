//! Text that passes through: written from what was said, read in its quotes, and unquoted only where someone looks.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

#[derive(Clone, Debug)]
pub enum Words<'a> {
    Plain(Cow<'a, str>),
    /// A JSON string, as it came.
    Quoted(Cow<'a, RawValue>),
}

impl Words<'_> {
    /// What was said. What is no text after all, half a surrogate pair, stays in its quotes.
    pub fn unquoted(&self) -> Cow<'_, str> {
        #[derive(Deserialize)]
        struct Unquoted<'a>(#[serde(borrow)] Cow<'a, str>);
        match self {
            Self::Plain(text) => Cow::Borrowed(text),
            Self::Quoted(raw) => {
                serde_json::from_str(raw.get()).map_or(Cow::Borrowed(raw.get()), |Unquoted(text)| text)
            }
        }
    }

    /// About as many bytes as it takes in quotes.
    pub fn size(&self) -> usize {
        match self {
            Self::Plain(text) => text.len() + text.len() / 8,
            Self::Quoted(raw) => raw.get().len(),
        }
    }

    pub fn into_owned(self) -> Words<'static> {
        match self {
            Self::Plain(text) => Words::Plain(Cow::Owned(text.into_owned())),
            Self::Quoted(raw) => Words::Quoted(Cow::Owned(raw.into_owned())),
        }
    }
}

/// Puts a text in JSON's quotes behind what is in the buffer, with the bytes that serde_json writes. What needs no escape is
/// copied.
pub(crate) fn put_quoted(bytes: &mut Vec<u8>, text: &str) -> serde_json::Result<()> {
    let mut is_escaped = false;
    // Every byte is looked at, so that of what is long many are at once.
    for byte in text.bytes() {
        is_escaped |= (byte < b' ') | (byte == b'"') | (byte == b'\\');
    }
    if is_escaped {
        return serde_json::to_writer(bytes, text);
    }
    bytes.reserve(text.len() + 2);
    bytes.push(b'"');
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(b'"');
    Ok(())
}

impl<'a> From<&'a str> for Words<'a> {
    fn from(text: &'a str) -> Self {
        Self::Plain(text.into())
    }
}

impl From<String> for Words<'_> {
    fn from(text: String) -> Self {
        Self::Plain(text.into())
    }
}

/// The same when the same was said, in quotes or not.
impl PartialEq for Words<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.unquoted() == other.unquoted()
    }
}

impl Eq for Words<'_> {}

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
        let is_text = raw.get().starts_with('"');
        if is_text { Ok(Self::Quoted(Cow::Borrowed(raw))) } else { Err(D::Error::custom("expected a string")) }
    }
}

#[cfg(test)]
mod tests {
    use super::put_quoted;

    proptest::proptest! {
        #[test]
        fn any_text_is_quoted_as_serde_json_quotes_it(text in "(\\PC|\"|\\\\|\n|\u{0}|\u{1f}|\u{7f}|\u{2028})*") {
            let mut quoted = vec![];
            put_quoted(&mut quoted, &text).unwrap();
            proptest::prop_assert_eq!(quoted, serde_json::to_vec(&text).unwrap());
        }
    }
}
