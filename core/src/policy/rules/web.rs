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
    let host = host.to_ascii_lowercase();
    // A number has many spellings, and the plain one alone is sure.
    let one_spelling = number(&host).is_none_or(|plain| plain == host);
    (plain && !odd && one_spelling && !host.ends_with('.')).then_some(host)
}

/// Whether the host of an address has letters that programs put others in the place of.
pub(crate) fn hides_host(url: &str) -> bool {
    possible_hosts(url).iter().any(|host| !host.is_ascii())
}

fn possible_hosts(url: &str) -> Vec<String> {
    let plain: String = url.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let rest = plain.split_once(':').map_or(plain.as_str(), |(_, rest)| rest).trim_start_matches(['/', '\\']);
    let mut hosts = vec![];
    for rest in [rest, plain.trim_start_matches(['/', '\\'])] {
        for ends in [&['/', '?', '#'][..], &['/', '?', '#', '\\'][..]] {
            let authority = rest.split(ends).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            hosts.extend(bracketed(host));
            let host = host.split(':').next().unwrap_or_default().trim_end_matches('.').to_lowercase();
            let decoded = decoded(&host).trim_end_matches('.').to_lowercase();
            hosts.extend(number(&decoded));
            hosts.extend([decoded, host]);
        }
    }
    hosts.dedup();
    hosts
}

/// The spellings of `[::ffff:127.0.0.1]`: a longer address, and the shorter one that it leads to.
fn bracketed(host: &str) -> Vec<String> {
    let inside = decoded(host.trim_start_matches('[').split([']', '%']).next().unwrap_or_default());
    let Ok(address) = inside.parse::<core::net::Ipv6Addr>() else { return vec![] };
    let [a, b, c, d, e, f, high, low] = address.segments();
    let last = core::net::Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    let mut hosts = vec![address.to_string(), format!("[{address}]")];
    // Mapped, compatible, translated by NAT64, and 6to4.
    let leads_on = (a, b, c, d) == (0, 0, 0, 0) && e == 0 && matches!(f, 0 | 0xffff) || (a, b) == (0x64, 0xff9b);
    if leads_on {
        hosts.push(last.to_string());
    }
    if a == 0x2002 {
        hosts.push(core::net::Ipv4Addr::from((u32::from(b) << 16) | u32::from(c)).to_string());
    }
    hosts
}

/// An address of four numbers in its plain spelling, whichever it has: `127.1`, `0x7f.1` and `2130706433` are 127.0.0.1.
/// None for names; what ends like a number and is none has no spelling that anyone could write in a rule.
fn number(host: &str) -> Option<String> {
    let parts: Vec<&str> = host.split('.').collect();
    let last = parts.last()?;
    let is_number = last.starts_with("0x") || !last.is_empty() && last.chars().all(|c| c.is_ascii_digit());
    is_number.then(|| ipv4(&parts).unwrap_or_default())
}

fn ipv4(parts: &[&str]) -> Option<String> {
    let (last, before) = parts.split_last()?;
    let number = |part: &str| match (part.strip_prefix("0x"), part.strip_prefix('0')) {
        (Some(""), _) | (None, Some("")) => Some(0),
        (Some(digits), _) => u32::from_str_radix(digits, 16).ok(),
        (None, Some(digits)) => u32::from_str_radix(digits, 8).ok(),
        (None, None) => part.parse().ok(),
    };
    let mut address: u32 = 0;
    for (at, part) in before.iter().enumerate() {
        let byte = number(part).filter(|byte| at < 3 && *byte < 256)?;
        address |= byte << (24 - 8 * at);
    }
    // The last one fills all the bytes that are left.
    let last = number(last).filter(|last| u64::from(*last) < 1 << (32 - 8 * before.len()))?;
    Some((address | last).to_be_bytes().map(|byte| byte.to_string()).join("."))
}

/// With `%41` as A.
fn decoded(host: &str) -> String {
    let mut parts = host.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[2..]);
            }
            None => bytes.extend([b"%", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
        && domain
            .iter()
            .zip(host)
            .all(|(label, part)| crate::policy::words::glob::text_matches(label, part) && !part.is_empty())
}
