//! Verdicts, and the small grammar in which people write them: `yes abcde`, `n abcde`.

use std::sync::Arc;

use crate::event::{IdempotencyKey, Text};
use crate::ids::{Code, Moment};
use crate::names::names;
use crate::people::Via;
use crate::policy::Mode;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Behavior {
    Allow,
    Deny,
}

names!(Behavior { Allow = "allow", Deny = "deny" });

/// The scope of a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    #[default]
    Once,
    Session,
    Always,
}

names!(Scope { Once = "once", Session = "session", Always = "always" });

/// The input that is to run instead of the one that was asked about: whole, as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    pub text: Text,
    pub digest: [u8; 32],
}

/// A ruling is what someone decided about an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    pub behavior: Behavior,
    pub scope: Scope,
    /// In the person's own words, where they gave any. The agent is told with a denial.
    pub why: Option<String>,
    pub input: Option<Edited>,
    /// The denial ends the turn.
    pub interrupt: bool,
    /// The mode that follows a plan.
    pub mode: Option<Mode>,
}

impl Ruling {
    /// A ruling of scope `once`, without reason or changed input.
    pub fn plain(behavior: Behavior) -> Self {
        Self { behavior, scope: Scope::Once, why: None, input: None, interrupt: false, mode: None }
    }
}

/// A verdict is a ruling and the person who made it. What became of the call is recorded apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub ruling: Ruling,
    pub by: String,
    pub via: Via,
    /// What the linked browser is called that it was given in.
    pub device: Option<String>,
    pub at: Moment,
    /// The key by which the same person may send the same verdict again.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// `ann over http`; `ann on "Phone"` where it was in a linked browser.
pub fn by_whom(by: &str, via: &str, device: Option<&str>) -> String {
    match device {
        Some(device) => format!("{by} on {device:?}"),
        None => format!("{by} over {via}"),
    }
}

impl Verdict {
    /// `allowed by ann over http`, for people.
    pub fn in_words(&self) -> String {
        let said = match self.ruling.behavior {
            Behavior::Allow => "allowed",
            Behavior::Deny => "denied",
        };
        let reach = match self.ruling.scope {
            Scope::Once => "",
            Scope::Session => " for the session",
            Scope::Always => " for ever",
        };
        let input = if self.ruling.input.is_some() { " with another input" } else { "" };
        let mode = self.ruling.mode.map_or(String::new(), |mode| format!(", then mode {mode},"));
        let by = by_whom(&self.by, self.via.name(), self.device.as_deref());
        format!("{said}{reach}{input}{mode} by {by}")
    }
}

fn verdict_word(word: &str) -> Option<Behavior> {
    let is = |known: &&str| word.eq_ignore_ascii_case(known);
    if ["y", "yes"].iter().any(is) {
        Some(Behavior::Allow)
    } else if ["n", "no"].iter().any(is) {
        Some(Behavior::Deny)
    } else {
        None
    }
}

/// Text that someone sent, read once for a verdict: nobody else parses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidText {
    text: Text,
    verdict: Option<(Behavior, Code)>,
}

impl SaidText {
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = Text::new(text);
        Self { verdict: parse_verdict(text.as_str()), text }
    }

    /// The verdict that it reads as. Whether a prompt has that code is for the state to say; without one it is chat.
    pub fn verdict(&self) -> Option<(Behavior, Code)> {
        self.verdict
    }

    pub fn as_str(&self) -> &str {
        self.text.as_str()
    }

    pub fn len(&self) -> usize {
        self.text.len()
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn into_text(self) -> Text {
        self.text
    }
}

/// Reads `yes CODE` or `no CODE` (or `y`, `n`), in any case, with white space around. Anything else is chat.
fn parse_verdict(text: &str) -> Option<(Behavior, Code)> {
    // Nearly all chat is told by its first letter, and need not be searched for words.
    let text = text.trim_start();
    if !text.starts_with(['y', 'Y', 'n', 'N']) {
        return None;
    }
    let mut words = text.split_whitespace();
    let behavior = verdict_word(words.next()?)?;
    let code = Code::parse(words.next()?)?;
    words.next().is_none().then_some((behavior, code))
}

/// Whether chat starts as a verdict would, so that its sender should be told that it was not taken as one.
pub(crate) fn opens_like_a_verdict(text: &str) -> bool {
    behind_verdict_word(text).is_some()
}

/// What stands behind the verdict's word that a text opens with, if it does. No text is searched further than such a word
/// is long, for it may be a megabyte without a space.
fn behind_verdict_word(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(parts_words);
    if !text.starts_with(['y', 'Y', 'n', 'N']) {
        return None;
    }
    let mut first = text.char_indices().take(LONGEST_VERDICT_WORD + 1);
    let end = first.find(|(_, letter)| parts_words(*letter)).map_or(text.len(), |(place, _)| place);
    let (word, rest) = text.split_at(end);
    verdict_word(word).map(|_| rest)
}

/// Letters of `yes`.
const LONGEST_VERDICT_WORD: usize = 3;

fn parts_words(letter: char) -> bool {
    letter.is_whitespace() || letter.is_ascii_punctuation()
}

/// The words of chat that can be codes.
pub(crate) fn codes_in(text: &str) -> impl Iterator<Item = Code> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter_map(Code::parse)
}

/// Whether chat is a verdict's word and one more that may be meant as a code, such as `yes abcd3`.
pub(crate) fn names_a_code(text: &str) -> bool {
    let Some(rest) = behind_verdict_word(text) else { return false };
    let mut words = rest.split(parts_words).filter(|word| !word.is_empty());
    let is_like_a_code = |word: &str| (4..=6).contains(&word.len()) && word.chars().all(|c| c.is_ascii_alphanumeric());
    words.next().is_some_and(is_like_a_code) && words.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        parse_verdict(text).map(|(behavior, code)| format!("{} {code}", behavior.name()))
    }

    #[test]
    fn a_verdict_is_a_word_and_a_code() {
        for (text, want) in [
            ("yes abcde", "allow abcde"),
            ("y abcde", "allow abcde"),
            ("no abcde", "deny abcde"),
            ("N abcde", "deny abcde"),
            ("  Yes \t ABCDE \r\n", "allow abcde"),
            ("no worry", "deny worry"),
        ] {
            assert_eq!(read(text).as_deref(), Some(want), "{text:?}");
        }
    }

    #[test]
    fn anything_else_is_chat() {
        for text in [
            "",
            " ",
            "yes",
            "abcde",
            "yesabcde",
            "yes abcdl",
            "yes abcd",
            "yes abcdef",
            "yes abcde please",
            "approve it",
            "yep abcde",
            "yes: abcde",
            "ja abcde",
            "yes\u{0}abcde",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn chat_that_starts_as_a_verdict_would_is_told_from_other_chat() {
        for text in ["yes", "yes, do it", "No!", " y: abcde", "\"yes abcde\"", "no worry"] {
            assert!(opens_like_a_verdict(text), "{text:?}");
        }
        for text in ["", "...", "yesterday it worked", "nope", "do it, yes"] {
            assert!(!opens_like_a_verdict(text), "{text:?}");
        }
    }

    #[test]
    fn a_mistyped_verdict_is_told_from_talk() {
        for text in ["yes abcd", "yes abcd3", "no abcdef", " y: abcde"] {
            assert!(names_a_code(text), "{text:?}");
        }
        for text in ["yes", "yes, do it", "no", "yes abcde now", "deploy abcde", "yes prüfe"] {
            assert!(!names_a_code(text), "{text:?}");
        }
    }

    proptest::proptest! {
        /// What [`behind_verdict_word`] finds without a look at the whole text.
        #[test]
        fn the_first_word_of_any_text_is_its_opening(
            text in "([ \t\n\u{a0}.,!]|yes|No|Y|n|ye|yess|abcde|abcd3|[a-z]{5}|\u{0}|ä|ſ){0,7}",
        ) {
            let mut words = text.split(parts_words).filter(|word| !word.is_empty());
            let opens = words.next().is_some_and(|word| verdict_word(word).is_some());
            proptest::prop_assert_eq!(opens_like_a_verdict(&text), opens);
            let is_code = |word: &&str| (4..=6).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let (second, third) = (words.next(), words.next());
            proptest::prop_assert_eq!(names_a_code(&text), opens && second.as_ref().is_some_and(is_code) && third.is_none());
        }

        #[test]
        fn any_text_is_a_verdict_or_chat_but_never_a_panic(text: String) {
            if parse_verdict(&text).is_some() {
                proptest::prop_assert!(opens_like_a_verdict(&text));
            }
        }

        #[test]
        fn any_words_like_a_verdict_are_one_or_chat(
            text in "([ \t\n\u{a0}.,!]|yes|No|Y|n|ye|abcde|ABCDE|lllll|abcd|[a-z]{5}|\u{0}|ä|ſ){0,7}",
        ) {
            if let Some((behavior, code)) = parse_verdict(&text) {
                proptest::prop_assert!(opens_like_a_verdict(&text));
                let words: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
                proptest::prop_assert_eq!(&words[1..], [code.to_string()]);
                let opening = if behavior == Behavior::Allow { 'y' } else { 'n' };
                proptest::prop_assert!(words[0].starts_with(opening));
            }
        }
    }
}
