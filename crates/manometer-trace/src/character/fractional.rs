//! Fractional Gaussian noise of a given Hurst exponent.
//!
//! Exact, by circulant embedding of its covariance (Davies and Harte 1987).

use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

/// Generates noise of one exponent and length.
pub(super) struct FractionalNoise {
    length: usize,
    /// The standard deviation of each frequency of the circulant, which is twice as long.
    deviations: Vec<f64>,
    planner: RealFftPlanner<f64>,
}

impl FractionalNoise {
    /// Noise of a Hurst exponent between 0 and 1, with mean 0 and variance 1.
    pub(super) fn new(hurst: f64, length: usize) -> Self {
        let circle = 2 * length;
        let mut covariances: Vec<f64> = (0..circle).map(|at| covariance(hurst, at.min(circle - at))).collect();
        let mut planner = RealFftPlanner::new();
        let transform = planner.plan_fft_forward(circle);
        let mut spectrum = transform.make_output_vec();
        // The lengths match the plan's own.
        let _ = transform.process(&mut covariances, &mut spectrum);
        let deviations = spectrum.iter().map(|power| (power.re.max(0.0) / circle as f64).sqrt()).collect();
        Self { length, deviations, planner }
    }

    /// Draws one series.
    pub(super) fn draw(&mut self, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let transform = self.planner.plan_fft_inverse(2 * self.length);
        let mut spectrum = transform.make_input_vec();
        let mut normal = || -> f64 { StandardNormal.sample(random) };
        let last = self.deviations.len() - 1;
        for (at, (bin, deviation)) in spectrum.iter_mut().zip(&self.deviations).enumerate() {
            // The first and the last frequency are real.
            *bin = match at == 0 || at == last {
                true => Complex::new(deviation * normal(), 0.0),
                false => Complex::new(deviation * normal(), deviation * normal()) / 2_f64.sqrt(),
            };
        }
        let mut series = transform.make_output_vec();
        let _ = transform.process(&mut spectrum, &mut series);
        series.truncate(self.length);
        series
    }
}

/// The covariance of two samples at distance `lag`.
fn covariance(hurst: f64, lag: usize) -> f64 {
    let power = |lag: f64| lag.abs().powf(2.0 * hurst);
    let lag = lag as f64;
    (power(lag + 1.0) - 2.0 * power(lag) + power(lag - 1.0)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng as _;

    #[test]
    fn the_noise_has_the_covariance_that_it_should() {
        for hurst in [0.3, 0.5, 0.8] {
            let (mut noise, mut random) = (FractionalNoise::new(hurst, 64), Xoshiro256PlusPlus::seed_from_u64(1));
            let draws: Vec<Vec<f64>> = (0..20_000).map(|_| noise.draw(&mut random)).collect();
            for (one, other) in [(0, 0), (0, 1), (5, 15), (0, 63)] {
                let found = draws.iter().map(|series| series[one] * series[other]).sum::<f64>() / draws.len() as f64;
                let wanted = covariance(hurst, other - one);
                assert!((found - wanted).abs() < 0.04, "{found} for {wanted} at H {hurst} from {one} to {other}");
            }
        }
    }
}
