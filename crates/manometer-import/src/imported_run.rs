//! An imported run, which can be written as a recording.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use manometer_measure::clock::WallAnchor;
use manometer_measure::event::{Finding, RunStatus};
use manometer_measure::plan::Settings;
use manometer_measure::{Column, Event, LatencyHistogram, Phase, Plan, RecordingWriter};
use serde_json::Value;

use crate::ImportError;

/// A run imported from another tool. Its clock is nanoseconds since the first time in the file.
#[derive(Debug, Clone)]
pub struct ImportedRun {
    /// The plan without its phases.
    pub plan: Plan,
    /// The phases, in order.
    pub phases: Vec<ImportedPhase>,
    /// The sample series by source.
    pub series: BTreeMap<String, SampleTable>,
    /// Latencies by interval, if all of them are known.
    pub latencies: Vec<IntervalLatencies>,
    /// The known facts about the host.
    pub environment: Value,
    /// Settings that hold for the whole run, by `workload.setting`.
    pub constant: Settings,
    /// The text of the experiment file.
    pub experiment: String,
    /// The first time on the wall clock, in nanoseconds since 1970.
    pub begin_unix_ns: u64,
    /// The last time, in nanoseconds since the first.
    pub end_ns: u64,
    /// The status of the run.
    pub status: Option<RunStatus>,
    /// Findings that limit the result.
    pub findings: Vec<Finding>,
}

/// A phase and its times.
#[derive(Debug, Clone)]
pub struct ImportedPhase {
    /// The phase.
    pub phase: Phase,
    /// Its start, in nanoseconds since the first time.
    pub begin_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

/// The latencies of an operation in an interval.
#[derive(Debug, Clone)]
pub struct IntervalLatencies {
    /// The workload.
    pub workload: String,
    /// The operation.
    pub operation: String,
    /// The interval's start, in nanoseconds since the first time.
    pub begin_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// The latencies.
    pub histogram: LatencyHistogram,
}

/// A sample series whose columns are discovered while it is read.
#[derive(Debug, Clone, Default)]
pub struct SampleTable {
    columns: Vec<Column>,
    numbers: HashMap<String, usize>,
    rows: Vec<(u64, Vec<(usize, f64)>)>,
}

impl SampleTable {
    /// Adds a row whose interval ended at `t_ns`: values with their columns' names and units. Values that are not
    /// finite are missing.
    pub fn push<'a>(&mut self, t_ns: u64, from: &str, values: impl IntoIterator<Item = (&'a str, &'a str, f64)>) {
        let mut row = Vec::new();
        for (name, unit, value) in values.into_iter().filter(|(_, _, value)| value.is_finite()) {
            let number = match self.numbers.get(name) {
                Some(number) => *number,
                None => {
                    self.columns.push(Column::new(name, unit).from(from));
                    self.numbers.insert(name.to_owned(), self.columns.len() - 1);
                    self.columns.len() - 1
                }
            };
            row.push((number, value));
        }
        self.rows.push((t_ns, row));
    }

    /// The ends of the intervals.
    pub fn ends_ns(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter().map(|(t_ns, _)| *t_ns)
    }

    /// Whether a whole interval lies between two times.
    pub(crate) fn has_interval_within(&self, begin_ns: u64, end_ns: u64) -> bool {
        let length = self.numbers.get("length");
        self.rows.iter().any(|(t_ns, row)| {
            let length_s = row.iter().find(|(number, _)| Some(number) == length).map_or(0.0, |(_, length_s)| *length_s);
            *t_ns <= end_ns && t_ns.saturating_sub((length_s * 1e9).round() as u64) >= begin_ns
        })
    }

    /// The median length of an interval in seconds; 1 if there are too few.
    pub fn usual_interval_s(&self) -> f64 {
        let mut lengths: Vec<u64> = self.rows.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).collect();
        lengths.sort_unstable();
        lengths
            .get(lengths.len() / 2)
            .filter(|length_ns| **length_ns > 0)
            .map_or(1.0, |length_ns| *length_ns as f64 / 1e9)
    }

    /// Adds the remainder at the program's end, if it is shorter than half an interval, to the row before: as a
    /// separate sample it would weigh as much as a whole one. For tables whose columns can all be summed.
    pub fn join_remnant(&mut self) {
        let half_s = self.usual_interval_s() / 2.0;
        let Some(length) = self.numbers.get("length").copied() else { return };
        let remnant =
            self.rows.pop_if(|(_, row)| row.iter().any(|(number, value)| *number == length && *value < half_s));
        match (remnant, self.rows.last_mut()) {
            (Some((t_ns, row)), Some((last_ns, last))) => {
                *last_ns = t_ns;
                for (number, value) in row {
                    match last.iter_mut().find(|(known, _)| *known == number) {
                        Some((_, sum)) => *sum += value,
                        None => last.push((number, value)),
                    }
                }
            }
            (Some(only), None) => self.rows.push(only),
            (None, _) => {}
        }
    }

    fn dense(&self, row: &[(usize, f64)]) -> Vec<Option<f64>> {
        let mut values = vec![None; self.columns.len()];
        row.iter().for_each(|(number, value)| values[*number] = Some(*value));
        values
    }
}

/// The events in order of time; at equal times ends precede starts.
fn events(run: &ImportedRun) -> Vec<(u64, Event)> {
    let mut events = Vec::new();
    for imported in &run.phases {
        let phase = || imported.phase.id.clone();
        events.push((imported.begin_ns, 1, Event::PhaseStarted { phase: phase() }));
        events.push((imported.end_ns, 0, Event::PhaseEnded { phase: phase() }));
    }
    events.extend(run.findings.iter().map(|finding| (run.end_ns, 2, Event::Finding(finding.clone()))));
    events.sort_by_key(|(t_ns, rank, _)| (*t_ns, *rank));
    events.into_iter().map(|(t_ns, _, event)| (t_ns, event)).collect()
}

impl ImportedRun {
    /// Writes a recording into the directory `dir`, which is created, or must be empty.
    ///
    /// # Errors
    /// The directory is not empty, or cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), ImportError> {
        let start = WallAnchor { monotonic_ns: 0, unix_ns: self.begin_unix_ns };
        let plan = Plan { phases: self.phases.iter().map(|one| one.phase.clone()).collect(), ..self.plan.clone() };
        let mut writer = RecordingWriter::create(dir, start, &self.experiment, &plan, &self.environment)?;
        for (source, table) in &self.series {
            writer.begin_series(source, &table.columns)?;
            for (t_ns, row) in &table.rows {
                writer.sample(source, *t_ns, &table.dense(row))?;
            }
        }
        for one in &self.latencies {
            writer.latency(&one.workload, &one.operation, one.begin_ns, one.end_ns, &one.histogram)?;
        }
        for (t_ns, event) in events(self) {
            writer.event(t_ns, event)?;
        }
        if let Some(status) = self.status {
            writer.finish(self.end_ns, status)?;
        }
        Ok(())
    }
}
