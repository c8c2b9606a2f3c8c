//! `portcullis log`: read the journal, verify it, and erase text from it.

mod read;
mod since;

use std::process::ExitCode;

use clap::Subcommand;
use portcullis_core::Code;
use portcullis_wire::api::{AskView, Redacted};

use super::client::Client;
use super::feed::masked;
use super::inside::{InsideAnAgent, refused};
use super::{lock, log_at, paths, say};
use crate::failure::Failure;
use crate::gate::inspect::verified;
use crate::store::{Store, StoreConfig, VerifyError};
use read::LogReader;

/// Read the log of everything that happened
///
/// Without a subcommand: the log, oldest first, a sentence a record, in local time. No record is ever changed; the text that people wrote can be erased.
/// Secrets are shown masked, as `ghp_ab12***`; `log export` prints them unmasked.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Log {
    #[command(subcommand)]
    what: Option<LogCommand>,
    #[command(flatten)]
    read: Read,
}

#[derive(Default, clap::Args)]
struct Read {
    /// Print new records as they are written, from now on, until Ctrl-C
    #[arg(long)]
    follow: bool,
    /// Only the last so many lines; with --follow, before the new ones
    #[arg(short = 'n', long = "lines", value_name = "N", value_parser = super::number::<usize>)]
    lines: Option<usize>,
    /// Only what is about this session: its label, its id, or the beginning of one
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only what is about this prompt: its five letters, or its id
    #[arg(long, value_name = "CODE")]
    ask: Option<String>,
    /// Only records since then: 10m, 12h or 3d ago, today, yesterday, a day such as 2026-11-15, or '2026-11-15 15:16'
    #[arg(long, value_name = "TIME", value_parser = since::moment)]
    since: Option<portcullis_core::Moment>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum LogCommand {
    /// Check that no record was changed, removed or reordered
    ///
    /// With a head that an earlier `log verify` or `log head` printed, also that no records at the end were cut off.
    Verify {
        /// A head that an earlier `log verify` printed
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print the head: the hash of the last record. Keep it elsewhere; `log verify --head` checks it later
    Head,
    /// Erase the text of an event, a prompt or a session's replies; the record that it happened stays
    Redact {
        /// The code of a prompt, or event/ID, ask/ID or session/ID; for an event or a prompt the id alone is enough
        subject: String,
    },
    /// Print the whole log as JSON, one object a line, with nothing masked
    Export,
}

impl Log {
    pub(super) fn inside(&self) -> InsideAnAgent {
        match &self.what {
            Some(LogCommand::Redact { subject }) => refused(format!("erase the text of {subject}")),
            None | Some(LogCommand::Verify { .. } | LogCommand::Head | LogCommand::Export) => InsideAnAgent::Allowed,
        }
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        match self.what {
            None => LogReader::new(self.read, masked).read().await?,
            Some(LogCommand::Export) => {
                LogReader::new(Read { json: true, ..Read::default() }, |line| line).read().await?;
            }
            Some(LogCommand::Head) => say(&format!("{}\n", journal()?.records().head()?)),
            Some(LogCommand::Verify { head, json }) => return verify(head.as_deref(), json),
            Some(LogCommand::Redact { subject }) => {
                let gate = Client::of_the_gate()?;
                // People know a prompt by its code, as everywhere else.
                let subject = match Code::parse(&subject) {
                    Some(code) => format!("ask/{}", gate.get::<AskView>(&format!("/api/v1/asks/{code}")).await?.id),
                    None => subject,
                };
                let body = serde_json::json!({"subject": subject});
                let redacted: Redacted = gate.post("/api/v1/log/redact", &body).await?;
                say(&format!("Erased {} texts of {}.\n", redacted.erased, redacted.subject));
                say("Backups of the journal, if there are any, still contain them.\n");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The file itself: it can be read without a gate, and without keeping a gate that runs from its work.
fn journal() -> anyhow::Result<Store> {
    let paths = paths()?;
    if !paths.journal.exists() {
        return Err(Failure::new("there is no journal yet", "`portcullis up` starts one").into());
    }
    if let Some(holder) = lock::holder(&paths.lock_file)
        && holder.version != super::VERSION
    {
        let what = format!("the gate that runs is portcullis {}, this is {}", holder.version, super::VERSION);
        return Err(Failure::new(what, "use the same version, or stop the gate first").into());
    }
    Ok(StoreConfig::at(paths.journal).open().map_err(Failure::from)?)
}

fn verify(head: Option<&str>, json: bool) -> anyhow::Result<ExitCode> {
    let store = journal()?;
    match verified(store.records(), head) {
        Ok(verified) if json => {
            let told = serde_json::json!({"ok": true, "records": verified.records, "head": verified.head});
            say(&format!("{told}\n"));
            Ok(ExitCode::SUCCESS)
        }
        Ok(verified) => {
            say(&format!(
                "{} records, none changed, removed or reordered. The head, to keep elsewhere:\n{}\n",
                verified.records, verified.head
            ));
            Ok(ExitCode::SUCCESS)
        }
        Err(VerifyError::Broken { seq, what }) => {
            if json {
                say(&format!("{}\n", serde_json::json!({"ok": false, "seq": seq.0, "what": what})));
            }
            let hint = match head {
                Some(_) => {
                    "someone changed the file, or the head was copied wrongly: try it without --head, then compare the \
                     file with an export or a backup"
                }
                None => "someone changed the file: compare it with an export or a backup",
            };
            Err(Failure::new(format!("the journal is broken at record {}: {what}", seq.0), hint).into())
        }
        Err(error @ VerifyError::NotAHead(_)) => {
            Err(Failure::new(error.to_string(), "`portcullis log head` prints the head of the journal as it is").into())
        }
        Err(error) => Err(error.into()),
    }
}
