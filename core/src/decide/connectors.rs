//! What a connector's platform has taken.

use super::{Decided, answer};
use crate::connector::{ConnectorName, SentMessage};
use crate::input::{Answer, Effect};
use crate::record::Record;
use crate::state::State;

/// A position never goes back: what was taken once is not taken again.
pub(super) fn taken(state: &State, connector: ConnectorName, position: u64, messages: Vec<SentMessage>) -> Decided {
    let known = state.connector(&connector).and_then(|connected| connected.position);
    if messages.is_empty() && known.is_some_and(|known| position <= known) {
        return answer(Answer::Done);
    }
    let position = position.max(known.unwrap_or(0));
    (vec![Record::Taken { connector, position, messages }], vec![Effect::Answer(Answer::Done)])
}
