//! The width of the confidence interval over the repeats of a combination. Whether to repeat depends on the width alone,
//! never on significance.

use manometer_analysis::compare::{ComparedRun, RunPhase};
use manometer_analysis::statistics::SampleMean;
use manometer_analysis::statistics::moments::mean;
use manometer_measure::plan::BetterDirection;

/// The widest interval of any phase over `runs`: of its pressure or, without a pressure, of its performance relative to the
/// mean. Nothing where a run did not measure a phase.
pub(super) fn widest_interval(runs: &[ComparedRun]) -> Option<f64> {
    let first = runs.first()?;
    let with_pressure = first.phases.iter().any(|phase| !phase.is_baseline) && baseline(first).is_some();
    let phases = first.phases.iter().filter(|phase| !(with_pressure && phase.is_baseline));
    phases
        .map(|phase| width_of_phase(runs, phase, with_pressure))
        .try_fold(0.0, |widest, width| Some(width?.max(widest)))
}

fn baseline(run: &ComparedRun) -> Option<f64> {
    run.phases.iter().find(|phase| phase.is_baseline)?.mean
}

fn width_of_phase(runs: &[ComparedRun], phase: &RunPhase, with_pressure: bool) -> Option<f64> {
    let value = |run: &ComparedRun| {
        let reached = run.phases.iter().find(|other| other.id == phase.id)?.mean?;
        if !with_pressure {
            return Some(reached);
        }
        let ratio = reached / baseline(run)?;
        Some(match run.criterion.better {
            BetterDirection::Higher => 1.0 - ratio,
            BetterDirection::Lower => ratio - 1.0,
        })
    };
    let values: Vec<f64> = runs.iter().map(value).collect::<Option<_>>()?;
    let width = width(&values)?;
    let scale = if with_pressure { 1.0 } else { mean(&values)?.abs() };
    Some(width / scale).filter(|width| width.is_finite())
}

/// The width of the 95 % interval of the mean of independent `values`, by Student's t.
fn width(values: &[f64]) -> Option<f64> {
    let (count, centre) = (values.len() as f64, mean(values)?);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let freedom = count - 1.0;
    let measured =
        SampleMean { mean: centre, standard_error: (squares / freedom / count).sqrt(), degrees_of_freedom: freedom };
    measured.interval().map(|(low, high)| high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_that_of_students_t() {
        // Three values one apart: mean 2, standard error 1/√3, t(0.975, 2) = 4.3027.
        assert!((width(&[1.0, 2.0, 3.0]).unwrap() - 2.0 * 4.302_653 / 3.0_f64.sqrt()).abs() < 1e-5);
        assert_eq!(width(&[5.0; 4]), Some(0.0));
        assert_eq!(width(&[5.0]), None);
        assert_eq!(width(&[]), None);
    }
}
