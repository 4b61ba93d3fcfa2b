//! What a `kv` run did, added up and printed.

use std::collections::BTreeMap;

use comfy_table::Table;
use manometer_measure::LatencyHistogram;
use manometer_measure::histogram::PERCENTILES;
use manometer_measure::operation::is_background;
use manometer_measure::plan::Settings;
use manometer_workload::protocol::Sample;
use serde_json::{Map, Value, json};

use crate::format::{self, Format};

/// What a run did so far.
pub(super) struct Outcome {
    live: bool,
    facts: Settings,
    operations: BTreeMap<String, LatencyHistogram>,
    missing: BTreeMap<String, u64>,
    length_ns: u64,
    samples: u64,
    state: BTreeMap<String, f64>,
}

impl Outcome {
    /// Nothing yet; `live` prints a line for each sample.
    pub(super) fn new(live: bool) -> Self {
        Self {
            live,
            facts: Settings::new(),
            operations: BTreeMap::new(),
            missing: BTreeMap::new(),
            length_ns: 0,
            samples: 0,
            state: BTreeMap::new(),
        }
    }

    /// The database is prepared.
    pub(super) fn ready(&mut self, facts: Settings) {
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
        }
        self.facts = facts;
    }

    /// One more interval.
    pub(super) fn sample(&mut self, sample: &Sample) {
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
        }
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
            Format::Text => format::text(&self.people_form().to_string()),
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
        let mut document = json!({
            "throughput": {"mean": self.rate(self.requests()), "unit": "ops/s", "samples": self.samples},
            "seconds": self.length_ns as f64 / 1e9,
            "operations": counts,
            "missing": self.missing,
            "latency_us": latency,
            // In a closed loop a request is due when it is sent: the response time is the latency.
            "response_us": latency,
            "loop": "closed",
            "facts": self.facts,
            "state": self.state,
        });
        if self.length_ns == 0 {
            document["throughput"]["reason"] = "the run ended before its first request".into();
        }
        document
    }

    fn people_form(&self) -> Table {
        let head = ["operation", "requests", "not found", "ops/s", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs"];
        let mut table = crate::table::table(&head, 1);
        for (name, all) in &self.operations {
            let rate = self.rate(all.len()).map_or("-".to_owned(), |rate| format!("{rate:.0}"));
            let mut row =
                vec![name.clone(), all.len().to_string(), self.missing.get(name).unwrap_or(&0).to_string(), rate];
            row.extend(PERCENTILES.iter().map(|(_, quantile)| microseconds(all.quantile_ns(*quantile))));
            row.push(microseconds(all.max_ns()));
            table.add_row(row);
        }
        table
    }
}

fn latency_us(all: &LatencyHistogram) -> Value {
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

fn microseconds(ns: Option<u64>) -> String {
    ns.map_or("-".to_owned(), |ns| format!("{:.2}", ns as f64 / 1e3))
}

/// A fact without the quotes of a text.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
