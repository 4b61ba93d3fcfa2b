//! The most requested keys of a trace with more keys than are kept.
//!
//! A sample of the keys does not show them: it contains each of the few keys with most of the requests or not. So all
//! keys are counted, and those with the fewest requests are dropped when there are too many (lossy counting, Manku and
//! Motwani, VLDB 2002). A key that is never dropped is counted exactly; the undercount of every other has a bound.

use std::collections::HashMap;

use crate::key::IdHasher;

/// A key is reported if its count is at least this many times the largest possible undercount.
const SURE: u64 = 2;

/// Counts of keys, reliable for keys with many requests.
#[derive(Debug)]
pub(super) struct Head {
    keys_max: usize,
    counts: HashMap<u64, u64, IdHasher>,
    /// The largest possible undercount of a key.
    lost: u64,
}

impl Head {
    /// Continues from exact counts.
    pub(super) fn new(counts: impl Iterator<Item = (u64, u64)>, keys_max: usize) -> Self {
        Self { keys_max, counts: counts.collect(), lost: 0 }
    }

    /// Counts a request.
    pub(super) fn add(&mut self, key: u64) {
        *self.counts.entry(key).or_default() += 1;
        if self.counts.len() > self.keys_max {
            self.forget();
        }
    }

    /// Drops the less requested half of the keys.
    fn forget(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let half = counts.len() / 2;
        let (_, most, _) = counts.select_nth_unstable(half);
        let most = *most;
        self.counts.retain(|_, count| *count > most);
        self.lost += most;
    }

    /// The fewest requests of a reliably counted key.
    pub(super) fn least(&self) -> u64 {
        self.lost.saturating_mul(SURE).max(1)
    }

    /// The keys with at least as many requests, and their counts.
    pub(super) fn keys(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let least = self.least();
        self.counts.iter().map(|(key, count)| (*key, *count)).filter(move |(_, count)| *count >= least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_requested_of_endless_keys_are_counted() {
        let mut head = Head::new([(7, 1000)].into_iter(), 1000);
        for number in 0..200_000_u64 {
            // Every tenth request is for one of ten keys; each other request is for a new key.
            head.add(if number % 10 == 0 { number / 10 % 10 } else { u64::MAX - number });
        }
        let mut keys: Vec<(u64, u64)> = head.keys().collect();
        keys.sort_unstable();
        assert_eq!(keys.len(), 10);
        let mut expected = vec![2000; 10];
        expected[7] += 1000;
        for ((key, count), expected) in keys.into_iter().zip(expected) {
            assert!(count <= expected && count + head.lost >= expected, "{key}: {count} for {expected}");
        }
        assert!(head.counts.len() <= 1000 && head.least() <= 20_000);
    }
}
