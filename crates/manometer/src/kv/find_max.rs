//! `manometer kv --find-max`: one loaded database, one rate after the other.

use std::fmt::Write as _;

use manometer_measure::LatencyHistogram;
use manometer_measure::operation::is_background;
use manometer_measure::plan::Settings;
use manometer_report::{RatePoint, RateSearch, rate_search};
use manometer_workload::kv::find_max::{Goal, Point, Search, Step};
use manometer_workload::protocol::{Control, Message, Sample};
use serde_json::{Value, json};

use super::Conduct;
use super::outcome::plain;
use crate::format::{self, Format};
use crate::table::number;

/// How long each rate runs before it counts: this part of the time that counts.
const SETTLE_PART: f64 = 0.1;
/// How wide the plot's bars are.
const BAR_WIDTH: usize = 40;

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) goal: Goal,
    /// The share of the asked rate that has to be reached.
    pub(super) achieved: f64,
    /// How long each rate is measured.
    pub(super) seconds: f64,
}

/// A search under way.
pub(super) struct FindMax {
    wanted: Wanted,
    facts: Settings,
    /// What a closed loop reached; nothing before it was measured.
    closed: Option<Measured>,
    points: Vec<Measured>,
    /// The rate that is measured; nothing for a closed loop.
    rate: Option<f64>,
    now: Counting,
    answer: Option<Option<f64>>,
    refused: Option<String>,
}

/// One measured rate.
#[derive(Debug, Clone, Copy)]
struct Measured {
    asked: Option<f64>,
    achieved: f64,
    latency_us: Option<f64>,
    p99_us: Option<f64>,
    dropped: u64,
    requests: u64,
    met: bool,
}

/// What was counted of a rate so far.
#[derive(Debug, Default)]
struct Counting {
    /// From when on samples count; nothing while the rate is not in force.
    from_ns: Option<u64>,
    length_ns: u64,
    requests: u64,
    dropped: u64,
    response: LatencyHistogram,
}

impl FindMax {
    pub(super) fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            facts: Settings::new(),
            closed: None,
            points: Vec::new(),
            rate: None,
            now: Counting::default(),
            answer: None,
            refused: None,
        }
    }

    fn settle_ns(&self) -> u64 {
        (self.wanted.seconds * SETTLE_PART * 1e9) as u64
    }

    /// Counts `sample`; once the rate has been measured long enough, decides on the next.
    fn sample(&mut self, sample: &Sample) -> Vec<Control> {
        if self.now.from_ns.is_none_or(|from_ns| sample.t_ns - sample.length_ns < from_ns) {
            return Vec::new();
        }
        self.now.count(sample);
        if (self.now.length_ns as f64) < self.wanted.seconds * 1e9 {
            return Vec::new();
        }
        let counted = std::mem::take(&mut self.now);
        let measured = self.judge(&counted);
        format::note(&told(&measured, self.wanted.goal));
        match self.rate {
            None => self.closed = Some(measured),
            Some(_) => self.points.push(measured),
        }
        self.decide()
    }

    fn judge(&self, counted: &Counting) -> Measured {
        let us = |quantile| counted.response.quantile_ns(quantile).map(|ns| ns as f64 / 1e3);
        let achieved = counted.requests as f64 * 1e9 / counted.length_ns as f64;
        let latency_us = us(self.wanted.goal.quantile);
        let fast = latency_us.is_some_and(|us| us <= self.wanted.goal.at_most.seconds() * 1e6);
        let kept = self.rate.is_none_or(|rate| achieved >= self.wanted.achieved * rate);
        Measured {
            asked: self.rate,
            achieved,
            latency_us,
            p99_us: us(0.99),
            dropped: counted.dropped,
            requests: counted.requests,
            met: fast && kept,
        }
    }

    fn decide(&mut self) -> Vec<Control> {
        let Some(closed) = &self.closed else { return Vec::new() };
        let points: Vec<Point> = self
            .points
            .iter()
            .filter_map(|measured| Some(Point { rate: measured.asked?, met: measured.met }))
            .collect();
        match Search::new(closed.achieved).next(&points) {
            Step::Done(answer) => {
                self.answer = Some(answer);
                Vec::new()
            }
            Step::Measure(rate) => {
                self.rate = Some(rate);
                // A closed loop in between drops what still waits of the rate before.
                vec![set_rate(Value::Null), set_rate(rate.into())]
            }
        }
    }

    /// Whether the goal can be met at all; nothing when the search did not come to its end.
    pub(super) fn verdict(&self) -> anyhow::Result<bool> {
        if let Some(reason) = &self.refused {
            anyhow::bail!("{reason}");
        }
        self.answer.map(|answer| answer.is_some()).ok_or_else(|| anyhow::anyhow!("stopped before the search had ended"))
    }

    /// Prints everything.
    pub(super) fn print(&self, format: Format) -> anyhow::Result<()> {
        match format {
            Format::Json => format::json(&self.machine_form()),
            Format::Text => format::text(&self.people_form()),
        }
    }

    fn sorted(&self) -> Vec<Measured> {
        let mut points = self.points.clone();
        points.sort_by(|one, other| one.asked.unwrap_or(0.0).total_cmp(&other.asked.unwrap_or(0.0)));
        points
    }

    fn machine_form(&self) -> Value {
        let rate = self.answer.flatten();
        let goal = self.wanted.goal;
        let points: Vec<Value> = self.sorted().iter().map(|point| point_form(point, goal)).collect();
        let mut found = json!({
            "rate": rate,
            "unit": "ops/s",
            "goal": {goal.percentile(): goal.at_most.seconds() * 1e6, "unit": "us", "achieved": self.wanted.achieved},
            "seconds": self.wanted.seconds,
            "closed_loop": self.closed.map(|closed| point_form(&closed, goal)),
            "points": points,
        });
        if rate.is_none() {
            found["reason"] = "even the lowest rate that was tried misses the goal".into();
        }
        json!({"find_max": found, "facts": self.facts})
    }

    /// The page with latency against rate.
    pub(super) fn page(&self) -> String {
        let fact = |name: &str| self.facts.get(name).map(plain).unwrap_or_default();
        let point = |measured: &Measured| {
            let Measured { achieved, latency_us, dropped, requests, met, .. } = *measured;
            Some(RatePoint { rate: measured.asked?, achieved, latency_us, dropped, requests, met })
        };
        let closed = self.closed.map(|closed| format!("a closed loop reached {} ops/s", number(closed.achieved)));
        let facts = [
            format!("{} {}: {}", fact("engine"), fact("engine_version"), fact("durability")),
            fact("workload"),
            format!("{} records of {} B", fact("records"), fact("value_bytes")),
            fact("distribution"),
            format!("{} thread(s)", fact("threads")),
            format!("{} s for each rate", self.wanted.seconds),
        ];
        rate_search(&RateSearch {
            headline: self.answer_in_words(),
            facts: facts.into_iter().chain(closed).collect(),
            percentile: self.wanted.goal.percentile().to_owned(),
            goal_us: self.wanted.goal.at_most.seconds() * 1e6,
            highest: self.answer.flatten(),
            points: self.sorted().iter().filter_map(point).collect(),
        })
    }

    fn answer_in_words(&self) -> String {
        let goal = self.wanted.goal;
        match self.answer.flatten() {
            Some(rate) => format!(
                "The highest rate with {} of the response time at most {} is {} ops/s.",
                goal.percentile(),
                goal.at_most,
                number(rate)
            ),
            None => "No rate meets the goal, not even the lowest that was tried.".to_owned(),
        }
    }

    fn people_form(&self) -> String {
        let goal = self.wanted.goal;
        let column = format!("{} ms", goal.percentile());
        let mut table = crate::table::table(&["asked ops/s", "achieved", &column, "dropped", "goal"], 0);
        for point in self.sorted() {
            table.add_row([
                point.asked.map_or("–".to_owned(), number),
                number(point.achieved),
                point.latency_us.map_or("–".to_owned(), |us| format!("{:.2}", us / 1e3)),
                point.dropped.to_string(),
                if point.met { "met" } else { "missed" }.to_owned(),
            ]);
        }
        format!("{table}\n\n{}\n{}", plot(&self.sorted(), goal), self.answer_in_words())
    }
}

impl Conduct for FindMax {
    fn hear(&mut self, message: Message, now_ns: u64) -> Vec<Control> {
        match message {
            Message::Ready { facts } => {
                self.facts = facts;
                self.now.from_ns = Some(now_ns + self.settle_ns());
                vec![Control::Go]
            }
            Message::Setting { t_ns, settings } => {
                if settings.get("rate").and_then(Value::as_f64) == self.rate {
                    self.now = Counting { from_ns: Some(t_ns + self.settle_ns()), ..Counting::default() };
                }
                Vec::new()
            }
            Message::Sample(sample) => self.sample(&sample),
            Message::Refused { reason, .. } => {
                self.refused = Some(reason);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn is_over(&self, _: u64) -> bool {
        self.answer.is_some() || self.refused.is_some()
    }
}

impl Counting {
    fn count(&mut self, sample: &Sample) {
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

fn point_form(point: &Measured, goal: Goal) -> Value {
    let mut form = json!({
        "rate": point.asked,
        "achieved": point.achieved,
        "p99_us": point.p99_us,
        "met": point.met,
        "dropped": point.dropped,
        "requests": point.requests,
    });
    if point.p99_us.is_none() {
        form["reason"] = "no request was answered".into();
    }
    if goal.percentile() != "p99" {
        form[format!("{}_us", goal.percentile())] = json!(point.latency_us);
    }
    form
}

fn told(point: &Measured, goal: Goal) -> String {
    let asked = point.asked.map_or("closed loop".to_owned(), |rate| format!("{} ops/s asked", number(rate)));
    let latency =
        point.latency_us.map_or("no answer".to_owned(), |us| format!("{} {:.2} ms", goal.percentile(), us / 1e3));
    let verdict = if point.asked.is_none() {
        ""
    } else if point.met {
        ", met"
    } else {
        ", missed"
    };
    format!("{asked}: {} achieved, {latency}{verdict}", number(point.achieved))
}

/// A bar for each rate, as long as the logarithm of its latency.
fn plot(points: &[Measured], goal: Goal) -> String {
    let latencies = || points.iter().filter_map(|point| point.latency_us).chain([goal.at_most.seconds() * 1e6]);
    let least = latencies().fold(f64::INFINITY, f64::min).max(1e-3).log10().floor();
    let most = latencies().fold(0.0, f64::max).max(1e-3).log10();
    let length = |us: f64| {
        let share = (us.max(1e-3).log10() - least) / (most - least).max(1e-9);
        1 + (share.clamp(0.0, 1.0) * (BAR_WIDTH - 1) as f64).round() as usize
    };
    let mut text =
        format!("{} of the response time against the rate (logarithmic; the goal is |)\n", goal.percentile());
    let at = length(goal.at_most.seconds() * 1e6);
    for point in points {
        let bar = point.latency_us.map_or(0, length);
        let line: String = (1..=BAR_WIDTH)
            .map(|place| {
                if place <= bar {
                    '█'
                } else if place == at {
                    '|'
                } else {
                    ' '
                }
            })
            .collect();
        let _ = writeln!(text, "{:>12} {}", point.asked.map_or("–".to_owned(), number), line.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use manometer_workload::protocol::OperationSample;

    const SECOND: u64 = 1_000_000_000;

    /// A store that answers within a millisecond up to 3,000 requests a second, and late beyond.
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
    fn a_search_ends_at_the_knee_and_tells_every_point() {
        let wanted = Wanted { goal: "p99<=50ms".parse().unwrap(), achieved: 0.95, seconds: 2.0 };
        let mut search = FindMax::new(wanted);
        assert_eq!(search.hear(Message::Ready { facts: Settings::new() }, 0), [Control::Go]);
        let (mut t_ns, mut rate) = (0, None);
        while !search.is_over(t_ns) {
            t_ns += SECOND;
            for control in search.hear(answer(rate, t_ns), t_ns) {
                let Control::Set(settings) = control else { panic!("{control:?}") };
                rate = settings["rate"].as_f64();
                search.hear(Message::Setting { t_ns, settings }, t_ns);
            }
        }
        assert!(search.verdict().unwrap());
        let document = search.machine_form();
        let found = document["find_max"]["rate"].as_f64().unwrap();
        assert!((2850.0..=3000.0).contains(&found), "{document}");
        let points = document["find_max"]["points"].as_array().unwrap();
        assert!(points.iter().all(|point| point["met"] == (point["rate"].as_f64().unwrap() <= 3000.0)), "{document}");
        assert!(points.windows(2).all(|pair| pair[0]["rate"].as_f64() <= pair[1]["rate"].as_f64()));
        let text = search.people_form();
        assert!(text.contains("highest rate") && text.contains('█'), "{text}");
        let page = search.page();
        assert!(page.contains("<h1>The highest rate with p99") && page.contains("data-chart=\"latency-against-rate\""));
    }
}
