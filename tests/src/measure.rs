//! What a process has used: from `/proc`.

use std::{collections::HashSet, fmt, fs, io, time::Duration};

use serde::{Deserialize, Serialize};

/// What one run took.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Numbers {
    /// From the start of the program's work until every object was reconciled.
    pub seconds: f64,
    /// Of all threads, user and system.
    pub cpu_seconds: f64,
    /// The highest resident size so far.
    pub peak_kib: u64,
    /// The resident size now.
    pub resident_kib: u64,
    /// Established TCP connections of the process.
    pub sockets: u64,
}

impl Numbers {
    /// Reads the process's own.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn read(took: Duration) -> io::Result<Self> {
        let status = fs::read_to_string("/proc/self/status")?;
        Ok(Self {
            seconds: took.as_secs_f64(),
            cpu_seconds: cpu_seconds()?,
            peak_kib: kib(&status, "VmHWM:"),
            resident_kib: kib(&status, "VmRSS:"),
            sockets: sockets()?,
        })
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} s, {:.2} s of CPU, peak {} MiB, {} sockets",
            self.seconds,
            self.cpu_seconds,
            self.peak_kib / 1024,
            self.sockets
        )
    }
}

fn kib(status: &str, field: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "ticks of a process that runs for minutes"
)]
fn cpu_seconds() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name in parentheses may hold anything; utime and stime are the 12th and 13th field after it.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

fn sockets() -> io::Result<u64> {
    let mut own = HashSet::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        // A descriptor may have been closed since it was listed.
        if let Ok(target) = fs::read_link(entry?.path())
            && let Some(inode) = target.to_string_lossy().strip_prefix("socket:[")
        {
            own.insert(inode.trim_end_matches(']').to_owned());
        }
    }
    let mut count = 0;
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        let Ok(table) = fs::read_to_string(table) else {
            continue;
        };
        for line in table.lines().skip(1) {
            let fields: Vec<_> = line.split_whitespace().collect();
            if fields.get(3) == Some(&ESTABLISHED) && fields.get(9).is_some_and(|inode| own.contains(*inode))
            {
                count += 1;
            }
        }
    }
    Ok(count)
}

/// As the kernel prints it.
const ESTABLISHED: &str = "01";
