//! Text of the client as a terminal may show it.

use portcullis_core::visible;
use portcullis_wire::preview::preview;
use serde_json::Value;

/// A call in one line, for a list.
pub(crate) fn in_a_line(tool: &str, input: &Value) -> String {
    let whole = preview(tool, input);
    let first = whole.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let (start, rest) = portcullis_core::excerpt(first, Some(160));
    let more = if rest > 0 || whole.trim().lines().count() > 1 { " …" } else { "" };
    visible(&format!("{start}{more}"))
}

/// The text without what a terminal would act on: sequences are taken out, single characters spelled out.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            kept.push(character);
        } else if characters.next_if_eq(&'[').is_some() {
            // Up to the character that ends it; parameters are digits and punctuation.
            while characters.next_if(|character| matches!(character, '\u{20}'..='\u{3f}')).is_some() {}
            characters.next_if(|character| matches!(character, '\u{40}'..='\u{7e}'));
        }
    }
    visible(kept.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_out_of_a_reason() {
        assert_eq!(without_escapes("\u{1b}[1mrm\u{1b}[22m is \u{1b}dangerous\u{7}"), "rm is dangerous\\u{7}");
    }

    proptest::proptest! {
        #[test]
        fn no_reason_moves_the_cursor(text: String) {
            proptest::prop_assert!(!without_escapes(&text).contains(|character: char| character.is_control() && character != '\n' && character != '\t'));
        }
    }
}
