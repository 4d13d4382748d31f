//! The formats of texts and numbers that the API server looks at; it lets all others pass.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Whether a text has a format.
pub(crate) fn fits(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => is_time(text),
        "date" => jiff::civil::Date::strptime("%Y-%m-%d", text).is_ok() && text.len() == 10,
        "byte" => STANDARD.decode(text).is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_network(text),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => is_uuid(text),
        "email" => is_email(text),
        "hostname" => is_host_name(text),
        "mac" => is_mac(text),
        "uri" => text.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme)) || text.starts_with('/'),
        "duration" => is_duration(text),
        _ => true,
    }
}

/// Whether a whole number has a format.
pub(crate) fn fits_number(format: &str, number: i64) -> bool {
    format != "int32" || i32::try_from(number).is_ok()
}

fn is_time(text: &str) -> bool {
    // RFC 3339 separates date and time by a T and ends in a zone.
    let separated = text.get(10..11).is_some_and(|letter| matches!(letter, "T" | "t"));
    separated && text.parse::<jiff::Timestamp>().is_ok()
}

fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let most = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Ok(_), _) => 32,
        (_, Ok(_)) => 128,
        _ => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

fn is_uuid(text: &str) -> bool {
    let text = text.replace('-', "");
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else {
        return false;
    };
    !name.is_empty() && !name.contains(char::is_whitespace) && is_host_name(host)
}

fn is_host_name(text: &str) -> bool {
    let label = |label: &str| {
        let letters = label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        letters && !label.is_empty() && label.len() < 64 && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() < 256 && text.split('.').all(label)
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<_> = text.split([':', '-']).collect();
    let hex = |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(parts.len(), 6 | 8 | 20) && parts.iter().all(hex)
}

fn is_scheme(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(letter)
}

/// A duration as Go writes it: numbers with units, as in `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut seen = false;
    while !rest.is_empty() {
        let number = rest
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(rest.len());
        let units = ["ns", "us", "µs", "ms", "s", "m", "h", "d", "w"];
        let after = &rest[number..];
        let Some(unit) = units.iter().find(|unit| after.starts_with(**unit)) else {
            return false;
        };
        if number == 0 {
            return false;
        }
        rest = &after[unit.len()..];
        seen = true;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn formats_tell_what_fits_from_what_does_not() {
        let cases = [
            ("date-time", "2026-01-02T03:04:05Z", "2026-01-02"),
            ("date", "2026-01-02", "2026-1-2"),
            ("byte", "dmFsdWU=", "*"),
            ("ipv4", "10.0.0.1", "10.0.0"),
            ("ipv6", "fe80::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/40"),
            ("uuid", "0e84cb5a-df47-49d5-b234-eaaef88acef2", "0e84"),
            ("email", "a@example.com", "example.com"),
            ("hostname", "example.com", "-a"),
            ("mac", "00:11:22:33:44:55", "00:11"),
            ("duration", "1h30m", "soon"),
        ];
        for (format, good, bad) in cases {
            assert!(fits(format, good) && !fits(format, bad), "{format}");
        }
        assert!(fits("colour", "any"));
    }
}
