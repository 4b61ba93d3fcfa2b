//! The model of a trace, as stored in its JSON file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::FitError;
use crate::error::TraceError;
use crate::record::TraceOperation;

/// The version of the file.
pub const VERSION: u32 = 1;
/// The number of equal parts of a trace, which show when keys appear and disappear.
pub const SEGMENTS: u32 = 32;
/// The largest number of arrival windows.
pub const WINDOWS_MAX: usize = 4096;
/// The largest number of requests and of keys in a model.
const COUNT_MAX: u64 = 1 << 40;
/// The most keys that live at a time; each takes about 100 bytes in the generator.
const LIVING_MAX: u64 = 1 << 25;
/// An octave has 2^2 buckets.
const SUB_BITS: u32 = 2;

/// A model of a trace, without its keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceModel {
    /// The version of the file.
    pub manometer_trace_model: u32,
    /// The number of requests.
    pub requests: u64,
    /// The number of different keys.
    pub keys: u64,
    /// Classes of keys by request count.
    pub classes: Vec<Class>,
    /// Arrivals, if the trace has times.
    pub arrivals: Option<Arrivals>,
    /// Reuse distances of the trace; all other requests are first ones. The gaps have to reproduce them.
    pub reuse_distances: Vec<Octave>,
    /// The distance of a trace generated from the model from the trace it was fitted to.
    pub fit_error: Option<FitError>,
}

/// Keys with similar request counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The mean number of requests per key.
    pub requests_per_key: f64,
    /// The parts of the trace, from 0, in which keys are first and last requested.
    pub lives: Vec<KeyLifetime>,
    /// The number of requests, of all keys, between two for the same key.
    pub gaps: Vec<Bucket>,
    /// Value sizes in bytes, one per key; empty if unknown.
    pub value_sizes: Vec<Bucket>,
    /// Key sizes in bytes; empty if unknown.
    pub key_sizes: Vec<Bucket>,
    /// The shares of the operations of first requests.
    pub first_operations: BTreeMap<String, f64>,
    /// The shares of the operations of all others.
    pub operations: BTreeMap<String, f64>,
}

/// The number of keys first requested in one part of the trace and last in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyLifetime {
    /// The part of the first request.
    pub first: u32,
    /// The part of the last request.
    pub last: u32,
    /// The number of keys.
    pub keys: u64,
}

/// The arrivals of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// The length of a window in nanoseconds.
    pub window_ns: u64,
    /// The requests of each window.
    pub requests: Vec<u64>,
    /// Inter-arrival times, in 1/1024 of the mean of their window.
    pub gaps: Vec<Bucket>,
}

/// Numbers from `from` inclusive to `below` exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// The lower bound, inclusive.
    pub from: u64,
    /// The upper bound, exclusive.
    pub below: u64,
    /// Their mean.
    pub mean: f64,
    /// Their count.
    pub weight: f64,
}

/// Requests with a reuse distance from `from` inclusive to `below` exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Octave {
    /// The smallest distance, inclusive.
    pub from: u64,
    /// The largest distance, exclusive.
    pub below: u64,
    /// The number of requests.
    pub requests: f64,
}

/// Counts numbers into buckets.
#[derive(Debug, Clone, Default)]
pub(super) struct Buckets(BTreeMap<u32, (f64, f64)>);

impl Buckets {
    pub(super) fn add(&mut self, number: u64, weight: f64) {
        let shift = number.max(1).ilog2().saturating_sub(SUB_BITS);
        let bucket = (shift << SUB_BITS) + (number >> shift) as u32;
        let (all, sum) = self.0.entry(bucket).or_default();
        *all += weight;
        *sum += weight * number as f64;
    }

    pub(super) fn finish(&self) -> Vec<Bucket> {
        let bucket = |(bucket, (weight, sum)): (&u32, &(f64, f64))| {
            let shift = (bucket >> SUB_BITS).saturating_sub(1);
            let first = u64::from(bucket - (shift << SUB_BITS));
            let below = u64::try_from(u128::from(first + 1) << shift).unwrap_or(u64::MAX);
            Bucket { from: first << shift, below, mean: sum / weight, weight: *weight }
        };
        self.0.iter().map(bucket).collect()
    }
}

impl TraceModel {
    /// Checks that a trace can be generated from the model, which may come from anywhere.
    ///
    /// # Errors
    /// It cannot; the text says what is wrong.
    pub fn check(&self) -> Result<(), TraceError> {
        let wrong = |what: &str| Err(TraceError::Wrong(format!("this is not a model to generate from: {what}")));
        if self.manometer_trace_model != VERSION {
            return wrong(&format!("its version is {}, this Manometer knows {VERSION}", self.manometer_trace_model));
        }
        if !(1..=COUNT_MAX).contains(&self.requests) {
            return wrong("`requests` is not between 1 and 2^40");
        }
        let lives = || self.classes.iter().flat_map(|class| &class.lives);
        let keys = lives().try_fold(0_u64, |keys, life| keys.checked_add(life.keys));
        if !keys.is_some_and(|keys| (1..=self.requests.saturating_mul(2)).contains(&keys)) {
            return wrong("`lives` have no keys, or more than requests");
        }
        if lives().any(|life| life.first > life.last || life.last >= SEGMENTS) {
            return wrong("a life in `lives` ends before it begins, or exceeds part 31");
        }
        let living_in = |part: u32| {
            let living = lives().filter(|life| (life.first..=life.last).contains(&part));
            living.fold(0_u64, |keys, life| keys.saturating_add(life.keys))
        };
        if (0..SEGMENTS).any(|part| living_in(part) > LIVING_MAX) {
            return wrong("in a part of it more than 33,554,432 keys live at a time: sample the trace before");
        }
        self.classes.iter().try_for_each(|class| class.check().or_else(wrong))?;
        self.arrivals.iter().try_for_each(|arrivals| arrivals.check().or_else(wrong))
    }
}

impl Class {
    fn check(&self) -> Result<(), &'static str> {
        let is_count = |count: f64| (1.0..=COUNT_MAX as f64).contains(&count);
        let has_shares = |shares: &BTreeMap<String, f64>| {
            shares.keys().all(|name| name.parse::<TraceOperation>().is_ok_and(|operation| !operation.is_block()))
                && shares.values().all(|share| (0.0..=1.0).contains(share))
                && shares.values().sum::<f64>() > 0.0
        };
        let repeats = self.requests_per_key > 1.0;
        match () {
            () if !is_count(self.requests_per_key) => Err("`requests_per_key` is not a count"),
            () if !has_shares(&self.first_operations) => Err("`first_operations` are not shares of operations on keys"),
            () if repeats && !has_shares(&self.operations) => Err("`operations` are not shares of operations on keys"),
            () if repeats && self.gaps.is_empty() => Err("a class with repeated requests has no `gaps`"),
            () => [&self.gaps, &self.value_sizes, &self.key_sizes].into_iter().try_for_each(|buckets| check(buckets)),
        }
    }
}

impl Arrivals {
    fn check(&self) -> Result<(), &'static str> {
        let requests = self.requests.iter().try_fold(0_u64, |sum, requests| sum.checked_add(*requests));
        match () {
            () if self.requests.len() > WINDOWS_MAX => Err("there are more than 4,096 windows of arrivals"),
            () if self.window_ns == 0 => Err("`window_ns` is 0"),
            () if !requests.is_some_and(|requests| (1..=COUNT_MAX).contains(&requests)) => Err("no requests arrive"),
            () => check(&self.gaps),
        }
    }
}

fn check(buckets: &[Bucket]) -> Result<(), &'static str> {
    let is_right = |bucket: &Bucket| {
        bucket.from < bucket.below
            && (bucket.from as f64..=bucket.below as f64).contains(&bucket.mean)
            && bucket.weight > 0.0
            && bucket.weight.is_finite()
    };
    if buckets.iter().all(is_right) { Ok(()) } else { Err("a bucket is empty, or its mean lies outside of it") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_holds_its_numbers(number: u64) {
            let mut buckets = Buckets::default();
            buckets.add(number, 2.0);
            let bucket = buckets.finish()[0];
            prop_assert!(bucket.from <= number && (number < bucket.below || number == u64::MAX));
            prop_assert!(bucket.below - bucket.from <= 1.max(number / 4 + 1));
            prop_assert_eq!((bucket.mean, bucket.weight), (number as f64, 2.0));
        }
    }
}
