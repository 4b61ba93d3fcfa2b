//! Synthetic recordings: one sample per second with known levels.

pub mod simulated;

use std::path::Path;

use manometer_analysis::summary::{PhaseSummary, RunSummary};
use manometer_measure::clock::WallAnchor;
use manometer_measure::event::Event;
use manometer_measure::plan::{BetterDirection, Criterion, Phase, PhaseKind, Plan, PlannedWorkload, Role};
use manometer_measure::{Column, LatencyHistogram, Recording, RecordingWriter};
use rand::SeedableRng as _;
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

/// The seed of the noise, unless one is given.
const SEED: u64 = 1;

const START_S: u64 = 1_000;
const SECOND: u64 = 1_000_000_000;
const START: WallAnchor = WallAnchor { monotonic_ns: START_S * SECOND, unix_ns: 1_700_000_000 * SECOND };

/// The recording's time, in nanoseconds.
pub fn at(second: u64) -> u64 {
    (START_S + second) * SECOND
}

/// A plan of one primary `db` and one neighbour `writer`: warm-up, then the phases of [`phase`].
pub fn plan(phases: Vec<Phase>) -> Plan {
    let workload = |name: &str, role, kind: &str, unit: &str| PlannedWorkload {
        name: name.into(),
        role,
        kind: kind.into(),
        unit: unit.into(),
    };
    Plan {
        experiment: "synthetic".into(),
        criterion: Criterion { metric: "throughput".into(), unit: "ops/s".into(), better: BetterDirection::Higher },
        interval_s: 1.0,
        seed: 1,
        sweep: Default::default(),
        reference: false,
        goal: None,
        interleaved: None,
        workloads: vec![
            workload("db", Role::Primary, "kv", "ops/s"),
            workload("writer", Role::Neighbour, "io", "MiB/s"),
        ],
        phases,
    }
}

/// A phase in which the neighbour has depth `iodepth`.
pub fn phase(id: &str, kind: PhaseKind, seconds: u64, iodepth: u64) -> Phase {
    let running: &[&str] = match kind {
        PhaseKind::Solo => &["writer"],
        PhaseKind::Warmup | PhaseKind::Baseline => &["db"],
        PhaseKind::Pressure => &["db", "writer"],
    };
    let label =
        if kind == PhaseKind::Baseline { "no neighbour".to_owned() } else { format!("writer.iodepth = {iodepth}") };
    Phase {
        id: id.into(),
        label,
        kind,
        duration_s: seconds as f64,
        settle_s: 0.0,
        running: running.iter().map(|name| (*name).to_owned()).collect(),
        settings: [("writer.iodepth".to_owned(), json!(iodepth))].into_iter().collect(),
    }
}

/// A recording under way, at some second.
pub struct Run {
    pub writer: RecordingWriter,
    pub second: u64,
    /// Whether the operations of `db` are updates instead of reads.
    pub updates: bool,
    /// Whether no request of `writer` ends.
    is_idle: bool,
    random: Xoshiro256PlusPlus,
}

impl Run {
    pub fn begin(dir: &Path, plan: &Plan) -> Self {
        Self::seeded(dir, plan, SEED, &json!({"host": {}}))
    }

    pub fn seeded(dir: &Path, plan: &Plan, seed: u64, environment: &Value) -> Self {
        let mut writer = RecordingWriter::create(dir, START, "name = \"synthetic\"\n", plan, environment).unwrap();
        let facts = [("engine".to_owned(), json!("rocksdb"))].into_iter().collect();
        writer.event(at(0), Event::Ready { workload: "db".into(), facts }).unwrap();
        for (workload, operations) in [("db", ["read", "update"]), ("writer", ["read", "write"])] {
            let mut columns = vec![Column::new("length", "s")];
            columns.extend(operations.iter().flat_map(|operation| {
                [("requests", ""), ("bytes", "B"), ("retries", "")]
                    .map(|(what, unit)| Column::new(format!("{operation}.{what}"), unit))
            }));
            writer.begin_series(workload, &columns).unwrap();
        }
        Self { writer, second: 0, updates: false, is_idle: false, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    pub fn event(&mut self, event: Event) {
        self.writer.event(at(self.second), event).unwrap();
    }

    /// One second with `reads`, or as many updates, of `db` at `latency_us` each and `mib` of `writer`.
    pub fn tick(&mut self, reads: f64, latency_us: u64, mib: Option<f64>) {
        self.second += 1;
        let end_ns = at(self.second);
        let (some, none) = ([Some(reads), Some(reads * 1024.0), Some(0.0)], [None; 3]);
        let [r, u] = if self.updates { [none, some] } else { [some, none] };
        let db = [Some(1.0), r[0], r[1], r[2], u[0], u[1], u[2]];
        self.writer.sample("db", end_ns, &db).unwrap();
        let bytes = mib.map(|mib| if self.is_idle { 0.0 } else { mib * 1_048_576.0 });
        let writer = [Some(1.0), Some(0.0), Some(0.0), Some(0.0), bytes.map(|bytes| bytes / 4096.0), bytes, Some(0.0)];
        self.writer.sample("writer", end_ns, &writer).unwrap();
        let mut histogram = LatencyHistogram::new();
        (0..100).for_each(|_| histogram.record(latency_us * 1_000));
        self.writer.latency("db", "read", end_ns - SECOND, end_ns, &histogram).unwrap();
    }

    /// A whole phase at these levels.
    pub fn phase(&mut self, phase: &Phase, reads: f64, latency_us: u64, mib: f64) {
        self.phase_with(phase, reads, latency_us, mib, Vec::new());
    }

    /// The same; as it ends the conductor reports `last`, before the phase ends.
    pub fn phase_with(&mut self, phase: &Phase, reads: f64, latency_us: u64, mib: f64, last: Vec<Event>) {
        self.phase_with_idle(phase, reads, latency_us, (mib, 0), last);
    }

    /// The same, where the neighbour does nothing in the first seconds.
    pub fn phase_with_idle(
        &mut self,
        phase: &Phase,
        reads: f64,
        latency_us: u64,
        (mib, idle_s): (f64, u64),
        last: Vec<Event>,
    ) {
        self.event(Event::PhaseStarted { phase: phase.id.clone() });
        self.is_idle = true;
        self.seconds(idle_s, reads, latency_us, mib);
        self.is_idle = false;
        self.seconds(phase.duration_s as u64 - idle_s, reads, latency_us, mib);
        last.into_iter().for_each(|event| self.event(event));
        self.event(Event::PhaseEnded { phase: phase.id.clone() });
    }

    /// `count` seconds at these levels with a little noise.
    pub fn seconds(&mut self, count: u64, reads: f64, latency_us: u64, mib: f64) {
        for _ in 0..count {
            let noise: f64 = StandardNormal.sample(&mut self.random);
            let noise = noise.clamp(-3.0, 3.0);
            let reads = reads * (1.0 + 0.03 * noise);
            let latency_us = (latency_us as f64 * (1.0 + 0.03 * noise)) as u64;
            self.tick(reads, latency_us.max(1), (mib > 0.0).then_some(mib * (1.0 - 0.03 * noise)));
        }
    }
}

pub fn open(dir: &Path) -> Recording {
    Recording::open(dir).unwrap()
}

pub fn find<'a>(summary: &'a RunSummary, id: &str) -> &'a PhaseSummary {
    summary.phases.iter().find(|phase| phase.id == id).unwrap()
}
