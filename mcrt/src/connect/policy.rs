//! What a kubeconfig may ask for beyond inline data: nothing, unless the operator of the controller says so.
use std::path::{Component, Path, PathBuf};

/// What the operator of a controller lets kubeconfigs do. By default: nothing but inline data, over verified TLS, to
/// servers that are not this machine.
///
/// It belongs to whoever runs the controller: no kubeconfig, and no object that holds one, can widen it. Two kinds of
/// kubeconfigs need two policies:
/// - [`Policy::strict`], the default, is for kubeconfigs that come from objects. Whoever can write such an object could
///   otherwise run programs in the controller and send its files anywhere.
/// - [`Policy::own_files`] is for files of the operator's own, and is what the provider `file` and `--host context:` go
///   by.
///
/// Fields that no policy lets through are refused by both: `auth-provider`, and whatever is not known.
///
/// ```
/// use mcrt::connect::{Connection, Policy};
///
/// let policy = Policy::strict().allow_command("aws-iam-authenticator").allow_files_under("/etc/clusters");
/// # let from_a_secret = b"{}";
/// let refused = Connection::from_bytes(from_a_secret, None, &policy).unwrap_err();
/// println!("{refused}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an opt-in of its own, any of them with any"
)]
pub struct Policy {
    commands: Vec<String>,
    files: Files,
    pub(super) proxies: bool,
    pub(super) plain_http: bool,
    pub(super) insecure_tls: bool,
    pub(super) impersonation: bool,
    pub(super) local_servers: bool,
}

/// Which files may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Files {
    Under(Vec<PathBuf>),
    Any,
}

impl Default for Files {
    fn default() -> Self {
        Self::Under(Vec::new())
    }
}

/// Why a file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoFile {
    /// The policy does not allow it, whether or not it exists: that is not told.
    Forbidden,
    /// It would be allowed, but cannot be found.
    Absent(std::io::ErrorKind),
}

impl Policy {
    /// Nothing but inline data: for kubeconfigs that come from objects. The default.
    pub fn strict() -> Self {
        Self::default()
    }

    /// For kubeconfigs that the operator of the controller wrote: everything that changes no more than where one
    /// connects and as whom. Files anywhere, proxies, plain HTTP, unverified TLS, impersonation and servers on this
    /// machine; but no programs, which need [`allow_command`](Self::allow_command) each.
    pub fn own_files() -> Self {
        Self {
            commands: Vec::new(),
            files: Files::Any,
            proxies: true,
            plain_http: true,
            insecure_tls: true,
            impersonation: true,
            local_servers: true,
        }
    }

    /// Lets a kubeconfig run this credential program (`users[].user.exec`), with whatever arguments and environment the
    /// kubeconfig gives: allow only programs that are harmless with any. Repeat for more.
    ///
    /// - A **name** such as `aws` allows exactly the command `aws`, which is looked up in the controller's `PATH`. It
    ///   does not allow `/tmp/aws`, nor `./aws`.
    /// - An absolute **path** allows exactly that path; both are compared, and the program is run, without the `.` and
    ///   `..` and double slashes in them. It does not allow the bare name, whatever `PATH` finds for it. A command with
    ///   a separator in it is taken from the directory of its kubeconfig; links are not followed to compare.
    ///
    /// Anything else, such as a relative path, allows nothing. Upper and lower case differ.
    #[must_use]
    pub fn allow_command(mut self, command: impl Into<String>) -> Self {
        self.commands.push(command.into());
        self
    }

    /// Lets kubeconfigs read files in this directory and below: `tokenFile`, `client-certificate`, `client-key`,
    /// `certificate-authority`. Repeat for more.
    ///
    /// What counts is where a path leads, links and `..` followed: neither gets out of the directory. The directory
    /// must be one that only the operator can write to: a token file is opened again each minute, and a link that has
    /// changed by then is followed.
    #[must_use]
    pub fn allow_files_under(mut self, directory: impl Into<PathBuf>) -> Self {
        if let Files::Under(directories) = &mut self.files {
            directories.push(directory.into());
        }
        self
    }

    /// Lets kubeconfigs name any file. A token file is sent to the server that the kubeconfig names, whatever is in it:
    /// only for files of one's own.
    #[must_use]
    pub fn allow_any_file(mut self) -> Self {
        self.files = Files::Any;
        self
    }

    /// Lets kubeconfigs name an HTTP proxy (`proxy-url`). Proxies in the environment are never used.
    #[must_use]
    pub fn allow_proxies(mut self) -> Self {
        self.proxies = true;
        self
    }

    /// Lets kubeconfigs name servers without TLS, which show tokens to the network.
    #[must_use]
    pub fn allow_plain_http(mut self) -> Self {
        self.plain_http = true;
        self
    }

    /// Lets kubeconfigs skip the check of the server's certificate (`insecure-skip-tls-verify`).
    #[must_use]
    pub fn allow_insecure_tls(mut self) -> Self {
        self.insecure_tls = true;
        self
    }

    /// Lets kubeconfigs name whom to act as (`as`, `as-uid`, `as-groups`, `as-user-extra`).
    #[must_use]
    pub fn allow_impersonation(mut self) -> Self {
        self.impersonation = true;
        self
    }

    /// Lets kubeconfigs name servers and proxies on this machine or on its link: loopback addresses and `localhost`,
    /// `169.254.0.0/16` and `fe80::/10`, and the unspecified address. There live sidecars and the metadata services of
    /// clouds, which trust whoever can reach them; there live kind clusters too.
    ///
    /// Other names are not looked up to tell.
    #[must_use]
    pub fn allow_local_servers(mut self) -> Self {
        self.local_servers = true;
        self
    }

    /// Whether a command may run: a bare name, or a path without `.` and `..`.
    pub(super) fn allows_command(&self, command: &Path) -> bool {
        self.commands.iter().map(Path::new).any(|allowed| {
            if is_name(allowed) || is_name(command) {
                return allowed.as_os_str() == command.as_os_str();
            }
            allowed.is_absolute() && cleaned(allowed) == command
        })
    }

    /// Where a file is that may be read. Looks at the file system only where the policy has directories.
    pub(super) fn file(&self, path: &Path) -> Result<PathBuf, NoFile> {
        let directories = match &self.files {
            Files::Any => return Ok(path.to_owned()),
            Files::Under(directories) => directories,
        };
        if directories.is_empty() || !path.is_absolute() {
            return Err(NoFile::Forbidden);
        }
        let within = |real: &Path| {
            let mut directories = directories
                .iter()
                .filter_map(|directory| directory.canonicalize().ok());
            directories.any(|directory| real.starts_with(directory))
        };
        match path.canonicalize() {
            Ok(real) => within(&real).then_some(real).ok_or(NoFile::Forbidden),
            // To say that a file is not there is to answer a question, which is for allowed directories only.
            Err(error) if nearest(path).is_some_and(|real| within(&real)) => {
                Err(NoFile::Absent(error.kind()))
            }
            Err(_) => Err(NoFile::Forbidden),
        }
    }
}

/// The nearest directory above a path that exists; none where the path has steps up.
fn nearest(path: &Path) -> Option<PathBuf> {
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    path.ancestors()
        .skip(1)
        .find_map(|above| above.canonicalize().ok())
}

/// Whether a command is a name to look up in `PATH`.
pub(super) fn is_name(command: &Path) -> bool {
    let mut components = command.components();
    let first = components.next();
    matches!(first, Some(Component::Normal(name)) if name == command.as_os_str())
        && components.next().is_none()
}

/// A path without `.`, `..` and double separators, by its text alone.
pub(super) fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                // Above the root is the root.
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_allows_that_name_and_a_path_that_path() {
        let policy = Policy::strict()
            .allow_command("aws")
            .allow_command("/opt/./bin//x/../tool")
            .allow_command("bin/relative");
        for (command, allowed) in [
            ("aws", true),
            ("AWS", false),
            ("aws2", false),
            ("/usr/bin/aws", false),
            ("/opt/bin/tool", true),
            ("/opt/bin/tool2", false),
            ("/opt/bin", false),
            ("tool", false),
            ("relative", false),
            ("/bin/relative", false),
            ("bin/relative", false),
        ] {
            assert_eq!(policy.allows_command(Path::new(command)), allowed, "{command}");
        }
        assert!(!Policy::own_files().allows_command(Path::new("aws")));
    }

    #[test]
    fn a_name_has_no_separator_and_is_no_step() {
        for (command, name) in [
            ("aws", true),
            ("a b", true),
            ("", false),
            (".", false),
            ("..", false),
            ("./aws", false),
            ("aws/", false),
            ("/aws", false),
        ] {
            assert_eq!(is_name(Path::new(command)), name, "{command}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn neither_links_nor_steps_lead_out_of_a_directory() {
        let outer = tempfile::tempdir().unwrap();
        let inside = outer.path().join("in");
        let below = inside.join("below");
        std::fs::create_dir_all(&below).unwrap();
        for (path, text) in [(outer.path().join("secret"), "s"), (below.join("token"), "t")] {
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir(outer.path().join("in2")).unwrap();
        std::fs::write(outer.path().join("in2/token"), "n").unwrap();
        let link = |to: PathBuf, name: &str| std::os::unix::fs::symlink(to, inside.join(name)).unwrap();
        link(outer.path().join("secret"), "out");
        link(below.join("token"), "within");
        link(outer.path().to_owned(), "up");
        let policy = Policy::strict().allow_files_under(&inside);
        let real = below.join("token").canonicalize().unwrap();
        for (path, expected) in [
            ("in/below/token", Ok(&real)),
            ("in/within", Ok(&real)),
            ("in/below/../below/token", Ok(&real)),
            ("in/out", Err(NoFile::Forbidden)),
            ("in/../secret", Err(NoFile::Forbidden)),
            ("in/up/secret", Err(NoFile::Forbidden)),
            ("in2/token", Err(NoFile::Forbidden)),
            ("secret", Err(NoFile::Forbidden)),
            ("nowhere", Err(NoFile::Forbidden)),
            ("in/../nowhere", Err(NoFile::Forbidden)),
            ("in/up/nowhere", Err(NoFile::Forbidden)),
            ("in/nowhere", Err(NoFile::Absent(std::io::ErrorKind::NotFound))),
        ] {
            assert_eq!(policy.file(&outer.path().join(path)), expected.cloned(), "{path}");
        }
        assert_eq!(
            policy.file(Path::new("in/below/token")),
            Err(NoFile::Forbidden),
            "relative"
        );
        let nothing = Policy::strict().file(&below.join("token"));
        assert_eq!(nothing, Err(NoFile::Forbidden));
    }
}
