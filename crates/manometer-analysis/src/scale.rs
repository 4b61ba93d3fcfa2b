//! The pressure scale: phases ordered by pressure; phases that do not differ significantly share a step.
//!
//! A pressure scale is a total preorder (definition 2 of the Storiks thesis). "The intervals overlap" is not, because it
//! is not transitive; cutting the sorted phases into steps is one by construction. A phase that could not be tested is
//! on no step: it is not equal to anything.

use serde::{Deserialize, Serialize};

use crate::statistics::holm::adjusted;
use crate::statistics::{SIGNIFICANCE, SampleMean};

/// A phase with a pressure that is on no step of the scale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntestedPhase {
    /// The phase's id.
    pub id: String,
    /// Why it could not be tested.
    pub reason: String,
}

/// The test of two phases on the pressure scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaleTest {
    /// The phase that is earlier in the plan.
    pub a: String,
    /// The later phase.
    pub b: String,
    /// How they were tested.
    pub method: ScaleTestMethod,
    /// The p-value of equal performances, Holm-corrected over all pairs of the scale.
    pub p_value: f64,
    /// Whether they differ significantly. If not, they are not shown to be equal: only not shown to differ.
    pub differ: bool,
}

/// How two phases of the pressure scale were tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleTestMethod {
    /// Welch's test of the means of the criterion.
    Welch,
    /// A paired t test over the rounds of an interleaved plan.
    PairedRounds,
}

/// Where a phase is on the pressure scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleState {
    /// On a step: it was tested against the others.
    Tested,
    /// On no step: it has a pressure and could not be tested.
    Untested,
}

/// The rule, as the summary and the report state it.
pub const RULE: &str = "The phases are sorted by pressure, lowest first. A new step begins at the first phase whose \
    performance differs significantly from that of the step's first member: Welch's test at 5 %, Holm-corrected over \
    all pairs of phases. Phases on one step (`~`) were tested and do not differ significantly from its first, which does not \
    show them to be equal. A phase without a confidence interval is untested: it is on no step.";

/// The rule of an interleaved plan.
pub const ROUNDS_RULE: &str = "The phases are sorted by pressure, lowest first. A new step begins at the first phase whose \
    blocks differ significantly from those of the step's first member in the same rounds: a paired t test over rounds at \
    5 %, Holm-corrected over all pairs of phases. Phases on one step (`~`) were tested and do not differ significantly from \
    its first, which does not show them to be equal. A phase with fewer than five rounds is untested: it is on no step.";

const TOO_FEW_ROUNDS: &str = "fewer than five rounds were measured";

/// A phase with a pressure.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalePoint {
    /// The phase's id.
    pub id: String,
    /// Its pressure.
    pub pressure: f64,
    /// Its performance, or why it has no confidence interval.
    pub performance: Result<SampleMean, String>,
}

/// The phases of a run, ordered by pressure and cut into steps by [`RULE`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PressureScale {
    /// The ids of the tested phases, step by step, in ascending order of pressure.
    pub steps: Vec<Vec<String>>,
    /// The other phases, in ascending order of pressure.
    pub untested: Vec<UntestedPhase>,
    /// The tests of all pairs of tested phases, in the order in which the phases were given.
    pub tests: Vec<ScaleTest>,
}

impl PressureScale {
    /// The scale of `points`; equal pressures keep their order.
    ///
    /// The test compares performances, not pressures: both pressures are shares of the same `w0`, whose error is common
    /// to both.
    pub fn of(points: &[ScalePoint]) -> Self {
        Self::with_tests(points, pairwise_tests(points), |point| point.performance.as_ref().err().cloned())
    }

    /// The scale of phases that take turns in rounds: `p_value` tests two of them. A phase that it tests with no other is
    /// untested.
    pub fn of_rounds(points: &[ScalePoint], p_value: impl Fn(&str, &str) -> Option<f64>) -> Self {
        let ids = points.iter().map(|point| point.id.as_str()).enumerate();
        let pairs = ids.flat_map(|(rank, a)| points[rank + 1..].iter().map(move |b| (a, b.id.as_str())));
        let tests: Vec<((&str, &str), f64)> = pairs.filter_map(|(a, b)| Some(((a, b), p_value(a, b)?))).collect();
        let tests = corrected(tests, ScaleTestMethod::PairedRounds);
        let has_test = |id: &str| tests.iter().any(|test| test.a == id || test.b == id);
        let untested: Vec<&str> = points.iter().map(|point| point.id.as_str()).filter(|id| !has_test(id)).collect();
        let why = |point: &ScalePoint| untested.contains(&point.id.as_str()).then(|| TOO_FEW_ROUNDS.to_owned());
        Self::with_tests(points, tests.clone(), why)
    }

    /// The scale of `points` by `tests`; `why_untested` gives the reason of a phase that has none.
    fn with_tests(
        points: &[ScalePoint],
        tests: Vec<ScaleTest>,
        why_untested: impl Fn(&ScalePoint) -> Option<String>,
    ) -> Self {
        let mut sorted: Vec<&ScalePoint> = points.iter().collect();
        sorted.sort_by(|a, b| a.pressure.total_cmp(&b.pressure));
        let untested = sorted.iter().filter_map(|point| {
            let reason = why_untested(point)?;
            Some(UntestedPhase { id: point.id.clone(), reason })
        });
        let tested = sorted.iter().filter(|point| why_untested(point).is_none()).map(|point| point.id.as_str());
        Self { steps: steps(tested, &tests), untested: untested.collect(), tests }
    }

    /// Whether the corrected test of this scale tells two phases apart; not where one is untested.
    pub fn tells_apart(&self, one: &str, other: &str) -> bool {
        differ(&self.tests, one, other)
    }

    /// The state of `phase`; `None` for a phase that is not among the points.
    pub fn state(&self, phase: &str) -> Option<ScaleState> {
        if self.untested.iter().any(|untested| untested.id == phase) {
            return Some(ScaleState::Untested);
        }
        self.steps.iter().flatten().any(|id| id == phase).then_some(ScaleState::Tested)
    }
}

/// Cuts the phases `sorted` by pressure into steps.
fn steps<'a>(sorted: impl Iterator<Item = &'a str>, tests: &[ScaleTest]) -> Vec<Vec<String>> {
    let mut steps: Vec<Vec<String>> = Vec::new();
    for id in sorted {
        match steps.last_mut() {
            Some(step) if !differ(tests, &step[0], id) => step.push(id.to_owned()),
            _ => steps.push(vec![id.to_owned()]),
        }
    }
    steps
}

fn differ(tests: &[ScaleTest], one: &str, other: &str) -> bool {
    let is_of = |test: &&ScaleTest| (test.a == one && test.b == other) || (test.a == other && test.b == one);
    tests.iter().find(is_of).is_some_and(|test| test.differ)
}

/// The tests of all pairs of `points` with an interval.
fn pairwise_tests(points: &[ScalePoint]) -> Vec<ScaleTest> {
    let tested: Vec<(&str, &SampleMean)> =
        points.iter().filter_map(|point| Some((point.id.as_str(), point.performance.as_ref().ok()?))).collect();
    let pairs = tested.iter().enumerate().flat_map(|(rank, first)| {
        tested[rank + 1..].iter().map(move |second| ((first.0, second.0), first.1.difference_p_value(second.1)))
    });
    corrected(pairs.collect(), ScaleTestMethod::Welch)
}

/// The tests of pairs with these p-values, corrected over all of them.
fn corrected(pairs: Vec<((&str, &str), f64)>, method: ScaleTestMethod) -> Vec<ScaleTest> {
    let (pairs, p_values): (Vec<(&str, &str)>, Vec<f64>) = pairs.into_iter().unzip();
    let test = |((a, b), p_value): ((&str, &str), f64)| ScaleTest {
        a: a.to_owned(),
        b: b.to_owned(),
        method,
        p_value,
        differ: p_value <= SIGNIFICANCE,
    };
    pairs.into_iter().zip(adjusted(&p_values)).map(test).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steps(points: &[ScalePoint]) -> Vec<Vec<String>> {
        PressureScale::of(points).steps
    }

    fn point(id: usize, pressure: f64, standard_error: Option<f64>) -> ScalePoint {
        let performance = standard_error.map(|standard_error| SampleMean {
            mean: 100.0 * (1.0 - pressure),
            standard_error,
            degrees_of_freedom: 8.0,
        });
        let performance = performance.ok_or_else(|| "too short".to_owned());
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
    fn an_untested_phase_is_on_no_step() {
        let points = [point(0, 0.0, None), point(1, 0.1, Some(1.0)), point(2, 0.9, Some(1.0)), point(3, 0.05, None)];
        let scale = PressureScale::of(&points);
        assert_eq!(scale.steps, [["w1"], ["w2"]]);
        let untested: Vec<&str> = scale.untested.iter().map(|untested| untested.id.as_str()).collect();
        assert_eq!(untested, ["w0", "w3"]);
        assert_eq!(scale.untested[0].reason, "too short");
        let states = ["w0", "w1", "w9"].map(|id| scale.state(id));
        assert_eq!(states, [Some(ScaleState::Untested), Some(ScaleState::Tested), None]);
        assert_eq!(scale.tests.len(), 1);
        assert_eq!((scale.tests[0].a.as_str(), scale.tests[0].b.as_str(), scale.tests[0].differ), ("w1", "w2", true));
    }

    #[test]
    fn phases_in_rounds_are_cut_by_their_own_tests() {
        let points = [point(0, 0.0, None), point(1, 0.1, None), point(2, 0.9, None)];
        let p_value = |a: &str, b: &str| Some(if a == "w2" || b == "w2" { 0.001 } else { 0.9 });
        let scale = PressureScale::of_rounds(&points, p_value);
        assert_eq!(scale.steps, [vec!["w0", "w1"], vec!["w2"]]);
        assert!(
            scale.untested.is_empty() && scale.tests.iter().all(|test| test.method == ScaleTestMethod::PairedRounds)
        );
        let untested = PressureScale::of_rounds(&points, |_, _| None);
        assert!(untested.steps.is_empty() && untested.untested.len() == 3);
    }

    #[test]
    fn without_intervals_there_is_no_step() {
        let scale = PressureScale::of(&[point(0, 0.0, None), point(1, 0.9, None)]);
        assert!(scale.steps.is_empty() && scale.tests.is_empty() && scale.untested.len() == 2);
        assert_eq!(PressureScale::of(&[]), PressureScale::default());
    }

    proptest! {
        #[test]
        fn the_scale_is_a_total_preorder(
            phases in prop::collection::vec((-1.0..1.0f64, prop::option::of(0.0..20.0f64)), 0..24)
        ) {
            let points: Vec<ScalePoint> =
                phases.iter().enumerate().map(|(id, (pressure, error))| point(id, *pressure, *error)).collect();
            let PressureScale { steps: scale, untested, .. } = PressureScale::of(&points);
            prop_assert_eq!(&scale, &steps(&points), "the same phases make the same scale");
            let is_tested = |id: &String| points.iter().any(|point| point.id == *id && point.performance.is_ok());
            prop_assert!(scale.iter().flatten().all(is_tested), "{:?}", scale);
            let mut listed: Vec<&String> = scale.iter().flatten().collect();
            let pressure = |id: &String| points.iter().find(|point| point.id == *id).unwrap().pressure;
            prop_assert!(listed.windows(2).all(|pair| pressure(pair[0]) <= pressure(pair[1])), "{:?}", scale);
            prop_assert!(scale.iter().all(|step| !step.is_empty()));
            listed.extend(untested.iter().map(|untested| &untested.id));
            listed.sort();
            let mut all: Vec<&String> = points.iter().map(|point| &point.id).collect();
            all.sort();
            prop_assert_eq!(listed, all, "each phase is on exactly one step or untested");
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
