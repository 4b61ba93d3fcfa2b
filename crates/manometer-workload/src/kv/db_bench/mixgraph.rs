//! mixgraph: the model of a social graph's store. One draw decides everything about a request: its key,
//! whether it reads, writes or scans, and how long its value or its scan is.

use super::length_distribution::mixgraph_bytes;
use super::mersenne::{MersenneTwister, first_of};
use super::pareto::{Pareto, rounded_up};
use crate::kv::request::{KvOperation, KvRequest};

/// Shares of request types are counted in these.
const PARTS: f64 = 1000.0;
/// A key range with a smaller share than this gets none.
const SHARE_MIN: f64 = 1e-16;

/// mixgraph with all its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct MixGraph {
    /// Records that keys are drawn from.
    pub records: u64,
    /// A draw, modulo the last of these, below the first is a read, below the second a write, else a scan.
    pub below: [u64; 3],
    /// Which keys are hot.
    pub keys: MixGraphKeys,
    /// How long values are.
    pub values: Pareto,
    /// The longest value.
    pub value_max: usize,
    /// How many records scans take.
    pub scans: Pareto,
    /// Scans are shorter than this.
    pub scan_max: u32,
}

/// Which keys mixgraph requests.
#[derive(Debug, Clone, PartialEq)]
pub enum MixGraphKeys {
    /// Uniform.
    Random,
    /// By a power law y = a·x^b, scattered over all records; half of the numbers are negative, as db_bench's are.
    PowerLaw(PowerLaw),
    /// By ranges whose popularity follows a·exp(b·x) + c·exp(d·x), and within a range by a power law.
    Ranges(KeyRanges, PowerLaw),
}

impl std::fmt::Display for PowerLaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}·x^{}", self.a, self.b)
    }
}

/// A power law y = a·x^b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerLaw {
    /// Its factor, not 0.
    pub a: f64,
    /// Its exponent, not 0.
    pub b: f64,
}

impl PowerLaw {
    /// The x at which y is `u`, rounded up, as the seed of a number that scatters.
    #[inline]
    fn seed(self, u: f64) -> u64 {
        rounded_up((u / self.a).powf(1.0 / self.b)) as u64
    }
}

impl MixGraph {
    /// The request at `draw`, a number below the records.
    #[inline]
    pub(in crate::kv) fn request(&self, draw: u64) -> KvRequest {
        let record = self.record(draw);
        let u = draw as f64 / self.records as f64;
        match self.operation(draw) {
            KvOperation::Update => {
                let bytes = mixgraph_bytes(self.values, self.value_max, u) as u32;
                KvRequest { value_bytes: Some(bytes), ..KvRequest::of(KvOperation::Update, record) }
            }
            KvOperation::Scan => KvRequest { length: self.scan_length(u), ..KvRequest::of(KvOperation::Scan, record) },
            operation => KvRequest::of(operation, record),
        }
    }

    #[inline]
    fn operation(&self, draw: u64) -> KvOperation {
        let place = draw % self.below[2];
        if place < self.below[0] {
            KvOperation::Read
        } else if place < self.below[1] {
            KvOperation::Update
        } else {
            KvOperation::Scan
        }
    }

    #[inline]
    fn record(&self, draw: u64) -> u64 {
        match &self.keys {
            MixGraphKeys::Random => draw,
            MixGraphKeys::PowerLaw(power) => {
                let number = first_of(power.seed(draw as f64 / self.records as f64)) as i64;
                (number % self.records as i64) as u64
            }
            MixGraphKeys::Ranges(ranges, power) => ranges.record(draw, *power),
        }
    }

    /// The record sought, and as many more as the draw says.
    #[inline]
    fn scan_length(&self, u: f64) -> u32 {
        let steps = self.scans.exceeded_by(u) % i64::from(self.scan_max);
        1 + steps.max(0) as u32
    }
}

/// The bounds of the request types among the draws, from their shares.
pub(in crate::kv) fn below(ratios: [f64; 3]) -> [u64; 3] {
    let sum: f64 = ratios.iter().sum();
    let mut end = 0;
    ratios.map(|ratio| {
        end += (PARTS * (ratio / sum)).ceil() as u64;
        end
    })
}

/// Ranges of keys, each as hot as it has places among the draws.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyRanges {
    /// The first place of each range.
    starts: Vec<u64>,
    places: u64,
    records_each: u64,
}

impl KeyRanges {
    /// `count` ranges of `records` records together; nothing where no range gets a request.
    pub(in crate::kv) fn new(records: u64, count: u64, [a, b, c, d]: [f64; 4]) -> Option<Self> {
        let mut unit = 0.0;
        let mut widths: Vec<u64> = (1..=count)
            .rev()
            .map(|range| {
                let share = a * (b * range as f64).exp() + c * (d * range as f64).exp();
                let share = if share < SHARE_MIN { 0.0 } else { share };
                if unit == 0.0 && share > 0.0 {
                    unit = (1.0 / share).floor() + 1.0;
                }
                (unit * share).floor() as u64
            })
            .collect();
        let places = widths.iter().try_fold(0_u64, |sum, width| sum.checked_add(*width))?;
        // The shares alone decide the order of the ranges, so that every run with them finds the same.
        let mut twister = MersenneTwister::new(places);
        for range in 0..widths.len() {
            widths.swap(range, (twister.next() % count) as usize);
        }
        let starts = widths.iter().scan(0, |end, width| Some(std::mem::replace(end, *end + width))).collect();
        (places > 0).then_some(Self { starts, places, records_each: records / count })
    }

    #[inline]
    fn record(&self, draw: u64, power: PowerLaw) -> u64 {
        let place = draw % self.places;
        let range = self.starts.partition_point(|start| *start <= place).max(1) as u64 - 1;
        let u = (draw % self.records_each) as f64 / self.records_each as f64;
        self.records_each * range + first_of(power.seed(u)) % self.records_each
    }
}

/// mixgraph's request rate: a·sin(b·t + c) + d requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SineRate {
    /// Amplitude in requests per second.
    pub a: f64,
    /// Radians per second.
    pub b: f64,
    /// Radians at the start.
    pub c: f64,
    /// Requests per second in the middle.
    pub d: f64,
}

#[cfg(test)]
#[path = "mixgraph_tests.rs"]
mod tests;
