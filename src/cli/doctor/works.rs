//! What works for you: what each kind of connection to Claude Code can do today.

use serde_json::{Value, json};

/// The kinds of connection: first the one everybody has, last those where Portcullis starts the session itself.
const CONNECTIONS: [&str; 4] = ["hooks", "channel", "headless", "editor"];

/// Each feature, and whether each kind of connection has it.
const FEATURES: [(&str, [Support; 4]); 6] = [
    ("prompts", [Support::Yes, Support::Yes, Support::Yes, Support::NotYet]),
    ("questions", [Support::Yes, Support::No, Support::Yes, Support::NotYet]),
    ("events while busy", [Support::Yes, Support::Yes, Support::Yes, Support::NotYet]),
    ("events while idle", [Support::Yes, Support::Yes, Support::Yes, Support::NotYet]),
    ("replies", [Support::Yes, Support::Yes, Support::Yes, Support::NotYet]),
    ("stop", [Support::Yes, Support::No, Support::Yes, Support::NotYet]),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Support {
    Yes,
    No,
    /// Portcullis does not have this connection yet.
    NotYet,
}

impl Support {
    fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::NotYet => "not yet",
        }
    }
}

/// The table, with the reader's own connection marked.
pub(super) fn table(own: Option<&str>) -> String {
    let head = |name: &str| if Some(name) == own { format!("[{name}]") } else { name.to_owned() };
    let row = |name: &str, cells: [String; 4]| {
        let [a, b, c, d] = cells;
        format!("  {name:<18} {a:<9} {b:<10} {c:<10} {d}\n")
    };
    let mut text = row("", CONNECTIONS.map(head));
    for (name, cells) in FEATURES {
        text.push_str(&row(name, cells.map(|support| support.word().to_owned())));
    }
    text
}

pub(super) fn as_json() -> Value {
    let row = |cells: [Support; 4]| -> Value { CONNECTIONS.into_iter().zip(cells.map(Support::word)).collect() };
    FEATURES.iter().map(|(name, cells)| ((*name).to_owned(), json!(row(*cells)))).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    #[test]
    fn the_table_tells_what_is_true_today() {
        expect![[r#"
            $
                                 hooks     [channel]  headless   editor
              prompts            yes       yes        yes        not yet
              questions          yes       no         yes        not yet
              events while busy  yes       yes        yes        not yet
              events while idle  yes       yes        yes        not yet
              replies            yes       yes        yes        not yet
              stop               yes       no         yes        not yet
        "#]]
        .assert_eq(&format!("$\n{}", super::table(Some("channel"))));
    }
}
