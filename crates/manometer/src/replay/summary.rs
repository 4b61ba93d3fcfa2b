//! The messages of all processes, added up.

use manometer_analysis::fidelity::{Fidelity, FidelityVerdict};
use manometer_analysis::findings::replay::{self, INCOMPLETE};
use manometer_measure::event::Finding;
use manometer_measure::plan::Settings;
use manometer_measure::{ReplayOutcome, SentAs};
use manometer_session::group::{GroupObserver, HostClock, LOCAL};
use manometer_session::protocol::{Control, Message};
use manometer_session::sample_totals::SampleTotals;
use manometer_session::single::MessageHandler;
use manometer_workload::sample::Sample;
use serde_json::{Value, json};

use crate::latency::microseconds;
use crate::output;
use crate::text::plain;

/// One process of the replay.
#[derive(Default)]
struct ReplayClient {
    /// The command that leads to its host, or `local`.
    on: String,
    outcome: Option<ReplayOutcome>,
    /// Why it was lost.
    lost: Option<String>,
}

/// The result so far.
pub(super) struct TraceReplaySummary {
    pub(super) live: bool,
    pub(super) processes: usize,
    pub(super) facts: Settings,
    pub(super) totals: SampleTotals,
    /// The outcome of the processes that have finished.
    pub(super) replayed: Option<ReplayOutcome>,
    /// Each client: where it runs, and its own outcome.
    clients: Vec<ReplayClient>,
    /// The clocks of other hosts.
    pub(super) clocks: Vec<HostClock>,
    pub(super) failure: Option<String>,
}

impl TraceReplaySummary {
    /// An empty result; `live` prints a line for each sample of the first process.
    pub(super) fn new(live: bool, processes: usize, on: &[String]) -> Self {
        let hosts = on.iter().map(String::as_str).chain(on.is_empty().then_some(LOCAL)).cycle();
        let client = |on: &str| ReplayClient { on: on.to_owned(), ..ReplayClient::default() };
        Self {
            live,
            processes,
            facts: Settings::new(),
            totals: SampleTotals::default(),
            replayed: None,
            clients: hosts.take(processes).map(client).collect(),
            clocks: Vec::new(),
            failure: None,
        }
    }

    /// Handles a message of process `index`.
    fn handle_message(&mut self, index: usize, message: Message) {
        match message {
            Message::Ready { facts } if index == 0 => self.ready(facts),
            Message::Sample(sample) => self.sample(&sample, self.live && index == 0),
            Message::Note { text, .. } => output::note(&format!("note: {text}")),
            Message::Replayed { replayed, .. } => {
                match &mut self.replayed {
                    Some(all) => all.add(&replayed),
                    none => *none = Some((*replayed).clone()),
                }
                self.clients[index].outcome = Some(*replayed);
            }
            _ => {}
        }
    }

    /// Records that a part of the replay failed.
    pub(super) fn fail(&mut self, reason: &anyhow::Error) {
        let failure = format!("{reason:#}");
        output::error(&failure);
        self.failure = Some(failure);
    }

    fn ready(&mut self, facts: Settings) {
        for note in facts.get("notes").and_then(Value::as_array).into_iter().flatten() {
            output::note(&format!("note: {}", plain(note)));
        }
        if self.live {
            let text = |name: &str| facts.get(name).map(plain).unwrap_or_default();
            let [engine, version, requests, model, time] =
                ["engine", "engine_version", "requests", "model", "time"].map(text);
            let connections = facts.get("connections").map(|number| format!(", {number} connection(s)"));
            output::note(&format!(
                "{engine} {version}, {requests} requests, {model}, {time}, {} thread(s){}",
                text("threads"),
                connections.unwrap_or_default()
            ));
            if let Some(scheduling) = facts.get("scheduling") {
                output::note(&format!(
                    "scheduling {}; threads wake {} µs before a request is due",
                    plain(scheduling),
                    text("margin_us")
                ));
            }
        }
        self.facts = facts;
    }

    fn sample(&mut self, sample: &Sample, is_printed: bool) {
        let now = self.totals.add(sample);
        if is_printed && sample.length_ns > 0 {
            let rate = now.len() as f64 / (sample.length_ns as f64 / 1e9);
            output::note(&format!("{rate:14.0} ops/s  p99 {:>9} µs", microseconds(now.quantile_ns(0.99))));
        }
    }

    /// Whether no sample arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.replayed.is_none() && self.answered() == 0
    }

    /// Whether a process failed, or every request did.
    pub(super) fn has_failed(&self) -> bool {
        let all_failed = |replayed: &ReplayOutcome| replayed.sent > 0 && replayed.errors >= replayed.sent;
        self.failure.is_some() || self.replayed.as_ref().is_none_or(all_failed)
    }

    /// Whether all processes reported, and the trace was replayed to its end.
    pub(super) fn is_complete(&self) -> bool {
        self.failure.is_none() && self.replayed.as_ref().is_some_and(|replayed| !replayed.interrupted)
    }

    /// Whether it was stopped before the end of its trace.
    pub(super) fn is_interrupted(&self) -> bool {
        self.replayed.as_ref().is_some_and(|replayed| replayed.interrupted)
    }

    /// Whether the replay was not faithful, not even to the step of the trace's clock.
    pub(super) fn is_unfaithful(&self) -> bool {
        let is_unfaithful = |fidelity: Fidelity| fidelity.verdict == FidelityVerdict::NotFaithful;
        self.failure.is_some() || self.fidelity().is_none_or(is_unfaithful)
    }

    /// What was sent as recorded, and what otherwise.
    pub(super) fn sent_as(&self) -> &[SentAs] {
        self.replayed.as_ref().map_or(&[], |replayed| &replayed.sent_as)
    }

    pub(super) fn fidelity(&self) -> Option<Fidelity> {
        self.replayed.as_ref().map(Fidelity::of)
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let finished = self.clients.iter().filter(|client| client.outcome.is_some()).count();
        let lost = self.failure.as_ref().map(|failure| {
            let others = if self.lost().next().is_some() { "went on" } else { "were stopped" };
            let sentence = format!(
                "{failure}. The other processes {others}; the numbers are those of {finished} of {} processes.",
                self.processes
            );
            INCOMPLETE.finding(None, &sentence)
        });
        let replayed = self
            .replayed
            .as_ref()
            .zip(self.fidelity())
            .map(|(replayed, fidelity)| replay::findings(&fidelity, replayed));
        let clocks = self.clocks.iter().flat_map(HostClock::findings);
        lost.into_iter().chain(replayed.into_iter().flatten()).chain(clocks).collect()
    }

    fn lost(&self) -> impl Iterator<Item = &str> {
        self.clients.iter().filter_map(|client| client.lost.as_deref())
    }

    /// Each client as JSON: where it ran, what it sent, and how closely it kept the schedule.
    pub(super) fn clients(&self) -> Vec<Value> {
        let client = |(index, client): (usize, &ReplayClient)| {
            let outcome = client.outcome.as_ref();
            let fidelity = outcome.map(Fidelity::of);
            json!({
                "process": index + 1,
                "on": client.on,
                "lost": client.lost,
                "requests": outcome.map(|outcome| outcome.requests),
                "sent": outcome.map(|outcome| outcome.sent),
                "errors": outcome.map(|outcome| outcome.errors),
                "fidelity": fidelity,
            })
        };
        self.clients.iter().enumerate().map(client).collect()
    }

    /// By how much the clients' first requests left their due times apart from each other, and how uncertain the clocks
    /// make it, in nanoseconds; `None` for one client, or without a schedule.
    pub(super) fn start_skew_ns(&self) -> Option<(u64, u64)> {
        let late_ns = |outcome: &ReplayOutcome| {
            let dispatch = outcome.dispatch.as_ref()?;
            Some(dispatch.sent.first_ns?.saturating_sub(dispatch.due.first_ns?))
        };
        let all: Vec<u64> =
            self.clients.iter().filter_map(|client| client.outcome.as_ref()).filter_map(late_ns).collect();
        let within_ns = self.clocks.iter().map(|clock| clock.offset.within_ns).max().unwrap_or(0);
        let (first, last) = (all.iter().min()?, all.iter().max()?);
        (all.len() > 1).then(|| (last - first, 2 * within_ns))
    }

    /// The requests answered, without those that only filled a cache.
    pub(super) fn answered(&self) -> u64 {
        self.totals.count_of(|name| name != "fill")
    }

    pub(super) fn seconds(&self) -> Option<f64> {
        self.replayed.as_ref().map(|replayed| replayed.length_ns as f64 / 1e9).filter(|seconds| *seconds > 0.0)
    }
}

impl GroupObserver for TraceReplaySummary {
    fn receive(&mut self, index: usize, message: Message) {
        self.handle_message(index, message);
    }

    fn lost(&mut self, index: usize, reason: &str) {
        let text = format!("process {} of the replay {reason}", index + 1);
        self.clients[index].lost = Some(reason.to_owned());
        output::note(&format!("manometer: {text}; the others go on"));
        self.failure = Some(self.failure.take().map_or(text.clone(), |before| format!("{before}; {text}")));
    }

    fn clocks_compared(&mut self, clocks: Vec<HostClock>) {
        clocks.iter().for_each(|clock| output::note(&clock.describe()));
        self.clocks = clocks;
    }
}

impl MessageHandler for TraceReplaySummary {
    fn receive(&mut self, message: Message, _: u64) -> Vec<Control> {
        let is_ready = matches!(message, Message::Ready { .. });
        self.handle_message(0, message);
        if is_ready { vec![Control::Go] } else { Vec::new() }
    }

    /// The replay ends with its trace.
    fn is_over(&self, _: u64) -> bool {
        false
    }
}
