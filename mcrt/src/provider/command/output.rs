//! The whole output of a program that has ended.
use super::{
    line::Line,
    lines::{LONGEST, TOO_LONG},
};
use crate::{cluster::ClusterName, connect::Policy, provider::said::Claim};
use std::collections::{BTreeMap, BTreeSet};

/// Most lines that are complained of one by one.
pub(super) const MOST_COMPLAINTS: usize = 10;

/// What it says.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) clusters: BTreeMap<ClusterName, Claim>,
    pub(super) problems: BTreeSet<String>,
    /// Whether each line is known to speak of one of these clusters, so that no other is there.
    pub(super) is_whole: bool,
}

impl Output {
    /// Reads and vets every line.
    pub(super) fn read(text: &[u8], policy: &Policy) -> Self {
        let mut clusters: BTreeMap<ClusterName, Described> = BTreeMap::new();
        let mut complaints = Complaints::default();
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let number = number + 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            if line.len() > LONGEST {
                complaints.add(|| format!("line {number} {TOO_LONG}"));
                continue;
            }
            match Line::read(line) {
                Line::Cluster(name, described) => {
                    let claim = match described {
                        Ok(described) => described.vet(&name, policy),
                        Err(reason) => Claim::Bad(reason),
                    };
                    add(&mut clusters, name, number, claim);
                }
                // That all has been named is what the end says.
                Line::Synced => {}
                Line::Remove(_) => complaints
                    .add(|| format!("line {number} removes a cluster, which only a streamed program can")),
                Line::Nameless(reason) => complaints.add(|| format!("line {number}: {reason}")),
            }
        }
        Self {
            clusters: clusters
                .into_iter()
                .map(|(name, described)| (name, described.claim()))
                .collect(),
            is_whole: complaints.count == 0,
            problems: complaints.shortened(),
        }
    }
}

/// What was said of a cluster first, and the line of whoever says otherwise.
struct Described {
    line: usize,
    claim: Claim,
    otherwise: Option<usize>,
}

/// Two lines for one cluster must say the same: which of them to believe would change with their order.
fn add(clusters: &mut BTreeMap<ClusterName, Described>, name: ClusterName, line: usize, claim: Claim) {
    match clusters.get_mut(&name) {
        None => {
            let otherwise = None;
            clusters.insert(
                name,
                Described {
                    line,
                    claim,
                    otherwise,
                },
            );
        }
        Some(first) if first.otherwise.is_none() && !first.claim.says_the_same(&claim) => {
            first.otherwise = Some(line);
        }
        Some(_) => {}
    }
}

impl Described {
    fn claim(self) -> Claim {
        match self.otherwise {
            None => self.claim,
            Some(other) => Claim::Bad(format!(
                "lines {} and {other} describe it differently: print one line for each cluster",
                self.line
            )),
        }
    }
}

/// What is wrong with lines. A program can print millions: the first few are kept, and the number of all.
#[derive(Default)]
struct Complaints {
    first: Vec<String>,
    count: usize,
}

impl Complaints {
    fn add(&mut self, complaint: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < MOST_COMPLAINTS {
            self.first.push(complaint());
        }
    }

    fn shortened(mut self) -> BTreeSet<String> {
        let more = self.count - self.first.len();
        if more > 0 {
            self.first.push(format!("{more} more lines cannot be read"));
        }
        let complaints = self.first.into_iter();
        complaints
            .map(|complaint| format!("{complaint}; until that is right, no cluster is taken for gone"))
            .collect()
    }
}
