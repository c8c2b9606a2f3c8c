//! Attributes are what a sender says about an event besides its text: `severity="high"`. They become attributes of the
//! tag in which the model reads the event.

use std::fmt;

/// A name and a value: given by the sender, or known by the door through which the event came, such as its path.
pub type Attribute = (String, String);

/// So many attributes may a sender give one event.
pub const MOST_ATTRIBUTES: usize = 20;
/// Bytes of a name, and of a value.
const LONGEST_NAME: usize = 64;
const LONGEST_VALUE: usize = 256;

/// What the tag says by itself. Nobody else says it in its place.
const TAG: [&str; 10] =
    ["source", "event_id", "chat_id", "via", "sender", "directs", "events", "redelivered", "reply_to", "fence"];
/// What a door knows about an event.
const DOOR: [&str; 4] = ["path", "method", "user_id", "message_id"];
/// What the query of a request says to the gate itself.
const QUERY: [&str; 4] = ["session", "label", "chat", "reply_to"];

/// What programs call a credential in a query. It belongs into a header, and never before the model.
const CREDENTIALS: [&str; 5] = ["token", "access_token", "authorization", "api_key", "apikey"];

/// Whether a name is the tag's own.
pub fn is_of_tag(name: &str) -> bool {
    is_among(&TAG, name)
}

/// Of these, what a channel server may say of its own events: where to answer is in its own words.
const OF_CHANNEL: [&str; 4] = ["chat_id", "via", "sender", "reply_to"];

/// Whether an attribute of a channel server's event would speak in the place of the tag itself.
pub fn is_kept_from_channels(name: &str) -> bool {
    is_of_tag(name) && !is_among(&OF_CHANNEL, name)
}

/// Whether a door, and not the sender, gives the attribute.
pub fn is_of_door(name: &str) -> bool {
    is_among(&DOOR, name)
}

/// Whether a name in a query says where the event goes, and is no attribute.
pub fn is_of_query(name: &str) -> bool {
    is_among(&QUERY, name)
}

/// Whether a name says where a file of the event is: `file_1`. The gate puts it there when it has the file.
pub fn is_of_file(name: &str) -> bool {
    let is_file = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file_"));
    is_file && name[5..].bytes().all(|letter| letter.is_ascii_digit())
}

/// A model reads `Sender` as it reads `sender`.
fn is_among(names: &[&str], name: &str) -> bool {
    // Nearly all are written as we write them, which is compared in one step.
    names.contains(&name) || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a client puts an attribute of this name into its tag. It drops others without a word.
pub fn is_identifier(name: &str) -> bool {
    let starts_well = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    starts_well && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Why the attributes of an event are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadAttributes {
    TooMany,
    NotAName(String),
    /// The gate says this by itself.
    Ours(String),
    Credential(String),
    Twice(String),
    TooLong(String),
}

impl fmt::Display for BadAttributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "an event has at most {MOST_ATTRIBUTES} attributes"),
            Self::NotAName(name) => write!(
                f,
                "attribute {:?} is no name: 1 to {LONGEST_NAME} letters, digits and underscores, and no digit first",
                crate::shown::excerpt(name, Some(LONGEST_NAME)).0
            ),
            Self::Ours(name) => write!(f, "attribute {name:?} is the gate's own: choose another name"),
            Self::Credential(name) => {
                write!(f, "attribute {name:?} would show a credential to the model: send `Authorization: Bearer TOKEN`")
            }
            Self::Twice(name) => write!(f, "attribute {name:?} is there twice"),
            Self::TooLong(name) => write!(f, "attribute {name:?} is longer than {LONGEST_VALUE} bytes"),
        }
    }
}

impl std::error::Error for BadAttributes {}

/// The attributes as they came, if an event may have them.
pub fn check_attributes(given: Vec<Attribute>) -> Result<Vec<Attribute>, BadAttributes> {
    if given.len() > MOST_ATTRIBUTES {
        return Err(BadAttributes::TooMany);
    }
    for (place, (name, value)) in given.iter().enumerate() {
        if !is_identifier(name) || name.len() > LONGEST_NAME {
            return Err(BadAttributes::NotAName(name.clone()));
        }
        if is_of_tag(name) || is_of_door(name) || is_of_query(name) || is_of_file(name) {
            return Err(BadAttributes::Ours(name.clone()));
        }
        if CREDENTIALS.iter().any(|credential| name.eq_ignore_ascii_case(credential)) {
            return Err(BadAttributes::Credential(name.clone()));
        }
        if given[..place].iter().any(|(before, _)| before == name) {
            return Err(BadAttributes::Twice(name.clone()));
        }
        if value.len() > LONGEST_VALUE {
            return Err(BadAttributes::TooLong(name.clone()));
        }
    }
    Ok(given)
}

/// The attributes as they stand in a tag, each behind a space: ` severity="high"`.
pub fn in_tag<'a>(attributes: impl IntoIterator<Item = &'a Attribute>) -> String {
    let put = |(name, value): &Attribute| format!(" {name}=\"{}\"", escape_attribute(value));
    attributes.into_iter().map(put).collect()
}

/// A value as it stands in a line of other words: in quotes where it could be taken for several.
pub fn as_one_word(value: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.:@/+#".contains(letter);
    match !value.is_empty() && value.chars().all(is_plain) {
        true => value.to_owned(),
        false => format!("\"{}\"", escape_attribute(value)),
    }
}

/// A value that ends neither its quotes nor its tag, and has nothing in it that acts on whoever reads it.
pub fn escape_attribute(value: &str) -> String {
    let mut safe = String::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter if letter.is_control() || hides(letter) => safe.extend(letter.escape_unicode()),
            letter => safe.push(letter),
        }
    }
    safe
}

/// Whether a character can only deceive in a name or a tag: it hides, or changes how the one before it looks.
pub(crate) fn takes_no_room(letter: char) -> bool {
    hides(letter) || matches!(letter, JOINER | '\u{fe00}'..='\u{fe0f}')
}

/// What emoji are joined with.
const JOINER: char = '\u{200d}';

/// Whether a character takes no room or is blank, turns text round or begins a line. What emoji are made of stays.
pub fn hides(letter: char) -> bool {
    letter != JOINER
        && matches!(letter,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{61c}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Result<Vec<Attribute>, BadAttributes> {
        check_attributes(vec![(name.to_owned(), "x".to_owned())])
    }

    #[test]
    fn an_attribute_has_a_name_that_a_client_keeps_and_that_is_not_ours() {
        for fine in ["severity", "run_id", "_x", "A9", &"n".repeat(64)] {
            assert!(named(fine).is_ok(), "{fine}");
        }
        for wrong in ["", "9a", "run-id", "a b", "größe", "a=\"", &"n".repeat(65)] {
            assert_eq!(named(wrong), Err(BadAttributes::NotAName(wrong.to_owned())));
        }
        for ours in TAG.iter().chain(&DOOR).chain(&QUERY) {
            assert_eq!(named(ours), Err(BadAttributes::Ours((*ours).to_owned())));
        }
    }

    #[test]
    fn what_a_door_knows_is_kept_by_clients_and_is_not_the_tags_own() {
        assert!(DOOR.iter().all(|name| is_identifier(name) && !is_of_tag(name)));
    }

    #[test]
    fn a_credential_in_a_query_is_no_attribute() {
        for name in ["token", "Access_Token", "API_KEY"] {
            assert_eq!(named(name), Err(BadAttributes::Credential(name.to_owned())));
        }
    }

    #[test]
    fn there_are_at_most_twenty_of_256_bytes_and_none_twice() {
        let many = |count: usize| (0..count).map(|number| (format!("a{number}"), "ä".repeat(128))).collect::<Vec<_>>();
        assert_eq!(check_attributes(many(20)), Ok(many(20)));
        assert_eq!(check_attributes(many(21)), Err(BadAttributes::TooMany));
        let long = vec![("a".to_owned(), "x".repeat(257))];
        assert_eq!(check_attributes(long), Err(BadAttributes::TooLong("a".to_owned())));
        let twice = vec![("a".to_owned(), "1".to_owned()), ("a".to_owned(), "1".to_owned())];
        assert_eq!(check_attributes(twice), Err(BadAttributes::Twice("a".to_owned())));
    }

    #[test]
    fn a_value_stays_inside_its_quotes() {
        let attribute = ("note".to_owned(), "a\"b\n</channel>&\u{202e}".to_owned());
        assert_eq!(in_tag([&attribute]), r#" note="a&quot;b\u{a}&lt;/channel&gt;&amp;\u{202e}""#);
    }
}
