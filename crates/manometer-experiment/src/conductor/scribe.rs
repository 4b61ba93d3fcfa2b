//! Writes down what workers tell and what observers see.

use std::collections::HashMap;

use manometer_measure::host::{Border, Observer};
use manometer_measure::latency_log::response_tag;
use manometer_measure::operation::is_background;
use manometer_measure::{Column, LatencyHistogram, RecordingError, RecordingWriter};
use manometer_workload::protocol::Sample;
use serde_json::Value;

use crate::columns;

/// A recording being written, and the columns its series began with.
pub(super) struct Scribe {
    pub recording: RecordingWriter,
    operations: HashMap<String, Vec<String>>,
    state: HashMap<String, Vec<String>>,
    /// Operations that some phase brings, by workload: columns cannot be added to a series later.
    expected: HashMap<String, Vec<String>>,
}

/// What a sample means for whoever watches.
pub(super) struct Rate {
    pub per_second: f64,
    pub p99_us: Option<f64>,
    /// Operations whose counts have no column: their latencies alone are recorded.
    pub without_column: Vec<String>,
}

impl Scribe {
    pub(super) fn new(recording: RecordingWriter) -> Self {
        Self { recording, operations: HashMap::new(), state: HashMap::new(), expected: HashMap::new() }
    }

    /// Has the series of `workload`, which is yet to begin, hold `operations` as well.
    pub(super) fn expect(&mut self, workload: &str, operations: Vec<String>) {
        self.expected.insert(workload.to_owned(), operations);
    }

    /// Writes one sample of `workload`; `facts` are what it said when it was ready.
    pub(super) fn sample(
        &mut self,
        workload: &str,
        unit: &str,
        facts: &serde_json::Map<String, Value>,
        sample: &Sample,
    ) -> Result<Rate, RecordingError> {
        self.begin(workload, facts, sample)?;
        // What an external program does not tell is a gap, not a nought.
        let uncounted = |what: &str| {
            let all = facts.get("uncounted").and_then(Value::as_array);
            all.is_some_and(|all| all.iter().any(|name| name == what))
        };
        let (no_requests, no_bytes) = (uncounted("requests"), uncounted("bytes"));
        let mut row = vec![Some(sample.length_ns as f64 / 1e9)];
        for operation in &self.operations[workload] {
            let done = sample.operations.get(operation);
            row.push(done.filter(|_| !no_requests).map(|done| done.requests as f64));
            row.push(done.filter(|_| !no_bytes).map(|done| done.bytes as f64));
            row.push(done.map(|done| done.retries as f64));
            row.push(done.map(|done| done.missing as f64));
        }
        row.push(Some(sample.dropped as f64));
        let known = &self.operations[workload];
        let without_column = sample.operations.keys().filter(|name| !known.contains(name)).cloned().collect();
        self.recording.sample(workload, sample.t_ns, &row)?;
        if let Some(columns) = self.state.get(workload).filter(|_| !sample.state.is_empty()) {
            let row: Vec<Option<f64>> = columns.iter().map(|name| sample.state.get(name).copied()).collect();
            self.recording.sample(&format!("{workload}.engine"), sample.state_t_ns.unwrap_or(sample.t_ns), &row)?;
        }
        let all = self.latencies(workload, sample)?;
        let own = || sample.operations.iter().filter(|(operation, _)| !is_background(operation));
        let bytes: u64 = own().map(|(_, done)| done.bytes).sum();
        let requests: u64 = own().map(|(_, done)| done.requests).sum();
        let done = if unit == "MiB/s" { bytes as f64 / f64::from(1 << 20) } else { requests as f64 };
        let seconds = sample.length_ns.max(1) as f64 / 1e9;
        Ok(Rate { per_second: done / seconds, p99_us: all.quantile_ns(0.99).map(|ns| ns as f64 / 1e3), without_column })
    }

    /// Writes each operation's latencies; returns all together but those in the background.
    fn latencies(&mut self, workload: &str, sample: &Sample) -> Result<LatencyHistogram, RecordingError> {
        let mut all = LatencyHistogram::new();
        let begin_ns = sample.t_ns.saturating_sub(sample.length_ns);
        for (operation, done) in &sample.operations {
            let both = [(operation.clone(), &done.latency), (response_tag(operation), &done.response)];
            for (tag, text) in both.into_iter().filter(|(_, text)| !text.is_empty()) {
                match LatencyHistogram::from_base64(text) {
                    Ok(histogram) => {
                        self.recording.latency(workload, &tag, begin_ns, sample.t_ns, &histogram)?;
                        if tag == *operation && !is_background(operation) {
                            all.add(&histogram);
                        }
                    }
                    Err(error) => tracing::warn!("{workload} sent latencies that cannot be read: {error}"),
                }
            }
        }
        Ok(all)
    }

    /// Begins the series of `workload` with its first sample.
    fn begin(
        &mut self,
        workload: &str,
        facts: &serde_json::Map<String, Value>,
        sample: &Sample,
    ) -> Result<(), RecordingError> {
        if !self.operations.contains_key(workload) {
            let mut operations: Vec<String> = sample.operations.keys().cloned().collect();
            operations.extend(self.expected.remove(workload).unwrap_or_default());
            operations.sort();
            operations.dedup();
            self.recording.begin_series(workload, &columns::of_workload(&operations))?;
            self.operations.insert(workload.to_owned(), operations);
        }
        let units = facts.get("state_units").and_then(Value::as_object);
        if let Some(units) = units.filter(|_| !self.state.contains_key(workload)) {
            let unit = |unit: &Value| unit.as_str().unwrap_or_default().to_owned();
            let columns: Vec<Column> =
                units.iter().map(|(name, text)| columns::of_state(name, &unit(text), facts)).collect();
            self.recording.begin_series(&format!("{workload}.engine"), &columns)?;
            self.state.insert(workload.to_owned(), units.keys().cloned().collect());
        }
        Ok(())
    }

    /// Lets every observer look once.
    pub(super) fn observe(&mut self, t_ns: u64, observers: &mut [Box<dyn Observer>]) -> Result<(), RecordingError> {
        for observer in observers {
            let row = observer.sample(t_ns);
            self.observed(t_ns, observer.as_ref(), &row)?;
        }
        Ok(())
    }

    /// Lets every observer look closer at the begin or end of a phase.
    pub(super) fn border(
        &mut self,
        t_ns: u64,
        border: Border,
        observers: &mut [Box<dyn Observer>],
    ) -> Result<(), RecordingError> {
        for event in observers.iter_mut().flat_map(|observer| observer.border(t_ns, border)) {
            self.recording.event(t_ns, event)?;
        }
        Ok(())
    }

    /// Writes the rows that are still on their way at the end of the run.
    pub(super) fn observe_last(
        &mut self,
        t_ns: u64,
        observers: &mut [Box<dyn Observer>],
    ) -> Result<(), RecordingError> {
        for observer in observers {
            let row = observer.last(t_ns);
            self.observed(t_ns, observer.as_ref(), &row)?;
        }
        Ok(())
    }

    /// Writes a row of `observer`, whose series begins with the first that is not empty.
    fn observed(&mut self, t_ns: u64, observer: &dyn Observer, row: &[Option<f64>]) -> Result<(), RecordingError> {
        if row.is_empty() {
            return Ok(());
        }
        if !self.recording.has_series(observer.source()) {
            self.recording.begin_series(observer.source(), &observer.columns())?;
        }
        self.recording.sample(observer.source(), observer.row_ns().unwrap_or(t_ns), row)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use manometer_measure::clock::WallAnchor;
    use manometer_measure::event::{Event, Status};
    use manometer_measure::plan::{Better, Criterion, Plan};
    use manometer_measure::{Recording, Samples};
    use manometer_workload::protocol::OperationSample;
    use serde_json::json;

    use super::*;

    fn sample(t_ns: u64, operations: &[&str], dropped: u64) -> Sample {
        let mut histogram = LatencyHistogram::new();
        histogram.record(1000);
        let (latency, mut late) = (histogram.to_base64(), LatencyHistogram::new());
        late.record(5000);
        let one =
            OperationSample { requests: 1, bytes: 10, retries: 0, missing: 0, latency, response: late.to_base64() };
        let operations = operations.iter().map(|name| ((*name).to_owned(), one.clone())).collect();
        Sample { t_ns, length_ns: 1_000_000_000, operations, dropped, state: BTreeMap::new(), state_t_ns: None }
    }

    fn scribe() -> (Scribe, PathBuf, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan {
            experiment: "scribe".to_owned(),
            criterion: Criterion { metric: "throughput".to_owned(), unit: "ops/s".to_owned(), better: Better::Higher },
            interval_s: 1.0,
            seed: 1,
            sweep: serde_json::Map::new(),
            reference: false,
            workloads: Vec::new(),
            phases: Vec::new(),
        };
        let out = dir.path().join("recording");
        let start = WallAnchor { monotonic_ns: 0, unix_ns: 1_700_000_000_000_000_000 };
        let writer = RecordingWriter::create(&out, start, "", &plan, &json!({})).unwrap();
        (Scribe::new(writer), out, dir)
    }

    fn write(expected: &[&str], samples: &[Sample]) -> (Vec<Rate>, Samples, Recording, tempfile::TempDir) {
        let (mut scribe, out, dir) = scribe();
        scribe.expect("db", expected.iter().map(|name| (*name).to_owned()).collect());
        let facts = serde_json::Map::new();
        let rates = samples.iter().map(|sample| scribe.sample("db", "ops/s", &facts, sample).unwrap()).collect();
        scribe.recording.finish(10_000_000_000, Status::Complete).unwrap();
        let recording = Recording::open(&out).unwrap();
        (rates, recording.samples("db").unwrap(), recording, dir)
    }

    #[test]
    fn an_operation_that_a_later_phase_brings_has_its_column_from_the_start() {
        let samples = [sample(1_000_000_000, &["read"], 0), sample(2_000_000_000, &["read", "update"], 7)];
        let (rates, read, recording, _dir) = write(&["update", "read"], &samples);
        assert_eq!(read.column("update.requests").unwrap(), [None, Some(1.0)]);
        assert_eq!(read.column("dropped").unwrap(), [Some(0.0), Some(7.0)]);
        assert!(rates.iter().all(|rate| rate.without_column.is_empty()));
        let log = recording.latency("db").unwrap();
        assert_eq!(log.operations(), ["read", "update"]);
        assert_eq!(log.response_tag("read"), "read.response");
        assert!(log.between("read.response", 0.0, 9.0).max_ns() > log.between("read", 0.0, 9.0).max_ns());
    }

    #[test]
    fn a_state_that_came_late_lies_at_its_own_time() {
        let (mut scribe, out, _dir) = scribe();
        let Value::Object(facts) = json!({"state_units": {"keys": "keys"}}) else { unreachable!() };
        let at = |t_ns, state_t_ns, keys| Sample {
            state: BTreeMap::from([("keys".to_owned(), keys)]),
            state_t_ns,
            ..sample(t_ns, &["read"], 0)
        };
        for sample in [at(1_000_000_000, None, 5.0), at(3_000_000_000, Some(2_700_000_000), 7.0)] {
            scribe.sample("db", "ops/s", &facts, &sample).unwrap();
        }
        scribe.recording.finish(4_000_000_000, Status::Complete).unwrap();
        let read = Recording::open(&out).unwrap().samples("db.engine").unwrap();
        assert_eq!(read.t_ns, [1_000_000_000, 2_700_000_000]);
        assert_eq!(read.column("keys").unwrap(), [Some(5.0), Some(7.0)]);
    }

    #[test]
    fn an_operation_that_nobody_announced_is_named() {
        let samples = [sample(1_000_000_000, &["read"], 0), sample(2_000_000_000, &["read", "scan"], 0)];
        let (rates, _, recording, _dir) = write(&[], &samples);
        assert_eq!(rates[1].without_column, ["scan"]);
        assert_eq!(recording.latency("db").unwrap().between("scan", 0.0, 9.0).len(), 1, "its latencies are kept");
    }

    /// Sees something at its second look only, and something else last.
    #[derive(Default)]
    struct Rare(u32);

    impl Observer for Rare {
        fn source(&self) -> &str {
            "health"
        }

        fn columns(&self) -> Vec<Column> {
            vec![Column::new("temperature", "°C").meaning("Its temperature.").from("a tool")]
        }

        fn sample(&mut self, _: u64) -> Vec<Option<f64>> {
            self.0 += 1;
            if self.0 == 2 { vec![Some(40.0)] } else { Vec::new() }
        }

        fn border(&mut self, _: u64, _: Border) -> Vec<Event> {
            vec![Event::Stranger { pid: 7, command: "dd".to_owned(), read_bytes: 0, written_bytes: 1 << 30 }]
        }

        fn last(&mut self, _: u64) -> Vec<Option<f64>> {
            self.0 = 0;
            vec![Some(41.0)]
        }

        fn row_ns(&self) -> Option<u64> {
            (self.0 == 0).then_some(4)
        }
    }

    #[test]
    fn an_observer_writes_a_row_only_when_it_saw_something() {
        let (mut scribe, out, _dir) = scribe();
        let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(Rare::default())];
        for t_ns in 1..4 {
            scribe.observe(t_ns, &mut observers).unwrap();
        }
        scribe.border(4, Border::End, &mut observers).unwrap();
        scribe.observe_last(5, &mut observers).unwrap();
        scribe.recording.finish(6, Status::Complete).unwrap();
        let recording = Recording::open(&out).unwrap();
        let health = recording.samples("health").unwrap();
        assert_eq!(health.t_ns, [2, 4], "the last was asked for when the phase ended");
        assert_eq!(health.columns, Rare::default().columns());
        let strangers = recording.events.iter().filter(|line| matches!(line.event, Event::Stranger { pid: 7, .. }));
        assert_eq!(strangers.map(|line| line.t_ns).collect::<Vec<_>>(), [4]);
    }
}
