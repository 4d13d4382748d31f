//! Clusters from kubeconfig files, directories and patterns, followed while they change.
mod content;
mod follow;
mod naming;
mod scan;
mod sources;
#[cfg(test)]
mod tests;
mod watch;

use super::{Change, Provider, ProviderContext};
use crate::connect::{Policy, default_paths};
use follow::Follow;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use parking_lot::Mutex;
use scan::Scanner;
use sources::Source;
use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

/// Every context of a set of kubeconfig files is a cluster.
///
/// Each path is a file, a directory, a pattern, or a list like `$KUBECONFIG`:
/// - Of a **directory** the files count that are called `config` or `kubeconfig`, or end in `.kubeconfig`, `.yaml`,
///   `.yml` or `.conf`; hidden ones and directories in it do not.
/// - A **pattern** has `*`, `?`, `[..]` or `**`; what it matches counts, file by file.
/// - A **list** of files, separated as in `$PATH`, is merged as `kubectl` does: the first file to name a context,
///   cluster or user wins, and a context may take its cluster and user from other files of the list.
///
/// A cluster is named like its context. Contexts of one name in several files become `file-stem/context`, all of
/// them, so that names do not depend on the order of files; if that is not enough, `path/context`.
///
/// # Guarantees
/// - Directories are watched, and everything is looked at again every 10 s. Each look reads all and compares: a
///   file written again with equal contents changes nothing.
/// - A file that cannot be read or parsed, that is empty, or whose directory has vanished keeps its last good
///   clusters. So does one that looks cut off (a part of what it was, or without a section that it had), until it has
///   stood still for 5 s. Each is said once by [`Change::Failed`], with file and place.
/// - A context that cannot be used is [rejected](Change::Rejected), alone, with file and field: it keeps its last good
///   description, or is left out if it never had one.
/// - A file that is deleted takes its clusters with it, and so does a context that is taken out of its file.
///
/// # Assumptions
/// The files belong to the operator of the controller: they are read by [`Policy::own_files`], so certificates, keys and
/// token files that they name are read, and programs are not run. [`File::policy`] sets another policy.
pub struct File {
    sources: Vec<PathBuf>,
    scanner: Arc<Mutex<Scanner>>,
    timing: Timing,
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug)]
struct Timing {
    /// Quiet time after an event: writers come in several steps.
    debounce: Duration,
    /// Between looks without an event: network file systems send none, watches can be lost.
    poll: Duration,
    /// How long a file that looks cut off must stand still to be believed.
    settle: Duration,
    /// After this a look that hangs is reported.
    patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            debounce: Duration::from_millis(200),
            poll: Duration::from_secs(10),
            settle: Duration::from_secs(5),
            patience: Duration::from_secs(10),
        }
    }
}

impl File {
    /// The clusters of these files, directories, patterns and lists; without any, of [`File::default`].
    pub fn new<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
        if paths.is_empty() {
            return Self::default();
        }
        let sources = paths.iter().map(|path| Source::of(path)).collect();
        Self::with(paths, sources, Timing::default())
    }

    /// What the files may ask for, [`Policy::own_files`] if nothing is said. A context that asks for more is left out, or
    /// stays as it was.
    ///
    /// ```
    /// use mcrt::{connect::Policy, provider::providers::File};
    ///
    /// let file = File::new(["/etc/clusters"]).policy(Policy::own_files().allow_command("aws"));
    /// ```
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        self.scanner.lock().policy = policy;
        self
    }

    fn with(paths: Vec<PathBuf>, sources: Vec<Source>, timing: Timing) -> Self {
        Self {
            sources: paths,
            scanner: Arc::new(Mutex::new(Scanner::new(sources, timing))),
            timing,
        }
    }

    #[cfg(test)]
    fn hurried(paths: &[PathBuf], timing: Timing) -> Self {
        let sources = paths.iter().map(|path| Source::of(path)).collect();
        Self::with(paths.to_vec(), sources, timing)
    }
}

impl Default for File {
    /// The clusters of the files in `$KUBECONFIG`, or of `~/.kube/config`.
    fn default() -> Self {
        let paths = default_paths();
        Self::with(paths.clone(), vec![Source::list(paths)], Timing::default())
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("File").field(&self.sources).finish()
    }
}

impl Provider for File {
    fn name(&self) -> &'static str {
        "file"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        // What was last good is kept by the provider: a stream that is started again does not forget it.
        let follow = Follow::new(Arc::clone(&self.scanner), self.timing);
        stream::unfold(follow, async |mut follow| {
            let change = follow.next().await;
            Some((change, follow))
        })
        .boxed()
    }
}
