//! Medians of runs, as tables.

use mcrt_tests::measure::Numbers;

use super::{Arguments, Side};

/// The runs of both sides.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    mcrt: Vec<Numbers>,
    kube: Vec<Numbers>,
}

impl Runs {
    pub(crate) fn add(&mut self, side: Side, numbers: Numbers) {
        match side {
            Side::Mcrt => self.mcrt.push(numbers),
            Side::Kube => self.kube.push(numbers),
        }
    }

    fn medians(&self, of: impl Fn(&Numbers) -> f64) -> (f64, f64) {
        (median(&self.mcrt, &of), median(&self.kube, &of))
    }
}

fn median(runs: &[Numbers], of: impl Fn(&Numbers) -> f64) -> f64 {
    let mut values: Vec<_> = runs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What the numbers were measured on.
pub(crate) fn machine() {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let field = |file: &str, nth: usize| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.split_whitespace().nth(nth).unwrap_or("?").to_owned()
    };
    println!(
        "{cores} cores, {} KiB of memory, load {}",
        field("/proc/meminfo", 1),
        field("/proc/loadavg", 0)
    );
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
pub(crate) fn comparison(arguments: &Arguments, runs: &Runs, empty: &Runs) {
    let objects = (arguments.contexts * arguments.objects) as f64;
    println!(
        "{} contexts, {} objects of {} entries each, {} workers, median of {} runs",
        arguments.contexts, arguments.objects, arguments.entries, arguments.workers, arguments.pairs
    );
    row("", ("mcrt", "kube"), "ratio");
    let (time, memory) = (|n: &Numbers| n.seconds, |n: &Numbers| n.peak_kib as f64 / 1024.0);
    numbers("all reconciled, s", runs.medians(time), Some(1.1));
    numbers("CPU, s", runs.medians(|n| n.cpu_seconds), None);
    numbers("peak memory, MiB", runs.medians(memory), Some(0.5));
    numbers(
        "resident at the end, MiB",
        runs.medians(|n| n.resident_kib as f64 / 1024.0),
        None,
    );
    numbers("peak without objects, MiB", empty.medians(memory), None);
    let (full, bare) = (runs.medians(memory), empty.medians(memory));
    let per_object = |full: f64, bare: f64| (full - bare) * 1024.0 * 1024.0 / objects;
    let bytes = (per_object(full.0, bare.0), per_object(full.1, bare.1));
    numbers("bytes an object, of the peaks", bytes, None);
    numbers("sockets", runs.medians(|n| n.sockets as f64), None);
}

pub(crate) fn black_holes(arguments: &Arguments, with: &Runs, without: &Runs) {
    println!(
        "{} contexts that answer, {} that do not, {} objects each, median of {} runs, s until the healthy are done",
        arguments.contexts - arguments.black_holes,
        arguments.black_holes,
        arguments.objects,
        arguments.pairs
    );
    row("", ("with", "without"), "ratio");
    let (time_with, time_without) = (with.medians(|n| n.seconds), without.medians(|n| n.seconds));
    numbers("mcrt", (time_with.0, time_without.0), Some(1.25));
    numbers("kube", (time_with.1, time_without.1), None);
}

fn numbers(what: &str, (left, right): (f64, f64), at_most: Option<f64>) {
    let ratio = left / right;
    let verdict = match at_most {
        Some(goal) if ratio <= goal => format!(" (goal {goal}: met)"),
        Some(goal) => format!(" (goal {goal}: MISSED)"),
        None => String::new(),
    };
    row(
        what,
        (&format!("{left:.2}"), &format!("{right:.2}")),
        &format!("{ratio:.2}{verdict}"),
    );
}

fn row(what: &str, (left, right): (&str, &str), ratio: &str) {
    println!("{what:<30} {left:>10} {right:>10} {ratio}");
}
