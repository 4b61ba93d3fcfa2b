//! The pressure scale: phases ordered by pressure; phases that do not differ significantly share a step.
//!
//! A pressure scale is a total preorder (definition 2 of the Storiks thesis). "The intervals overlap" is not, because it
//! is not transitive; cutting the sorted phases into steps is one by construction.

use crate::statistics::holm::adjusted;
use crate::statistics::{SIGNIFICANCE, SampleMean};

/// The rule, as the summary and the report state it.
pub const RULE: &str = "The phases are sorted by pressure, lowest first. A new step begins at the first phase whose \
    performance differs significantly from that of the step's first member: Welch's test at 5 %, Holm-corrected over \
    all pairs of phases. A phase without a confidence interval is untested: it stays on the step where it falls, and \
    the first member with an interval represents the step.";

/// A phase on the scale.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalePoint {
    /// The phase's id.
    pub id: String,
    /// Its pressure.
    pub pressure: f64,
    /// Its performance; `None` without a confidence interval.
    pub performance: Option<SampleMean>,
}

/// Cuts `points` into steps of ascending pressure by [`RULE`]; equal pressures keep their order.
///
/// The test compares performances, not pressures: both pressures are shares of the same `w0`, whose error is common to
/// both.
pub fn steps(points: &[ScalePoint]) -> Vec<Vec<String>> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| points[*a].pressure.total_cmp(&points[*b].pressure));
    let tests = PairwiseTests::of(points);
    let mut steps: Vec<Vec<String>> = Vec::new();
    let mut representative: Option<usize> = None;
    for point in order {
        let differs = representative.is_some_and(|first| tests.differ(first, point));
        match steps.last_mut() {
            Some(step) if !differs => step.push(points[point].id.clone()),
            _ => steps.push(vec![points[point].id.clone()]),
        }
        if (differs || representative.is_none()) && points[point].performance.is_some() {
            representative = Some(point);
        }
    }
    steps
}

/// The Holm-adjusted p-values of all pairs of phases with an interval.
struct PairwiseTests {
    adjusted: Vec<((usize, usize), f64)>,
}

impl PairwiseTests {
    fn of(points: &[ScalePoint]) -> Self {
        let tested: Vec<(usize, &SampleMean)> =
            points.iter().enumerate().filter_map(|(index, point)| Some((index, point.performance.as_ref()?))).collect();
        let pairs = tested.iter().enumerate().flat_map(|(rank, first)| {
            tested[rank + 1..].iter().map(move |second| ((first.0, second.0), first.1.difference_p_value(second.1)))
        });
        let (pairs, p_values): (Vec<_>, Vec<_>) = pairs.unzip();
        Self { adjusted: pairs.into_iter().zip(adjusted(&p_values)).collect() }
    }

    fn differ(&self, a: usize, b: usize) -> bool {
        let pair = (a.min(b), a.max(b));
        let index = self.adjusted.binary_search_by_key(&pair, |(pair, _)| *pair);
        index.is_ok_and(|index| self.adjusted[index].1 <= SIGNIFICANCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(id: usize, pressure: f64, standard_error: Option<f64>) -> ScalePoint {
        let performance = standard_error.map(|standard_error| SampleMean {
            mean: 100.0 * (1.0 - pressure),
            standard_error,
            degrees_of_freedom: 8.0,
        });
        ScalePoint { id: format!("w{id}"), pressure, performance }
    }

    #[test]
    fn significant_differences_make_steps() {
        let points =
            [point(0, 0.0, Some(1.0)), point(1, 0.5, Some(1.0)), point(2, 0.51, Some(1.0)), point(3, -0.3, Some(1.0))];
        assert_eq!(steps(&points), [vec!["w3"], vec!["w0"], vec!["w1", "w2"]]);
    }

    #[test]
    fn a_chain_of_small_differences_is_cut_against_the_first_member() {
        let points: Vec<ScalePoint> = (0..9).map(|index| point(index, index as f64 * 0.03, Some(1.0))).collect();
        let steps = steps(&points);
        assert!(steps.len() > 1 && steps.len() < 9, "{steps:?}");
    }

    #[test]
    fn without_intervals_all_phases_share_a_step() {
        let points = [point(0, 0.0, None), point(1, 0.9, None)];
        assert_eq!(steps(&points), [["w0", "w1"]]);
        assert!(steps(&[]).is_empty());
    }

    #[test]
    fn an_untested_phase_does_not_merge_the_steps() {
        let points = [point(0, 0.0, None), point(1, 0.1, Some(1.0)), point(2, 0.9, Some(1.0))];
        assert_eq!(steps(&points), [vec!["w0", "w1"], vec!["w2"]]);
    }

    proptest! {
        #[test]
        fn the_scale_is_a_total_preorder(
            phases in prop::collection::vec((-1.0..1.0f64, prop::option::of(0.0..20.0f64)), 0..24)
        ) {
            let points: Vec<ScalePoint> =
                phases.iter().enumerate().map(|(id, (pressure, error))| point(id, *pressure, *error)).collect();
            let scale = steps(&points);
            prop_assert_eq!(&scale, &steps(&points), "the same phases make the same scale");
            let mut listed: Vec<&String> = scale.iter().flatten().collect();
            let pressure = |id: &String| points.iter().find(|point| point.id == *id).unwrap().pressure;
            prop_assert!(listed.windows(2).all(|pair| pressure(pair[0]) <= pressure(pair[1])), "{:?}", scale);
            prop_assert!(scale.iter().all(|step| !step.is_empty()));
            listed.sort();
            let mut all: Vec<&String> = points.iter().map(|point| &point.id).collect();
            all.sort();
            prop_assert_eq!(listed, all, "each phase is on exactly one step");
        }

        #[test]
        fn the_order_of_the_phases_does_not_matter(
            pressures in prop::collection::hash_set(-100..100i32, 1..12), error in 0.1..5.0f64
        ) {
            let mut points: Vec<ScalePoint> = pressures
                .iter()
                .map(|percent| point((percent + 100) as usize, f64::from(*percent) / 100.0, Some(error)))
                .collect();
            let forwards = steps(&points);
            points.reverse();
            prop_assert_eq!(forwards, steps(&points));
        }
    }
}
