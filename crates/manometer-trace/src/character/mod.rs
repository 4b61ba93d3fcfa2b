//! The characterisation of a trace in one pass with bounded memory, one aspect per file.

pub mod counts;
pub mod device;
pub mod diurnal;
mod fractional;
mod head;
pub mod histogram;
pub mod hurst;
pub mod keys;
pub mod model;
pub mod popularity;
mod positions;
pub mod sessions;
pub mod working_set;
pub mod zipf;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::{Record, TraceOperation};
use counts::{ArrivalCounts, Dispersion};
use device::BlockDeviceLoad;
use diurnal::Diurnal;
use histogram::{Distribution, Histogram};
use hurst::Hurst;
use keys::{Keys, RequestTime};
use model::{CapturePoint, ModelRecommendation};
use popularity::{KeyCounts, Popularity};
use sessions::Sessions;
use working_set::WorkingSet;

/// Options of the characterisation.
#[derive(Debug, Clone, Copy)]
pub struct CharacterOptions {
    /// Up to this many keys all results are exact; above it keys are sampled.
    pub keys_max: usize,
    /// A client's session ends after this time without a request.
    pub session_gap_ns: u64,
    /// The store's latency, for comparison with the inter-arrival times of a client.
    pub latency_ns: Option<u64>,
    /// Where the trace was taken.
    pub taken_at: Option<CapturePoint>,
}

impl Default for CharacterOptions {
    /// Four million keys, which take about 800 MB, and sessions that end after half an hour.
    fn default() -> Self {
        Self { keys_max: 1 << 22, session_gap_ns: 1_800_000_000_000, latency_ns: None, taken_at: None }
    }
}

/// Accumulates the character of a trace.
#[derive(Debug)]
pub struct Character {
    options: CharacterOptions,
    requests: u64,
    operations: [(u64, u128); TraceOperation::ALL.len()],
    key_sizes: Histogram,
    value_sizes: Histogram,
    times: Times,
    gaps: Histogram,
    counts: ArrivalCounts,
    keys: Keys,
    cold: f64,
    reuse_distances: Histogram,
    reuse_times: Histogram,
    working_set: working_set::IntervalCounter,
    sessions: sessions::SessionCounter,
    device: device::BlockDeviceCounter,
}

/// The times so far.
#[derive(Debug, Default)]
struct Times {
    /// Whether the first request has a time: if so the working set is divided by time, else by requests.
    first_has_time: bool,
    first_ns: Option<u64>,
    previous_ns: u64,
    earliest_ns: u64,
    latest_ns: u64,
    absent: u64,
    backward: u64,
    equal: u64,
    /// The greatest common divisor of all inter-arrival times; 0 if all times are equal.
    resolution_ns: u64,
}

/// The character of a trace. What the trace does not contain is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The number of requests.
    pub requests: u64,
    /// The number of different keys; an estimate if they are sampled.
    pub keys: f64,
    /// How keys were counted.
    pub key_sample: KeySample,
    /// The time from the earliest request to the latest.
    pub span_s: Option<f64>,
    /// Requests without a time, or with one earlier than or equal to that of the request before.
    pub times: TimesReport,
    /// Requests and bytes by operation.
    pub operations: BTreeMap<&'static str, OperationShare>,
    /// Key sizes in bytes.
    pub key_size_bytes: Option<Distribution>,
    /// Value sizes, or sizes of block requests, in bytes.
    pub value_size_bytes: Option<Distribution>,
    /// The popularity of keys.
    pub popularity: Option<Popularity>,
    /// Reuse distances: different keys requested between two requests for the same key.
    pub reuse_distance: Reuse,
    /// Times between two requests for the same key.
    pub reuse_time_s: Option<Distribution>,
    /// The working set over time.
    pub working_set: WorkingSet,
    /// Inter-arrival times.
    pub inter_arrival_s: Option<Distribution>,
    /// Burstiness and long-range dependence.
    pub burstiness: Burstiness,
    /// The daily pattern.
    pub diurnal: Option<Diurnal>,
    /// Why there is no daily pattern.
    pub diurnal_reason: Option<String>,
    /// The clients' sessions.
    pub sessions: Option<Sessions>,
    /// Why there are no sessions.
    pub sessions_reason: Option<String>,
    /// The recommended replay model.
    pub replay_model: ModelRecommendation,
    /// Block requests.
    pub device: Option<BlockDeviceLoad>,
}

/// How keys were counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KeySample {
    /// `exact`, or `sampled` by the hashes of the keys.
    pub method: &'static str,
    /// The share of the keys that was counted.
    pub rate: f64,
}

/// Missing and irregular times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimesReport {
    /// Requests without a time.
    pub absent: u64,
    /// Requests earlier than the one before.
    pub backward: u64,
    /// Requests with the time of the request before.
    pub equal: u64,
    /// The resolution of the trace's clock: the longest time that divides all inter-arrival times. Shorter
    /// inter-arrival times are unknown.
    pub resolution_s: Option<f64>,
}

/// The requests of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OperationShare {
    /// The number of requests.
    pub requests: u64,
    /// Their share of all requests.
    pub share: f64,
    /// Bytes of their values.
    pub bytes: f64,
}

/// Reuse distances: the number of different keys from one request for a key to the next, including the key itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reuse {
    /// `exact`, or `sampled` by the hashes of the keys (SHARDS).
    pub method: &'static str,
    /// First requests for a key.
    pub cold_requests: f64,
    /// The share of first requests.
    pub cold_share: f64,
    /// The distances of all other requests.
    pub distances: Option<Distribution>,
}

/// Burstiness of the series of requests per window of one second, or more for very long traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Burstiness {
    /// The length of a window.
    pub window_s: f64,
    /// Windows that lie completely within the trace.
    pub windows: usize,
    /// The index of dispersion by window length.
    pub dispersion: Vec<Dispersion>,
    /// The Hurst exponent by rescaled range.
    pub hurst_rs: Option<Hurst>,
    /// The Hurst exponent by detrended fluctuation analysis.
    pub hurst_dfa: Option<Hurst>,
    /// Why there is no Hurst exponent.
    pub reason: Option<String>,
}

impl Character {
    /// An empty character.
    pub fn new(options: CharacterOptions) -> Self {
        Self {
            options,
            requests: 0,
            operations: [(0, 0); TraceOperation::ALL.len()],
            key_sizes: Histogram::default(),
            value_sizes: Histogram::default(),
            times: Times::default(),
            gaps: Histogram::default(),
            counts: ArrivalCounts::default(),
            keys: Keys::new(options.keys_max),
            cold: 0.0,
            reuse_distances: Histogram::default(),
            reuse_times: Histogram::default(),
            working_set: working_set::IntervalCounter::default(),
            sessions: sessions::SessionCounter::new(options.session_gap_ns),
            device: device::BlockDeviceCounter::default(),
        }
    }

    /// Adds the next records.
    pub fn add(&mut self, records: &[Record]) {
        for record in records {
            self.add_time(record.time_ns);
            self.add_key(record);
            self.requests += 1;
            let operation = &mut self.operations[record.operation as usize];
            operation.0 += 1;
            if let Some(size) = record.value_size {
                operation.1 += u128::from(size);
                self.value_sizes.add(size, 1.0);
            }
            if let Some(size) = record.key_size {
                self.key_sizes.add(size.into(), 1.0);
            }
            if let (Some(client), Some(time)) = (record.client, record.time_ns) {
                self.sessions.add(client, time);
            }
            self.device.add(record);
        }
    }

    fn add_time(&mut self, time_ns: Option<u64>) {
        let times = &mut self.times;
        let Some(time) = time_ns else {
            times.absent += 1;
            return;
        };
        if times.first_ns.is_none() {
            times.first_has_time = self.requests == 0;
            (times.first_ns, times.earliest_ns, times.latest_ns) = (Some(time), time, time);
            times.previous_ns = time;
        } else if time >= times.previous_ns {
            self.gaps.add(time - times.previous_ns, 1.0);
            times.equal += u64::from(time == times.previous_ns);
        } else {
            times.backward += 1;
        }
        times.resolution_ns = common_divisor(times.resolution_ns, time.abs_diff(times.previous_ns));
        times.previous_ns = time;
        times.earliest_ns = times.earliest_ns.min(time);
        times.latest_ns = times.latest_ns.max(time);
        self.counts.add(time);
    }

    fn add_key(&mut self, record: &Record) {
        let times = &self.times;
        let window = match times.first_has_time {
            true => (times.latest_ns - times.first_ns.unwrap_or(0)) / working_set::STRETCH_NS,
            false => self.requests / working_set::STRETCH_REQUESTS,
        };
        let moment = RequestTime { time_ns: record.time_ns, window };
        let Some(reference) = self.keys.request(record.key, moment) else { return };
        let last = reference.reuse.map(|reuse| reuse.last);
        self.working_set.add(window, last.map(|last| last.window), record.value_size, reference.weight);
        match reference.reuse {
            None => self.cold += reference.weight,
            Some(reuse) => self.reuse_distances.add(reuse.distance, reference.weight),
        }
        if let (Some(time), Some(last)) = (record.time_ns, last.and_then(|last| last.time_ns)) {
            self.reuse_times.add(time.saturating_sub(last), reference.weight);
        }
    }

    /// The character of the records so far.
    pub fn report(&self) -> Report {
        let method = if self.keys.rate() < 1.0 { "sampled" } else { "exact" };
        let times = &self.times;
        let diurnal = match times.first_ns {
            Some(_) => diurnal::diurnal(&self.counts),
            None => Err("the trace has no times".to_owned()),
        };
        let sessions = self.sessions.finish(self.options.latency_ns);
        let device = self.device.finish();
        let distances = self.distances();
        Report {
            requests: self.requests,
            keys: self.keys.count(),
            key_sample: KeySample { method, rate: self.keys.rate() },
            span_s: times.first_ns.map(|_| (times.latest_ns - times.earliest_ns) as f64 / 1e9),
            times: TimesReport {
                absent: times.absent,
                backward: times.backward,
                equal: times.equal,
                resolution_s: (times.resolution_ns > 0).then(|| times.resolution_ns as f64 / 1e9),
            },
            operations: self.operations(),
            key_size_bytes: self.key_sizes.distribution(1.0),
            value_size_bytes: self.value_sizes.distribution(1.0),
            popularity: popularity::popularity(self.counted()),
            reuse_distance: Reuse {
                method,
                cold_requests: self.cold(),
                cold_share: self.cold() / self.requests.max(1) as f64,
                distances: distances.distribution(1.0),
            },
            reuse_time_s: self.reuse_times.distribution(1e-9),
            working_set: self.working_set.finish(times.first_has_time),
            inter_arrival_s: self.gaps.distribution(1e-9),
            burstiness: self.burstiness(),
            diurnal_reason: diurnal.as_ref().err().cloned(),
            diurnal: diurnal.ok(),
            sessions_reason: sessions.is_none().then(|| "no request has both its client and its time".to_owned()),
            replay_model: model::recommend(self.options.taken_at, sessions.as_ref(), device.is_some()),
            sessions,
            device,
        }
    }

    /// The most requested keys with their counts, and the fewest requests of such a key.
    pub fn most_requested(&self) -> (Vec<(u64, u64)>, u64) {
        self.keys.most_requested()
    }

    fn counted(&self) -> KeyCounts {
        let (most, least) = self.most_requested();
        let (sample, weight) = (self.keys.requests().collect(), 1.0 / self.keys.rate());
        KeyCounts { sample, weight, most, least, requests: self.requests }
    }

    /// First requests; an estimate is limited to the number of requests.
    fn cold(&self) -> f64 {
        self.cold.min(self.requests as f64)
    }

    /// The distances of all requests but first ones. If keys are sampled, the difference between the sampled and the
    /// expected number of requests is attributed to a few popular keys with short distances (SHARDS-adj).
    fn distances(&self) -> Histogram {
        let mut distances = self.reuse_distances.clone();
        let missing = self.requests as f64 - self.cold() - distances.weight();
        if self.keys.rate() < 1.0 {
            if missing > 0.0 { distances.add(1, missing) } else { distances.take_off(-missing) }
        }
        distances
    }

    /// The LRU miss ratio for caches of 1 key, 2 keys and so on in steps of a few percent, up to 2^64.
    pub fn miss_ratios(&self) -> Vec<f64> {
        let (distances, all) = (self.distances(), self.requests.max(1) as f64);
        distances.cumulated().map(|hits| 1.0 - hits / all).collect()
    }

    /// The shares of requests for the given shares of most requested keys; empty without keys.
    pub fn top_shares(&self, keys_shares: &[f64]) -> Vec<f64> {
        let KeyCounts { sample, weight, most, requests, .. } = self.counted();
        let [sample, most] = [sample, most].map(|keys| {
            let mut counts: Vec<u64> = keys.into_iter().map(|(_, requests)| requests).collect();
            counts.sort_unstable_by(|one, other| other.cmp(one));
            counts
        });
        match requests {
            0 => Vec::new(),
            _ => popularity::top_shares(&sample, &most, weight, requests, keys_shares),
        }
    }

    /// The Kolmogorov-Smirnov distance between the inter-arrival times of two traces, with the accuracy of a bucket;
    /// `None` if one has none.
    pub fn gap_distance(&self, other: &Self) -> Option<f64> {
        let (one, all, other, others) =
            (self.gaps.cumulated(), self.gaps.weight(), other.gaps.cumulated(), other.gaps.weight());
        let distances = one.zip(other).map(|(one, other)| (one / all - other / others).abs());
        (all > 0.0 && others > 0.0).then(|| distances.fold(0.0, f64::max))
    }

    /// Reuse distances in octaves.
    pub fn reuse_octaves(&self) -> Vec<(u64, u128, f64)> {
        self.distances().octaves()
    }

    fn operations(&self) -> BTreeMap<&'static str, OperationShare> {
        let seen = TraceOperation::ALL.iter().zip(&self.operations).filter(|(_, (requests, _))| *requests > 0);
        let share = |(operation, (requests, bytes)): (&TraceOperation, &(u64, u128))| {
            let share = *requests as f64 / self.requests as f64;
            (operation.name(), OperationShare { requests: *requests, share, bytes: *bytes as f64 })
        };
        seen.map(share).collect()
    }

    fn burstiness(&self) -> Burstiness {
        let counts = self.counts.whole();
        let window_s = self.counts.window_ns() as f64 / 1e9;
        let (hurst_rs, hurst_dfa) = (hurst::rescaled_range(&counts), hurst::detrended_fluctuation(&counts));
        let reason = match (hurst_rs.or(hurst_dfa), self.times.first_ns) {
            (Some(_), _) => None,
            (None, None) => Some("the trace has no times".to_owned()),
            (None, _) if counts.len() < hurst::LENGTH_MIN => Some(format!(
                "the trace covers {} windows of {window_s} s: a Hurst exponent needs {}",
                counts.len(),
                hurst::LENGTH_MIN
            )),
            (None, _) => Some("every window has as many requests as every other".to_owned()),
        };
        Burstiness {
            window_s,
            windows: counts.len(),
            dispersion: counts::dispersion(&counts, window_s),
            hurst_rs,
            hurst_dfa,
            reason,
        }
    }
}

/// The greatest common divisor (Euclid); with 0, the other number.
fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while one > 0 {
        (one, other) = (other % one, one);
    }
    other
}
