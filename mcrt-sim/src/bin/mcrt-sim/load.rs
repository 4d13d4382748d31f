//! Objects from files.

use std::fs;
use std::path::{Path, PathBuf};

use mcrt_sim::{Server, Status};
use serde_json::Value;

/// An object, and where it comes from.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) path: PathBuf,
    pub(crate) object: Value,
}

/// Reads the files of a directory, sorted by name, without those in its subdirectories: what other objects need
/// (namespaces, definitions of kinds) comes first.
pub(crate) fn read(directory: &Path) -> Result<Vec<Loaded>, String> {
    let failed =
        |path: &Path, error: &dyn std::fmt::Display| format!("failed to load {}: {error}", path.display());
    let entries = fs::read_dir(directory).map_err(|error| failed(directory, &error))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| failed(directory, &error))?.path();
        let known = path.extension().and_then(|extension| extension.to_str());
        if matches!(known, Some("yaml" | "yml" | "json")) && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    let mut loaded = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(&text).map_err(|error| failed(&path, &error))?;
        for object in documents.into_iter().flat_map(flat) {
            loaded.push(Loaded {
                path: path.clone(),
                object,
            });
        }
    }
    loaded.sort_by_key(|it| rank(&it.object));
    Ok(loaded)
}

/// The items of a list, or the object itself; nothing of an empty document.
fn flat(object: Value) -> Vec<Value> {
    match object {
        Value::Null => Vec::new(),
        Value::Object(mut list) if list.get("kind").is_some_and(|kind| kind == "List") => {
            match list.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        object => vec![object],
    }
}

fn rank(object: &Value) -> u8 {
    match object["kind"].as_str() {
        Some("Namespace") => 0,
        Some("CustomResourceDefinition") => 1,
        _ => 2,
    }
}

/// Creates the objects in a server, with their status where they have one.
pub(crate) fn put(server: &Server, loaded: &[Loaded]) -> Result<(), String> {
    for Loaded { path, object } in loaded {
        create(server, object).map_err(|status| {
            let name = object["metadata"]["name"]
                .as_str()
                .unwrap_or("an object without a name");
            let kind = object["kind"].as_str().unwrap_or("an object without a kind");
            format!(
                "failed to create {kind} {name} of {} in {}: {status}",
                path.display(),
                server.name()
            )
        })?;
    }
    Ok(())
}

fn create(server: &Server, object: &Value) -> Result<(), Status> {
    let created = server.create(object.clone())?;
    if let Some(status) = object.get("status") {
        let mut whole = created;
        whole["status"] = status.clone();
        server.replace_status(whole)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_in_order_and_definitions_go_first() {
        let directory = std::env::temp_dir().join(format!("mcrt-sim-load-{}", std::process::id()));
        fs::create_dir_all(directory.join("cluster-1")).unwrap();
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team}\ndata: {on: 'yes'}\n---\n\
                    ---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
        fs::write(directory.join("b.yaml"), text).unwrap();
        let list = r#"{"kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {"phase": "Running"}}]}"#;
        fs::write(directory.join("a.json"), list).unwrap();
        fs::write(directory.join("notes.txt"), "{").unwrap();
        let loaded = read(&directory).unwrap();
        let kinds: Vec<_> = loaded
            .iter()
            .map(|it| it.object["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["Namespace", "Pod", "ConfigMap"]);
        let server = Server::new("cluster-1");
        put(&server, &loaded).unwrap();
        let pod = server.get("v1", "Pod", Some("default"), "p").unwrap();
        assert_eq!(pod["status"]["phase"], "Running");
        let refused = put(&server, &loaded).unwrap_err();
        assert!(
            refused.contains("Namespace team") && refused.contains("b.yaml"),
            "{refused}"
        );
        fs::write(directory.join("c.yaml"), "a: [").unwrap();
        assert!(read(&directory).unwrap_err().contains("c.yaml"));
        fs::remove_dir_all(directory).unwrap();
    }
}
