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

/// Puts a text in JSON's quotes behind what is in the buffer, with the bytes that serde_json writes.
pub(crate) fn put_quoted(bytes: &mut Vec<u8>, text: &str) {
    bytes.reserve(text.len() + 2);
    bytes.push(b'"');
    let mut rest = text.as_bytes();
    while let Some((plain, byte, after)) = split_at_escape(rest) {
        bytes.extend_from_slice(plain);
        put_escaped(bytes, byte);
        rest = after;
    }
    bytes.extend_from_slice(rest);
    bytes.push(b'"');
}

/// What stands before the first byte that JSON wants escaped, that byte, and what stands behind it.
fn split_at_escape(bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    // Eight bytes in one step: most of a text needs no escape.
    let (words, _) = bytes.as_chunks::<8>();
    let found = words.iter().enumerate().find_map(|(number, word)| {
        let escapes = escapes_among(u64::from_le_bytes(*word));
        (escapes != 0).then(|| number * 8 + escapes.trailing_zeros() as usize / 8)
    });
    let behind_words = words.len() * 8;
    let place = found.or_else(|| {
        let short = bytes[behind_words..].iter().position(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\'))?;
        Some(behind_words + short)
    })?;
    Some((&bytes[..place], bytes[place], &bytes[place + 1..]))
}

/// Sets the highest bit of the first of eight bytes that has to be escaped, if there is one. Above that it may set others.
fn escapes_among(word: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = EACH << 7;
    // A byte below a small number borrows into its highest bit; one that has that bit already is no ASCII, and is let be.
    let below = |word: u64, least: u8| word.wrapping_sub(EACH * u64::from(least)) & !word & HIGHEST;
    let is = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    below(word, b' ') | is(b'"') | is(b'\\')
}

fn put_escaped(bytes: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |digit: u8| b"0123456789abcdef"[usize::from(digit & 0xf)];
            return bytes.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
        }
    };
    bytes.extend_from_slice(&[b'\\', letter]);
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
        fn any_text_is_quoted_as_serde_json_quotes_it(text in "(\\PC|[ -~]{0,20}|\"|\\\\|[\u{0}-\u{20}]|\u{7f}|\u{2028})*") {
            let mut quoted = vec![];
            put_quoted(&mut quoted, &text);
            proptest::prop_assert_eq!(quoted, serde_json::to_vec(&text).unwrap());
        }
    }
}
