//! The keys of a configuration file: known, written as an earlier release did, or unknown.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Problem, quoted};
use super::old;
use super::setting::{Setting, WrittenIn};
use super::settings::SETTINGS;

/// The keys of a file: those that are known, and what is wrong with the others.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) found: Vec<FoundKey>,
    /// Where each begins, since the parser sorts by name and people read from the top.
    pub(super) wrong: Vec<(usize, Problem)>,
}

pub(super) struct FoundKey {
    pub(super) key: String,
    pub(super) setting: &'static Setting,
    /// The key and its value.
    pub(super) span: Range<usize>,
}

impl Keys {
    /// Goes no deeper than the parser, which refuses deep nesting.
    pub(super) fn look_at(&mut self, table: &DeTable<'_>, above: &[&str]) {
        for (name, value) in table {
            let parts = [above, &[name.get_ref().as_ref()]].concat();
            if let Err(problem) = self.look_at_one(&parts, name.span(), value) {
                self.wrong.push((name.span().start, problem));
            }
        }
    }

    fn look_at_one(&mut self, parts: &[&str], at: Range<usize>, value: &Spanned<DeValue<'_>>) -> Result<(), Problem> {
        let key = key_of(parts);
        let fits = |setting: &&Setting| fits(setting.key, parts);
        if let Some(setting) = SETTINGS.iter().find(fits) {
            if let WrittenIn::Variable(variable) = setting.written {
                let what = format!("{key} is never read from a file");
                return Err(Problem::new(what, format!("remove the line and set {variable} where you start the gate")));
            }
            if let Some(problem) = old::spelling(setting.key, value.get_ref()) {
                return Err(problem);
            }
            if let DeValue::Integer(digits) = value.get_ref()
                && let Ok(number) = i64::from_str_radix(digits.as_str(), digits.radix())
            {
                setting.check_range(&key, number)?;
            }
            self.found.push(FoundKey {
                key,
                setting,
                span: at.start.min(value.span().start)..at.end.max(value.span().end),
            });
            return Ok(());
        }
        let is_table = SETTINGS.iter().any(|setting| is_above(parts, setting.key));
        match value.get_ref() {
            DeValue::Table(table) if is_table => {
                self.look_at(table, parts);
                Ok(())
            }
            value => Err(old::spelling(&key, value).unwrap_or_else(|| match is_table {
                true => Problem::new(
                    format!("{key} is a table"),
                    format!("write [{key}] on a line of its own, and its keys below"),
                ),
                false => unknown(&key),
            })),
        }
    }
}

/// Whether these parts are the key of a setting, where a part in angle brackets is any name.
fn fits(key: &str, parts: &[&str]) -> bool {
    key.split('.').count() == parts.len() && begins(key, parts)
}

/// Whether these parts are a table in which the key stands.
fn is_above(parts: &[&str], key: &str) -> bool {
    key.split('.').count() > parts.len() && begins(key, parts)
}

fn begins(key: &str, parts: &[&str]) -> bool {
    key.split('.').zip(parts).all(|(known, part)| known.starts_with('<') || known == *part)
}

/// Tables and key joined by dots. A part that is not a plain word keeps its quotes, so that `"limits.body"` at the top
/// of the file is not shown as `body` in `[limits]`.
fn key_of(parts: &[&str]) -> String {
    let is_plain =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let parts: Vec<String> =
        parts.iter().map(|part| if is_plain(part) { (*part).to_owned() } else { quoted(part) }).collect();
    parts.join(".")
}

pub(super) fn unknown(key: &str) -> Problem {
    let known = || SETTINGS.iter().filter(|setting| setting.in_file()).map(|setting| setting.key);
    let tables = known().filter_map(|key| key.split_once('.')).map(|(table, _)| table);
    let hint = match nearest(key, known().chain(tables)) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("the keys are {}", known().collect::<Vec<_>>().join(", ")),
    };
    Problem::new(format!("unknown key {}", quoted(key)), hint)
}

/// The known key that most looks like this one, if any does. A key in the wrong table still looks like itself.
pub(crate) fn nearest<'known>(key: &str, known: impl Iterator<Item = &'known str>) -> Option<&'known str> {
    // Nobody mistypes a key into something this long, and the distance takes time with the length.
    const LONGEST: usize = 64;
    if key.len() > LONGEST {
        return None;
    }
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let tolerated = 1 + last(key).chars().count() / 3;
    known
        .map(|candidate| {
            let whole = strsim::levenshtein(key, candidate);
            (strsim::levenshtein(&last(key), &last(candidate)).min(whole), whole, candidate)
        })
        .min()
        .filter(|(distance, ..)| *distance <= tolerated)
        .map(|(_, _, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_names_the_nearest() {
        for (key, near) in [
            ("listne", "listen"),
            ("Durability", "durability"),
            ("limits.bodi", "limits.body"),
            ("limits.conections", "limits.connections"),
            ("limits.ssl_listeners", "limits.sse_listeners"),
            ("body", "limits.body"),
            ("limit", "limits"),
            ("limit.rate", "limits.rate"),
            ("\"limits.rate\"", "limits.rate"),
            ("project", "projects"),
        ] {
            assert_eq!(unknown(key).hint, format!("did you mean {near}?"), "{key}");
        }
    }

    #[test]
    fn a_key_like_no_other_is_told_all_the_keys() {
        for key in ["color", "x", &"listen".repeat(1000)] {
            let hint = unknown(key).hint;
            assert!(hint.starts_with("the keys are listen, public_url, public_listen, durability, "), "{key}: {hint}");
        }
    }
}
