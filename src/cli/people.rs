//! `portcullis people`: who may use the gate, and in which role.

use std::process::ExitCode;

use clap::Subcommand;
use portcullis_core::{OWNER, Role};
use portcullis_wire::api::{Approval, NewRole, PeopleView, ago};
use serde_json::{Value, json};

use super::client::{Client, segment};
use super::inside::{InsideAnAgent, refused};
use super::layout::Colour;
use super::table::{Cell, Table};
use super::{log_at, say};
use crate::failure::Failure;
use crate::hub::now;

/// List people, admit new ones by their code, change roles, remove people
#[derive(clap::Args)]
pub(super) struct People {
    #[command(subcommand)]
    what: PeopleCommand,
}

#[derive(Subcommand)]
enum PeopleCommand {
    /// List people with their roles, and strangers who wait for pairing
    List {
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Admit the stranger who was shown this pairing code on a chat platform
    Pair {
        /// Eight letters and digits, as the stranger reads them to you
        code: String,
        /// Their name here
        #[arg(long, value_name = "NAME")]
        name: String,
        /// What they may do
        #[arg(long, default_value = "sender", value_parser = ["sender", "reviewer", "admin"])]
        role: String,
    },
    /// Change the role of a person
    Role {
        name: String,
        #[arg(value_parser = ["sender", "reviewer", "admin"])]
        role: String,
    },
    /// Remove a person with all their tokens and identities
    Remove { name: String },
    /// Unlink an identity on a chat platform from the person who has it
    Unlink {
        /// As `people list` shows it, such as telegram:42
        identity: String,
    },
}

impl People {
    pub(super) fn inside(&self) -> InsideAnAgent {
        match &self.what {
            PeopleCommand::List { .. } => InsideAnAgent::Allowed,
            PeopleCommand::Pair { name, role, .. } => refused(format!("add {name} as {role}")),
            PeopleCommand::Role { name, role } => refused(format!("give {name} the role {role}")),
            PeopleCommand::Remove { name } => refused(format!("remove {name}")),
            PeopleCommand::Unlink { identity } => refused(format!("unlink {identity}")),
        }
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let gate = Client::of_the_gate()?;
        match self.what {
            PeopleCommand::List { json } => {
                let people: PeopleView = gate.get("/api/v1/people").await?;
                say(&if json { format!("{}\n", with_owner(&people)?) } else { list(&people) });
            }
            PeopleCommand::Pair { code, name, role } => {
                gate.send("POST", "/api/v1/pairings", &Approval { code, name: name.clone(), role: role.clone() })
                    .await?;
                say(&format!("Added {name} as {role}.\n"));
            }
            PeopleCommand::Role { name, .. } | PeopleCommand::Remove { name } if name == OWNER => {
                let hint = "`portcullis people list` shows the people whom you let in; approvals = \"device\" in the \
                            configuration takes answering from the owner";
                return Err(Failure::new("the owner is this machine's user, and stays admin", hint).into());
            }
            PeopleCommand::Role { name, role } => {
                gate.send("PUT", &format!("/api/v1/people/{}", segment(&name)), &NewRole { role: role.clone() })
                    .await?;
                say(&format!("{name} now has the role {role}.\n"));
            }
            PeopleCommand::Remove { name } => {
                gate.command("DELETE", &format!("/api/v1/people/{}", segment(&name))).await?;
                say(&format!("Removed {name} with all their tokens and identities.\n"));
            }
            PeopleCommand::Unlink { identity } => {
                gate.command("DELETE", &format!("/api/v1/identities/{}", segment(&identity))).await?;
                say(&format!("Unlinked {identity}.\n"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The same people as in the table: the owner, whom the gate knows without a record, has a field of their own.
fn with_owner(view: &PeopleView) -> anyhow::Result<Value> {
    let mut shown = serde_json::to_value(view)?;
    shown["owner"] = json!({"name": OWNER, "role": Role::Admin.name()});
    Ok(shown)
}

fn list(view: &PeopleView) -> String {
    let mut table = Table::new(&["NAME", "ROLE", "TOKENS", "ELSEWHERE"]);
    table.row([OWNER, Role::Admin.name(), "-", "this machine's user"].map(Cell::from));
    for person in &view.people {
        let elsewhere = if person.identities.is_empty() { "-".to_owned() } else { person.identities.join(", ") };
        table.row([
            Cell::from(&person.name),
            Cell::from(&person.role),
            Cell::from(person.tokens.to_string()),
            Cell::from(elsewhere),
        ]);
    }
    for stranger in &view.waiting {
        let since = ago(now().0.saturating_sub(stranger.since));
        let who = format!("{} on {}, for {since}", stranger.called, stranger.platform);
        table.row([Cell::painted("(waiting)", Colour::Attention), "-".into(), "-".into(), who.into()]);
    }
    table.print()
}
