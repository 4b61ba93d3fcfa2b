//! OpenMetrics text: of a finished recording, and of a run while it measures. A file for node_exporter's textfile collector,
//! which takes gauges without timestamps.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use manometer_analysis::summary::{IntervalEstimate, MeanEstimate, PhaseSummary, RunSummary};
use manometer_experiment::progress::ProgressUpdate;
use manometer_measure::{Clock as _, Directory, MonotonicClock};
use manometer_report::AnalysedRecording;
use serde_json::json;

use crate::output;

/// How often the file of a run is written, in nanoseconds.
const PERIOD_NS: u64 = 1_000_000_000;

/// One metric: its explanation and its samples.
#[derive(Debug, Default)]
struct Family {
    help: &'static str,
    samples: Vec<String>,
}

/// Gauges by name.
#[derive(Debug, Default)]
struct Gauges(BTreeMap<&'static str, Family>);

impl Gauges {
    /// Adds a value; a gap is left out.
    fn add(&mut self, name: &'static str, help: &'static str, labels: &[(&str, &str)], value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let family = self.0.entry(name).or_default();
        family.help = help;
        family.samples.push(format!("{name}{{{}}} {value}", labels.join(",")));
    }

    /// The text, with the end that OpenMetrics requires.
    fn text(&self) -> String {
        let mut text = String::new();
        for (name, Family { help, samples }) in &self.0 {
            let _ = write!(text, "# TYPE {name} gauge\n# HELP {name} {help}\n{}\n", samples.join("\n"));
        }
        text + "# EOF\n"
    }
}

/// A label's value: backslash, quote and line break are escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Writes the metrics of finished recordings to `path`.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, recorded: &[AnalysedRecording]) -> anyhow::Result<()> {
    let mut gauges = Gauges::default();
    for one in recorded {
        let run = one.recording.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        add_run(&mut gauges, &one.summary, &run);
    }
    replace(path, &gauges.text()).map_err(|error| anyhow::Error::new(error).context(path.display().to_string()))
}

fn add_run(gauges: &mut Gauges, summary: &RunSummary, run: &str) {
    let own = [("experiment", summary.experiment.as_str()), ("run", run)];
    let labels = [&own[..], &[("status", &summary.status), ("verdict", summary.verdict.grade.name())]].concat();
    gauges.add("manometer_run", "A recording: how it ended, and what its result may be used for.", &labels, Some(1.0));
    let help = "Findings that limit what the recording shows, by severity.";
    let mut by_severity: BTreeMap<String, f64> = BTreeMap::new();
    for finding in &summary.findings {
        *by_severity.entry(json!(finding.severity).as_str().unwrap_or_default().to_owned()).or_default() += 1.0;
    }
    for (severity, count) in &by_severity {
        let labels = [&own[..], &[("severity", severity.as_str())]].concat();
        gauges.add("manometer_findings", help, &labels, Some(*count));
    }
    summary.phases.iter().for_each(|phase| add_phase(gauges, summary, &own, phase));
}

fn add_phase(gauges: &mut Gauges, summary: &RunSummary, own: &[(&str, &str)], phase: &PhaseSummary) {
    let labels = [own, &[("phase", phase.id.as_str()), ("label", phase.label.as_str())]].concat();
    let with = |more: &[(&'static str, &str)]| -> Vec<(String, String)> {
        labels.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let metric = summary.criterion.metric.as_str();
    add_mean(gauges, &with(&[("workload", "primary"), ("metric", metric)]), &phase.performance);
    for (name, neighbour) in &phase.neighbours {
        add_mean(gauges, &with(&[("workload", name), ("metric", "throughput")]), &neighbour.performance);
    }
    let IntervalEstimate { value, ci_low, ci_high, .. } = &phase.pressure;
    for (bound, value) in [("mean", value), ("ci_low", ci_low), ("ci_high", ci_high)] {
        let labels = [&labels[..], &[("bound", bound)]].concat();
        let help = "The pressure of the phase, 0 without harm, with its 95 % confidence interval.";
        gauges.add("manometer_pressure", help, &labels, *value);
    }
    for (operation, latency) in &phase.latency_us {
        let labels = [&labels[..], &[("operation", operation.as_str())]].concat();
        let help = "The 99th percentile of the primary's latencies in the phase.";
        gauges.add("manometer_latency_p99_seconds", help, &labels, latency.p99.map(|us| us / 1e6));
    }
}

fn add_mean(gauges: &mut Gauges, labels: &[(String, String)], estimate: &MeanEstimate) {
    let MeanEstimate { mean, ci_low, ci_high, unit, .. } = estimate;
    for (bound, value) in [("mean", mean), ("ci_low", ci_low), ("ci_high", ci_high)] {
        let own = labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let labels: Vec<(&str, &str)> = own.chain([("unit", unit.as_str()), ("bound", bound)]).collect();
        let help = "The performance in the phase, in the unit of its label, with its 95 % confidence interval.";
        gauges.add("manometer_performance", help, &labels, *value);
    }
}

/// Writes `path` under another name first, so that a reader sees the old file or the new one. Nothing waits for the disk:
/// the metrics of a moment need not survive the host.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let (directory, name) = Directory::holding(path)?;
    let part = Path::new(&name).with_extension("part");
    directory.create_anew(&part)?.write_all(text.as_bytes())?;
    directory.rename(part, name)
}

/// The metrics of a run while it measures.
pub struct LiveMetrics {
    path: PathBuf,
    experiment: String,
    phase: (String, String),
    rates: BTreeMap<String, (f64, String, Option<f64>)>,
    findings: u32,
    written_ns: Option<u64>,
}

impl LiveMetrics {
    /// Metrics of the run of `experiment`, in the file at `path`.
    pub fn new(path: &Path, experiment: &str) -> Self {
        let (path, experiment) = (path.to_owned(), experiment.to_owned());
        let phase = (String::new(), String::new());
        Self { path, experiment, phase, rates: BTreeMap::new(), findings: 0, written_ns: None }
    }

    /// Takes an update, and writes the file about once a second.
    pub fn show(&mut self, update: &ProgressUpdate<'_>) {
        match update {
            ProgressUpdate::Phase { id, label, .. } => {
                self.rates.clear();
                self.phase = ((*id).to_owned(), (*label).to_owned());
            }
            ProgressUpdate::Rate { workload, rate, unit, p99_us } => {
                self.rates.insert((*workload).to_owned(), (*rate, (*unit).to_owned(), *p99_us));
            }
            ProgressUpdate::Finding(_) => self.findings += 1,
            ProgressUpdate::Tick { phase_left_s, run_left_s } => self.write([*phase_left_s, *run_left_s]),
            _ => {}
        }
    }

    fn write(&mut self, left_s: [f64; 2]) {
        let now_ns = MonotonicClock.now_ns();
        if self.written_ns.is_some_and(|written_ns| now_ns - written_ns < PERIOD_NS) {
            return;
        }
        if let Err(error) = replace(&self.path, &self.gauges(left_s).text()) {
            // A measurement does not end because a dashboard lacks a number.
            if self.written_ns.is_none() {
                output::note(&format!("--metrics {}: {error}", self.path.display()));
            }
        }
        self.written_ns = Some(now_ns);
    }

    fn gauges(&self, [phase_left_s, run_left_s]: [f64; 2]) -> Gauges {
        let mut gauges = Gauges::default();
        let own = [("experiment", self.experiment.as_str())];
        let (id, label) = &self.phase;
        let phase = [&own[..], &[("phase", id), ("label", label)]].concat();
        gauges.add("manometer_running", "A run that measures, with its phase.", &phase, Some(1.0));
        gauges.add("manometer_phase_left_seconds", "Time left in the phase.", &own, Some(phase_left_s));
        gauges.add("manometer_run_left_seconds", "Time left in the run.", &own, Some(run_left_s));
        gauges.add("manometer_findings_so_far", "Findings of the run so far.", &own, Some(f64::from(self.findings)));
        for (workload, (rate, unit, p99_us)) in &self.rates {
            let labels = [&own[..], &[("workload", workload), ("unit", unit)]].concat();
            gauges.add(
                "manometer_rate",
                "The rate in the last sample interval, in the unit of its label.",
                &labels,
                Some(*rate),
            );
            let labels = [&own[..], &[("workload", workload)]].concat();
            let help = "The 99th percentile of the latencies in the last sample interval.";
            gauges.add("manometer_rate_p99_seconds", help, &labels, p99_us.map(|us| us / 1e6));
        }
        gauges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_its_phase_and_the_rate_of_each_workload_and_no_gaps() {
        let mut live = LiveMetrics::new(Path::new("unused"), "a \"test\"");
        live.show(&ProgressUpdate::Phase { id: "w1", label: "writer.iodepth = 4", seconds: 5.0 });
        live.show(&ProgressUpdate::Rate { workload: "primary", rate: 1500.5, unit: "ops/s", p99_us: Some(250.0) });
        live.show(&ProgressUpdate::Rate { workload: "writer", rate: 12.0, unit: "MiB/s", p99_us: None });
        let text = live.gauges([2.0, 9.0]).text();
        for line in [
            "# TYPE manometer_rate gauge",
            "manometer_running{experiment=\"a \\\"test\\\"\",phase=\"w1\",label=\"writer.iodepth = 4\"} 1",
            "manometer_rate{experiment=\"a \\\"test\\\"\",workload=\"primary\",unit=\"ops/s\"} 1500.5",
            "manometer_rate_p99_seconds{experiment=\"a \\\"test\\\"\",workload=\"primary\"} 0.00025",
            "manometer_run_left_seconds{experiment=\"a \\\"test\\\"\"} 9",
        ] {
            assert!(text.lines().any(|one| one == line), "`{line}` is not in:\n{text}");
        }
        assert_eq!(text.matches("manometer_rate_p99_seconds{").count(), 1, "a gap is left out: {text}");
        assert!(text.ends_with("\n# EOF\n"), "{text}");
    }
}
