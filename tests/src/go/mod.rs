//! Programs that tests run and that are written in Go: found in a cache, or built into it.
//!
//! ```text
//! Source ──> Entry ── is it there? ──yes──> programs
//!                         └─no, and required or asked for──> lock, go build, rename
//! ```

mod build;
mod cache;
mod error;

use std::{env, fmt, io, io::Write as _, path::PathBuf, thread};

pub use error::BuildError;

use cache::Entry;

/// Set to `1`, makes the absence of a program a failure, and building it allowed.
const REQUIRE_VARIABLE: &str = "MCRT_REQUIRE_CONTROL_PLANE";

/// A Go module that builds one program, which becomes another by the name it is called with.
#[derive(Debug)]
pub(crate) struct Source {
    /// What messages and the cache call it.
    pub(crate) title: &'static str,
    /// The folder of the module.
    pub(crate) folder: &'static str,
    /// Its `go.mod`, which also says which version of Kubernetes it is.
    pub(crate) module: &'static str,
    /// Its other files: with the module they tell one state of the source from another.
    pub(crate) files: &'static [&'static str],
    /// The names the program goes by.
    pub(crate) names: &'static [&'static str],
}

impl Source {
    /// The folder of the programs for a test.
    ///
    /// `None` means that the test is to be skipped; the line that says so has been written to stderr.
    /// With `MCRT_REQUIRE_CONTROL_PLANE=1` they are built if need be, and there is no `None`.
    pub(crate) fn required(&self) -> Result<Option<PathBuf>, BuildError> {
        if let Some(found) = self.find()? {
            return Ok(Some(found));
        }
        if env::var(REQUIRE_VARIABLE).is_ok_and(|value| value == "1") {
            return self.build().map(Some);
        }
        self.tell_skipped(thread::current().name().unwrap_or("a test"));
        Ok(None)
    }

    /// The folder of the programs, if the cache holds it.
    pub(crate) fn find(&self) -> Result<Option<PathBuf>, BuildError> {
        Ok(Entry::of(self)?.find())
    }

    /// The folder of the programs, built if need be; says on stderr how far it is.
    pub(crate) fn build(&self) -> Result<PathBuf, BuildError> {
        Entry::of(self)?.fill(self)
    }

    /// Written past the capture of the test runner: whoever reads the log of a green run must see what did not run.
    fn tell_skipped(&self, test: &str) {
        say(format_args!(
            "skipped {test}: no {} at hand; set KUBEBUILDER_ASSETS, or run `cargo run -p mcrt-tests --bin \
             control-plane` once (needs Go, takes minutes), or set {REQUIRE_VARIABLE}=1",
            self.title
        ));
    }

    /// The version of Kubernetes that the module requires, as in `v1.37.2`.
    pub(crate) fn version(&self) -> String {
        let required = |path: &str| {
            self.module.lines().find_map(|line| {
                let rest = line.trim_start_matches("require").trim().strip_prefix(path)?;
                rest.strip_prefix(" v")?.split_whitespace().next()
            })
        };
        // Libraries are numbered v0.37.2 where Kubernetes is v1.37.2.
        let library = required("k8s.io/component-base").and_then(|version| version.strip_prefix("0."));
        library.map_or_else(|| "unknown".to_owned(), |version| format!("v1.{version}"))
    }
}

/// Writes a line to stderr itself, which the print macros do not do inside a test.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    // A closed stderr is no reason to fail a test.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
