//! How deeply objects may be nested: what is stored has to be readable again, here and by every client.

use serde_json::Value;

/// Readers of JSON give up at 128 levels; lists, events and tables put a few around an object.
pub(crate) const DEEPEST: usize = 120;

/// Whether a value has more levels of lists and maps than these.
pub(crate) fn is_deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => true,
        Value::Array(items) => items.iter().any(|item| is_deeper_than(item, levels - 1)),
        Value::Object(fields) => fields.values().any(|field| is_deeper_than(field, levels - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn levels_are_lists_and_maps() {
        let value = json!({"a": [1, {"b": "c"}]});
        assert!(is_deeper_than(&value, 2));
        assert!(!is_deeper_than(&value, 3));
        assert!(!is_deeper_than(&json!("text"), 0));
    }
}
