//! The Hurst exponent, a measure of long-range dependence, by rescaled range and by detrended fluctuation analysis.
//!
//! 0.5 means no memory; towards 1, bursts follow bursts at every time scale.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use serde::Serialize;

use super::fractional::FractionalNoise;

/// The shortest series that is analysed.
pub const LENGTH_MIN: usize = 128;
/// The shortest segment of a series.
const PIECE_MIN: usize = 16;
/// The longest segment is this fraction of the series.
const PIECES_MIN: usize = 4;
/// The number of noise series drawn in each of [`ROUNDS`] and for the standard error.
const DRAWS: usize = 24;
const ROUNDS: usize = 3;
/// The distance in the exponent at which the slope's response is estimated.
const STEP: f64 = 0.05;
/// The smallest assumed change of the slope with the exponent.
const MOVES_MIN: f64 = 0.2;
/// The longest series drawn: the bias of slopes hardly changes beyond.
const DRAWN_MAX: usize = 1 << 15;
/// The exponents for which the noise is stationary.
const STATIONARY: std::ops::Range<f64> = 0.01..0.99;

/// An estimate of the Hurst exponent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Hurst {
    /// The exponent, corrected for the slope's bias on fractional Gaussian noise of this exponent and length.
    pub value: f64,
    /// The standard error there; `None` for a slope that no such noise has, which is not corrected either.
    pub standard_error: Option<f64>,
    /// The uncorrected slope.
    pub slope: f64,
}

/// Rescaled range (Hurst 1951; Mandelbrot and Wallis 1969). `None` for a series that is too short or constant.
pub fn rescaled_range(series: &[f64]) -> Option<Hurst> {
    corrected(series, |series| {
        let point = |piece: usize| {
            let ranges: Vec<f64> = series.chunks_exact(piece).filter_map(range_of).collect();
            (!ranges.is_empty()).then(|| ((piece as f64).ln(), (ranges.iter().sum::<f64>() / ranges.len() as f64).ln()))
        };
        slope(&pieces(series.len()).into_iter().filter_map(point).collect::<Vec<_>>())
    })
}

/// Detrended fluctuation analysis with straight lines (Peng and others 1994). `None` for a series that is too short or
/// constant.
pub fn detrended_fluctuation(series: &[f64]) -> Option<Hurst> {
    corrected(series, |series| {
        let profile = profile(series);
        let point = |piece: usize| {
            let squares = profile.chunks_exact(piece).map(squares_around_line).sum::<f64>();
            let mean = squares / (series.len() / piece * piece) as f64;
            (mean > 0.0).then(|| ((piece as f64).ln(), mean.ln() / 2.0))
        };
        slope(&pieces(series.len()).into_iter().filter_map(point).collect::<Vec<_>>())
    })
}

/// Finds the exponent whose noise has the series' slope on average (parametric bootstrap).
fn corrected(series: &[f64], slope_of: impl Fn(&[f64]) -> Option<f64>) -> Option<Hurst> {
    let slope = slope_of(series)?;
    if !STATIONARY.contains(&slope) {
        return Some(Hurst { value: slope, standard_error: None, slope });
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(series.len() as u64);
    let mut drawn = |hurst| {
        let mut noise = FractionalNoise::new(hurst, series.len().min(DRAWN_MAX));
        moments(&(0..DRAWS).filter_map(|_| slope_of(&noise.draw(&mut random))).collect::<Vec<_>>())
    };
    let within = |hurst: f64| hurst.clamp(STATIONARY.start, STATIONARY.end);
    let mut value = slope;
    for _ in 0..ROUNDS {
        value = within(value + slope - drawn(value).0);
    }
    // The slope's response to the exponent, which is below 1 for short segments.
    let (low, high) = (within(value - STEP), within(value + STEP));
    let ((low_mean, low_deviation), (high_mean, high_deviation)) = (drawn(low), drawn(high));
    let moves = ((high_mean - low_mean) / (high - low)).max(MOVES_MIN);
    Some(Hurst { value, standard_error: Some(f64::max(low_deviation, high_deviation) / moves), slope })
}

/// Mean and standard deviation.
fn moments(numbers: &[f64]) -> (f64, f64) {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (mean, (squares / (numbers.len() as f64 - 1.0)).sqrt())
}

/// The cumulative sum of deviations from the mean.
fn profile(series: &[f64]) -> Vec<f64> {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let mut sum = 0.0;
    let step = |value: &f64| {
        sum += value - mean;
        sum
    };
    series.iter().map(step).collect()
}

/// The segment lengths, each about 1.4 times the one before.
fn pieces(length: usize) -> Vec<usize> {
    if length < LENGTH_MIN {
        return Vec::new();
    }
    let longest = (length / PIECES_MIN) as f64;
    let mut pieces: Vec<usize> = (0_i32..)
        .map(|number| PIECE_MIN as f64 * f64::powf(2.0, f64::from(number) / 2.0))
        .take_while(|piece| *piece <= longest)
        .map(|piece| piece as usize)
        .collect();
    pieces.dedup();
    pieces
}

/// The range of the cumulative deviations divided by the standard deviation; `None` for a constant segment.
fn range_of(piece: &[f64]) -> Option<f64> {
    let length = piece.len() as f64;
    let mean = piece.iter().sum::<f64>() / length;
    let (mut sum, mut low, mut high, mut squares) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
    for value in piece {
        sum += value - mean;
        squares += (value - mean).powi(2);
        low = low.min(sum);
        high = high.max(sum);
    }
    (squares > 0.0).then(|| (high - low) / (squares / length).sqrt())
}

/// The sum of squared residuals of a segment from its own straight line.
fn squares_around_line(piece: &[f64]) -> f64 {
    let length = piece.len() as f64;
    let middle = (length - 1.0) / 2.0;
    let mean = piece.iter().sum::<f64>() / length;
    let (mut squares, mut products) = (0.0, 0.0);
    for (at, value) in piece.iter().enumerate() {
        squares += (value - mean).powi(2);
        products += (at as f64 - middle) * (value - mean);
    }
    let spread = length * (length * length - 1.0) / 12.0;
    (squares - products * products / spread).max(0.0)
}

/// The slope of the least-squares line.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let x_mean = points.iter().map(|point| point.0).sum::<f64>() / count;
    let y_mean = points.iter().map(|point| point.1).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|point| (point.0 - x_mean).powi(2)).sum();
    Some(points.iter().map(|point| (point.0 - x_mean) * (point.1 - y_mean)).sum::<f64>() / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found() {
        assert!((slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).unwrap() - 2.0).abs() < 1e-12);
        assert!(squares_around_line(&[1.0, 2.0, 3.0, 4.0]) < 1e-12);
        // The best line through these is flat.
        assert!((squares_around_line(&[1.0, -1.0, -1.0, 1.0]) - 4.0).abs() < 1e-12);
        assert_eq!(range_of(&[1.0, 1.0]), None);
        assert_eq!(range_of(&[1.0, -1.0]), Some(1.0));
    }

    #[test]
    fn short_and_constant_series_have_none() {
        for series in [vec![1.0; 1000], vec![], vec![1.0, 2.0]] {
            assert!(rescaled_range(&series).is_none() && detrended_fluctuation(&series).is_none());
        }
    }

    #[test]
    fn what_drifts_away_is_not_corrected() {
        let walk: Vec<f64> = profile(&(0..1024).map(|at| f64::from(at * 7919 % 1024 - 512)).collect::<Vec<_>>());
        let drift = detrended_fluctuation(&profile(&walk)).unwrap();
        assert!(drift.value == drift.slope && drift.standard_error.is_none(), "{drift:?}");
    }
}
