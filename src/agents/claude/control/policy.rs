//! What the owner's rules say of a call of the client, as far as the driver has to know.

use portcullis_core::policy::Risk;
use serde_json::Value;

/// What is to become of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Allow,
    Ask {
        /// Also where the client would let it through by itself.
        always: bool,
        why: Option<String>,
        quorum: u8,
        /// Whether a verdict may reach further than this once.
        may_remember: bool,
        risk: Option<Risk>,
    },
    Deny {
        why: String,
    },
}

/// A call to be judged.
pub(crate) struct Wanted<'a> {
    pub(crate) tool: &'a str,
    pub(crate) input: &'a Value,
    /// The mode the session is in.
    pub(crate) mode: Option<&'a str>,
}

/// Looks at the rules as they are now.
pub(crate) type Judge = Box<dyn Fn(&Wanted<'_>) -> Judgement + Send>;
