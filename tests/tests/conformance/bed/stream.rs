//! Answers that come line by line.

use std::time::Duration;

use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use tokio::time::error::Elapsed;

/// For the next line. What a behaviour waits for has happened already, or happens at once.
const NEXT: Duration = Duration::from_secs(30);
/// For a line that is not to come. On the simulator this takes no time: the clock is paused.
const NOTHING: Duration = Duration::from_millis(300);

/// A watch, read a line at a time.
pub(crate) struct Watch {
    request: String,
    code: u16,
    body: Body,
    /// Read, and not yet given out.
    rest: Vec<u8>,
    /// Lines given out, for a failure to show.
    lines: Vec<String>,
}

impl Watch {
    pub(super) fn new(request: String, code: u16, body: Body) -> Self {
        Self {
            request,
            code,
            body,
            rest: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// The HTTP status code.
    pub(crate) fn code(&self) -> u16 {
        self.code
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Value {
        match tokio::time::timeout(NEXT, self.line()).await {
            Ok(Some(event)) => event,
            Ok(None) => panic!("the stream ended:\n{}", self.shown()),
            Err(Elapsed { .. }) => panic!("no line within {NEXT:?}:\n{}", self.shown()),
        }
    }

    /// The object of the next event, which is of this type.
    pub(crate) async fn next_of(&mut self, event_type: &str) -> Value {
        let mut event = self.next().await;
        assert!(
            event["type"] == event_type,
            "expected {event_type}:\n{}",
            self.shown()
        );
        event["object"].take()
    }

    /// Types and names of the next events, as in `ADDED a`.
    pub(crate) async fn next_names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            let event = self.next().await;
            let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
            names.push(format!("{} {name}", event["type"].as_str().unwrap_or_default()));
        }
        names
    }

    /// Fails if an event comes within a short while.
    pub(crate) async fn nothing(&mut self) {
        let line = tokio::time::timeout(NOTHING, self.line()).await;
        assert!(line.is_err(), "expected nothing more:\n{}", self.shown());
    }

    /// The events up to the end of the stream, which comes by itself.
    pub(crate) async fn until_end(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            match tokio::time::timeout(NEXT, self.line()).await {
                Ok(Some(event)) => events.push(event),
                Ok(None) => return events,
                Err(Elapsed { .. }) => panic!("no end within {NEXT:?}:\n{}", self.shown()),
            }
        }
    }

    async fn line(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(self.parse(&line));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.rest.extend(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => panic!("the stream broke off: {error}:\n{}", self.shown()),
                // What is refused comes as one object without an end of line.
                None if !self.rest.is_empty() => {
                    let line = std::mem::take(&mut self.rest);
                    return Some(self.parse(&line));
                }
                None => return None,
            }
        }
    }

    fn parse(&mut self, line: &[u8]) -> Value {
        self.lines
            .push(String::from_utf8_lossy(line).trim_end().to_owned());
        serde_json::from_slice(line).unwrap_or_else(|error| panic!("no JSON: {error}:\n{}", self.shown()))
    }

    fn shown(&self) -> String {
        format!("{}\n-> {}\n{}", self.request, self.code, self.lines.join("\n"))
    }
}
