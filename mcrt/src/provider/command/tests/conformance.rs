//! The kit: programs that print the ways to servers behind TLS, polled and streamed.
use super::program::Program;
use crate::{
    connect::Policy,
    provider::Provider,
    testing::conformance::{Adapter, Reach, Site, Verb},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs::OpenOptions, io::Write, sync::Arc};

/// Prints the whole log that there is, says so, and follows it.
const FOLLOWS: &str = r#"n=$(wc -l < log)
head -n "$n" log
echo '{"synced": true}'
exec tail -n +$((n + 1)) -f log"#;

struct Printed<const STREAMED: bool> {
    program: Program,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: BTreeMap<String, Value>,
    lives: usize,
    noise: String,
    touched: usize,
}

impl<const STREAMED: bool> Printed<STREAMED> {
    fn says(&self, key: &str, line: Value) {
        self.log(&line);
        self.state.lock().lines.insert(key.to_owned(), line);
        self.print();
    }

    fn log(&self, line: &Value) {
        let mut log = OpenOptions::new()
            .append(true)
            .open(self.program.path("log"))
            .unwrap();
        log.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn print(&self) {
        let state = self.state.lock();
        let lines = state.lines.values().map(Value::to_string);
        // Blanks between lines and within them are nothing.
        let blanks = " ".repeat(state.touched);
        let lines: Vec<_> = lines.map(|line| format!("{blanks}{line}")).collect();
        let noise = [state.noise.as_str()];
        let lines: Vec<_> = noise
            .into_iter()
            .chain(lines.iter().map(String::as_str))
            .collect();
        self.program.prints(&lines);
    }

    fn line(&self, key: &str, reach: &Reach, is_new: bool) -> Value {
        let mut state = self.state.lock();
        state.lives += 1;
        let new = format!("life {}", state.lives);
        let uid = match state.lines.get(key) {
            Some(line) if !is_new => line["uid"].as_str().unwrap_or_default().to_owned(),
            _ => new,
        };
        json!({"name": key, "uid": uid, "kubeconfig": reach.kubeconfig("x")})
    }
}

impl<const STREAMED: bool> Adapter for Printed<STREAMED> {
    const NAME: &'static str = if STREAMED {
        "command, streamed"
    } else {
        "command, polled"
    };

    async fn begin(_: &Site) -> Self {
        let program = Program::of(if STREAMED { FOLLOWS } else { "cat output" });
        program.prints(&[]);
        program.write("log", "");
        Self {
            program,
            state: Mutex::default(),
        }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        let command = self.program.command().policy(Policy::own_files());
        Arc::new(if STREAMED { command.streamed() } else { command })
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        Some(match verb {
            Verb::Unselect => "a line has nothing that selects it",
            Verb::Claim if STREAMED => "a later line is a change",
            Verb::Claim => "of two lines that differ neither is believed",
            Verb::Unready => "a cluster that is unusable stays as it was",
            Verb::Leave => "a cluster is named or it is not",
            _ => return None,
        })
    }

    async fn add(&self, key: &str, reach: &Reach) {
        self.says(key, self.line(key, reach, true));
    }

    async fn remove(&self, key: &str) {
        self.log(&json!({"remove": key}));
        self.state.lock().lines.remove(key);
        self.print();
    }

    async fn touch(&self, key: &str) {
        self.state.lock().touched += 1;
        let line = self.state.lock().lines[key].clone();
        self.says(key, line);
    }

    async fn point_elsewhere(&self, key: &str, reach: &Reach) {
        self.says(key, self.line(key, reach, false));
    }

    async fn rotate(&self, key: &str, reach: &Reach) {
        self.says(key, self.line(key, reach, false));
    }

    async fn spoil(&self, key: &str) {
        self.says(key, json!({"name": key, "access": {"server": ""}}));
    }

    async fn add_spoilt(&self, key: &str) {
        self.says(key, json!({"name": key, "access": {}}));
    }

    async fn noise(&self) {
        self.state.lock().noise = "\n  \r\n".to_owned();
        self.print();
    }

    async fn recreate(&self, key: &str, reach: &Reach) {
        self.says(key, self.line(key, reach, true));
    }

    fn odd_keys(&self) -> Vec<String> {
        ["arn:aws:eks:eu-west-1:1:cluster/A", "Ns/Name", "a#b", "a+b"]
            .map(str::to_owned)
            .into_iter()
            .chain(["x".repeat(253)])
            .collect()
    }
}

mod polled {
    use super::{Printed, Site};
    crate::conformance!(Printed<false>, Site::served().await);
}

mod streamed {
    use super::{Printed, Site};
    crate::conformance!(Printed<true>, Site::served().await);
}
