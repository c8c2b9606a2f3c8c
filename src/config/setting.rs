//! One setting: how what was written for it becomes part of `Config`, and what is said when it cannot.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::Config;
use super::error::{Problem, quoted};
use super::raw::Value;
use super::settings::SETTINGS;

pub(super) struct Setting {
    /// As it is written in the file, with its table.
    pub(super) key: &'static str,
    pub(super) written: Written,
    pub(super) meaning: &'static str,
    pub(super) takes: Takes,
}

/// Where a setting may be written.
pub(super) enum Written {
    File,
    FileOrVariable(&'static str),
    /// A secret has no place in a file that people show each other.
    Variable(&'static str),
}

/// What a setting accepts, and which part of `Config` it fills.
pub(super) enum Takes {
    Text {
        what: &'static str,
        show: fn(&Config) -> String,
        set: fn(&mut Config, &str) -> Result<(), String>,
    },
    Whole {
        unit: &'static str,
        range: RangeInclusive<usize>,
        part: fn(&mut Config) -> &mut usize,
    },
    Seconds {
        range: RangeInclusive<u64>,
        part: fn(&mut Config) -> &mut Duration,
    },
    BytesOrAll {
        most: usize,
        part: fn(&mut Config) -> &mut Option<usize>,
    },
    YesNo {
        part: fn(&mut Config) -> &mut bool,
    },
    /// Folders; `~` stands for the home of whoever runs the gate.
    Folders {
        part: fn(&mut Config) -> &mut Vec<PathBuf>,
    },
}

impl Setting {
    pub(super) fn variable(&self) -> Option<&'static str> {
        match self.written {
            Written::File => None,
            Written::FileOrVariable(name) | Written::Variable(name) => Some(name),
        }
    }

    pub(super) fn in_file(&self) -> bool {
        !matches!(self.written, Written::Variable(_))
    }

    /// Puts the value into the configuration. `name` is what its writer called the setting: key, variable or flag.
    pub(super) fn take(&self, config: &mut Config, name: &str, value: &Value) -> Result<(), Problem> {
        let taken = match &self.takes {
            Takes::Text { set, .. } => text(value).and_then(|text| set(config, text)),
            Takes::Whole { range, part, .. } => whole(value, range).map(|number| *part(config) = number),
            Takes::Seconds { range, part } => {
                whole(value, range).map(|number| *part(config) = Duration::from_secs(number))
            }
            Takes::BytesOrAll { most, part } => {
                whole(value, &(0..=*most)).map(|number| *part(config) = (number > 0).then_some(number))
            }
            Takes::YesNo { part } => yes_no(value).map(|yes| *part(config) = yes),
            Takes::Folders { part } => folders(value).map(|folders| *part(config) = folders),
        };
        taken.map_err(|reason| Problem::new(format!("{name}: {reason}"), format!("{name} is {}", self.accepts())))
    }

    /// Ends the sentence "this setting is …".
    pub(super) fn accepts(&self) -> String {
        match &self.takes {
            Takes::Text { what, .. } => (*what).to_owned(),
            Takes::Whole { unit, range, .. } => number_of(unit, range),
            Takes::Seconds { range, .. } => number_of("seconds", range),
            Takes::BytesOrAll { most, .. } => number_of("bytes", &(0..=*most)),
            Takes::YesNo { .. } => "true or false".to_owned(),
            Takes::Folders { .. } => r#"a list of absolute paths, such as ["~/work", "/srv/app"]"#.to_owned(),
        }
    }

    pub(super) fn default(&self) -> String {
        let mut config = Config::default();
        match &self.takes {
            Takes::Text { show, .. } => show(&config),
            Takes::Whole { part, .. } => part(&mut config).to_string(),
            Takes::Seconds { part, .. } => part(&mut config).as_secs().to_string(),
            Takes::BytesOrAll { part, .. } => part(&mut config).unwrap_or(0).to_string(),
            Takes::YesNo { part } => part(&mut config).to_string(),
            Takes::Folders { .. } => String::new(),
        }
    }
}

fn number_of<N: std::fmt::Display>(unit: &str, range: &RangeInclusive<N>) -> String {
    format!("a whole number of {unit} from {} to {}", range.start(), range.end())
}

fn text(value: &Value) -> Result<&str, String> {
    match value {
        Value::Text(text) | Value::Word(text) => Ok(text),
        Value::Whole(_) => Err("a number is not text".to_owned()),
        Value::YesNo(_) => Err("a boolean is not text".to_owned()),
        Value::List(_) => Err("a list is not text".to_owned()),
        Value::Table => Err("a table is not text".to_owned()),
        Value::Other(kind) => Err(format!("{kind} is not text")),
    }
}

fn whole<N: TryFrom<i64> + PartialOrd>(value: &Value, range: &RangeInclusive<N>) -> Result<N, String> {
    let number = match value {
        Value::Whole(number) => *number,
        Value::Word(word) => word.parse().map_err(|_| format!("{} is not a whole number", quoted(word)))?,
        Value::Text(text) => return Err(format!("the text {} is not a number", quoted(text))),
        Value::Table => return Err("a table is not a number".to_owned()),
        Value::YesNo(_) => return Err("a boolean is not a whole number".to_owned()),
        Value::List(_) => return Err("a list is not a whole number".to_owned()),
        Value::Other(kind) => return Err(format!("{kind} is not a whole number")),
    };
    let inside = N::try_from(number).ok().filter(|number| range.contains(number));
    inside.ok_or_else(|| format!("{number} is out of range"))
}

fn yes_no(value: &Value) -> Result<bool, String> {
    match value {
        Value::YesNo(yes) => Ok(*yes),
        Value::Word(word) => word.parse().map_err(|_| format!("{} is neither true nor false", quoted(word))),
        Value::Text(text) => Err(format!("the text {} is neither true nor false", quoted(text))),
        _ => Err("that is neither true nor false".to_owned()),
    }
}

fn folders(value: &Value) -> Result<Vec<PathBuf>, String> {
    match value {
        Value::List(texts) => texts.iter().map(|text| folder(text)).collect(),
        Value::Word(word) if word.is_empty() => Ok(vec![]),
        Value::Text(text) | Value::Word(text) => Ok(vec![folder(text)?]),
        _ => Err("that is no list of paths".to_owned()),
    }
}

pub(super) fn folder(text: &str) -> Result<PathBuf, String> {
    let is_absolute = text.starts_with('/') || text == "~" || text.starts_with("~/");
    if is_absolute { Ok(PathBuf::from(text)) } else { Err(format!("{} is not an absolute path", quoted(text))) }
}

/// The setting a key of the file means.
pub(super) fn of_key(key: &str) -> Result<&'static Setting, Problem> {
    let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
        return Err(unknown(key));
    };
    match setting.written {
        Written::File | Written::FileOrVariable(_) => Ok(setting),
        Written::Variable(variable) => {
            let what = format!("{key} is never read from a file");
            Err(Problem::new(what, format!("remove the line and set {variable} where you start the gate")))
        }
    }
}

pub(super) fn is_table(key: &str) -> bool {
    tables().any(|table| table == key)
}

/// The tables of the file, each as often as it has settings.
fn tables() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().filter_map(|setting| setting.key.rsplit_once('.')).map(|(table, _)| table)
}

fn unknown(key: &str) -> Problem {
    let known = || SETTINGS.iter().filter(|setting| setting.in_file()).map(|setting| setting.key);
    let hint = match nearest(key, known().chain(tables())) {
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
            let whole = distance(key, candidate);
            (distance(&last(key), &last(candidate)).min(whole), whole, candidate)
        })
        .min()
        .filter(|(distance, ..)| *distance <= tolerated)
        .map(|(_, _, candidate)| candidate)
}

/// How many characters have to be added, removed or replaced to make one text of the other.
fn distance(from: &str, to: &str) -> usize {
    // `row[j]` is the distance of the part of `from` read so far to the first `j` characters of `to`.
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        row[0] = left;
        for (j, b) in to.chars().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            left = replaced.min(diagonal + 1).min(left + 1);
            row[j + 1] = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_edits() {
        for (from, to, edits) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("burts", "burst", 2)] {
            assert_eq!(distance(from, to), edits, "{from} {to}");
            assert_eq!(distance(to, from), edits, "{to} {from}");
        }
    }

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
        ] {
            let Err(problem) = of_key(key) else { panic!("{key} is known") };
            assert_eq!(problem.hint, format!("did you mean {near}?"), "{key}");
        }
    }

    #[test]
    fn a_key_like_no_other_is_told_all_the_keys() {
        for key in ["color", "x", &"listen".repeat(1000)] {
            let Err(problem) = of_key(key) else { panic!("{key} is known") };
            assert!(problem.hint.starts_with("the keys are listen, durability, approvals, retention_days, "), "{key}");
        }
    }
}
