//! The order in which clients prefer versions.

/// Orders versions as the API does: stable ones before beta before alpha, later ones first, others by name at the end.
pub(super) fn priority(version: &str) -> (u8, std::cmp::Reverse<u64>, std::cmp::Reverse<u64>, String) {
    let read = || -> Option<(u8, u64, u64)> {
        let rest = version.strip_prefix('v')?;
        let letters = rest.find(|letter: char| !letter.is_ascii_digit());
        let (major, rest) = rest.split_at(letters.unwrap_or(rest.len()));
        let (stage, rest) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            _ if rest.is_empty() => return Some((0, major.parse().ok()?, 0)),
            (Some(rest), _) => (1, rest),
            (_, Some(rest)) => (2, rest),
            _ => return None,
        };
        Some((stage, major.parse().ok()?, rest.parse().ok()?))
    };
    let reverse = std::cmp::Reverse;
    match read() {
        Some((stage, major, minor)) => (stage, reverse(major), reverse(minor), String::new()),
        None => (3, reverse(0), reverse(0), version.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_in_the_order_of_the_api() {
        let mut versions = [
            "foo1", "v1alpha1", "v1", "v11beta2", "v10", "v3beta1", "v1beta1", "v2", "foo10",
        ];
        versions.sort_by_cached_key(|version| priority(version));
        assert_eq!(
            versions,
            [
                "v10", "v2", "v1", "v11beta2", "v3beta1", "v1beta1", "v1alpha1", "foo1", "foo10"
            ]
        );
    }
}
