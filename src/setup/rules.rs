//! Changes of rules files: a rule added to one or removed from one, and a project's file trusted as it is.

use std::path::{Path, PathBuf};

use portcullis_core::policy::{Decision, Origin, Pattern, RuleSource};

use super::file::{Audience, UserFile, Wrote};
use crate::config::Paths;
use crate::failure::Failure;
use crate::rules::{IN_PROJECT, RulesFile, Trusted, Written, block, project_root, without_rule};

/// Whose file a rule is added to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RulesOwner {
    User,
    /// Everyone who works on the project that the folder lies in.
    Project,
}

pub(crate) struct NewRule<'a> {
    pub(crate) decision: Decision,
    pub(crate) pattern: &'a Pattern,
    pub(crate) why: Option<&'a str>,
}

/// Adds a rule at the end of a file. Returns the file for people, and a warning when the rule has no effect.
pub(crate) fn add(
    paths: &Paths,
    folder: &Path,
    owner: RulesOwner,
    rule: &NewRule<'_>,
) -> anyhow::Result<(String, Option<String>)> {
    let root = project_root(folder, paths.user_home());
    let (path, origin, audience) = match owner {
        RulesOwner::User => (paths.rules_file.clone(), Origin::User, Audience::OwnerAlone),
        RulesOwner::Project => (root.join(IN_PROJECT), Origin::Project { trusted: true }, Audience::Everyone),
    };
    let file = UserFile::read(&path)?;
    let mut text = file.text().to_owned();
    if !text.is_empty() {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push_str(&block(rule.decision, &rule.pattern.to_string(), rule.why));
    let taken = RulesFile::read(&path, Some(&text), origin, &root.display().to_string(), paths.user_home())?;
    let stays_trusted = owner == RulesOwner::Project && file.text.is_none() || is_trusted(paths, &file);
    write(paths, &file, &text, audience, stays_trusted)?;
    Ok((file.in_words(), taken.rules.last().and_then(|written| written.rule.warning())))
}

/// Removes a rule from its file. Returns the file for people.
pub(crate) fn remove(paths: &Paths, path: &Path, written: &Written) -> anyhow::Result<String> {
    let file = UserFile::read(path)?;
    let text = without_rule(file.text(), written.line)
        .map_err(|problem| problem.while_doing(format!("removing a rule from {}", path.display())))?;
    let RuleSource { origin, base, .. } = &written.rule.source;
    // A removal that would leave a broken file is no removal.
    RulesFile::read(path, Some(&text), *origin, base, paths.user_home())?;
    write(paths, &file, &text, Audience::OwnerAlone, is_trusted(paths, &file))?;
    Ok(file.in_words())
}

/// Whoever writes a file that they had trusted has not stopped trusting it.
fn is_trusted(paths: &Paths, file: &UserFile) -> bool {
    file.text.as_deref().is_some_and(|text| Trusted::read(&paths.trust_file).holds(&file.path, text))
}

fn write(paths: &Paths, file: &UserFile, text: &str, audience: Audience, stays_trusted: bool) -> anyhow::Result<()> {
    paths.prepare()?;
    if file.write(text, audience)? == Wrote::Overtaken {
        let what = format!("{} was changed by another program meanwhile", file.path.display());
        return Err(Failure::new(what, "run this again").into());
    }
    if stays_trusted {
        let mut trusted = Trusted::read(&paths.trust_file);
        trusted.add(&file.path, text);
        trusted.write(&paths.trust_file)?;
    }
    Ok(())
}

/// A project's rules file that a person may trust.
pub(crate) struct TrustPlan {
    pub(crate) file: UserFile,
    /// What it allows.
    pub(crate) allows: Vec<Pattern>,
}

impl TrustPlan {
    /// The file, or else that of the project that the folder lies in.
    pub(crate) fn make(paths: &Paths, folder: &Path, file: Option<PathBuf>) -> anyhow::Result<Self> {
        let root = project_root(folder, paths.user_home());
        let path = std::path::absolute(file.unwrap_or_else(|| root.join(IN_PROJECT)))?;
        if let Some(inside) = paths.inside(&root) {
            let what = format!("{} lies in this project: whoever writes here could trust anything", inside.display());
            return Err(Failure::new(what, "set PORTCULLIS_HOME to a folder outside the project").into());
        }
        let file = UserFile::read(&path)?;
        let Some(text) = &file.text else {
            let hint = "name the file, or run this in its project";
            return Err(Failure::new(format!("there is no file {}", path.display()), hint).into());
        };
        let base = path.parent().and_then(Path::parent).unwrap_or(&root);
        let origin = Origin::Project { trusted: true };
        let taken = RulesFile::read(&path, Some(text), origin, &base.display().to_string(), paths.user_home())?;
        let rules = taken.rules.into_iter().map(|written| written.rule);
        let allows = rules.filter(|rule| rule.decision == Decision::Allow).map(|rule| rule.pattern).collect();
        Ok(Self { file, allows })
    }

    pub(crate) fn carry_out(&self, paths: &Paths) -> anyhow::Result<()> {
        paths.prepare()?;
        let mut trusted = Trusted::read(&paths.trust_file);
        trusted.add(&self.file.path, self.file.text());
        Ok(trusted.write(&paths.trust_file)?)
    }
}
