//! One recording as the charts need it: every file read once, what cannot be read noted.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use manometer_analysis::summary::{PhaseSummary, RunSummary};
use manometer_measure::histogram::PERCENTILES;
use manometer_measure::latency_log::LatencyLog;
use manometer_measure::operation::is_background;
use manometer_measure::plan::{Criterion, PlannedWorkload};
use manometer_measure::{Recording, Samples};

use crate::AnalysedRecording;
use crate::downsample::{Point, bucket_size, downsampled, with_gaps};
use crate::phase_spans::{PhaseSpan, spans};

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// A latency as a criterion: `latency.read.p99`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LatencyCriterion {
    /// The operation.
    pub(crate) operation: String,
    /// Whether from when requests were due.
    pub(crate) response: bool,
    /// The percentile's name.
    pub(crate) name: &'static str,
    /// The percentile, 0 to 1.
    pub(crate) quantile: f64,
}

impl LatencyCriterion {
    /// The latency that `criterion` names; nothing when it is a throughput.
    pub(crate) fn of(criterion: &Criterion) -> Option<Self> {
        let (kind, rest) = criterion.metric.split_once('.')?;
        let (operation, percentile) = rest.rsplit_once('.').filter(|_| ["latency", "response"].contains(&kind))?;
        let (name, quantile) = PERCENTILES.into_iter().chain([("max", 1.0)]).find(|(name, _)| *name == percentile)?;
        Some(Self { operation: operation.to_owned(), response: kind == "response", name, quantile })
    }
}

/// One recording, read as the charts ask for it.
pub(crate) struct RecordingReader<'a> {
    /// The recording with all that is known of it.
    pub(crate) recorded: &'a AnalysedRecording,
    /// The recording.
    pub(crate) recording: &'a Recording,
    /// What the analysis says of it.
    pub(crate) summary: &'a RunSummary,
    samples: RefCell<BTreeMap<String, Option<Rc<Samples>>>>,
    latencies: OnceCell<LatencyLog>,
    unreadable: RefCell<Vec<String>>,
    bucket_size_max: Cell<usize>,
}

impl<'a> RecordingReader<'a> {
    pub(crate) fn new(recorded: &'a AnalysedRecording) -> Self {
        Self {
            recorded,
            recording: &recorded.recording,
            summary: &recorded.summary,
            samples: RefCell::default(),
            latencies: OnceCell::new(),
            unreadable: RefCell::default(),
            bucket_size_max: Cell::new(1),
        }
    }

    /// The workload whose performance is judged.
    pub(crate) fn primary(&self) -> Option<&'a PlannedWorkload> {
        self.recording.plan.primary()
    }

    /// The sample series `name`, if the recording has it and it can be read.
    pub(crate) fn samples(&self, name: &str) -> Option<Rc<Samples>> {
        let mut known = self.samples.borrow_mut();
        known.entry(name.to_owned()).or_insert_with(|| self.read_samples(name)).clone()
    }

    fn read_samples(&self, name: &str) -> Option<Rc<Samples>> {
        if !self.recording.series().iter().any(|series| series == name) {
            return None;
        }
        match self.recording.samples(name) {
            Ok(samples) => {
                // The series of a run that has no end have none either; one finding on the run says so.
                if samples.damaged || samples.truncated && self.recording.status().is_some() {
                    self.note(format!("the sample series `{name}` ends before its stream does: it was cut short"));
                }
                Some(Rc::new(samples))
            }
            Err(error) => {
                self.note(format!("the sample series `{name}` cannot be read: {error}"));
                None
            }
        }
    }

    /// Notes what is wrong with the series `name`, also if nothing else reads it.
    pub(crate) fn check(&self, name: &str) {
        if self.samples.borrow().contains_key(name) {
            return;
        }
        match self.recording.check_parquet(name) {
            None => drop(self.samples(name)),
            Some(Ok(())) => {}
            Some(Err(error)) => self.note(format!("the sample series `{name}` cannot be read: {error}")),
        }
    }

    /// The primary's latencies; empty without any.
    pub(crate) fn latencies(&self) -> &LatencyLog {
        self.latencies.get_or_init(|| {
            let Some(primary) = self.primary() else { return LatencyLog::default() };
            match self.recording.latency(&primary.name) {
                Ok(log) => {
                    if log.truncated {
                        self.note(format!("the latency log of `{}` was cut short", primary.name));
                    }
                    log
                }
                Err(error) => {
                    self.note(format!("the primary's latencies cannot be read: {error}"));
                    LatencyLog::default()
                }
            }
        })
    }

    fn note(&self, text: String) {
        self.unreadable.borrow_mut().push(text);
    }

    /// What could not be read so far, for people.
    pub(crate) fn unreadable(&self) -> Vec<String> {
        self.unreadable.borrow().clone()
    }

    /// The phases that ran.
    pub(crate) fn spans(&self) -> Vec<PhaseSpan<'a>> {
        spans(self.recording, self.last_s())
    }

    /// The last moment that the recording knows of.
    fn last_s(&self) -> f64 {
        let sampled = self.primary().and_then(|primary| self.samples(&primary.name)?.t_ns.last().copied());
        let happened = self.recording.events.last().map(|line| line.t_ns);
        sampled.max(happened).map_or(0.0, |t_ns| self.recording.seconds(t_ns))
    }

    /// The throughput of `workload` in its own unit, one value per sample interval.
    pub(crate) fn throughput(&self, workload: &PlannedWorkload) -> Option<Vec<Point>> {
        let samples = self.samples(&workload.name)?;
        let (suffix, factor) =
            if workload.unit == "MiB/s" { (".bytes", 1.0 / BYTES_PER_MIB) } else { (".requests", 1.0) };
        let lengths = samples.column("length")?;
        let amounts: Vec<&[Option<f64>]> = samples
            .columns
            .iter()
            .filter(|column| column.name.strip_suffix(suffix).is_some_and(|operation| !is_background(operation)))
            .filter_map(|column| samples.column(&column.name))
            .collect();
        let value = |row: usize| {
            let length_s = lengths[row].filter(|length_s| *length_s > 0.0)?;
            let amount = amounts.iter().filter_map(|column| column[row]).reduce(|left, right| left + right)?;
            Some(amount * factor / length_s)
        };
        let points = samples.t_ns.iter().enumerate();
        Some(points.map(|(row, t_ns)| Point::of(self.recording.seconds(*t_ns), value(row))).collect())
    }

    /// The column `column` of the series `series`, times `factor`.
    pub(crate) fn column(&self, series: &str, column: &str, factor: f64) -> Option<Vec<Point>> {
        let samples = self.samples(series)?;
        let values = samples.column(column)?.iter().map(|value| value.map(|value| value * factor));
        let moments = samples.t_ns.iter().map(|t_ns| self.recording.seconds(*t_ns));
        Some(moments.zip(values).map(|(t_s, value)| Point::of(t_s, value)).collect())
    }

    /// A percentile of the primary's latency in microseconds, one value per sample interval.
    pub(crate) fn latency_us(&self, criterion: &LatencyCriterion) -> Vec<Point> {
        let log = self.latencies();
        let tag = match criterion.response {
            true => log.response_tag(&criterion.operation),
            false => criterion.operation.clone(),
        };
        let ours = log.intervals.iter().filter(|interval| interval.operation == tag);
        let value = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        ours.map(|line| Point::of(line.end_s, value(line.histogram().quantile_ns(criterion.quantile)))).collect()
    }

    /// The criterion as measured on the primary, one value per sample interval.
    pub(crate) fn criterion(&self) -> Vec<Point> {
        match LatencyCriterion::of(&self.summary.criterion) {
            Some(latency) => self.latency_us(&latency),
            None => self.primary().and_then(|primary| self.throughput(primary)).unwrap_or_default(),
        }
    }

    /// Whether the sample interval that ended at `t_s` belongs to `phase`.
    pub(crate) fn is_in(&self, phase: &PhaseSummary, t_s: f64) -> bool {
        // A sample carries its interval's end, a moment after the tick: one that began before the phase is not its own.
        let half_s = self.recording.plan.interval_s / 2.0;
        phase.stretches_s().into_iter().any(|(begin_s, end_s)| t_s > begin_s + half_s && t_s <= end_s)
    }

    /// The phase that the sample interval that ended at `t_s` belongs to, with its place; none while nothing is measured.
    pub(crate) fn phase_at(&self, t_s: f64) -> Option<(usize, &'a PhaseSummary)> {
        self.summary.phases.iter().enumerate().find(|(_, phase)| self.is_in(phase, t_s))
    }

    /// `points` with their silences as gaps, downsampled to about `limit`.
    pub(crate) fn line(&self, points: Vec<Point>, limit: usize) -> Vec<Point> {
        let points = with_gaps(points, self.recording.plan.interval_s);
        downsampled(&points, self.bucket_size(points.len(), limit))
    }

    /// How many of so many sample intervals one point stands for, so that a line has about `limit`.
    pub(crate) fn bucket_size(&self, values: usize, limit: usize) -> usize {
        let size = bucket_size(values, limit);
        self.bucket_size_max.set(self.bucket_size_max.get().max(size));
        size
    }

    /// The largest number of sample intervals that one point of a line stands for so far.
    pub(crate) fn bucket_size_max(&self) -> usize {
        self.bucket_size_max.get()
    }
}
