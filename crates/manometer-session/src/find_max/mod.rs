//! Searches the highest rate that meets a goal, by measuring one rate after another on one prepared workload.

mod goal;
mod search;

use manometer_measure::LatencyHistogram;
use manometer_measure::operation::is_background;
use manometer_measure::plan::Settings;
use manometer_workload::sample::Sample;
use serde_json::Value;

pub use self::goal::{GoalError, LatencyGoal};
pub use self::search::{Capacity, PRECISION, RateTrials};
use self::search::{RateTrial, Search, SearchStep};
use crate::protocol::{Control, Message};
use crate::single::MessageHandler;

/// The settling time before a measurement, as a share of the measured time.
const SETTLE_PART: f64 = 0.1;

/// The parameters of a search.
#[derive(Debug, Clone, Copy)]
pub struct FindMaxRequest {
    /// The goal that a rate has to meet.
    pub goal: LatencyGoal,
    /// The share of each rate that must be achieved, above 0 and at most 1.
    pub achieved: f64,
    /// How long each rate is measured, in seconds.
    pub seconds: f64,
}

/// One measured rate.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredRate {
    /// Requests due per second; `None` for a closed loop.
    pub rate: Option<f64>,
    /// Requests answered per second.
    pub achieved: f64,
    /// The goal's percentile of the response time, in microseconds; `None` without answered requests.
    pub latency_us: Option<f64>,
    /// The 99th percentile of the response time, in microseconds.
    pub p99_us: Option<f64>,
    /// Dropped requests: the queue was full.
    pub dropped: u64,
    /// Requests answered.
    pub requests: u64,
    /// Whether the goal was met.
    pub met: bool,
}

/// A search in progress: follows a `kv` workload and sets its rate.
pub struct FindMax<'a> {
    /// The parameters of the search.
    pub request: FindMaxRequest,
    /// The workload's facts.
    pub facts: Settings,
    /// The rate of a closed loop; `None` until it is measured.
    pub closed: Option<MeasuredRate>,
    /// The measured rates, in order of measurement.
    pub rates: Vec<MeasuredRate>,
    /// The highest rate that meets the goal, as far as it is known; nothing before the search has ended.
    pub answer: Option<Capacity>,
    /// Why the workload refused a rate.
    pub refused: Option<String>,
    /// The current rate; `None` for a closed loop.
    rate: Option<f64>,
    counting: RateCounter,
    report: Box<dyn FnMut(&MeasuredRate) + 'a>,
}

/// The counts of the current rate.
#[derive(Debug, Default)]
struct RateCounter {
    /// The start of the measurement; `None` while the rate is not in force.
    from_ns: Option<u64>,
    length_ns: u64,
    requests: u64,
    dropped: u64,
    response: LatencyHistogram,
}

impl<'a> FindMax<'a> {
    /// A search that passes each measured rate to `report`.
    pub fn new(request: FindMaxRequest, report: impl FnMut(&MeasuredRate) + 'a) -> Self {
        Self {
            request,
            facts: Settings::new(),
            closed: None,
            rates: Vec::new(),
            answer: None,
            refused: None,
            rate: None,
            counting: RateCounter::default(),
            report: Box::new(report),
        }
    }

    /// The measured rates in ascending order.
    pub fn sorted(&self) -> Vec<MeasuredRate> {
        let mut rates = self.rates.clone();
        rates.sort_by(|one, other| one.rate.unwrap_or(0.0).total_cmp(&other.rate.unwrap_or(0.0)));
        rates
    }

    /// How often each rate was tried, and how often it met the goal, ascending.
    pub fn rate_trials(&self) -> Vec<RateTrials> {
        RateTrials::of(&self.trials())
    }

    fn trials(&self) -> Vec<RateTrial> {
        self.rates.iter().filter_map(|one| Some(RateTrial { rate: one.rate?, met: one.met })).collect()
    }

    fn settle_ns(&self) -> u64 {
        (self.request.seconds * SETTLE_PART * 1e9) as u64
    }

    /// Counts `sample`. Decides on the next rate once the current one has been measured long enough.
    fn sample(&mut self, sample: &Sample) -> Vec<Control> {
        if self.counting.from_ns.is_none_or(|from_ns| sample.t_ns - sample.length_ns < from_ns) {
            return Vec::new();
        }
        self.counting.add(sample);
        if (self.counting.length_ns as f64) < self.request.seconds * 1e9 {
            return Vec::new();
        }
        let counted = std::mem::take(&mut self.counting);
        let measured = self.measured(&counted);
        (self.report)(&measured);
        match self.rate {
            None => self.closed = Some(measured),
            Some(_) => self.rates.push(measured),
        }
        self.decide()
    }

    fn measured(&self, counted: &RateCounter) -> MeasuredRate {
        let us = |quantile| counted.response.quantile_ns(quantile).map(|ns| ns as f64 / 1e3);
        let achieved = counted.requests as f64 * 1e9 / counted.length_ns as f64;
        let latency_us = us(self.request.goal.quantile);
        let is_fast = latency_us.is_some_and(|us| us <= self.request.goal.at_most.seconds() * 1e6);
        let is_reached = self.rate.is_none_or(|rate| achieved >= self.request.achieved * rate);
        MeasuredRate {
            rate: self.rate,
            achieved,
            latency_us,
            p99_us: us(0.99),
            dropped: counted.dropped,
            requests: counted.requests,
            met: is_fast && is_reached,
        }
    }

    fn decide(&mut self) -> Vec<Control> {
        let Some(closed) = &self.closed else { return Vec::new() };
        match Search::new(closed.achieved).next(&self.trials()) {
            SearchStep::Done(answer) => {
                self.answer = Some(answer);
                Vec::new()
            }
            SearchStep::Measure(rate) => {
                self.rate = Some(rate);
                // A closed loop in between drops the requests that still wait from the rate before.
                vec![set_rate(Value::Null), set_rate(rate.into())]
            }
        }
    }
}

impl MessageHandler for FindMax<'_> {
    fn receive(&mut self, message: Message, received_ns: u64) -> Vec<Control> {
        match message {
            Message::Ready { facts } => {
                self.facts = facts;
                self.counting.from_ns = Some(received_ns + self.settle_ns());
                return vec![Control::Go];
            }
            Message::Setting { t_ns, settings } if settings.get("rate").and_then(Value::as_f64) == self.rate => {
                self.counting = RateCounter { from_ns: Some(t_ns + self.settle_ns()), ..RateCounter::default() };
            }
            Message::Sample(sample) => return self.sample(&sample),
            Message::Refused { reason, .. } => self.refused = Some(reason),
            _ => {}
        }
        Vec::new()
    }

    fn is_over(&self, _: u64) -> bool {
        self.answer.is_some() || self.refused.is_some()
    }
}

impl RateCounter {
    fn add(&mut self, sample: &Sample) {
        self.length_ns += sample.length_ns;
        self.dropped += sample.dropped;
        for (_, operation) in sample.operations.iter().filter(|(name, _)| !is_background(name)) {
            self.requests += operation.requests;
            let response = if operation.response.is_empty() { &operation.latency } else { &operation.response };
            if let Ok(histogram) = LatencyHistogram::from_base64(response) {
                self.response.add(&histogram);
            }
        }
    }
}

fn set_rate(rate: Value) -> Control {
    Control::Set(Settings::from_iter([("rate".to_owned(), rate)]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use manometer_workload::sample::OperationSample;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A store that answers within 1 ms up to 3,000 requests per second, and late above.
    fn answer(rate: Option<f64>, t_ns: u64) -> Message {
        let requests = rate.unwrap_or(8000.0).min(4000.0) as u64;
        let mut histogram = LatencyHistogram::new();
        histogram.record_many(if rate.is_none_or(|rate| rate > 3000.0) { SECOND } else { SECOND / 1000 }, requests);
        let latency = histogram.to_base64();
        let read = OperationSample { requests, bytes: 0, retries: 0, missing: 0, response: latency.clone(), latency };
        Message::Sample(Sample {
            t_ns,
            length_ns: SECOND,
            operations: BTreeMap::from([("read".to_owned(), read)]),
            dropped: 0,
            state: BTreeMap::new(),
            state_t_ns: None,
        })
    }

    #[test]
    fn a_search_ends_at_the_knee_and_reports_every_rate() {
        let request = FindMaxRequest { goal: "p99<=50ms".parse().unwrap(), achieved: 0.95, seconds: 2.0 };
        let mut reported = 0;
        let mut search = FindMax::new(request, |_| reported += 1);
        assert_eq!(search.receive(Message::Ready { facts: Settings::new() }, 0), [Control::Go]);
        let (mut t_ns, mut rate) = (0, None);
        while !search.is_over(t_ns) {
            t_ns += SECOND;
            for control in search.receive(answer(rate, t_ns), t_ns) {
                let Control::Set(settings) = control else { panic!("{control:?}") };
                rate = settings["rate"].as_f64();
                search.receive(Message::Setting { t_ns, settings }, t_ns);
            }
        }
        let found = search.answer.unwrap();
        assert!(found.low.is_some_and(|low| (2850.0..=3000.0).contains(&low)), "{found:?}");
        assert!(found.high.is_some_and(|high| (3000.0..=3160.0).contains(&high)), "{found:?}");
        let sorted = search.sorted();
        assert!(sorted.iter().all(|one| one.met == (one.rate.unwrap() <= 3000.0)), "{sorted:?}");
        assert!(sorted.is_sorted_by(|one, other| one.rate <= other.rate));
        drop(search);
        assert_eq!(reported, sorted.len() + 1, "the closed loop too");
    }
}
