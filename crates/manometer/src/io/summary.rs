//! The samples of one run, added up.

use manometer_analysis::fidelity::Fidelity;
use manometer_analysis::findings::replay;
use manometer_measure::event::Finding;
use manometer_measure::histogram::PERCENTILES;
use manometer_measure::plan::Settings;
use manometer_measure::{LatencyHistogram, ReplayOutcome};
use manometer_session::protocol::Message;
use manometer_workload::io::IoJob;
use manometer_workload::sample::{OperationSample, Sample};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};

const MIB: f64 = (1 << 20) as f64;

/// The two directions, in the order in which they are told.
pub(super) const DIRECTIONS: [&str; 2] = ["read", "write"];

/// One direction, added up.
#[derive(Debug, Default)]
pub(super) struct Direction {
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) retries: u64,
    pub(super) latency: LatencyHistogram,
}

/// One run, added up.
#[derive(Debug, Default)]
pub(super) struct Summary {
    directions: [Direction; 2],
    facts: Settings,
    changes: Vec<Value>,
    refusals: Vec<Value>,
    fdatasyncs: f64,
    pub(super) seconds: f64,
    cpu_began_s: f64,
    pub(super) cpu_s: f64,
    pub(super) interrupted: bool,
    /// What became of a trace.
    replayed: Option<Box<ReplayOutcome>>,
}

impl Summary {
    pub(super) fn message(&mut self, message: Message) {
        match message {
            Message::Ready { facts } => {
                self.facts = facts;
                self.cpu_began_s = process_cpu_s();
            }
            Message::Sample(sample) => self.sample(&sample),
            Message::Setting { t_ns, settings } => self.changes.push(json!({ "t_ns": t_ns, "settings": settings })),
            Message::Refused { line, reason } => self.refusals.push(json!({ "line": line, "reason": reason })),
            Message::Replayed { replayed, .. } => self.replayed = Some(replayed),
            Message::Progress { .. }
            | Message::Note { .. }
            | Message::Clock { .. }
            | Message::Error { .. }
            | Message::Done => {}
        }
    }

    fn sample(&mut self, sample: &Sample) {
        self.cpu_s = process_cpu_s() - self.cpu_began_s;
        self.seconds += sample.length_ns as f64 / 1e9;
        self.fdatasyncs += sample.state.values().sum::<f64>();
        for (name, direction) in DIRECTIONS.iter().zip(&mut self.directions) {
            if let Some(operation) = sample.operations.get(*name) {
                direction.add(operation);
            }
        }
    }

    /// Whether nothing was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.seconds == 0.0
    }

    pub(super) fn directions(&self) -> impl Iterator<Item = (&'static str, &Direction)> {
        DIRECTIONS.into_iter().zip(&self.directions)
    }

    /// How faithfully a trace was followed and what a reader must know of that, where there was one.
    pub(super) fn fidelity(&self) -> Option<(Fidelity, Vec<Finding>)> {
        let replayed = self.replayed.as_ref()?;
        let fidelity = Fidelity::of(replayed);
        let findings = replay::findings(&fidelity, replayed);
        Some((fidelity, findings))
    }

    pub(super) fn requests(&self) -> u64 {
        self.directions.iter().map(|direction| direction.requests).sum()
    }

    pub(super) fn cpu_s_per_million(&self) -> Option<f64> {
        (self.requests() > 0).then(|| self.cpu_s * 1e6 / self.requests() as f64)
    }

    pub(super) fn to_json(&self, job: &IoJob) -> Value {
        let mut document = json!({
            "iops": self.requests() as f64 / self.seconds,
            "cpu_s_per_million": self.cpu_s_per_million(),
            "requests": self.requests(),
            "seconds": self.seconds,
            "cpu_s": self.cpu_s,
            "fdatasyncs": self.fdatasyncs,
            "interrupted": self.interrupted,
            "seed": job.seed,
            "settings": job.settings,
            "facts": self.facts,
            "changes": self.changes,
            "refusals": self.refusals,
        });
        if let Some((fidelity, findings)) = self.fidelity() {
            document["fidelity"] = json!(fidelity);
            document["findings"] = json!(findings);
        }
        let mut latency = Map::new();
        for (name, direction) in self.directions() {
            document[format!("{name}_iops")] = json!(direction.requests as f64 / self.seconds);
            document[format!("{name}_mib_per_s")] = json!(direction.mib_per_s(self.seconds));
            document[format!("{name}_retries")] = json!(direction.retries);
            latency.insert(name.to_owned(), direction.latency_us());
        }
        document["latency_us"] = Value::Object(latency);
        document
    }
}

impl Direction {
    fn add(&mut self, operation: &OperationSample) {
        self.requests += operation.requests;
        self.bytes += operation.bytes;
        self.retries += operation.retries;
        if let Ok(latency) = LatencyHistogram::from_base64(&operation.latency) {
            self.latency.add(&latency);
        }
    }

    pub(super) fn mib_per_s(&self, seconds: f64) -> f64 {
        self.bytes as f64 / MIB / seconds
    }

    /// Percentiles in microseconds; null where nothing was measured.
    fn latency_us(&self) -> Value {
        let microseconds = |ns: Option<u64>| json!(ns.map(|ns| ns as f64 / 1e3));
        let mut latency: Map<String, Value> = PERCENTILES
            .iter()
            .map(|(name, quantile)| ((*name).to_owned(), microseconds(self.latency.quantile_ns(*quantile))))
            .collect();
        latency.insert("max".to_owned(), microseconds(self.latency.max_ns()));
        latency.insert("mean".to_owned(), json!(self.latency.mean_ns().map(|ns| ns / 1e3)));
        latency.insert("samples".to_owned(), json!(self.latency.len()));
        Value::Object(latency)
    }
}

/// Processor time of this process until now, user and system, in seconds.
fn process_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
