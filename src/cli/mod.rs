//! The command line: one file a subcommand, which parses, calls and prints.

mod acp;
mod ask;
mod attach;
mod broken;
mod browser;
mod candidates;
mod channel;
mod completions;
mod curl;
mod demo;
mod device;
mod doctor;
mod events;
mod feed;
mod guard;
mod help;
mod hook;
mod inside;
mod install;
mod layout;
mod log;
mod man;
mod mcp;
mod mistakes;
mod page;
mod people;
mod plugin;
mod qr;
mod rules;
mod run;
mod say;
mod serve;
mod service;
mod session;
mod signals;
mod status;
mod stop;
mod table;
mod token;
mod uninstall;
mod up;
mod watch;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{FromArgMatches as _, Parser, Subcommand};

use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::config::{self, configuration, environment, paths};
use crate::gate;
use crate::gate::{VERSION, client, lock, reach, starting};
use crate::report::{note, say, try_say};
use crate::setup;
use inside::{InsideAnAgent, refused, refused_here};

/// The gate between a coding agent and the world.
///
/// Events come in (webhooks, alerts, chat), replies go out, and people you trust answer the agent's permission prompts.
/// Where hooks are installed, and in sessions that portcullis runs, nothing is run or sent unasked after an event from
/// someone who may not direct the session, whatever its permission mode, unless a rule of yours allows it.
///
/// Start with `portcullis demo` to see it work without Claude Code, or with `portcullis install --hooks` in a project to
/// tell Claude Code about it. `portcullis doctor` says what works for you.
#[derive(Parser)]
#[command(
    name = "portcullis",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Up(up::Up),
    Serve(serve::Serve),
    Stop(stop::Stop),
    Status(status::Status),
    Service(service::Service),
    #[command(hide = true)]
    Channel(channel::Channel),
    #[command(hide = true)]
    Hook(hook::Hook),
    Run(run::Run),
    Attach(attach::Attach),
    Acp(acp::Acp),
    Install(install::Install),
    Uninstall(uninstall::Uninstall),
    Plugin(plugin::Plugin),
    Session(session::Session),
    Watch(watch::Watch),
    Ask(ask::Ask),
    Say(say::Say),
    Events(events::Events),
    People(people::People),
    Rules(rules::Rules),
    Mcp(mcp::Mcp),
    Token(token::Token),
    Page(page::Page),
    Device(device::Devices),
    Log(log::Log),
    Doctor(doctor::Doctor),
    Demo(demo::Demo),
    Completions(completions::Completions),
    Man(man::ManPage),
    Help(help::Help),
    #[command(name = "__candidates", hide = true)]
    Candidates(candidates::Candidates),
}

impl Command {
    /// A person reads what it writes to standard error; the others are run by Claude Code, or by us.
    fn is_for_people(&self) -> bool {
        match self {
            Self::Acp(acp) => acp.is_for_people(),
            _ => !matches!(self, Self::Channel(_) | Self::Hook(_) | Self::Completions(_)),
        }
    }

    /// What becomes of it inside an agent. A new command has to choose.
    fn inside(&self) -> InsideAnAgent {
        match self {
            Self::Up(_) => refused_here("start the gate"),
            Self::Serve(serve) => serve.inside(),
            Self::Stop(_) => refused("stop the gate"),
            Self::Service(service) => service.inside(),
            Self::Run(run) => run.inside(),
            Self::Acp(acp) => acp.inside(),
            Self::Install(_) => refused_here("change what Claude Code runs"),
            Self::Uninstall(_) => refused_here("change what Claude Code runs"),
            Self::Plugin(_) => refused_here("write a plugin for Claude Code"),
            Self::Session(session) => session.inside(),
            Self::Ask(ask) => ask.inside(),
            Self::People(people) => people.inside(),
            Self::Rules(rules) => rules.inside(),
            Self::Mcp(mcp) => mcp.inside(),
            Self::Token(token) => token.inside(),
            Self::Page(_) => refused("link a browser"),
            Self::Device(device) => device.inside(),
            Self::Log(log) => log.inside(),
            // What Claude Code itself starts, and what we start for it.
            Self::Channel(_) | Self::Hook(_) => InsideAnAgent::Allowed,
            // They look, and where they could do more they ask for themselves.
            Self::Attach(_) | Self::Watch(_) | Self::Status(_) | Self::Doctor(_) => InsideAnAgent::Allowed,
            // What is sent so goes out as the agent.
            Self::Say(_) | Self::Events(_) | Self::Demo(_) => InsideAnAgent::Allowed,
            Self::Completions(_) | Self::Man(_) | Self::Help(_) | Self::Candidates(_) => InsideAnAgent::Allowed,
        }
    }
}

/// Reads the command line and does what it says. The exit code tells how it went.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(guarded) = guard::run(&arguments) {
        return guarded;
    }
    if arguments.len() < 2 && is_fresh() {
        say(help::FIRST_STEPS);
        return Ok(ExitCode::from(NO_COMMAND));
    }
    let parsed = || help::command().try_get_matches_from(&arguments).and_then(|it| Cli::from_arg_matches(&it));
    let cli = match alone(&arguments).map_or_else(parsed, |command| Ok(Cli { command })) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; clap knows which is which, and where each is printed.
            drop(error.print());
            if let Some(hint) = mistakes::hint(&help::command(), &error, &arguments) {
                note(&format!("  hint: {hint}"));
            }
            return Ok(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)));
        }
    };
    if cli.command.is_for_people() {
        for unknown in config::unknown_variables(std::env::vars_os().map(|(name, _)| name)) {
            drop(writeln!(std::io::stderr(), "warning: {unknown}"));
        }
    }
    // A size of our own: a variable of a project's settings (RUST_MIN_STACK) must not keep threads from starting.
    let runtime = tokio::runtime::Builder::new_current_thread().thread_stack_size(THREAD_STACK).enable_all().build()?;
    let code = runtime.block_on(async {
        inside::admit(cli.command.inside()).await?;
        match cli.command {
            Command::Up(up) => up.run().await,
            Command::Serve(serve) => serve.run().await,
            Command::Stop(stop) => stop.run().await,
            Command::Status(status) => status.run().await,
            Command::Service(service) => service.run().await,
            Command::Channel(channel) => Box::pin(channel.run()).await,
            Command::Run(run) => run.run().await,
            Command::Attach(attach) => attach.run().await,
            Command::Acp(acp) => Box::pin(acp.run()).await,
            Command::Hook(hook) => Ok(hook.run().await),
            Command::Install(install) => install.run(),
            Command::Uninstall(uninstall) => uninstall.run().await,
            Command::Plugin(plugin) => plugin.run(),
            Command::Session(session) => session.run().await,
            Command::Watch(watch) => Box::pin(watch.run()).await,
            Command::Ask(ask) => ask.run().await,
            Command::Say(say) => say.run().await,
            Command::Events(events) => events.run().await,
            Command::People(people) => people.run().await,
            Command::Rules(rules) => rules.run(),
            Command::Mcp(mcp) => Box::pin(mcp.run()).await,
            Command::Token(token) => token.run().await,
            Command::Page(page) => page.run().await,
            Command::Device(device) => device.run().await,
            Command::Log(log) => log.run().await,
            Command::Doctor(doctor) => doctor.run().await,
            Command::Demo(demo) => demo.run().await,
            Command::Completions(completions) => Ok(completions.run()),
            Command::Man(man) => man.run(),
            Command::Help(help) => help.run(),
            Command::Candidates(candidates) => Ok(candidates.run(help::command()).await),
        }
    });
    // A blocked read of standard input must not keep the process.
    runtime.shutdown_background();
    code
}

/// What Claude Code starts again and again, read without the rest of the command line, which takes longer to put together
/// than these take to answer. What does not fit is left to the whole, which says why.
fn alone(arguments: &[OsString]) -> Option<Command> {
    fn read<T: clap::Args>(words: &[OsString]) -> Option<T> {
        let command = T::augment_args(clap::Command::new("portcullis"));
        T::from_arg_matches(&command.try_get_matches_from(words).ok()?).ok()
    }
    let words = arguments.get(1..)?;
    match words.first()?.to_str()? {
        "channel" => read(words).map(Command::Channel),
        "hook" => read(words).map(Command::Hook),
        _ => None,
    }
}

/// The stack of a thread that waits for files or judges a line, which functions read that call themselves, to a bounded depth.
const THREAD_STACK: usize = 8 << 20;

/// The name of a dev sender, which must not be taken for another's.
fn dev_name(name: &str) -> Result<String, String> {
    match portcullis_core::is_person_name(name) {
        true => Ok(name.to_owned()),
        false => {
            Err("a name has letters, digits, dots and dashes, and does not look like `owner` or a name of ours"
                .to_owned())
        }
    }
}

/// A number of something, with an error that says what one is.
fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "a whole number, such as 20".to_owned())
}

/// As clap has it where a command is missing.
const NO_COMMAND: u8 = 2;

/// Whether nothing was ever done in this home.
fn is_fresh() -> bool {
    paths().is_ok_and(|paths| !paths.state_dir.exists() && !paths.config_file.exists() && !paths.rules_file.exists())
}

/// Log lines go to standard error; standard output belongs to the protocol, or to the answer.
fn log_at(level: &str) {
    // What the libraries of ACP and MCP warn of has its answer already, in other words and at length; a server that asks
    // without end would fill the log with refusals, and a client that leaves is an error to the latter.
    use std::io::IsTerminal as _;
    let filter = tracing_subscriber::EnvFilter::try_from_env("PORTCULLIS_LOG").unwrap_or_else(|_| {
        tracing_subscriber::EnvFilter::new(format!("warn,agent_client_protocol=error,rmcp=off,portcullis={level}"))
    });
    let logging = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // Whoever reads it may be gone; that is no reason to fall over.
        .log_internal_errors(false)
        .with_target(false);
    // A second call would be a mistake of ours, and harmless.
    drop(logging.try_init());
}

/// The same for a terminal where someone works: a warning is a `note:` like any other there, and no line of a log.
fn log_as_notes() {
    if environment("PORTCULLIS_LOG").is_some() {
        return log_at("warn");
    }
    let filter = tracing_subscriber::EnvFilter::new("off,portcullis=warn");
    let logging = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    drop(logging.log_internal_errors(false).event_format(Notes).try_init());
}

/// Writes an event as `note: what happened: field`.
struct Notes;

impl<S, N> FormatEvent<S, N> for Notes
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> std::fmt::Result {
        writer.write_str("note: ")?;
        context.field_format().format_fields(writer.by_ref(), event)?;
        writer.write_char('\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_claude_code_starts_is_read_alone_and_everything_else_with_the_whole() {
        let read = |line: &str| alone(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(matches!(read("portcullis channel"), Some(Command::Channel(_))));
        assert!(matches!(read("portcullis channel --label api --one-way"), Some(Command::Channel(_))));
        assert!(matches!(read("portcullis hook --installed 6"), Some(Command::Hook(_))));
        for line in ["channel --help", "channel -h", "channel --lable api", "channel api", "hook --installed six"] {
            let line = format!("portcullis {line}");
            assert!(read(&line).is_none(), "{line} is left to the whole, which shows its help or says what is wrong");
        }
        for line in ["portcullis", "portcullis run", "portcullis help channel", "portcullis --version channel"] {
            assert!(read(line).is_none(), "{line}");
        }
    }
}
