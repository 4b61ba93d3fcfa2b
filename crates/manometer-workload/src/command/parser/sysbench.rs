//! `sysbench` with `--report-interval`: a line per interval, in a format of each test.
//!
//! ```text
//! [ 1s ] thds: 1 eps: 275.79 lat (ms,95%): 36.24
//! [ 1s ] thds: 4 tps: 98.92 qps: 2018.30 (r/w/o: …) lat (ms,95%): 52.89 err/s: 0.00 reconn/s: 0.00
//! [ 1s ] reads: 184.98 MiB/s writes: 123.32 MiB/s fsyncs: 393.64/s latency (ms,95%): 0.003
//! [ 1s ] 617.99 MiB/sec
//! ```

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Amount, OperationReport, Parser, Report, number, option};

static STAMP: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\[ (?<s>\d+)s \] (?<rest>.+)$").expect("the constant pattern is valid"));
static RATES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^thds: \d+ (?:e|t)ps: (?<rate>[\d.]+)").expect("the constant pattern is valid"));
static FILES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^reads: (?<read>[\d.]+) MiB/s writes: (?<write>[\d.]+) MiB/s").expect("the constant pattern is valid")
});
static MEMORY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?<access>[\d.]+) MiB/sec$").expect("the constant pattern is valid"));
static LATENCY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"lat(?:ency)? \(ms,\d+%\): (?<ms>[\d.]+)").expect("the constant pattern is valid"));

const BYTES_PER_MIB: f64 = (1_u64 << 20) as f64;

#[derive(Debug)]
pub(super) struct Sysbench {
    operations: &'static [&'static str],
    unit: &'static str,
    /// The state column of the reported percentile.
    percentile: String,
    before_s: f64,
}

impl Sysbench {
    pub(super) fn new(words: &[String]) -> Self {
        let is = |test: &str| words.iter().any(|word| word == test);
        let (operations, unit): (&[_], _) = if is("fileio") {
            (&["read", "write"], "MiB/s")
        } else if is("memory") {
            (&["access"], "MiB/s")
        } else if ["cpu", "threads", "mutex"].into_iter().any(is) {
            (&["event"], "ops/s")
        } else {
            (&["transaction"], "ops/s")
        };
        let percentile = format!("p{}_us", option(words, "percentile").unwrap_or("95"));
        Self { operations, unit, percentile, before_s: 0.0 }
    }

    fn counted(&self, rest: &str) -> Option<BTreeMap<String, OperationReport>> {
        if self.unit == "ops/s" {
            let requests = Amount::PerSecond(number(&RATES.captures(rest)?, "rate")?);
            return Some(BTreeMap::from([(self.operations[0].to_owned(), OperationReport::requests(requests))]));
        }
        let found = FILES.captures(rest).or_else(|| MEMORY.captures(rest))?;
        let bytes =
            |name: &&str| Some(OperationReport::bytes(Amount::PerSecond(number(&found, name)? * BYTES_PER_MIB)));
        self.operations.iter().map(|name| Some(((*name).to_owned(), bytes(name)?))).collect()
    }
}

impl Parser for Sysbench {
    fn line(&mut self, line: &str) -> Option<Vec<Report>> {
        let stamp = STAMP.captures(line)?;
        let operations = self.counted(&stamp["rest"])?;
        let now_s = number(&stamp, "s")?;
        let length_s = Some(now_s - self.before_s).filter(|length_s| *length_s > 0.0);
        self.before_s = now_s;
        // sysbench writes 0.00 where no event ended.
        let latency_ms = LATENCY.captures(line).and_then(|found| number(&found, "ms")).filter(|ms| *ms > 0.0);
        let report = Report { length_s, operations, state: BTreeMap::new() };
        Some(vec![report.with_state(&self.percentile, latency_ms.map(|ms| ms * 1e3))])
    }

    fn operations(&self) -> Vec<String> {
        self.operations.iter().map(|name| (*name).to_owned()).collect()
    }

    fn state(&self) -> Vec<(String, &'static str)> {
        vec![(self.percentile.clone(), "us")]
    }

    fn unit(&self) -> &'static str {
        self.unit
    }

    fn uncounted(&self) -> &'static [&'static str] {
        if self.unit == "ops/s" { &["bytes"] } else { &["requests"] }
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("sysbench", "--report-interval=")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::parser::read_all;

    fn read(words: &str) -> Vec<Report> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        read_all(&mut Sysbench::new(&words), include_str!("samples/sysbench.txt")).0
    }

    #[test]
    fn a_recorded_cpu_test_gives_events() {
        let reports = read("sysbench cpu --percentile=95");
        let rates: Vec<_> = reports.iter().map(|report| report.operations["event"].requests).collect();
        assert_eq!(rates[..3], [275.79, 288.04, 266.26].map(Amount::PerSecond));
        assert_eq!(reports[0].length_s, Some(1.0));
        assert_eq!(reports[0].state["p95_us"], 36_240.0);
    }

    #[test]
    fn a_file_test_gives_bytes_and_a_memory_test_too() {
        let files = &read("sysbench fileio")[0];
        assert_eq!(files.operations["write"].bytes, Some(Amount::PerSecond(123.32 * BYTES_PER_MIB)));
        let memory = read("sysbench memory");
        assert_eq!(memory[0].operations["access"].bytes, Some(Amount::PerSecond(617.99 * BYTES_PER_MIB)));
    }

    #[test]
    fn a_database_test_gives_transactions() {
        let line = "[ 2s ] thds: 4 tps: 98.92 qps: 2018.30 (r/w/o: 1423.80/396.66/197.84) lat (ms,95%): 52.89 err/s: 0.00 reconn/s: 0.00";
        let report =
            Sysbench::new(&["sysbench".to_owned(), "oltp_read_write".to_owned()]).line(line).unwrap().remove(0);
        assert_eq!(report.operations["transaction"].requests, Amount::PerSecond(98.92));
        assert_eq!(report.length_s, Some(2.0));
    }
}
