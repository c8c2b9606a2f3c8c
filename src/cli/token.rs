//! `portcullis token`: the tokens by which the gate knows people.

use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use portcullis_wire::api::{MadeToken, NewToken, TokenView};

use super::client::{Client, segment};
use super::inside::{InsideAnAgent, refused};
use super::layout::{Colour, left};
use super::table::{Cell, Table};
use super::{log_at, say};
use crate::hub::now;
use crate::report::note;

/// Create, list and revoke tokens
#[derive(clap::Args)]
pub(super) struct Token {
    #[command(subcommand)]
    what: TokenCommand,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Create a token for a person and print it, and nothing else, on standard output
    ///
    /// It is shown this once: the gate keeps only its hash. Send it as `Authorization: Bearer TOKEN`.
    Add {
        /// Whose token it is
        name: String,
        /// sender may send events and see the replies; reviewer may also answer prompts; admin may do everything; agent
        /// may post Claude Code's hooks, and nothing else
        #[arg(long, value_parser = ["sender", "reviewer", "admin", "agent"])]
        role: String,
        /// Only for sessions with this label; may be given several times
        #[arg(long = "label", value_name = "NAME")]
        labels: Vec<String>,
        /// Expires after this time, such as 12h or 30d
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<Duration>,
        /// Print a JSON object with the token and what it is for
        #[arg(long)]
        json: bool,
    },
    /// List the tokens, never their secrets
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token; streams that were opened with it end at once
    Revoke {
        /// As `token list` shows it, or the beginning of it
        id: String,
    },
}

/// A token that has expired when it is made would be of no use.
fn lifetime(text: &str) -> Result<Duration, String> {
    let parsed = humantime::parse_duration(text.trim()).ok().filter(|time| time.as_secs() > 0);
    parsed.ok_or_else(|| "a time is a number with a unit, such as 30m, 12h, 30d or 1y".to_owned())
}

impl Token {
    pub(super) fn inside(&self) -> InsideAnAgent {
        match &self.what {
            TokenCommand::List { .. } => InsideAnAgent::Allowed,
            TokenCommand::Add { name, role, .. } => refused(format!("give {name} a token as {role}")),
            TokenCommand::Revoke { id } => refused(format!("revoke token {id}")),
        }
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let gate = Client::of_the_gate()?;
        match self.what {
            TokenCommand::Add { name, role, labels, expires, json } => {
                let labels = (!labels.is_empty()).then_some(labels);
                let before: Vec<TokenView> = gate.get("/api/v1/tokens").await?;
                let new =
                    NewToken { person: name.clone(), role, labels, expires_in: expires.map(|time| time.as_secs()) };
                let made: MadeToken = gate.post("/api/v1/tokens", &new).await?;
                say(&if json { format!("{}\n", serde_json::to_string(&made)?) } else { format!("{}\n", made.token) });
                let others: Vec<&str> = before
                    .iter()
                    .filter(|token| token.person == name && !token.expired)
                    .map(|token| token.id.as_str())
                    .collect();
                if !others.is_empty() {
                    note(&format!(
                        "{name} has another token, which still counts: `portcullis token revoke {}` ends it",
                        others.join("` or `portcullis token revoke ")
                    ));
                }
            }
            TokenCommand::List { json } => {
                let tokens: Vec<TokenView> = gate.get("/api/v1/tokens").await?;
                say(&if json { format!("{}\n", serde_json::to_string(&tokens)?) } else { list(&tokens) });
            }
            TokenCommand::Revoke { id } => {
                gate.command("DELETE", &format!("/api/v1/tokens/{}", segment(&id))).await?;
                say(&format!("Revoked token {id}.\n"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(tokens: &[TokenView]) -> String {
    if tokens.is_empty() {
        return "Only the owner has a token.\n".to_owned();
    }
    let mut table = Table::new(&["ID", "PERSON", "ROLE", "EXPIRES", "SESSIONS"]);
    for token in tokens {
        let labels = token.labels.as_ref().map_or("all sessions".to_owned(), |labels| labels.join(", "));
        let expires = match token.expires {
            _ if token.expired => Cell::painted("expired", Colour::Attention),
            Some(at) => Cell::from(format!("in {}", left(at.saturating_sub(now().0)))),
            None => Cell::from("never"),
        };
        table.row([
            Cell::from(&token.id),
            Cell::from(&token.person),
            Cell::from(&token.role),
            expires,
            Cell::from(labels),
        ]);
    }
    table.print()
}
