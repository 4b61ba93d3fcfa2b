//! The working set: the mean size of the objects requested in windows of a length (Denning, CACM 1968), over all
//! windows (the footprint of Xiang and others, ASPLOS 2013).
//!
//! A window counts a key at the last request for it within the window. A request at `i`, followed by the next request
//! for its key at `j`, is the last in `min(w, i, j − i, j − w)` windows of length `w`, or in none if that is negative.
//! As a function of `w` this changes its slope only at `i`, `j − i` and `j`, so that one pass over the trace computes
//! it for every length.
//!
//! With a sample, the most recent requests are tracked exactly, as for LRU's curve. So short windows are exact, and so
//! is the number of requests whose key is requested again only later or never; only how much later is estimated.

use std::collections::{HashMap, VecDeque};

use manometer_trace::Record;
use manometer_trace::key::IdHasher;
use rapidhash::v3::rapidhash_v3;

use super::interval::{KEY_GROUPS, interval_half_width};
use crate::error::CacheError;
use crate::sampling::{KeySample, Sampling};

/// The number of requests tracked exactly.
const HEAD_REQUESTS: usize = 1 << 16;
/// Windows per doubling of the default lengths.
const STEPS: u64 = 4;
const SECOND_NS: u64 = 1_000_000_000;
/// The default windows in time, in seconds.
const SECONDS: [u64; 10] = [1, 10, 60, 600, 3600, 21_600, 86_400, 604_800, 2_592_000, 31_536_000];

/// The lengths of windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowLengths {
    /// Lengths in requests.
    pub requests: Vec<u64>,
    /// Lengths in nanoseconds.
    pub times_ns: Vec<u64>,
}

impl Default for WindowLengths {
    /// Four per doubling, and common times.
    fn default() -> Self {
        let octaves = (0..60).flat_map(|octave| (STEPS + 1..=2 * STEPS).map(move |step| step << octave));
        Self {
            requests: (1..=STEPS).chain(octaves).collect(),
            times_ns: SECONDS.map(|seconds| seconds * SECOND_NS).into(),
        }
    }
}

/// The mean working set by window length.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkingSetCurve {
    /// Windows by number of requests, up to the whole trace.
    pub over_requests: Vec<WorkingSetWindow>,
    /// Windows by time, shorter than the trace; `None` if a request has no time.
    pub over_time: Option<Vec<WorkingSetWindow>>,
}

/// The windows of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkingSetWindow {
    /// The length in requests or nanoseconds.
    pub length: u64,
    /// The number of different keys.
    pub keys: WorkingSetSize,
    /// Their size in bytes, each key with the size of its last request in the window.
    pub bytes: WorkingSetSize,
}

/// The mean over all windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkingSetSize {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval; `None` if it is exact.
    pub error: Option<f64>,
}

/// One key, and its bytes.
type KeyWeight = [f64; 2];

/// Accumulates the working set.
pub(super) struct WorkingSetCounter {
    key_sample: KeySample,
    keys_max: usize,
    /// How often the sample was halved.
    halvings: i32,
    known: HashMap<u64, LastRequest, IdHasher>,
    head: RecentRequests,
    requests: WindowAxis,
    times: Option<WindowAxis>,
    first_ns: Option<u64>,
    now: RequestTime,
}

/// The time of a request: the number of requests before it, and the time since the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct RequestTime {
    position: u64,
    time_ns: u64,
}

/// A key's last request.
#[derive(Debug, Clone, Copy)]
struct LastRequest {
    at: RequestTime,
    weight: KeyWeight,
}

impl WorkingSetCounter {
    pub(super) fn new(windows: &WindowLengths, sampling: Sampling, seed: u64) -> Result<Self, CacheError> {
        let room = if sampling == Sampling::Full { usize::MAX } else { HEAD_REQUESTS };
        let (key_sample, keys_max) = KeySample::new(sampling, seed)?;
        Ok(Self {
            key_sample,
            keys_max,
            halvings: 0,
            known: HashMap::default(),
            head: RecentRequests { room, last: HashMap::default(), order: VecDeque::new() },
            requests: WindowAxis::new(&windows.requests),
            times: Some(WindowAxis::new(&windows.times_ns)),
            first_ns: None,
            now: RequestTime::default(),
        })
    }

    pub(super) fn add(&mut self, batch: &[Record]) {
        batch.iter().for_each(|record| self.request(record));
    }

    fn request(&mut self, record: &Record) {
        self.now.position += 1;
        match record.time_ns {
            // Time that goes back counts as unchanged.
            Some(time_ns) => {
                let first_ns = *self.first_ns.get_or_insert(time_ns);
                self.now.time_ns = self.now.time_ns.max(time_ns.saturating_sub(first_ns));
            }
            None => self.times = None,
        }
        let last = LastRequest { at: self.now, weight: [1.0, record.value_size.unwrap_or(0) as f64] };
        let before = self.head.put(record.key, last);
        if let Some(before) = before {
            self.each_axis(|axis, of| axis.within.add_reuse(&axis.lengths, of(before.at), of(last.at), before.weight));
        }
        if self.head.room < usize::MAX {
            self.sample(record.key, last, before.is_none());
            if let Some(gone) = self.head.drop_oldest(self.now) {
                let now = self.now;
                self.each_axis(|axis, of| axis.drop(of(gone.at), of(now), gone.weight));
            }
        }
    }

    /// Adds a request if its key is sampled; `is_late` is whether the request before it was dropped from the exact
    /// ones.
    fn sample(&mut self, key: u64, last: LastRequest, is_late: bool) {
        if !self.key_sample.contains(key) {
            return;
        }
        if let Some(before) = self.known.insert(key, last).filter(|_| is_late) {
            self.count_late(key, before, last.at);
        }
        while self.known.len() > self.keys_max {
            self.key_sample.halve();
            self.halvings += 1;
            let key_sample = self.key_sample;
            self.known.retain(|key, _| key_sample.contains(*key));
        }
    }

    fn count_late(&mut self, key: u64, before: LastRequest, at: RequestTime) {
        let group = rapidhash_v3(&key.to_le_bytes()) as usize % KEY_GROUPS;
        let weight = before.weight.map(|weight| weight * 2_f64.powi(self.halvings));
        self.each_axis(|axis, of| axis.late[group].add_reuse(&axis.lengths, of(before.at), of(at), weight));
    }

    fn each_axis(&mut self, mut count: impl FnMut(&mut WindowAxis, fn(RequestTime) -> u64)) {
        count(&mut self.requests, |moment| moment.position);
        if let Some(times) = &mut self.times {
            count(times, |moment| moment.time_ns);
        }
    }

    pub(super) fn finish(mut self) -> WorkingSetCurve {
        let end = RequestTime { position: self.now.position + 1, time_ns: self.now.time_ns };
        let head = std::mem::take(&mut self.head.last);
        for last in head.values() {
            self.each_axis(|axis, of| axis.within.add_reuse(&axis.lengths, of(last.at), of(end), last.weight));
        }
        let late = std::mem::take(&mut self.known).into_iter().filter(|(key, _)| !head.contains_key(key));
        late.for_each(|(key, last)| self.count_late(key, last, end));
        let rate = self.key_sample.rate();
        WorkingSetCurve {
            over_requests: self.requests.windows(end.position, rate),
            over_time: self.times.filter(|_| self.first_ns.is_some()).map(|axis| axis.windows(end.time_ns, rate)),
        }
    }
}

/// The most recent requests.
struct RecentRequests {
    room: usize,
    /// The last request of each key.
    last: HashMap<u64, LastRequest, IdHasher>,
    /// Their keys in order; unused if there is room for all.
    order: VecDeque<u64>,
}

impl RecentRequests {
    /// Adds a request. Returns the previous one for the same key.
    fn put(&mut self, key: u64, last: LastRequest) -> Option<LastRequest> {
        if self.room < usize::MAX {
            self.order.push_back(key);
        }
        self.last.insert(key, last)
    }

    /// Drops the oldest request if there is no room. Returns it unless its key was requested again.
    fn drop_oldest(&mut self, now: RequestTime) -> Option<LastRequest> {
        if self.order.len() <= self.room {
            return None;
        }
        let position = now.position - self.room as u64;
        let key = self.order.pop_front()?;
        let is_last = self.last.get(&key).is_some_and(|last| last.at.position == position);
        if is_last { self.last.remove(&key) } else { None }
    }
}

/// The sums for windows along one axis.
struct WindowAxis {
    lengths: Vec<u64>,
    /// For requests followed by one for their key while tracked exactly.
    within: PiecewiseLinear,
    /// For all others, as if no request followed.
    dropped: PiecewiseLinear,
    /// For those of the others whose key is sampled, with the request that followed, by group.
    late: [PiecewiseLinear; KEY_GROUPS],
    /// The shortest time until a request was dropped.
    exact_until: u64,
}

impl WindowAxis {
    fn new(lengths: &[u64]) -> Self {
        let mut lengths = lengths.to_vec();
        lengths.sort_unstable();
        lengths.dedup();
        let zero = PiecewiseLinear::new(lengths.len());
        Self {
            within: zero.clone(),
            dropped: zero.clone(),
            late: std::array::from_fn(|_| zero.clone()),
            lengths,
            exact_until: u64::MAX,
        }
    }

    fn drop(&mut self, at: u64, now: u64, weight: KeyWeight) {
        self.exact_until = self.exact_until.min(now - at);
        self.dropped.add_slope(weight);
        self.dropped.add_bend(&self.lengths, at, weight.map(|weight| -weight));
    }

    /// The windows of all lengths below `end`.
    fn windows(&self, end: u64, rate: f64) -> Vec<WorkingSetWindow> {
        let (within, dropped) = (self.within.values(&self.lengths), self.dropped.values(&self.lengths));
        let late: Vec<Vec<KeyWeight>> = self.late.iter().map(|late| late.values(&self.lengths)).collect();
        let shown = self.lengths.partition_point(|length| *length < end);
        let window = |at: usize| {
            let length = self.lengths[at];
            let amount = |what: usize| {
                let sum = match length <= self.exact_until {
                    true => Some((dropped[at][what], 0.0)),
                    false => self.estimate(what, &late, at, rate),
                };
                let (sum, error) = sum?;
                let windows = (end - length) as f64;
                let error = (length > self.exact_until && rate < 1.0).then_some(error / windows);
                Some(WorkingSetSize { mean: (within[at][what] + sum) / windows, error })
            };
            Some(WorkingSetWindow { length, keys: amount(0)?, bytes: amount(1)? })
        };
        (0..shown).map_while(window).collect()
    }

    /// The estimate for all dropped requests from the sampled ones, and half the width of its confidence interval;
    /// `None` if none is sampled.
    fn estimate(&self, what: usize, late: &[Vec<KeyWeight>], at: usize, rate: f64) -> Option<(f64, f64)> {
        let all = self.dropped.slope[what];
        let seen: f64 = self.late.iter().map(|late| late.slope[what]).sum();
        if seen == 0.0 {
            return (all == 0.0).then_some((0.0, 0.0));
        }
        let share = late.iter().map(|late| late[at][what]).sum::<f64>() / seen;
        let off = std::array::from_fn(|group| late[group][at][what] - share * self.late[group].slope[what]);
        Some((share * all, interval_half_width(&off, rate) / seen * all))
    }
}

/// A piecewise linear sum over requests, evaluated at the lengths of windows.
#[derive(Debug, Clone)]
struct PiecewiseLinear {
    slope: KeyWeight,
    /// Between each length and the one before, the sum of the slope changes, and of their products with their
    /// positions.
    bends: Vec<(KeyWeight, KeyWeight)>,
}

impl PiecewiseLinear {
    fn new(lengths: usize) -> Self {
        Self { slope: [0.0; 2], bends: vec![([0.0; 2], [0.0; 2]); lengths + 1] }
    }

    /// Adds a request at `from` whose key is next requested at `to`.
    fn add_reuse(&mut self, lengths: &[u64], from: u64, to: u64, weight: KeyWeight) {
        let less = weight.map(|weight| -weight);
        self.add_slope(weight);
        self.add_bend(lengths, from, less);
        self.add_bend(lengths, to - from, less);
        self.add_bend(lengths, to, weight);
    }

    fn add_slope(&mut self, weight: KeyWeight) {
        add(&mut self.slope, weight);
    }

    fn add_bend(&mut self, lengths: &[u64], at: u64, weight: KeyWeight) {
        let (bend, moment) = &mut self.bends[lengths.partition_point(|length| *length <= at)];
        add(bend, weight);
        add(moment, weight.map(|weight| weight * at as f64));
    }

    fn values(&self, lengths: &[u64]) -> Vec<KeyWeight> {
        let (mut slope, mut moment) = (self.slope, [0.0; 2]);
        let value = |(length, (bend, at)): (&u64, &(KeyWeight, KeyWeight))| {
            add(&mut slope, *bend);
            add(&mut moment, *at);
            std::array::from_fn(|what| *length as f64 * slope[what] - moment[what])
        };
        lengths.iter().zip(&self.bends).map(value).collect()
    }
}

fn add(sum: &mut KeyWeight, weight: KeyWeight) {
    sum.iter_mut().zip(weight).for_each(|(sum, weight)| *sum += weight);
}

#[cfg(test)]
mod tests {
    use super::*;
    use manometer_trace::TraceOperation;
    use proptest::prelude::*;

    fn record(key: u64, size: u64, time_ns: Option<u64>) -> Record {
        Record { time_ns, value_size: Some(size), ..Record::new(TraceOperation::Get, key) }
    }

    fn counted(records: &[Record], windows: &WindowLengths, sampling: Sampling, head: usize) -> WorkingSetCurve {
        let mut counter = WorkingSetCounter::new(windows, sampling, 1).unwrap();
        if sampling != Sampling::Full {
            counter.head.room = head;
        }
        counter.add(records);
        counter.finish()
    }

    /// Keys and bytes of a window, by counting all of it.
    fn plain(window: impl Iterator<Item = Record>) -> [f64; 2] {
        let last: HashMap<u64, u64> = window.map(|record| (record.key, record.value_size.unwrap())).collect();
        [last.len() as f64, last.values().sum::<u64>() as f64]
    }

    fn mean(windows: impl Iterator<Item = [f64; 2]>) -> [f64; 2] {
        let all: Vec<[f64; 2]> = windows.collect();
        [0, 1].map(|what| all.iter().map(|one| one[what]).sum::<f64>() / all.len() as f64)
    }

    fn is_near(window: &WorkingSetWindow, plain: [f64; 2]) -> bool {
        let near = |amount: WorkingSetSize, plain: f64| (amount.mean - plain).abs() < 1e-6 && amount.error.is_none();
        near(window.keys, plain[0]) && near(window.bytes, plain[1])
    }

    proptest! {
        #[test]
        fn windows_hold_what_all_of_them_hold_on_average(
            requests in prop::collection::vec((0_u64..12, 0_u64..9, 0_u64..4), 1..60), head in 1_usize..20,
        ) {
            let mut now = 5;
            let records: Vec<Record> = requests.iter().map(|(key, size, step)| {
                now += step;
                record(*key, *size, Some(now))
            }).collect();
            let span = now - records[0].time_ns.unwrap();
            let lengths: Vec<u64> = (1..300).collect();
            let windows = WindowLengths { requests: lengths.clone(), times_ns: lengths };
            // If every key is sampled, estimates are exact too.
            for sampling in [Sampling::Full, Sampling::Rate(1.0), Sampling::Keys(100)] {
                let counted = counted(&records, &windows, sampling, head);
                prop_assert_eq!(counted.over_requests.len(), records.len());
                for window in &counted.over_requests {
                    let plain = mean(records.windows(window.length as usize).map(|of| plain(of.iter().copied())));
                    prop_assert!(is_near(window, plain), "{:?} {:?} {:?}", sampling, window, plain);
                }
                let over_time = counted.over_time.unwrap();
                prop_assert_eq!(over_time.len() as u64, span.saturating_sub(1));
                for window in &over_time {
                    // Nothing changes between whole moments.
                    let held = (window.length..span).map(|end| {
                        let is_in = |record: &&Record| {
                            let at = record.time_ns.unwrap() - records[0].time_ns.unwrap();
                            at <= end && at + window.length > end
                        };
                        plain(records.iter().filter(is_in).copied())
                    });
                    let plain = mean(held);
                    prop_assert!(is_near(window, plain), "{:?} {:?} {:?}", sampling, window, plain);
                }
            }
        }
    }

    /// A trace with popular and unpopular keys.
    fn skewed(requests: u64) -> Vec<Record> {
        let key = |at: u64| {
            let hash = rapidhash_v3(&at.to_le_bytes());
            let share = (hash >> 11) as f64 / (1_u64 << 53) as f64;
            (share.powi(4) * 50_000.0) as u64
        };
        (0..requests).map(|at| record(key(at), 1 + key(at) % 100, Some(at * 1000))).collect()
    }

    #[test]
    fn samples_say_how_far_they_are_off() {
        let records = skewed(200_000);
        let windows =
            WindowLengths { times_ns: (1..20).map(|at| at * 10_000_000).collect(), ..WindowLengths::default() };
        let exact = counted(&records, &windows, Sampling::Full, 0);
        for sampling in [Sampling::Rate(0.1), Sampling::Keys(2000)] {
            let sampled = counted(&records, &windows, sampling, 1000);
            let pairs =
                |sampled: &[WorkingSetWindow], exact: &[WorkingSetWindow]| -> Vec<(WorkingSetSize, WorkingSetSize)> {
                    assert_eq!(sampled.len(), exact.len());
                    std::iter::zip(sampled, exact)
                        .flat_map(|(sampled, exact)| [(sampled.keys, exact.keys), (sampled.bytes, exact.bytes)])
                        .collect()
                };
            let mut all = pairs(&sampled.over_requests, &exact.over_requests);
            all.extend(pairs(&sampled.over_time.unwrap(), &exact.over_time.clone().unwrap()));
            let off = |(sampled, exact): &(WorkingSetSize, WorkingSetSize)| (sampled.mean - exact.mean).abs();
            let within = all.iter().filter(|pair| off(pair) <= pair.0.error.unwrap_or(1e-6 * pair.1.mean)).count();
            assert!(within * 100 >= all.len() * 80, "{sampling:?}: {within} of {}", all.len());
            let worst = all.iter().map(|pair| off(pair) / pair.1.mean).fold(0.0, f64::max);
            assert!(worst < 0.05, "{sampling:?}: {worst}");
            assert!(all.iter().any(|pair| pair.0.error.is_some()));
        }
    }

    #[test]
    fn without_times_there_are_no_windows_in_time() {
        let counted = counted(&[record(1, 1, None)], &WindowLengths::default(), Sampling::Full, 0);
        assert_eq!((counted.over_requests.len(), counted.over_time), (1, None));
    }

    #[test]
    fn without_requests_there_are_no_windows() {
        let counted = counted(&[], &WindowLengths::default(), Sampling::Keys(64), 10);
        assert_eq!(counted, WorkingSetCurve { over_requests: Vec::new(), over_time: None });
    }

    #[test]
    fn times_and_sizes_at_their_limits_are_counted() {
        let far = [record(1, u64::MAX, Some(0)), record(1, u64::MAX, Some(u64::MAX)), record(2, 0, Some(3))];
        let counted = counted(&far, &WindowLengths::default(), Sampling::Full, 0);
        assert_eq!(counted.over_requests[2].keys.mean, 2.0);
        assert!(counted.over_time.unwrap().iter().all(|window| window.keys.mean.is_finite()));
    }
}
