//! What an editor may want, method by method. Nothing here waits: what takes time runs in a task of its own.

use std::sync::{Arc, Mutex};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AuthenticateRequest, AuthenticateResponse, CancelNotification, ClientCapabilities, CloseSessionRequest,
    CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse, InitializeRequest, ListSessionsRequest,
    LoadSessionRequest, LogoutRequest, LogoutResponse, NewSessionRequest, NewSessionResponse, PromptRequest,
    ResumeSessionRequest, SessionConfigOptionValue, SessionId, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use agent_client_protocol::{
    Agent, Client, ConnectTo, Error, JsonRpcResponse, Responder, V1, on_receive_notification, on_receive_request,
};
use tokio_util::sync::CancellationToken;

use super::auth::{claude_auth, is_method};
use super::editor::Editor;
use super::prompt::words;
use super::session::{OpenAnswer, Prompter, Session, SettingResponder, Wanted};
use super::sessions::{Place, Reserved, Sessions, Wish, in_words, no_such_session};
use super::settings::{MODE, MODEL};
use super::transport::Backlog;
use super::{capabilities, history};
use crate::agents::claude::process::Beginning;
use crate::fronts::elsewhere;
use crate::locks::locked;
use crate::mint::uuid;

/// What an editor is, once it has said so.
#[derive(Clone, Default)]
struct EditorFacts {
    abilities: Arc<Mutex<ClientCapabilities>>,
    backlog: Backlog,
}

impl EditorFacts {
    fn editor(&self, connection: ConnectionTo<Client>) -> Editor {
        Editor::new(connection, locked(&self.abilities).clone(), self.backlog.clone())
    }
}

/// Serves the editor until its end of the connection is closed.
pub(super) async fn serve(
    sessions: Arc<Sessions>,
    transport: impl ConnectTo<Agent>,
    backlog: Backlog,
) -> Result<(), Error> {
    let known = EditorFacts { backlog, ..EditorFacts::default() };
    let [for_new, for_load, for_resume, for_delete] = [(); 4].map(|()| Arc::clone(&sessions));
    let [for_prompt, for_cancel, for_mode, for_option] = [(); 4].map(|()| Arc::clone(&sessions));
    let [for_close, for_sign_in, for_sign_out] = [(); 3].map(|()| Arc::clone(&sessions));
    let [of_new, of_load, of_resume] = [(); 3].map(|()| known.clone());
    Agent
        .v1()
        .name("portcullis")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _| {
                let response = capabilities::response(&request.client_capabilities);
                *locked(&known.abilities) = request.client_capabilities;
                responder.respond(response)
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: AuthenticateRequest, responder, _| {
                if !is_method(&request.method_id) {
                    let what = format!("there is no way to sign in named {:?}", &*request.method_id.0);
                    return responder.respond_with_error(Error::new(-32602, what));
                }
                let claude = for_sign_in.claude().to_owned();
                answer(
                    responder,
                    async move { claude_auth(&claude, "status").await.map(|()| AuthenticateResponse::new()) },
                )
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: LogoutRequest, responder, _| {
                let claude = for_sign_out.claude().to_owned();
                answer(responder, async move { claude_auth(&claude, "logout").await.map(|()| LogoutResponse::new()) })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, connection| {
                let NewSessionRequest { cwd, additional_directories, mcp_servers, .. } = request;
                let place = Place { folder: cwd, more_folders: additional_directories, servers: mcp_servers };
                let (sessions, editor) = (Arc::clone(&for_new), of_new.editor(connection));
                tokio::spawn(start(sessions, editor, place, responder));
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, connection| {
                let LoadSessionRequest { session_id, cwd, additional_directories, mcp_servers, .. } = request;
                let place = Place { folder: cwd, more_folders: additional_directories, servers: mcp_servers };
                let (sessions, editor) = (Arc::clone(&for_load), of_load.editor(connection));
                open(sessions, editor, session_id, place, OpenAnswer::Load(responder))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ResumeSessionRequest, responder, connection| {
                let ResumeSessionRequest { session_id, cwd, additional_directories, mcp_servers, .. } = request;
                let place = Place { folder: cwd, more_folders: additional_directories, servers: mcp_servers };
                let (sessions, editor) = (Arc::clone(&for_resume), of_resume.editor(connection));
                open(sessions, editor, session_id, place, OpenAnswer::Resume(responder))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ListSessionsRequest, responder, _| {
                answer(responder, async move { history::list(request.cwd, request.cursor).await })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder, _| {
                let sessions = Arc::clone(&for_close);
                answer(responder, async move {
                    sessions.end(&request.session_id).await.map(|()| CloseSessionResponse::new())
                })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: DeleteSessionRequest, responder, _| {
                let sessions = Arc::clone(&for_delete);
                answer(responder, async move {
                    if sessions.is_live(&request.session_id) {
                        sessions.end(&request.session_id).await?;
                    }
                    let conversation = request.session_id.to_string();
                    // Another process would go on writing to it.
                    let held = match history::is_kept(&conversation) {
                        true => Some(elsewhere::hold_kept(&sessions.paths, &conversation).await),
                        false => None,
                    };
                    let _held = held.transpose().map_err(|refused| in_words(&refused.into()))?;
                    history::delete(sessions.cleared(), request.session_id).await.map(|()| DeleteSessionResponse::new())
                })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, _| prompt(&for_prompt, request, responder),
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |cancel: CancelNotification, _| {
                if let Err(error) = for_cancel.want(&cancel.session_id, Wanted::Cancel) {
                    tracing::debug!("a session could not be cancelled: {}", error.message);
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, _| {
                if !for_mode.is_live(&request.session_id) {
                    return responder.respond_with_error(no_such_session(&request.session_id));
                }
                let (mode, answer) = (request.mode_id.to_string(), SettingResponder::Mode(responder));
                for_mode.want(&request.session_id, Wanted::SetMode { mode, answer })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionConfigOptionRequest, responder, _| {
                let SessionConfigOptionValue::ValueId { value } = request.value else {
                    return responder.respond_with_error(Error::new(-32602, "this option takes one of its values"));
                };
                let (value, id) = (value.to_string(), request.config_id.to_string());
                if !for_option.is_live(&request.session_id) {
                    return responder.respond_with_error(no_such_session(&request.session_id));
                }
                let answer = SettingResponder::Option(responder);
                match id.as_str() {
                    MODE => for_option.want(&request.session_id, Wanted::SetMode { mode: value, answer }),
                    MODEL => for_option.want(&request.session_id, Wanted::SetModel { model: value, answer }),
                    _ => {
                        answer.refuse(&format!("there is no option {id:?}"));
                        Ok(())
                    }
                }
            },
            on_receive_request!(),
        )
        .connect_to(transport)
        .await
}

/// Answers a request when what it wants is done.
fn answer<T: JsonRpcResponse>(
    responder: Responder<T, V1>,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<(), Error> {
    tokio::spawn(async move { drop(responder.respond_with_result(work.await)) });
    Ok(())
}

/// Starts a session. The editor learns its id before its Claude Code is started: nothing that is asked for on the way, of a
/// gate that is slow, say, keeps it waiting. What it wants meanwhile waits for the session.
async fn start(sessions: Arc<Sessions>, editor: Editor, place: Place, responder: Responder<NewSessionResponse, V1>) {
    let spare = sessions.take_spare(&place);
    let conversation = spare.as_ref().map_or_else(uuid, |spare| spare.conversation.clone());
    let id = SessionId::new(conversation.clone());
    let reserved = match sessions.reserve(&id).and_then(|reserved| reserved.ok_or_else(Error::internal_error)) {
        Ok(reserved) => reserved,
        Err(error) => {
            if let Some(spare) = spare {
                sessions.put_back(spare);
            }
            return drop(responder.respond_with_error(error));
        }
    };
    let wish = Wish { from: Beginning::Named(conversation), mode: None, model: None };
    let prepared = match sessions.prepare(&place, wish, reserved.tools(&editor), spare) {
        Ok(prepared) => prepared,
        Err(error) => {
            sessions.give_up(reserved, &error);
            return drop(responder.respond_with_error(error));
        }
    };
    let (abilities, next) = (editor.abilities.clone(), place.clone());
    let mut session = sessions.session(id, editor, place, &prepared);
    let response = NewSessionResponse::new(session.id.clone())
        .modes(session.settings.mode_state())
        .config_options(session.settings.options());
    drop(responder.respond(response));
    session.started(sessions.launch(prepared).await).await;
    sessions.begin(session, reserved);
    sessions.keep_spare(next, &abilities);
}

/// Opens a conversation again. One that runs or is being opened is shown, and no second Claude Code is started for it.
fn open(sessions: Arc<Sessions>, editor: Editor, id: SessionId, place: Place, answer: OpenAnswer) -> Result<(), Error> {
    let reserved = match sessions.reserve(&id) {
        Ok(Some(reserved)) => reserved,
        Ok(None) => return sessions.want(&id, Wanted::Open(answer)),
        Err(error) => {
            answer.refuse(error);
            return Ok(());
        }
    };
    tokio::spawn(async move {
        let conversations = sessions.cleared().of(&id);
        let is_there = conversations.iter().any(|conversation| history::is_kept(conversation));
        let opened = match conversations.into_iter().next_back().filter(|_| is_there) {
            Some(conversation) => {
                let from = history::gone_on_with(conversation);
                let wish = Wish { from, mode: None, model: None };
                open_session(&sessions, id, editor, place, wish, &reserved).await
            }
            None => Err(Error::new(-32002, format!("Claude Code has kept no conversation {id}"))),
        };
        match opened {
            Ok(mut session) => {
                session.show_again(answer).await;
                sessions.begin(session, reserved);
            }
            Err(error) => {
                sessions.give_up(reserved, &error);
                answer.refuse(error);
            }
        }
    });
    Ok(())
}

async fn open_session(
    sessions: &Sessions,
    id: SessionId,
    editor: Editor,
    place: Place,
    wish: Wish,
    reserved: &Reserved,
) -> Result<Session, Error> {
    let prepared = sessions.prepare(&place, wish, reserved.tools(&editor), None)?;
    let mut session = sessions.session(id, editor, place, &prepared);
    // The editor is told the mode when it is told that the session is open.
    let _is_other = session.take(sessions.launch(prepared).await?);
    Ok(session)
}

/// Hands a prompt to its session. The editor may cancel the request as well as the turn.
fn prompt(
    sessions: &Arc<Sessions>,
    request: PromptRequest,
    responder: Responder<agent_client_protocol::v1::schema::PromptResponse, V1>,
) -> Result<(), Error> {
    if !sessions.is_live(&request.session_id) {
        return responder.respond_with_error(no_such_session(&request.session_id));
    }
    let words = match words(request.prompt, uuid()) {
        Ok(words) => words,
        Err(error) => return responder.respond_with_error(error),
    };
    let (cancellation, is_over) = (responder.cancellation(), CancellationToken::new());
    let prompter = Prompter { responder, _is_waiting: is_over.clone().drop_guard() };
    let (watched, id) = (Arc::clone(sessions), request.session_id.clone());
    let uuid = words.uuid.clone().unwrap_or_default();
    tokio::spawn(async move {
        tokio::select! {
            () = cancellation.cancelled() => drop(watched.want(&id, Wanted::CancelPrompt { uuid })),
            () = is_over.cancelled() => {}
        }
    });
    // A responder that is dropped answers with an error.
    sessions.want(&request.session_id, Wanted::Prompt { words, prompter })
}
