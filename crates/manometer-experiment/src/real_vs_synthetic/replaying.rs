//! One replay of one load on one cache, as fast as it is answered, with misses filled.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use manometer_analysis::real_vs_synthetic::CacheReplay;
use manometer_measure::ReplayOutcome;
use manometer_session::protocol::{Control, DatabaseReuse, Job, Message};
use manometer_session::sample_totals::SampleTotals;
use manometer_session::single::{self, MessageHandler};
use manometer_target::engine::EngineOptions;
use manometer_trace::write::{OutputFormat, TraceBatch, create};
use manometer_trace::{BATCH_RECORDS, Record, TraceOperation};
use manometer_workload::replay::{MissAction, ReplayModel, ReplaySettings, Timing, TraceFile};
use manometer_workload::settings::WorkloadSettings;

use super::cache;
use super::error::RealVsSyntheticError;
use super::recorded_trace::Key;

/// The folder of the server's own files.
const NAME: &str = "server";
/// The operations that put a value.
const WRITES: [&str; 4] = ["fill", "insert", "put", "update"];

/// Writes a load where it can be replayed from.
pub(super) fn write(
    path: &Path,
    requests: impl Iterator<Item = (Key, TraceOperation)>,
) -> Result<(), RealVsSyntheticError> {
    write_timed(path, requests.map(|(key, operation)| (key, operation, None)))
}

/// The same with the times of requests, in nanoseconds.
pub(super) fn write_timed(
    path: &Path,
    requests: impl Iterator<Item = (Key, TraceOperation, Option<u64>)>,
) -> Result<(), RealVsSyntheticError> {
    let failed = RealVsSyntheticError::trace(path);
    let mut writer = create(path, OutputFormat::find("parquet").map_err(&failed)?).map_err(&failed)?;
    let record = |(key, operation, time_ns): (Key, TraceOperation, Option<u64>)| Record {
        time_ns,
        key_size: Some(key.key_bytes),
        value_size: Some(key.value_bytes),
        ..Record::new(operation, key.id)
    };
    let mut records = requests.map(record).peekable();
    while records.peek().is_some() {
        let batch: Vec<Record> = records.by_ref().take(64 * BATCH_RECORDS).collect();
        writer.write(&TraceBatch::of(&batch)).map_err(&failed)?;
    }
    writer.finish().map_err(&failed)?;
    Ok(())
}

/// A load on a cache.
#[derive(Debug, Clone)]
pub(super) struct CacheTrial {
    pub(super) engine: String,
    pub(super) load: String,
    /// Where the load lies.
    pub(super) trace: PathBuf,
    pub(super) cache: f64,
    pub(super) cache_bytes: u64,
    pub(super) repeat: u32,
    pub(super) threads: u32,
    pub(super) seed: u64,
}

/// What a replay emitted.
#[derive(Debug, Default)]
struct TrialTotals {
    totals: SampleTotals,
    replayed: Option<ReplayOutcome>,
}

impl TrialTotals {
    /// The time of all requests of these operations together.
    fn total_us(&self, names: &[&str]) -> f64 {
        let total = |name: &&str| {
            let all = self.totals.operations.get(*name)?;
            Some(all.mean_ns()? * all.len() as f64 / 1e3)
        };
        names.iter().filter_map(total).sum()
    }

    /// What `trial` measured; nothing where it did not come to its end.
    fn measured(&self, trial: &CacheTrial) -> Option<CacheReplay> {
        let replayed = self.replayed.as_ref().filter(|replayed| !replayed.interrupted)?;
        let reads = self.totals.count("read");
        let writes: u64 = WRITES.iter().map(|name| self.totals.count(name)).sum();
        let answered = self.totals.count_of(|name| name != "fill");
        let seconds = replayed.length_ns as f64 / 1e9;
        Some(CacheReplay {
            engine: trial.engine.clone(),
            load: trial.load.clone(),
            cache: trial.cache,
            cache_bytes: trial.cache_bytes,
            repeat: trial.repeat,
            requests: replayed.sent,
            errors: replayed.errors,
            reads,
            missing: self.totals.missing.get("read").copied().unwrap_or(0),
            read_us: (reads > 0).then(|| self.total_us(&["read", "fill"]) / reads as f64),
            write_us: (writes > 0).then(|| self.total_us(&WRITES) / writes as f64),
            ops_per_s: (seconds > 0.0).then(|| answered as f64 / seconds),
            error: replayed.error.clone(),
        })
    }
}

impl MessageHandler for TrialTotals {
    fn receive(&mut self, message: Message, _: u64) -> Vec<Control> {
        match message {
            Message::Ready { .. } => return vec![Control::Go],
            Message::Sample(sample) => drop(self.totals.add(&sample)),
            Message::Replayed { replayed, .. } => self.replayed = Some(*replayed),
            _ => {}
        }
        Vec::new()
    }

    /// The replay ends with its trace.
    fn is_over(&self, _: u64) -> bool {
        false
    }
}

/// Replays; nothing where somebody ended it on the way.
pub(super) fn run(
    trial: &CacheTrial,
    directory: &Path,
    interrupted: &AtomicBool,
) -> Result<Option<CacheReplay>, RealVsSyntheticError> {
    let settings = ReplaySettings {
        engine: trial.engine.clone(),
        options: Some(EngineOptions::Table(cache::cache_options(&trial.engine, trial.cache_bytes))),
        file: TraceFile { trace: trial.trace.clone(), ..TraceFile::default() },
        model: ReplayModel::ClosedUnordered,
        time: Timing::Full,
        threads: Some(trial.threads),
        on_miss: MissAction::Put,
        ..ReplaySettings::default()
    };
    let workload = WorkloadSettings::Replay(settings);
    let job = Job::alone(NAME, directory, DatabaseReuse::Remake, 1000, trial.seed, workload);
    let mut received = TrialTotals::default();
    let data = single::run(&job, interrupted, &mut received)?;
    data.database.map_or(Ok(()), |database| database.remove())?;
    Ok(received.measured(trial))
}

#[cfg(test)]
mod tests {
    use manometer_measure::LatencyHistogram;

    use super::*;

    fn trial() -> CacheTrial {
        CacheTrial {
            engine: "redis".to_owned(),
            load: "trace".to_owned(),
            trace: PathBuf::new(),
            cache: 0.5,
            cache_bytes: 1 << 20,
            repeat: 1,
            threads: 1,
            seed: 1,
        }
    }

    #[test]
    fn a_reader_waits_for_the_put_after_a_miss_as_well() {
        let histogram = |count, latency_ns| {
            let mut histogram = LatencyHistogram::new();
            histogram.record_many(latency_ns, count);
            histogram
        };
        let replayed = ReplayOutcome {
            model: "closed-unordered".to_owned(),
            length_ns: 2_000_000_000,
            requests: 14,
            sent: 14,
            ..ReplayOutcome::default()
        };
        let mut received = TrialTotals { replayed: Some(replayed), ..TrialTotals::default() };
        for (name, count, latency_ns) in [("read", 10, 10_000), ("fill", 5, 20_000), ("put", 4, 30_000)] {
            received.totals.operations.insert(name.to_owned(), histogram(count, latency_ns));
        }
        received.totals.missing.insert("read".to_owned(), 5);
        let measured = received.measured(&trial()).unwrap();
        assert_eq!((measured.reads, measured.miss_ratio(), measured.ops_per_s), (10, Some(0.5), Some(7.0)));
        // Histograms keep three significant digits.
        assert!((measured.read_us.unwrap() / 20.0 - 1.0).abs() < 1e-2, "{measured:?}");
        assert!((measured.write_us.unwrap() / (220.0 / 9.0) - 1.0).abs() < 1e-2, "{measured:?}");
        received.replayed.as_mut().unwrap().interrupted = true;
        assert_eq!(received.measured(&trial()), None, "what was cut short measured nothing");
    }

    #[test]
    fn a_load_is_read_back_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("load.parquet");
        let key = |id: u64| Key { id, key_bytes: 20, value_bytes: 3 * id };
        write(
            &path,
            (0..5000).map(|id| (key(id), if id % 2 == 0 { TraceOperation::Get } else { TraceOperation::Put })),
        )
        .unwrap();
        let mut reader = manometer_trace::open(&path, &Default::default()).unwrap().reader;
        let (mut batch, mut all) = (Vec::new(), Vec::new());
        while reader.read(&mut batch).unwrap() > 0 {
            all.append(&mut batch);
        }
        assert_eq!(all.len(), 5000);
        let last = all[4999];
        assert_eq!((last.key, last.operation, last.value_size), (4999, TraceOperation::Put, Some(14_997)));
        assert_eq!(last.key_size, Some(20));
    }
}
