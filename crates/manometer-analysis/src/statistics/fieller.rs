//! The confidence interval of a ratio of two means (Fieller 1954).

use super::SIGNIFICANCE;
use super::batches::SampleMean;
use super::student::{combined_degrees_of_freedom, critical_value};

/// The 95 % interval of `numerator` / `denominator`, two independent means: every ratio R for which
/// numerator − R · denominator is not significantly different from 0.
///
/// The degrees of freedom of that difference are Welch's and Satterthwaite's at the measured ratio.
/// `None` where the denominator itself is not significantly different from 0: the ratio is then unbounded.
pub fn ratio_interval(numerator: &SampleMean, denominator: &SampleMean) -> Option<(f64, f64)> {
    let ratio = numerator.mean / denominator.mean;
    if !ratio.is_finite() {
        return None;
    }
    let parts = [
        (numerator.variance(), numerator.degrees_of_freedom),
        (ratio * ratio * denominator.variance(), denominator.degrees_of_freedom),
    ];
    let Some(degrees_of_freedom) = combined_degrees_of_freedom(&parts) else { return Some((ratio, ratio)) };
    let critical = critical_value(SIGNIFICANCE, degrees_of_freedom)?.powi(2);
    let denominator_share = critical * denominator.variance() / denominator.mean.powi(2);
    if denominator_share >= 1.0 {
        return None;
    }
    let variance =
        critical * (numerator.variance() * (1.0 - denominator_share) + ratio * ratio * denominator.variance());
    let half_width = variance.max(0.0).sqrt() / denominator.mean.abs();
    let (low, high) =
        ((ratio - half_width) / (1.0 - denominator_share), (ratio + half_width) / (1.0 - denominator_share));
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_mean(mean: f64, standard_error: f64) -> SampleMean {
        SampleMean { mean, standard_error, degrees_of_freedom: 9.0 }
    }

    #[test]
    fn the_difference_is_just_significant_at_the_ends() {
        let (a, b) = (sample_mean(70.0, 3.0), sample_mean(100.0, 5.0));
        let (low, high) = ratio_interval(&a, &b).unwrap();
        assert!(low < 0.7 && 0.7 < high);
        let parts = [(9.0, 9.0), (0.49 * 25.0, 9.0)];
        let critical = critical_value(SIGNIFICANCE, combined_degrees_of_freedom(&parts).unwrap()).unwrap();
        for end in [low, high] {
            let statistic = (70.0 - end * 100.0).abs() / (9.0 + end * end * 25.0).sqrt();
            assert!((statistic - critical).abs() < 1e-9, "{statistic} {critical}");
        }
    }

    #[test]
    fn a_denominator_near_0_has_no_interval() {
        assert_eq!(ratio_interval(&sample_mean(70.0, 3.0), &sample_mean(100.0, 60.0)), None);
        assert_eq!(ratio_interval(&sample_mean(70.0, 3.0), &sample_mean(0.0, 1.0)), None);
    }

    #[test]
    fn exact_means_have_an_exact_ratio() {
        assert_eq!(ratio_interval(&sample_mean(50.0, 0.0), &sample_mean(100.0, 0.0)), Some((0.5, 0.5)));
    }
}
