//! A day of samples at one a second, recorded without waiting for the day: the writer's clock is counted, not read.
//!
//! `cargo run --release --example day -- RECORDING [HOURS]` writes a recording of a primary and a neighbour in phases of an
//! hour, with the columns that this host's observers have. `benches/long.py` measures the report on it.

use std::error::Error;
use std::path::Path;

use manometer_measure::clock::WallAnchor;
use manometer_measure::event::{Event, RunStatus};
use manometer_measure::host;
use manometer_measure::plan::{BetterDirection, Criterion, Phase, PhaseKind, Plan, PlannedWorkload, Role};
use manometer_measure::{Column, LatencyHistogram, RecordingWriter};
use serde_json::json;

const SECOND_NS: u64 = 1_000_000_000;
const PHASE_S: u64 = 3600;
/// Latencies recorded for each second.
const LATENCIES: u64 = 100;

fn phase(hour: u64) -> Phase {
    let is_pressure = hour % 2 == 1;
    let (kind, running) = match is_pressure {
        true => (PhaseKind::Pressure, vec!["db", "writer"]),
        false => (PhaseKind::Baseline, vec!["db"]),
    };
    Phase {
        id: format!("w{hour}"),
        label: if is_pressure { "writer.iodepth = 8" } else { "no neighbour" }.to_owned(),
        kind,
        duration_s: PHASE_S as f64,
        settle_s: 0.0,
        running: running.into_iter().map(str::to_owned).collect(),
        settings: [("writer.iodepth".to_owned(), json!(8))].into_iter().collect(),
    }
}

fn plan(hours: u64) -> Plan {
    let workload = |name: &str, role, kind: &str, unit: &str| PlannedWorkload {
        name: name.to_owned(),
        role,
        kind: kind.to_owned(),
        unit: unit.to_owned(),
    };
    Plan {
        experiment: "a day".to_owned(),
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
        workloads: vec![
            workload("db", Role::Primary, "kv", "ops/s"),
            workload("writer", Role::Neighbour, "io", "MiB/s"),
        ],
        phases: (0..hours).map(phase).collect(),
    }
}

/// A number between 0 and 1 that looks random, the same for each second.
fn noise(second: u64) -> f64 {
    (second.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / (1_u64 << 24) as f64
}

/// What an observer says of this host now.
struct HostSample {
    series: String,
    values: Vec<Option<f64>>,
}

/// Begins the series of the observers.
fn begin_host(recording: &mut RecordingWriter) -> Result<Vec<HostSample>, Box<dyn Error>> {
    let mut series = Vec::new();
    for observer in &mut host::host_observers(Path::new(".")) {
        observer.sample(SECOND_NS);
        let values = observer.sample(2 * SECOND_NS);
        if !values.is_empty() {
            recording.begin_series(observer.series(), &observer.columns())?;
            series.push(HostSample { series: observer.series().to_owned(), values });
        }
    }
    Ok(series)
}

fn begin_workload(recording: &mut RecordingWriter, name: &str, operation: &str) -> Result<(), Box<dyn Error>> {
    let count = |what: &str, unit: &str| Column::new(format!("{operation}.{what}"), unit);
    recording.begin_series(name, &[Column::new("length", "s"), count("requests", ""), count("bytes", "B")])?;
    Ok(())
}

/// A second of a workload with `requests`.
fn record(
    recording: &mut RecordingWriter,
    (name, operation): (&str, &str),
    end_ns: u64,
    requests: f64,
) -> Result<(), Box<dyn Error>> {
    recording.sample(name, end_ns, &[Some(1.0), Some(requests), Some(requests * 1024.0)])?;
    let mut latencies = LatencyHistogram::new();
    for at in 0..LATENCIES {
        latencies.record((1e9 / requests * (1.0 + noise(end_ns + at))) as u64);
    }
    recording.latency(name, operation, end_ns - SECOND_NS, end_ns, &latencies)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().ok_or("usage: day RECORDING [HOURS]")?;
    let hours: u64 = arguments.next().map_or(Ok(24), |hours| hours.parse())?;
    let start = WallAnchor { monotonic_ns: SECOND_NS, unix_ns: WallAnchor::now().unix_ns };
    let plan = plan(hours);
    let mut recording = RecordingWriter::create(Path::new(&out), start, "name = \"a day\"\n", &plan, &json!({}))?;
    for (workload, operation) in [("db", "read"), ("writer", "write")] {
        begin_workload(&mut recording, workload, operation)?;
        recording.event(SECOND_NS, Event::Ready { workload: workload.to_owned(), facts: serde_json::Map::new() })?;
    }
    let host = begin_host(&mut recording)?;
    for second in 0..hours * PHASE_S {
        let end_ns = (second + 2) * SECOND_NS;
        let phase = &plan.phases[(second / PHASE_S) as usize];
        if second % PHASE_S == 0 {
            recording.event(end_ns - SECOND_NS, Event::PhaseStarted { phase: phase.id.clone() })?;
        }
        let is_pressure = phase.kind == PhaseKind::Pressure;
        let requests = if is_pressure { 4000.0 } else { 5000.0 } * (0.9 + 0.2 * noise(second));
        record(&mut recording, ("db", "read"), end_ns, requests)?;
        if is_pressure {
            record(&mut recording, ("writer", "write"), end_ns, 2000.0)?;
        }
        for HostSample { series, values } in &host {
            let values = values.iter().map(|value| value.map(|value| value * (1.0 + 0.1 * noise(second))));
            recording.sample(series, end_ns, &values.collect::<Vec<_>>())?;
        }
        if second % PHASE_S == PHASE_S - 1 {
            recording.event(end_ns, Event::PhaseEnded { phase: phase.id.clone() })?;
        }
    }
    recording.finish((hours * PHASE_S + 2) * SECOND_NS, RunStatus::Complete)?;
    Ok(())
}
