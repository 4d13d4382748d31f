//! Fields of an apply that others own, as the refusal tells them.

use std::collections::BTreeMap;

use serde_json::json;

use crate::merge::fields::{self, Path};
use crate::merge::managed::Entry;
use crate::refusal::status::Status;

/// A field and whose it is.
pub(super) type Conflict = (Path, Entry);

pub(super) fn conflict_status(conflicts: &[Conflict]) -> Status {
    let cause = |(path, entry): &Conflict| {
        let message = format!("conflict with {}", display(entry));
        json!({"reason": "FieldManagerConflict", "message": message, "field": fields::display(path)})
    };
    let causes: Vec<_> = conflicts.iter().map(cause).collect();
    let message = format!("Apply failed with {}", describe(conflicts));
    Status::new(409, "Conflict", message).with_details(json!({"causes": causes}))
}

fn describe(conflicts: &[Conflict]) -> String {
    if let [(path, entry)] = conflicts {
        let (with, path) = (display(entry), fields::display(path));
        return format!("1 conflict: conflict with {with}: {path}");
    }
    let mut by_manager: BTreeMap<String, Vec<&Path>> = BTreeMap::new();
    for (path, entry) in conflicts {
        by_manager.entry(display(entry)).or_default().push(path);
    }
    let mut lines = Vec::new();
    for (manager, paths) in by_manager {
        lines.push(format!("conflicts with {manager}:"));
        lines.extend(paths.iter().map(|path| format!("- {}", fields::display(path))));
    }
    format!("{} conflicts: {}", conflicts.len(), lines.join("\n"))
}

fn display(entry: &Entry) -> String {
    let mut text = format!("\"{}\"", entry.manager);
    if !entry.subresource.is_empty() {
        text = format!("{text} with subresource \"{}\"", entry.subresource);
    }
    if !entry.apply {
        text = format!("{text} using {}", entry.api_version);
    }
    text
}
