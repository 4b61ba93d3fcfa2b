//! The pressure scale: phases ordered by their pressure, those that cannot be told apart on one step.
//!
//! A pressure scale is a total preorder (definition 2 of the Storiks thesis). "Their intervals overlap" is
//! none, since it is not transitive; cutting the ordered phases into steps is one by construction.

use crate::statistics::holm::adjusted;
use crate::statistics::{Measured, SIGNIFICANCE};

/// The rule, for people.
pub const RULE: &str = "The phases are ordered by their pressure. Going up, a new step begins at the first phase \
    whose performance differs significantly from that of the step's first member: Welch's test at 5 %, Holm-corrected \
    over all pairs of phases. Phases too short for an interval cannot be tested: they stay on the step where they \
    fall, and the first member that has an interval stands for the step.";

/// A phase on the scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Its id.
    pub id: String,
    /// Its pressure; a number.
    pub pressure: f64,
    /// Its performance, where it has an interval.
    pub performance: Option<Measured>,
}

/// Cuts `rungs` into steps of growing pressure by [`RULE`]; equal pressures keep the order given.
///
/// Whether two pressures differ is decided on the performances: both are shares of the same `w0`, whose own
/// uncertainty moves them together.
pub fn steps(rungs: &[Rung]) -> Vec<Vec<String>> {
    let mut order: Vec<usize> = (0..rungs.len()).collect();
    order.sort_by(|a, b| rungs[*a].pressure.total_cmp(&rungs[*b].pressure));
    let p_values = PairwiseTests::of(rungs);
    let mut steps: Vec<Vec<String>> = Vec::new();
    let mut first: Option<usize> = None;
    for rung in order {
        let differs = first.is_some_and(|first| p_values.differ(first, rung));
        match steps.last_mut() {
            Some(step) if !differs => step.push(rungs[rung].id.clone()),
            _ => steps.push(vec![rungs[rung].id.clone()]),
        }
        if (differs || first.is_none()) && rungs[rung].performance.is_some() {
            first = Some(rung);
        }
    }
    steps
}

/// The Holm-adjusted p-values of all pairs of phases that have an interval.
struct PairwiseTests {
    adjusted: Vec<((usize, usize), f64)>,
}

impl PairwiseTests {
    fn of(rungs: &[Rung]) -> Self {
        let tested: Vec<(usize, &Measured)> =
            rungs.iter().enumerate().filter_map(|(index, rung)| Some((index, rung.performance.as_ref()?))).collect();
        let pairs = tested.iter().enumerate().flat_map(|(rank, first)| {
            tested[rank + 1..].iter().map(move |second| ((first.0, second.0), first.1.difference_p_value(second.1)))
        });
        let (pairs, p_values): (Vec<_>, Vec<_>) = pairs.unzip();
        Self { adjusted: pairs.into_iter().zip(adjusted(&p_values)).collect() }
    }

    fn differ(&self, a: usize, b: usize) -> bool {
        let pair = (a.min(b), a.max(b));
        let found = self.adjusted.binary_search_by_key(&pair, |(pair, _)| *pair);
        found.is_ok_and(|at| self.adjusted[at].1 <= SIGNIFICANCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rung(id: usize, pressure: f64, standard_error: Option<f64>) -> Rung {
        let performance = standard_error.map(|standard_error| Measured {
            mean: 100.0 * (1.0 - pressure),
            standard_error,
            freedom: 8.0,
        });
        Rung { id: format!("w{id}"), pressure, performance }
    }

    #[test]
    fn clear_differences_make_steps_and_unclear_ones_do_not() {
        let rungs =
            [rung(0, 0.0, Some(1.0)), rung(1, 0.5, Some(1.0)), rung(2, 0.51, Some(1.0)), rung(3, -0.3, Some(1.0))];
        assert_eq!(steps(&rungs), [vec!["w3"], vec!["w0"], vec!["w1", "w2"]]);
    }

    #[test]
    fn a_chain_of_small_differences_is_cut_against_the_first_member() {
        let rungs: Vec<Rung> = (0..9).map(|index| rung(index, index as f64 * 0.03, Some(1.0))).collect();
        let steps = steps(&rungs);
        assert!(steps.len() > 1 && steps.len() < 9, "{steps:?}");
    }

    #[test]
    fn without_intervals_nothing_can_be_told_apart() {
        let rungs = [rung(0, 0.0, None), rung(1, 0.9, None)];
        assert_eq!(steps(&rungs), [["w0", "w1"]]);
        assert!(steps(&[]).is_empty());
    }

    #[test]
    fn a_phase_without_interval_does_not_swallow_the_scale() {
        let rungs = [rung(0, 0.0, None), rung(1, 0.1, Some(1.0)), rung(2, 0.9, Some(1.0))];
        assert_eq!(steps(&rungs), [vec!["w0", "w1"], vec!["w2"]]);
    }

    proptest! {
        #[test]
        fn the_scale_is_a_total_preorder(
            phases in prop::collection::vec((-1.0..1.0f64, prop::option::of(0.0..20.0f64)), 0..24)
        ) {
            let rungs: Vec<Rung> =
                phases.iter().enumerate().map(|(id, (pressure, error))| rung(id, *pressure, *error)).collect();
            let scale = steps(&rungs);
            prop_assert_eq!(&scale, &steps(&rungs), "the same phases make the same scale");
            let mut listed: Vec<&String> = scale.iter().flatten().collect();
            let pressure = |id: &String| rungs.iter().find(|rung| rung.id == *id).unwrap().pressure;
            prop_assert!(listed.windows(2).all(|pair| pressure(pair[0]) <= pressure(pair[1])), "{:?}", scale);
            prop_assert!(scale.iter().all(|step| !step.is_empty()));
            listed.sort();
            let mut all: Vec<&String> = rungs.iter().map(|rung| &rung.id).collect();
            all.sort();
            prop_assert_eq!(listed, all, "each phase is on exactly one step");
        }

        #[test]
        fn the_order_in_which_phases_ran_does_not_matter(
            pressures in prop::collection::hash_set(-100..100i32, 1..12), error in 0.1..5.0f64
        ) {
            let mut rungs: Vec<Rung> = pressures
                .iter()
                .map(|percent| rung((percent + 100) as usize, f64::from(*percent) / 100.0, Some(error)))
                .collect();
            let forwards = steps(&rungs);
            rungs.reverse();
            prop_assert_eq!(forwards, steps(&rungs));
        }
    }
}
