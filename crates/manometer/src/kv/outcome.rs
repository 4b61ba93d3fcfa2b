//! What a `kv` run did, added up and printed.

use std::collections::BTreeMap;

use comfy_table::Table;
use manometer_measure::LatencyHistogram;
use manometer_measure::histogram::PERCENTILES;
use manometer_measure::operation::is_background;
use manometer_measure::plan::Settings;
use manometer_session::alone::Observer;
use manometer_session::protocol::{Control, Message};
use manometer_workload::kv::PacePlan;
use manometer_workload::sample::Sample;
use serde_json::{Map, Value, json};

use crate::format::{self, Format};
use crate::table::number;

/// What a run did so far.
pub(super) struct Outcome {
    live: bool,
    facts: Settings,
    pace: PacePlan,
    warmup_s: f64,
    seconds: f64,
    /// From when on samples count, and when all is over; nothing before the first request.
    times: Option<(u64, u64)>,
    /// How long the requests that do not count came, and how many since then found no place.
    skipped_ns: u64,
    dropped: u64,
    operations: BTreeMap<String, LatencyHistogram>,
    missing: BTreeMap<String, u64>,
    /// From when requests were due, where that is not when they were sent.
    responses: BTreeMap<String, LatencyHistogram>,
    length_ns: u64,
    samples: u64,
    state: BTreeMap<String, f64>,
}

impl Outcome {
    /// Nothing yet; `live` prints a line for each sample. So many seconds do not count, and so many then do.
    pub(super) fn new(live: bool, pace: PacePlan, [warmup_s, seconds]: [f64; 2]) -> Self {
        Self {
            live,
            facts: Settings::new(),
            pace,
            warmup_s,
            seconds,
            times: None,
            skipped_ns: 0,
            dropped: 0,
            responses: BTreeMap::new(),
            operations: BTreeMap::new(),
            missing: BTreeMap::new(),
            length_ns: 0,
            samples: 0,
            state: BTreeMap::new(),
        }
    }

    /// The database is prepared.
    fn ready(&mut self, facts: Settings) {
        if self.live {
            let text = |name: &str| facts.get(name).map(plain).unwrap_or_default();
            format::note(&format!(
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
                format::note(&format!("the client alone reaches {} ops/s", number(headroom)));
            }
        }
        self.facts = facts;
    }

    /// One more interval.
    fn sample(&mut self, sample: &Sample) {
        let mut now = LatencyHistogram::new();
        for (name, operation) in &sample.operations {
            *self.missing.entry(name.clone()).or_default() += operation.missing;
            let all = self.operations.entry(name.clone()).or_default();
            if let Ok(histogram) = LatencyHistogram::from_base64(&operation.latency) {
                all.add(&histogram);
                if !is_background(name) {
                    now.add(&histogram);
                }
            }
            if let Ok(histogram) = LatencyHistogram::from_base64(&operation.response) {
                self.responses.entry(name.clone()).or_default().add(&histogram);
            }
        }
        self.dropped += sample.dropped;
        self.length_ns += sample.length_ns;
        self.samples += 1;
        self.state.extend(sample.state.iter().map(|(name, value)| (name.clone(), *value)));
        if self.live && sample.length_ns > 0 {
            let rate = now.len() as f64 / (sample.length_ns as f64 / 1e9);
            let seconds = self.length_ns as f64 / 1e9;
            let p99 = microseconds(now.quantile_ns(0.99));
            format::note(&format!("{seconds:8.1} s  {rate:14.0} ops/s  p99 {p99:>9} µs"));
        }
    }

    /// Prints everything.
    pub(super) fn print(&self, format: Format) -> anyhow::Result<()> {
        match format {
            Format::Json => format::json(&self.machine_form()),
            Format::Text => format::text(&self.people_form()),
        }
    }

    /// Whether nothing was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.samples == 0
    }

    fn rate(&self, requests: u64) -> Option<f64> {
        (self.length_ns > 0).then(|| requests as f64 / (self.length_ns as f64 / 1e9))
    }

    /// All requests but those in the background.
    fn requests(&self) -> u64 {
        self.operations.iter().filter(|(name, _)| !is_background(name)).map(|(_, all)| all.len()).sum()
    }

    fn machine_form(&self) -> Value {
        let counts: Map<_, _> = self.operations.iter().map(|(name, all)| (name.clone(), all.len().into())).collect();
        let latency: Map<_, _> = self.operations.iter().map(|(name, all)| (name.clone(), latency_us(all))).collect();
        // In a closed loop a request is due when it is sent: the response time is the latency.
        let response: Map<_, _> = self
            .operations
            .iter()
            .map(|(name, all)| (name.clone(), latency_us(self.responses.get(name).unwrap_or(all))))
            .collect();
        let mut document = json!({
            "throughput": {"mean": self.rate(self.requests()), "unit": "ops/s", "samples": self.samples},
            "seconds": self.length_ns as f64 / 1e9,
            "operations": counts,
            "missing": self.missing,
            "latency_us": latency,
            "response_us": response,
            "loop": self.pace.name(),
            "asked": self.asked(),
            "dropped": self.dropped,
            "facts": self.facts,
            "state": self.state,
        });
        if self.length_ns == 0 {
            document["throughput"]["reason"] = "the run ended before its first request".into();
        }
        document
    }

    /// How many requests per second came due on average; nothing in a closed loop.
    fn asked(&self) -> Option<f64> {
        let PacePlan::Open(open) = &self.pace else { return None };
        let (begin_s, length_s) = (self.skipped_ns as f64 / 1e9, self.length_ns as f64 / 1e9);
        let due = open.curve.arrivals_by(begin_s + length_s) - open.curve.arrivals_by(begin_s);
        (length_s > 0.0).then(|| due / length_s)
    }

    fn people_form(&self) -> String {
        let mut text = self.latencies().to_string();
        if let (Some(asked), Some(achieved)) = (self.asked(), self.rate(self.requests())) {
            text += &format!(
                "\n\n{} ops/s asked, {} achieved ({:.1} %), {} requests dropped",
                number(asked),
                number(achieved),
                100.0 * achieved / asked,
                self.dropped
            );
        }
        text
    }

    fn latencies(&self) -> Table {
        let head = ["operation", "requests", "not found", "ops/s", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs"];
        let mut table = crate::table::table(&head, 1);
        for (name, all) in &self.operations {
            let rate = self.rate(all.len()).map_or("-".to_owned(), |rate| format!("{rate:.0}"));
            let missing = self.missing.get(name).unwrap_or(&0).to_string();
            table.add_row(row([name.clone(), all.len().to_string(), missing, rate], all));
            if let Some(response) = self.responses.get(name) {
                table.add_row(row(
                    [format!("{name}, from when due"), response.len().to_string(), String::new(), String::new()],
                    response,
                ));
            }
        }
        table
    }
}

impl Observer for Outcome {
    fn receive(&mut self, message: Message, received_ns: u64) -> Vec<Control> {
        match message {
            Message::Ready { facts } => {
                self.ready(facts);
                let count_from_ns = received_ns + (self.warmup_s * 1e9) as u64;
                self.times = Some((count_from_ns, count_from_ns.saturating_add((self.seconds * 1e9) as u64)));
                return vec![Control::Go];
            }
            // An interval that began while warming up does not count.
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

/// A row of the table of latencies: what it begins with, and the percentiles.
pub(crate) fn row<const N: usize>(begin: [String; N], all: &LatencyHistogram) -> Vec<String> {
    let mut row = begin.to_vec();
    row.extend(PERCENTILES.iter().map(|(_, quantile)| microseconds(all.quantile_ns(*quantile))));
    row.push(microseconds(all.max_ns()));
    row
}

/// The machine form of latencies.
pub(crate) fn latency_us(all: &LatencyHistogram) -> Value {
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    let named = PERCENTILES.iter().map(|(name, quantile)| ((*name).to_owned(), json!(us(all.quantile_ns(*quantile)))));
    let mut latency: Map<_, _> = named.collect();
    latency.insert("max".to_owned(), json!(us(all.max_ns())));
    latency.insert("samples".to_owned(), all.len().into());
    if all.is_empty() {
        latency.insert("reason".to_owned(), "no such request was sent".into());
    }
    latency.into()
}

pub(crate) fn microseconds(ns: Option<u64>) -> String {
    ns.map_or("-".to_owned(), |ns| format!("{:.2}", ns as f64 / 1e3))
}

/// A fact without the quotes of a text.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
