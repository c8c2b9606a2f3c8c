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
}

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feature {
    Prompts,
    Questions,
    EventsWhileBusy,
    EventsWhileIdle,
    Replies,
    Stop,
}

impl Feature {
    const ALL: [Self; 6] =
        [Self::Prompts, Self::Questions, Self::EventsWhileBusy, Self::EventsWhileIdle, Self::Replies, Self::Stop];

    fn name(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Questions => "questions",
            Self::EventsWhileBusy => "events while busy",
            Self::EventsWhileIdle => "events while idle",
            Self::Replies => "replies",
            Self::Stop => "stop",
        }
    }

    /// Whether the connection has it by its nature, where nothing stands in its way.
    fn is_of(self, connection: Connection) -> bool {
        // A channel has no way to ask for more than yes or no, and none to end a turn.
        !(connection == Connection::Channel && matches!(self, Self::Questions | Self::Stop))
    }
}

impl Blocks {
    /// Whether a connection lacks something because of it.
    fn stand_between(self, connection: Connection, feature: Feature) -> bool {
        let is_driven = matches!(connection, Connection::Headless | Connection::Editor);
        let is_answered = matches!(feature, Feature::Prompts | Feature::Questions);
        match self {
            Self::Everything => true,
            Self::Sessions => !is_driven,
            Self::Hooks => connection == Connection::Hooks,
            Self::Channel => connection == Connection::Channel,
            Self::Editor => connection == Connection::Editor,
            Self::Driven => is_driven,
            // Whoever sits at a driven session answers and stops it all the same.
            Self::Gate => !is_driven || !is_answered && feature != Feature::Stop,
            Self::DrivenPrompts => is_driven && feature == Feature::Prompts,
            Self::DrivenReplies => is_driven && feature == Feature::Replies,
            Self::DrivenStop => is_driven && feature == Feature::Stop,
            Self::EditorAnswers => connection == Connection::Editor && is_answered,
            // A channel brings events as they come.
            Self::IdleEvents => connection != Connection::Channel && feature == Feature::EventsWhileIdle,
        }
    }
}

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

    /// What stands between a connection and something that it is for.
    fn obstacles(&self, connection: Connection, feature: Feature) -> impl Iterator<Item = &Finding> {
        let stands = move |blocks: Blocks| blocks.stand_between(connection, feature);
        self.findings.iter().filter(move |finding| finding.blocks.is_some_and(stands))
    }

    /// It works in no way.
    fn is_closed(&self, connection: Connection) -> bool {
        Feature::ALL.into_iter().all(|feature| self.obstacles(connection, feature).next().is_some())
    }

    /// The connection that a session started here would have.
    pub(super) fn own(&self) -> Option<Connection> {
        [Connection::Hooks, Connection::Channel].into_iter().find(|connection| !self.is_closed(*connection))
    }

    fn word(&self, connection: Connection, feature: Feature) -> &'static str {
        match connection {
            _ if !feature.is_of(connection) || self.obstacles(connection, feature).next().is_some() => "no",
            Connection::Channel if !self.channel_is_proven => "maybe",
            Connection::Hooks | Connection::Channel | Connection::Headless | Connection::Editor => "yes",
        }
    }

    fn row(&self, feature: Feature) -> [&'static str; 4] {
        Connection::ALL.map(|connection| self.word(connection, feature))
    }

    /// Why there is a *no* in the table: each reason once, with what it stands in the way of.
    fn reasons(&self) -> String {
        let mut text = String::new();
        for finding in self.findings {
            let Some(blocks) = finding.blocks else { continue };
            let of = |connection: Connection| {
                let (all, missing) = (
                    Feature::ALL.into_iter().filter(move |feature| feature.is_of(connection)),
                    Feature::ALL
                        .into_iter()
                        .filter(move |feature| feature.is_of(connection) && blocks.stand_between(connection, *feature)),
                );
                let (all, missing): (usize, Vec<&str>) = (all.count(), missing.map(Feature::name).collect());
                match missing.len() {
                    0 => None,
                    some if some == all => Some(connection.name().to_owned()),
                    _ => Some(format!("{} ({})", connection.name(), missing.join(", "))),
                }
            };
            let missing: Vec<String> = Connection::ALL.into_iter().filter_map(of).collect();
            text.push_str(&format!("  no {}: {}\n", missing.join(", "), finding.what));
        }
        text
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
        for feature in Feature::ALL {
            text.push_str(&row(feature.name(), self.row(feature).map(str::to_owned)));
        }
        text.push_str(&self.reasons());
        match own {
            Some(Connection::Hooks) => text.push_str("  Events while idle need a session at a terminal.\n"),
            _ if !self.is_closed(Connection::Channel) && !self.channel_is_proven => {
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
        let row = |feature: Feature| -> Value { names.into_iter().zip(self.row(feature)).collect() };
        Feature::ALL.into_iter().map(|feature| (feature.name().to_owned(), json!(row(feature)))).collect()
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
        let unknown =
            [Finding::warn("editors", "process 7: nobody knows it", "trust it").blocking(Blocks::EditorAnswers)];
        let works = Works::new(&unknown, true).as_json();
        assert_eq!((&works["prompts"]["editor"], &works["stop"]["editor"]), (&json!("no"), &json!("yes")));
        assert_eq!(works["prompts"]["headless"], "yes");
    }
}
