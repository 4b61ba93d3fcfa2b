//! `memtier_benchmark`: a progress line that overwrites the one before.
//!
//! ```text
//! [RUN #1 5%,   1 secs]  4 threads:       54321 ops,   54330 (avg:   54330) ops/sec, 2.10MB/sec (avg: …),  1.47 (avg:  1.47) msec latency
//! ```

use std::sync::LazyLock;

use regex::Regex;

use super::{Amount, Parser, Report, grown, number};

static PROGRESS: LazyLock<Regex> = LazyLock::new(|| {
    let text = r"^\[RUN #\d+[^\]]*\].*threads.*: +(?<ops>\d+) ops, .*ops/sec, .*B/sec \(avg:[^)]*\), +(?<mean>[\d.]+|-?nan) \(";
    Regex::new(text).expect("the constant pattern is valid")
});

#[derive(Debug, Default)]
pub(super) struct Memtier {
    before: u64,
}

impl Parser for Memtier {
    fn line(&mut self, line: &str) -> Option<Vec<Report>> {
        let found = PROGRESS.captures(line)?;
        let ops: u64 = found["ops"].parse().ok()?;
        let requests = Amount::Count(grown(ops, self.before));
        self.before = ops;
        let mean_us = number(&found, "mean").map(|ms| ms * 1e3);
        Some(vec![Report::of("request", requests).with_state("mean_us", mean_us)])
    }

    fn operations(&self) -> Vec<String> {
        vec!["request".to_owned()]
    }

    fn state(&self) -> Vec<(String, &'static str)> {
        vec![("mean_us".to_owned(), "us")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::parser::read_all;

    #[test]
    fn cumulative_counts_are_reported_as_differences() {
        let (reports, _) = read_all(&mut Memtier::default(), include_str!("samples/memtier.txt"));
        let counts: Vec<_> = reports.iter().map(|report| report.operations["request"].requests).collect();
        assert_eq!(counts, [0, 54_321, 54_679].map(Amount::Count));
        assert_eq!(reports[1].state["mean_us"], 3_670.0);
        assert!(!reports[0].state.contains_key("mean_us"), "no request, no mean");
    }
}
