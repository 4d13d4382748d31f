//! Patches that are not applies: JSON patch, merge patch, strategic merge patch.

use std::sync::Arc;

use ::json_patch::{AddOperation, Patch, PatchOperation, TestOperation};
use serde_json::{Value, json};

use crate::merge::strategic;
use crate::refusal::status::Status;
use crate::state::depth::{DEEPEST, is_deeper_than};
use crate::state::object::{Object, ObjectKey};
use crate::state::store::Store;
use crate::state::target::Target;
use crate::write::admit::{admit, check_uid};
use crate::write::operation::WriteOptions;

/// How many operations a JSON patch may have.
const OPERATIONS: usize = 10_000;
/// How many bytes of JSON the operations of one patch may copy.
const COPIED: usize = 3 << 20;

/// The content type of a patch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    pub(crate) fn parse(content_type: &str) -> Result<Self, Status> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            "application/apply-patch+yaml" | "application/apply-patch+json" => Ok(Self::Apply),
            _ => Err(Status::unsupported_media_type("415: Unsupported Media Type").with_details(json!({}))),
        }
    }
}

impl Store {
    pub(crate) fn patch(
        &mut self,
        target: &Target,
        key: &ObjectKey,
        kind: PatchType,
        patch: &Value,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, Status> {
        let old = self
            .find(&target.kind, key)
            .ok_or_else(|| target.not_found(&key.name))?;
        let mut value = target.thaw(&old);
        match kind {
            PatchType::Json => json_patch(&mut value, patch)?,
            PatchType::Merge => ::json_patch::merge(&mut value, patch),
            PatchType::Strategic if target.kind.builtin => {
                strategic::patch(target.version.schema.cursor(), &mut value, patch)?;
            }
            PatchType::Strategic | PatchType::Apply => {
                return Err(Status::unsupported_media_type(format!(
                    "the body of the request was in an unknown format: strategic merge patch is not \
                     supported for {}",
                    target.kind.id
                )));
            }
        }
        admit(
            target,
            Some(&*key.namespace).filter(|namespace| !namespace.is_empty()),
            Some(&key.name),
            &mut value,
        )?;
        check_uid(target, &old, &value)?;
        self.replace(target, &old, value, options)
    }
}

pub(crate) fn json_patch(value: &mut Value, patch: &Value) -> Result<(), Status> {
    // What the decoder says may quote the patch, which may be secret.
    let patch: Patch = serde_json::from_value(patch.clone())
        .map_err(|_| Status::bad_request("error decoding patch: it is not a list of operations"))?;
    let count = patch.0.len();
    if count > OPERATIONS {
        let why = format!("The allowed maximum operations in a JSON patch is {OPERATIONS}, got {count}");
        return Err(Status::new(413, "RequestEntityTooLarge", why));
    }
    let mut copied = 0;
    for operation in patch.0 {
        if let PatchOperation::Test(TestOperation {
            path,
            value: Value::Null,
        }) = &operation
            && value.pointer(path.as_str()).is_none()
        {
            // The API server holds a missing field to be null; the library holds it to be an error.
            continue;
        }
        // It replaces a field that is not there as well.
        let operation = match operation {
            PatchOperation::Replace(replace) if value.pointer(replace.path.as_str()).is_none() => {
                PatchOperation::Add(AddOperation {
                    path: replace.path,
                    value: replace.value,
                })
            }
            operation => operation,
        };
        check_growth(value, &operation, &mut copied)?;
        ::json_patch::patch(value, &[operation]).map_err(|_| Status::unfit_patch())?;
    }
    Ok(())
}

/// Refuses an operation that nests deeper than can be stored, or copies more than a body may have: with each copy
/// a patch can double what there is.
fn check_growth(value: &Value, operation: &PatchOperation, copied: &mut usize) -> Result<(), Status> {
    let (path, added) = match operation {
        PatchOperation::Add(add) => (&add.path, Some(&add.value)),
        PatchOperation::Replace(replace) => (&replace.path, Some(&replace.value)),
        PatchOperation::Copy(copy) => (&copy.path, value.pointer(copy.from.as_str())),
        PatchOperation::Move(moved) => (&moved.path, value.pointer(moved.from.as_str())),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return Ok(()),
    };
    // What is not there is refused by the library.
    let Some(added) = added else { return Ok(()) };
    let levels = DEEPEST.checked_sub(path.as_str().matches('/').count());
    if levels.is_none_or(|levels| is_deeper_than(added, levels)) {
        return Err(Status::unfit_patch());
    }
    if matches!(operation, PatchOperation::Copy(_)) {
        *copied += added.to_string().len();
    }
    if *copied > COPIED {
        return Err(Status::unfit_patch());
    }
    Ok(())
}
