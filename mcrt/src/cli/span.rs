//! Spans of time as people write them.
use std::time::Duration;

/// Units, the longest name first: `ms` ends in `s`.
const UNITS: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// A number and a unit, such as `2s` or `1.5m`.
pub(super) fn span(text: &str) -> Result<Duration, &'static str> {
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .ok_or("needs a unit: `ms`, `s`, `m` or `h`, such as in `2s`")?;
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| "is no number before its unit")?;
    if number <= 0.0 {
        return Err("must be more than nothing");
    }
    Duration::try_from_secs_f64(number * unit).map_err(|_| "is too long")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        for (text, milliseconds) in [("2s", 2000), ("500ms", 500), ("1.5m", 90_000), ("1 h", 3_600_000)] {
            assert_eq!(span(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "2", "s", "0s", "-1s", "NaNs", "two s", "1e300h", "infs"] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
