//! What works for you: what each kind of connection to Claude Code can do, and whether it is there at all.

use serde_json::{Value, json};

use super::finding::{Blocks, Finding};

/// The kinds of connection: first the one everybody has, last those where Portcullis starts the session itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Connection {
    Hooks,
    Channel,
    Headless,
    Editor,
}

impl Connection {
    const ALL: [Self; 4] = [Self::Hooks, Self::Channel, Self::Headless, Self::Editor];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hooks => "hooks",
            Self::Channel => "channel",
            Self::Headless => "headless",
            Self::Editor => "editor",
        }
    }

    fn is_blocked_by(self, finding: &Finding) -> bool {
        match finding.blocks {
            None => false,
            Some(Blocks::Everything) => true,
            Some(Blocks::Sessions) => matches!(self, Self::Hooks | Self::Channel),
            Some(Blocks::Hooks) => self == Self::Hooks,
            Some(Blocks::Channel) => self == Self::Channel,
            Some(Blocks::Editor) => self == Self::Editor,
        }
    }
}

/// Each feature, and which kinds of connection have it where they work.
const FEATURES: [(&str, [bool; 4]); 6] = [
    ("prompts", [true, true, true, true]),
    ("questions", [true, false, true, true]),
    ("events while busy", [true, true, true, true]),
    ("events while idle", [true, true, true, true]),
    ("replies", [true, true, true, true]),
    ("stop", [true, false, true, true]),
];

/// What was found out about the connections.
pub(super) struct Works<'a> {
    findings: &'a [Finding],
    /// A session has shown that the model reads the channel.
    channel_is_proven: bool,
}

impl<'a> Works<'a> {
    pub(super) fn new(findings: &'a [Finding], channel_is_proven: bool) -> Self {
        Self { findings, channel_is_proven }
    }

    /// What keeps a connection from working.
    fn obstacles(&self, connection: Connection) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| connection.is_blocked_by(finding))
    }

    /// The connection that a session started here would have.
    pub(super) fn own(&self) -> Option<Connection> {
        [Connection::Hooks, Connection::Channel]
            .into_iter()
            .find(|connection| self.obstacles(*connection).next().is_none())
    }

    fn word(&self, connection: Connection, has_it: bool) -> &'static str {
        match connection {
            _ if !has_it || self.obstacles(connection).next().is_some() => "no",
            Connection::Channel if !self.channel_is_proven => "maybe",
            Connection::Hooks | Connection::Channel | Connection::Headless | Connection::Editor => "yes",
        }
    }

    fn row(&self, cells: [bool; 4]) -> [&'static str; 4] {
        let mut has = cells.into_iter();
        Connection::ALL.map(|connection| self.word(connection, has.next().unwrap_or_default()))
    }

    /// The table, with the reader's own connection marked, and the reasons below.
    pub(super) fn table(&self) -> String {
        let own = self.own();
        let head = |connection: Connection| match Some(connection) == own {
            true => format!("[{}]", connection.name()),
            false => connection.name().to_owned(),
        };
        let row = |name: &str, [a, b, c, d]: [String; 4]| format!("  {name:<18} {a:<9} {b:<10} {c:<10} {d}\n");
        let mut text = row("", Connection::ALL.map(head));
        for (name, cells) in FEATURES {
            text.push_str(&row(name, self.row(cells).map(str::to_owned)));
        }
        for connection in Connection::ALL {
            for finding in self.obstacles(connection) {
                text.push_str(&format!("  no {}: {}\n", connection.name(), finding.what));
            }
        }
        match own {
            Some(Connection::Hooks) => text.push_str("  Events while idle need a session at a terminal.\n"),
            _ if self.obstacles(Connection::Channel).next().is_none() && !self.channel_is_proven => {
                text.push_str(
                    "  The channel works where Claude Code enables it for your account; nobody else can tell.\n",
                );
            }
            _ => {}
        }
        text
    }

    pub(super) fn as_json(&self) -> Value {
        let names = Connection::ALL.map(Connection::name);
        let row = |cells: [bool; 4]| -> Value { names.into_iter().zip(self.row(cells)).collect() };
        FEATURES.iter().map(|(name, cells)| ((*name).to_owned(), json!(row(*cells)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_table_tells_what_was_found_out() {
        let findings = [
            Finding::warn("hooks", "disableAllHooks is true", "remove it").blocking(Blocks::Hooks),
            Finding::ok("program", "is there"),
        ];
        expect![[r#"
            $
                                 hooks     [channel]  headless   editor
              prompts            no        maybe      yes        yes
              questions          no        no         yes        yes
              events while busy  no        maybe      yes        yes
              events while idle  no        maybe      yes        yes
              replies            no        maybe      yes        yes
              stop               no        no         yes        yes
              no hooks: disableAllHooks is true
              The channel works where Claude Code enables it for your account; nobody else can tell.
        "#]]
        .assert_eq(&format!("$\n{}", Works::new(&findings, false).table()));
        let nothing = [Finding::warn("Claude Code", "is missing", "install it").blocking(Blocks::Everything)];
        let works = Works::new(&nothing, true);
        assert!(works.own().is_none() && works.as_json()["prompts"]["headless"] == "no");
    }
}
