//! Spreads requests that share a recorded time over the step of the trace's clock. Their order stays.
//!
//! The first reading of the trace counts how many requests share each time; the second gives each its place in the step.

use std::sync::Arc;

use rand_xoshiro::rand_core::Rng as _;

use super::schedule::DueTimes;
use super::settings::Spread;
use crate::kv::distribution::{Random, stream};

/// The most different times, each with a count of four bytes.
pub(crate) const STEPS_MAX: usize = 1 << 28;
/// What distinguishes the random numbers that place requests within their steps from those of threads with the same seed.
const SEED_MARK: u64 = u64::from_le_bytes(*b"spreaded");

/// Counts the requests of each step: those that are due at the same time.
#[derive(Debug)]
pub(crate) struct StepCounter {
    times: DueTimes,
    due_ns: Option<u64>,
    counts: Vec<u32>,
}

impl Default for StepCounter {
    fn default() -> Self {
        Self { times: DueTimes::new(1.0), due_ns: None, counts: Vec::new() }
    }
}

impl StepCounter {
    /// Adds the next request.
    pub(crate) fn add(&mut self, time_ns: Option<u64>) {
        let due_ns = Some(self.times.due_ns(time_ns));
        if due_ns != self.due_ns {
            self.due_ns = due_ns;
            self.counts.push(0);
        }
        if let Some(count) = self.counts.last_mut() {
            *count = count.saturating_add(1);
        }
    }

    /// The number of steps so far.
    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// The counts in the order of the trace.
    pub(crate) fn into_counts(self) -> Vec<u32> {
        self.counts
    }
}

/// Due times, spread or not.
#[derive(Debug)]
pub(super) struct SpreadTimes {
    times: DueTimes,
    factor: f64,
    steps: Option<Steps>,
}

/// The place of the next request in its step.
#[derive(Debug)]
struct Steps {
    how: Spread,
    step_ns: f64,
    counts: Arc<[u32]>,
    /// The steps begun.
    begun: usize,
    /// When the current step begins.
    due_ns: Option<u64>,
    /// The requests of the current step, and those of them that have a place.
    requests: u32,
    placed: u32,
    /// The place of the last request, as a share of the step.
    place: f64,
    random: Random,
}

impl SpreadTimes {
    /// Due times as recorded, `factor` times as fast.
    pub(super) fn recorded(factor: f64) -> Self {
        Self { times: DueTimes::new(factor), factor: 1.0, steps: None }
    }

    /// Due times spread over steps of `step_ns`, of which each has as many requests as `counts` says, `factor` times as
    /// fast as recorded. The same seed gives the same times.
    pub(super) fn spread(factor: f64, how: Spread, step_ns: u64, counts: Arc<[u32]>, seed: u64) -> Self {
        let steps = Steps {
            how,
            step_ns: step_ns as f64,
            counts,
            begun: 0,
            due_ns: None,
            requests: 0,
            placed: 0,
            place: 0.0,
            random: stream(seed ^ SEED_MARK, 0),
        };
        Self { times: DueTimes::new(1.0), factor, steps: Some(steps) }
    }

    /// When the next request is due, in nanoseconds since the schedule's zero.
    #[inline]
    pub(super) fn due_ns(&mut self, time_ns: Option<u64>) -> u64 {
        let due_ns = self.times.due_ns(time_ns);
        match &mut self.steps {
            None => due_ns,
            Some(steps) => ((due_ns as f64 + steps.next_ns(due_ns)) / self.factor).round() as u64,
        }
    }
}

impl Steps {
    /// How far behind the start of its step, at `due_ns`, the next request is due, in nanoseconds.
    fn next_ns(&mut self, due_ns: u64) -> f64 {
        if self.due_ns != Some(due_ns) {
            // A trace that has changed may have more steps; the second reading finds that.
            self.requests = self.counts.get(self.begun).copied().unwrap_or(1);
            (self.due_ns, self.begun, self.placed, self.place) = (Some(due_ns), self.begun + 1, 0, 0.0);
        }
        let left = self.requests.saturating_sub(self.placed).max(1);
        self.place = match self.how {
            Spread::Uniform => f64::from(self.placed) / f64::from(self.requests.max(1)),
            // Given their number, the arrivals of a Poisson process are uniform; this is the smallest of those left.
            Spread::Poisson => self.place + (1.0 - self.place) * (1.0 - self.uniform().powf(1.0 / f64::from(left))),
        };
        self.placed = self.placed.saturating_add(1);
        // The end of a step is the start of the next.
        (self.place * self.step_ns).min(self.step_ns - 1.0).floor()
    }

    /// A uniform number above 0, up to 1.
    fn uniform(&mut self) -> f64 {
        const BITS: u32 = f64::MANTISSA_DIGITS;
        ((self.random.next_u64() >> (u64::BITS - BITS)) + 1) as f64 / (1_u64 << BITS) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// The due times of requests at the recorded `times`, in seconds.
    fn due_ns(how: Spread, times: &[u64], factor: f64, seed: u64) -> Vec<u64> {
        let mut counter = StepCounter::default();
        times.iter().for_each(|time_s| counter.add(Some(time_s * SECOND_NS)));
        let mut spread = SpreadTimes::spread(factor, how, SECOND_NS, counter.into_counts().into(), seed);
        times.iter().map(|time_s| spread.due_ns(Some(time_s * SECOND_NS))).collect()
    }

    #[test]
    fn uniform_places_are_equally_far_apart() {
        let due_ns = due_ns(Spread::Uniform, &[5, 5, 5, 5, 7, 8, 8], 1.0, 1);
        let wanted = [0.0, 0.25, 0.5, 0.75, 2.0, 3.0, 3.5].map(|time_s| (time_s * 1e9) as u64);
        assert_eq!(due_ns, wanted);
    }

    #[test]
    fn random_places_keep_the_order_and_the_step_and_follow_the_seed() {
        let times: Vec<u64> = (0..20).flat_map(|second| std::iter::repeat_n(second, 500)).collect();
        let one = due_ns(Spread::Poisson, &times, 1.0, 1);
        assert!(one.is_sorted());
        assert!(one.iter().zip(&times).all(|(due_ns, time_s)| due_ns / SECOND_NS == *time_s));
        assert_eq!(one, due_ns(Spread::Poisson, &times, 1.0, 1));
        assert_ne!(one, due_ns(Spread::Poisson, &times, 1.0, 2));
    }

    /// Of a Poisson process the gaps are exponential: their standard deviation is their mean, a share 1 - 1/e is shorter.
    #[test]
    fn random_places_are_those_of_a_poisson_process() {
        let times: Vec<u64> = (0..100).flat_map(|second| std::iter::repeat_n(second, 1_000)).collect();
        let due_ns = due_ns(Spread::Poisson, &times, 1.0, 7);
        let gaps: Vec<f64> = due_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        let shorter = gaps.iter().filter(|gap| **gap < mean).count() as f64 / gaps.len() as f64;
        // Four standard errors of 99,999 gaps.
        assert!(
            (deviation / mean - 1.0).abs() < 0.02 && (shorter - (1.0 - (-1.0_f64).exp())).abs() < 0.007,
            "{shorter}"
        );
    }

    #[test]
    fn a_factor_shortens_steps_and_what_is_spread_over_them() {
        assert_eq!(due_ns(Spread::Uniform, &[0, 0, 1, 1], 4.0, 1), [0, 125_000_000, 250_000_000, 375_000_000]);
    }

    #[test]
    fn more_steps_than_were_counted_are_no_panic() {
        let mut spread = SpreadTimes::spread(1.0, Spread::Poisson, SECOND_NS, Vec::new().into(), 1);
        assert!((0..5).all(|second| spread.due_ns(Some(second * SECOND_NS)) < (second + 1) * SECOND_NS));
    }
}
