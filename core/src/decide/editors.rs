//! Editors whose origin the system does not tell: a person says that one is theirs.

use super::people::may_not;
use super::{Decided, answer};
use crate::input::{Answer, Effect};
use crate::people::Actor;
use crate::record::Record;
use crate::state::State;

pub(super) fn trust(state: &State, by: &Actor, process: String, what: String) -> Decided {
    if let Some(refused) = may_not(by) {
        return refused;
    }
    if state.is_trusted_editor(&process) {
        return answer(Answer::Done);
    }
    let record = Record::EditorTrusted { process, what, by: by.name.clone() };
    (vec![record], vec![Effect::Answer(Answer::Done)])
}
