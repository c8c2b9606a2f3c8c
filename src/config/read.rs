//! From what is written in the file, the environment and the flags to a [`Config`], or to an error that says where.

use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Problem, quoted};
use super::old;
use super::secret::Secret;
use super::settings::{SETTINGS, Setting, WrittenIn};
use super::table::Config;
use crate::failure::Failure;

/// Looks a variable up. Passed in, so that nothing here depends on the process it runs in.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A flag by the key of its setting, and what stands behind it.
pub(crate) type Flag<'a> = (&'static str, &'a str);

/// A flag beats the environment, the environment beats the file, the file beats the default. A missing file is empty.
pub(super) fn read(file: &Path, environment: Environment<'_>, flags: &[Flag<'_>]) -> Result<Config, Failure> {
    let reading = || format!("reading configuration from {}", file.display());
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => vec![],
        Err(error) => return Err(Failure::configuration(reading()).because(error)),
    };
    let mut layers = Layers::of_file(&bytes).map_err(|problem| problem.while_doing(reading()))?;
    for setting in SETTINGS {
        let Some((variable, value)) = setting.variable().and_then(|name| Some((name, environment(name)?))) else {
            continue;
        };
        let taken = match value.into_string() {
            Ok(text) => layers.take(setting, variable, &text),
            Err(_) => Err(setting.problem(variable, "not UTF-8")),
        };
        taken.map_err(|problem| problem.while_doing(format!("reading {variable} from the environment")))?;
    }
    for (key, text) in flags {
        let flag = format!("--{}", key.replace(['.', '_'], "-"));
        let setting = SETTINGS.iter().find(|setting| setting.key == *key && setting.in_file());
        let taken = setting.ok_or_else(|| unknown(key)).and_then(|setting| layers.take(setting, &flag, text));
        taken.map_err(|problem| problem.while_doing(format!("reading {flag} from the command line")))?;
    }
    Ok(layers.config)
}

/// The file, and what was put above it so far.
pub(super) struct Layers {
    written: toml::Table,
    /// What `written` means.
    pub(super) config: Config,
}

impl Layers {
    pub(super) fn of_file(bytes: &[u8]) -> Result<Self, Problem> {
        let lines = Lines(bytes);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            Problem::new("not UTF-8", "save the file as UTF-8").on_line(lines.at(error.valid_up_to()))
        })?;
        let table = DeTable::parse(text).map_err(|error| {
            let hint = r#"the file is TOML: lines such as durability = "power", with text in quotes"#;
            Problem::new(error.message(), hint).on_line(lines.at(error.span().map_or(bytes.len(), |span| span.start)))
        })?;
        let mut keys = Keys::default();
        keys.look_at(table.get_ref(), &[]);
        keys.wrong.sort_by_key(|(at, _)| *at);
        let mut wrong = keys.wrong.into_iter().map(|(at, problem)| problem.on_line(lines.at(at)));
        if let Some(first) = wrong.next() {
            return Err(first.and(wrong));
        }
        let refused = |error: &toml::de::Error| {
            let at = error.span().unwrap_or_default();
            let found = keys.found.iter().filter(|found| found.span.start <= at.start && at.end <= found.span.end);
            let problem = match found.max_by_key(|found| found.span.start) {
                Some(found) => found.setting.problem(&found.key, &in_plain_words(error)),
                None => {
                    Problem::new(in_plain_words(error), "docs/reference/configuration.md lists what each key accepts")
                }
            };
            problem.on_line(lines.at(at.start))
        };
        let written = toml::from_str(text).map_err(|error| refused(&error))?;
        let config = Config::deserialize(toml::de::Deserializer::from(table)).map_err(|error| refused(&error))?;
        Ok(Self { written, config })
    }

    /// Puts text above what is there. `name` is the variable or the flag.
    pub(super) fn take(&mut self, setting: &'static Setting, name: &str, text: &str) -> Result<(), Problem> {
        if let WrittenIn::Variable(_) = setting.written {
            let token = Secret::token(text).map_err(|reason| setting.problem(name, &reason))?;
            self.config.token = Some(token);
            return Ok(());
        }
        self.written.insert(setting.key.to_owned(), setting.value_of(name, text)?);
        let config = Config::deserialize(self.written.clone());
        let config = config.map_err(|error| setting.problem(name, &in_plain_words(&error)))?;
        self.config = Config { token: self.config.token.take(), ..config };
        Ok(())
    }
}

/// What serde says, without the names of types in Rust, and never long: it repeats what was written.
fn in_plain_words(error: &toml::de::Error) -> String {
    const LONGEST: usize = 200;
    const PLAIN: [(&str, &str); 5] = [
        ("expected usize", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected a sequence", "expected a list"),
        ("invalid type: sequence", "invalid type: list"),
        ("invalid type: map", "invalid type: table"),
    ];
    let words = PLAIN.iter().fold(error.message().to_owned(), |words, (rust, plain)| words.replace(rust, plain));
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

struct Lines<'a>(&'a [u8]);

impl Lines<'_> {
    fn at(&self, at: usize) -> usize {
        1 + self.0.iter().take(at).filter(|byte| **byte == b'\n').count()
    }
}

/// The keys of a file: those that are known, and what is wrong with the others.
#[derive(Default)]
struct Keys {
    found: Vec<Found>,
    /// Where each begins, since the parser sorts by name and people read from the top.
    wrong: Vec<(usize, Problem)>,
}

struct Found {
    key: String,
    setting: &'static Setting,
    /// The key and its value.
    span: Range<usize>,
}

impl Keys {
    /// Goes no deeper than the parser, which refuses deep nesting.
    fn look_at(&mut self, table: &DeTable<'_>, above: &[&str]) {
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
            self.found.push(Found {
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

fn unknown(key: &str) -> Problem {
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
            assert!(
                hint.starts_with("the keys are listen, durability, approvals, outside, retention_days, "),
                "{key}: {hint}"
            );
        }
    }

    #[test]
    fn a_quoted_key_with_a_dot_is_not_a_key_in_a_table() {
        let problem = Layers::of_file(b"'limits.body' = 2048").err().unwrap();
        assert_eq!(problem.what, r#"line 1: unknown key "\"limits.body\"""#);
        assert_eq!(Layers::of_file(b"limits.body = 2048").ok().unwrap().config.limits.body, 2048);
    }

    #[test]
    fn a_file_that_is_not_toml_says_on_which_line() {
        let refused = |bytes: &[u8]| Layers::of_file(bytes).err().unwrap().what;
        assert!(refused(b"listen = 'off'\ndurability = power\n").starts_with("line 2: "));
        assert!(refused(b"claude = 'a'\n\nclaude = 'b'\n").starts_with("line 3: "));
        assert_eq!(refused(b"# fine\n# \xff\n"), "line 2: not UTF-8");
    }

    #[test]
    fn deep_nesting_is_refused_before_it_overflows_the_stack() {
        for deep in ["a = ".to_owned() + &"[".repeat(100_000), "a.".repeat(100_000), "a={".repeat(100_000)] {
            assert!(Layers::of_file(deep.as_bytes()).is_err());
        }
        assert!(Layers::of_file(format!("{}a = 1", "a.".repeat(100_000)).as_bytes()).is_err());
    }
}
