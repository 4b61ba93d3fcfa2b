//! The requests of each node of a real Redis Cluster in each second, as its servers count them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_analysis::real_vs_synthetic::{Arrivals, HotSpots, MeasuredNodes, NodeLoad};
use manometer_measure::{Clock as _, MonotonicClock, ReplayOutcome};
use manometer_session::protocol::{Control, DatabaseReuse, Job, Message};
use manometer_session::single::{self, MessageHandler};
use manometer_target::engine::{self, Engine, EngineError, EngineOptions, OpenRequest, StateSampler};
use manometer_workload::replay::{ReplayModel, ReplaySettings, Timing, TraceFile};
use manometer_workload::settings::WorkloadSettings;
use serde_json::{Value, json};

use super::error::RealVsSyntheticError;
use super::hot_spots::ArrivalTimes;
use super::load::{Exponents, LoadKind};
use super::progress::ComparisonProgress;
use super::recorded_trace::RecordedTrace;
use super::replaying::write_timed;
use crate::file::RealVsSynthetic;

const ENGINE: &str = "redis";
/// The rate column of a server's state that counts requests.
const COMMANDS: &str = "commands";
/// A query of the state is a command itself: each second has that of the count, and that of the replay's own samples.
const OWN_COMMANDS: f64 = 2.0;
const SECOND_NS: u64 = 1_000_000_000;

/// The replays on the cluster: the trace with all arrivals, and the loads without locality and popularity at a constant rate.
pub(super) fn loads(exponents: Exponents) -> [(LoadKind, Arrivals); 5] {
    [
        (LoadKind::Trace, Arrivals::Recorded),
        (LoadKind::Trace, Arrivals::Constant),
        (LoadKind::Trace, Arrivals::Poisson),
        (LoadKind::Shuffled, Arrivals::Constant),
        (exponents.drawn()[0], Arrivals::Constant),
    ]
}

/// Checks that requests have times to be sent at, where a cluster is measured.
///
/// # Errors
/// The trace is not suitable.
pub(super) fn check(settings: &RealVsSynthetic, recorded: &RecordedTrace) -> Result<(), RealVsSyntheticError> {
    let Some(table) = &settings.cluster else { return Ok(()) };
    let reason = "it has no times that span more than a second at this speed, at which a cluster could be sent its \
                  requests: remove the table `cluster`, or reduce its `speed`";
    let times = ArrivalTimes::new(recorded, table.speed, None);
    times.map(drop).map_err(|_| RealVsSyntheticError::unsuitable(&settings.trace, reason))
}

/// Starts a cluster, replays each load on it at its times, and adds what its servers counted to `spots`.
///
/// # Errors
/// The cluster does not start, or a replay fails. What was measured before is in `spots`.
pub(super) fn measure(
    settings: &RealVsSynthetic,
    recorded: &RecordedTrace,
    exponents: Exponents,
    folder: &Path,
    spots: &mut HotSpots,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(ComparisonProgress<'_>),
) -> Result<(), RealVsSyntheticError> {
    let Ok(times) = ArrivalTimes::new(recorded, spots.speed, None) else { return Ok(()) };
    let directory = folder.join("cluster");
    let cluster = open(&directory, &json!({"cluster": true, "servers": settings.nodes, "save": ""}))?;
    let address = cluster.facts().get("address").and_then(Value::as_str).unwrap_or_default().to_owned();
    let servers: Vec<Box<dyn Engine>> =
        address.split(',').map(|address| open(&directory, &json!({"address": address}))).collect::<Result<_, _>>()?;
    for (kind, arrivals) in loads(exponents) {
        if interrupted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let name = kind.name();
        watch(ComparisonProgress::ClusterReplay { load: &name, arrivals, seconds: times.seconds });
        let path = folder.join(format!("cluster-{name}-{}.parquet", arrivals.name()));
        let load = kind.make(recorded, settings.seed);
        let timed = load.requests.iter().zip(times.times_ns(arrivals, settings.seed));
        write_timed(&path, timed.map(|(one, time)| (load.key(one.key, recorded), one.operation, Some(time))))?;
        let job = job(&path, &address, settings, folder);
        let (mut seconds, replayed) = count_during(&job, &servers, interrupted)?;
        let Some(replayed) = replayed.filter(|replayed| !replayed.interrupted) else { return Ok(()) };
        seconds.truncate(times.seconds as usize);
        let nodes = NodeLoad::new(&name, arrivals, &seconds);
        let computed = spots.loads.iter().find(|one| one.load == name && one.arrivals == arrivals);
        spots.measured.push(MeasuredNodes {
            peak_above_computed: computed.map(|computed| nodes.peak_above(computed)).unwrap_or_default(),
            nodes,
            sent: replayed.sent,
            errors: replayed.errors,
            late: replayed.dispatch.map_or(0, |dispatch| dispatch.late),
        });
    }
    Ok(())
}

fn open(directory: &Path, options: &Value) -> Result<Box<dyn Engine>, EngineError> {
    let options = table(options);
    (engine::find(ENGINE)?.open)(&OpenRequest { directory, options: &options, value_bytes: 0 })
}

fn table(options: &Value) -> EngineOptions {
    EngineOptions::Table(options.as_object().cloned().unwrap_or_default())
}

fn job(trace: &Path, address: &str, settings: &RealVsSynthetic, folder: &Path) -> Job {
    let options = json!({"address": address, "cluster": true, "flush": true});
    let replay = ReplaySettings {
        engine: ENGINE.to_owned(),
        options: Some(table(&options)),
        file: TraceFile { trace: trace.to_owned(), ..TraceFile::default() },
        model: ReplayModel::Open,
        time: Timing::Original,
        threads: Some(settings.threads),
        ..ReplaySettings::default()
    };
    let workload = WorkloadSettings::Replay(replay);
    Job::alone("cluster-client", folder, DatabaseReuse::Remake, 1000, settings.seed, workload)
}

/// The time between two checks whether a replay has started or ended.
const POLL_NS: u64 = 1_000_000;

/// Runs a replay while every server reports its counter once a second from the replay's start to its end. Returns the requests
/// of each server in each second, and the outcome unless the replay was interrupted before it.
fn count_during(
    job: &Job,
    servers: &[Box<dyn Engine>],
    interrupted: &AtomicBool,
) -> Result<(Vec<Vec<u64>>, Option<ReplayOutcome>), RealVsSyntheticError> {
    let mut progress = ReplayProgress::default();
    let (started, ended) = (Arc::clone(&progress.started), Arc::clone(&progress.ended));
    std::thread::scope(|scope| {
        let counter = scope.spawn(|| count(servers, &started, &ended));
        let data = single::run(job, interrupted, &mut progress);
        ended.store(true, Ordering::Release);
        let seconds = counter.join().unwrap_or_default();
        data?.database.map_or(Ok(()), |database| database.remove())?;
        Ok((seconds, progress.replayed))
    })
}

/// The requests of each server in each second. A second in which a server did not report is left out.
fn count(servers: &[Box<dyn Engine>], started: &AtomicBool, ended: &AtomicBool) -> Vec<Vec<u64>> {
    let is_ended = || ended.load(Ordering::Acquire);
    let mut samplers: Vec<_> = servers.iter().map(|server| server.state_sampler()).collect();
    let mut report = || {
        let rate = |server: &mut Box<dyn StateSampler + '_>| server.sample(&MonotonicClock).get(COMMANDS).copied();
        // Every server is asked, also after one that does not answer.
        let rates: Vec<Option<f64>> = samplers.iter_mut().map(rate).collect();
        let rates: Option<Vec<f64>> = rates.into_iter().collect();
        Some(rates?.iter().map(|rate| (rate - OWN_COMMANDS).round().max(0.0) as u64).collect::<Vec<u64>>())
    };
    while !started.load(Ordering::Acquire) && !is_ended() {
        MonotonicClock.sleep(POLL_NS);
    }
    // The first report starts the rates.
    report();
    let (mut seconds, mut due_ns) = (Vec::new(), MonotonicClock.now_ns() + SECOND_NS);
    while !is_ended() {
        if MonotonicClock.now_ns() < due_ns {
            MonotonicClock.sleep(POLL_NS);
            continue;
        }
        seconds.extend(report());
        due_ns += SECOND_NS;
    }
    seconds
}

/// The start, the end and the outcome of a replay.
#[derive(Debug, Default)]
struct ReplayProgress {
    started: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    replayed: Option<ReplayOutcome>,
}

impl MessageHandler for ReplayProgress {
    fn receive(&mut self, message: Message, _: u64) -> Vec<Control> {
        match message {
            Message::Ready { .. } => {
                self.started.store(true, Ordering::Release);
                return vec![Control::Go];
            }
            Message::Replayed { replayed, .. } => {
                self.ended.store(true, Ordering::Release);
                self.replayed = Some(*replayed);
            }
            _ => {}
        }
        Vec::new()
    }

    /// The replay ends with its trace.
    fn is_over(&self, _: u64) -> bool {
        false
    }
}
