//! Exact Zipf over a fixed number of ranks, faster than inverting a power for every draw.
//!
//! A staircase covers the curve k^-s: the most popular ranks have a step each; further ranks share steps whose width is
//! a thirty-second of their rank. A step is drawn by its area (alias method: Vose, IEEE TSE 17(9), 1991), then a rank
//! under it. The rank is drawn again where the curve lies below its step: fewer than one draw in a hundred. A thousand
//! million ranks take about twelve hundred steps.

use rand_xoshiro::rand_core::Rng as _;

use super::Random;
use super::zipf::PowerCurve;

/// Ranks with their own step.
const ALONE: u64 = 512;
/// Steps per octave of ranks beyond those.
const STEPS_AN_OCTAVE: u64 = 32;
/// Bits of a slot that hold the number of its other step; the rest hold the share of its own step.
const OTHER_BITS: u32 = 16;

/// Exact Zipf over ranks, by steps.
#[derive(Debug, Clone)]
pub struct ZipfSteps {
    curve: PowerCurve,
    steps: Vec<Step>,
    /// One slot for each step, drawn uniformly: the share of its own step, and the other step.
    slots: Vec<u64>,
    /// A draw below this share of 2^64 is accepted for any step.
    sure: u64,
}

/// Neighbouring ranks; the most popular rank is 1.
#[derive(Debug, Clone, Copy)]
struct Step {
    first: u64,
    count: u64,
}

impl ZipfSteps {
    /// Over the ranks 0 to `count` - 1.
    ///
    /// # Panics
    /// `count` is 0, or `exponent` is not above 0.
    pub fn new(count: u64, exponent: f64) -> Self {
        assert!(count > 0 && exponent > 0.0, "a Zipf distribution needs ranks and an exponent above 0");
        Self::over(1, count, exponent)
    }

    /// Over the ranks from `first` to `last`; the most popular rank is 1.
    pub(super) fn over(first: u64, last: u64, exponent: f64) -> Self {
        let curve = PowerCurve::new(exponent);
        let steps = steps(first, last);
        let areas: Vec<f64> = steps.iter().map(|step| step.count as f64 * curve.height(step.first as f64)).collect();
        let lowest = |step: &Step| curve.height((step.first + step.count - 1) as f64 / step.first as f64);
        let sure = steps.iter().map(lowest).fold(1.0, f64::min);
        // Slightly lowered, so that rounding never accepts wrongly.
        Self { curve, slots: slots(&areas), steps, sure: ((sure - 1e-9).max(0.0) * 2_f64.powi(64)) as u64 }
    }

    /// The next rank, 0 the most popular.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let (at, own) = below(self.slots.len() as u64, random);
            let slot = self.slots[at as usize];
            let other = slot & ((1 << OTHER_BITS) - 1);
            let Step { first, count } = self.steps[if own < slot { at } else { other } as usize];
            let (further, height) = below(count, random);
            if height < self.sure || self.lies_under(first, further, height) {
                return first + further - 1;
            }
        }
    }

    /// Whether a point at `height`, in parts of 2^64 of the step's height, lies under the curve.
    #[cold]
    fn lies_under(&self, first: u64, further: u64, height: u64) -> bool {
        height as f64 / 2_f64.powi(64) < self.curve.height((first + further) as f64 / first as f64)
    }
}

/// A number below `end`, and the rest of the draw; uniform up to a bias of `end` / 2^64.
#[inline]
fn below(end: u64, random: &mut Random) -> (u64, u64) {
    let product = u128::from(random.next_u64()) * u128::from(end);
    ((product >> 64) as u64, product as u64)
}

/// The shared steps of the ranks from `first` to `last`.
fn steps(mut first: u64, last: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    while first <= last {
        let width = if first <= ALONE { 1 } else { (1 << (first - 1).ilog2()) / STEPS_AN_OCTAVE };
        steps.push(Step { first, count: width.min(last - first + 1) });
        first += width;
    }
    steps
}

/// Vose's alias table over `areas`: the upper bits of a slot hold the share of its own step, the lower bits the other
/// step.
fn slots(areas: &[f64]) -> Vec<u64> {
    // A share of 1 saturates: the missing part goes to the step itself.
    let slot = |own: f64, other: usize| (own * 2_f64.powi(64)) as u64 >> OTHER_BITS << OTHER_BITS | other as u64;
    let mean = areas.iter().sum::<f64>() / areas.len() as f64;
    let mut shares: Vec<f64> = areas.iter().map(|area| area / mean).collect();
    let mut slots: Vec<u64> = (0..areas.len()).map(|at| slot(1.0, at)).collect();
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = (0..areas.len()).partition(|at| shares[*at] < 1.0);
    while let (Some(small), Some(large)) = (poor.pop(), rich.pop()) {
        slots[small] = slot(shares[small], large);
        shares[large] -= 1.0 - shares[small];
        if shares[large] < 1.0 { poor.push(large) } else { rich.push(large) }
    }
    slots
}
