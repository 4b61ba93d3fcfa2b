//! Regular expressions for any program: each operation has the pattern of the lines that report it.
//!
//! Named groups define what a line reports: `rate` (requests per second), `count` (requests since the line before),
//! `total` (requests since the start), `mib_per_s`, `seconds` (the length of the interval). Every other group, such as
//! `p99_us`, becomes a number in addition to the counts.

use std::collections::BTreeMap;

use regex::{Captures, Regex};

use super::{Amount, OperationReport, Parser, Report, grown, number};
use crate::setting_error::SettingError;

const COUNTS: [&str; 3] = ["rate", "count", "total"];
const BYTES: &str = "mib_per_s";
const SECONDS: &str = "seconds";
const WANTED: &str =
    "write at least one of the groups `(?<rate>…)`, `(?<count>…)`, `(?<total>…)` and `(?<mib_per_s>…)`";

const BYTES_PER_MIB: f64 = (1_u64 << 20) as f64;

#[derive(Debug)]
struct Pattern {
    operation: String,
    regex: Regex,
    /// The value of `total` in the line before.
    before: u64,
}

#[derive(Debug)]
pub(super) struct Patterns(Vec<Pattern>);

impl Patterns {
    pub(super) fn new(patterns: &BTreeMap<String, String>) -> Result<Self, SettingError> {
        if patterns.is_empty() {
            let wanted = "write a pattern for each operation: `patterns = { read = '(?<rate>[0-9.]+) reads/s' }`";
            return Err(SettingError::new("patterns", "no pattern", wanted));
        }
        let all = patterns.iter().map(|(operation, pattern)| Pattern::new(operation, pattern));
        let all = Self(all.collect::<Result<_, _>>()?);
        if all.uses(&[BYTES]) && all.uses(&COUNTS) && !all.0.iter().all(|one| one.has(BYTES)) {
            let wanted = format!("a workload has one unit: give `{BYTES}` to all patterns or to none");
            return Err(SettingError::new("patterns", format!("`{BYTES}` in some patterns"), wanted));
        }
        Ok(all)
    }

    fn uses(&self, groups: &[&str]) -> bool {
        self.0.iter().any(|pattern| groups.iter().any(|group| pattern.has(group)))
    }
}

impl Pattern {
    fn new(operation: &str, pattern: &str) -> Result<Self, SettingError> {
        let setting = format!("patterns.{operation}");
        // The library's text shows the pattern with a mark below the error.
        let regex = Regex::new(pattern).map_err(|error| {
            SettingError::new("patterns", format!("the pattern of `{operation}`"), error.to_string())
        })?;
        let made = Self { operation: operation.to_owned(), regex, before: 0 };
        if COUNTS.iter().chain([&BYTES]).any(|group| made.has(group)) {
            return Ok(made);
        }
        Err(SettingError::new("patterns", format!("`{setting}`, which counts nothing"), WANTED))
    }

    fn has(&self, group: &str) -> bool {
        self.regex.capture_names().flatten().any(|name| name == group)
    }

    fn state(&self) -> impl Iterator<Item = &str> {
        let known = |name: &str| COUNTS.contains(&name) || name == BYTES || name == SECONDS;
        self.regex.capture_names().flatten().filter(move |name| !known(name))
    }

    /// The requests that a line reports, as a count or a rate.
    fn requests(&self, found: &Captures<'_>) -> Option<Amount> {
        let count = whole(found, "count").or_else(|| Some(grown(whole(found, "total")?, self.before)));
        count.map(Amount::Count).or_else(|| Some(Amount::PerSecond(number(found, "rate")?)))
    }

    fn read(&mut self, line: &str) -> Option<Report> {
        let found = self.regex.captures(line)?;
        let requests = self.requests(&found);
        if let Some(total) = whole(&found, "total") {
            self.before = total;
        }
        let bytes = number(&found, BYTES).map(|mib| Amount::PerSecond(mib * BYTES_PER_MIB));
        if requests.is_none() && bytes.is_none() {
            return None;
        }
        let counted = OperationReport { requests: requests.unwrap_or_default(), bytes, latency: None };
        let report = Report {
            length_s: number(&found, SECONDS).filter(|seconds| *seconds > 0.0),
            operations: BTreeMap::from([(self.operation.clone(), counted)]),
            state: BTreeMap::new(),
        };
        Some(self.state().fold(report, |report, name| {
            report.with_state(&format!("{}_{name}", self.operation), number(&found, name))
        }))
    }
}

fn whole(found: &Captures<'_>, name: &str) -> Option<u64> {
    number(found, name).filter(|number| *number >= 0.0).map(|number| number as u64)
}

impl Parser for Patterns {
    fn line(&mut self, line: &str) -> Option<Vec<Report>> {
        let reports: Vec<Report> = self.0.iter_mut().filter_map(|pattern| pattern.read(line)).collect();
        let joined = reports.into_iter().reduce(|mut all, one| {
            all.operations.extend(one.operations);
            all.state.extend(one.state);
            all.length_s = all.length_s.or(one.length_s);
            all
        })?;
        Some(vec![joined])
    }

    fn operations(&self) -> Vec<String> {
        self.0.iter().map(|pattern| pattern.operation.clone()).collect()
    }

    fn state(&self) -> Vec<(String, &'static str)> {
        let of = |pattern: &Pattern| {
            let names = pattern.state().map(|name| (format!("{}_{name}", pattern.operation), unit_of(name)));
            names.collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }

    fn unit(&self) -> &'static str {
        if self.uses(&[BYTES]) { "MiB/s" } else { "ops/s" }
    }

    fn uncounted(&self) -> &'static [&'static str] {
        match (self.uses(&COUNTS), self.uses(&[BYTES])) {
            (true, true) => &[],
            (true, false) => &["bytes"],
            (false, _) => &["requests"],
        }
    }
}

/// The unit that the suffix of a name denotes.
fn unit_of(name: &str) -> &'static str {
    let known = [("_ns", "ns"), ("_us", "us"), ("_ms", "ms"), ("_s", "s"), ("_bytes", "B"), ("_percent", "%")];
    known.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(all: &[(&str, &str)]) -> Result<Patterns, SettingError> {
        Patterns::new(&all.iter().map(|(name, pattern)| ((*name).to_owned(), (*pattern).to_owned())).collect())
    }

    #[test]
    fn groups_become_counts_and_numbers() {
        let mut parser = patterns(&[
            ("read", r"reads: (?<total>\d+) in (?<seconds>[\d.]+) s, p99 (?<p99_us>\d+)"),
            ("write", r"(?<rate>[\d.]+) writes/s"),
        ])
        .unwrap();
        assert_eq!(parser.state(), [("read_p99_us".to_owned(), "us")]);
        let report = parser.line("reads: 100 in 0.5 s, p99 7; 12.5 writes/s").unwrap().remove(0);
        assert_eq!(report.operations["read"].requests, Amount::Count(100));
        assert_eq!(report.operations["write"].requests, Amount::PerSecond(12.5));
        assert_eq!((report.length_s, report.state["read_p99_us"]), (Some(0.5), 7.0));
        let report = parser.line("reads: 160 in 0.5 s, p99 8").unwrap().remove(0);
        assert_eq!(report.operations["read"].requests, Amount::Count(60));
        assert_eq!(parser.line("nothing"), None);
    }

    #[test]
    fn bytes_are_a_performance_too() {
        let mut parser = patterns(&[("copy", r"(?<mib_per_s>[\d.]+) MiB/s")]).unwrap();
        assert_eq!((parser.unit(), parser.uncounted()), ("MiB/s", &["requests"][..]));
        let report = parser.line("2 MiB/s").unwrap().remove(0);
        assert_eq!(report.operations["copy"].bytes, Some(Amount::PerSecond(2.0 * BYTES_PER_MIB)));
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_place_that_is_wrong() {
        let bad = patterns(&[("read", "(?<rate>[0-9+) ops")]).unwrap_err();
        assert!(bad.wanted.contains("^") && bad.wanted.contains("unclosed character class"), "{bad}");
        assert!(bad.got.contains("`read`"), "{bad}");
        for wrong in [vec![], vec![("read", "no group")], vec![("read", r"(?<p99_us>\d+)")]] {
            assert!(patterns(&wrong).unwrap_err().to_string().contains("(?<rate>"), "{wrong:?}");
        }
        let mixed = [("read", r"(?<rate>\d+)"), ("copy", r"(?<mib_per_s>\d+)")];
        assert!(patterns(&mixed).unwrap_err().wanted.contains("one unit"));
    }
}
