//! Student's t distribution.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// The two-sided critical value for `significance` (0 to 1, exclusive) at `degrees_of_freedom` degrees of freedom,
/// which need not be an integer; `None` without degrees of freedom.
pub fn critical_value(significance: f64, degrees_of_freedom: f64) -> Option<f64> {
    if !(0.0 < significance && significance < 1.0) {
        return None;
    }
    let critical = standard(degrees_of_freedom)?.inverse_cdf(1.0 - significance / 2.0);
    critical.is_finite().then_some(critical)
}

/// The two-sided p-value of the statistic `t` at `degrees_of_freedom` degrees of freedom; `None` without degrees of freedom or
/// where `t` is not a number.
pub fn p_value(t: f64, degrees_of_freedom: f64) -> Option<f64> {
    if t.is_nan() {
        return None;
    }
    if t.is_infinite() {
        return Some(0.0);
    }
    Some((2.0 * standard(degrees_of_freedom)?.cdf(-t.abs())).clamp(0.0, 1.0))
}

/// The degrees of freedom of a sum of independent estimates given as (variance, degrees of freedom)
/// (Welch 1947, Satterthwaite 1946); `None` when every variance is 0.
pub fn combined_degrees_of_freedom(parts: &[(f64, f64)]) -> Option<f64> {
    let sum: f64 = parts.iter().map(|(variance, _)| variance).sum();
    let squares: f64 = parts.iter().map(|(variance, freedom)| variance * variance / freedom).sum();
    let freedom = sum * sum / squares;
    freedom.is_finite().then_some(freedom)
}

fn standard(degrees_of_freedom: f64) -> Option<StudentsT> {
    degrees_of_freedom.is_finite().then_some(())?;
    StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_match_the_textbook_table() {
        for (freedom, expected) in [(4.0, 2.776), (9.0, 2.262), (18.0, 2.101)] {
            let critical = critical_value(0.05, freedom).unwrap();
            assert!((critical - expected).abs() < 5e-4, "{freedom}: {critical}");
            assert!((p_value(critical, freedom).unwrap() - 0.05).abs() < 1e-6);
        }
    }

    #[test]
    fn without_degrees_of_freedom_there_is_no_value() {
        assert_eq!(critical_value(0.05, 0.0), None);
        assert_eq!(critical_value(0.05, f64::NAN), None);
        assert_eq!(critical_value(0.0, 9.0), None);
        assert_eq!(p_value(f64::NAN, 9.0), None);
        assert_eq!(p_value(f64::INFINITY, 9.0), Some(0.0));
        assert_eq!(combined_degrees_of_freedom(&[(0.0, 9.0), (0.0, 9.0)]), None);
    }

    #[test]
    fn equal_variances_add_their_degrees_of_freedom() {
        assert_eq!(combined_degrees_of_freedom(&[(2.0, 9.0), (2.0, 9.0)]), Some(18.0));
    }
}
