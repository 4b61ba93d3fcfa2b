//! What became of a replay, added up and printed.

use std::collections::BTreeMap;

use manometer_analysis::fidelity::Fidelity;
use manometer_analysis::findings::replay::{self, INCOMPLETE};
use manometer_measure::event::Finding;
use manometer_measure::plan::Settings;
use manometer_measure::{LatencyHistogram, ReplayOutcome};
use manometer_session::alone::Observer;
use manometer_session::protocol::{Control, Message};
use manometer_session::together::{GroupObserver, HostClock};
use manometer_workload::sample::Sample;
use serde_json::{Map, Value, json};

use crate::format::{self, Format};
use crate::kv::outcome::{latency_us, microseconds, plain, row};
use crate::table::number;

/// What a replay did so far.
pub(super) struct Outcome {
    live: bool,
    processes: usize,
    facts: Settings,
    operations: BTreeMap<String, LatencyHistogram>,
    responses: BTreeMap<String, LatencyHistogram>,
    missing: BTreeMap<String, u64>,
    /// How the shares of those processes that have finished were replayed.
    replayed: Option<ReplayOutcome>,
    finished_shares: usize,
    /// The clocks of other hosts.
    clocks: Vec<HostClock>,
    failure: Option<String>,
}

impl Outcome {
    /// Nothing yet; `live` prints a line for each sample of the first process.
    pub(super) fn new(live: bool, processes: usize) -> Self {
        Self {
            live,
            processes,
            facts: Settings::new(),
            operations: BTreeMap::new(),
            responses: BTreeMap::new(),
            missing: BTreeMap::new(),
            replayed: None,
            finished_shares: 0,
            clocks: Vec::new(),
            failure: None,
        }
    }

    /// Takes in what process `index` says.
    fn take(&mut self, index: usize, message: Message) {
        match message {
            Message::Ready { facts } if index == 0 => self.ready(facts),
            Message::Sample(sample) => self.sample(&sample, self.live && index == 0),
            Message::Note { text, .. } => format::note(&format!("note: {text}")),
            Message::Replayed { replayed, .. } => {
                self.finished_shares += 1;
                match &mut self.replayed {
                    Some(all) => all.add(&replayed),
                    none => *none = Some(*replayed),
                }
            }
            _ => {}
        }
    }

    /// Some of it is lost.
    pub(super) fn fail(&mut self, reason: &anyhow::Error) {
        let failure = format!("{reason:#}");
        format::note(&format!("manometer: {failure}"));
        self.failure = Some(failure);
    }

    fn ready(&mut self, facts: Settings) {
        for note in facts.get("notes").and_then(Value::as_array).into_iter().flatten() {
            format::note(&format!("note: {}", plain(note)));
        }
        if self.live {
            let text = |name: &str| facts.get(name).map(plain).unwrap_or_default();
            let [engine, version, requests, model, time] =
                ["engine", "engine_version", "requests", "model", "time"].map(text);
            format::note(&format!(
                "{engine} {version}, {requests} requests, {model}, {time}, {} thread(s)",
                text("threads")
            ));
            if let Some(scheduling) = facts.get("scheduling") {
                format::note(&format!(
                    "scheduling {}; threads wake {} µs before a request is due",
                    plain(scheduling),
                    text("margin_us")
                ));
            }
        }
        self.facts = facts;
    }

    fn sample(&mut self, sample: &Sample, tell: bool) {
        let mut now = LatencyHistogram::new();
        for (name, operation) in &sample.operations {
            *self.missing.entry(name.clone()).or_default() += operation.missing;
            let all = self.operations.entry(name.clone()).or_default();
            if let Ok(histogram) = LatencyHistogram::from_base64(&operation.latency) {
                all.add(&histogram);
                now.add(&histogram);
            }
            if let Ok(histogram) = LatencyHistogram::from_base64(&operation.response) {
                self.responses.entry(name.clone()).or_default().add(&histogram);
            }
        }
        if tell && sample.length_ns > 0 {
            let rate = now.len() as f64 / (sample.length_ns as f64 / 1e9);
            format::note(&format!("{rate:14.0} ops/s  p99 {:>9} µs", microseconds(now.quantile_ns(0.99))));
        }
    }

    /// Whether nothing was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.replayed.is_none() && self.answered() == 0
    }

    /// Whether a part of it was lost, or every request failed.
    pub(super) fn has_failed(&self) -> bool {
        let all_failed = |replayed: &ReplayOutcome| replayed.sent > 0 && replayed.errors >= replayed.sent;
        self.failure.is_some() || self.replayed.as_ref().is_none_or(all_failed)
    }

    /// Whether all processes told of their shares, and nobody ended it before its trace was.
    fn is_complete(&self) -> bool {
        self.failure.is_none() && self.replayed.as_ref().is_some_and(|replayed| !replayed.interrupted)
    }

    /// Whether it may stand for the trace.
    pub(super) fn is_faithful(&self) -> bool {
        self.failure.is_none() && self.fidelity().is_some_and(|fidelity| fidelity.faithful)
    }

    fn fidelity(&self) -> Option<Fidelity> {
        self.replayed.as_ref().map(Fidelity::of)
    }

    fn findings(&self) -> Vec<Finding> {
        let lost = self.failure.as_ref().map(|failure| {
            let (told, processes) = (self.finished_shares, self.processes);
            let sentence =
                format!("{failure}. The others were ended; the numbers are those of {told} of {processes} processes.");
            INCOMPLETE.finding(None, &sentence)
        });
        let told = self
            .replayed
            .as_ref()
            .zip(self.fidelity())
            .map(|(replayed, fidelity)| replay::findings(&fidelity, replayed));
        let clocks = self.clocks.iter().flat_map(HostClock::findings);
        lost.into_iter().chain(told.into_iter().flatten()).chain(clocks).collect()
    }

    /// Prints everything.
    pub(super) fn print(&self, format: Format) -> anyhow::Result<()> {
        match format {
            Format::Json => format::json(&self.machine_form()?),
            Format::Text => format::text(&self.people_form()),
        }
    }

    /// Requests that were answered, without those that only filled a cache.
    fn answered(&self) -> u64 {
        self.operations.iter().filter(|(name, _)| *name != "fill").map(|(_, all)| all.len()).sum()
    }

    fn seconds(&self) -> Option<f64> {
        self.replayed.as_ref().map(|replayed| replayed.length_ns as f64 / 1e9).filter(|seconds| *seconds > 0.0)
    }

    fn machine_form(&self) -> anyhow::Result<Value> {
        let counts: Map<_, _> = self.operations.iter().map(|(name, all)| (name.clone(), all.len().into())).collect();
        let latency: Map<_, _> = self.operations.iter().map(|(name, all)| (name.clone(), latency_us(all))).collect();
        // At full speed a request is due when it is sent: the response time is the latency.
        let response: Map<_, _> = self
            .operations
            .iter()
            .map(|(name, all)| (name.clone(), latency_us(self.responses.get(name).unwrap_or(all))))
            .collect();
        let mean = self.seconds().map(|seconds| self.answered() as f64 / seconds);
        let mut document = json!({
            "requests": self.replayed.as_ref().map_or(self.answered(), |replayed| replayed.sent),
            "throughput": {"mean": mean, "unit": "ops/s", "samples": self.answered()},
            "seconds": self.seconds(),
            "fidelity": self.fidelity(),
            "findings": self.findings(),
            "operations": counts,
            "missing": self.missing,
            "latency_us": latency,
            "response_us": response,
            "processes": self.processes,
            "clocks": self.clocks.iter().map(HostClock::machine_form).collect::<Vec<_>>(),
            "complete": self.is_complete(),
            "facts": self.facts,
        });
        if mean.is_none() {
            document["throughput"]["reason"] = "no process told how long it took".into();
        }
        Ok(document)
    }

    fn people_form(&self) -> String {
        let mut text = String::new();
        for finding in self.findings() {
            text += &format!("{}\n\n", finding.text);
        }
        text += &self.latencies();
        if let Some(seconds) = self.seconds() {
            text += &format!(
                "\n\n{} requests in {seconds:.3} s: {} ops/s",
                self.answered(),
                number(self.answered() as f64 / seconds)
            );
        }
        if let Some(fidelity) = self.fidelity() {
            text += &fidelity_text(&fidelity);
        }
        text
    }

    fn latencies(&self) -> String {
        let head = ["operation", "requests", "not found", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs"];
        let mut table = crate::table::table(&head, 1);
        for (name, all) in &self.operations {
            let missing = self.missing.get(name).unwrap_or(&0).to_string();
            table.add_row(row([name.clone(), all.len().to_string(), missing], all));
            if let Some(response) = self.responses.get(name) {
                let begin = [format!("{name}, from when due"), response.len().to_string(), String::new()];
                table.add_row(row(begin, response));
            }
        }
        table.to_string()
    }
}

/// How faithful a replay was, in a few lines that begin on a new one.
pub(crate) fn fidelity_text(fidelity: &Fidelity) -> String {
    let mut lines = vec![String::new()];
    let or_gap = |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    if let Some(error) = &fidelity.error_us {
        lines.push(format!(
            "sent after due   p25 {} µs, p50 {} µs, p75 {} µs, p90 {} µs, p99 {} µs, max {} µs",
            error.p25, error.p50, error.p75, error.p90, error.p99, error.max
        ));
        lines.push(format!("span             {} of the trace's", or_gap(fidelity.span_ratio, 5)));
        lines.push(format!("inter-arrivals   Kolmogorov-Smirnov distance {}", or_gap(fidelity.ks, 4)));
        let (trace, replay) = (or_gap(fidelity.hurst.trace, 4), or_gap(fidelity.hurst.replay, 4));
        lines.push(format!("Hurst exponent   {trace} in the trace, {replay} replayed"));
    }
    let late = fidelity.late.map_or("-".to_owned(), |late| late.to_string());
    lines.push(format!(
        "requests         {late} late, {} not sent, {} out of order, {} failed",
        fidelity.dropped, fidelity.order_violations, fidelity.errors
    ));
    if let Some(reason) = &fidelity.reason {
        lines.push(format!("                 (- : {reason})"));
    }
    lines.join("\n")
}
impl GroupObserver for Outcome {
    fn receive(&mut self, index: usize, message: Message) {
        self.take(index, message);
    }

    fn compared(&mut self, clocks: Vec<HostClock>) {
        clocks.iter().for_each(|clock| format::note(&clock.describe()));
        self.clocks = clocks;
    }
}

impl Observer for Outcome {
    fn receive(&mut self, message: Message, _: u64) -> Vec<Control> {
        let is_ready = matches!(message, Message::Ready { .. });
        self.take(0, message);
        if is_ready { vec![Control::Go] } else { Vec::new() }
    }

    /// The replay ends with its trace.
    fn is_over(&self, _: u64) -> bool {
        false
    }
}
