//! The mode and the model of a session, as the editor sets and shows them.

use agent_client_protocol::v1::schema::{
    ConfigOptionUpdate, CurrentModeUpdate, SessionUpdate, SetSessionConfigOptionResponse, SetSessionModeResponse,
};
use portcullis_wire::front::Command;

use super::super::sessions::Sessions;
use super::super::settings::named_model;
use super::{Session, SettingResponder};
use crate::fronts::unasked::is_looser;

/// A setting that the client was asked to change.
pub(super) enum SettingChange {
    Mode(String),
    Model(String),
}

impl Session {
    pub(super) async fn set(&mut self, change: SettingChange, answer: SettingResponder, sessions: &Sessions) {
        let refusal = match &change {
            SettingChange::Mode(mode) => self.settings.why_not_mode(mode),
            SettingChange::Model(model) => self.settings.why_not_model(model),
        };
        if let Some(why) = refusal {
            return answer.refuse(&why);
        }
        if let SettingChange::Mode(mode) = &change
            && is_looser(mode)
            && let Err(refused) = sessions.refuse_inside(Some(&format!("set a session to the mode {mode}"))).await
        {
            return answer.refuse(&refused.message);
        }
        if self.launched.is_none() {
            // The next prompt starts a client with it.
            return self.has_changed(change, answer).await;
        }
        self.count += 1;
        let request = self.count;
        let command = match &change {
            SettingChange::Mode(mode) => Command::SetMode { request, mode: mode.clone() },
            SettingChange::Model(model) => Command::SetModel { request, model: named_model(model) },
        };
        self.changes.insert(request, (change, answer));
        self.want(command).await;
    }

    /// What became of a change that the editor wanted.
    pub(super) async fn changed(&mut self, request: u64, refused: Option<String>) {
        let Some((change, answer)) = self.changes.remove(&request) else { return };
        if let Some(why) = refused {
            return answer.refuse(&why);
        }
        self.has_changed(change, answer).await;
    }

    async fn has_changed(&mut self, change: SettingChange, answer: SettingResponder) {
        let is_mode = matches!(change, SettingChange::Mode(_));
        match change {
            SettingChange::Mode(mode) => self.settings.set_mode(mode),
            SettingChange::Model(model) => self.settings.set_model(model),
        }
        match answer {
            SettingResponder::Mode(responder) => {
                drop(responder.respond(SetSessionModeResponse::new()));
                self.show_options().await;
            }
            SettingResponder::Option(responder) => {
                drop(responder.respond(SetSessionConfigOptionResponse::new(self.settings.options())));
                if is_mode {
                    self.show_mode().await;
                }
            }
        }
    }

    pub(super) async fn show_mode(&mut self) {
        let update = CurrentModeUpdate::new(self.settings.mode.clone());
        self.update(SessionUpdate::CurrentModeUpdate(update)).await;
    }

    pub(super) async fn show_options(&mut self) {
        let update = ConfigOptionUpdate::new(self.settings.options());
        self.update(SessionUpdate::ConfigOptionUpdate(update)).await;
    }
}
