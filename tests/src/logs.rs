//! What a test's thread logs, kept for looking at.

use std::{
    fmt, io,
    sync::{Arc, LazyLock},
};

use parking_lot::Mutex;
use tracing::{
    Dispatch,
    subscriber::{DefaultGuard, NoSubscriber},
};
use tracing_subscriber::fmt::MakeWriter;

/// Keeps every line that this thread logs at `INFO` or above for as long as it lives.
pub struct Logs {
    lines: Buffer,
    _guard: DefaultGuard,
}

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

/// While there is one subscriber only, `tracing` asks the thread that comes to a line first whether anybody wants it, and
/// keeps its answer for all threads: that of a test which keeps no logs would hide the line from one that does.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));

impl Logs {
    /// Begins to keep what is logged. Other threads are not seen: for tests on one thread.
    pub fn keep() -> Self {
        LazyLock::force(&ANOTHER);
        let lines = Buffer::default();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::INFO)
            .with_writer(lines.clone())
            .finish();
        Self {
            lines,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    /// Everything logged so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.lines.0.lock()).into_owned()
    }

    /// The lines that hold all of these words.
    pub fn with(&self, words: &[&str]) -> Vec<String> {
        let text = self.text();
        let lines = text
            .lines()
            .filter(|line| words.iter().all(|word| line.contains(word)));
        lines.map(str::to_owned).collect()
    }
}

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl<'a> MakeWriter<'a> for Buffer {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
