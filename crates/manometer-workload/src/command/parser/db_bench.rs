//! RocksDB's `db_bench`: with `--stats_interval_seconds`, each thread reports its progress at intervals.
//!
//! ```text
//! … thread 0: (41000,81000) ops and (40794.9,40510.2) ops/second in (1.005027,1.999502) seconds
//! ```
//!
//! Threads report at different times, each over its own interval. A report is complete once all have reported:
//! its rate is the sum of their rates, each over its own interval.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Amount, OperationReport, Parser, Report, grown, number, option};

static PROGRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"thread (?<thread>\d+): \(\d+,(?<ops>\d+)\) ops and .* ops/second in \([\d.]+,(?<seconds>[\d.]+)\)")
        .expect("the constant pattern is valid")
});
static PERCENTILES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^Percentiles: P50: (?<p50>[\d.]+) .*P99: (?<p99>[\d.]+) P99\.9: (?<p999>[\d.]+)")
        .expect("the constant pattern is valid")
});

/// Benchmarks without operations to count.
const UNCOUNTED: [&str; 6] = ["stats", "levelstats", "sstables", "compact", "waitforcompaction", "flush"];

/// The operations of a thread so far, and its running time in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    ops: u64,
    seconds: f64,
}

/// The latest progress of one thread, and the part that is already in a report.
#[derive(Debug, Clone, Default)]
struct ThreadTotals {
    latest: Option<Totals>,
    reported: Totals,
}

#[derive(Debug)]
pub(super) struct DbBench {
    operation: &'static str,
    /// The background operation of thread 0, if it differs from that of the other threads.
    background: Option<&'static str>,
    threads: Vec<ThreadTotals>,
}

impl DbBench {
    pub(super) fn new(words: &[String]) -> Self {
        let benchmarks = option(words, "benchmarks").unwrap_or_default().split(',');
        let counted = benchmarks.map(name_of).filter(|name| !name.is_empty() && !UNCOUNTED.contains(name));
        let mut operations: Vec<&str> = counted.clone().map(operation_of).collect();
        operations.dedup();
        let operation = if let [one] = operations.as_slice() { one } else { "operation" };
        let background = counted.clone().find_map(background_of).filter(|_| operation != "operation");
        let threads: usize = option(words, "threads").and_then(|count| count.parse().ok()).unwrap_or(1);
        let all = threads.clamp(1, MAX_THREADS) + usize::from(background.is_some());
        Self { operation, background, threads: vec![ThreadTotals::default(); all] }
    }

    /// The report of all threads, once each has new progress.
    fn report(&mut self) -> Option<Report> {
        if self.threads.iter().any(|thread| thread.latest.is_none()) {
            return None;
        }
        let (mut requests, mut rates) = (BTreeMap::<&str, u64>::new(), 0.0);
        let mut longest_s = 0.0_f64;
        for (index, thread) in self.threads.iter_mut().enumerate() {
            let latest = thread.latest.take()?;
            let anew = latest.ops < thread.reported.ops || latest.seconds < thread.reported.seconds;
            let before = if anew { Totals::default() } else { thread.reported };
            let (ops, seconds) = (grown(latest.ops, before.ops), latest.seconds - before.seconds);
            let operation = self.background.filter(|_| index == 0).unwrap_or(self.operation);
            *requests.entry(operation).or_default() += ops;
            rates += ops as f64 / seconds.max(f64::MIN_POSITIVE);
            longest_s = longest_s.max(seconds);
            thread.reported = latest;
        }
        let all: u64 = requests.values().sum();
        let length_s = if all > 0 { all as f64 / rates } else { longest_s };
        let counted = |(name, count): (&str, u64)| (name.to_owned(), OperationReport::requests(Amount::Count(count)));
        let operations = requests.into_iter().map(counted).collect();
        Some(Report { length_s: Some(length_s), operations, state: BTreeMap::new() })
    }
}

/// More threads than this are a mistake.
const MAX_THREADS: usize = 1 << 16;

impl Parser for DbBench {
    fn line(&mut self, line: &str) -> Option<Vec<Report>> {
        if let Some(found) = PERCENTILES.captures(line) {
            let report = Report { length_s: Some(0.0), ..Report::default() };
            let names = [("p50_us", "p50"), ("p99_us", "p99"), ("p999_us", "p999")];
            return Some(vec![
                names.iter().fold(report, |report, (name, group)| report.with_state(name, number(&found, group))),
            ]);
        }
        let found = PROGRESS.captures(line)?;
        let index: usize = found["thread"].parse().ok()?;
        let done = Totals { ops: found["ops"].parse().ok()?, seconds: number(&found, "seconds")? };
        self.threads.get_mut(index)?.latest = Some(done);
        Some(self.report().into_iter().collect())
    }

    fn operations(&self) -> Vec<String> {
        [Some(self.operation), self.background].into_iter().flatten().map(str::to_owned).collect()
    }

    fn state(&self) -> Vec<(String, &'static str)> {
        ["p50_us", "p99_us", "p999_us"].map(|name| (name.to_owned(), "us")).into()
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("db_bench", "--stats_interval_seconds=")]
    }
}

/// A benchmark without its own arguments: `readrandom[X3]`.
fn name_of(benchmark: &str) -> &str {
    benchmark.split('[').next().unwrap_or_default().trim()
}

fn operation_of(benchmark: &str) -> &'static str {
    const KINDS: [(&str, &[&str]); 4] = [
        ("write", &["fill", "overwrite", "update", "merge"]),
        ("delete", &["delete"]),
        ("scan", &["seek", "readseq", "readreverse"]),
        ("read", &["read", "multiread", "get"]),
    ];
    let fits = |(_, begins): &&(&str, &[&str])| begins.iter().any(|begin| benchmark.starts_with(begin));
    let several = ["readrandomwriterandom", "readrandommergerandom"].contains(&benchmark);
    KINDS.iter().find(fits).filter(|_| !several).map_or("operation", |(kind, _)| kind)
}

/// The operation of the background thread of `readwhilewriting` and similar benchmarks.
fn background_of(benchmark: &str) -> Option<&'static str> {
    match benchmark.split_once("while")?.1 {
        "writing" | "merging" => Some("write"),
        "scanning" => Some("scan"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::parser::read_all;

    fn parser(words: &str) -> DbBench {
        DbBench::new(&words.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_recorded_run_of_two_threads_gives_the_sum_of_their_rates() {
        let mut parser = parser("db_bench --benchmarks=readrandom --threads=2");
        let (reports, _) = read_all(&mut parser, include_str!("samples/db_bench.txt"));
        let [first, second, end] = reports.as_slice() else { panic!("{reports:?}") };
        assert_eq!(first.operations["read"].requests, Amount::Count(80_000));
        assert!((80_000.0 / first.length_s.unwrap() - (40_794.9 + 38_694.3)).abs() < 1.0, "{first:?}");
        assert_eq!(second.operations["read"].requests, Amount::Count(80_000));
        assert!((80_000.0 / second.length_s.unwrap() - (39_977.3 + 38_498.1)).abs() < 1.0, "{second:?}");
        assert_eq!((end.length_s, end.operations.len()), (Some(0.0), 0));
        assert_eq!((end.state["p50_us"], end.state["p999_us"]), (1.06, 20.38));
    }

    #[test]
    fn the_next_benchmark_counts_from_the_beginning() {
        let mut parser = parser("db_bench --benchmarks=fillseq,overwrite,stats");
        let latest = |ops: u64, seconds: f64| {
            format!(
                "2026/11/22-00:05:07  ... thread 0: (1,{ops}) ops and (1.0,1.0) ops/second in (1.0,{seconds}) seconds"
            )
        };
        assert_eq!(parser.operations(), ["write"]);
        let mut counts = [(10, 1.0), (30, 2.0), (5, 1.0)]
            .into_iter()
            .flat_map(|(ops, seconds)| parser.line(&latest(ops, seconds)).unwrap());
        let mut next = || counts.next().unwrap().operations["write"].requests;
        assert_eq!([next(), next(), next()], [10, 20, 5].map(Amount::Count));
    }

    #[test]
    fn operations_follow_from_the_benchmarks() {
        for (benchmarks, operations) in [
            ("fillrandom", vec!["write"]),
            ("readwhilewriting", vec!["read", "write"]),
            ("seekrandom[X3],stats", vec!["scan"]),
            ("fillseq,readrandom", vec!["operation"]),
            ("readrandomwriterandom", vec!["operation"]),
        ] {
            assert_eq!(parser(&format!("db_bench --benchmarks={benchmarks}")).operations(), operations, "{benchmarks}");
        }
    }

    #[test]
    fn other_lines_mean_nothing() {
        assert_eq!(parser("db_bench").line("Keys:       16 bytes each"), None);
        assert_eq!(parser("db_bench").line("thread 9: (1,1) ops and (1,1) ops/second in (1,1)"), None);
    }
}
