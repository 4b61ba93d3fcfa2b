//! The overhead of observing the host: processor time of all observers per tick, and of writing their samples.
//!
//! `cargo run --release --example observers -- TICKS` prints one JSON document. A tick counts as a second, as in a run, so that rare
//! readings stay rare. Ticks follow each other faster, with a pause in between in which caches cool.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use manometer_measure::clock::WallAnchor;
use manometer_measure::host::{self, Observer};
use manometer_measure::plan::{BetterDirection, Criterion, Plan};
use manometer_measure::{Clock as _, MonotonicClock, RecordingWriter};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

const TICK_NS: u64 = 1_000_000_000;
const PAUSE_NS: u64 = 100_000_000;

/// Processor time that this thread, or this process, has used so far.
fn used_s(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Processor time of the tools that were run and have ended.
fn tools_s() -> Option<f64> {
    let stat = procfs::process::Process::myself().ok()?.stat().ok()?;
    Some((stat.cutime + stat.cstime) as f64 / procfs::ticks_per_second() as f64)
}

fn plan() -> Plan {
    Plan {
        experiment: "the overhead of observing".to_owned(),
        criterion: Criterion {
            metric: "throughput".to_owned(),
            unit: "ops/s".to_owned(),
            better: BetterDirection::Higher,
        },
        interval_s: 1.0,
        seed: 1,
        sweep: serde_json::Map::new(),
        reference: false,
        goal: None,
        interleaved: None,
        workloads: Vec::new(),
        phases: Vec::new(),
    }
}

/// Processor seconds used in the ticks so far.
#[derive(Default)]
struct Overhead {
    sampling: BTreeMap<String, f64>,
    writing: f64,
}

fn sample_tick(
    t_ns: u64,
    observers: &mut [Box<dyn Observer>],
    recording: &mut RecordingWriter,
    spent: &mut Overhead,
) -> Result<(), Box<dyn Error>> {
    for observer in observers {
        let begin = used_s(ClockId::ThreadCPUTime);
        let sample = observer.sample(t_ns);
        let sampled = used_s(ClockId::ThreadCPUTime);
        *spent.sampling.entry(observer.series().to_owned()).or_default() += sampled - begin;
        if !sample.is_empty() {
            if !recording.has_series(observer.series()) {
                recording.begin_series(observer.series(), &observer.columns())?;
            }
            recording.sample(observer.series(), t_ns, &sample)?;
        }
        spent.writing += used_s(ClockId::ThreadCPUTime) - sampled;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let ticks: u64 = std::env::args().nth(1).map_or(Ok(100), |ticks| ticks.parse())?;
    let dir = tempfile::tempdir()?;
    let start = WallAnchor::now();
    let mut recording = RecordingWriter::create(&dir.path().join("recording"), start, "", &plan(), &json!({}))?;
    let mut observers = host::host_observers(dir.path());
    for name in ["primary", "neighbour"] {
        observers.extend(host::worker_observers(name, std::process::id(), Path::new(".")));
    }
    observers.extend(host::conductor_observers(TICK_NS, start));
    let mut spent = Overhead::default();
    // The first tick opens the files that later ones only read, and does not count.
    sample_tick(TICK_NS, &mut observers, &mut recording, &mut Overhead::default())?;
    let (process, tools) = (used_s(ClockId::ProcessCPUTime), tools_s());
    for number in 2..ticks + 2 {
        sample_tick(number * TICK_NS, &mut observers, &mut recording, &mut spent)?;
        MonotonicClock.sleep(PAUSE_NS);
    }
    let all = used_s(ClockId::ProcessCPUTime) - process;
    let tools = tools_s().zip(tools).map(|(now, before)| now - before);
    let ms_per_tick = |seconds: f64| seconds * 1e3 / ticks as f64;
    let sampling: f64 = spent.sampling.values().sum();
    let document = json!({
        "ticks": ticks,
        "columns": observers.iter().map(|observer| observer.columns().len()).sum::<usize>(),
        "sampling_ms": ms_per_tick(sampling),
        "writing_ms": ms_per_tick(spent.writing),
        "process_ms": ms_per_tick(all),
        "tools_ms": tools.map(ms_per_tick),
        "sampling_ms_by_series":
            spent.sampling.iter().map(|(source, spent)| (source.clone(), ms_per_tick(*spent))).collect::<BTreeMap<_, _>>(),
    });
    writeln!(std::io::stdout(), "{document:#}")?;
    Ok(())
}
