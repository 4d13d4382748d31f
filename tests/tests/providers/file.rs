//! The provider `file`: a kubeconfig for each cluster in a directory.
use mcrt::{
    Provider,
    providers::File,
    testing::conformance::{Adapter, Reach, Site, Verb},
};
use std::{fs, path::PathBuf, sync::Arc};

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn path(&self, key: &str) -> PathBuf {
        // A cluster is called by its context, and the file by what a file can be called.
        let stem: String = key
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        self.folder
            .path()
            .join(format!("{}.kubeconfig", &stem[..stem.len().min(100)]))
    }

    /// As editors do: whole, by another name first.
    fn write(&self, key: &str, content: &str) {
        let (path, other) = (self.path(key), self.folder.path().join(".written"));
        let mut file = tempfile::NamedTempFile::new_in(self.folder.path()).unwrap();
        std::io::Write::write_all(&mut file, content.as_bytes()).unwrap();
        file.persist(&other).unwrap();
        fs::rename(other, path).unwrap();
    }
}

impl Adapter for Files {
    const NAME: &'static str = "file";

    async fn begin(_: &Site) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(File::new([self.folder.path()]))
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        Some(match verb {
            Verb::Recreate => "a context has no UID: the same name at the same server is the same cluster",
            Verb::Unselect => "no label selects a file; a context that is taken out of it is `remove`",
            Verb::Claim => "contexts of one name are all told apart by their file",
            Verb::Unready | Verb::Leave => "a file is there or it is not",
            _ => return None,
        })
    }

    async fn add(&self, key: &str, reach: &Reach) {
        self.write(key, &reach.kubeconfig(key));
    }

    async fn remove(&self, key: &str) {
        fs::remove_file(self.path(key)).unwrap();
    }

    async fn touch(&self, key: &str) {
        let content = fs::read_to_string(self.path(key)).unwrap();
        self.write(key, &format!("# A comment.\n{content}"));
    }

    async fn point_elsewhere(&self, key: &str, reach: &Reach) {
        self.write(key, &reach.kubeconfig(key));
    }

    async fn rotate(&self, key: &str, reach: &Reach) {
        self.write(key, &reach.kubeconfig(key));
    }

    async fn spoil(&self, key: &str) {
        self.write(key, "clusters: [");
    }

    async fn add_spoilt(&self, key: &str) {
        self.write(key, "contexts: {a: b}");
    }

    async fn noise(&self) {
        for (name, content) in [
            ("README.md", "Not a kubeconfig."),
            (".hidden.kubeconfig", "Nor this."),
            ("script.sh", "exit 1"),
        ] {
            fs::write(self.folder.path().join(name), content).unwrap();
        }
    }

    fn odd_keys(&self) -> Vec<String> {
        ["ns/Name", "user@cluster#1+2", "arn:aws:eks:eu-west-1:1:cluster/a"]
            .map(str::to_owned)
            .into_iter()
            .chain(["x".repeat(100)])
            .collect()
    }
}

#[test]
fn on_the_simulated_fleet() {
    crate::sites::served::<Files>();
}

#[test]
fn on_real_api_servers() {
    crate::sites::real::<Files>();
}
