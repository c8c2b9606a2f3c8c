//! `[connectors]`: a table for each kind of connector. A kind of which there may be several has a table for each name.

use std::collections::BTreeMap;
use std::fmt;

use portcullis_core::ConnectorName;
use portcullis_wire::text::SHORTEST;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::values::{self, Folder};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ConnectorsTable {
    pub(crate) socket: BTreeMap<NamedConnector, SocketTable>,
}

/// `[connectors.socket.NAME]`: a program that listens on a Unix socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SocketTable {
    pub(crate) address: Folder,
    /// `None` cuts nothing.
    #[serde(default, deserialize_with = "max_text", serialize_with = "values::bytes_or_all::serialize")]
    pub(crate) max_text: Option<usize>,
}

/// Shorter texts could not say how a prompt is answered.
fn max_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    match values::bytes_or_all::deserialize(deserializer)? {
        Some(bytes) if bytes < SHORTEST => Err(D::Error::custom(format!("{bytes} is less than {SHORTEST}"))),
        bytes => Ok(bytes),
    }
}

/// The name of a connector as the key of its table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct NamedConnector(pub(crate) ConnectorName);

impl TryFrom<String> for NamedConnector {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let wrong = |error: portcullis_core::BadConnectorName| {
            format!("{} is no name for a connector: {error}", super::quoted(&name))
        };
        name.parse().map(Self).map_err(wrong)
    }
}

impl From<NamedConnector> for String {
    fn from(name: NamedConnector) -> Self {
        name.to_string()
    }
}

impl fmt::Display for NamedConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
