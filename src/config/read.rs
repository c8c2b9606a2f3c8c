//! From what is written in the file, the environment and the flags to a [`Config`], or to an error that says where.

use std::ffi::OsString;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize as _;
use toml::de::DeTable;

use super::error::Problem;
use super::keys::{Keys, unknown};
use super::secret::Secret;
use super::setting::{Setting, WrittenIn};
use super::settings::SETTINGS;
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
        let lines = FileLines(bytes);
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
                None => Problem::new(in_plain_words(error), "`portcullis help settings` says what each key takes"),
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

struct FileLines<'a>(&'a [u8]);

impl FileLines<'_> {
    fn at(&self, at: usize) -> usize {
        1 + self.0.iter().take(at).filter(|byte| **byte == b'\n').count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
