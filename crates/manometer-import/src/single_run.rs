//! A run of one workload alone.

use std::collections::BTreeMap;
use std::path::Path;

use manometer_measure::event::{Finding, RunStatus};
use manometer_measure::plan::{BetterDirection, Criterion, Phase, PhaseKind, Plan, PlannedWorkload, Role, Settings};
use serde_json::json;

use crate::input::{file_stem, ns_of_ms};
use crate::{ImportedPhase, ImportedRun, IntervalLatencies, SampleTable};

/// The name of the workload.
pub(crate) const PRIMARY: &str = "primary";

/// A run of one workload.
#[derive(Default)]
pub(crate) struct SingleRun {
    /// Its samples, and the program's numbers that are no counts.
    pub table: SampleTable,
    pub engine: SampleTable,
    pub latencies: Vec<IntervalLatencies>,
    pub phases: Vec<ImportedPhase>,
    pub findings: Vec<Finding>,
    /// The first time in milliseconds since 1970, if known.
    pub begin_unix_ms: Option<i64>,
    /// The last time, in nanoseconds since the first.
    pub end_ns: u64,
    pub has_ended: bool,
}

impl SingleRun {
    /// Adds a phase from `begin_ns` to the end so far.
    pub fn phase(&mut self, label: &str, begin_ns: u64) {
        let id = if self.phases.is_empty() { "w0".to_owned() } else { format!("w0-{}", self.phases.len() + 1) };
        let phase = Phase {
            id,
            label: label.to_owned(),
            kind: PhaseKind::Baseline,
            duration_s: self.end_ns.saturating_sub(begin_ns) as f64 / 1e9,
            settle_s: 0.0,
            running: vec![PRIMARY.to_owned()],
            settings: Settings::new(),
        };
        self.phases.push(ImportedPhase { phase, begin_ns, end_ns: self.end_ns });
    }

    /// Adds samples of the count of each operation, given with start and end of its interval; intervals that end
    /// together are one sample.
    pub fn count<'a>(&mut self, from: &str, counted: impl Iterator<Item = (&'a str, u64, u64, u64)>) {
        let mut samples: BTreeMap<u64, (u64, BTreeMap<String, u64>)> = BTreeMap::new();
        for (operation, begin_ns, end_ns, count) in counted {
            let (length_ns, counts) = samples.entry(end_ns).or_default();
            *length_ns = end_ns - begin_ns;
            *counts.entry(format!("{operation}.requests")).or_default() += count;
        }
        for (end_ns, (length_ns, counts)) in samples {
            let counts = counts.iter().map(|(name, count)| (name.as_str(), "", *count as f64));
            self.table.push(end_ns, from, std::iter::once(("length", "s", length_ns as f64 / 1e9)).chain(counts));
        }
    }

    /// Adds the latencies of `operation` in an interval.
    pub fn latency(
        &mut self,
        operation: &str,
        begin_ns: u64,
        end_ns: u64,
        histogram: manometer_measure::LatencyHistogram,
    ) {
        let (workload, operation) = (PRIMARY.to_owned(), operation.to_owned());
        self.latencies.push(IntervalLatencies { workload, operation, begin_ns, end_ns, histogram });
    }

    /// Converts the run, which `program` wrote to `path`.
    pub fn into_imported(mut self, program: &str, unit: &str, path: &Path) -> ImportedRun {
        let name = file_stem(path);
        self.table.join_remnant();
        let workload = PlannedWorkload {
            name: PRIMARY.to_owned(),
            role: Role::Primary,
            kind: "command".to_owned(),
            unit: unit.to_owned(),
        };
        let plan = Plan {
            experiment: name.clone(),
            criterion: Criterion {
                metric: "throughput".into(),
                unit: unit.to_owned(),
                better: BetterDirection::Higher,
            },
            interval_s: self.table.usual_interval_s(),
            seed: 0,
            sweep: Settings::new(),
            reference: false,
            goal: None,
            interleaved: None,
            workloads: vec![workload],
            phases: Vec::new(),
        };
        let mut series = BTreeMap::from([(PRIMARY.to_owned(), self.table)]);
        if self.engine.ends_ns().next().is_some() {
            series.insert(format!("{PRIMARY}.engine"), self.engine);
        }
        let from = path.file_name().map(|name| name.to_string_lossy());
        ImportedRun {
            plan,
            phases: self.phases,
            series,
            latencies: self.latencies,
            environment: json!({ "imported": { "from": from, "program": program } }),
            constant: Settings::from_iter([("import.file".to_owned(), name.clone().into())]),
            experiment: format!("name = {}\n", toml_edit::Value::from(name)),
            begin_unix_ns: ns_of_ms(self.begin_unix_ms.unwrap_or(0)),
            end_ns: self.end_ns,
            status: Some(if self.has_ended { RunStatus::Complete } else { RunStatus::Interrupted }),
            findings: self.findings,
        }
    }
}
