//! Recordings to show: one complete, one cut short, one whose names are hostile. Also used by the
//! crate's own unit tests, so it speaks of recordings and summaries only.
#![allow(dead_code, unused_imports, reason = "each test uses a part")]

mod advised;
mod compared;
mod summaries;

use std::path::Path;

use manometer_measure::clock::WallAnchor;
use manometer_measure::dispatch::DispatchResolution;
use manometer_measure::event::{Finding, RunStatus};
use manometer_measure::plan::{BetterDirection, Criterion, Phase, PhaseKind, Plan, PlannedWorkload, Role};
use manometer_measure::{
    Column, Dispatch, Event, LatencyHistogram, Recording, RecordingWriter, ReplayOutcome, Severity,
};
use serde_json::json;

pub use advised::advice;
pub use compared::compared;
pub use summaries::{complete_summary, cut_summary, hostile_summary, long_summary};

pub const HOSTILE: &str = "</script><b id=\"pwned\" onclick='x'>bold</b><img src=http://192.0.2.1/x onerror=alert(1)>";
pub const START: WallAnchor = WallAnchor { monotonic_ns: 50_000_000_000, unix_ns: 1_794_000_000_000_000_000 };
const MIB: f64 = 1_048_576.0;
const SETTLE_S: u64 = 2;

/// What a phase of an example does each second.
#[derive(Clone)]
pub struct Script {
    pub id: String,
    pub label: String,
    pub kind: PhaseKind,
    pub seconds: u64,
    /// The primary's requests per second.
    pub rate: f64,
    /// The neighbour's bytes per second, and its queue depth.
    pub neighbour: Option<(f64, u32)>,
    /// The primary's median read latency.
    pub latency_us: f64,
}

pub fn script(id: &str, label: &str, kind: PhaseKind, rate: f64, neighbour: Option<(f64, u32)>) -> Script {
    let latency_us = 2.0e6 / rate;
    Script { id: id.into(), label: label.into(), kind, seconds: 30, rate, neighbour, latency_us }
}

pub fn phases() -> Vec<Script> {
    vec![
        script("warmup", "warm-up", PhaseKind::Warmup, 38_000.0, None),
        script("w0", "no neighbour", PhaseKind::Baseline, 41_200.0, None),
        script("w1", "writer.iodepth = 1", PhaseKind::Pressure, 33_900.0, Some((61.0 * MIB, 1))),
        script("w2", "writer.iodepth = 16", PhaseKind::Pressure, 17_300.0, Some((412.0 * MIB, 16))),
        script("w3", "writer.iodepth = 64", PhaseKind::Pressure, 12_800.0, Some((538.0 * MIB, 64))),
    ]
}

pub fn criterion() -> Criterion {
    Criterion { metric: "throughput".into(), unit: "ops/s".into(), better: BetterDirection::Higher }
}

fn plan(experiment: &str, neighbour: &str, scripts: &[Script]) -> Plan {
    let workload = |name: &str, role, kind: &str, unit: &str| PlannedWorkload {
        name: name.into(),
        role,
        kind: kind.into(),
        unit: unit.into(),
    };
    let phase = |script: &Script| Phase {
        id: script.id.clone(),
        label: script.label.clone(),
        kind: script.kind,
        duration_s: script.seconds as f64,
        settle_s: SETTLE_S as f64,
        running: std::iter::once("primary").chain(script.neighbour.map(|_| neighbour)).map(str::to_owned).collect(),
        settings: settings(neighbour, script),
    };
    Plan {
        experiment: experiment.into(),
        criterion: criterion(),
        interval_s: 1.0,
        seed: 42,
        sweep: Default::default(),
        reference: false,
        goal: None,
        interleaved: None,
        workloads: vec![
            workload("primary", Role::Primary, "kv", "ops/s"),
            workload(neighbour, Role::Neighbour, "io", "MiB/s"),
        ],
        phases: scripts.iter().map(phase).collect(),
    }
}

pub fn settings(neighbour: &str, script: &Script) -> manometer_measure::plan::Settings {
    let depth = script.neighbour.map(|(_, depth)| (format!("{neighbour}.iodepth"), json!(depth)));
    depth.into_iter().collect()
}

fn environment() -> serde_json::Value {
    json!({
        "manometer": "0.1.0",
        "host": {"name": "bench-7", "system": "Debian GNU/Linux 12 (bookworm)", "kernel": "6.1.0-28-amd64",
            "cpu": "an eight-core processor", "cores": 8, "memory_bytes": 33_554_432_000_u64, "virtual_machine": false},
        "directory": "/data/manometer",
        "file_system": {"type": "ext4", "source": "/dev/nvme0n1p2", "mounted_at": "/data",
            "options": ["noatime", "rw"], "block_size_bytes": 4096, "size_bytes": 1_000_000_000_000_u64},
        "device": {"name": "nvme0n1p2", "model": "Example NVMe 1 TB", "firmware": "1.04", "rotational": false,
            "scheduler": "[none] mq-deadline", "write_cache": "write back", "aligned_to_4_kib": true, "optimal_io_bytes": null},
    })
}

/// A number between 0 and 1 that looks random and is the same for the same `step`.
fn noise(step: u64) -> f64 {
    let mixed = step.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Writes an example second by second.
pub struct Example<'a> {
    writer: RecordingWriter,
    neighbour: &'a str,
    second: u64,
    /// Whether the host's and the engine's own figures are recorded too.
    observed: bool,
    /// Seconds between latencies.
    latency_every_s: u64,
}

impl<'a> Example<'a> {
    pub fn begin(dir: &Path, experiment: &str, neighbour: &'a str, scripts: &[Script], observed: bool) -> Self {
        let plan = plan(experiment, neighbour, scripts);
        let mut writer = RecordingWriter::create(dir, START, "name = \"…\"\n", &plan, &environment()).unwrap();
        let facts = json!({"engine": "rocksdb", "version": "11.8.1", "options": {"compression": "lz4"}});
        let facts = facts.as_object().unwrap().clone();
        writer.event(START.monotonic_ns, Event::Ready { workload: "primary".into(), facts }).unwrap();
        let operations = |names: &[&str]| {
            let mut columns = vec![Column::new("length", "s")];
            for name in names {
                columns.push(Column::new(format!("{name}.requests"), ""));
                columns.push(Column::new(format!("{name}.bytes"), "B"));
                columns.push(Column::new(format!("{name}.retries"), ""));
            }
            columns
        };
        writer.begin_series("primary", &operations(&["read", "update"])).unwrap();
        writer.begin_series(neighbour, &operations(&["read", "write"])).unwrap();
        let mut example = Self { writer, neighbour, second: 0, observed, latency_every_s: 1 };
        if observed {
            example.begin_observers();
        }
        example
    }

    fn begin_observers(&mut self) {
        let columns = |names: &[(&str, &str)]| -> Vec<Column> {
            names.iter().map(|(name, unit)| Column::new(*name, *unit)).collect()
        };
        let mut engine: Vec<Column> = (0..7).map(|level| Column::new(format!("level{level}_bytes"), "B")).collect();
        engine.push(Column::new("running_compactions", ""));
        engine.push(Column::new("compaction_written_bytes", "B/s"));
        engine.extend((0..3).map(|level| Column::new(format!("level{level}_files"), "files")));
        engine.extend((0..3).map(|level| Column::new(format!("level{level}_compacting_files"), "files")));
        engine.extend(columns(&[
            ("block_cache_hits", "blocks/s"),
            ("block_cache_misses", "blocks/s"),
            ("write_amplification", "ratio"),
        ]));
        let cores: Vec<Column> = (0..4)
            .flat_map(|core| {
                ["user", "system", "iowait"].map(|kind| Column::new(format!("core{core}.{kind}"), "cores"))
            })
            .collect();
        let bytes = columns(&[("read_bytes", "B/s"), ("write_bytes", "B/s")]);
        let series: [(&str, Vec<Column>); 10] = [
            ("cpu.cores", cores),
            ("primary.cgroup", bytes.clone()),
            ("writer.cgroup", bytes),
            (
                "health",
                columns(&[
                    ("utilisation", "B"),
                    ("host_bytes_written", "B"),
                    ("percentage_used", "%"),
                    ("temperature", "°C"),
                ]),
            ),
            ("primary.engine", engine),
            ("cpu", columns(&[("user", "cores"), ("system", "cores"), ("iowait", "cores"), ("steal", "cores")])),
            (
                "device",
                columns(&[
                    ("read_bytes", "B/s"),
                    ("write_bytes", "B/s"),
                    ("reads", "1/s"),
                    ("writes", "1/s"),
                    ("busy", "share"),
                    ("in_flight", ""),
                ]),
            ),
            ("pressure_stall", columns(&[("cpu.some", "share"), ("io.some", "share"), ("memory.some", "share")])),
            ("process.primary", columns(&[("user", "cores"), ("system", "cores")])),
            ("process.writer", columns(&[("user", "cores"), ("system", "cores")])),
        ];
        for (name, columns) in series {
            self.writer.begin_series(name, &columns).unwrap();
        }
    }

    fn now_ns(&self) -> u64 {
        START.monotonic_ns + self.second * 1_000_000_000
    }

    pub fn event(&mut self, event: Event) {
        self.writer.event(self.now_ns(), event).unwrap();
    }

    /// Runs a phase; `silent` lists the seconds of it in which the primary says nothing.
    pub fn phase(&mut self, script: &Script, silent: std::ops::Range<u64>) {
        (0..SETTLE_S).for_each(|_| self.tick(script, true));
        self.event(Event::PhaseStarted { phase: script.id.clone() });
        (0..script.seconds).for_each(|second| self.tick(script, !silent.contains(&second)));
        self.event(Event::PhaseEnded { phase: script.id.clone() });
    }

    fn tick(&mut self, script: &Script, speaks: bool) {
        self.second += 1;
        let (second, t_ns) = (self.second, self.now_ns());
        let saw = (second % 11) as f64 / 11.0;
        let swing = 0.82 + 0.24 * saw + 0.12 * noise(second);
        if speaks {
            self.primary(script, t_ns, swing);
        }
        if let Some((bytes, _)) = script.neighbour {
            let half = Some(bytes * (0.95 + 0.1 * noise(second * 7)) / 2.0);
            let requests = half.map(|half| half / 4096.0);
            let row = [Some(1.0), requests, half, Some(0.0), requests, half, Some(0.0)];
            self.writer.sample(self.neighbour, t_ns, &row).unwrap();
        }
        if self.observed {
            self.observe(script, t_ns, saw);
        }
    }

    fn primary(&mut self, script: &Script, t_ns: u64, swing: f64) {
        let rate = script.rate * swing;
        let (reads, updates) = (rate * 0.95, rate * 0.05);
        let row = [1.0, reads, reads * 1024.0, 0.0, updates, updates * 1024.0, 0.0].map(Some);
        self.writer.sample("primary", t_ns, &row).unwrap();
        if !self.second.is_multiple_of(self.latency_every_s) {
            return;
        }
        let begin_ns = t_ns - self.latency_every_s * 1_000_000_000;
        for (operation, factor, requests) in [("read", 1.0, 400), ("update", 0.4, 80), ("read.response", 3.0, 400)] {
            let mut histogram = LatencyHistogram::new();
            for request in 0..requests {
                let tail = 1.0 / (1.0 - noise(t_ns / 1000 + request)).max(1e-3);
                histogram.record((script.latency_us * factor * tail.powf(0.6) / swing * 1000.0) as u64);
            }
            self.writer.latency("primary", operation, begin_ns, t_ns, &histogram).unwrap();
        }
    }

    fn observe(&mut self, script: &Script, t_ns: u64, saw: f64) {
        let second = self.second;
        let (neighbour, depth) = script.neighbour.unwrap_or((0.0, 0));
        let load = script.rate / 42_000.0;
        let sizes = [30.0 * saw, 180.0 + 60.0 * saw, 610.0 + second as f64 * 2.0, 0.0, 0.0, 0.0, 0.0];
        let mut engine: Vec<Option<f64>> = sizes.iter().map(|mib| Some(mib * MIB)).collect();
        engine.extend([Some(if saw > 0.6 { 2.0 } else { 0.0 }), Some(saw * 300.0 * MIB)]);
        engine.extend([1.0 + 4.0 * saw, 5.0, 12.0 + second as f64 / 20.0].map(|files| Some(files.floor())));
        engine.extend([4.0 * saw, 3.0 * saw, 0.0].map(|files| Some(files.floor())));
        let warmth = 1.0 - 0.7 * (-(second as f64) / 15.0).exp();
        engine.extend([warmth * 9_000.0, (1.0 - warmth) * 9_000.0 + 20.0, 8.0 + second as f64 / 40.0].map(Some));
        let reads = script.rate * 0.6;
        let device = [
            reads * 4096.0 + neighbour / 2.0,
            30.0 * MIB * saw + neighbour / 2.0,
            reads + neighbour / 8192.0,
            400.0 * saw + neighbour / 8192.0,
            (0.45 + f64::from(depth) / 100.0 + 0.1 * noise(second)).min(1.0),
            2.0 + f64::from(depth),
        ];
        let cpu = [1.4 * load + 0.2 * noise(second), 0.9 + 0.3 * noise(second * 3), 0.4 + 0.02 * f64::from(depth), 0.0];
        let core = |number: u64| [0.3 * load + 0.4 * noise(second * 4 + number), 0.2 * load, 0.1];
        let cores = (0..4).flat_map(core).map(Some).collect();
        let stalls = [0.02 * noise(second), 0.3 + 0.008 * f64::from(depth), 0.0];
        let mut rows = vec![("primary.engine", engine)];
        rows.push(("device", device.map(Some).to_vec()));
        rows.push(("cpu", cpu.map(Some).to_vec()));
        rows.push(("cpu.cores", cores));
        rows.push(("primary.cgroup", vec![Some(reads * 4000.0), Some(25.0 * MIB * saw)]));
        rows.push(("writer.cgroup", vec![Some(neighbour * 0.48); 2]));
        if second % 30 == 1 {
            let written = 4.0e12 + second as f64 * 60.0 * MIB;
            rows.push(("health", [310.0e9, written, 7.0, 38.0 + 6.0 * load].map(Some).to_vec()));
        }
        rows.push(("pressure_stall", stalls.map(Some).to_vec()));
        rows.push(("process.primary", vec![Some(1.3 * load), Some(0.5 * load)]));
        rows.push(("process.writer", script.neighbour.map_or(vec![None, None], |_| vec![Some(0.05), Some(0.3)])));
        for (name, row) in rows {
            self.writer.sample(name, t_ns, &row).unwrap();
        }
    }

    pub fn finish(self, status: RunStatus) {
        let now_ns = self.now_ns();
        self.writer.finish(now_ns, status).unwrap();
    }

    /// Ends as a killed conductor does.
    pub fn kill(self) {
        drop(self);
    }
}

/// A run of w0 to w3 that ended well.
pub fn complete(dir: &Path) -> Recording {
    let scripts = phases();
    let mut example = Example::begin(dir, "RocksDB with a writer", "writer", &scripts, true);
    scripts.iter().for_each(|script| example.phase(script, 0..0));
    example.event(Event::Replayed { workload: "writer".into(), replayed: Box::new(replayed()) });
    example.finish(RunStatus::Complete);
    Recording::open(dir).unwrap()
}

/// A replay of 4,000 requests in bursts of four, each sent up to 8 µs after it was due, one in fifty 150 µs.
pub fn replayed() -> ReplayOutcome {
    const REQUESTS: u64 = 4_000;
    let due_ns = |number: u64| number / 4 * 4_000_000 + number % 4 * 20_000;
    let mut kept = Dispatch::new(DispatchResolution::new(due_ns(REQUESTS), 1));
    for number in 0..REQUESTS {
        let error_ns = if number % 50 == 49 { 150_000 } else { 200 * (1 + number * 7 % 40) };
        kept.count(due_ns(number), due_ns(number) + error_ns);
    }
    ReplayOutcome {
        model: "open".into(),
        ordered: false,
        length_ns: due_ns(REQUESTS),
        interrupted: false,
        requests: REQUESTS,
        sent: REQUESTS,
        errors: 0,
        error: None,
        order_violations: 0,
        given_up: 0,
        in_flight_max: 0,
        damage: None,
        lost: 0,
        sent_as: Vec::new(),
        dispatch: Some(kept),
    }
}

/// A run whose primary fell silent in w1, whose w2 could not be measured, and which was killed in it.
pub fn cut(dir: &Path) -> Recording {
    let mut scripts = phases();
    scripts.iter_mut().for_each(|script| script.seconds = 9);
    let mut example = Example::begin(dir, "a run cut short", "writer", &scripts, false);
    example.phase(&scripts[1], 0..0);
    example.phase(&scripts[2], 3..6);
    example.event(Event::PhaseStarted { phase: "w2".into() });
    example.event(Event::PhaseGap { phase: "w2".into(), reason: "the worker `writer` died".into() });
    example.event(Event::Error { workload: "writer".into(), text: "No space left on device".into() });
    example.kill();
    Recording::open(dir).unwrap()
}

/// A run whose every name is markup.
pub fn hostile(dir: &Path) -> Recording {
    let mut scripts = phases();
    scripts.truncate(3);
    scripts.iter_mut().for_each(|script| {
        script.seconds = 9;
        script.label = HOSTILE.into();
    });
    let neighbour = "<i>it's & \"writer\"<i>";
    let mut example = Example::begin(dir, HOSTILE, neighbour, &scripts, false);
    scripts.iter().for_each(|script| example.phase(script, 0..0));
    let finding = Finding::new(HOSTILE, Severity::Error, HOSTILE).in_phases([HOSTILE]);
    example.event(Event::Finding(finding));
    example.finish(RunStatus::Failed);
    Recording::open(dir).unwrap()
}

/// A run as long as a thesis needs: two hours at one second, eight phases.
pub fn long(dir: &Path) -> Recording {
    let scripts = long_phases();
    let mut example = Example::begin(dir, "two hours", "writer", &scripts, true);
    example.latency_every_s = 60;
    scripts.iter().for_each(|script| example.phase(script, 0..0));
    example.finish(RunStatus::Complete);
    Recording::open(dir).unwrap()
}

pub fn long_phases() -> Vec<Script> {
    let alone = script("w0", "no neighbour", PhaseKind::Baseline, 41_200.0, None);
    let beside = (0..7).map(|step| {
        let depth = 1_u32 << step;
        let rate = 38_000.0 / (1.0 + f64::from(step) * 0.4);
        let id = format!("w{}", step + 1);
        script(
            &id,
            &format!("writer.iodepth = {depth}"),
            PhaseKind::Pressure,
            rate,
            Some((9e7 * f64::from(step + 1), depth)),
        )
    });
    let phases = std::iter::once(alone).chain(beside);
    phases.map(|script| Script { seconds: 900, ..script }).collect()
}
