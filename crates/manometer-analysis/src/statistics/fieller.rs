//! The interval of a ratio of two uncertain means (Fieller 1954).

use super::SIGNIFICANCE;
use super::batches::Measured;
use super::student::{combined_freedom, critical_value};

/// The 95 % interval of `numerator` / `denominator`, two independent means: every ratio R for which
/// numerator − R · denominator is not significantly different from 0.
///
/// The degrees of freedom of that difference are Welch's and Satterthwaite's at the measured ratio.
/// Nothing where the denominator itself is not significantly different from 0: the ratio is then unbounded.
pub fn ratio_interval(numerator: &Measured, denominator: &Measured) -> Option<(f64, f64)> {
    let ratio = numerator.mean / denominator.mean;
    if !ratio.is_finite() {
        return None;
    }
    let parts =
        [(numerator.variance(), numerator.freedom), (ratio * ratio * denominator.variance(), denominator.freedom)];
    let Some(freedom) = combined_freedom(&parts) else { return Some((ratio, ratio)) };
    let critical = critical_value(SIGNIFICANCE, freedom)?.powi(2);
    let doubt = critical * denominator.variance() / denominator.mean.powi(2);
    if doubt >= 1.0 {
        return None;
    }
    let spread = critical * (numerator.variance() * (1.0 - doubt) + ratio * ratio * denominator.variance());
    let half_width = spread.max(0.0).sqrt() / denominator.mean.abs();
    let (low, high) = ((ratio - half_width) / (1.0 - doubt), (ratio + half_width) / (1.0 - doubt));
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(mean: f64, standard_error: f64) -> Measured {
        Measured { mean, standard_error, freedom: 9.0 }
    }

    #[test]
    fn the_ends_are_where_the_difference_becomes_significant() {
        let (a, b) = (measured(70.0, 3.0), measured(100.0, 5.0));
        let (low, high) = ratio_interval(&a, &b).unwrap();
        assert!(low < 0.7 && 0.7 < high);
        let parts = [(9.0, 9.0), (0.49 * 25.0, 9.0)];
        let critical = critical_value(SIGNIFICANCE, combined_freedom(&parts).unwrap()).unwrap();
        for end in [low, high] {
            let statistic = (70.0 - end * 100.0).abs() / (9.0 + end * end * 25.0).sqrt();
            assert!((statistic - critical).abs() < 1e-9, "{statistic} {critical}");
        }
    }

    #[test]
    fn an_unsure_denominator_bounds_nothing() {
        assert_eq!(ratio_interval(&measured(70.0, 3.0), &measured(100.0, 60.0)), None);
        assert_eq!(ratio_interval(&measured(70.0, 3.0), &measured(0.0, 1.0)), None);
    }

    #[test]
    fn exact_means_have_an_exact_ratio() {
        assert_eq!(ratio_interval(&measured(50.0, 0.0), &measured(100.0, 0.0)), Some((0.5, 0.5)));
    }
}
