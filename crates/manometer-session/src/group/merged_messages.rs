//! The messages of several clients as those of one worker: counts and histograms add up exactly.

use std::collections::VecDeque;
use std::io;

use manometer_measure::clock_offset::ClockOffset;
use manometer_measure::plan::Settings;
use manometer_measure::{Clock as _, LatencyHistogram, MonotonicClock, ReplayOutcome};
use manometer_workload::replay::START;
use manometer_workload::sample::{OperationSample, Sample};
use serde_json::{Value, json};

use super::{GroupObserver, HostClock, LOCAL};
use crate::control::MessageSink;
use crate::listening_time::ListeningTime;
use crate::protocol::{Control, Message};

/// How long after an interval's end the sample of a client is waited for: two intervals, and this, in nanoseconds.
const LATE_NS: u64 = 1_000_000_000;
/// A client that sends no sample for ten intervals, and this, in nanoseconds, hangs.
const SILENCE_NS: u64 = 5_000_000_000;

/// What is known of a client.
#[derive(Default)]
struct ClientMessages {
    facts: Option<Settings>,
    /// The samples that are not merged yet, on the local clock.
    samples: VecDeque<Sample>,
    replayed: Option<(u64, ReplayOutcome)>,
    /// When it began to send requests, on the local clock.
    began_ns: Option<u64>,
    /// When its last sample arrived, or it was to begin, by [`MergedMessages::listened`].
    heard_ns: u64,
    /// Whether it has ended or was lost.
    is_over: bool,
    /// Whether it has answered the change of settings that is under way.
    has_answered: bool,
    offset: Option<ClockOffset>,
}

impl ClientMessages {
    /// Whether more samples come from it.
    fn is_sending(&self) -> bool {
        !self.is_over && self.replayed.is_none()
    }

    /// A time of its clock on the local one.
    fn here_ns(&self, there_ns: u64) -> u64 {
        self.offset.as_ref().map_or(there_ns, |offset| there_ns.saturating_add_signed(-offset.offset_ns))
    }
}

/// A change of settings that clients have not all answered.
struct PendingChange {
    changes: Settings,
    is_refused: bool,
}

/// Merges the messages of clients, and sends them on.
pub(super) struct MergedMessages<'a> {
    clients: Vec<ClientMessages>,
    interval_ns: u64,
    sink: &'a mut dyn MessageSink,
    disconnected: Option<io::Error>,
    change: Option<PendingChange>,
    /// The end of the last merged sample.
    sampled_ns: u64,
    /// Whether the clients send requests.
    is_going: bool,
    /// The clock of their silence.
    listened: ListeningTime,
    has_reported_start: bool,
}

impl<'a> MergedMessages<'a> {
    pub(super) fn new(clients: usize, interval_ns: u64, sink: &'a mut dyn MessageSink) -> Self {
        Self {
            clients: (0..clients).map(|_| ClientMessages::default()).collect(),
            interval_ns,
            sink,
            disconnected: None,
            change: None,
            sampled_ns: 0,
            is_going: false,
            listened: ListeningTime::default(),
            has_reported_start: false,
        }
    }

    fn send(&mut self, message: Message) {
        if self.disconnected.is_none() {
            self.disconnected = self.sink.send(message).err();
        }
    }

    pub(super) fn take_disconnection(&mut self) -> Option<io::Error> {
        self.disconnected.take()
    }

    fn note(&mut self, text: String) {
        self.send(Message::Note { t_ns: MonotonicClock.now_ns(), text });
    }

    /// Reports that the load goes on without a client.
    pub(super) fn report_loss(&mut self, text: String) {
        self.send(Message::ClientLost { text });
    }

    /// Reports that all clients are ready, with the facts of the first and those of each.
    pub(super) fn ready(&mut self, hosts: Vec<Option<String>>) {
        let mut facts = self.clients[0].facts.clone().unwrap_or_default();
        let headroom = |client: &ClientMessages| client.facts.as_ref()?.get("headroom_ops_per_s")?.as_f64();
        let each = self.clients.iter().zip(hosts).map(|(client, host)| {
            json!({
                "on": host.unwrap_or_else(|| LOCAL.to_owned()),
                "headroom_ops_per_s": headroom(client),
                "clock_within_us": client.offset.as_ref().map(|offset| offset.within_ns as f64 / 1e3),
            })
        });
        facts.insert("clients".to_owned(), Value::Array(each.collect()));
        // Each gets an equal part of the load, so the one that can do least limits them all.
        let least = self.clients.iter().map(headroom).collect::<Option<Vec<f64>>>();
        if let Some(least) = least.and_then(|all| all.into_iter().min_by(f64::total_cmp)) {
            facts.insert("headroom_ops_per_s".to_owned(), json!(least * self.clients.len() as f64));
        }
        self.send(Message::Ready { facts });
    }

    /// Records that clients begin at `t_ns`.
    pub(super) fn go(&mut self, t_ns: u64) {
        self.is_going = true;
        let lead_ns = t_ns.saturating_sub(MonotonicClock.now_ns());
        let from_ns = self.listened.total_ns().saturating_add(lead_ns);
        self.clients.iter_mut().for_each(|client| client.heard_ns = from_ns);
    }

    pub(super) fn pause(&mut self) {
        self.is_going = false;
    }

    pub(super) fn ended(&mut self, index: usize) {
        self.clients[index].is_over = true;
        self.finish_change(MonotonicClock.now_ns());
    }

    /// Records a change that each client is asked for.
    pub(super) fn expect_change(&mut self, changes: Settings) {
        self.clients.iter_mut().for_each(|client| client.has_answered = false);
        self.change = Some(PendingChange { changes, is_refused: false });
    }

    pub(super) fn refuse(&mut self, changes: Settings, reason: String) {
        self.send(Message::Refused { line: Control::Set(changes).to_string(), reason });
    }

    /// A client that hangs, and the reason.
    pub(super) fn silent_client(&mut self, now_ns: u64) -> Option<(usize, String)> {
        self.listened.tick(now_ns, self.interval_ns);
        if !self.is_going {
            return None;
        }
        let limit_ns = self.interval_ns.saturating_mul(10).saturating_add(SILENCE_NS);
        let listened_ns = self.listened.total_ns();
        let silent_ns = |client: &ClientMessages| listened_ns.saturating_sub(client.heard_ns);
        let index = self.clients.iter().position(|client| client.is_sending() && silent_ns(client) > limit_ns)?;
        let silent_s = silent_ns(&self.clients[index]) as f64 / 1e9;
        Some((index, format!("was lost: it sent no sample for {silent_s:.0} s")))
    }

    /// Sends on the samples that are complete, or whose missing parts are too late.
    pub(super) fn merge(&mut self, now_ns: u64) {
        while let Some(earliest_ns) = self.earliest_ns() {
            let is_complete = self.clients.iter().all(|client| !client.is_sending() || !client.samples.is_empty());
            if !is_complete && now_ns < earliest_ns.saturating_add(2 * self.interval_ns + LATE_NS) {
                return;
            }
            self.merge_until(earliest_ns + self.interval_ns / 2);
        }
    }

    /// Sends on all that is left.
    pub(super) fn finish(&mut self) {
        while let Some(earliest_ns) = self.earliest_ns() {
            self.merge_until(earliest_ns + self.interval_ns / 2);
        }
        let mut outcomes = self.clients.iter_mut().filter_map(|client| client.replayed.take());
        if let Some((mut t_ns, mut all)) = outcomes.next() {
            for (own_ns, outcome) in outcomes {
                t_ns = t_ns.max(own_ns);
                all.add(&outcome);
            }
            self.send(Message::Replayed { t_ns, replayed: Box::new(all) });
        }
    }

    fn earliest_ns(&self) -> Option<u64> {
        self.clients.iter().filter_map(|client| client.samples.front()).map(|sample| sample.t_ns).min()
    }

    /// Merges the next sample of each client that ended until `end_ns`.
    fn merge_until(&mut self, end_ns: u64) {
        let next = |client: &mut ClientMessages| {
            let is_next = client.samples.front().is_some_and(|sample| sample.t_ns <= end_ns);
            is_next.then(|| client.samples.pop_front()).flatten()
        };
        let mut samples = self.clients.iter_mut().filter_map(next);
        let Some(mut all) = samples.next() else { return };
        samples.for_each(|sample| add(&mut all, sample));
        // A series has its samples in order, also where one came too late.
        all.t_ns = all.t_ns.max(self.sampled_ns + 1);
        // Nor does one begin before the one before it has ended.
        all.length_ns = all.length_ns.min(all.t_ns - self.sampled_ns);
        self.sampled_ns = all.t_ns;
        self.send(Message::Sample(all));
    }

    fn receive_sample(&mut self, index: usize, mut sample: Sample) {
        let client = &mut self.clients[index];
        sample.t_ns = client.here_ns(sample.t_ns);
        sample.state_t_ns = sample.state_t_ns.map(|t_ns| client.here_ns(t_ns));
        client.heard_ns = self.listened.total_ns();
        client.began_ns.get_or_insert(sample.t_ns.saturating_sub(sample.length_ns));
        client.samples.push_back(sample);
        self.report_start();
    }

    /// Reports once how far apart the clients began.
    fn report_start(&mut self) {
        let began = self.clients.iter().map(|client| client.began_ns).collect::<Option<Vec<u64>>>();
        let Some(began) = began.filter(|_| !std::mem::replace(&mut self.has_reported_start, true)) else {
            return;
        };
        let skew_ns = began.iter().max().zip(began.iter().min()).map_or(0, |(last, first)| last - first);
        let within = self.clients.iter().filter_map(|client| client.offset.as_ref()).map(|offset| offset.within_ns);
        let within_ns = 2 * within.max().unwrap_or(0);
        self.note(format!(
            "its {} clients began within {:.3} ms of each other (± {:.3} ms, by their clocks)",
            began.len(),
            skew_ns as f64 / 1e6,
            within_ns as f64 / 1e6
        ));
    }

    /// Handles the answer of a client to a change: sends on the first refusal, or the change once all have made it.
    fn answer(&mut self, index: usize, refusal: Option<String>, t_ns: u64) {
        self.clients[index].has_answered = true;
        let Some(change) = &mut self.change else { return };
        if let Some(reason) = refusal.filter(|_| !std::mem::replace(&mut change.is_refused, true)) {
            let changes = change.changes.clone();
            self.refuse(changes, reason);
        }
        self.finish_change(t_ns);
    }

    fn finish_change(&mut self, t_ns: u64) {
        let is_complete = self.clients.iter().all(|client| client.has_answered || !client.is_sending());
        if let Some(change) = self.change.take_if(|_| is_complete)
            && !change.is_refused
        {
            self.send(Message::Setting { t_ns, settings: change.changes });
        }
    }
}

impl GroupObserver for MergedMessages<'_> {
    fn receive(&mut self, index: usize, message: Message) {
        match message {
            Message::Progress { .. } => self.send(message),
            Message::Ready { facts } => self.clients[index].facts = Some(facts),
            Message::Sample(sample) => self.receive_sample(index, sample),
            Message::Setting { settings, .. } if settings.contains_key(START) => {}
            Message::Setting { t_ns, .. } => {
                let t_ns = self.clients[index].here_ns(t_ns);
                self.answer(index, None, t_ns);
            }
            Message::Refused { reason, .. } => self.answer(index, Some(reason), 0),
            Message::Note { t_ns, text } => {
                let t_ns = self.clients[index].here_ns(t_ns);
                self.send(Message::Note { t_ns, text: format!("client {}: {text}", index + 1) });
            }
            Message::Replayed { t_ns, replayed } => {
                let t_ns = self.clients[index].here_ns(t_ns);
                self.clients[index].replayed = Some((t_ns, *replayed));
            }
            Message::ClientLost { .. } | Message::Clock { .. } | Message::Error { .. } | Message::Done => {}
        }
    }

    fn lost(&mut self, index: usize, _: &str) {
        self.ended(index);
    }

    fn clocks_compared(&mut self, clocks: Vec<HostClock>) {
        for clock in clocks {
            self.clients[clock.process - 1].offset = Some(clock.offset);
        }
    }
}

/// Adds the counts of another client in the same interval. The engine's state is that of the first client that has it:
/// all ask the same server.
fn add(all: &mut Sample, other: Sample) {
    all.t_ns = all.t_ns.max(other.t_ns);
    all.length_ns = all.length_ns.max(other.length_ns);
    all.dropped += other.dropped;
    if all.state.is_empty() {
        (all.state, all.state_t_ns) = (other.state, other.state_t_ns);
    }
    for (operation, counts) in other.operations {
        match all.operations.get_mut(&operation) {
            Some(own) => add_operation(own, &counts),
            None => drop(all.operations.insert(operation, counts)),
        }
    }
}

fn add_operation(all: &mut OperationSample, other: &OperationSample) {
    all.requests += other.requests;
    all.bytes += other.bytes;
    all.retries += other.retries;
    all.missing += other.missing;
    all.latency = added(&all.latency, &other.latency);
    all.response = added(&all.response, &other.response);
}

/// Two histograms as text, added up.
fn added(one: &str, other: &str) -> String {
    match (one.is_empty(), other.is_empty()) {
        (_, true) => return one.to_owned(),
        (true, false) => return other.to_owned(),
        (false, false) => {}
    }
    match (LatencyHistogram::from_base64(one), LatencyHistogram::from_base64(other)) {
        (Ok(mut all), Ok(other)) => {
            all.add(&other);
            all.to_base64()
        }
        (Err(error), _) | (_, Err(error)) => {
            tracing::warn!("a client sent an invalid latency histogram: {error}");
            one.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn sample(t_ms: u64, requests: u64) -> Message {
        let mut latency = LatencyHistogram::new();
        (0..requests).for_each(|number| latency.record(1000 + 100 * number));
        let (latency, response) = (latency.to_base64(), String::new());
        let read = OperationSample { requests, bytes: 8 * requests, retries: 1, missing: 0, latency, response };
        Message::Sample(Sample {
            t_ns: t_ms * 1_000_000,
            length_ns: 100_000_000,
            operations: BTreeMap::from([("read".to_owned(), read)]),
            dropped: 2,
            state: BTreeMap::from([("keys".to_owned(), 7.0)]),
            state_t_ns: None,
        })
    }

    /// What comes of the messages of `count` clients.
    fn merged(count: usize, act: impl FnOnce(&mut MergedMessages<'_>)) -> Vec<Message> {
        let mut sent = Vec::new();
        let mut sink = |message| {
            sent.push(message);
            Ok(())
        };
        act(&mut MergedMessages::new(count, 100_000_000, &mut sink));
        sent.retain(|message| !matches!(message, Message::Note { .. }));
        sent
    }

    fn samples(messages: &[Message]) -> Vec<(u64, u64)> {
        let sample = |message: &Message| match message {
            Message::Sample(sample) => {
                let read = &sample.operations["read"];
                assert_eq!(LatencyHistogram::from_base64(&read.latency).unwrap().len(), read.requests);
                Some((sample.t_ns / 1_000_000, read.requests))
            }
            _ => None,
        };
        messages.iter().filter_map(sample).collect()
    }

    #[test]
    fn samples_of_one_interval_add_up_once_all_are_there() {
        let sent = merged(3, |all| {
            all.go(0);
            all.receive(0, sample(100, 5));
            all.receive(2, sample(101, 7));
            all.merge(150_000_000);
            all.receive(0, sample(200, 6));
            all.merge(210_000_000);
            all.receive(1, sample(100, 1));
            all.merge(220_000_000);
            all.finish();
        });
        assert_eq!(samples(&sent), [(101, 13), (200, 6)]);
        let Message::Sample(first) = &sent[0] else { panic!("{sent:?}") };
        let read = &first.operations["read"];
        assert_eq!((read.bytes, read.retries, first.dropped, first.state["keys"]), (104, 3, 6, 7.0));
    }

    #[test]
    fn a_late_part_is_not_waited_for_forever_and_comes_in_order() {
        let sent = merged(2, |all| {
            all.go(0);
            all.receive(0, sample(100, 5));
            all.merge(100_000_000 + 2 * 100_000_000 + LATE_NS);
            all.receive(0, sample(200, 5));
            all.receive(1, sample(100, 3));
            all.receive(1, sample(200, 4));
            all.merge(1_500_000_000);
        });
        assert_eq!(samples(&sent), [(100, 5), (100, 3), (200, 9)]);
        let times: Vec<u64> = sent
            .iter()
            .filter_map(|one| match one {
                Message::Sample(sample) => Some(sample.t_ns),
                _ => None,
            })
            .collect();
        assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
    }

    #[test]
    fn a_lost_client_holds_nothing_up_and_a_silent_one_is_named() {
        let sent = merged(2, |all| {
            all.go(0);
            all.receive(0, sample(100, 5));
            all.lost(1, "was lost");
            all.merge(110_000_000);
        });
        assert_eq!(samples(&sent), [(100, 5)]);
        merged(2, |all| {
            let now_ns = MonotonicClock.now_ns();
            all.go(now_ns);
            all.receive(0, sample(now_ns / 1_000_000, 5));
            assert_eq!(all.silent_client(now_ns), None);
            let away_ns = now_ns + 60_000_000_000;
            assert_eq!(all.silent_client(away_ns), None, "the group heard nothing, being stopped itself");
            let mut later = (1..).map(|interval| away_ns + interval * 100_000_000);
            let silent = (1..60).find_map(|_| all.silent_client(later.next().unwrap()));
            assert_eq!(silent, None);
            let (index, reason) = all.silent_client(later.next().unwrap()).unwrap();
            assert_eq!((index, reason.as_str()), (0, "was lost: it sent no sample for 6 s"));
            all.pause();
            assert_eq!(all.silent_client(later.next().unwrap()), None);
        });
    }

    #[test]
    fn a_change_is_made_once_all_have_made_it_and_refused_once() {
        let changes = Settings::from_iter([("rate".to_owned(), json!(900))]);
        let part = || Message::Setting { t_ns: 5, settings: Settings::from_iter([("rate".to_owned(), json!(300))]) };
        let sent = merged(3, |all| {
            all.expect_change(changes.clone());
            (0..2).for_each(|index| all.receive(index, part()));
            all.lost(2, "was lost");
        });
        assert!(matches!(&sent[..], [Message::Setting { settings, .. }] if *settings == changes), "{sent:?}");
        let refused = || Message::Refused { line: "set rate=300".to_owned(), reason: "no".to_owned() };
        let sent = merged(2, |all| {
            all.expect_change(changes.clone());
            (0..2).for_each(|index| all.receive(index, refused()));
        });
        let [Message::Refused { line, reason }] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!((line.as_str(), reason.as_str()), ("set rate=900", "no"));
    }

    #[test]
    fn facts_are_those_of_the_first_and_the_least_headroom_limits_all() {
        let facts = |headroom: f64| Settings::from_iter([("headroom_ops_per_s".to_owned(), json!(headroom))]);
        let sent = merged(2, |all| {
            all.receive(0, Message::Ready { facts: facts(900.0) });
            all.receive(1, Message::Ready { facts: facts(500.0) });
            all.ready(vec![None, Some("ssh b manometer".to_owned())]);
        });
        let [Message::Ready { facts }] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!(facts["headroom_ops_per_s"], 1000.0);
        assert_eq!(facts["clients"][1]["on"], "ssh b manometer");
        assert_eq!(facts["clients"][1]["headroom_ops_per_s"], 500.0);
    }
}
