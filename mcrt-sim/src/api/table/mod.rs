//! Answers as tables, which is what `kubectl get` prints.

mod builtin;
mod custom;
mod jsonpath;

use bytes::Bytes;
use futures::StreamExt;
use serde_json::{Value, json};

use crate::api::answer::Answer;
use crate::refusal::status::Status;
use crate::request::info::RequestInfo;
use crate::server::Inner;
use crate::state::object::ObjectKey;
use crate::state::target::Target;

/// The columns of one kind, and how an object fills them.
struct Columns {
    definitions: Vec<Value>,
    cells: Cells,
}

enum Cells {
    Builtin(&'static [builtin::Column]),
    Custom(Vec<custom::Column>),
}

/// What a row carries beside its cells.
#[derive(Clone, Copy)]
enum Include {
    Nothing,
    Metadata,
    Object,
}

/// How the objects of one request are shown.
pub(crate) struct Table {
    columns: Columns,
    include: Include,
    kind: String,
    api_version: String,
}

impl Table {
    /// Reads how the objects of a kind are to be shown.
    pub(crate) fn new(server: &Inner, target: &Target, info: &RequestInfo) -> Result<Self, Status> {
        let include = match info.query("includeObject") {
            None | Some("" | "Metadata") => Include::Metadata,
            Some("None") => Include::Nothing,
            Some("Object") => Include::Object,
            Some(other) => {
                return Err(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: \"{other}\": must be \
                     'Metadata', 'Object', 'None', or empty"
                )));
            }
        };
        Ok(Self {
            columns: Columns::of(server, target),
            include,
            kind: target.kind.kind.clone(),
            api_version: target.version.api_version.clone(),
        })
    }

    /// Turns the answer of an operation on objects into a table; what is not about objects stays as it is.
    pub(crate) fn show(self, answer: Answer) -> Answer {
        match answer {
            Answer::Json(code, bytes) => match serde_json::from_slice::<Value>(&bytes) {
                Ok(value) if value["kind"] != "Status" => {
                    Answer::Json(code, self.of(&value, true).to_string().into_bytes())
                }
                _ => Answer::Json(code, bytes),
            },
            Answer::Events(frames) => {
                let mut first = true;
                let frames = frames.map(move |frame| self.of_events(&frame, &mut first));
                Answer::Events(Box::pin(frames))
            }
            Answer::Warned(warnings, answer) => Answer::Warned(warnings, Box::new(self.show(*answer))),
            other @ (Answer::Text(..) | Answer::Typed(..)) => other,
        }
    }

    /// A list or a single object as a table.
    fn of(&self, value: &Value, headers: bool) -> Value {
        let rows: Vec<_> = match value["items"].as_array() {
            Some(items) => items.iter().map(|item| self.row(item)).collect(),
            None => vec![self.row(value)],
        };
        let mut metadata = json!({});
        for field in ["resourceVersion", "continue", "remainingItemCount"] {
            if let Some(known) = value["metadata"].get(field) {
                metadata[field] = known.clone();
            }
        }
        let definitions = headers.then_some(&self.columns.definitions);
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            "columnDefinitions": definitions, "rows": rows,
        })
    }

    fn row(&self, object: &Value) -> Value {
        let shown = match self.include {
            Include::Nothing => Value::Null,
            Include::Metadata => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": object["metadata"],
            }),
            Include::Object => {
                let mut object = object.clone();
                object["kind"] = self.kind.as_str().into();
                object["apiVersion"] = self.api_version.as_str().into();
                object
            }
        };
        json!({"cells": self.columns.cells(object), "object": shown})
    }

    /// A frame of events, a line each. Only the first of a watch says what the columns are.
    fn of_events(&self, frame: &Bytes, first: &mut bool) -> Bytes {
        let mut out = Vec::with_capacity(frame.len());
        for line in frame.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Value>(line) {
                Ok(mut event) if event["object"]["kind"] != "Status" => {
                    event["object"] = self.of(&event["object"], std::mem::take(first));
                    out.extend_from_slice(event.to_string().as_bytes());
                }
                _ => out.extend_from_slice(line),
            }
            out.push(b'\n');
        }
        out.into()
    }
}

impl Columns {
    fn of(server: &Inner, target: &Target) -> Self {
        if target.kind.builtin {
            let columns = builtin::columns(&target.kind.id);
            return Self {
                definitions: columns.iter().map(builtin::Column::definition).collect(),
                cells: Cells::Builtin(columns),
            };
        }
        let definition = definition(server, &target.kind.id).unwrap_or_default();
        let columns = custom::columns(&definition, &target.version.name);
        Self {
            definitions: columns.iter().map(custom::Column::definition).collect(),
            cells: Cells::Custom(columns),
        }
    }

    fn cells(&self, object: &Value) -> Vec<Value> {
        match &self.cells {
            Cells::Builtin(columns) => columns.iter().map(|column| column.cell(object)).collect(),
            Cells::Custom(columns) => columns.iter().map(|column| column.cell(object)).collect(),
        }
    }
}

/// The `CustomResourceDefinition` of a kind, unless the kind was registered without one.
pub(crate) fn definition(server: &Inner, id: &str) -> Option<Value> {
    let store = server.store();
    let crds = store.target(crate::state::kind::CRDS)?;
    let found = store.find(&crds.kind, &ObjectKey::new("", id));
    found.map(|found| crds.thaw(&found))
}

/// How long ago a time was, as `kubectl` writes it.
fn age(time: &Value) -> Value {
    let Some(time) = time.as_str() else {
        return "<unknown>".into();
    };
    match time.parse::<jiff::Timestamp>() {
        Ok(time) => human(jiff::Timestamp::now().as_second() - time.as_second()).into(),
        Err(_) => "<invalid>".into(),
    }
}

/// A duration in the two largest units that matter at its size.
fn human(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |large: i64, large_name: &str, small: i64, small_name: &str| match seconds % large / small {
        0 => format!("{}{large_name}", seconds / large),
        rest => format!("{}{large_name}{rest}{small_name}", seconds / large),
    };
    match seconds {
        // A second of difference between two clocks is nothing.
        i64::MIN..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(MINUTE, "m", 1, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(HOUR, "h", MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(DAY, "d", HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(YEAR, "y", DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_written_as_kubectl_writes_them() {
        let written = [0, 119, 120, 125, 600, 10_800, 10_860, 172_800, 176_400, 691_200].map(human);
        let expected = [
            "0s", "119s", "2m", "2m5s", "10m", "3h", "3h1m", "2d", "2d1h", "8d",
        ];
        assert_eq!(written, expected);
    }

    #[test]
    fn a_time_that_is_none_is_invalid() {
        assert_eq!(age(&"yesterday".into()), "<invalid>");
        assert_eq!(age(&Value::Null), "<unknown>");
    }
}
