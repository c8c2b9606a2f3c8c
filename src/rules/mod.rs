//! The rules of a user and a project, as their files say now.
//!
//! ```text
//! let rules = Rules::open(&paths, &cwd);                   // the user's files and the project's
//! let around = rules.around(&cwd, &added_folders, label, shell);  // where calls are made
//! let ruling = rules.decide(mode, &around, wire::tools::call(tool, &input));
//! ```
//!
//! Files are looked at again at each use. A file that cannot be taken changes nothing: the rules from before stay, and
//! [`Rules::problem`] says why. Where there are none from before, what can be read of it still denies and asks, and
//! everything else is asked for.

mod client;
mod disk;
mod example;
mod file;
mod late;
mod mistaken;
mod projects;
mod removal;
mod trust;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use portcullis_core::policy::{
    Call, Context, Decision, Judgement, Mode, Origin, OutsidePolicy, PreparedCall, Rule, RuleSet, RuleSource,
    SessionShell, passes_outside_guard, plainly_denied,
};

pub(crate) use client::ClientRules;
pub(crate) use disk::project_root;
pub(crate) use file::{RulesFile, Written, block, rule_views};
pub(crate) use late::late;
pub(crate) use removal::without_rule;
pub(crate) use trust::Trusted;
pub(crate) use walk::RealDisk;
use walk::UnseenDisk;

use serde_json::Value;

use crate::config::{Paths, session_shell};
use crate::failure::Failure;
use disk::{ReadLinks, Stamp, resolved, text_of};
use projects::ProjectRules;

/// What a project's file may cost before a person has trusted it. The user's own rules stand before its rules.
const MOST_UNTRUSTED: usize = 64 << 10;
const MOST_UNTRUSTED_RULES: usize = 200;
const MOST_UNTRUSTED_EXAMPLES: usize = 200;

/// Where a project keeps its rules, below its root.
pub(crate) const IN_PROJECT: &str = ".portcullis/rules.toml";

pub(crate) struct Rules {
    places: Vec<Place>,
    trust_file: Option<PathBuf>,
    /// For [`PlaceKind::Config`]; none where the configuration says nothing of the rules that are wanted.
    in_config: Option<ProjectRules>,
    home: Option<PathBuf>,
    /// Where our files are, and the project that must hold none of them.
    belief: Option<(Paths, PathBuf)>,
    /// Ours, and not to be changed unasked.
    ours: Vec<PathBuf>,
    /// Where Claude Code keeps what is the user's.
    claude: Option<PathBuf>,
    /// Changed by whoever uses the rules first after a file was changed.
    loaded: Mutex<Loaded>,
}

/// A file that may be there.
struct Place {
    path: PathBuf,
    kind: PlaceKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    User,
    /// The configuration, with the user's rules for some projects.
    Config,
    Project,
    Named,
}

#[derive(Default)]
struct Loaded {
    /// Of every file when it was read, and of the list of trusted files; none when they have to be read again.
    stamps: Option<Vec<Stamp>>,
    /// Each file's rules as they were last taken; none when they never were.
    taken: Vec<Option<RulesFile>>,
    /// From elsewhere than files: said in the session, or on the command line.
    more: Vec<Rule>,
    problem: Option<Failure>,
    set: Arc<RuleSet>,
}

impl Rules {
    /// The user's rules, those for this project in the configuration, and those of the project that the folder lies in. Says by [`Rules::problem`] what is wrong.
    pub(crate) fn open(paths: &Paths, folder: &Path) -> Self {
        let project = project_root(folder, paths.user_home());
        // A project that holds our own files could trust itself.
        let trust_file = paths.inside(&project).is_none().then(|| paths.trust_file.clone());
        let places = vec![
            Place { path: paths.rules_file.clone(), kind: PlaceKind::User },
            Place { path: paths.config_file.clone(), kind: PlaceKind::Config },
            Place { path: project.join(IN_PROJECT), kind: PlaceKind::Project },
        ];
        let in_config = Some(ProjectRules { paths: paths.clone(), folder: folder.to_owned() });
        let belief = Some((paths.clone(), project));
        Self { trust_file, in_config, belief, ..Self::of(places, paths) }
    }

    /// One file that was named on the command line, and counts as trusted.
    pub(crate) fn named(paths: &Paths, file: &Path) -> Self {
        Self::of(vec![Place { path: file.to_owned(), kind: PlaceKind::Named }], paths)
    }

    /// The same, or an error if a file cannot be taken.
    pub(crate) fn load(self) -> Result<Self, Failure> {
        self.snapshot();
        match self.problem() {
            Some(problem) => Err(problem),
            None => Ok(self),
        }
    }

    /// The rules of a user whose home is this folder.
    #[cfg(test)]
    pub(crate) fn of_home(home: &Path) -> Self {
        let variable = |name: &str| (name == "HOME").then(|| home.as_os_str().to_owned());
        match Paths::from_env(&variable) {
            Ok(paths) => Self::open(&paths, home),
            Err(error) => panic!("{error}"),
        }
    }

    fn of(places: Vec<Place>, paths: &Paths) -> Self {
        // The hooks run this very program: who changes it changes what they say.
        let program = std::env::current_exe().ok();
        let files = [paths.config_file.parent(), Some(&paths.rules_file), program.as_deref()];
        let ours = std::iter::once(Some(paths.state_dir.as_path())).chain(files).flatten();
        let names = paths.program_names().iter().map(PathBuf::as_path);
        let ours = ours.chain(names).map(Path::to_owned).collect();
        let home = paths.user_home().map(Path::to_owned);
        let claude = paths.claude_folder().map(Path::to_owned);
        Self { places, trust_file: None, in_config: None, belief: None, home, ours, claude, loaded: Mutex::default() }
    }

    /// A rule that no file holds: said in the session, or on the command line.
    pub(crate) fn add(&self, rule: Rule) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.more.push(rule);
        loaded.stamps = None;
    }

    /// The rules as of now.
    pub(crate) fn snapshot(&self) -> Arc<RuleSet> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps: Vec<Stamp> =
            self.places.iter().map(|place| &place.path).chain(&self.trust_file).map(|path| Stamp::of(path)).collect();
        if loaded.stamps.as_ref() != Some(&stamps) {
            self.read(&mut loaded);
            loaded.stamps = stamps.iter().all(Stamp::is_settled).then_some(stamps);
        }
        Arc::clone(&loaded.set)
    }

    /// Why the newest version of a file was not taken.
    pub(crate) fn problem(&self) -> Option<Failure> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).problem.clone()
    }

    /// The files that are there, as they were last taken.
    pub(crate) fn files(&self) -> Vec<RulesFile> {
        self.snapshot();
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.taken.iter().flatten().filter(|file| file.exists).cloned().collect()
    }

    fn read(&self, loaded: &mut Loaded) {
        loaded.problem = None;
        loaded.taken.resize(self.places.len(), None);
        let mut mistaken = vec![];
        for (place, taken) in self.places.iter().zip(&mut loaded.taken) {
            match self.read_place(place) {
                Ok(mut file) => {
                    // What others could have written only tightens.
                    if let Err(problem) = self.believe(place) {
                        tracing::warn!(file = %place.path.display(), "its allow rules do not count: {}", in_words(&problem));
                        file.rules.retain(|written| written.rule.decision != Decision::Allow);
                        loaded.problem = Some(problem);
                    }
                    *taken = Some(file);
                }
                Err(error) => {
                    tracing::warn!(file = %place.path.display(), "rules not taken: {}", in_words(&error));
                    loaded.problem = Some(error);
                    if taken.is_none() {
                        mistaken.extend(self.readable_rules(place));
                    }
                }
            }
        }
        let mut rules: Vec<Rule> = loaded
            .taken
            .iter()
            .flatten()
            .flat_map(|file| file.rules.iter().map(|written| written.rule.clone()))
            .collect();
        rules.extend(mistaken);
        if loaded.taken.iter().any(Option::is_none) {
            rules.extend(ask_for_everything(loaded.problem.as_ref()));
        }
        rules.extend(loaded.more.iter().cloned());
        loaded.set = Arc::new(RuleSet { rules });
    }

    /// Whether a file of the user's is the user's own. That of a project is nobody's to believe.
    fn believe(&self, place: &Place) -> Result<(), Failure> {
        match (&self.belief, place.kind) {
            (Some((paths, project)), PlaceKind::User | PlaceKind::Config) => paths.believe(&place.path, Some(project)),
            _ => Ok(()),
        }
    }

    fn read_place(&self, place: &Place) -> Result<RulesFile, Failure> {
        let text = text_of(&place.path)?;
        if let (PlaceKind::Config, Some(in_config)) = (place.kind, &self.in_config) {
            return in_config.read(&place.path, text.as_deref());
        }
        let (origin, base) = self.source_of(place, text.as_deref());
        if let Some(text) = text.as_deref().filter(|_| !origin.is_trusted()) {
            if text.len() > MOST_UNTRUSTED {
                return Ok(too_much(&place.path, &format!("it is larger than {} KiB", MOST_UNTRUSTED >> 10)));
            }
            // Examples cost a judgement each: they are counted before the first is run.
            let (rules, examples) = file::count(text);
            if rules > MOST_UNTRUSTED_RULES {
                return Ok(too_much(&place.path, &format!("it has more than {MOST_UNTRUSTED_RULES} rules")));
            }
            if examples > MOST_UNTRUSTED_EXAMPLES {
                return Ok(too_much(&place.path, &format!("it has more than {MOST_UNTRUSTED_EXAMPLES} examples")));
            }
        }
        RulesFile::read(&place.path, text.as_deref(), origin, &base, self.home.as_deref())
    }

    /// Whose a file's rules are, and the folder below which `/x` in them is.
    fn source_of(&self, place: &Place, text: Option<&str>) -> (Origin, String) {
        let base = match place.kind {
            // `/x` in the project's file is below the project.
            PlaceKind::Project => place.path.parent().and_then(Path::parent),
            PlaceKind::User | PlaceKind::Config | PlaceKind::Named => place.path.parent(),
        };
        let origin = match place.kind {
            PlaceKind::User | PlaceKind::Config => Origin::User,
            PlaceKind::Named => Origin::CommandLine,
            PlaceKind::Project => {
                let trusted = self.trust_file.as_deref().zip(text);
                let trusted = trusted.is_some_and(|(list, text)| Trusted::read(list).holds(&place.path, text));
                Origin::Project { trusted }
            }
        };
        (origin, base.map(|base| resolved(base).display().to_string()).unwrap_or_default())
    }

    /// What a file with a mistake in it denies and asks for, as far as it can be read.
    fn readable_rules(&self, place: &Place) -> Vec<Rule> {
        let Ok(Some(text)) = text_of(&place.path) else { return vec![] };
        let (origin, base) = self.source_of(place, Some(&text));
        match (place.kind, &self.in_config) {
            (PlaceKind::Config, Some(in_config)) => mistaken::rules_of_projects(&place.path, &text, in_config),
            _ => mistaken::rules(&place.path, &text, origin, &base),
        }
    }

    /// The place calls are made in: a session's folder and those added to it, with their links followed, and the shell that
    /// runs its lines.
    pub(crate) fn around(&self, cwd: &Path, added: &[PathBuf], label: Option<&str>, shell: SessionShell) -> Context {
        let text = |path: &Path| path.display().to_string();
        let home = self.home.as_deref().map(text);
        let mut around = Context::of(&text(cwd), home.as_deref());
        around.folders.extend(added.iter().map(|folder| text(folder)));
        let mut links = ReadLinks::default();
        let real: Vec<String> = around.folders.iter().map(|folder| text(&links.resolved(Path::new(folder)))).collect();
        around.folders.extend(real);
        let named = [(around.cwd.clone(), Some(cwd)), (home.unwrap_or_default(), self.home.as_deref())];
        for (name, folder) in named {
            let real = folder.map(|folder| text(&links.resolved(folder)));
            around.leads.extend(real.filter(|real| *real != name).map(|real| (name, real)));
        }
        let mut names = |place: &PathBuf| links.names_of(place).iter().map(|name| text(name)).collect::<Vec<_>>();
        around.ours.extend(self.ours.iter().flat_map(&mut names));
        around.claude.extend(self.claude.iter().flat_map(&mut names));
        around.label = label.map(str::to_owned);
        around.shell = shell;
        around
    }

    /// Follows the links of a call and decides it by the rules as of now.
    pub(crate) fn decide(&self, mode: Mode, around: &Context, call: Call) -> Judgement {
        judged(&self.snapshot(), mode, around, call)
    }

    /// The same by these rules of the client as well.
    pub(crate) fn decide_with(&self, clients: &[Rule], mode: Mode, around: &Context, call: Call) -> Judgement {
        let mut set = self.snapshot();
        if !clients.is_empty() {
            Arc::make_mut(&mut set).rules.extend_from_slice(clients);
        }
        judged(&set, mode, around, call)
    }

    /// What is known without work: the judgement on a line that plainly holds what a rule denies, and how many people a
    /// rule may want to allow a call.
    pub(crate) fn known_at_once(set: &RuleSet, around: &Context, call: &Call) -> (Option<Judgement>, Option<u32>) {
        (plainly_denied(set, around, call), set.rules.iter().filter_map(|rule| rule.quorum).max())
    }

    /// The same in each of these modes, with what was seen of the disk before.
    pub(crate) fn decide_in_each(
        &self,
        modes: &[Mode],
        around: &Context,
        call: Call,
        disk: &RealDisk,
    ) -> Vec<Judgement> {
        let set = self.snapshot();
        let call = PreparedCall::of(&set, around, call, disk.again());
        call.decide_in_each(&set, modes)
    }

    /// Decides a call by these rules without those of a project's file that nobody has trusted. Also whether there are such
    /// rules.
    pub(crate) fn decide_by_trusted(set: &RuleSet, mode: Mode, around: &Context, call: Call) -> (Judgement, bool) {
        let has_more = set.rules.iter().any(|rule| !rule.source.origin.is_trusted());
        if !has_more {
            return (judged(set, mode, around, call), false);
        }
        let trusted = set.rules.iter().filter(|rule| rule.source.origin.is_trusted()).cloned().collect();
        (judged(&RuleSet { rules: trusted }, mode, around, call), true)
    }

    /// Decides a call by these rules, if neither it nor they need the disk, and all of them are trusted.
    pub(crate) fn decide_without_disk(set: &RuleSet, mode: Mode, around: &Context, call: Call) -> Option<Judgement> {
        if set.rules.iter().any(|rule| !rule.source.origin.is_trusted()) {
            return None;
        }
        let disk = UnseenDisk::default();
        let judgement = PreparedCall::of(set, around, call, &disk).decide(set, mode);
        (!disk.was_needed()).then_some(judgement)
    }

    /// The judgement as if every project's file were trusted; none where that makes no difference.
    pub(crate) fn decide_if_trusted(&self, mode: Mode, around: &Context, call: Call) -> Option<Judgement> {
        let mut set = RuleSet::clone(&self.snapshot());
        let call = PreparedCall::of(&set, around, call, &RealDisk::new());
        let now = call.decide(&set, mode);
        for rule in &mut set.rules {
            if let Origin::Project { trusted } = &mut rule.source.origin {
                *trusted = true;
            }
        }
        Some(call.decide(&set, mode)).filter(|then| then.decision != now.decision)
    }

    /// What the client's settings in the project say that the folder lies in; none where one of its files cannot be read.
    /// The shell of a session in a folder.
    pub(crate) fn session_shell(&self, folder: &Path) -> SessionShell {
        session_shell(self.settings_of_project(folder).as_deref())
    }

    pub(crate) fn settings_of_project(&self, folder: &Path) -> Option<Vec<Value>> {
        client::settings_of_project(folder, self.home.as_deref())
    }

    /// Whether a call may pass unasked while text from outside is before the model.
    pub(crate) fn passes_outside_guard(&self, context: &Context, call: Call, policy: OutsidePolicy) -> bool {
        let call = call.looked_up(context, &RealDisk::new());
        passes_outside_guard(&self.snapshot(), context, &call, policy)
    }
}

fn judged(set: &RuleSet, mode: Mode, around: &Context, call: Call) -> Judgement {
    PreparedCall::of(set, around, call, &RealDisk::new()).decide(set, mode)
}

/// A file of a project that nobody has trusted, and that would cost more time than it may: everything is asked for.
fn too_much(path: &Path, what: &str) -> RulesFile {
    tracing::warn!(file = %path.display(), "the project's rules are not judged: {what}");
    let origin = Origin::Project { trusted: false };
    let place = Some((path.display().to_string(), 1));
    let source = RuleSource { origin, place, base: "/".to_owned() };
    let rule = Rule::new(Decision::Ask, "*", source).ok().map(|mut rule| {
        rule.why = Some(format!("the project's rules file is not trusted, and {what}, so everything is asked for; see `portcullis rules trust`"));
        Written { rule, line: 1, examples: 0 }
    });
    RulesFile { path: path.to_owned(), exists: true, origin, rules: rule.into_iter().collect() }
}

/// Where the rules cannot be known, nothing is allowed by them and nothing passes.
fn ask_for_everything(problem: Option<&Failure>) -> Option<Rule> {
    let source = RuleSource { origin: Origin::User, place: None, base: "/".to_owned() };
    let mut rule = Rule::new(Decision::Ask, "*", source).ok()?;
    let why = problem.map_or_else(String::new, in_words);
    rule.why = Some(format!("the rules cannot be read completely, so what they do not deny is asked for: {why}"));
    Some(rule)
}

fn in_words(error: &Failure) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

#[cfg(test)]
mod everyday;
#[cfg(test)]
mod reach;
#[cfg(test)]
mod tests;
