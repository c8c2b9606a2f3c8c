//! The permission rules in Claude Code's own settings, as its files have them. A client that runs tells its rules itself;
//! this is for whoever asks what would become of a call before there is one.

use std::path::Path;

use portcullis_core::policy::{Decision, Origin, Rule, RuleSource};
use serde_json::Value;

use super::disk::project_root;
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
        let mut roots = vec![folder.to_owned(), project_root(folder, home)];
        roots.dedup();
        for root in roots {
            for name in ["settings.json", "settings.local.json"] {
                found.read(&root.join(".claude").join(name), project, &root);
            }
        }
        if let Some(claude_folder) = claude_folder {
            found.read(&claude_folder.join("settings.json"), Origin::User, claude_folder);
        }
        found.read(managed_settings(), Origin::User, Path::new("/"));
        found
    }

    fn read(&mut self, file: &Path, origin: Origin, base: &Path) {
        let text = match text_of(file) {
            Ok(text) => text,
            Err(error) => return self.is_incomplete |= error.kind() != std::io::ErrorKind::NotFound,
        };
        let Ok(said) = serde_json::from_str::<Value>(&text) else { return self.is_incomplete = true };
        for (list, decision) in [("allow", Decision::Allow), ("ask", Decision::Ask), ("deny", Decision::Deny)] {
            let written = said["permissions"][list].as_array().into_iter().flatten();
            for written in written {
                let place = Some((file.display().to_string(), line_of(&text, written)));
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

/// A project may bring anything under such a name.
fn text_of(file: &Path) -> std::io::Result<String> {
    let about = std::fs::metadata(file)?;
    if !about.is_file() || about.len() > LONGEST {
        return Err(std::io::Error::other("no file of settings"));
    }
    std::fs::read_to_string(file)
}

/// The first line that holds the text, counted from 1.
fn line_of(text: &str, written: &Value) -> usize {
    let written = written.to_string();
    text.lines().position(|line| line.contains(&written)).map_or(1, |line| line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        std::fs::write(project.join(".claude/settings.local.json"), "{").unwrap();
        assert!(found().is_incomplete);
    }
}
