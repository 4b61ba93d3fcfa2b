//! A weighted histogram of 64-bit numbers: logarithmic buckets, each at most 1/32 of its value wide.

use serde::Serialize;

/// An octave has 2^5 buckets.
const SUB_BITS: u32 = 5;
const SUB_BUCKETS: u64 = 1 << SUB_BITS;

/// A histogram of numbers.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    buckets: Vec<Bucket>,
    weight: f64,
    sum: f64,
    squares: f64,
    min: u64,
    max: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    weight: f64,
    sum: f64,
}

/// A distribution, for machines. Quantiles are exact if few different numbers occur, as with sizes; otherwise their
/// error is at most 3.2 %.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distribution {
    /// The number of samples; an estimate if keys were sampled.
    pub samples: f64,
    /// The minimum.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The coefficient of variation: standard deviation divided by mean.
    pub variation: Option<f64>,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The maximum.
    pub max: f64,
    /// The octaves that contain numbers.
    pub histogram: Vec<Bin>,
}

/// The count of numbers from `from` inclusive to `below` exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    /// The lower bound, inclusive.
    pub from: f64,
    /// The upper bound, exclusive.
    pub below: f64,
    /// The count.
    pub samples: f64,
}

fn bucket_of(number: u64) -> usize {
    let exponent = number.max(1).ilog2();
    let shift = exponent.saturating_sub(SUB_BITS);
    (u64::from(shift) * SUB_BUCKETS + (number >> shift)) as usize
}

/// The upper bound of a bucket, exclusive.
fn end_of(bucket: usize) -> u128 {
    let bucket = bucket as u64;
    if bucket < 2 * SUB_BUCKETS {
        return u128::from(bucket) + 1;
    }
    let shift = bucket / SUB_BUCKETS - 1;
    u128::from(bucket % SUB_BUCKETS + SUB_BUCKETS + 1) << shift
}

impl Histogram {
    /// Counts a number with a weight.
    pub fn add(&mut self, number: u64, weight: f64) {
        let bucket = bucket_of(number);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, Bucket::default());
        }
        let bucket = &mut self.buckets[bucket];
        bucket.weight += weight;
        bucket.sum += number as f64 * weight;
        self.min = if self.weight == 0.0 { number } else { self.min.min(number) };
        self.max = self.max.max(number);
        self.weight += weight;
        self.sum += number as f64 * weight;
        self.squares += (number as f64).powi(2) * weight;
    }

    /// Removes `weight` from the smallest numbers.
    pub fn take_off(&mut self, weight: f64) {
        let mut left = weight;
        for bucket in self.buckets.iter_mut().filter(|bucket| bucket.weight > 0.0) {
            let (taken, mean) = (left.min(bucket.weight), bucket.sum / bucket.weight);
            *bucket = Bucket { weight: bucket.weight - taken, sum: bucket.sum - taken * mean };
            self.weight -= taken;
            self.sum -= taken * mean;
            self.squares -= taken * mean * mean;
            left -= taken;
        }
        self.squares = self.squares.max(0.0);
    }

    /// The weight of all numbers.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The mean; `None` if empty.
    pub fn mean(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }

    /// The quantile at `share`, as the mean of its bucket.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = share * self.weight;
        let mut until = 0.0;
        for Bucket { weight, sum } in &self.buckets {
            until += weight;
            if *weight > 0.0 && until >= wanted {
                return ((sum / weight).round() as u64).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// The weight of the numbers below `bound`, with the accuracy of a bucket.
    pub fn below(&self, bound: u64) -> f64 {
        let end = bucket_of(bound).min(self.buckets.len());
        self.buckets[..end].iter().map(|bucket| bucket.weight).sum()
    }

    /// The cumulative weight up to the end of each possible bucket.
    pub fn cumulated(&self) -> impl Iterator<Item = f64> + '_ {
        let mut until = 0.0;
        (0..=bucket_of(u64::MAX)).map(move |bucket| {
            until += self.buckets.get(bucket).map_or(0.0, |bucket| bucket.weight);
            until
        })
    }

    /// The non-empty octaves: from, below, weight.
    pub fn octaves(&self) -> Vec<(u64, u128, f64)> {
        let mut octaves: Vec<(u64, u128, f64)> = Vec::new();
        let taken = self.buckets.iter().enumerate().filter(|(_, bucket)| bucket.weight > 0.0);
        for (bucket, Bucket { weight, .. }) in taken {
            let last = u64::try_from(end_of(bucket) - 1).unwrap_or(u64::MAX);
            let from = if last == 0 { 0 } else { 1 << last.ilog2() };
            match octaves.last_mut() {
                Some(octave) if octave.0 == from => octave.2 += weight,
                _ => octaves.push((from, if from == 0 { 1 } else { u128::from(from) * 2 }, *weight)),
            }
        }
        octaves
    }

    /// The distribution in another unit, of which one number here is `unit`.
    pub fn distribution(&self, unit: f64) -> Option<Distribution> {
        let mean = self.mean()?;
        let variance = (self.squares / self.weight - mean * mean).max(0.0);
        let quantile = |share| self.quantile(share) as f64 * unit;
        let bin = |(from, below, samples)| Bin { from: from as f64 * unit, below: below as f64 * unit, samples };
        Some(Distribution {
            samples: self.weight,
            min: self.min as f64 * unit,
            mean: mean * unit,
            variation: (mean > 0.0).then(|| variance.sqrt() / mean),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: self.max as f64 * unit,
            histogram: self.octaves().into_iter().map(bin).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_holds_its_numbers(number: u64) {
            let bucket = bucket_of(number);
            prop_assert!(u128::from(number) < end_of(bucket));
            prop_assert!(bucket == 0 || u128::from(number) >= end_of(bucket - 1));
        }

        #[test]
        fn quantiles_are_a_little_off_at_most(
            mut numbers in prop::collection::vec(0_u64..1 << 40, 1..200), share in 0.01_f64..1.0,
        ) {
            let mut histogram = Histogram::default();
            numbers.iter().for_each(|number| histogram.add(*number, 1.0));
            numbers.sort_unstable();
            let exact = numbers[((share * numbers.len() as f64).ceil() as usize - 1).min(numbers.len() - 1)] as f64;
            let estimate = histogram.quantile(share) as f64;
            prop_assert!((estimate - exact).abs() <= exact * 0.032 + 1.0, "{estimate} for {exact}");
        }
    }

    #[test]
    fn numbers_that_come_again_are_exact() {
        let mut histogram = Histogram::default();
        (0..1000).for_each(|at| histogram.add(if at % 10 < 6 { 65_536 } else { 69_632 }, 1.0));
        assert_eq!((histogram.quantile(0.5), histogram.quantile(0.9)), (65_536, 69_632));
    }

    #[test]
    fn weight_is_taken_off_the_smallest() {
        let mut histogram = Histogram::default();
        [1, 1, 5, 900].into_iter().for_each(|number| histogram.add(number, 1.0));
        histogram.take_off(2.5);
        assert_eq!((histogram.weight(), histogram.below(5), histogram.below(6)), (1.5, 0.0, 0.5));
        assert_eq!((histogram.mean(), histogram.quantile(0.2)), (Some(902.5 / 1.5), 5));
    }

    #[test]
    fn small_numbers_are_exact_and_octaves_whole() {
        let mut histogram = Histogram::default();
        for number in [0, 1, 2, 3, 3, 4, 63, u64::MAX] {
            histogram.add(number, 0.5);
        }
        assert_eq!(histogram.quantile(0.5), 3);
        assert_eq!(histogram.below(3), 1.5);
        let octaves: Vec<(u64, f64)> = histogram.octaves().iter().map(|octave| (octave.0, octave.2)).collect();
        assert_eq!(octaves, [(0, 0.5), (1, 0.5), (2, 1.5), (4, 0.5), (32, 0.5), (1 << 63, 0.5)]);
        assert_eq!(Histogram::default().distribution(1.0), None);
    }
}
