//! The permission rules in Claude Code's own settings, as its files have them. A client that runs tells its rules itself;
//! this is for whoever asks what would become of a call before there is one.

use std::path::{Path, PathBuf};

use portcullis_core::policy::{Decision, Origin, Rule, RuleSource};
use serde_json::Value;

use super::disk::{bytes_of, project_root};
use super::file::MOST_RULES;
use crate::config::managed_settings;

/// More than any settings have, in bytes.
const LONGEST: u64 = 1 << 20;

/// What the files say that count in one folder.
pub(crate) struct ClientRules {
    pub(crate) rules: Vec<Rule>,
    /// Not every rule that denies or asks could be read: more may be denied or asked for than these say.
    pub(crate) is_incomplete: bool,
}

impl ClientRules {
    /// `claude_folder` is where the client keeps what is the user's. A project counts as one that the user has trusted.
    pub(crate) fn of(folder: &Path, home: Option<&Path>, claude_folder: Option<&Path>) -> Self {
        let mut found = Self { rules: vec![], is_incomplete: false };
        let project = Origin::Project { trusted: true };
        for (root, file) in files_of_project(folder, home) {
            found.read(&file, project, &root);
        }
        if let Some(claude_folder) = claude_folder {
            found.read(&claude_folder.join("settings.json"), Origin::User, claude_folder);
        }
        found.read(managed_settings(), Origin::User, Path::new("/"));
        found
    }

    fn read(&mut self, file: &Path, origin: Origin, base: &Path) {
        let (text, said) = match said_in(file) {
            Ok(Some(said)) => said,
            Ok(None) => return,
            Err(NoSettings) => return self.is_incomplete = true,
        };
        let mut left = MOST_RULES;
        // Those that deny come first: they are the last to be left out.
        for (list, decision) in [("deny", Decision::Deny), ("ask", Decision::Ask), ("allow", Decision::Allow)] {
            let mut lines = RuleLines::of(&text);
            let written = said["permissions"][list].as_array().map_or(&[][..], Vec::as_slice);
            self.is_incomplete |= written.len() > left && decision != Decision::Allow;
            for written in written.iter().take(left) {
                left -= 1;
                let place = Some((file.display().to_string(), lines.line_of(written)));
                let source = RuleSource { origin, place, base: base.display().to_string() };
                match written.as_str().map(|written| Rule::new(decision, written, source)) {
                    Some(Ok(rule)) => self.rules.push(rule),
                    // What it would allow is asked for.
                    _ => self.is_incomplete |= decision != Decision::Allow,
                }
            }
        }
    }
}

/// What the project's files of settings say, each that is there; none where one of them cannot be read.
pub(crate) fn settings_of_project(folder: &Path, home: Option<&Path>) -> Option<Vec<Value>> {
    let said = files_of_project(folder, home).map(|(_, file)| said_in(&file));
    said.filter_map(Result::transpose).map(|said| said.ok().map(|(_, said)| said)).collect()
}

/// With the folder that each of them is for.
fn files_of_project(folder: &Path, home: Option<&Path>) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    let mut roots = vec![folder.to_owned(), project_root(folder, home)];
    roots.dedup();
    let of_root = |root: PathBuf| {
        ["settings.json", "settings.local.json"].map(|name| (root.clone(), root.join(".claude").join(name)))
    };
    roots.into_iter().flat_map(of_root)
}

/// A file that is there, and is no settings.
struct NoSettings;

/// A file of settings as text, and what it says; none where there is no such file.
fn said_in(file: &Path) -> Result<Option<(String, Value)>, NoSettings> {
    if std::fs::symlink_metadata(file).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Ok(None);
    }
    // A project may bring anything under such a name.
    let text = bytes_of(file, LONGEST).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(NoSettings)?;
    let said = serde_json::from_str(&text).map_err(|_| NoSettings)?;
    Ok(Some((text, said)))
}

/// The lines that rules stand in. They are looked for in their order, so that a long file is read through once.
struct RuleLines<'a> {
    text: &'a str,
    /// Where the last one was found, in bytes, and in which line.
    at: usize,
    line: usize,
    missed: usize,
}

/// Rules of a file that stand there in other letters than they are read in, such as `\u0042`, and are still looked for.
const MOST_MISSED: usize = 20;

impl<'a> RuleLines<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, missed: 0 }
    }

    /// Counted from 1, which also stands for one that is not found.
    fn line_of(&mut self, written: &Value) -> usize {
        let rest = self.text.get(self.at..).filter(|_| self.missed < MOST_MISSED).unwrap_or_default();
        let Some(found) = rest.find(&written.to_string()) else {
            self.missed += 1;
            return 1;
        };
        self.line += rest[..found].matches('\n').count();
        self.at += found;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_of_the_settings_say_where_they_stand_and_what_cannot_be_read_is_said() {
        let home = tempfile::tempdir().unwrap();
        let (claude, project) = (home.path().join(".claude"), home.path().join("api"));
        for (folder, text) in [
            (&claude, "{\"permissions\": {\n\"deny\": [\"Read(/keys/**)\"]}}"),
            (&project.join(".claude"), "{\"permissions\": {\"allow\": [\n\"Bash(npm test *)\",\n\"Bash((\"]}}"),
        ] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("settings.json"), text).unwrap();
        }
        let found = || ClientRules::of(&project, Some(home.path()), Some(&claude));
        let rules = found().rules.into_iter();
        let rules: Vec<_> = rules.map(|rule| (rule.pattern.to_string(), rule.source.base, rule.source.place)).collect();
        let at = |folder: &Path, line| Some((folder.join("settings.json").display().to_string(), line));
        let text = |path: &Path| path.display().to_string();
        assert_eq!(
            rules,
            [
                ("Bash(npm test *)".to_owned(), text(&project), at(&project.join(".claude"), 2)),
                ("Read(/keys/**)".to_owned(), text(&claude), at(&claude, 2)),
            ]
        );
        assert!(!found().is_incomplete);
        let many: Vec<String> = (0..=MOST_RULES).map(|number| format!("Bash(run {number})")).collect();
        let of_project = |settings: Value| {
            std::fs::write(project.join(".claude/settings.json"), settings.to_string()).unwrap();
            (found().rules.len() - 1, found().is_incomplete)
        };
        assert_eq!(
            of_project(json!({"permissions": {"allow": many}})),
            (MOST_RULES, false),
            "fewer pass, which is no harm"
        );
        assert_eq!(of_project(json!({"permissions": {"deny": many}})), (MOST_RULES, true));
        let both = json!({"permissions": {"allow": many, "deny": ["Bash(rm *)"]}});
        assert_eq!(of_project(both), (MOST_RULES, false), "what denies comes first");
        let long = " ".repeat(usize::try_from(LONGEST).unwrap());
        assert_eq!(of_project(json!({"x": long})), (0, true));
        std::fs::write(project.join(".claude/settings.local.json"), "{").unwrap();
        assert!(found().is_incomplete);
    }
}
