//! The samples of one run, added up.

use std::collections::BTreeMap;

use manometer_analysis::fidelity::Fidelity;
use manometer_analysis::findings::replay;
use manometer_measure::event::Finding;
use manometer_measure::plan::Settings;
use manometer_measure::{LatencyHistogram, ReplayOutcome};
use manometer_session::protocol::Message;
use manometer_workload::sample::{OperationSample, Sample};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const MIB: f64 = (1 << 20) as f64;

/// The two directions, in the order of the output.
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
pub(super) struct IoSummary {
    pub(super) directions: [Direction; 2],
    pub(super) facts: Settings,
    pub(super) changes: Vec<Value>,
    pub(super) refusals: Vec<Value>,
    pub(super) fdatasyncs: f64,
    /// What the I/O engine itself counted, by column.
    pub(super) engine: BTreeMap<String, f64>,
    pub(super) seconds: f64,
    pub(super) cpu_began_s: f64,
    pub(super) cpu_s: f64,
    pub(super) interrupted: bool,
    /// The outcome of a replayed trace.
    pub(super) replayed: Option<Box<ReplayOutcome>>,
}

impl IoSummary {
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
            | Message::ClientLost { .. }
            | Message::Clock { .. }
            | Message::Error { .. }
            | Message::Done => {}
        }
    }

    fn sample(&mut self, sample: &Sample) {
        self.cpu_s = process_cpu_s() - self.cpu_began_s;
        self.seconds += sample.length_ns as f64 / 1e9;
        self.fdatasyncs += sample.state.get("fdatasyncs").copied().unwrap_or_default();
        for (name, count) in sample.state.iter().filter(|(name, _)| *name != "fdatasyncs") {
            *self.engine.entry(name.clone()).or_default() += count;
        }
        for (name, direction) in DIRECTIONS.iter().zip(&mut self.directions) {
            if let Some(operation) = sample.operations.get(*name) {
                direction.add(operation);
            }
        }
    }

    /// Whether no sample arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.seconds == 0.0
    }

    pub(super) fn directions(&self) -> impl Iterator<Item = (&'static str, &Direction)> {
        DIRECTIONS.into_iter().zip(&self.directions)
    }

    /// The fidelity of a replayed trace with its findings.
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
}

/// Processor time of this process until now, user and system, in seconds.
fn process_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
