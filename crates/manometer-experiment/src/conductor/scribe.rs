//! Writes down what workers tell and what observers see.

use std::collections::HashMap;

use manometer_measure::host::Observer;
use manometer_measure::operation::is_background;
use manometer_measure::{Column, LatencyHistogram, RecordingError, RecordingWriter};
use manometer_workload::protocol::Sample;
use serde_json::Value;

/// A recording being written, and the columns its series began with.
pub(super) struct Scribe {
    pub recording: RecordingWriter,
    operations: HashMap<String, Vec<String>>,
    state: HashMap<String, Vec<String>>,
}

/// What a sample means for whoever watches.
pub(super) struct Rate {
    pub per_second: f64,
    pub p99_us: Option<f64>,
}

impl Scribe {
    pub(super) fn new(recording: RecordingWriter) -> Self {
        Self { recording, operations: HashMap::new(), state: HashMap::new() }
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
        }
        self.recording.sample(workload, sample.t_ns, &row)?;
        if let Some(columns) = self.state.get(workload).filter(|_| !sample.state.is_empty()) {
            let row: Vec<Option<f64>> = columns.iter().map(|name| sample.state.get(name).copied()).collect();
            self.recording.sample(&format!("{workload}.engine"), sample.t_ns, &row)?;
        }
        let all = self.latencies(workload, sample)?;
        let own = || sample.operations.iter().filter(|(operation, _)| !is_background(operation));
        let bytes: u64 = own().map(|(_, done)| done.bytes).sum();
        let requests: u64 = own().map(|(_, done)| done.requests).sum();
        let done = if unit == "MiB/s" { bytes as f64 / f64::from(1 << 20) } else { requests as f64 };
        let seconds = sample.length_ns.max(1) as f64 / 1e9;
        Ok(Rate { per_second: done / seconds, p99_us: all.quantile_ns(0.99).map(|ns| ns as f64 / 1e3) })
    }

    /// Writes each operation's latencies; returns all together but those in the background.
    fn latencies(&mut self, workload: &str, sample: &Sample) -> Result<LatencyHistogram, RecordingError> {
        let mut all = LatencyHistogram::new();
        let begin_ns = sample.t_ns.saturating_sub(sample.length_ns);
        for (operation, done) in sample.operations.iter().filter(|(_, done)| !done.latency.is_empty()) {
            match LatencyHistogram::from_base64(&done.latency) {
                Ok(histogram) => {
                    self.recording.latency(workload, operation, begin_ns, sample.t_ns, &histogram)?;
                    if !is_background(operation) {
                        all.add(&histogram);
                    }
                }
                Err(error) => tracing::warn!("{workload} sent latencies that cannot be read: {error}"),
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
            let operations: Vec<String> = sample.operations.keys().cloned().collect();
            let mut columns = vec![Column::new("length", "s")];
            for operation in &operations {
                columns.push(Column::new(format!("{operation}.requests"), ""));
                columns.push(Column::new(format!("{operation}.bytes"), "B"));
                columns.push(Column::new(format!("{operation}.retries"), ""));
            }
            self.recording.begin_series(workload, &columns)?;
            self.operations.insert(workload.to_owned(), operations);
        }
        let units = facts.get("state_units").and_then(Value::as_object);
        if let Some(units) = units.filter(|_| !self.state.contains_key(workload)) {
            let unit = |unit: &Value| unit.as_str().unwrap_or_default().to_owned();
            let columns: Vec<Column> = units.iter().map(|(name, text)| Column::new(name, unit(text))).collect();
            self.recording.begin_series(&format!("{workload}.engine"), &columns)?;
            self.state.insert(workload.to_owned(), units.keys().cloned().collect());
        }
        Ok(())
    }

    /// Lets every observer look once.
    pub(super) fn observe(&mut self, t_ns: u64, observers: &mut [Box<dyn Observer>]) -> Result<(), RecordingError> {
        for observer in observers {
            let row = observer.sample(t_ns);
            if !self.recording.has_series(observer.source()) {
                self.recording.begin_series(observer.source(), &observer.columns())?;
            }
            self.recording.sample(observer.source(), t_ns, &row)?;
        }
        Ok(())
    }
}
