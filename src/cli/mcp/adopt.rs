//! `portcullis mcp adopt` and `release`: servers of Claude Code behind the gateway, and back.

use std::process::ExitCode;
use std::time::Duration;

use portcullis_core::{shell_word, shell_words};
use serde_json::{Value, json};

use super::super::{environment, paths, say};
use super::{configuration, note_problems, upstreams};
use crate::failure::Failure;
use crate::setup::adopted::{AdoptedServer, AdoptedServers, gateway_entry, starts_gateway};
use crate::setup::place::{choose, this_program};
use crate::setup::servers;
use crate::upstream::UpstreamState;
use crate::upstream::auth::signs_in;
use crate::upstream::config::{Configuration, ConfiguredServer, ServerLayer, ServerStanding};

/// Longer it is not waited whether a server lets us in.
const ASKED: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(super) struct Adopt {
    /// The names of servers; all of yours if they are left out
    pub(super) servers: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(super) struct Release {
    /// The names of servers; all that were adopted if they are left out
    pub(super) servers: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Each change is told as soon as it is made; as JSON, all of them at the end.
fn say_unless(json: bool) -> impl Fn(&str) {
    move |words| {
        if !json {
            say(words);
        }
    }
}

fn print_if(json: bool, done: Vec<Value>) {
    if json {
        say(&format!("{}\n", Value::from(done)));
    }
}

impl Adopt {
    pub(super) async fn run(&self) -> anyhow::Result<ExitCode> {
        let (files, configuration) = configuration()?;
        note_problems(&configuration);
        let paths = paths()?;
        AdoptedServers::read_to_change(&paths)?;
        let chosen = self.chosen(&configuration.servers)?;
        let (mut count, mut done, say) = (0, vec![], say_unless(self.json));
        let mut program = None;
        let unsigned = unsigned(&configuration, &chosen).await?;
        for server in chosen {
            let under = files.under(server.layer).unwrap_or_default();
            let Some(written) = servers::written(&server.file, &under, &server.name)? else { continue };
            if starts_gateway(&serde_json::from_str(&written).unwrap_or_default(), &server.name) {
                done.push(json!({"name": server.name, "file": server.file, "changed": false}));
                say(&format!("{} is behind the gateway already.\n", server.name));
                continue;
            }
            let program = match &program {
                Some(program) => program,
                None => &*program.insert(settled_program(&say)?),
            };
            let entry = AdoptedServer { file: server.file.clone(), under, name: server.name.clone(), written };
            // Before the entry is changed: what is lost then is nothing.
            AdoptedServers::change(&paths, |adopted| {
                adopted.retain(|known| !known.is(&entry.file, &entry.under, &entry.name));
                adopted.push(entry.clone());
            })?;
            let node = gateway_entry(program, &entry.name);
            servers::replace(&paths, &entry.file, &entry.under, &entry.name, &node)?;
            done.push(json!({"name": entry.name, "file": entry.file, "changed": true}));
            say(&format!("{} is behind the gateway now ({}).\n", entry.name, entry.file.display()));
            if unsigned.contains(&entry.name) {
                let login = format!("portcullis mcp login {}", shell_words(&[&entry.name]));
                say(&format!("  It wants you to sign in, here as well as in Claude Code: {login}\n"));
                if let Some(told) = done.last_mut() {
                    told["sign_in"] = login.into();
                }
            }
            count += 1;
        }
        say(match count {
            0 => "Nothing was changed.\n",
            _ => ADOPTED,
        });
        print_if(self.json, done);
        // Whoever has a file that cannot be read may have servers in it.
        let has_all = count > 0 || configuration.problems.is_empty();
        Ok(if has_all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Those that were named, or all that can be.
    fn chosen<'a>(&self, servers: &'a [ConfiguredServer]) -> anyhow::Result<Vec<&'a ConfiguredServer>> {
        let is_ours = |server: &&ConfiguredServer| matches!(server.layer, ServerLayer::Local | ServerLayer::User);
        let starts_us = |server: &&ConfiguredServer| {
            server.entry.as_ref().is_some_and(|entry| entry.endpoint.starts_this_program())
        };
        if self.servers.is_empty() {
            let fits = |server: &&ConfiguredServer| is_ours(server) && !starts_us(server) && wrong(server).is_none();
            return Ok(servers.iter().filter(fits).collect());
        }
        let mut chosen = vec![];
        for name in &self.servers {
            let named: Vec<&ConfiguredServer> = servers.iter().filter(|server| server.name == *name).collect();
            match named.iter().find(|server| is_ours(server)) {
                Some(server) if wrong(server).is_some() => {
                    let what = format!("the entry of {name} is wrong: {}", wrong(server).unwrap_or_default());
                    return Err(Failure::usage(what, format!("mend it in {}", server.file.display())).into());
                }
                Some(server) if !starts_us(server) => chosen.push(*server),
                Some(_) => {
                    return Err(Failure::usage(format!("{name} starts portcullis itself"), "name another").into());
                }
                None if named.is_empty() => {
                    let hint = "see what is configured: portcullis mcp list";
                    return Err(Failure::usage(format!("no MCP server is called {name:?}"), hint).into());
                }
                None if named.iter().any(|server| server.layer == ServerLayer::Gateway) => {
                    let what = format!("{name} is behind the gateway: it stands in {}", named[0].file.display());
                    return Err(Failure::usage(what, "name another").into());
                }
                None => {
                    let what = format!("{name} stands in a file that others share ({})", named[0].file.display());
                    let word = shell_word(name);
                    let hint = format!("add it for yourself, which hides theirs: portcullis mcp add {word} -- COMMAND");
                    return Err(Failure::usage(what, hint).into());
                }
            }
        }
        Ok(chosen)
    }
}

/// What is wrong with its entry: the gateway would not offer it either.
fn wrong(server: &ConfiguredServer) -> Option<&str> {
    match &server.standing {
        ServerStanding::Bad(wrong) => Some(wrong),
        _ => None,
    }
}

/// Those of the servers to which someone has to sign in. Claude Code's own token is not ours to use.
async fn unsigned(configuration: &Configuration, chosen: &[&ConfiguredServer]) -> anyhow::Result<Vec<String>> {
    let takes_tokens = |server: &&&ConfiguredServer| match &server.standing {
        ServerStanding::Ready(upstream) => signs_in(upstream).is_some(),
        _ => false,
    };
    let asked: Vec<&str> = chosen.iter().filter(takes_tokens).map(|server| server.name.as_str()).collect();
    if asked.is_empty() {
        return Ok(vec![]);
    }
    let upstreams = upstreams(configuration, 1).await?;
    let asking = asked.into_iter().map(|name| {
        let asking = tokio::time::timeout(ASKED, upstreams.connect(name));
        async move { matches!(asking.await, Ok(Some(UpstreamState::NeedsAuth))).then(|| name.to_owned()) }
    });
    let unsigned = futures_util::future::join_all(asking).await.into_iter().flatten().collect();
    upstreams.close().await;
    Ok(unsigned)
}

/// What is different from now on. Somebody who does not know it waits for a call that waits for them.
const ADOPTED: &str = "\
Sessions of Claude Code that run keep what they have: start them anew.
From then on a call waits until a rule or a person allows it here. A yes in Claude Code's own dialog does not count:
  answer        portcullis watch, portcullis ask list, or the page (portcullis page)
  ask no more   portcullis rules add allow mcp__SERVER__TOOL, or mcp__SERVER for all of its tools
  ask once      let Claude Code pass them: \"permissions\": {\"allow\": [\"mcp__SERVER\"]} in its settings
";

/// The program that entries name from now on: one that may be gone tomorrow is copied first.
fn settled_program(say: &impl Fn(&str)) -> anyhow::Result<String> {
    let place = choose(&this_program()?, &environment)?;
    place.settle()?;
    say(&place.announcement().unwrap_or_default());
    Ok(place.path().display().to_string())
}

impl Release {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let paths = paths()?;
        let AdoptedServers(mut wanted) = AdoptedServers::read_to_change(&paths)?;
        wanted.retain(|known| self.servers.is_empty() || self.servers.contains(&known.name));
        if let Some(unknown) = self.servers.iter().find(|name| !wanted.iter().any(|known| known.name == **name)) {
            let what = format!("{unknown:?} was not put behind the gateway");
            return Err(Failure::usage(what, "see: portcullis mcp list").into());
        }
        let (mut done, say) = (vec![], say_unless(self.json));
        for known in &wanted {
            let there = servers::written(&known.file, &known.under, &known.name)?;
            let is_gone = there.is_none();
            let is_ours = there
                .is_some_and(|there| starts_gateway(&serde_json::from_str(&there).unwrap_or_default(), &known.name));
            let (name, file) = (&known.name, known.file.display());
            if is_ours {
                servers::put_back(&paths, &known.file, &known.under, &known.name, &known.written)?;
                say(&format!("{name} is in {file} as it was.\n"));
            } else if is_gone {
                say(&format!("{name} was taken out of {file} since, and is not put back.\n"));
            } else {
                say(&format!("{name} in {file} was changed since, and is left as it is.\n"));
            }
            done.push(json!({"name": name, "file": known.file, "changed": is_ours}));
        }
        if wanted.is_empty() {
            say("No server is behind the gateway.\n");
        }
        AdoptedServers::change(&paths, |adopted| adopted.retain(|known| !wanted.contains(known)))?;
        print_if(self.json, done);
        Ok(ExitCode::SUCCESS)
    }
}
