//! Why a credential program gave nothing. No word of what it printed is in here.
use crate::child;
use std::{io, time::Duration};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum Failure {
    #[error("not found: install it, or name it by its absolute path{}", .hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default())]
    NotFound { hint: Option<String> },
    #[error("cannot be started: {0}")]
    NotStarted(io::ErrorKind),
    #[error("did not end within {0:?} and was killed: it must not ask questions, and must answer sooner")]
    TimedOut(Duration),
    #[error("waited {0:?} for its turn: too many programs run at once, or are slow")]
    Busy(Duration),
    #[error("is still running, and nothing can be asked of the server until it is done")]
    Running,
    #[error("exited with code {0}: run it by hand to see what it says")]
    Exit(i32),
    #[error("was ended by signal {0}")]
    Signal(i32),
    #[error("printed more than 1 MiB, which no credential is")]
    TooMuch,
    #[error("its output could not be read: {0}")]
    Output(io::ErrorKind),
    #[error("printed something that is no ExecCredential")]
    NotACredential,
    #[error("printed an ExecCredential of another version than the {0} that the kubeconfig names")]
    OtherVersion(String),
    #[error("printed an ExecCredential without status")]
    NoStatus,
    #[error("gave neither a token nor a client certificate")]
    Empty,
    #[error("gave a client certificate without its key")]
    LoneCertificate,
    #[error("gave a client key without its certificate")]
    LoneKey,
    #[error("gave a token with characters that no header can carry")]
    Token,
    #[error("gave a client certificate that cannot be used: {0}")]
    Certificate(&'static str),
    #[error("gave an expirationTimestamp that is no RFC 3339 time")]
    Expiry,
    #[error("gave a credential that has expired already: compare its clock with that of this machine")]
    Expired,
    #[error("is no longer wanted")]
    Stopped,
}

impl From<child::Failure> for Failure {
    fn from(failure: child::Failure) -> Self {
        match failure {
            child::Failure::NotFound => Self::NotFound { hint: None },
            child::Failure::NotStarted(kind) => Self::NotStarted(kind),
            child::Failure::TimedOut(deadline) => Self::TimedOut(deadline),
            child::Failure::Exit(code) => Self::Exit(code),
            child::Failure::Signal(signal) => Self::Signal(signal),
            child::Failure::TooMuch(_) => Self::TooMuch,
            child::Failure::Output(kind) => Self::Output(kind),
            child::Failure::Unfinished => Self::NotACredential,
            child::Failure::Stopped => Self::Stopped,
        }
    }
}
