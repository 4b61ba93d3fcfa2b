//! Writes the samples of workers and observers into the recording.

use std::collections::HashMap;

use manometer_measure::host::{Observer, PhaseBoundary};
use manometer_measure::latency_log::response_tag;
use manometer_measure::operation::is_background;
use manometer_measure::{Column, LatencyHistogram, RecordingError, RecordingWriter};
use manometer_workload::sample::Sample;
use serde_json::Value;

use crate::columns;

/// A recording in progress, and the columns of its series.
pub(super) struct RunRecorder {
    pub recording: RecordingWriter,
    operations: HashMap<String, Vec<String>>,
    state: HashMap<String, Vec<String>>,
    /// The operations of all phases, by workload: columns cannot be added to a series later.
    expected: HashMap<String, Vec<String>>,
}

/// The performance in one sample.
pub(super) struct SamplePerformance {
    /// Requests or MiB per second, by the workload's unit.
    pub rate: f64,
    /// The 99th percentile of the latencies of all foreground operations.
    pub p99_us: Option<f64>,
    /// Operations whose counts have no column: only their latencies are recorded.
    pub without_column: Vec<String>,
}

impl RunRecorder {
    pub(super) fn new(recording: RecordingWriter) -> Self {
        Self { recording, operations: HashMap::new(), state: HashMap::new(), expected: HashMap::new() }
    }

    /// Adds columns for `operations` to the series of `workload`, which has not started yet.
    pub(super) fn expect_operations(&mut self, workload: &str, operations: Vec<String>) {
        self.expected.insert(workload.to_owned(), operations);
    }

    /// Writes one sample of `workload`, whose `facts` came with its readiness.
    pub(super) fn record_sample(
        &mut self,
        workload: &str,
        unit: &str,
        facts: &serde_json::Map<String, Value>,
        sample: &Sample,
    ) -> Result<SamplePerformance, RecordingError> {
        self.begin_series(workload, facts, sample)?;
        // A count that an external program does not report is a gap, not 0.
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
        let all = self.record_latencies(workload, sample)?;
        let foreground = || sample.operations.iter().filter(|(operation, _)| !is_background(operation));
        let bytes: u64 = foreground().map(|(_, done)| done.bytes).sum();
        let requests: u64 = foreground().map(|(_, done)| done.requests).sum();
        let done = if unit == "MiB/s" { bytes as f64 / f64::from(1 << 20) } else { requests as f64 };
        let seconds = sample.length_ns.max(1) as f64 / 1e9;
        let p99_us = all.quantile_ns(0.99).map(|ns| ns as f64 / 1e3);
        Ok(SamplePerformance { rate: done / seconds, p99_us, without_column })
    }

    /// Writes the latencies of each operation; returns those of all foreground operations together.
    fn record_latencies(&mut self, workload: &str, sample: &Sample) -> Result<LatencyHistogram, RecordingError> {
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
                    Err(error) => tracing::warn!("{workload} sent an invalid latency histogram: {error}"),
                }
            }
        }
        Ok(all)
    }

    /// Begins the series of `workload` at its first sample.
    fn begin_series(
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

    /// Records a sample of every observer.
    pub(super) fn observe(&mut self, t_ns: u64, observers: &mut [Box<dyn Observer>]) -> Result<(), RecordingError> {
        for observer in observers {
            let row = observer.sample(t_ns);
            self.record_observation(t_ns, observer.as_ref(), &row)?;
        }
        Ok(())
    }

    /// Records the events that observers report at the beginning or the end of a phase.
    pub(super) fn phase_boundary(
        &mut self,
        t_ns: u64,
        boundary: PhaseBoundary,
        observers: &mut [Box<dyn Observer>],
    ) -> Result<(), RecordingError> {
        for event in observers.iter_mut().flat_map(|observer| observer.phase_boundary(t_ns, boundary)) {
            self.recording.event(t_ns, event)?;
        }
        Ok(())
    }

    /// Records the samples of observers that are still outstanding at the end of the run.
    pub(super) fn observe_last(
        &mut self,
        t_ns: u64,
        observers: &mut [Box<dyn Observer>],
    ) -> Result<(), RecordingError> {
        for observer in observers {
            let row = observer.last_sample(t_ns);
            self.record_observation(t_ns, observer.as_ref(), &row)?;
        }
        Ok(())
    }

    /// Writes a row of `observer`, whose series begins with the first row that is not empty.
    fn record_observation(
        &mut self,
        t_ns: u64,
        observer: &dyn Observer,
        row: &[Option<f64>],
    ) -> Result<(), RecordingError> {
        if row.is_empty() {
            return Ok(());
        }
        if !self.recording.has_series(observer.series()) {
            self.recording.begin_series(observer.series(), &observer.columns())?;
        }
        self.recording.sample(observer.series(), observer.sample_time_ns().unwrap_or(t_ns), row)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use manometer_measure::clock::WallAnchor;
    use manometer_measure::event::{Event, RunStatus};
    use manometer_measure::plan::{BetterDirection, Criterion, Plan};
    use manometer_measure::{Recording, Samples};
    use manometer_workload::sample::OperationSample;
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

    fn recorder() -> (RunRecorder, PathBuf, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan {
            experiment: "a test".to_owned(),
            criterion: Criterion {
                metric: "throughput".to_owned(),
                unit: "ops/s".to_owned(),
                better: BetterDirection::Higher,
            },
            interval_s: 1.0,
            seed: 1,
            sweep: serde_json::Map::new(),
            reference: false,
            goal: None,
            interleaved: None,
            workloads: Vec::new(),
            phases: Vec::new(),
        };
        let out = dir.path().join("recording");
        let start = WallAnchor { monotonic_ns: 0, unix_ns: 1_700_000_000_000_000_000 };
        let writer = RecordingWriter::create(&out, start, "", &plan, &json!({})).unwrap();
        (RunRecorder::new(writer), out, dir)
    }

    fn write(expected: &[&str], samples: &[Sample]) -> (Vec<SamplePerformance>, Samples, Recording, tempfile::TempDir) {
        let (mut recorder, out, dir) = recorder();
        recorder.expect_operations("db", expected.iter().map(|name| (*name).to_owned()).collect());
        let facts = serde_json::Map::new();
        let rates =
            samples.iter().map(|sample| recorder.record_sample("db", "ops/s", &facts, sample).unwrap()).collect();
        recorder.recording.finish(10_000_000_000, RunStatus::Complete).unwrap();
        let recording = Recording::open(&out).unwrap();
        (rates, recording.samples("db").unwrap(), recording, dir)
    }

    #[test]
    fn an_operation_of_a_later_phase_has_its_column_from_the_start() {
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
    fn a_late_engine_state_is_recorded_at_its_own_time() {
        let (mut recorder, out, _dir) = recorder();
        let Value::Object(facts) = json!({"state_units": {"keys": "keys"}}) else { unreachable!() };
        let at = |t_ns, state_t_ns, keys| Sample {
            state: BTreeMap::from([("keys".to_owned(), keys)]),
            state_t_ns,
            ..sample(t_ns, &["read"], 0)
        };
        for sample in [at(1_000_000_000, None, 5.0), at(3_000_000_000, Some(2_700_000_000), 7.0)] {
            recorder.record_sample("db", "ops/s", &facts, &sample).unwrap();
        }
        recorder.recording.finish(4_000_000_000, RunStatus::Complete).unwrap();
        let read = Recording::open(&out).unwrap().samples("db.engine").unwrap();
        assert_eq!(read.t_ns, [1_000_000_000, 2_700_000_000]);
        assert_eq!(read.column("keys").unwrap(), [Some(5.0), Some(7.0)]);
    }

    #[test]
    fn an_unexpected_operation_is_reported() {
        let samples = [sample(1_000_000_000, &["read"], 0), sample(2_000_000_000, &["read", "scan"], 0)];
        let (rates, _, recording, _dir) = write(&[], &samples);
        assert_eq!(rates[1].without_column, ["scan"]);
        assert_eq!(recording.latency("db").unwrap().between("scan", 0.0, 9.0).len(), 1, "its latencies are recorded");
    }

    /// An observer with a row at its second sample only, and another one at the end.
    #[derive(Default)]
    struct RareObserver(u32);

    impl Observer for RareObserver {
        fn series(&self) -> &str {
            "health"
        }

        fn columns(&self) -> Vec<Column> {
            vec![Column::new("temperature", "°C").meaning("Its temperature.").from("a tool")]
        }

        fn sample(&mut self, _: u64) -> Vec<Option<f64>> {
            self.0 += 1;
            if self.0 == 2 { vec![Some(40.0)] } else { Vec::new() }
        }

        fn phase_boundary(&mut self, _: u64, _: PhaseBoundary) -> Vec<Event> {
            vec![Event::ForeignProcess { pid: 7, command: "dd".to_owned(), read_bytes: 0, written_bytes: 1 << 30 }]
        }

        fn last_sample(&mut self, _: u64) -> Vec<Option<f64>> {
            self.0 = 0;
            vec![Some(41.0)]
        }

        fn sample_time_ns(&self) -> Option<u64> {
            (self.0 == 0).then_some(4)
        }
    }

    #[test]
    fn only_non_empty_rows_of_an_observer_are_recorded() {
        let (mut recorder, out, _dir) = recorder();
        let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(RareObserver::default())];
        for t_ns in 1..4 {
            recorder.observe(t_ns, &mut observers).unwrap();
        }
        recorder.phase_boundary(4, PhaseBoundary::End, &mut observers).unwrap();
        recorder.observe_last(5, &mut observers).unwrap();
        recorder.recording.finish(6, RunStatus::Complete).unwrap();
        let recording = Recording::open(&out).unwrap();
        let health = recording.samples("health").unwrap();
        assert_eq!(health.t_ns, [2, 4], "the last row has the time at which the phase ended");
        assert_eq!(health.columns, RareObserver::default().columns());
        let foreign = recording.events.iter().filter(|line| matches!(line.event, Event::ForeignProcess { pid: 7, .. }));
        assert_eq!(foreign.map(|line| line.t_ns).collect::<Vec<_>>(), [4]);
    }
}
