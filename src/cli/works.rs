//! What works for you: what each road to an agent can carry, today.

use serde_json::{Value, json};

/// The roads, from the one everybody has to the ones where we hold the session ourselves.
const ROADS: [&str; 4] = ["hooks", "channel", "headless", "editor"];

/// Each thing that can be carried, and how each road does.
const CARRIED: [(&str, [Does; 4]); 6] = [
    ("prompts", [Does::Yes, Does::Yes, Does::Yes, Does::NotYet]),
    ("questions", [Does::Yes, Does::No, Does::Yes, Does::NotYet]),
    ("events while busy", [Does::Yes, Does::Yes, Does::Yes, Does::NotYet]),
    ("events while idle", [Does::Yes, Does::Yes, Does::Yes, Does::NotYet]),
    ("replies", [Does::Yes, Does::Yes, Does::Yes, Does::NotYet]),
    ("stop", [Does::Yes, Does::No, Does::Yes, Does::NotYet]),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Yes,
    No,
    /// Portcullis does not have the road yet.
    NotYet,
}

impl Does {
    fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::NotYet => "not yet",
        }
    }
}

/// The table, with the reader's own road marked.
pub(super) fn table(own: Option<&str>) -> String {
    let head = |road: &str| if Some(road) == own { format!("[{road}]") } else { road.to_owned() };
    let row = |name: &str, cells: [String; 4]| {
        let [a, b, c, d] = cells;
        format!("  {name:<18} {a:<9} {b:<10} {c:<10} {d}\n")
    };
    let mut text = row("", ROADS.map(head));
    for (name, cells) in CARRIED {
        text.push_str(&row(name, cells.map(|does| does.word().to_owned())));
    }
    text
}

pub(super) fn as_json() -> Value {
    let row = |cells: [Does; 4]| -> Value { ROADS.into_iter().zip(cells.map(Does::word)).collect() };
    CARRIED.iter().map(|(name, cells)| ((*name).to_owned(), json!(row(*cells)))).collect()
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
