//! `portcullis session default-mode`: in which mode sessions start in a folder that name none.

use std::path::PathBuf;

use anyhow::Context as _;
use portcullis_core::Moment;
use portcullis_core::policy::mode_in_words;
use portcullis_core::visible;
use portcullis_wire::api::{ConfiguredModeView, DefaultModeView, NewDefaultMode, SetModeView, ago};

use crate::cli::client::{Client, segment};
use crate::cli::inside::{InsideAnAgent, refused};
use crate::cli::say;
use crate::hub::now;

#[derive(clap::Args)]
pub(super) struct DefaultModeArgs {
    /// default, acceptEdits, plan, dontAsk or auto; without it, the command shows what counts
    #[arg(conflicts_with = "clear")]
    mode: Option<String>,
    /// The folder [default: the working folder]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Take back what was set for the folder: the configuration counts again
    #[arg(long)]
    clear: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl DefaultModeArgs {
    pub(super) fn inside(&self) -> InsideAnAgent {
        match self.mode.is_some() || self.clear {
            true => refused("change the default mode of a folder".to_owned()),
            false => InsideAnAgent::Allowed,
        }
    }

    pub(super) async fn run(self, gate: &Client) -> anyhow::Result<()> {
        let here = std::env::current_dir().context("finding the working folder")?;
        let folder = self.folder.map_or(here.clone(), |folder| here.join(folder)).display().to_string();
        let path = "/api/v1/modes/default";
        let view: DefaultModeView = match self.mode.is_some() || self.clear {
            true => gate.put(path, &NewDefaultMode { folder, mode: self.mode }).await?,
            false => gate.get(&format!("{path}?folder={}", segment(&folder))).await?,
        };
        say(&if self.json { format!("{}\n", serde_json::to_string(&view)?) } else { visible(&in_words(&view)) });
        Ok(())
    }
}

fn in_words(view: &DefaultModeView) -> String {
    let DefaultModeView { folder, mode, set, configured } = view;
    let set = match set {
        None => "nothing; `portcullis session default-mode MODE` sets it".to_owned(),
        Some(SetModeView { folder, mode, by, at }) => {
            format!("{mode} for {folder}, by {by}, {} ago", ago(now().since(Moment(*at))))
        }
    };
    let configured = match configured {
        ConfiguredModeView { mode, folder: None } => format!("{mode} (permission_mode)"),
        ConfiguredModeView { mode, folder: Some(folder) } => format!("{mode} for {folder}"),
    };
    let mode = mode_in_words(mode);
    format!("Sessions in {folder} start in {mode}.\n  set:         {set}\n  config.toml: {configured}\n")
}
