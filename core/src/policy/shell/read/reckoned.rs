//! `$((…))`: what is reckoned runs nothing but the commands that stand in it, and what the names in it hold.

use super::super::doubt;

/// A number that is reckoned from others.
pub(super) struct Reckoned {
    /// How long it is as it is written.
    pub(super) length: usize,
    /// Commands that print numbers into it.
    pub(super) printed: Vec<String>,
    has_names: bool,
}

impl Reckoned {
    /// Reads what stands behind `$((`. None where it is more than numbers, names, operators and plain commands: then it may
    /// be a list of commands in brackets.
    pub(super) fn read(inside: &[char]) -> Option<Self> {
        let mut reckoned = Self { length: 0, printed: vec![], has_names: false };
        let (mut at, mut open) = (0, 0_usize);
        let mut is_behind_number = false;
        while let Some(c) = inside.get(at) {
            let is_number = c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
            // Two numbers beside each other are words.
            if is_number && is_behind_number {
                return None;
            }
            match c {
                ' ' => {}
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' => {
                    reckoned.length = at + "$((".len() + "))".len();
                    return (at > 0 && inside.get(at + 1) == Some(&')')).then_some(reckoned);
                }
                '$' if inside.get(at + 1) == Some(&'(') && inside.get(at + 2) != Some(&'(') => {
                    let (command, length) = plain_command(&inside[at + 2..])?;
                    reckoned.printed.push(command);
                    at += length + "$(".len();
                }
                '$' if inside.get(at + 1) == Some(&'{') => {
                    let length = inside[at + 2..].iter().position(|c| !is_of_name(*c))?;
                    reckoned.has_names = true;
                    at += length + "${".len();
                    (inside.get(at) == Some(&'}')).then_some(())?;
                }
                c if is_number => {
                    reckoned.has_names |= !c.is_ascii_digit();
                    at += inside[at + 1..].iter().position(|c| !is_of_name(*c))?;
                }
                // What sets a name is more than reckoning.
                '=' if !is_compared(inside, at) => return None,
                '+' | '-' if inside.get(at + 1) == Some(c) => return None,
                c if "+-*/%<>=!&|^~?:,".contains(*c) => {}
                _ => return None,
            }
            is_behind_number = is_number || *c == ' ' && is_behind_number;
            at += 1;
        }
        None
    }

    pub(super) fn doubt(&self) -> &'static str {
        match (self.has_names, self.printed.is_empty()) {
            (true, _) => doubt::RECKONED,
            (false, true) => doubt::NUMBER,
            (false, false) => doubt::PRINTED,
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `==`, `<=`, `>=` and `!=`
fn is_compared(inside: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| inside.get(at));
    matches!(before, Some('=' | '<' | '>' | '!')) || inside.get(at + 1) == Some(&'=')
}

/// A command without quotes, up to the bracket that closes it, and how far that is.
fn plain_command(inside: &[char]) -> Option<(String, usize)> {
    let end = inside.iter().position(|c| matches!(c, ')' | '(' | '\'' | '"' | '`' | '\\' | '\n' | '$'))?;
    (inside[end] == ')').then(|| (inside[..end].iter().collect(), end))
}
