//! `redis-benchmark`: a progress line four times a second that overwrites the one before.
//!
//! ```text
//! GET: rps=66410.4 (overall: 63629.5) avg_msec=0.054 (overall: 0.053)
//! ```

use std::sync::LazyLock;

use regex::Regex;

use super::{Amount, Parser, Report, number};

static PROGRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?<test>[^:]+): rps=(?<rate>[\d.]+) \(overall: [^)]*\) avg_msec=(?<mean>[\d.]+|-?nan)")
        .expect("the constant pattern is valid")
});

#[derive(Debug)]
pub(super) struct RedisBenchmark;

impl Parser for RedisBenchmark {
    fn line(&mut self, line: &str) -> Option<Vec<Report>> {
        let found = PROGRESS.captures(line)?;
        let operation = match &found["test"] {
            "GET" => "read",
            "SET" => "write",
            _ => "other",
        };
        let mean_us = number(&found, "mean").map(|ms| ms * 1e3);
        let report = Report::of(operation, Amount::PerSecond(number(&found, "rate")?));
        Some(vec![report.with_state("mean_us", mean_us)])
    }

    fn operations(&self) -> Vec<String> {
        ["read", "write", "other"].map(str::to_owned).into()
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
    fn recorded_lines_become_rates() {
        let (reports, unknown) = read_all(&mut RedisBenchmark, include_str!("samples/redis-benchmark.txt"));
        let rates: Vec<_> = reports.iter().filter_map(|report| report.operations.get("write")).collect();
        let expected = [0.0, 60_577.7, 66_410.4, 80_796.0].map(Amount::PerSecond);
        assert_eq!(rates.iter().map(|counted| counted.requests).collect::<Vec<_>>(), expected);
        assert!((reports[1].state["mean_us"] - 52.0).abs() < 1e-9);
        assert!(reports.iter().any(|report| report.operations.contains_key("read")));
        assert!(unknown > 0);
    }
}
