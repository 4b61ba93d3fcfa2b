//! Whether the repeats of a combination agree narrowly enough: judged by the width of the interval over them, never
//! by whether anything is significant.

use manometer_analysis::compare::{Run, RunPhase};
use manometer_analysis::statistics::Measured;
use manometer_analysis::statistics::moments::mean;
use manometer_measure::plan::Better;

/// The widest interval over `runs` of any phase: of its pressure, from end to end, and where a run has no pressure of
/// its performance, as a share of it. Nothing where a phase was not measured in each of them.
pub(super) fn widest(runs: &[Run]) -> Option<f64> {
    let first = runs.first()?;
    let with_pressure = first.phases.iter().any(|phase| !phase.is_baseline) && baseline(first).is_some();
    let phases = first.phases.iter().filter(|phase| !(with_pressure && phase.is_baseline));
    phases
        .map(|phase| width_of_phase(runs, phase, with_pressure))
        .try_fold(0.0, |widest, width| Some(width?.max(widest)))
}

fn baseline(run: &Run) -> Option<f64> {
    run.phases.iter().find(|phase| phase.is_baseline)?.mean
}

fn width_of_phase(runs: &[Run], phase: &RunPhase, with_pressure: bool) -> Option<f64> {
    let value = |run: &Run| {
        let reached = run.phases.iter().find(|other| other.id == phase.id)?.mean?;
        if !with_pressure {
            return Some(reached);
        }
        let ratio = reached / baseline(run)?;
        Some(match run.criterion.better {
            Better::Higher => 1.0 - ratio,
            Better::Lower => ratio - 1.0,
        })
    };
    let values: Vec<f64> = runs.iter().map(value).collect::<Option<_>>()?;
    let width = width(&values)?;
    let unit = if with_pressure { 1.0 } else { mean(&values)?.abs() };
    Some(width / unit).filter(|width| width.is_finite())
}

/// The width of the 95 % interval of the mean of independent `values`, by Student's t.
fn width(values: &[f64]) -> Option<f64> {
    let (count, centre) = (values.len() as f64, mean(values)?);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let freedom = count - 1.0;
    let measured = Measured { mean: centre, standard_error: (squares / freedom / count).sqrt(), freedom };
    measured.interval().map(|(low, high)| high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_students() {
        // Three values one apart: mean 2, standard error 1/√3, t(0.975, 2) = 4.3027.
        assert!((width(&[1.0, 2.0, 3.0]).unwrap() - 2.0 * 4.302_653 / 3.0_f64.sqrt()).abs() < 1e-5);
        assert_eq!(width(&[5.0; 4]), Some(0.0));
        assert_eq!(width(&[5.0]), None);
        assert_eq!(width(&[]), None);
    }
}
