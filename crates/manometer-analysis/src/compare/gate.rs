//! Whether the later side of a comparison passes a gate: it is shown to be no worse than the earlier one.

use manometer_measure::plan::{BetterDirection, Criterion};
use serde::Serialize;

use crate::pressure::loss_interval;

/// Whether a performance is shown to be no worse than another, beyond the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateResult {
    /// The whole interval of the ratio is above the bound: any loss is smaller.
    NoWorse,
    /// The whole interval is below the bound.
    Worse,
    /// Neither.
    Undecided,
}

impl GateResult {
    /// The gate for a ratio of later to earlier performance with the interval `ends`.
    pub(super) fn of(ends: Option<(f64, f64)>, bound: f64, criterion: &Criterion) -> Self {
        // A latency that rises is a loss: in terms of its inverse both criteria are alike.
        match ends.map(|ends| loss_interval(ends, criterion.better)) {
            Some((_, most)) if most <= bound => Self::NoWorse,
            Some((least, _)) if least > bound => Self::Worse,
            _ => Self::Undecided,
        }
    }

    /// The ratio at which a loss is as large as `bound`.
    pub(super) fn edge(bound: f64, criterion: &Criterion) -> f64 {
        match criterion.better {
            BetterDirection::Higher => 1.0 - bound,
            BetterDirection::Lower => 1.0 + bound,
        }
    }

    /// The gate of all phases together: worse where one is, undecided where one is undecided or `has_unknown`.
    pub(super) fn of_all(phases: impl Iterator<Item = Self>, has_unknown: bool) -> Self {
        let phases: Vec<Self> = phases.collect();
        match phases.contains(&Self::Worse) {
            true => Self::Worse,
            false if has_unknown || phases.contains(&Self::Undecided) => Self::Undecided,
            false => Self::NoWorse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(low: f64, high: f64, better: BetterDirection) -> GateResult {
        let criterion = Criterion { metric: "m".to_owned(), unit: "u".to_owned(), better };
        GateResult::of(Some((low, high)), 0.05, &criterion)
    }

    #[test]
    fn a_gate_needs_the_whole_interval() {
        use BetterDirection::{Higher, Lower};
        assert_eq!(gate(0.96, 1.30, Higher), GateResult::NoWorse, "it may even be better");
        assert_eq!(gate(0.94, 0.99, Higher), GateResult::Undecided);
        assert_eq!(gate(0.80, 0.94, Higher), GateResult::Worse);
        assert_eq!(gate(0.50, 1.04, Lower), GateResult::NoWorse);
        assert_eq!(gate(1.01, 1.06, Lower), GateResult::Undecided);
        assert_eq!(gate(1.06, 1.50, Lower), GateResult::Worse);
    }

    #[test]
    fn one_worse_phase_decides_and_one_undecided_leaves_it_open() {
        let all = |gates: &[GateResult], has_unknown| GateResult::of_all(gates.iter().copied(), has_unknown);
        assert_eq!(all(&[GateResult::NoWorse, GateResult::Undecided, GateResult::Worse], true), GateResult::Worse);
        assert_eq!(all(&[GateResult::NoWorse, GateResult::Undecided], false), GateResult::Undecided);
        assert_eq!(all(&[GateResult::NoWorse], true), GateResult::Undecided);
        assert_eq!(all(&[GateResult::NoWorse], false), GateResult::NoWorse);
    }
}
