//! One dialog of the client may reach us twice: as the channel's preview and as the hook that has the call whole.

use super::Decided;
use crate::ask::{Ask, Source};
use crate::event::Text;
use crate::ids::AskId;
use crate::input::{Effect, Topic};
use crate::record::Record;
use crate::state::State;

/// The two notices of one dialog come this close together, in milliseconds.
pub(crate) const JOIN_WITHIN: u64 = 300;

/// What stands in a preview for text that the client left out. There is no document of it: these are the usual ones.
const LEFT_OUT: [&str; 5] = ["…", "...", "***", "[redacted", "<redacted"];

/// What the channel showed of a call and the hook that has it whole are one prompt from now on: the hook's.
pub(super) fn joined(state: &State, preview: AskId, whole: AskId) -> Decided {
    let are_open = [preview, whole].iter().all(|id| state.ask(*id).is_some_and(|(_, life)| life.is_open()));
    if !are_open {
        return (vec![], vec![]);
    }
    (vec![Record::Joined { ask: preview, into: whole }], vec![Effect::Publish(Topic::Ask(preview))])
}

/// Whether two asks may be what the channel and a hook each say of one call.
pub(crate) fn may_be_one(preview: &Ask, whole: &Ask) -> bool {
    let apart = preview.at.since(whole.at).max(whole.at.since(preview.at));
    (preview.source, whole.source) == (Source::Channel, Source::Hook)
        && preview.session == whole.session
        && preview.tool == whole.tool
        && apart <= JOIN_WITHIN
        && may_show(&preview.preview, whole.details.input.as_ref())
}

/// Whether a preview may be one of this input. Who allows what the preview shows must not have allowed another call: each
/// of its words stands in the input, except where the client says that it left something out.
fn may_show(preview: &Text, input: Option<&Text>) -> bool {
    let (Text::Here(preview), Some(Text::Here(input))) = (preview, input) else { return true };
    let mut parts = preview.split_whitespace().peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let small = part.to_ascii_lowercase();
        if LEFT_OUT.iter().any(|mark| small.contains(mark)) {
            continue;
        }
        let mut words = part.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
        while let Some(word) = words.next() {
            // The end of a preview may be cut in the midst of a word.
            if !has_word(input, word, is_last && words.peek().is_none()) {
                return false;
            }
        }
    }
    true
}

/// Whether a word stands in JSON as a word, or with `is_cut` as the beginning of one.
fn has_word(json: &str, word: &str, is_cut: bool) -> bool {
    json.match_indices(word).any(|(at, _)| {
        let (before, after) = (&json[..at], &json[at + word.len()..]);
        let begins =
            !before.ends_with(char::is_alphanumeric) || ["\\n", "\\t", "\\r"].iter().any(|end| before.ends_with(end));
        begins && (is_cut || !after.starts_with(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::{Text, may_show};

    #[test]
    fn a_preview_may_be_one_of_an_input_that_has_its_words() {
        let input = Text::new(r#"{"command":"cd api\ngit push --force origin main","description":"Send"}"#);
        for (preview, is_of_it) in [
            ("git push --force origin main", true),
            ("cd api\ngit push", true),
            (r#"{"command":"cd api\ngit push --fo"#, true),
            ("git push … main", true),
            ("git push --token=*** main", true),
            ("", true),
            ("git pull --force origin main", false),
            ("git push --force origin mai dev", false),
            ("rm -rf …", false),
            ("git pus --force", false),
        ] {
            assert_eq!(may_show(&Text::new(preview), Some(&input)), is_of_it, "{preview}");
        }
        assert!(may_show(&Text::Away, Some(&input)) && may_show(&Text::new("x"), None), "nothing to compare");
    }
}
