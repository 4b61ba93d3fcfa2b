//! What observing the host costs: processor time for each beat of all observers, and for writing their rows down.
//!
//! `cargo run --release --example observers -- BEATS` prints one JSON document. A beat counts as a second, as in a run,
//! so that what is looked at rarely is; beats follow each other faster, with a rest between them in which caches cool.

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

const BEAT_NS: u64 = 1_000_000_000;
const REST_NS: u64 = 100_000_000;

/// Processor time that this thread, or this process, has used so far.
fn used_s(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Processor time of the tools that were run, as far as they have ended.
fn tools_s() -> Option<f64> {
    let stat = procfs::process::Process::myself().ok()?.stat().ok()?;
    Some((stat.cutime + stat.cstime) as f64 / procfs::ticks_per_second() as f64)
}

fn plan() -> Plan {
    Plan {
        experiment: "the cost of observing".to_owned(),
        criterion: Criterion {
            metric: "throughput".to_owned(),
            unit: "ops/s".to_owned(),
            better: BetterDirection::Higher,
        },
        interval_s: 1.0,
        seed: 1,
        sweep: serde_json::Map::new(),
        reference: false,
        workloads: Vec::new(),
        phases: Vec::new(),
    }
}

/// Processor seconds spent in the beats so far.
#[derive(Default)]
struct Spent {
    looking: BTreeMap<String, f64>,
    writing: f64,
}

fn beat(
    t_ns: u64,
    observers: &mut [Box<dyn Observer>],
    recording: &mut RecordingWriter,
    spent: &mut Spent,
) -> Result<(), Box<dyn Error>> {
    for observer in observers {
        let begin = used_s(ClockId::ThreadCPUTime);
        let row = observer.sample(t_ns);
        let looked = used_s(ClockId::ThreadCPUTime);
        *spent.looking.entry(observer.series().to_owned()).or_default() += looked - begin;
        if !row.is_empty() {
            if !recording.has_series(observer.series()) {
                recording.begin_series(observer.series(), &observer.columns())?;
            }
            recording.sample(observer.series(), t_ns, &row)?;
        }
        spent.writing += used_s(ClockId::ThreadCPUTime) - looked;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let beats: u64 = std::env::args().nth(1).map_or(Ok(100), |beats| beats.parse())?;
    let dir = tempfile::tempdir()?;
    let start = WallAnchor::now();
    let mut recording = RecordingWriter::create(&dir.path().join("recording"), start, "", &plan(), &json!({}))?;
    let mut observers = host::host_observers(dir.path());
    for name in ["primary", "neighbour"] {
        observers.extend(host::worker_observers(name, std::process::id(), Path::new(".")));
    }
    observers.extend(host::conductor_observers(BEAT_NS, start));
    let mut spent = Spent::default();
    // The first beat opens what the others only read again, and is none of them.
    beat(BEAT_NS, &mut observers, &mut recording, &mut Spent::default())?;
    let (process, tools) = (used_s(ClockId::ProcessCPUTime), tools_s());
    for number in 2..beats + 2 {
        beat(number * BEAT_NS, &mut observers, &mut recording, &mut spent)?;
        MonotonicClock.sleep(REST_NS);
    }
    let all = used_s(ClockId::ProcessCPUTime) - process;
    let tools = tools_s().zip(tools).map(|(now, before)| now - before);
    let ms_a_beat = |seconds: f64| seconds * 1e3 / beats as f64;
    let looking: f64 = spent.looking.values().sum();
    let document = json!({
        "beats": beats,
        "columns": observers.iter().map(|observer| observer.columns().len()).sum::<usize>(),
        "looking_ms": ms_a_beat(looking),
        "writing_ms": ms_a_beat(spent.writing),
        "process_ms": ms_a_beat(all),
        "tools_ms": tools.map(ms_a_beat),
        "looking_ms_by_source":
            spent.looking.iter().map(|(source, spent)| (source.clone(), ms_a_beat(*spent))).collect::<BTreeMap<_, _>>(),
    });
    writeln!(std::io::stdout(), "{document:#}")?;
    Ok(())
}
