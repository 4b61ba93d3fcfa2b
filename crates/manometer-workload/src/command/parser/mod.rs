//! Parsers of the output of programs, one per file, each a state machine without a clock.

mod db_bench;
mod fio;
mod memtier;
mod redis_benchmark;
mod regex;
mod sysbench;
mod ycsb;

use std::collections::BTreeMap;

use manometer_measure::LatencyHistogram;

use super::ParserName;
use crate::setting_error::SettingError;

/// Parses the output of one program.
pub trait Parser: Send {
    /// Reads the next line of standard output or standard error. Returns the reports that it completes, often none, or
    /// `None` if the parser does not understand the line.
    fn line(&mut self, line: &str) -> Option<Vec<Report>>;

    /// How many reports began and could not be read, one that has not ended included.
    fn damaged_reports(&self) -> u64 {
        0
    }

    /// Every operation that a report can count.
    fn operations(&self) -> Vec<String>;

    /// Every number of a report besides its counts, with its unit.
    fn state(&self) -> Vec<(String, &'static str)> {
        Vec::new()
    }

    /// The unit of the workload's performance: `ops/s` or `MiB/s`.
    fn unit(&self) -> &'static str {
        "ops/s"
    }

    /// What the program does not count, `requests` or `bytes`: a gap in the recording.
    fn uncounted(&self) -> &'static [&'static str] {
        &["bytes"]
    }

    /// The operations whose latencies the reports hold as distributions.
    fn latencies(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Programs that need an option: each with the prefix of the required word.
    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// The report of a program on one interval.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The length of the interval as the program reports it; nothing when it is the time since the report
    /// before, and 0 when the report counts nothing.
    pub length_s: Option<f64>,
    /// The counts of each operation.
    pub operations: BTreeMap<String, OperationReport>,
    /// Other numbers, by name.
    pub state: BTreeMap<String, f64>,
}

/// The counts of one operation in a report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperationReport {
    /// Requests answered.
    pub requests: Amount,
    /// Bytes moved, where the program counts them: none of them, in a stall, is a number, too.
    pub bytes: Option<Amount>,
    /// Their latencies, where the program reports all of them.
    pub latency: Option<LatencyHistogram>,
}

/// An amount, as a program reports it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// A number of requests or bytes.
    Count(u64),
    /// A rate per second.
    PerSecond(f64),
}

impl Default for Amount {
    fn default() -> Self {
        Self::Count(0)
    }
}

impl Report {
    /// A report that counts the requests of one operation.
    fn of(operation: &str, requests: Amount) -> Self {
        Self {
            operations: BTreeMap::from([(operation.to_owned(), OperationReport::requests(requests))]),
            ..Self::default()
        }
    }

    /// The same report with one more number.
    fn with_state(mut self, name: &str, value: Option<f64>) -> Self {
        self.state.extend(value.filter(|value| value.is_finite()).map(|value| (name.to_owned(), value)));
        self
    }
}

impl OperationReport {
    fn requests(requests: Amount) -> Self {
        Self { requests, ..Self::default() }
    }

    fn bytes(bytes: Amount) -> Self {
        Self { bytes: Some(bytes), ..Self::default() }
    }
}

/// A new parser for the output of the program and its arguments, `words`; `patterns` are those of [`ParserName::Regex`].
///
/// # Errors
/// The patterns are none, or are for another parser.
pub fn new(
    name: ParserName,
    words: &[String],
    patterns: &BTreeMap<String, String>,
) -> Result<Box<dyn Parser>, SettingError> {
    if name != ParserName::Regex && !patterns.is_empty() {
        return Err(SettingError::new("patterns", "patterns", "only `parser = \"regex\"` takes them"));
    }
    Ok(match name {
        ParserName::Fio => Box::new(fio::Fio::default()),
        ParserName::DbBench => Box::new(db_bench::DbBench::new(words)),
        ParserName::Ycsb => Box::new(ycsb::Ycsb::default()),
        ParserName::RedisBenchmark => Box::new(redis_benchmark::RedisBenchmark),
        ParserName::Memtier => Box::new(memtier::Memtier::default()),
        ParserName::Sysbench => Box::new(sysbench::Sysbench::new(words)),
        ParserName::Regex => Box::new(regex::Patterns::new(patterns)?),
    })
}

/// The growth of a counter from `before` to `value`; all of `value` if it was reset.
fn grown(value: u64, before: u64) -> u64 {
    value.checked_sub(before).unwrap_or(value)
}

/// The number in the capture group `name`.
fn number(found: &::regex::Captures<'_>, name: &str) -> Option<f64> {
    found.name(name)?.as_str().parse().ok().filter(|number: &f64| number.is_finite())
}

/// The value of the word `--NAME=VALUE`.
fn option<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.trim_start_matches('-').strip_prefix(name)?.strip_prefix('='))
}

/// The reports of a whole recorded output, and how many lines were not understood.
#[cfg(test)]
fn read_all(parser: &mut dyn Parser, text: &str) -> (Vec<Report>, usize) {
    let read: Vec<_> = text.split(['\n', '\r']).map(|line| parser.line(line)).collect();
    let unknown = read.iter().filter(|line| line.is_none()).count();
    (read.into_iter().flatten().flatten().collect(), unknown)
}
