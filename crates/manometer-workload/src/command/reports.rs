//! ReadsThenWrites reports into samples: every report becomes one, over its own interval.

use std::collections::BTreeMap;

use super::parser::{Amount, OperationReport, Report};
use crate::sample::{OperationSample, Sample};

/// The sample of a `report` that arrived at `t_ns`, when the one before arrived at `since_ns`. Each of
/// `operations` is in it.
pub(super) fn sample(report: &Report, operations: &[String], t_ns: u64, since_ns: u64) -> Sample {
    let reported_ns = report.length_s.map(|length_s| (length_s * 1e9) as u64);
    let length_ns = reported_ns.unwrap_or_else(|| t_ns.saturating_sub(since_ns));
    let none = OperationReport::default();
    let counted = |name: &String| {
        let counted = report.operations.get(name).unwrap_or(&none);
        (name.clone(), operation(counted, length_ns))
    };
    let operations: BTreeMap<String, OperationSample> = operations.iter().map(counted).collect();
    let length_ns = exact_length_ns(report, &operations, length_ns);
    Sample { t_ns, length_ns, operations, state: report.state.clone(), state_t_ns: None, dropped: 0 }
}

fn operation(counted: &OperationReport, length_ns: u64) -> OperationSample {
    OperationSample {
        requests: count(counted.requests, length_ns),
        bytes: counted.bytes.map_or(0, |bytes| count(bytes, length_ns)),
        retries: 0,
        missing: 0,
        latency: counted.latency.as_ref().map_or_else(String::new, |latency| latency.to_base64()),
        response: String::new(),
    }
}

fn count(amount: Amount, length_ns: u64) -> u64 {
    match amount {
        Amount::Count(count) => count,
        Amount::PerSecond(rate) => (rate * length_ns as f64 / 1e9).round() as u64,
    }
}

/// The interval over which the counts, which are whole numbers, give the reported rate.
fn exact_length_ns(report: &Report, operations: &BTreeMap<String, OperationSample>, length_ns: u64) -> u64 {
    let rates = report.operations.values().map(|counted| match counted.requests {
        Amount::PerSecond(rate) => rate,
        Amount::Count(_) => 0.0,
    });
    let rate: f64 = rates.sum();
    let requests: u64 = operations.values().map(|done| done.requests).sum();
    let counted = report.operations.values().any(|one| matches!(one.requests, Amount::Count(count) if count > 0));
    if counted || rate <= 0.0 || requests == 0 { length_ns } else { (requests as f64 / rate * 1e9) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn report(requests: Amount, length_s: Option<f64>) -> Report {
        let counted = OperationReport { requests, ..OperationReport::default() };
        Report { length_s, operations: BTreeMap::from([("read".to_owned(), counted)]), ..Report::default() }
    }

    fn rate(report: &Report) -> f64 {
        let operations = ["read".to_owned(), "write".to_owned()];
        let sample = sample(report, &operations, 12 * SECOND_NS, 10 * SECOND_NS);
        assert_eq!(sample.operations.len(), 2);
        sample.operations["read"].requests as f64 / (sample.length_ns as f64 / 1e9)
    }

    #[test]
    fn the_rate_is_the_reported_one() {
        assert!((rate(&report(Amount::PerSecond(2.7), Some(1.0))) - 2.7).abs() < 1e-6);
        assert!((rate(&report(Amount::PerSecond(2.7), None)) - 2.7).abs() < 1e-6);
        assert!((rate(&report(Amount::Count(10), None)) - 5.0).abs() < 1e-9);
        assert!((rate(&report(Amount::Count(10), Some(4.0))) - 2.5).abs() < 1e-9);
        assert!(rate(&report(Amount::PerSecond(0.0), None)).abs() < 1e-9);
    }

    #[test]
    fn a_report_of_nothing_but_numbers_has_no_length() {
        let numbers = Report { length_s: Some(0.0), ..Report::default() };
        assert_eq!(sample(&numbers, &[], SECOND_NS, 0).length_ns, 0);
    }
}
