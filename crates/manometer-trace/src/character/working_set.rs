//! The working set: the number of different keys requested in each interval of a trace.
//!
//! The interval length is known only at the end. So keys are counted at every power-of-two multiple of the shortest
//! interval, each until there are too many intervals. A request is the first for its key in an interval if the request
//! before lies in another one, which the numbers of the two shortest intervals show for all lengths.

use std::collections::VecDeque;

use serde::Serialize;

/// The largest number of intervals.
pub const STRETCHES_MAX: usize = 256;
/// The shortest interval in time.
pub const STRETCH_NS: u64 = 1_000_000_000;
/// The shortest interval of a trace without times, in requests.
pub const STRETCH_REQUESTS: u64 = 1024;

/// The working set over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkingSet {
    /// The length of an interval in seconds, if the trace has times.
    pub stretch_s: Option<f64>,
    /// The length of an interval in requests, if it has none.
    pub stretch_requests: Option<u64>,
    /// The intervals; the last one may be shorter.
    pub stretches: Vec<WorkingSetInterval>,
}

/// One interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct WorkingSetInterval {
    /// The number of requests.
    pub requests: f64,
    /// The number of different keys.
    pub keys: f64,
    /// Keys requested for the first time in the trace.
    pub new_keys: f64,
    /// Bytes of the values of the different keys, if every request has a size.
    pub bytes: Option<f64>,
}

/// Counts intervals of all lengths.
#[derive(Debug)]
pub struct IntervalCounter {
    /// The intervals of each length from `shortest` on; there is one of the last length.
    lengths: VecDeque<Vec<IntervalCounts>>,
    /// The shortest length still counted, as a power of two.
    shortest: u32,
    has_all_sizes: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct IntervalCounts {
    /// Counted for the shortest length only.
    requests: f64,
    keys: f64,
    new_keys: f64,
    bytes: f64,
}

impl Default for IntervalCounter {
    fn default() -> Self {
        Self { lengths: vec![vec![IntervalCounts::default()]].into(), shortest: 0, has_all_sizes: true }
    }
}

impl IntervalCounter {
    /// Adds a request in the interval `stretch` of the shortest length; its key was last requested in `before`. Numbers
    /// do not go back.
    pub fn add(&mut self, stretch: u64, before: Option<u64>, bytes: Option<u64>, weight: f64) {
        self.has_all_sizes &= bytes.is_some();
        self.make_lengths(stretch);
        // From this length on both lie in the same interval.
        let same = before.map_or(u64::BITS, |before| u64::BITS - (before ^ stretch).leading_zeros());
        let bytes = bytes.unwrap_or(0) as f64 * weight;
        for (length, counted) in (self.shortest..).zip(&mut self.lengths) {
            if length >= same && length > self.shortest {
                break;
            }
            let at = (stretch >> length) as usize;
            if counted.len() <= at {
                counted.resize(at + 1, IntervalCounts::default());
            }
            let counted = &mut counted[at];
            if length == self.shortest {
                counted.requests += weight;
            }
            if length < same {
                counted.keys += weight;
                counted.bytes += bytes;
                counted.new_keys += if before.is_none() { weight } else { 0.0 };
            }
        }
    }

    /// Adds the lengths needed for the interval `stretch`, and drops those with too many intervals.
    fn make_lengths(&mut self, stretch: u64) {
        while stretch.unbounded_shr(self.shortest + self.lengths.len() as u32 - 1) > 0 {
            let whole = self.lengths.back().and_then(|last| last.first()).copied().unwrap_or_default();
            self.lengths.push_back(vec![IntervalCounts { requests: 0.0, ..whole }]);
        }
        while stretch >> self.shortest >= STRETCHES_MAX as u64 {
            let dropped = self.lengths.pop_front().unwrap_or_default();
            self.shortest += 1;
            let Some(next) = self.lengths.front_mut() else { break };
            next.resize(dropped.len().div_ceil(2).max(next.len()), IntervalCounts::default());
            dropped.iter().enumerate().for_each(|(at, counted)| next[at / 2].requests += counted.requests);
        }
    }

    /// The intervals of the shortest length that does not have too many.
    pub fn finish(&self, has_times: bool) -> WorkingSet {
        let stretch = |counted: &IntervalCounts| WorkingSetInterval {
            requests: counted.requests,
            keys: counted.keys,
            new_keys: counted.new_keys,
            bytes: self.has_all_sizes.then_some(counted.bytes),
        };
        let times = 2_f64.powi(self.shortest as i32);
        WorkingSet {
            stretch_s: has_times.then(|| times * STRETCH_NS as f64 / 1e9),
            stretch_requests: (!has_times).then(|| STRETCH_REQUESTS << self.shortest),
            stretches: self.lengths.front().map(|counted| counted.iter().map(stretch).collect()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, HashMap, HashSet};

    proptest! {
        #[test]
        fn stretches_of_every_length_are_exact(
            mut requests in prop::collection::vec((0_u64..4000, 0_u64..20, 1_u64..9), 1..300),
            far in prop::option::of(4000_u64..1 << 30),
        ) {
            requests.extend(far.map(|far| (far, 1, 1)));
            requests.sort_by_key(|request| request.0);
            let (mut counter, mut last) = (IntervalCounter::default(), HashMap::new());
            for (stretch, key, bytes) in &requests {
                counter.add(*stretch, last.insert(*key, *stretch), Some(*bytes), 1.0);
            }
            let counted = counter.finish(true);
            let length = counted.stretch_s.unwrap() as u64;
            let greatest = requests.last().unwrap().0;
            prop_assert!(greatest / length < STRETCHES_MAX as u64);
            prop_assert!(length == 1 || 2 * greatest / length >= STRETCHES_MAX as u64);
            let (mut expected, mut seen) = (BTreeMap::<u64, WorkingSetInterval>::new(), HashSet::new());
            let mut here = HashSet::new();
            for (stretch, key, bytes) in &requests {
                let of = expected.entry(stretch / length).or_default();
                of.requests += 1.0;
                if here.insert((stretch / length, *key)) {
                    of.keys += 1.0;
                    of.bytes = Some(of.bytes.unwrap_or(0.0) + *bytes as f64);
                    of.new_keys += if seen.insert(*key) { 1.0 } else { 0.0 };
                }
            }
            for (at, stretch) in counted.stretches.iter().enumerate() {
                let none = WorkingSetInterval { bytes: Some(0.0), ..WorkingSetInterval::default() };
                prop_assert_eq!(*stretch, expected.get(&(at as u64)).copied().unwrap_or(none));
            }
        }
    }

    #[test]
    fn an_unknown_size_leaves_no_bytes() {
        let mut counter = IntervalCounter::default();
        counter.add(0, None, Some(1), 1.0);
        counter.add(0, None, None, 1.0);
        let counted = counter.finish(false);
        assert_eq!((counted.stretches[0].bytes, counted.stretches[0].keys), (None, 2.0));
        assert_eq!((counted.stretch_s, counted.stretch_requests), (None, Some(STRETCH_REQUESTS)));
    }
}
