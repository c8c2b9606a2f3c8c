//! What `${X%y}` and its like make of a value.

use super::glob::segment_matches;
use super::values::is_literal;
use crate::policy::shell::{ANY, ONE, OUTER, STAR};

/// Longer values are not cut.
const LONGEST: usize = 200;
/// What stands in a pattern for more than itself, and what only a shell could fill in.
const OPEN: [char; 4] = ['*', '?', '[', '('];
const FILLED: [char; 7] = ['$', '`', '"', '\'', '\\', '{', '&'];

/// The text that stands behind `:-`, `=`, `+` and `?` for a value.
pub(super) fn default_in(operator: &str) -> Option<&str> {
    let instead = operator.strip_prefix(':').unwrap_or(operator).strip_prefix(['-', '=', '+', '?'])?;
    Some(instead.trim_matches(['"', '\'']))
}

/// What an operator makes of a value; none where that is not certain.
pub(crate) fn cut(value: &str, operator: &str) -> Option<String> {
    if value.contains([ANY, OUTER]) || value.len() > LONGEST || operator.contains(FILLED) {
        return None;
    }
    match operator {
        ",," => return Some(value.to_lowercase()),
        "^^" => return Some(value.to_uppercase()),
        // A name has no slash, also where it is not known.
        "##*/" => return Some(value.rsplit('/').next().unwrap_or_default().to_owned()),
        "%/*" => return Some(value.rsplit_once('/').map_or(value, |(folder, _)| folder).to_owned()),
        _ => {}
    }
    if let Some((is_end, is_longest, pattern)) = affix(operator) {
        let is_plain = !pattern.contains(OPEN);
        if is_plain && !pattern.is_empty() {
            let left = if is_end { value.strip_suffix(pattern) } else { value.strip_prefix(pattern) };
            // A pattern of file names may end as well in what it does not say.
            return left.or(is_literal(value).then_some(value)).map(str::to_owned);
        }
        if is_literal(value) {
            return Some(without(value, pattern, is_end, is_longest));
        }
        return known_part(value, pattern, is_end).filter(|_| !is_longest);
    }
    is_literal(value).then(|| replaced(value, operator).or_else(|| part(value, operator)))?
}

/// A folder that everybody has, as it is written elsewhere, and what stands behind it, where a value begins with one.
pub(super) fn placed(value: &str) -> Option<(&str, &str)> {
    let (place, behind) = value.split_at(value.find('/').unwrap_or(value.len()));
    matches!(place, "." | "~" | "~-" | "~+").then_some((place, behind))
}

/// What an operator makes of such a folder, of which only this is known, and of what stands behind it. The shell has a whole
/// path there, which begins with a slash.
pub(super) fn cut_place(place: &str, behind: &str, operator: &str) -> Option<Vec<String>> {
    // What was cut before is written with dots, which may stand there as text as well.
    let is_end = |at: usize| behind[at..].is_empty() || behind[at..].starts_with('/');
    let dots = behind.rmatch_indices("/..").map(|(at, dots)| at + dots.len()).find(|at| is_end(*at));
    let Some(dots) = dots else { return cut_known(place, behind, operator) };
    let above = cut_known(&format!("{place}{}", &behind[..dots]), &behind[dots..], operator)?;
    Some([above, cut_known(place, behind, operator)?].concat())
}

fn cut_known(place: &str, behind: &str, operator: &str) -> Option<Vec<String>> {
    let whole = || Some(vec![format!("{place}{behind}")]);
    let one = |text: String| Some(vec![text]);
    if matches!(operator, "::1" | ":0:1") {
        return one("/".to_owned());
    }
    if operator == ":0" || operator.starts_with('@') {
        return whole();
    }
    let (is_end, is_longest, pattern) = affix(operator)?;
    if pattern.contains(FILLED) || behind.contains([ANY, OUTER]) {
        return None;
    }
    let names = pattern.matches("/*").count();
    let is_plain = !pattern.is_empty() && !pattern.contains(OPEN);
    match (is_end, is_longest) {
        (true, _) if pattern == "/" => one(format!("{place}{}", behind.strip_suffix('/').unwrap_or(behind))),
        (true, true) if pattern == "/*" => one(String::new()),
        (true, false) if names > 0 && pattern == "/*".repeat(names) => {
            let slashes = behind.matches('/').count().min(names);
            let from = behind.rmatch_indices('/').nth(slashes.wrapping_sub(1)).map_or(behind.len(), |(at, _)| at);
            one(format!("{place}{}{}", &behind[..from], "/..".repeat(names - slashes)))
        }
        (true, _) if is_plain && behind.ends_with(pattern) => one(format!("{place}{}", behind.strip_suffix(pattern)?)),
        (true, _) if is_plain && (behind.len() >= pattern.len() || !pattern.ends_with(behind)) => whole(),
        (true, false) if is_literal(behind) => {
            let left = without(behind, pattern, true, false);
            (left != behind).then(|| vec![format!("{place}{left}")])
        }
        (false, _) if is_plain && !pattern.starts_with('/') => whole(),
        (false, true) => {
            let end = pattern.strip_prefix('*').filter(|end| !end.is_empty() && !end.contains(OPEN))?;
            match behind.rfind(end) {
                Some(at) => one(behind[at + end.len()..].to_owned()),
                // One name, and no folder.
                None if end == "/" => one(OUTER.to_string()),
                None => None,
            }
        }
        _ => None,
    }
}

/// The text that `/x/y` and `//x/y` put in the place of what they find, without its quotes; none where they only take away.
pub(super) fn put_in(operator: &str) -> Option<String> {
    let wanted = operator.strip_prefix('/')?;
    let wanted = wanted.strip_prefix(['/', '#', '%']).unwrap_or(wanted);
    let mut letters = wanted.char_indices();
    let at = loop {
        match letters.next()? {
            (_, '\\') => drop(letters.next()),
            (at, '/') => break at,
            _ => {}
        }
    };
    let put = wanted[at + 1..].replace(['\\', '"', '\''], "");
    (!put.is_empty()).then_some(put)
}

/// `%x`, `%%x`, `#x` and `##x`: whether it is cut from the end, whether as much as may be, and what.
fn affix(operator: &str) -> Option<(bool, bool, &str)> {
    let is_end = operator.starts_with('%');
    let mark = operator.chars().next().filter(|mark| matches!(mark, '%' | '#'))?;
    let pattern = &operator[1..];
    Some(match pattern.strip_prefix(mark) {
        Some(pattern) => (is_end, true, pattern),
        None => (is_end, false, pattern),
    })
}

/// The least that is cut, where it lies in what is known of a name.
fn known_part(value: &str, pattern: &str, is_end: bool) -> Option<String> {
    let open = [STAR, ONE];
    let (open, known) = match is_end {
        true => value.split_at(value.rfind(open).map(|at| at + value[at..].chars().next().map_or(0, char::len_utf8))?),
        false => value.split_at(value.find(open)?),
    };
    let (open, known) = if is_end { (open, known) } else { (known, open) };
    let cut = without(known, pattern, is_end, false);
    let whole = || if is_end { format!("{open}{cut}") } else { format!("{cut}{open}") };
    (cut != known).then(whole)
}

fn without(value: &str, pattern: &str, is_end: bool, is_longest: bool) -> String {
    let mut places: Vec<usize> = value.char_indices().map(|(at, _)| at).chain([value.len()]).collect();
    // From the least that is cut to the most, or the other way round.
    if is_end != is_longest {
        places.reverse();
    }
    let fits = |at: &usize| segment_matches(pattern, if is_end { &value[*at..] } else { &value[..*at] });
    match places.into_iter().find(fits) {
        Some(at) if is_end => value[..at].to_owned(),
        Some(at) => value[at..].to_owned(),
        None => value.to_owned(),
    }
}

/// `/x/y` and `//x/y`.
fn replaced(value: &str, operator: &str) -> Option<String> {
    let operator = operator.strip_prefix('/')?;
    let (all, operator) = operator.strip_prefix('/').map_or((false, operator), |rest| (true, rest));
    let (wanted, put) = operator.split_once('/').unwrap_or((operator, ""));
    if wanted.is_empty() || wanted.contains(OPEN) || wanted.starts_with(['#', '%']) {
        return None;
    }
    Some(if all { value.replace(wanted, put) } else { value.replacen(wanted, put, 1) })
}

/// `:1` and `:1:2`.
fn part(value: &str, operator: &str) -> Option<String> {
    let operator = operator.strip_prefix(':')?;
    let (from, length) = operator.split_once(':').map_or((operator, None), |(from, length)| (from, Some(length)));
    let is_number = |text: &str| !text.is_empty() && text.len() < 4 && text.chars().all(|c| c.is_ascii_digit());
    let number = |text: &str| is_number(text).then(|| text.parse::<usize>().ok()).flatten();
    let chars = value.chars().skip(number(from)?);
    match length {
        Some(length) => Some(chars.take(number(length)?).collect()),
        None => Some(chars.collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::STAR;

    #[test]
    fn what_is_cut_is_what_bash_cuts() {
        for (value, operator, made) in [
            ("a.tar.gz", "%.gz", "a.tar"),
            ("a.tar.gz", "%.*", "a.tar"),
            ("a.tar.gz", "%%.*", "a"),
            ("a.tar.gz", "#*.", "tar.gz"),
            ("a.tar.gz", "##*.", "gz"),
            ("a.c", "%.o", "a.c"),
            ("src/x/a.c", "##*/", "a.c"),
            ("src/x/a.c", "%/*", "src/x"),
            ("xab", "#?", "ab"),
            ("aXbXc", "/X/-", "a-bXc"),
            ("aXbXc", "//X/", "abc"),
            ("Ab", ",,", "ab"),
            ("Ab", "^^", "AB"),
            ("secrets", ":3", "rets"),
            ("secrets", ":0:3", "sec"),
        ] {
            assert_eq!(cut(value, operator).as_deref(), Some(made), "{value} {operator}");
        }
        for (place, behind, operator, made) in [
            (".", "", "%/*", Some("./..")),
            (".", "", "%/*/*", Some("./../..")),
            (".", "/a/b", "%/*", Some("./a")),
            (".", "/a/b", "%/*/*/*", Some("./..")),
            (".", "/a.c", "%.c", Some("./a")),
            (".", "/a.c", "%.o", Some("./a.c")),
            (".", "/a.c", "%.*", Some("./a")),
            ("~", "", "%/", Some("~")),
            ("~", "/", "%/", Some("~")),
            ("~", "", "%%/*", Some("")),
            ("~", "/a/b", "##*/", Some("b")),
            (".", "/a.tar.gz", "##*.", Some("gz")),
            (".", "/a", "#./", Some("./a")),
            (".", "/..", "%/*", Some("./../..")),
            (".", "/../a", "%/*", Some("./..")),
            (".", "/..", "##*/", Some("\u{2fffe}")),
            (".", "/..", "%x", None),
            (".", "", "::1", Some("/")),
            (".", "", "%x", None),
            (".", "", "%/x", None),
            (".", "", "#/", None),
            (".", "", "%%/t*", None),
            (".", "", "/a/b", None),
            (".", "", ":1", None),
            (".", "/a", "^^", None),
        ] {
            let found = cut_place(place, behind, operator);
            let found = found.map(|found| found[..1].to_vec());
            assert_eq!(found, made.map(|made| vec![made.to_owned()]), "{place}{behind} {operator}");
        }
        assert_eq!(cut(&format!("{STAR}.c"), "%.c"), Some(STAR.to_string()));
        assert_eq!(cut(&format!("{STAR}.c"), "%.*"), Some(STAR.to_string()));
        assert_eq!(cut(&format!("a-{STAR}"), "#*-"), Some(STAR.to_string()));
        assert_eq!(cut(&format!("{STAR}.c"), "%%.*"), None);
        for (value, operator) in [
            (format!("{STAR}"), "%.c"),
            (format!("a{ANY}"), "%.c"),
            ("a".to_owned(), "%$x"),
            ("a".to_owned(), "/[a]/b"),
            ("a".to_owned(), "/#a/b"),
            ("a".to_owned(), ":-1"),
            ("a".to_owned(), "@P"),
        ] {
            assert_eq!(cut(&value, operator), None, "{value} {operator}");
        }
    }
}
