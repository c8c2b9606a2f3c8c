//! Hosts of addresses, and `domain:` rules on them.

/// Whether a deny or ask rule may be about this address, in any way a program could read it.
pub(crate) fn strictly(specifier: &str, url: Option<&str>) -> bool {
    let (Some(domain), Some(url)) = (specifier.strip_prefix("domain:"), url) else { return false };
    possible_hosts(url).iter().any(|host| fits(domain, host))
}

/// Whether an allow rule is surely about this address.
pub(crate) fn surely(specifier: &str, url: Option<&str>) -> bool {
    let (Some(domain), Some(url)) = (specifier.strip_prefix("domain:"), url) else { return false };
    sure_host(url).is_some_and(|host| fits(domain, &host))
}

/// The host of a plain `https://host:port/path`, without anything that programs read in different ways.
pub(crate) fn sure_host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let odd = url.chars().any(|c| c == '\\' || c.is_control() || c.is_whitespace());
    let plain = !host.is_empty() && host.chars().all(is_host) && port.chars().all(|c| c.is_ascii_digit());
    (plain && !odd && !host.ends_with('.')).then(|| host.to_ascii_lowercase())
}

fn possible_hosts(url: &str) -> Vec<String> {
    let plain: String = url.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let rest = plain.split_once(':').map_or(plain.as_str(), |(_, rest)| rest).trim_start_matches(['/', '\\']);
    let mut hosts = vec![];
    for rest in [rest, plain.trim_start_matches(['/', '\\'])] {
        for ends in [&['/', '?', '#'][..], &['/', '?', '#', '\\'][..]] {
            let authority = rest.split(ends).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            let host = host.split(':').next().unwrap_or_default().trim_end_matches('.');
            hosts.push(host.to_lowercase());
        }
    }
    hosts.dedup();
    hosts
}

/// `*` is every host, `*.h` every one below h, and any other `*` stays between two dots.
fn fits(domain: &str, host: &str) -> bool {
    let domain = domain.trim().to_lowercase();
    if domain == "*" {
        return true;
    }
    if let Some(apex) = domain.strip_prefix("*.").filter(|apex| !apex.contains('*')) {
        return host.strip_suffix(apex).is_some_and(|below| below.len() > 1 && below.ends_with('.'));
    }
    let (domain, host): (Vec<&str>, Vec<&str>) = (domain.split('.').collect(), host.split('.').collect());
    domain.len() == host.len()
        && domain.iter().zip(host).all(|(label, part)| super::glob::text_matches(label, part) && !part.is_empty())
}
