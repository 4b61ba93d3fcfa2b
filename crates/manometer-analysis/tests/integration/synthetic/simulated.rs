//! Synthetic series with known means that resemble the throughput of an LSM engine.
//!
//! An AR(1) process for what remembers, plus the saw-tooth of compaction, which falls evenly over its period and jumps
//! back. Its phase is random and part of the series: where it starts is no more known than the noise. A sample is what
//! an interval saw on average, as a rate per second is.

#![allow(dead_code, reason = "each test file uses its own part")]

use rand::RngExt as _;
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The saw-tooth: its half height in standard deviations of the noise, its period in samples, and the share
/// by which each period may differ from it.
#[derive(Debug, Clone, Copy)]
pub struct Saw {
    pub height: f64,
    pub period: f64,
    pub jitter: f64,
}

pub const SAWS: [Saw; 9] = [
    Saw { height: 0.0, period: 60.0, jitter: 0.0 },
    Saw { height: 1.0, period: 20.0, jitter: 0.0 },
    Saw { height: 1.0, period: 45.0, jitter: 0.0 },
    Saw { height: 1.0, period: 60.0, jitter: 0.0 },
    Saw { height: 1.0, period: 60.0, jitter: 0.2 },
    Saw { height: 1.0, period: 77.0, jitter: 0.0 },
    Saw { height: 1.0, period: 100.0, jitter: 0.0 },
    Saw { height: 2.0, period: 40.0, jitter: 0.1 },
    Saw { height: 2.0, period: 60.0, jitter: 0.1 },
];

pub const COEFFICIENTS: [f64; 4] = [0.0, 0.5, 0.8, 0.87];

/// `samples` samples of mean 0: noise of variance 1 with lag-1 autocorrelation `coefficient`, plus the saw.
pub fn series(random: &mut Xoshiro256PlusPlus, samples: usize, coefficient: f64, saw: Saw) -> Vec<f64> {
    let mut noise: f64 = StandardNormal.sample(random);
    let mut phase: f64 = random.random();
    let mut period = saw.period;
    let mut values = Vec::with_capacity(samples);
    for _ in 0..samples {
        let (mut left, mut tooth) = (1.0, 0.0);
        while left > 0.0 {
            let step = f64::min(left, (1.0 - phase) * period);
            let end = phase + step / period;
            tooth += step * (1.0 - phase - end);
            left -= step;
            phase = end;
            if left > 0.0 {
                phase = 0.0;
                period = saw.period * (1.0 + saw.jitter * random.random_range(-1.0..1.0));
            }
        }
        values.push(noise + saw.height * tooth);
        let fresh: f64 = StandardNormal.sample(random);
        noise = coefficient * noise + (1.0 - coefficient * coefficient).sqrt() * fresh;
    }
    values
}
