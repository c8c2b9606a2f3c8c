//! The connectors that are configured, each started with what its table says.

use portcullis_core::ConnectorName;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::VERSION;
use crate::config::{Approvals, Config, Paths};
use crate::doors::chat::socket;
use crate::hub::Hub;

/// Starts every connector. A connector that fails ends alone, and the log says why.
pub(super) fn start(paths: &Paths, config: &Config, hub: &Hub, stop: &CancellationToken) -> Vec<JoinHandle<()>> {
    let mut started = vec![];
    for (name, table) in &config.connectors.socket {
        let config = socket::SocketConfig {
            name: name.0.clone(),
            address: table.address.at_home(paths),
            max_text: table.max_text,
            answers: config.approvals == Approvals::Anywhere,
            version: VERSION,
        };
        started.push(spawn(name.0.clone(), socket::run(config, hub.clone(), stop.clone())));
    }
    started
}

fn spawn(name: ConnectorName, run: impl Future<Output = anyhow::Result<()>> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Err(error) = run.await {
            tracing::error!(connector = %name, "it ended: {error:#}");
        }
    })
}
