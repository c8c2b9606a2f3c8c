//! `portcullis mcp login` and `logout`: tokens for servers that want someone to sign in.

use std::process::ExitCode;
use std::time::Duration;

use portcullis_core::shell_words;
use serde_json::json;

use super::super::browser::{RedirectFile, opener};
use super::super::signals::stop_on_signals;
use super::super::{paths, say};
use super::call::ready;
use super::{configuration, upstreams};
use crate::config::users_texts;
use crate::failure::Failure;
use crate::upstream::UpstreamState;
use crate::upstream::auth::{AuthFolder, SignIn, SignInFailure, SignInOptions, has_credential};
use crate::upstream::config::{Configuration, Upstream};

/// A person has to find a password, and a second factor.
const LONGEST: Duration = Duration::from_secs(600);

#[derive(clap::Args)]
pub(super) struct Login {
    /// The name of the server
    pub(super) name: String,
    /// Print the address, and open no browser
    #[arg(long)]
    pub(super) no_open: bool,
    /// Print a line of JSON with the address, and one with what came of it
    #[arg(long)]
    json: bool,
}

impl Login {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let (_, configuration) = configuration()?;
        let upstream = ready(&configuration, &self.name)?.clone();
        if upstream.entry.endpoint.is_local() {
            let what = format!("{} is a program on this machine: nobody signs in to it", self.name);
            return Err(Failure::usage(what, "give it what it needs with its entry: mcp add --env NAME=VALUE").into());
        }
        let folder = AuthFolder::new(&paths()?.state_dir);
        paths()?.prepare()?;
        if !self.is_wanted(&configuration, &upstream, &folder).await? {
            let said = match folder.has_tokens(&upstream) {
                true => {
                    let word = shell_words(&[&self.name]);
                    format!("{} lets you in already. To sign in anew: portcullis mcp logout {word}\n", self.name)
                }
                false => format!("{} lets you in, and asks nobody to sign in.\n", self.name),
            };
            let line = json!({ "server": self.name, "state": "connected" });
            say(&if self.json { format!("{line}\n") } else { said });
            return Ok(ExitCode::SUCCESS);
        }
        let variable = users_texts();
        let options = SignInOptions {
            client_secret: variable("MCP_CLIENT_SECRET"),
            port: variable("MCP_OAUTH_CALLBACK_PORT").and_then(|port| port.parse().ok()),
        };
        let begun = SignIn::begin(&upstream, &folder, options).await.map_err(|failure| self.failed(&failure))?;
        match self.json {
            true => say(&format!("{}\n", json!({ "server": self.name, "state": "waiting", "url": begun.url }))),
            false => say(&format!(
                "Open this to sign in to {}:\n  {}\nWaiting for the browser; Ctrl-C ends this.\n",
                self.name, begun.url
            )),
        }
        let stop = stop_on_signals()?;
        let opener = (!self.no_open).then(opener).flatten();
        // Gone when someone has signed in, or given up.
        let redirect =
            opener.map(|program| RedirectFile::open(&paths()?.state_dir, &begun.url, program)).transpose()?;
        let finished = tokio::select! {
            finished = begun.finish() => finished.map_err(|failure| self.failed(&failure)),
            () = tokio::time::sleep(LONGEST) => Err(self.given_up("nobody signed in within ten minutes")),
            () = stop.cancelled() => Err(self.given_up("this was ended before someone signed in")),
        };
        drop(redirect);
        let signed_in = finished?;
        let scopes = signed_in.scopes.join(" ");
        let with = if scopes.is_empty() { String::new() } else { format!(", for {scopes}") };
        let line = json!({ "server": self.name, "state": "signed-in", "scopes": signed_in.scopes });
        say(&if self.json { format!("{line}\n") } else { format!("Signed in to {}{with}.\n", self.name) });
        Ok(ExitCode::SUCCESS)
    }

    /// Whether someone has to sign in: the server said so a short while ago, or says so now.
    async fn is_wanted(
        &self,
        configuration: &Configuration,
        upstream: &Upstream,
        folder: &AuthFolder,
    ) -> anyhow::Result<bool> {
        if folder.is_refused(upstream) {
            return Ok(true);
        }
        let upstreams = upstreams(configuration, 1).await?;
        let state = upstreams.connect(&self.name).await;
        upstreams.close().await;
        match state {
            Some(UpstreamState::Connected(_)) => Ok(false),
            Some(UpstreamState::Failed(why)) => {
                let what = format!("{} cannot be reached: {why}", self.name);
                let hint = match has_credential(upstream) {
                    true => "nobody signs in to it: mend the Authorization header in its entry",
                    false => "signing in would not help",
                };
                Err(Failure::new(what, hint).into())
            }
            Some(UpstreamState::NeedsAuth | UpstreamState::Pending) | None => Ok(true),
        }
    }

    fn failed(&self, failure: &SignInFailure) -> Failure {
        let hint = match failure {
            SignInFailure::NotByToken => {
                format!("see: portcullis mcp list; the entry of {} says how it is reached", self.name)
            }
            SignInFailure::Discovery(_) => "the server does not say where to sign in; ask whoever runs it".to_owned(),
            SignInFailure::Registration(_) => {
                "register a client there by hand, and write its id into the entry: \"oauth\": {\"clientId\": \"…\"}"
                    .to_owned()
            }
            SignInFailure::Port { .. } => {
                "choose another: MCP_OAUTH_CALLBACK_PORT, or \"oauth\": {\"callbackPort\": …}".to_owned()
            }
            SignInFailure::Refused(_) | SignInFailure::Exchange(_) | SignInFailure::Closed => {
                format!("try again: portcullis mcp login {}", shell_words(&[&self.name]))
            }
        };
        Failure::new(format!("signing in to {}: {failure}", self.name), hint)
    }

    fn given_up(&self, why: &str) -> Failure {
        Failure::new(why, format!("portcullis mcp login {}", shell_words(&[&self.name])))
    }
}

#[derive(clap::Args)]
pub(super) struct Logout {
    /// The name of the server
    pub(super) name: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Logout {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let (_, configuration) = configuration()?;
        let upstream = ready(&configuration, &self.name)?;
        let was_signed_in = AuthFolder::new(&paths()?.state_dir).sign_out(upstream)?;
        let said = match was_signed_in {
            true => format!("Forgot the tokens of {}. The server itself was not told.\n", self.name),
            false => format!("Nobody was signed in to {}.\n", self.name),
        };
        let line = json!({ "server": self.name, "was_signed_in": was_signed_in });
        say(&if self.json { format!("{line}\n") } else { said });
        Ok(ExitCode::SUCCESS)
    }
}
