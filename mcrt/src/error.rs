//! What a reconcile may fail with: any error, and how to go on from it.
use std::{error::Error as StdError, fmt, time::Duration};

/// The result of a reconcile and of most calls in one.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error at the reconciler's border, with a class that says how to go on.
///
/// Every `std::error::Error` converts into it, so `?` works on all of them. The class is taken from a
/// [`kube::Error`] where there is one (a server that says `Retry-After` is asked again then); every other
/// error is tried again after the key's backoff.
///
/// Like `anyhow::Error` it is no `std::error::Error` itself. `{}` prints the error, `{:#}` the whole chain.
pub struct Error {
    source: Box<dyn StdError + Send + Sync>,
    class: ErrorClass,
}

/// How to go on after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// Try again after the key's backoff.
    Retry,
    /// Try again after this long.
    RetryAfter(Duration),
    /// Wait for the next change of the object: trying again cannot help.
    GiveUp,
}

impl Error {
    /// An error that is not tried again before the object changes.
    pub fn give_up(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            source: source.into(),
            class: ErrorClass::GiveUp,
        }
    }

    /// An error that is tried again after `delay` instead of the key's backoff.
    pub fn retry_after(source: impl Into<Box<dyn StdError + Send + Sync>>, delay: Duration) -> Self {
        Self {
            source: source.into(),
            class: ErrorClass::RetryAfter(delay),
        }
    }

    /// An error from a text, tried again after the key's backoff.
    pub fn msg(text: impl Into<String>) -> Self {
        Self {
            source: text.into().into(),
            class: ErrorClass::Retry,
        }
    }

    /// How to go on.
    pub fn class(&self) -> ErrorClass {
        self.class
    }

    /// The error inside, if it is an `E`.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.source.downcast_ref()
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Error {
    fn from(source: E) -> Self {
        let class = (&source as &dyn StdError)
            .downcast_ref()
            .map_or(ErrorClass::Retry, class_of);
        Self {
            source: Box::new(source),
            class,
        }
    }
}

/// The longest wait that a server may ask for: a lying one must not park a key for days.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(5);

fn class_of(error: &kube::Error) -> ErrorClass {
    let kube::Error::Api(status) = error else {
        return ErrorClass::Retry;
    };
    match status.details.as_ref().map(|details| details.retry_after_seconds) {
        Some(seconds) if seconds > 0 => {
            ErrorClass::RetryAfter(Duration::from_secs(u64::from(seconds)).min(MAX_RETRY_AFTER))
        }
        _ => ErrorClass::Retry,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.source, f)?;
        if !f.alternate() {
            return Ok(());
        }
        // kube's errors print their source themselves: say each text once.
        let mut said = self.source.to_string();
        let mut source = self.source.source();
        while let Some(error) = source {
            let text = error.to_string();
            if !said.contains(&text) {
                write!(f, ": {text}")?;
                said = text;
            }
            source = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn any_error_converts_and_is_tried_again() {
        fn fails() -> Result<()> {
            Err(std::io::Error::other("disk"))?;
            Ok(())
        }
        let error = fails().unwrap_err();
        assert_eq!(error.class(), ErrorClass::Retry);
        assert!(error.downcast_ref::<std::io::Error>().is_some());
    }

    #[test]
    fn the_alternate_form_prints_the_chain() {
        let error = Error::from(Outer(std::io::Error::other("inner")));
        assert_eq!(error.to_string(), "outer");
        assert_eq!(format!("{error:#}"), "outer: inner");
    }

    #[test]
    fn a_server_that_asks_for_time_gets_it_up_to_a_bound() {
        let asks = |seconds: u32| {
            let status = serde_json::json!({
                "status": "Failure", "code": 429, "message": "slow down",
                "details": { "retryAfterSeconds": seconds },
            });
            let status: Status = serde_json::from_value(status).unwrap();
            Error::from(kube::Error::Api(Box::new(status))).class()
        };
        assert_eq!(asks(7), ErrorClass::RetryAfter(Duration::from_secs(7)));
        assert_eq!(asks(86_400), ErrorClass::RetryAfter(MAX_RETRY_AFTER));
    }
}
