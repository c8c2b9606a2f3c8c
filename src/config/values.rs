//! The values of settings that are more than text, a number or a switch, and how each is read and written.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use portcullis_core::policy::Mode;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::quoted;
use super::paths::Paths;

/// Where the gate listens besides its Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum Listen {
    Off,
    /// Always a loopback address.
    Addr(SocketAddr),
}

/// What a record survives once its append has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Durability {
    /// The death of the gate.
    Process,
    /// A power cut as well.
    Power,
}

/// Who may answer permission prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Approvals {
    /// Whoever has the right, the owner of this machine among them.
    Anywhere,
    /// Only people with credentials of their own: nothing that runs as the owner on this machine.
    Device,
}

/// What text from someone who may not direct a session holds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outside {
    /// Calls that run or send something, unless a rule of the user's own allows them.
    Guard,
    /// Every call but reads inside the working folders.
    All,
    Off,
}

/// A permission mode of Claude Code, by its name there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct PermissionMode(Mode);

/// The names of the permission modes.
pub(crate) const MODES: [&str; 6] = ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];

/// An absolute path as it is written; `~` stands for the home of whoever runs the gate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Folder(PathBuf);

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        // The name stands for the address that every machine has; `[::1]` is written out.
        let text = text.strip_prefix("localhost:").map_or(text.to_owned(), |port| format!("127.0.0.1:{port}"));
        let address: SocketAddr =
            text.parse().map_err(|_| format!("{} is not an address with a port", quoted(&text)))?;
        if !address.ip().to_canonical().is_loopback() {
            return Err(format!("{address} could be reached from other machines"));
        }
        Ok(Self::Addr(address))
    }
}

impl TryFrom<String> for Listen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Addr(address) => address.fmt(f),
        }
    }
}

impl From<Listen> for String {
    fn from(listen: Listen) -> Self {
        listen.to_string()
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "process",
            Self::Power => "power",
        })
    }
}

impl PermissionMode {
    pub(crate) fn name(self) -> &'static str {
        self.0.name()
    }
}

impl TryFrom<String> for PermissionMode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Mode::named(&text).map(Self).ok_or_else(|| format!("unknown mode {}", quoted(&text)))
    }
}

impl From<PermissionMode> for String {
    fn from(mode: PermissionMode) -> Self {
        mode.name().to_owned()
    }
}

impl Folder {
    pub(crate) fn at_home(&self, paths: &Paths) -> PathBuf {
        paths.at_home(Path::new(&self.0))
    }
}

impl TryFrom<String> for Folder {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_absolute = text.starts_with('/') || text == "~" || text.starts_with("~/");
        if is_absolute { Ok(Self(text.into())) } else { Err(format!("{} is not an absolute path", quoted(&text))) }
    }
}

/// A program by its name on the PATH, or by its path.
pub(super) fn program<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    match String::deserialize(deserializer)? {
        text if text.is_empty() => Err(D::Error::custom("the name is empty")),
        text => Ok(text.into()),
    }
}

/// A program and its arguments, or nothing.
pub(super) fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    match Vec::<String>::deserialize(deserializer)? {
        words if words.first().is_some_and(String::is_empty) => Err(D::Error::custom("the program's name is empty")),
        words if words.iter().any(|word| word.contains('\0')) => Err(D::Error::custom("an argument holds a zero byte")),
        words => Ok(words),
    }
}

/// True and false; `"on"` and `"off"` as earlier releases wrote them.
pub(super) fn switch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Switch {
        Bool(bool),
        Text(String),
    }
    match Switch::deserialize(deserializer) {
        Ok(Switch::Bool(on)) => Ok(on),
        Ok(Switch::Text(text)) if text == "on" => Ok(true),
        Ok(Switch::Text(text)) if text == "off" => Ok(false),
        Ok(Switch::Text(text)) => Err(D::Error::custom(format!("{} is neither true nor false", quoted(&text)))),
        Err(_) => Err(D::Error::custom("it is neither true nor false")),
    }
}

/// A time in whole seconds.
pub(super) mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.as_secs())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_secs)
    }
}

/// What the model is told of messages from outside. It is part of every session's context, so it is short.
pub(super) fn instructions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    const LONGEST: usize = 2000;
    let text = String::deserialize(deserializer)?;
    match text.chars().count() {
        0..=LONGEST => Ok(text),
        count => Err(D::Error::custom(format!("there are {count} characters"))),
    }
}

/// A number of bytes, where 0 means that there is no limit.
pub(super) mod bytes_or_all {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &Option<usize>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.unwrap_or(0).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
        usize::deserialize(deserializer).map(|bytes| (bytes > 0).then_some(bytes))
    }
}

/// Patterns of rules, each refused with the reason when it is none.
pub(super) mod patterns {
    use portcullis_core::policy::Pattern;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::config::quoted;

    pub(crate) fn serialize<S: Serializer>(patterns: &[Pattern], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(patterns.iter().map(ToString::to_string))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Pattern>, D::Error> {
        let read = |text: &String| {
            Pattern::read(text).map_err(|why| D::Error::custom(format!("{} is no rule: {why}", quoted(text))))
        };
        Vec::<String>::deserialize(deserializer)?.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_modes_are_those_of_the_modes() {
        assert_eq!(MODES, Mode::ALL.map(Mode::name));
    }

    #[test]
    fn only_this_machine_may_be_listened_to() {
        for fine in ["127.0.0.1:8788", "127.9.9.9:1", "[::1]:8788", "[::ffff:127.0.0.1]:8788", "127.0.0.1:0"] {
            assert_eq!(fine.parse(), Ok(Listen::Addr(fine.parse().unwrap())));
        }
        assert_eq!("localhost:8788".parse(), Ok(Listen::Addr("127.0.0.1:8788".parse().unwrap())));
        for bad in [
            "",
            "Off",
            "8788",
            "127.0.0.1",
            "localhost",
            "localhost.x:1",
            "0.0.0.0:8788",
            "[::]:8788",
            "192.168.1.2:8788",
        ] {
            assert!(bad.parse::<Listen>().is_err(), "{bad}");
        }
    }
}
