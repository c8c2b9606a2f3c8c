//! What holds for sessions in a folder: set by those who administer the gate.

use super::people::may_not;
use super::{Decided, answer, refuse};
use crate::input::{Answer, Effect, Refusal};
use crate::people::Actor;
use crate::policy::Mode;
use crate::record::Record;
use crate::state::State;

/// Folders with a default mode of their own: more than anyone has, and few enough to be looked through.
const MOST_PROJECTS: usize = 1_000;

pub(super) fn set_default_mode(state: &State, by: &Actor, folder: String, mode: Option<Mode>) -> Decided {
    if let Some(refused) = may_not(by) {
        return refused;
    }
    let before = state.default_mode(&folder);
    match mode {
        Some(Mode::BypassPermissions) => refuse(Refusal::NotADefaultMode),
        _ if before.map(|before| before.mode) == mode => answer(Answer::Done),
        Some(_) if before.is_none() && state.default_modes().len() >= MOST_PROJECTS => refuse(Refusal::TooManyProjects),
        _ => {
            let record = Record::DefaultModeSet { folder, mode, by: by.name.clone() };
            (vec![record], vec![Effect::Answer(Answer::Done)])
        }
    }
}
