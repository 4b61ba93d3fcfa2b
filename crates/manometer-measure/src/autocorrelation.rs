//! The autocorrelation of a series and its integrated autocorrelation time.

/// The sum of autocorrelations stops at this share of the series: a longer time is indistinguishable from a drift.
const LONGEST_SHARE: f64 = 0.25;

/// The upper limit of the AR(1) coefficient; it keeps the autocorrelation time finite.
const GREATEST_COEFFICIENT: f64 = 0.99;

/// The autocorrelation at `lag`, with divisor n and around the series' own mean; 0 for a constant series
/// and for lags beyond the series.
pub fn autocorrelation(series: &[f64], lag: usize) -> f64 {
    let centred = centred(series);
    let spread = covariance_sum(&centred, 0);
    if spread > 0.0 { covariance_sum(&centred, lag) / spread } else { 0.0 }
}

/// The integrated autocorrelation time τ = 1 + 2 Σ r(lag), in samples, at least 1: n samples carry as much information
/// about their mean as n / τ independent samples.
///
/// The greater of two estimates is used, because each alone is biased low on short series: Geyer's initial monotone
/// sequence (1992: sums of adjacent pairs of lags, up to the first that is not positive, made non-increasing), and
/// (1 + φ) / (1 − φ) of the AR(1) process with the measured lag-1 autocorrelation, corrected for its bias (Kendall
/// 1954: φ = r(1) + (1 + 3 r(1)) / n) and raised by one standard error (Bartlett 1946: √((1 − φ²) / n)). Without the
/// raise, the short series whose autocorrelation is underestimated by chance would be the ones that get an interval.
pub fn autocorrelation_time(series: &[f64]) -> f64 {
    let centred = centred(series);
    let spread = covariance_sum(&centred, 0);
    if series.len() < 2 || spread <= 0.0 {
        return 1.0;
    }
    geyer_time(&centred, spread).max(first_order_time(&centred, spread)).max(1.0)
}

fn geyer_time(centred: &[f64], spread: f64) -> f64 {
    let longest = LONGEST_SHARE * centred.len() as f64;
    let mut time = -1.0;
    let mut pair_before = f64::INFINITY;
    for lag in (0..centred.len()).step_by(2) {
        let pair = (covariance_sum(centred, lag) + covariance_sum(centred, lag + 1)) / spread;
        if pair <= 0.0 || time > longest {
            break;
        }
        pair_before = pair.min(pair_before);
        time += 2.0 * pair_before;
    }
    time
}

fn first_order_time(centred: &[f64], spread: f64) -> f64 {
    let first = covariance_sum(centred, 1) / spread;
    let unbiased = first + (1.0 + 3.0 * first) / centred.len() as f64;
    let standard_error = ((1.0 - unbiased * unbiased).max(0.0) / centred.len() as f64).sqrt();
    let coefficient = (unbiased + standard_error).clamp(0.0, GREATEST_COEFFICIENT);
    (1.0 + coefficient) / (1.0 - coefficient)
}

fn centred(series: &[f64]) -> Vec<f64> {
    let mean = series.iter().sum::<f64>() / series.len().max(1) as f64;
    series.iter().map(|value| value - mean).collect()
}

fn covariance_sum(centred: &[f64], lag: usize) -> f64 {
    centred.iter().zip(centred.iter().skip(lag)).map(|(before, after)| before * after).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alternating_series_has_the_shortest_time() {
        let series: Vec<f64> = (0..100).map(|index| f64::from(index % 2)).collect();
        assert!((autocorrelation(&series, 1) + 0.99).abs() < 1e-9);
        assert_eq!(autocorrelation_time(&series), 1.0);
    }

    #[test]
    fn a_constant_series_has_no_autocorrelation() {
        assert_eq!(autocorrelation(&[3.0; 9], 1), 0.0);
        assert_eq!(autocorrelation_time(&[3.0; 9]), 1.0);
        assert_eq!(autocorrelation_time(&[]), 1.0);
    }

    #[test]
    fn a_drifting_series_has_a_time_longer_than_any_batch() {
        let series: Vec<f64> = (0..600).map(f64::from).collect();
        assert!(autocorrelation_time(&series) > 600.0 / 15.0);
    }
}
