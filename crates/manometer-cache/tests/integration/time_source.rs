//! Policies that work by the second take it from the requests' times, and without those from their number.

use manometer_cache::PolicySpec;
use manometer_cache::RequestSequence;
use manometer_cache::policy::{POLICIES, TimeSource};
use manometer_trace::{Record, TraceError, TraceOperation, TraceReader};

/// Records that are read at once.
struct Once(Vec<Record>);

impl TraceReader for Once {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        *batch = std::mem::take(&mut self.0);
        Ok(batch.len())
    }
}

/// Requests as a policy reads them, in a skewed order, so many a second from a time on, in a trace with times or without.
fn requests(policy: &PolicySpec, per_second: u64, from_second: u64, has_times: bool) -> RequestSequence {
    let record = |at: u64| {
        let key = (at * at % 1009) * (at % 31) / 40;
        let time_ns = from_second * 1_000_000_000 + at * 1_000_000_000 / per_second;
        let operation = if at.is_multiple_of(5) { TraceOperation::Put } else { TraceOperation::Get };
        Record { time_ns: has_times.then_some(time_ns), ..Record::new(operation, key) }
    };
    let mut trace = Once((0..60_000).map(record).collect());
    RequestSequence::read(&mut trace, policy.kind().details).unwrap()
}

fn misses(text: &str, per_second: u64, from_second: u64, has_times: bool) -> u64 {
    let policy: PolicySpec = text.parse().unwrap();
    let requests = requests(&policy, per_second, from_second, has_times);
    policy.create(90, &requests, false, 1).run(&requests).misses
}

#[test]
fn seconds_are_those_of_the_trace() {
    for policy in ["dm-cache-mq", "dm-cache-smq"] {
        let by_number = misses(&format!("{policy}:rate=50"), 50, 0, false);
        assert!(by_number < 60_000, "{policy} never promotes");
        assert_eq!(misses(policy, 50, 0, true), by_number, "{policy}");
        assert_ne!(misses(policy, 5000, 0, true), by_number, "{policy}");
    }
}

#[test]
fn the_source_of_seconds_is_reported() {
    let seconds = |text: &str, has_times: bool| {
        let policy: PolicySpec = text.parse().unwrap();
        policy.time_source(&requests(&policy, 50, 0, has_times))
    };
    for kind in POLICIES {
        let by_number = kind.details.times.then_some(TimeSource::RequestRate(1000));
        assert_eq!(seconds(kind.name, false), by_number, "{}", kind.name);
        assert_eq!(seconds(kind.name, true), by_number.map(|_| TimeSource::Trace), "{}", kind.name);
    }
    assert_eq!(seconds("dm-cache-smq:rate=7", false), Some(TimeSource::RequestRate(7)));
}

#[test]
fn a_trace_that_begins_late_takes_no_longer() {
    for policy in ["dm-cache-mq", "dm-cache-smq"] {
        let late = misses(policy, 50, 4_000_000_000, true);
        assert!(late < 60_000, "{policy}");
    }
}
