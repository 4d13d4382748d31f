//! What a reconcile may fail with: any error, and how to go on from it.
use crate::redaction;
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
///
/// # Secrets
/// It is logged, so it does not repeat what a decoder, a proxy or a credential plugin quoted: of a value that does not
/// decode it prints where and why, of a proxy's page the code. That holds for errors of yours around such a one, if
/// their `source` leads to it; what you copy into a text of your own is printed. The error itself is inside, whole:
/// see [`downcast_ref`](Self::downcast_ref).
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

    /// The error inside and what led to it.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        let first: &(dyn StdError + 'static) = &*self.source;
        std::iter::successors(Some(first), |error: &&'_ (dyn StdError + 'static)| {
            StdError::source(*error)
        })
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
        let mut texts = redaction::texts(&*self.source).into_iter();
        let mut said = texts.next().unwrap_or_default();
        f.write_str(&said)?;
        if !f.alternate() {
            return Ok(());
        }
        for text in texts {
            // kube's errors print their source themselves: say each text once.
            if !said.contains(&text) {
                write!(f, ": {text}")?;
                said = text;
            }
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

    /// What serde says of it quotes the value.
    fn undecodable() -> serde_json::Error {
        let object = r#"{"metadata": {"name": "keys"}, "immutable": "hunter2"}"#;
        let error = serde_json::from_str::<k8s_openapi::api::core::v1::Secret>(object).unwrap_err();
        assert!(error.to_string().contains("hunter2"), "{error}");
        error
    }

    fn forms(error: &Error) -> [String; 3] {
        [format!("{error}"), format!("{error:#}"), format!("{error:?}")]
    }

    #[test]
    fn a_value_that_does_not_decode_is_printed_in_no_form_however_deep_it_is() {
        #[derive(Debug, thiserror::Error)]
        #[error("reading the keys: {0}")]
        struct Told(#[source] kube::Error);
        #[derive(Debug, thiserror::Error)]
        #[error("reading the keys: {0:?}")]
        struct Dumped(#[source] Box<kube::Error>);
        #[derive(Debug, thiserror::Error)]
        #[error("reading the keys: {0:?}")]
        struct Boxed(#[source] Box<serde_json::Error>);
        let kube = || kube::Error::SerdeError(undecodable());
        for error in [
            Error::from(kube()),
            Error::from(undecodable()),
            Error::give_up(kube()),
            Error::retry_after(kube(), Duration::from_secs(1)),
            Error::from(Told(kube())),
            Error::from(Dumped(Box::new(kube()))),
            Error::from(Boxed(Box::new(undecodable()))),
            Error::from(std::io::Error::other(kube())),
        ] {
            for form in forms(&error) {
                assert!(!form.contains("hunter2"), "{form}");
                assert!(form.contains("does not fit its type, at line 1 column"), "{form}");
            }
        }
    }

    #[test]
    fn a_page_of_a_proxy_is_printed_in_no_form() {
        let page = Status::failure("<html>token=hunter2</html>", "Failed to parse error data");
        let error = Error::from(kube::Error::Api(page.with_code(502).boxed()));
        assert_eq!(forms(&error), ["the server answered 502"; 3]);
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
