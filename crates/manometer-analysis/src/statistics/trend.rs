//! The trend of a series: the Mann-Kendall test (1945, 1975) with the correction of Hamed & Rao (1998) for
//! autocorrelation, and the Theil-Sen slope (1950, 1968).

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::autocorrelation::autocorrelation;
use super::moments::{mean, median};

/// Longer series are averaged down to this many points first: the test compares every pair.
pub const MOST_POINTS: usize = 600;

/// The test's normal approximation needs at least this many points.
pub const FEWEST_POINTS: usize = 10;

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// The two-sided p-value of "no trend".
    pub p_value: f64,
    /// The rise of the Theil-Sen line over the whole series, in the unit of the samples; below 0 it falls.
    pub rise: f64,
}

impl Trend {
    /// Tests `series`; `None` for fewer than ten points.
    pub fn of(series: &[f64]) -> Option<Self> {
        let points = downsample(series);
        if points.len() < FEWEST_POINTS {
            return None;
        }
        let count = points.len() as f64;
        let slope = theil_sen(&points)?;
        let score = kendall_score(&points);
        let variance = score_variance(&points) * correction(&points, slope);
        let standard = if variance > 0.0 { (score.abs() - 1.0).max(0.0) / variance.sqrt() } else { 0.0 };
        Some(Self { p_value: (2.0 * Normal::standard().cdf(-standard)).min(1.0), rise: slope * (count - 1.0) })
    }
}

/// Averages adjacent samples down to at most [`MOST_POINTS`] points.
fn downsample(series: &[f64]) -> Vec<f64> {
    let together = series.len().div_ceil(MOST_POINTS).max(1);
    series.chunks(together).filter_map(mean).collect()
}

fn pairs(points: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    let later = |index: usize| points.iter().enumerate().skip(index + 1);
    points
        .iter()
        .enumerate()
        .flat_map(move |(index, first)| later(index).map(move |(at, second)| (second - first, (at - index) as f64)))
}

fn theil_sen(points: &[f64]) -> Option<f64> {
    median(&pairs(points).map(|(rise, distance)| rise / distance).collect::<Vec<_>>())
}

fn kendall_score(points: &[f64]) -> f64 {
    pairs(points).map(|(rise, _)| if rise == 0.0 { 0.0 } else { rise.signum() }).sum()
}

/// The score's variance for independent points, corrected for ties.
fn score_variance(points: &[f64]) -> f64 {
    let term = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let mut sorted = points.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|tied| term(tied.len() as f64)).sum();
    (term(points.len() as f64) - ties) / 18.0
}

/// The factor by which autocorrelation widens the score's variance: 1 + 2 / (n (n−1) (n−2)) Σ (n−k) (n−k−1) (n−k−2) r(k) over
/// the significant autocorrelations r(k) of the ranks of the detrended points. At least 1: the correction
/// never makes the test more sensitive.
fn correction(points: &[f64], slope: f64) -> f64 {
    let detrended: Vec<f64> = points.iter().enumerate().map(|(t, value)| value - slope * t as f64).collect();
    let ranks = ranks(&detrended);
    let weight = |count: f64| count * (count - 1.0) * (count - 2.0);
    let count = points.len() as f64;
    let significant = 1.96 / count.sqrt();
    let sum: f64 = (1..points.len() - 2)
        .map(|lag| (lag, autocorrelation(&ranks, lag)))
        .filter(|(_, correlation)| correlation.abs() > significant)
        .map(|(lag, correlation)| weight(count - lag as f64) * correlation)
        .sum();
    (1.0 + 2.0 * sum / weight(count)).max(1.0)
}

/// The rank of each value from 0; equal values share their average rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = first as f64 + (tied.len() - 1) as f64 / 2.0;
        tied.iter().for_each(|index| ranks[*index] = rank);
        first += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_series_has_a_trend_and_a_level_one_has_none() {
        let noise = |t: usize| ((t * 7919) % 13) as f64;
        let level: Vec<f64> = (0..100).map(noise).collect();
        let rising: Vec<f64> = (0..100).map(|t| noise(t) + 0.2 * t as f64).collect();
        assert!(Trend::of(&level).unwrap().p_value > 0.05);
        let trend = Trend::of(&rising).unwrap();
        assert!(trend.p_value < 0.001, "{trend:?}");
        assert!((trend.rise - 0.2 * 99.0).abs() < 3.0, "{trend:?}");
    }

    #[test]
    fn a_constant_has_no_trend() {
        assert_eq!(Trend::of(&[4.0; 50]), Some(Trend { p_value: 1.0, rise: 0.0 }));
        assert_eq!(Trend::of(&[4.0; 9]), None);
    }

    #[test]
    fn ties_share_their_rank() {
        assert_eq!(ranks(&[2.0, 1.0, 2.0, 3.0]), [1.5, 0.0, 1.5, 3.0]);
    }

    #[test]
    fn long_series_are_downsampled() {
        assert_eq!(downsample(&vec![1.0; 5_000]).len(), 556);
        assert_eq!(downsample(&[1.0; 600]).len(), 600);
    }
}
