//! The write-only `stringData` of Secrets, which the server folds into `data`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::state::object::{field_mut, object_mut};

pub(crate) fn fold_string_data(secret: &mut Value) {
    let Some(Value::Object(strings)) = object_mut(secret).remove("stringData") else {
        return;
    };
    let data = object_mut(field_mut(secret, "data"));
    for (key, value) in strings {
        let text = value.as_str().unwrap_or_default();
        data.insert(key, STANDARD.encode(text).into());
    }
}
