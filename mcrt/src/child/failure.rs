//! Why a program gave nothing. No word of what it printed is in here.
use std::{io, time::Duration};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("not found: install it, or name it by its absolute path")]
    NotFound,
    #[error("cannot be started: {0}")]
    NotStarted(io::ErrorKind),
    #[error("did not end within {0:?} and was killed")]
    TimedOut(Duration),
    #[error("exited with code {0}")]
    Exit(i32),
    #[error("was ended by signal {0}")]
    Signal(i32),
    #[error("printed more than {0} bytes")]
    TooMuch(usize),
    #[error("its output could not be read: {0}")]
    Output(io::ErrorKind),
    #[error("has ended, but something that it started goes on printing: what was read is not all")]
    Unfinished,
    #[error("is no longer wanted")]
    Stopped,
}
