//! When a credential is refreshed, and when a program that failed is asked again.
use crate::jitter::around;
use std::time::Duration;

/// What is left of a credential's life when it is refreshed: a tenth, at least this, at most half.
const MARGIN: Duration = Duration::from_secs(10);
/// A credential of a very short life is refreshed no more often than this.
const SHORTEST: Duration = Duration::from_secs(1);
/// What lasts longer is looked at again after this time: no timer goes further.
const LONGEST: Duration = Duration::from_hours(24 * 30);
/// After a failure; doubled with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// After what time to refresh what lasts so long. By chance up to half the margin sooner, so that what began together
/// does not go on in step.
pub(in super::super) fn refresh_after(lasts: Duration) -> Duration {
    let margin = MARGIN.max(lasts / 10).min(lasts / 2);
    // A fifth about five quarters: the margin itself at least.
    let margin = around(margin.mul_f64(1.25));
    lasts.saturating_sub(margin).clamp(SHORTEST, LONGEST)
}

/// How long a program is left alone after so many failures in a row.
pub(in super::super) fn again_after(failures: u32) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16));
    around(doubled.min(LONGEST_PAUSE))
}
