//! What a program writes to its standard error: to the log line by line, at the level `debug`.
use crate::child::printable;

/// Most of a line that is kept, and most lines of a run.
const LONGEST: usize = 1 << 10;
const MOST: usize = 1000;

/// It may be secret, such as what a shell traces or a client shows of its requests: so it is asked for or not seen.
pub(super) struct Noise {
    program: String,
    line: Vec<u8>,
    lines: usize,
}

impl Noise {
    pub(super) fn of(program: String) -> Self {
        Self {
            program,
            line: Vec::new(),
            lines: 0,
        }
    }

    pub(super) fn take(&mut self, chunk: &[u8]) {
        for byte in chunk {
            if *byte == b'\n' {
                self.say();
            } else if self.line.len() < LONGEST {
                self.line.push(*byte);
            }
        }
    }

    fn say(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.lines += 1;
        if self.lines > MOST || line.is_empty() {
            return;
        }
        let program = &self.program;
        let line = printable(&String::from_utf8_lossy(&line));
        tracing::debug!(program, "{line}");
        if self.lines == MOST {
            tracing::debug!(program, "what more it says in this run is left out");
        }
    }
}
