//! Whether the blocks of an interleaved plan are what the analysis takes them for: independent of the block before them.

use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};
use manometer_measure::human;

use super::evidence::Evidence;
use super::rule::{Family, Rule, serious, with_strength};
use crate::estimate::IntervalEstimate;
use crate::interleaved::block_states::BlockStateTest;
use crate::rounds_result::{RoundsResult, StateKind};
use crate::statistics::SIGNIFICANCE;

const CARRY_OVER: Rule = Rule {
    id: "carry-over",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "blocks depend on the blocks before them"),
    source: "Williams 1949; Jones & Kenward 2014, chapter 4; Freedman & Lane 1983",
    meaning: "in an interleaved plan, the performance of a block depends on the setting of the block before it (randomisation \
        test at 5 %); where by as much as the largest pressure whose interval excludes 0, the result is void",
    remedy: "Use the design `ladder`, or a longer `washout`.",
};

const UNTESTED: Rule = Rule {
    id: "carry-over-untested",
    severity: Severity::Info,
    threat: serious(ThreatTarget::Result, "carry-over between blocks was not tested"),
    source: "Williams 1949; Jones & Kenward 2014, chapter 4",
    meaning: "too few blocks of an interleaved plan were measured to test for carry-over",
    remedy: "Run more rounds.",
};

const STATES: Rule = Rule {
    id: "block-states-differ",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "blocks begin in different states"),
    source: "Didona et al., pitfalls 1 and 2; Storiks 3.4.1 (WR2)",
    meaning: "in an interleaved plan, compaction debt, how busy the device is, or dirty memory, at the start of a \
        block depends on the setting of the block before it (randomisation test on ranks at 5 %, Holm-corrected over the three), \
        by 1 MiB, by 5 % of time, or by 16 MiB or more",
    remedy: "Use the design `ladder`, or a longer `washout`.",
};

pub(super) const FAMILY: Family = Family { rules: &[CARRY_OVER, UNTESTED, STATES], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some(rounds) = RoundsResult::of(evidence.recording, evidence.data, evidence.results) else { return Vec::new() };
    carry_over(evidence, &rounds).into_iter().chain(states(&rounds)).collect()
}

fn carry_over(evidence: &Evidence<'_>, rounds: &RoundsResult) -> Option<Finding> {
    let Some(carry_over) = &rounds.carry_over else {
        let sentence = format!(
            "Whether a block depends on the one before it is unknown: {} whole rounds of {} phases do not determine it.",
            rounds.whole_rounds,
            rounds.table.phases.len()
        );
        return Some(UNTESTED.finding(None, &sentence));
    };
    let (phase, effect) = carry_over.largest()?;
    let plan = &evidence.recording.plan;
    let label = plan.phase(phase).map(|phase| format!(" ({})", phase.label)).unwrap_or_default();
    let washout_s = plan.interleaved.as_ref().map_or(0.0, |rounds| rounds.washout_s);
    let sentence = format!(
        "Blocks depend on the one before them, in spite of a washout of {washout_s} s: after a block of {phase}{label} the \
         {} is {} than after one of w0. The pressures of adjacent blocks include a part of that.",
        plan.criterion.metric,
        difference(effect)
    );
    let strength = match effect.value.unwrap_or_default().abs() >= evidence.largest_pressure().0 {
        true => ThreatStrength::Fatal,
        false => ThreatStrength::Serious,
    };
    (carry_over.p_value <= SIGNIFICANCE).then(|| with_strength(CARRY_OVER.finding(None, &sentence), strength))
}

/// `12 % lower (95 % interval 8 to 16 %)`.
fn difference(effect: &IntervalEstimate) -> String {
    let value = effect.value.unwrap_or_default();
    let (low, high) = (effect.ci_low.unwrap_or(value), effect.ci_high.unwrap_or(value));
    let (word, low, high) = if value < 0.0 { ("lower", -high, -low) } else { ("higher", low, high) };
    let percent = |share: f64| 100.0 * share;
    format!("{:.1} % {word} (95 % interval {:.1} to {:.1} %)", percent(value.abs()), percent(low), percent(high))
}

fn states(rounds: &RoundsResult) -> Option<Finding> {
    let differing = rounds.states.iter().filter(|(_, state)| state.p_value <= SIGNIFICANCE);
    let texts: Vec<String> =
        differing.filter_map(|(kind, state)| extremes(*kind, state, &rounds.table.phases)).collect();
    let sentence = format!("Blocks begin in states that depend on the block before: {}.", texts.join("; "));
    (!texts.is_empty()).then(|| STATES.finding(None, &sentence))
}

/// The least and the greatest mean state, with the phases after which blocks begin in them; `None` where they are nearly the
/// same.
fn extremes(kind: StateKind, state: &BlockStateTest, phases: &[String]) -> Option<String> {
    let means = || phases.iter().zip(&state.after).filter_map(|(phase, mean)| Some((phase, (*mean)?)));
    let (least_phase, least) = means().min_by(|one, other| one.1.total_cmp(&other.1))?;
    let (most_phase, most) = means().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let (name, tolerance) = match kind {
        StateKind::CompactionDebt => ("the compaction debt", (1_u64 << 20) as f64),
        StateKind::DeviceBusy => ("the share of time that the device is busy", 0.05),
        StateKind::DirtyMemory => ("dirty memory", (16_u64 << 20) as f64),
    };
    let value = |value: f64| match kind {
        StateKind::DeviceBusy => format!("{:.0} %", 100.0 * value),
        StateKind::CompactionDebt | StateKind::DirtyMemory => human::bytes(value as u64),
    };
    (most - least >= tolerance)
        .then(|| format!("{name} is {} after {least_phase} and {} after {most_phase}", value(least), value(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_its_direction_and_its_interval_in_order() {
        let of = |value, low, high| difference(&IntervalEstimate::of(value, Some((low, high)), ""));
        assert_eq!(of(-0.12, -0.16, -0.08), "12.0 % lower (95 % interval 8.0 to 16.0 %)");
        assert_eq!(of(0.1, -0.02, 0.22), "10.0 % higher (95 % interval -2.0 to 22.0 %)");
    }

    #[test]
    fn states_that_hardly_differ_are_not_reported() {
        let phases = ["w0", "w1", "w2"].map(str::to_owned);
        let text = |kind, after: [Option<f64>; 3]| {
            extremes(kind, &BlockStateTest { p_value: 0.001, after: after.to_vec() }, &phases)
        };
        let busy = text(StateKind::DeviceBusy, [Some(0.05), None, Some(0.8)]).unwrap();
        assert_eq!(busy, "the share of time that the device is busy is 5 % after w0 and 80 % after w2");
        assert_eq!(text(StateKind::DeviceBusy, [Some(0.05), None, Some(0.09)]), None);
        assert_eq!(text(StateKind::CompactionDebt, [None; 3]), None);
        let mib = |mib: f64| Some(mib * f64::from(1 << 20));
        assert!(
            text(StateKind::CompactionDebt, [mib(3.0), mib(140.0), mib(9.0)]).unwrap().contains("140 MiB after w1")
        );
    }
}
