//! What is wanted of a session, by the editor and by what comes back from it, and to whom each is answered.

use agent_client_protocol::v1::schema::{
    CreateElicitationResponse, LoadSessionResponse, PromptResponse, RequestPermissionResponse, ResumeSessionResponse,
    SetSessionConfigOptionResponse, SetSessionModeResponse,
};
use agent_client_protocol::{Error, Responder, V1};
use portcullis_core::AskId;
use portcullis_wire::front::PromptWords;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::DropGuard;

use crate::fronts::standing::NoAnswersHere;

/// What the editor wants of a session.
pub(in crate::fronts::acp) enum Wanted {
    Prompt {
        words: PromptWords,
        prompter: Prompter,
    },
    /// The editor opens it again, although it runs.
    Open(OpenAnswer),
    Cancel,
    /// The editor takes back the request of one prompt.
    CancelPrompt {
        uuid: String,
    },
    SetMode {
        mode: String,
        answer: SettingResponder,
    },
    SetModel {
        model: String,
        answer: SettingResponder,
    },
    /// A command runs in a terminal of the editor: its call is told first.
    ShowTerminal {
        call: String,
        input: Value,
        told: oneshot::Sender<()>,
    },
    /// Whether the person at the editor may answer was found out: for this prompt, or for all that wait for it.
    Standing {
        ask: Option<AskId>,
        no_answers: Option<NoAnswersHere>,
    },
    /// The person has answered a prompt, or the editor cannot ask them.
    Permission {
        ask: AskId,
        chosen: Chosen,
    },
}

impl Wanted {
    /// There is no session for it. Whoever waits for an answer is told why.
    pub(in crate::fronts::acp) fn refuse(self, why: &Error) {
        match self {
            Self::Prompt { prompter, .. } => drop(prompter.responder.respond_with_error(why.clone())),
            Self::Open(answer) => answer.refuse(why.clone()),
            Self::SetMode { answer, .. } | Self::SetModel { answer, .. } => answer.refuse(&why.message),
            Self::Cancel
            | Self::CancelPrompt { .. }
            | Self::ShowTerminal { .. }
            | Self::Standing { .. }
            | Self::Permission { .. } => {}
        }
    }
}

/// Who wants an answer to a prompt. While there is one, the editor may cancel its request.
pub(in crate::fronts::acp) struct Prompter {
    pub(in crate::fronts::acp) responder: Responder<PromptResponse, V1>,
    pub(in crate::fronts::acp) _is_waiting: DropGuard,
}

/// What the editor brought back from the person.
pub(in crate::fronts::acp) enum Chosen {
    Option(Result<RequestPermissionResponse, Error>),
    Form(Result<CreateElicitationResponse, Error>),
}

/// To whom it is answered that a session is open again; whoever loads it is shown what was said.
pub(in crate::fronts::acp) enum OpenAnswer {
    Load(Responder<LoadSessionResponse, V1>),
    Resume(Responder<ResumeSessionResponse, V1>),
}

impl OpenAnswer {
    pub(in crate::fronts::acp) fn refuse(self, error: Error) {
        match self {
            Self::Load(responder) => drop(responder.respond_with_error(error)),
            Self::Resume(responder) => drop(responder.respond_with_error(error)),
        }
    }
}

/// To whom it is answered that a setting has changed.
pub(in crate::fronts::acp) enum SettingResponder {
    Mode(Responder<SetSessionModeResponse, V1>),
    Option(Responder<SetSessionConfigOptionResponse, V1>),
}

impl SettingResponder {
    pub(in crate::fronts::acp) fn refuse(self, why: &str) {
        let error = Error::new(-32602, why);
        match self {
            Self::Mode(responder) => drop(responder.respond_with_error(error)),
            Self::Option(responder) => drop(responder.respond_with_error(error)),
        }
    }
}
