//! The state of each key or client: of all up to a limit, above it of a sample by their hashes (SHARDS with a fixed
//! size, Waldspurger and others, FAST 2015). Sampled ids are tracked from their first request on.

use std::collections::HashMap;

use crate::key::IdHasher;
use crate::transform::sample::SpatialFilter;

/// The state of each id.
#[derive(Debug)]
pub(super) struct Sampled<T> {
    ids_max: usize,
    filter: SpatialFilter,
    known: HashMap<u64, T, IdHasher>,
}

/// A sum over all ids, possibly estimated from a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    /// The variance of the estimate; 0 if it is exact.
    pub(super) variance: f64,
}

impl Estimate {
    /// The sum of `parts`, each of which was sampled with probability `rate` (Horvitz and Thompson 1952).
    pub(super) fn of(parts: impl Iterator<Item = u64>, rate: f64) -> Self {
        let (mut sum, mut squares) = (0_u128, 0.0);
        for part in parts {
            sum += u128::from(part);
            squares += (part as f64).powi(2);
        }
        Self { value: sum as f64 / rate, variance: squares * (1.0 - rate) / rate.powi(2) }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, variance: self.variance + other.variance }
    }

    /// The standard error, if it is an estimate.
    pub(super) fn standard_error(self) -> Option<f64> {
        (self.variance > 0.0).then(|| self.variance.sqrt())
    }
}

impl<T: Default> Sampled<T> {
    /// Tracks up to `ids_max` ids exactly.
    pub(super) fn new(ids_max: usize) -> Self {
        Self { ids_max, filter: SpatialFilter::ALL, known: HashMap::default() }
    }

    /// The state of `id`; `None` if it is not in the sample.
    #[inline]
    pub(super) fn of(&mut self, id: u64) -> Option<&mut T> {
        if self.known.len() > self.ids_max {
            self.filter = self.filter.halved();
            let filter = self.filter;
            self.known.retain(|id, _| filter.keeps(*id));
        }
        self.filter.keeps(id).then(|| self.known.entry(id).or_default())
    }

    /// The number of ids.
    pub(super) fn count(&self) -> Estimate {
        self.sum(|_| 1)
    }

    /// The sum of `part` over all ids.
    pub(super) fn sum(&self, part: impl Fn(&T) -> u64) -> Estimate {
        Estimate::of(self.known.values().map(part), self.filter.rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_the_bound_all_is_exact() {
        let mut ids = Sampled::<u64>::new(1_000);
        for number in 0..5_000 {
            *ids.of(number % 1_000).unwrap() += 1;
        }
        assert_eq!(ids.count(), Estimate { value: 1_000.0, variance: 0.0 });
        assert_eq!((ids.sum(|count| *count).value, ids.count().standard_error()), (5_000.0, None));
    }

    #[test]
    fn above_it_sums_are_estimates_that_are_as_sure_as_they_say() {
        let mut misses = 0;
        for part in 0..40_u64 {
            let mut ids = Sampled::<u64>::new(500);
            for number in 0..20_000 {
                if let Some(size) = ids.of(part << 32 | number) {
                    *size = number % 10;
                }
            }
            assert!(ids.known.len() <= 501);
            for (found, truth) in [(ids.count(), 20_000.0), (ids.sum(|size| *size), 90_000.0)] {
                let error = found.standard_error().unwrap();
                assert!(
                    error / found.value < 0.1 && (found.value - truth).abs() < 5.0 * error,
                    "{found:?} for {truth}"
                );
                misses += u32::from((found.value - truth).abs() > 2.0 * error);
            }
        }
        assert!(misses <= 12, "{misses} of 80 are more than two standard errors off");
    }
}
