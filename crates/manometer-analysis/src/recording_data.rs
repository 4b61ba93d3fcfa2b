//! The series and latencies of a recording that the analysis reads, each read once.

use std::collections::BTreeMap;

use manometer_measure::latency_log::LatencyLog;
use manometer_measure::{Event, PlannedWorkload, Recording, Role, Samples};

use crate::workload_samples::{with_unlisted_operations, without_overlaps};

/// The host's series that findings need.
const HOST_SERIES: [&str; 7] = ["conductor", "cpu", "cpu.cores", "device", "health", "memory", "vmstat"];

/// The columns that findings need of `vmstat`, which has some two hundred.
const VMSTAT_COLUMNS: [&str; 2] = ["pswpin", "pswpout"];

/// The kind of a workload that is an external program, running or imported.
const EXTERNAL: &str = "command";

/// The sample series of the workloads, of the host and of the primary's engine, and the primary's latencies.
pub(crate) struct RecordingData {
    samples: BTreeMap<String, Samples>,
    /// The primary's latencies; empty where there are none.
    pub(crate) latency: LatencyLog,
    /// What could not be read, as text.
    pub(crate) damage: Vec<String>,
}

impl RecordingData {
    /// Reads the series of `recording`; what cannot be read is listed in `damage`.
    pub(crate) fn read(recording: &Recording) -> Self {
        let mut damage = recording.damage.clone();
        let mut samples = BTreeMap::new();
        let present = recording.series();
        for source in needed_series(recording).into_iter().filter(|source| present.contains(source)) {
            match recording.samples_columns(&source, |column| source != "vmstat" || VMSTAT_COLUMNS.contains(&column)) {
                Ok(read) => {
                    // The streams of a running run have no end yet.
                    if read.damaged || read.truncated && recording.status().is_some() {
                        damage.push(format!("the samples of `{source}` are damaged or cut short"));
                    }
                    let workload = recording.plan.workloads.iter().find(|workload| workload.name == source);
                    let read = match workload {
                        Some(workload) => as_measured(recording, workload, read, &mut damage),
                        None => read,
                    };
                    samples.insert(source, read);
                }
                Err(error) => damage.push(error.to_string()),
            }
        }
        damage.extend(lost_samples(recording, &samples));
        let named = |fault: &String| damage.iter().any(|damage| damage.contains(fault));
        let others: Vec<String> = recording.faults_of_files().into_iter().filter(|fault| !named(fault)).collect();
        damage.extend(others);
        let latency = read_latency(recording, &mut damage);
        damage.extend(lost_latencies(recording, &samples, &latency));
        Self { samples, latency, damage }
    }

    /// The sample series `source`: of a workload, of the host or of the primary's engine.
    pub(crate) fn samples(&self, source: &str) -> Option<&Samples> {
        self.samples.get(source)
    }

    /// The time of the last sample of any of `workloads`.
    pub(crate) fn last_sample_ns(&self, workloads: &[String]) -> Option<u64> {
        workloads.iter().filter_map(|workload| self.samples(workload)?.t_ns.iter().max().copied()).max()
    }
}

/// The samples of `workload` as they are analysed; what is left out is added to `damage`.
fn as_measured(
    recording: &Recording,
    workload: &PlannedWorkload,
    samples: Samples,
    damage: &mut Vec<String>,
) -> Samples {
    let all = samples.t_ns.len();
    let (samples, left_out) = without_overlaps(samples);
    if left_out > 0 {
        let path = recording.dir.join("samples").join(&workload.name);
        damage.push(format!(
            "{}: {left_out} of {all} samples are left out, because they overlap with the ones before them",
            path.display()
        ));
    }
    if workload.kind == EXTERNAL { with_unlisted_operations(samples) } else { samples }
}

/// The primary's samples, if a phase in which it runs ended and there are none. Not every external program reports any.
fn lost_samples(recording: &Recording, samples: &BTreeMap<String, Samples>) -> Option<String> {
    let primary = recording.plan.primary().filter(|primary| primary.kind != EXTERNAL)?;
    let runs = |id: &str| recording.plan.phase(id).is_some_and(|phase| phase.running.contains(&primary.name));
    let has_run = recording.events.iter().any(|line| match &line.event {
        Event::PhaseEnded { phase } | Event::BlockEnded { phase, .. } => runs(phase),
        _ => false,
    });
    let is_readable = samples.get(&primary.name).is_none_or(|samples| !samples.t_ns.is_empty());
    let is_present = recording.series().contains(&primary.name);
    (has_run && !(is_present && is_readable)).then(|| format!("the samples of `{}` are missing", primary.name))
}

/// The loss of latencies of a run that was killed, where they end long before its requests: both are written together.
fn lost_latencies(recording: &Recording, samples: &BTreeMap<String, Samples>, latency: &LatencyLog) -> Option<String> {
    let primary = recording.plan.primary().filter(|_| recording.status().is_none())?;
    let end_s = latency.intervals.iter().map(|interval| interval.end_s).reduce(f64::max)?;
    let samples = samples.get(&primary.name)?;
    let columns = samples.columns.iter().zip(&samples.values);
    let counts: Vec<_> =
        columns.filter(|(column, _)| column.name.ends_with(".requests")).map(|(_, counts)| counts).collect();
    let last = (0..samples.t_ns.len()).rev().find(|row| counts.iter().any(|counts| counts[*row] > Some(0.0)))?;
    let lost_s = recording.seconds(samples.t_ns[last]) - end_s;
    (lost_s > 3.0 * recording.plan.interval_s)
        .then(|| format!("the latencies of `{}` end {lost_s:.1} s before its requests", primary.name))
}

fn needed_series(recording: &Recording) -> Vec<String> {
    let engine = recording.plan.primary().map(|primary| format!("{}.engine", primary.name));
    let workloads = recording.plan.workloads.iter().map(|workload| workload.name.clone());
    workloads.chain(engine).chain(HOST_SERIES.map(str::to_owned)).collect()
}

fn read_latency(recording: &Recording, damage: &mut Vec<String>) -> LatencyLog {
    let primary = recording.plan.workloads.iter().find(|workload| workload.role == Role::Primary);
    let Some(primary) = primary else { return LatencyLog::default() };
    match recording.latency(&primary.name) {
        Ok(log) => {
            if log.truncated {
                damage.push(format!("the latencies of `{}` are damaged or cut short", primary.name));
            }
            log
        }
        Err(error) => {
            damage.push(error.to_string());
            LatencyLog::default()
        }
    }
}
