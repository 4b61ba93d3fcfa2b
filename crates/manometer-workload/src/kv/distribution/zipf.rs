//! Exact Zipf: rank k is drawn with probability k^-s / (1^-s + … + n^-s), for any exponent s above 0.
//!
//! Drawn by rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6(3), 1996): a point under the curve
//! x^-s is found by inverting its integral and rounded to a rank; it is drawn again where the curve lies
//! above the rank's own bar. No table, for any number of ranks, and hardly a draw in ten is drawn again.

use rand_xoshiro::rand_core::Rng as _;

use super::Random;

/// 1 / 2^53: turns 53 random bits into a number in [0, 1).
const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;

/// Nearer to exponent 1 than this, powers are taken as exponentials of small numbers.
const NEAR_ONE: f64 = 1e-3;

/// Exact Zipf over ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZipfDistribution {
    count: u64,
    curve: PowerCurve,
    /// The integral up to the lowest and the highest point that is drawn from.
    lowest: f64,
    highest: f64,
    /// A rank no further above its point than this is never rejected.
    sure: f64,
}

impl ZipfDistribution {
    /// Over the ranks 0 to `count` - 1.
    ///
    /// # Panics
    /// `count` is 0, or `exponent` is not above 0.
    pub fn new(count: u64, exponent: f64) -> Self {
        assert!(count > 0 && exponent > 0.0, "a Zipf distribution needs ranks and an exponent above 0");
        let curve = PowerCurve::new(exponent);
        Self {
            count,
            curve,
            lowest: curve.integral(1.5) - 1.0,
            highest: curve.integral(count as f64 + 0.5),
            sure: 2.0 - curve.point(curve.integral(2.5) - curve.height(2.0)),
        }
    }

    /// The next rank, 0 the most popular.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = (random.next_u64() >> 11) as f64 * UNIT;
            let area = self.highest + u * (self.lowest - self.highest);
            let point = self.curve.point(area);
            let rank = ((point + 0.5) as u64).clamp(1, self.count);
            let above = rank as f64 - point;
            if above <= self.sure || area >= self.curve.integral(rank as f64 + 0.5) - self.curve.height(rank as f64) {
                return rank - 1;
            }
        }
    }

    /// How many ranks there are.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The curve x^-s and its integral from 1 on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PowerCurve {
    exponent: f64,
    /// 1 - s.
    rest: f64,
    /// 1 / (1 - s).
    inverse: f64,
}

impl PowerCurve {
    pub(super) fn new(exponent: f64) -> Self {
        Self { exponent, rest: 1.0 - exponent, inverse: 1.0 / (1.0 - exponent) }
    }

    #[inline]
    pub(super) fn height(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// The area from 1 to `x`.
    #[inline]
    pub(super) fn integral(&self, x: f64) -> f64 {
        if self.rest == 0.0 {
            x.ln()
        } else if self.rest.abs() < NEAR_ONE {
            (self.rest * x.ln()).exp_m1() * self.inverse
        } else {
            (x.powf(self.rest) - 1.0) * self.inverse
        }
    }

    /// The point up to which the area is `area`.
    #[inline]
    fn point(&self, area: f64) -> f64 {
        if self.rest == 0.0 {
            area.exp()
        } else if self.rest.abs() < NEAR_ONE {
            ((self.rest * area).ln_1p() * self.inverse).exp()
        } else {
            // Rounding may carry the outermost point of a steep curve below zero.
            (1.0 + self.rest * area).max(0.0).powf(self.inverse)
        }
    }
}
