//! The samples of one run, added up.

use std::collections::BTreeMap;

use manometer_measure::operation::is_background;
use manometer_measure::plan::Settings;
use manometer_session::protocol::{Control, Message};
use manometer_session::sample_totals::SampleTotals;
use manometer_session::single::MessageHandler;
use manometer_workload::kv::PacePlan;
use manometer_workload::sample::Sample;
use serde_json::Value;

use crate::latency::microseconds;
use crate::number::number;
use crate::output;
use crate::text::plain;

/// The result so far.
pub(super) struct KvSummary {
    pub(super) live: bool,
    pub(super) facts: Settings,
    pub(super) pace: PacePlan,
    pub(super) warmup_s: f64,
    pub(super) seconds: f64,
    /// When samples begin to count, and when the run is over; none before the first request.
    pub(super) times: Option<(u64, u64)>,
    /// The duration of the warm-up.
    pub(super) skipped_ns: u64,
    /// The samples since.
    pub(super) totals: SampleTotals,
    pub(super) state: BTreeMap<String, f64>,
}

impl KvSummary {
    /// An empty result; `live` prints a line for each sample. The seconds are those of the warm-up and of the run.
    pub(super) fn new(live: bool, pace: PacePlan, [warmup_s, seconds]: [f64; 2]) -> Self {
        Self {
            live,
            facts: Settings::new(),
            pace,
            warmup_s,
            seconds,
            times: None,
            skipped_ns: 0,
            totals: SampleTotals::default(),
            state: BTreeMap::new(),
        }
    }

    /// Prints the facts of the workload.
    fn ready(&mut self, facts: Settings) {
        if self.live {
            let text = |name: &str| facts.get(name).map(plain).unwrap_or_default();
            output::note(&format!(
                "{} {}, {}, {} records of {} B, {}, {} thread(s)",
                text("engine"),
                text("engine_version"),
                text("workload"),
                text("records"),
                text("value_bytes"),
                text("distribution"),
                text("threads"),
            ));
            if let Some(headroom) = facts.get("headroom_ops_per_s").and_then(Value::as_f64) {
                output::note(&format!(
                    "headroom: the client reaches {} ops/s on an engine that stores nothing",
                    number(headroom)
                ));
            }
        }
        self.facts = facts;
    }

    /// Adds a sample.
    fn sample(&mut self, sample: &Sample) {
        let now = self.totals.add(sample);
        self.state.extend(sample.state.iter().map(|(name, value)| (name.clone(), *value)));
        if self.live && sample.length_ns > 0 {
            let rate = now.len() as f64 / (sample.length_ns as f64 / 1e9);
            let seconds = self.totals.length_ns as f64 / 1e9;
            let p99 = microseconds(now.quantile_ns(0.99));
            output::note(&format!("{seconds:8.1} s  {rate:14.0} ops/s  p99 {p99:>9} µs"));
        }
    }

    /// Whether no sample arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.totals.samples == 0
    }

    pub(super) fn rate(&self, requests: u64) -> Option<f64> {
        (self.totals.length_ns > 0).then(|| requests as f64 / (self.totals.length_ns as f64 / 1e9))
    }

    /// The requests, without background operations.
    pub(super) fn requests(&self) -> u64 {
        self.totals.count_of(|name| !is_background(name))
    }

    /// The mean rate at which requests became due; none in a closed loop.
    pub(super) fn offered_rate(&self) -> Option<f64> {
        self.pace.offered_rate(self.skipped_ns as f64 / 1e9, self.totals.length_ns as f64 / 1e9)
    }
}

impl MessageHandler for KvSummary {
    fn receive(&mut self, message: Message, received_ns: u64) -> Vec<Control> {
        match message {
            Message::Ready { facts } => {
                self.ready(facts);
                let count_from_ns = received_ns + (self.warmup_s * 1e9) as u64;
                self.times = Some((count_from_ns, count_from_ns.saturating_add((self.seconds * 1e9) as u64)));
                return vec![Control::Go];
            }
            // An interval that began during the warm-up does not count.
            Message::Sample(sample)
                if self.warmup_s > 0.0
                    && self.times.is_some_and(|(from_ns, _)| sample.t_ns - sample.length_ns < from_ns) =>
            {
                self.skipped_ns += sample.length_ns;
            }
            Message::Sample(sample) => self.sample(&sample),
            _ => {}
        }
        Vec::new()
    }

    fn is_over(&self, now_ns: u64) -> bool {
        self.times.is_some_and(|(_, over_ns)| now_ns >= over_ns)
    }
}
