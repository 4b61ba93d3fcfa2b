//! The requests that each node of a cluster gets in each second, computed from the slots of the keys.

use manometer_analysis::real_vs_synthetic::{Arrivals, HotSpots, NodeLoad, node_seconds};
use manometer_target::engine::hash_slot::{HASH_SLOTS, hash_slot};
use manometer_workload::kv::distribution::stream;
use manometer_workload::replay::write_key;
use rand::RngExt as _;

use super::load::{Exponents, Load, LoadKind};
use super::recorded_trace::RecordedTrace;
use crate::file::RealVsSynthetic;

const SECOND_NS: u64 = 1_000_000_000;

/// When requests arrive.
#[derive(Debug)]
pub(super) struct ArrivalTimes {
    /// The number of complete seconds.
    pub(super) seconds: u32,
    /// The requests in these.
    requests: usize,
    /// The time of each recorded request, from the first.
    recorded_ns: Option<Vec<u64>>,
}

impl ArrivalTimes {
    /// Those of `recorded`, `speed` times as fast; else, where it has no times or takes less than a second, `requests_per_s`
    /// as long as it has requests. The reason where there is no complete second.
    pub(super) fn new(recorded: &RecordedTrace, speed: f64, requests_per_s: Option<u64>) -> Result<Self, &'static str> {
        if let Some(times_ns) = &recorded.times_ns
            && let Some(times) = Self::recorded(times_ns, speed)
        {
            return Ok(times);
        }
        let requests = recorded.requests.len();
        let Some(rate) = requests_per_s.filter(|rate| *rate > 0) else {
            return Err("the trace has no times of a second or more, and no engine replayed it on the largest cache");
        };
        let seconds = u32::try_from(requests as u64 / rate).unwrap_or(u32::MAX);
        if seconds == 0 {
            return Err("the replay of the trace takes less than a second");
        }
        Ok(Self { seconds, requests: (u64::from(seconds) * rate) as usize, recorded_ns: None })
    }

    fn recorded(times_ns: &[u64], speed: f64) -> Option<Self> {
        let first = *times_ns.first()?;
        let from_first = |time_ns: &u64| (time_ns.saturating_sub(first) as f64 / speed) as u64;
        let all: Vec<u64> = times_ns.iter().map(from_first).collect();
        // The last second may be incomplete.
        let seconds = u32::try_from(*all.iter().max()? / SECOND_NS).unwrap_or(u32::MAX);
        let requests = all.iter().filter(|time_ns| **time_ns / SECOND_NS < u64::from(seconds)).count();
        (seconds > 0).then_some(Self { seconds, requests, recorded_ns: Some(all) })
    }

    /// The arrivals whose times are known.
    pub(super) fn known(&self) -> Vec<Arrivals> {
        let recorded = self.recorded_ns.is_some().then_some(Arrivals::Recorded);
        recorded.into_iter().chain([Arrivals::Constant, Arrivals::Poisson]).collect()
    }

    /// The time of each request, in order; those of a constant and a Poisson rate end with the last complete second.
    pub(super) fn times_ns(&self, arrivals: Arrivals, seed: u64) -> Vec<u64> {
        let span_ns = u64::from(self.seconds) * SECOND_NS;
        match arrivals {
            Arrivals::Recorded => self.recorded_ns.clone().unwrap_or_default(),
            Arrivals::Constant => {
                let time = |number: usize| (number as u128 * u128::from(span_ns) / self.requests as u128) as u64;
                (0..self.requests).map(time).collect()
            }
            // Given their number, the arrivals of a Poisson process are independent and uniform.
            Arrivals::Poisson => {
                let mut random = stream(seed, 2);
                let mut times: Vec<u64> = (0..self.requests).map(|_| random.random_range(0..span_ns)).collect();
                times.sort_unstable();
                times
            }
        }
    }

    fn requests_per_s(&self) -> u64 {
        (self.requests as f64 / f64::from(self.seconds)).round() as u64
    }
}

/// Whether all times are whole seconds, so that arrivals within a second are not known.
pub(super) fn counts_seconds(recorded: &RecordedTrace) -> bool {
    recorded.times_ns.as_ref().is_some_and(|times_ns| times_ns.iter().all(|time_ns| time_ns.is_multiple_of(SECOND_NS)))
}

/// The hot spots of the trace and of its synthetic loads on the nodes of `settings`.
pub(super) fn compute(
    recorded: &RecordedTrace,
    exponents: Exponents,
    settings: &RealVsSynthetic,
    requests_per_s: Option<u64>,
) -> HotSpots {
    let (nodes, seed) = (settings.nodes, settings.seed);
    let speed = settings.cluster.as_ref().map_or(1.0, |cluster| cluster.speed);
    let times = match ArrivalTimes::new(recorded, speed, requests_per_s) {
        Ok(times) => times,
        Err(reason) => {
            let (loads, measured, reason) = (Vec::new(), Vec::new(), Some(reason.to_owned()));
            return HotSpots { nodes, speed, requests_per_s: 0, loads, measured, reason };
        }
    };
    let mut loads = Vec::new();
    for kind in [LoadKind::Trace, LoadKind::Shuffled].into_iter().chain(exponents.drawn()) {
        let load = kind.make(recorded, seed);
        let slots = slots(&load, recorded);
        let arrivals = if kind == LoadKind::Trace { times.known() } else { vec![Arrivals::Constant] };
        for arrivals in arrivals {
            let second = |time_ns: u64| u32::try_from(time_ns / SECOND_NS).unwrap_or(u32::MAX);
            let seconds = times.times_ns(arrivals, seed).into_iter().map(second);
            let seconds = node_seconds(&slots, seconds, HASH_SLOTS, nodes, times.seconds);
            loads.push(NodeLoad::new(&kind.name(), arrivals, &seconds));
        }
    }
    let requests_per_s = times.requests_per_s();
    HotSpots { nodes, speed, requests_per_s, loads, measured: Vec::new(), reason: None }
}

fn slots(load: &Load, recorded: &RecordedTrace) -> Vec<u16> {
    let mut text = Vec::new();
    let mut slot = |place: u32| {
        let key = load.key(place, recorded);
        write_key(key.id, key.key_bytes, &mut text);
        hash_slot(&text)
    };
    load.requests.iter().map(|one| slot(one.key)).collect()
}

#[cfg(test)]
mod tests {
    use manometer_trace::TraceOperation;

    use super::super::recorded_trace::{Key, KeyRequest};
    use super::*;

    fn recorded(times_ns: Option<Vec<u64>>, requests: u32) -> RecordedTrace {
        RecordedTrace {
            keys: (0..50).map(|id| Key { id, key_bytes: 11, value_bytes: 1 }).collect(),
            requests: (0..requests)
                .map(|number| KeyRequest { key: number % 50, operation: TraceOperation::Get })
                .collect(),
            times_ns,
            resized: 0,
            damage: Vec::new(),
        }
    }

    #[test]
    fn times_are_those_of_the_trace_without_the_incomplete_last_second() {
        let times = [5.0, 5.5, 5.9, 6.2, 7.0, 7.1, 8.9].map(|s: f64| (s * 1e9) as u64);
        let trace = recorded(Some(times.to_vec()), 7);
        let found = ArrivalTimes::new(&trace, 1.0, None).unwrap();
        assert_eq!((found.seconds, found.requests), (3, 6));
        let seconds =
            |arrivals| found.times_ns(arrivals, 1).iter().map(|time_ns| time_ns / SECOND_NS).collect::<Vec<_>>();
        assert_eq!(seconds(Arrivals::Recorded), [0, 0, 0, 1, 2, 2, 3]);
        assert_eq!(seconds(Arrivals::Constant), [0, 0, 1, 1, 2, 2]);
        let poisson = seconds(Arrivals::Poisson);
        assert!(poisson.is_sorted() && poisson.len() == 6 && poisson.iter().all(|second| *second < 3));
        let faster = ArrivalTimes::new(&trace, 3.0, None).unwrap();
        assert_eq!((faster.seconds, faster.requests), (1, 6));
    }

    #[test]
    fn without_times_the_rate_of_a_replay_counts() {
        let found = ArrivalTimes::new(&recorded(None, 105), 1.0, Some(10)).unwrap();
        assert_eq!((found.seconds, found.requests, found.known().len()), (10, 100, 2));
        for (rate, expected) in [(None, "no times of a second or more"), (Some(200), "less than a second")] {
            assert!(ArrivalTimes::new(&recorded(None, 105), 1.0, rate).unwrap_err().contains(expected));
        }
        let burst = recorded(Some(vec![7; 105]), 105);
        assert!(ArrivalTimes::new(&burst, 1.0, None).is_err(), "all at once");
    }

    #[test]
    fn every_request_of_a_complete_second_reaches_a_node() {
        let trace = recorded(Some((0..1000).map(|number| number * 10_000_000).collect()), 1000);
        let exponents = Exponents { all_keys: 0.9, curve: 0.8 };
        let settings: RealVsSynthetic =
            toml::from_str("kind = \"\"\nname = \"\"\ndirectory = \"\"\ntrace = \"\"").unwrap();
        let spots = compute(&trace, exponents, &settings, None);
        assert_eq!((spots.loads.len(), spots.requests_per_s), (8, 100));
        for load in &spots.loads {
            let plot = load.requests.as_ref().unwrap();
            assert_eq!(plot.samples, 90, "{load:?}");
        }
        assert!(!counts_seconds(&trace) && counts_seconds(&recorded(Some(vec![0, SECOND_NS]), 2)));
        assert!(!counts_seconds(&recorded(None, 2)));
    }
}
