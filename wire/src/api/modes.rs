//! The modes in which sessions start that name none, as the API tells and takes them.

use portcullis_core::DefaultMode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// In which mode a session starts in a folder when none is named.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct DefaultModeView {
    /// With symbolic links resolved.
    pub folder: String,
    /// What counts: of `set` and `configured` the one for the nearest folder; for the same folder, `set`.
    pub mode: String,
    /// What an admin has set for this folder, or for the nearest one above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<SetModeView>,
    pub configured: ConfiguredModeView,
}

/// A default mode that an admin has set.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct SetModeView {
    /// It holds here and below.
    pub folder: String,
    pub mode: String,
    pub by: String,
    pub at: u64,
}

impl SetModeView {
    pub fn of(folder: &str, set: &DefaultMode) -> Self {
        Self { folder: folder.to_owned(), mode: set.mode.name().to_owned(), by: set.by.clone(), at: set.at.0 }
    }
}

/// What config.toml says.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct ConfiguredModeView {
    pub mode: String,
    /// The folder of the table `[projects."FOLDER"]` that says it; none where it is `permission_mode`, or its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// Taken by `PUT /api/v1/modes/default`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDefaultMode {
    /// It holds here and below.
    pub folder: String,
    /// default, acceptEdits, plan, dontAsk or auto; null takes back what was set
    pub mode: Option<String>,
}
