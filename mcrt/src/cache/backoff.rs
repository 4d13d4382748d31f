//! How the pauses of a failing watch grow.
use crate::jitter::between;
use std::time::Duration;

/// The first pause.
const FIRST: Duration = Duration::from_secs(1);
/// The longest, before chance adds to it. With it a dead server gets 12 lists in 300 s at most: 1, 2, 4, 8, 16, 32 and
/// six times 40 s are 303 s. kube's own backoff, up to 30 s with chance on both sides, came to 15.
const LONGEST: Duration = Duration::from_secs(40);
/// Chance adds up to one part in this many: it never shortens a pause, or the bound would not hold.
const CHANCE: u32 = 4;

/// The pauses of one watch, each twice the one before.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { next: FIRST }
    }

    pub(crate) fn pause(&mut self) -> Duration {
        let least = self.next;
        self.next = (least * 2).min(LONGEST);
        between(least, least + least / CHANCE)
    }

    /// Something was got from the server: the next failure is another one.
    pub(crate) fn reset(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_mins(5);

    /// How many attempts there are in five minutes if each fails at once.
    fn attempts(mut pause: impl FnMut() -> Duration) -> usize {
        let (mut at, mut attempts) = (Duration::ZERO, 0);
        while at <= SPAN {
            at += pause();
            attempts += 1;
        }
        attempts
    }

    #[test]
    fn a_dead_server_is_asked_at_most_twelve_times_in_five_minutes_however_chance_falls() {
        let mut shortest = FIRST;
        let without_chance = attempts(|| {
            let pause = shortest;
            shortest = (shortest * 2).min(LONGEST);
            pause
        });
        assert_eq!(without_chance, 12);
        for _ in 0..20_000 {
            let mut backoff = Backoff::new();
            let asked = attempts(|| backoff.pause());
            assert!((10..=12).contains(&asked), "{asked} attempts");
        }
    }

    #[test]
    fn progress_starts_the_pauses_over() {
        let mut backoff = Backoff::new();
        for _ in 0..10 {
            backoff.pause();
        }
        assert!(backoff.pause() >= LONGEST);
        backoff.reset();
        assert!(backoff.pause() < FIRST * 2);
    }
}
