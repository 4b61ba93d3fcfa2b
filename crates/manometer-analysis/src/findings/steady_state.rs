//! Phases that are not in steady state, or in which a warm-up is visible.

use manometer_measure::event::{Finding, Severity, ThreatTarget};

use super::evidence::Evidence;
use super::rule::{Family, Rule, serious};
use super::text::{phase_list, was_or_were};
use crate::phase_result::PhaseResult;
use crate::steady_state::{ROUNDS_S, SteadyStateTest, WarmUp};

const NOT_STEADY: Rule = Rule {
    id: "not-steady",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Phase, "the workload was not in steady state"),
    source: "SNIA PTS 2.1.24; Hamed & Rao 1998; Storiks 3.4.1 (WR2)",
    meaning: "a phase is not in steady state: its rounds differ by more than the SNIA rule allows, be it by noise, or it \
        drifts (Mann-Kendall, Holm-corrected over phases); judged by the primary, or without one by the neighbour that is \
        least steady",
    remedy: "Let the database and the device settle for longer first.",
};

const WARM_UP: Rule = Rule {
    id: "warm-up-visible",
    severity: Severity::Info,
    threat: None,
    source: "White 1997 (MSER-5)",
    meaning: "the start of a phase differs from the rest of it",
    remedy: "Use a longer settle time to avoid it.",
};

pub(super) const FAMILY: Family = Family { rules: &[NOT_STEADY, WARM_UP], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    not_steady(evidence.results).into_iter().chain(warm_up(evidence.results)).collect()
}

fn not_steady(results: &[PhaseResult<'_>]) -> Option<Finding> {
    let unsteady = results.iter().filter_map(|result| {
        let test = result.steady_state.filter(|test| !test.is_steady())?;
        Some((result, test))
    });
    let unsteady: Vec<(&PhaseResult<'_>, SteadyStateTest)> = unsteady.collect();
    let (worst, test) = unsteady.iter().max_by(|one, other| one.1.rounds.range.total_cmp(&other.1.rounds.range))?;
    let ids: Vec<&str> = unsteady.iter().map(|(result, _)| result.id()).collect();
    let most = if ids.len() == 1 { "it".to_owned() } else { format!("{}, the least steady,", worst.id()) };
    let mut sentence = format!(
        "{} {} not in steady state: over {} {most} ranges over {:.0} % of its average (20 % allowed), and its fitted line \
         moves by {:.0} % (10 % allowed)",
        phase_list(&ids),
        was_or_were(&ids),
        five_rounds(worst.length_s()),
        100.0 * test.rounds.range,
        100.0 * test.rounds.excursion,
    );
    if test.has_drifted() {
        let end = |rise: f64| 100.0 * (1.0 + rise / 2.0).max(0.0);
        sentence += &format!(
            "; its trend over the whole phase goes from about {:.0} % to {:.0} % of its mean",
            end(-test.drift),
            end(test.drift)
        );
    }
    Some(NOT_STEADY.finding_in(&ids, &(sentence + ".")))
}

/// The five rounds of a phase of `length_s` seconds.
fn five_rounds(length_s: f64) -> &'static str {
    match length_s {
        _ if length_s > ROUNDS_S => "its last five minutes, in five rounds,",
        _ => "its five fifths",
    }
}

fn warm_up(results: &[PhaseResult<'_>]) -> Option<Finding> {
    let warming = results.iter().filter_map(|result| Some((result.id(), result.warm_up?)));
    let warming: Vec<(&str, WarmUp)> = warming.collect();
    let (most, warm_up) = warming.iter().max_by(|one, other| one.1.shift.abs().total_cmp(&other.1.shift.abs()))?;
    let ids: Vec<&str> = warming.iter().map(|(id, _)| *id).collect();
    let (shows, its) = match ids.as_slice() {
        [_] => ("shows", "its".to_owned()),
        _ => ("show", format!("{most}'s")),
    };
    let tenths = usize::from(warm_up.length_s < 10.0);
    let sentence = format!(
        "{} {shows} a warm-up: without its first {:.tenths$} s {its} mean would be {:+.0} %. Nothing was left out.",
        phase_list(&ids),
        warm_up.length_s,
        100.0 * warm_up.shift,
    );
    Some(WARM_UP.finding_in(&ids, &sentence))
}
