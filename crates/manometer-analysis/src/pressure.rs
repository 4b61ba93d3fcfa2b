//! What a phase costs: performances, and the share of `w0`'s that is gone.

use manometer_measure::plan::Better;

use crate::statistics::Measured;
use crate::statistics::fieller::ratio_interval;
use crate::statistics::moments::{mean, quantiles};
use crate::summary::{Estimate, Ratio};

/// The quantiles shown where there is no interval.
const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

pub(crate) const TOO_SHORT: &str = "the phase is too short: run it longer";

/// What a workload reached in a phase, as it is told and as it is computed with.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Performance {
    pub(crate) told: Estimate,
    pub(crate) measured: Option<Measured>,
}

impl Performance {
    /// The mean of one number per sample interval, with its interval where there are enough.
    pub(crate) fn of(values: &[f64], unit: &str) -> Self {
        let Some(mean) = mean(values).filter(|mean| mean.is_finite()) else {
            return Self::missing(unit, "no whole sample interval lies in the phase");
        };
        let measured = Measured::of(values);
        let ends = measured.and_then(|measured| measured.interval());
        let told = Estimate {
            mean: Some(mean),
            ci_low: ends.map(|ends| ends.0),
            ci_high: ends.map(|ends| ends.1),
            samples: values.len(),
            unit: unit.to_owned(),
            quantiles: if ends.is_none() { quantiles(values, QUANTILES) } else { None },
            reason: ends.is_none().then(|| TOO_SHORT.to_owned()),
        };
        Self { told, measured: ends.and(measured) }
    }

    /// What was not measured, and why.
    pub(crate) fn missing(unit: &str, reason: &str) -> Self {
        let told = Estimate { unit: unit.to_owned(), reason: Some(reason.to_owned()), ..Estimate::default() };
        Self { told, measured: None }
    }
}

/// A pressure that cannot be told, and why.
pub(crate) fn no_pressure(reason: &str) -> Ratio {
    Ratio { reason: Some(reason.to_owned()), ..Ratio::default() }
}

/// The pressure of the phase that a pressure is measured against: 0 by definition, exactly.
pub(crate) fn own_pressure() -> Ratio {
    Ratio { value: Some(0.0), ci_low: Some(0.0), ci_high: Some(0.0), reason: None }
}

/// What a phase whose criterion was `beside`, one number per sample interval, costs against one where it was `alone`.
pub fn pressure_of(alone: &[f64], beside: &[f64], unit: &str, better: Better) -> Ratio {
    pressure(&Performance::of(alone, unit), &Performance::of(beside, unit), better)
}

/// What `beside` costs against `alone`: 1 − beside / alone where more is better, beside / alone − 1 where
/// less is (definition 3 of the Storiks thesis), with Fieller's interval of the ratio.
pub(crate) fn pressure(alone: &Performance, beside: &Performance, better: Better) -> Ratio {
    let Some(alone_mean) = alone.told.mean else {
        return no_pressure("what it would be compared with was not measured");
    };
    let Some(beside_mean) = beside.told.mean else {
        return no_pressure(beside.told.reason.as_deref().unwrap_or("it was not measured"));
    };
    let of_ratio = |ratio: f64| match better {
        Better::Higher => 1.0 - ratio,
        Better::Lower => ratio - 1.0,
    };
    let value = of_ratio(beside_mean / alone_mean);
    if alone_mean <= 0.0 || !value.is_finite() {
        return no_pressure("what it would be compared with is 0");
    }
    let (Some(alone), Some(beside)) = (alone.measured, beside.measured) else {
        return Ratio { value: Some(value), reason: Some(TOO_SHORT.to_owned()), ..Ratio::default() };
    };
    let Some((one, other)) = ratio_interval(&beside, &alone).map(|(low, high)| (of_ratio(low), of_ratio(high))) else {
        let reason = "no interval: what it is compared with is not surely above 0".to_owned();
        return Ratio { value: Some(value), reason: Some(reason), ..Ratio::default() };
    };
    Ratio { value: Some(value), ci_low: Some(one.min(other)), ci_high: Some(one.max(other)), reason: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(mean: f64) -> Performance {
        Performance::of(&(0..100).map(|t| mean + f64::from((t * 7919) % 13) - 6.0).collect::<Vec<_>>(), "ops/s")
    }

    #[test]
    fn the_sign_follows_what_is_better() {
        let lost = pressure(&steady(100.0), &steady(25.0), Better::Higher);
        assert!((lost.value.unwrap() - 0.75).abs() < 0.01);
        assert!(lost.ci_low.unwrap() < lost.value.unwrap() && lost.value.unwrap() < lost.ci_high.unwrap());
        let slower = pressure(&steady(100.0), &steady(300.0), Better::Lower);
        assert!((slower.value.unwrap() - 2.0).abs() < 0.05);
        assert!(slower.ci_low.unwrap() < slower.ci_high.unwrap());
        assert!(pressure(&steady(100.0), &steady(142.0), Better::Higher).value.unwrap() < 0.0);
    }

    #[test]
    fn what_was_not_measured_is_null_with_a_reason() {
        let missing = Performance::missing("ops/s", "the worker died");
        assert_eq!(pressure(&steady(100.0), &missing, Better::Higher).reason.as_deref(), Some("the worker died"));
        assert_eq!(pressure(&missing, &steady(100.0), Better::Higher).value, None);
        let still = Performance::of(&[0.0; 100], "ops/s");
        let ratio = pressure(&still, &steady(100.0), Better::Higher);
        assert!(ratio.value.is_none() && ratio.reason.is_some());
    }

    #[test]
    fn a_short_phase_has_quantiles_instead_of_an_interval() {
        let short = Performance::of(&[5.0, 1.0, 3.0], "ops/s");
        assert_eq!((short.told.mean, short.told.ci_low, short.told.samples), (Some(3.0), None, 3));
        assert_eq!(short.told.quantiles.unwrap()[2], 3.0);
        let ratio = pressure(&steady(100.0), &short, Better::Higher);
        assert!(ratio.value.is_some() && ratio.ci_low.is_none() && ratio.reason.is_some());
    }
}
