//! A recording: its files, its series and its analysis.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, Float64Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use manometer_analysis::summary::{IntervalEstimate, MeanEstimate, NeighbourSummary, PhaseSummary, RunSummary};
use manometer_measure::latency_log::LatencyLog;
use manometer_measure::plan::{PhaseKind, Settings};
use manometer_measure::{self as measure, LatencyHistogram, Samples};
use manometer_report::{AnalysedRecording, distinct_path_ends};
use pyo3::prelude::*;
use serde_json::json;

use crate::error;
use crate::frame::{Column, Frame, metadata};
use crate::settings;

const NS_PER_US: f64 = 1e3;

/// Writes the document `name` of the recording in `dir`, such as `plan.json`, with its checksum.
#[pyfunction]
pub(crate) fn write_document(dir: PathBuf, name: &str, text: &str) -> PyResult<()> {
    let files = measure::Directory::open(&dir).map_err(|source| measure::RecordingError::Io { path: dir, source });
    files.and_then(|files| measure::recording::write_document(&files, name, text.as_bytes())).map_err(error::recording)
}

/// A recording, analysed when first needed.
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct Recording {
    recording: measure::Recording,
    recorded: OnceLock<AnalysedRecording>,
}

impl Recording {
    /// The recording without its analysis.
    pub(crate) fn recording(&self) -> &measure::Recording {
        &self.recording
    }

    /// The recording with its analysis.
    pub(crate) fn recorded(&self, py: Python<'_>) -> &AnalysedRecording {
        let analyse = || AnalysedRecording::of(self.recording.clone());
        py.detach(|| self.recorded.get_or_init(analyse))
    }
}

/// Writes the recording that comes with the package into a new folder.
#[pyfunction]
pub(crate) fn write_demo(path: PathBuf) -> PyResult<()> {
    manometer_report::write_demo(&path).map_err(|error| error::recording(format!("{}: {error}", path.display())))
}

#[pymethods]
impl Recording {
    /// Opens the recording in a folder.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let recording = py.detach(|| measure::Recording::open(&path)).map_err(error::recording)?;
        Ok(Self { recording, recorded: OnceLock::new() })
    }

    #[getter]
    fn experiment(&self) -> &str {
        &self.recording.experiment
    }

    #[getter]
    fn damage(&self) -> Vec<String> {
        self.recording.damage.clone()
    }

    /// The names of the sample series.
    fn sources(&self) -> Vec<String> {
        self.recording.series()
    }

    fn plan(&self) -> String {
        json!(self.recording.plan).to_string()
    }

    fn environment(&self) -> String {
        self.recording.environment.to_string()
    }

    fn summary(&self, py: Python<'_>) -> String {
        json!(self.recorded(py).summary).to_string()
    }

    /// A sample series, with times in seconds since the start of the recording.
    fn samples(&self, py: Python<'_>, source: &str) -> PyResult<Frame> {
        let known = self.recording.series();
        if !known.iter().any(|name| name == source) {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let dir = self.recording.dir.display();
            return Err(error::recording(format!("{dir} has no samples of `{source}`; it has {known}")));
        }
        let samples = py.detach(|| self.recording.samples(source)).map_err(error::recording)?;
        samples_frame(&self.recording, samples)
    }

    /// Latencies of an operation of a workload, by sample interval or by phase.
    fn latency(&self, py: Python<'_>, operation: &str, workload: Option<&str>, by_phase: bool) -> PyResult<Frame> {
        let primary = self.recording.plan.primary().map(|primary| primary.name.as_str());
        let Some(workload) = workload.or(primary) else {
            return Err(error::recording("the recording has no primary: name the workload"));
        };
        let log = py.detach(|| self.recording.latency(workload)).map_err(error::recording)?;
        let known = log.operations();
        if !known.iter().any(|name| name == operation) {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let text = format!("there are no latencies of `{operation}` of `{workload}`; there are those of {known}");
            return Err(error::recording(text));
        }
        if by_phase {
            let summary = &self.recorded(py).summary;
            py.detach(|| latency_by_phase(&log, operation, summary))
        } else {
            py.detach(|| latency_by_interval(&log, operation))
        }
    }
}

fn samples_frame(recording: &measure::Recording, samples: Samples) -> PyResult<Frame> {
    let describe = |unit: &str, meaning: &str, from: &str| -> HashMap<String, String> {
        let all = [("unit", unit), ("meaning", meaning), ("from", from)];
        let present = all.into_iter().filter(|(_, text)| !text.is_empty());
        present.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
    };
    let seconds: Float64Array = samples.t_ns.iter().map(|t_ns| Some(recording.seconds(*t_ns))).collect();
    let mut fields = vec![
        Field::new("t_ns", DataType::UInt64, false).with_metadata(describe("ns", "When the interval ended.", "")),
        Field::new("t_s", DataType::Float64, false).with_metadata(describe(
            "s",
            "The same since the recording's begin.",
            "",
        )),
    ];
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from(samples.t_ns)), Arc::new(seconds)];
    for (column, values) in samples.columns.iter().zip(samples.values) {
        let metadata = describe(&column.unit, &column.meaning, &column.from);
        fields.push(Field::new(&column.name, DataType::Float64, true).with_metadata(metadata));
        arrays.push(Arc::new(Float64Array::from(values)));
    }
    let schema = Schema::new_with_metadata(fields, metadata([("cut", samples.truncated.to_string())]));
    Frame::of_arrays(Arc::new(schema), arrays)
}

fn latency_by_interval(log: &LatencyLog, operation: &str) -> PyResult<Frame> {
    let intervals: Vec<_> = log.intervals.iter().filter(|interval| interval.operation == operation).collect();
    let histograms: Vec<LatencyHistogram> = intervals.iter().map(|interval| interval.histogram()).collect();
    let mut columns = vec![
        Column::numbers("begin_s", "s", intervals.iter().map(|interval| Some(interval.begin_s))),
        Column::numbers("end_s", "s", intervals.iter().map(|interval| Some(interval.end_s))),
    ];
    columns.extend(latency_columns(&histograms));
    Frame::of(columns, metadata([("cut", log.truncated.to_string())]))
}

fn latency_by_phase(log: &LatencyLog, operation: &str, summary: &RunSummary) -> PyResult<Frame> {
    let during = |phase: &PhaseSummary| log.during(operation, &phase.stretches_s());
    let histograms: Vec<LatencyHistogram> = summary.phases.iter().map(during).collect();
    let mut columns = vec![
        Column::texts("phase", summary.phases.iter().map(|phase| Some(&phase.id))),
        Column::texts("label", summary.phases.iter().map(|phase| Some(&phase.label))),
    ];
    columns.extend(latency_columns(&histograms));
    Frame::of(columns, metadata([("cut", log.truncated.to_string())]))
}

fn latency_columns(histograms: &[LatencyHistogram]) -> Vec<Column> {
    let of = |name: &str, value: &dyn Fn(&LatencyHistogram) -> Option<f64>| {
        Column::numbers(name, "us", histograms.iter().map(|histogram| value(histogram).map(|ns| ns / NS_PER_US)))
    };
    let mut columns = vec![
        Column::whole("requests", "", histograms.iter().map(|histogram| Some(histogram.len()))),
        of("mean_us", &LatencyHistogram::mean_ns),
    ];
    columns.extend(measure::histogram::PERCENTILES.iter().map(|(name, share)| {
        of(&format!("{name}_us"), &|histogram| histogram.quantile_ns(*share).map(|ns| ns as f64))
    }));
    columns.push(of("max_us", &|histogram| histogram.max_ns().map(|ns| ns as f64)));
    columns
}

/// A phase of one of several recordings.
struct Row<'a> {
    run: String,
    phase: &'a PhaseSummary,
    /// The settings of the sweep and the phase.
    settings: Settings,
    /// Its step of the pressure scale, from 1.
    step: Option<u64>,
}

fn rows<'a>(py: Python<'_>, recordings: &'a [Py<Recording>]) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    let absolute = |one: &Py<Recording>| {
        let dir = &one.get().recording().dir;
        std::path::absolute(dir).unwrap_or_else(|_| dir.clone())
    };
    let names = distinct_path_ends(&recordings.iter().map(absolute).collect::<Vec<_>>());
    for (one, run) in recordings.iter().zip(names) {
        let AnalysedRecording { summary, settings, .. } = one.get().recorded(py);
        for phase in &summary.phases {
            let mut settings = settings.clone();
            settings.extend(phase.settings.clone());
            let step = summary.step(&phase.id).map(|step| step as u64 + 1);
            rows.push(Row { run: run.clone(), phase, settings, step });
        }
    }
    rows
}

/// The columns that identify a phase; with `named`, also its recording.
fn phase_columns(rows: &[Row<'_>], named: bool) -> Vec<Column> {
    let mut columns = Vec::new();
    if named {
        columns.push(Column::texts("run", rows.iter().map(|row| Some(&row.run))));
    }
    columns.push(Column::texts("phase", rows.iter().map(|row| Some(&row.phase.id))));
    columns.push(Column::texts("label", rows.iter().map(|row| Some(&row.phase.label))));
    columns
}

fn setting_columns(rows: &[Row<'_>]) -> Vec<Column> {
    let all: Vec<Settings> = rows.iter().map(|row| row.settings.clone()).collect();
    settings::columns(&all)
}

fn estimate_columns(estimates: &[&MeanEstimate]) -> Vec<Column> {
    let unit = estimates.first().map(|first| first.unit.as_str()).unwrap_or_default();
    // Recordings judged by different criteria have no common unit.
    let unit = if estimates.iter().all(|estimate| estimate.unit == unit) { unit } else { "" };
    let all = || estimates.iter();
    vec![
        Column::numbers("performance", unit, all().map(|estimate| estimate.mean)),
        Column::numbers("performance_low", unit, all().map(|estimate| estimate.ci_low)),
        Column::numbers("performance_high", unit, all().map(|estimate| estimate.ci_high)),
        Column::texts("unit", all().map(|estimate| Some(&estimate.unit))),
        Column::whole("samples", "", all().map(|estimate| Some(estimate.samples as u64))),
    ]
}

fn ratio_columns(ratios: &[&IntervalEstimate]) -> Vec<Column> {
    let all = || ratios.iter();
    vec![
        Column::numbers("pressure", "", all().map(|ratio| ratio.value)),
        Column::numbers("pressure_low", "", all().map(|ratio| ratio.ci_low)),
        Column::numbers("pressure_high", "", all().map(|ratio| ratio.ci_high)),
        Column::texts("reason", all().map(|ratio| ratio.reason.as_ref())),
    ]
}

/// The phases of recordings, one row each.
#[pyfunction]
pub(crate) fn phases(py: Python<'_>, recordings: Vec<Py<Recording>>, named: bool) -> PyResult<Frame> {
    let rows = rows(py, &recordings);
    let estimates: Vec<&MeanEstimate> = rows.iter().map(|row| &row.phase.performance).collect();
    let mut columns = phase_columns(&rows, named);
    let kind = |row: &Row<'_>| json!(row.phase.kind).as_str().map(str::to_owned);
    columns.push(Column::texts("kind", rows.iter().map(kind)));
    columns.push(Column::numbers("start_s", "s", rows.iter().map(|row| row.phase.start_s)));
    columns.push(Column::numbers("end_s", "s", rows.iter().map(|row| row.phase.end_s)));
    columns.push(Column::flags("steady", rows.iter().map(|row| row.phase.steady)));
    columns.extend(estimate_columns(&estimates));
    columns.push(Column::texts("reason", estimates.iter().map(|estimate| estimate.reason.as_ref())));
    columns.extend(setting_columns(&rows));
    Frame::of(columns, metadata([]))
}

/// The pressures of phases: those of the primary, or those of a neighbour with its performance.
#[pyfunction]
pub(crate) fn pressures(
    py: Python<'_>,
    recordings: Vec<Py<Recording>>,
    neighbour: Option<&str>,
    named: bool,
) -> PyResult<Frame> {
    let mut rows = rows(py, &recordings);
    let mut columns;
    match neighbour {
        None => {
            rows.retain(|row| row.phase.kind != PhaseKind::Solo);
            let ratios: Vec<&IntervalEstimate> = rows.iter().map(|row| &row.phase.pressure).collect();
            columns = phase_columns(&rows, named);
            columns.push(Column::whole("step", "", rows.iter().map(|row| row.step)));
            let state = |row: &Row<'_>| json!(row.phase.scale_state).as_str().map(str::to_owned);
            columns.push(Column::texts("scale_state", rows.iter().map(state)));
            columns.extend(ratio_columns(&ratios));
        }
        Some(name) => {
            let names = || rows.iter().flat_map(|row| row.phase.neighbours.keys());
            if !names().any(|known| known == name) {
                let known: std::collections::BTreeSet<&String> = names().collect();
                let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(error::recording(format!("there is no neighbour `{name}`; there is {known}")));
            }
            rows.retain(|row| row.phase.neighbours.contains_key(name));
            let of: Vec<&NeighbourSummary> = rows.iter().filter_map(|row| row.phase.neighbours.get(name)).collect();
            columns = phase_columns(&rows, named);
            columns.extend(estimate_columns(&of.iter().map(|one| &one.performance).collect::<Vec<_>>()));
            columns.extend(ratio_columns(&of.iter().map(|one| &one.pressure).collect::<Vec<_>>()));
        }
    }
    columns.extend(setting_columns(&rows));
    Frame::of(columns, metadata([]))
}
