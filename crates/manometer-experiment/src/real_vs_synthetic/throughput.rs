//! The throughput of the trace's replay next to that of a stationary load with its mean properties.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_analysis::real_vs_synthetic::{self as results, STATIONARY, TRACE, Throughput, ThroughputRun};
use manometer_measure::operation::is_background;
use manometer_session::protocol::{Control, DatabaseReuse, Job, Message};
use manometer_session::single::{self, MessageHandler};
use manometer_workload::kv::{KeyDistribution, KvSettings};
use manometer_workload::replay::{ReplayModel, ReplaySettings, Timing, TraceFile};
use manometer_workload::settings::WorkloadSettings;

use super::error::RealVsSyntheticError;
use super::load::LoadKind;
use super::progress::ComparisonProgress;
use super::recorded_trace::RecordedTrace;
use super::replaying::write;
use crate::file::RealVsSynthetic;
use crate::file::real_vs_synthetic::ThroughputTable;

/// The length of an interval of the series.
const INTERVAL_MS: u64 = 200;
/// An interval shorter than this share is the first or the last one, and in no series.
const WHOLE_INTERVAL: f64 = 0.9;

/// The number of runs.
pub(super) fn runs(settings: &RealVsSynthetic, table: &ThroughputTable) -> usize {
    2 * table.threads.len() * settings.repeats as usize
}

/// Runs both loads with each number of threads, as fast as the engine answers, on all keys in memory without a limit. Also
/// returns the error that ended it early.
pub(super) fn measure(
    settings: &RealVsSynthetic,
    table: &ThroughputTable,
    recorded: &RecordedTrace,
    exponent: f64,
    folder: &Path,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(ComparisonProgress<'_>),
) -> (Throughput, Option<RealVsSyntheticError>) {
    let reads = recorded.requests.iter().filter(|request| request.reads()).count();
    let mut throughput = Throughput {
        engine: table.engine.clone(),
        interval_s: INTERVAL_MS as f64 / 1e3,
        read_share: reads as f64 / recorded.requests.len() as f64,
        records: recorded.keys.len() as u64,
        value_bytes: recorded.value_bytes_mean(),
        exponent,
        results: Vec::new(),
        runs: Vec::new(),
    };
    let error = run_all(settings, table, recorded, &mut throughput, folder, interrupted, watch).err();
    throughput.results = results::throughput_results(&throughput.runs, TRACE);
    (throughput, error)
}

fn run_all(
    settings: &RealVsSynthetic,
    table: &ThroughputTable,
    recorded: &RecordedTrace,
    throughput: &mut Throughput,
    folder: &Path,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(ComparisonProgress<'_>),
) -> Result<(), RealVsSyntheticError> {
    let path = folder.join("throughput.parquet");
    let load = LoadKind::Trace.make(recorded, settings.seed);
    write(&path, load.requests.iter().map(|one| (load.key(one.key, recorded), one.operation)))?;
    drop(load);
    for repeat in 1..=settings.repeats {
        for threads in &table.threads {
            let requests = recorded.requests.len() as u64;
            let replay = WorkloadSettings::Replay(replay(&path, &table.engine, *threads));
            let stationary = WorkloadSettings::Kv(stationary(throughput, requests, *threads));
            for (name, workload) in [(TRACE, replay), (STATIONARY, stationary)] {
                if interrupted.load(Ordering::Relaxed) {
                    return Ok(());
                }
                watch(ComparisonProgress::ThroughputRun { load: name, threads: *threads, repeat });
                let seed = settings.seed.wrapping_add(u64::from(repeat));
                let job = Job::alone("throughput", folder, DatabaseReuse::Remake, INTERVAL_MS, seed, workload);
                let mut series = ThroughputSeries::default();
                let data = single::run(&job, interrupted, &mut series)?;
                data.database.map_or(Ok(()), |database| database.remove())?;
                if interrupted.load(Ordering::Relaxed) {
                    return Ok(());
                }
                throughput.runs.push(series.finish(name, *threads, repeat));
            }
        }
    }
    Ok(())
}

fn replay(trace: &Path, engine: &str, threads: u32) -> ReplaySettings {
    ReplaySettings {
        engine: engine.to_owned(),
        file: TraceFile { trace: trace.to_owned(), ..TraceFile::default() },
        model: ReplayModel::ClosedUnordered,
        time: Timing::Full,
        threads: Some(threads),
        load: true,
        ..ReplaySettings::default()
    }
}

/// YCSB's requests of the same number, share of reads, number of keys, size of values and popularity.
fn stationary(like: &Throughput, requests: u64, threads: u32) -> KvSettings {
    let is_uniform = like.exponent <= 0.0;
    KvSettings {
        engine: like.engine.clone(),
        workload: "ycsb-a".to_owned(),
        records: Some(like.records),
        threads: Some(threads),
        distribution: Some(if is_uniform { KeyDistribution::Uniform } else { KeyDistribution::Zipfian }),
        exponent: (!is_uniform).then_some(like.exponent),
        value_size: u32::try_from(like.value_bytes.max(1)).ok(),
        field_count: Some(1),
        operations: Some(requests),
        read_proportion: Some(like.read_share),
        update_proportion: Some(1.0 - like.read_share),
        ..KvSettings::default()
    }
}

/// The requests of a run over time.
#[derive(Debug, Default)]
struct ThroughputSeries {
    series: Vec<f64>,
    requests: u64,
    length_ns: u64,
    errors: u64,
}

impl ThroughputSeries {
    fn finish(self, load: &str, threads: u32, repeat: u32) -> ThroughputRun {
        ThroughputRun {
            load: load.to_owned(),
            threads,
            repeat,
            ops_per_s: self.requests as f64 / (self.length_ns.max(1) as f64 / 1e9),
            series: self.series,
            errors: self.errors,
        }
    }
}

impl MessageHandler for ThroughputSeries {
    fn receive(&mut self, message: Message, _: u64) -> Vec<Control> {
        match message {
            Message::Ready { .. } => return vec![Control::Go],
            Message::Sample(sample) => {
                let foreground = sample.operations.iter().filter(|(name, _)| !is_background(name));
                let requests: u64 = foreground.map(|(_, operation)| operation.requests).sum();
                self.requests += requests;
                self.length_ns += sample.length_ns;
                let seconds = sample.length_ns as f64 / 1e9;
                if seconds >= WHOLE_INTERVAL * INTERVAL_MS as f64 / 1e3 {
                    self.series.push(requests as f64 / seconds);
                }
            }
            Message::Replayed { replayed, .. } => self.errors += replayed.errors,
            _ => {}
        }
        Vec::new()
    }

    /// Both loads end with their requests.
    fn is_over(&self, _: u64) -> bool {
        false
    }
}
