//! What a recording answers that has no pressure: how fast its workloads are.

use manometer_measure::PhaseKind;
use manometer_measure::plan::{BetterDirection, Criterion, Plan};

use super::claim::{Claim, reach};
use super::setting::SentenceSubject;
use crate::estimate::MeanEstimate;
use crate::phase_result::{PhaseResult, baseline};

/// The claim about a recording without a pressure; `name` is that of its primary, if it has one.
pub(super) fn performance_claim(plan: &Plan, name: &str, results: &[PhaseResult<'_>]) -> Claim {
    let claim = match plan.primary() {
        Some(_) => of_primary(plan, name, results),
        None => of_neighbours(plan, results),
    };
    claim.unwrap_or_else(|| nothing_measured(results))
}

/// What the primary reaches: without neighbours where that was measured, else where it does worst.
fn of_primary(plan: &Plan, name: &str, results: &[PhaseResult<'_>]) -> Option<Claim> {
    let subject = SentenceSubject { text: name.to_owned(), is_plural: false };
    let reaches = |result: &PhaseResult<'_>| reach(&plan.criterion, &subject, &result.performance.estimate);
    let about = |result: &PhaseResult<'_>, sentence: String, more: Option<&str>| {
        let phase = Some(result.id().to_owned());
        Claim { sentence, more: more.map(str::to_owned).into_iter().collect(), phase, says_too_short: false }
    };
    if let Some(alone) = baseline(results) {
        let rest = match results.iter().any(|result| result.phase.kind == PhaseKind::Pressure) {
            true => "no phase with neighbours was measured",
            false => "its plan has no phase with neighbours, and so no pressure",
        };
        return Some(about(alone, format!("{} without neighbours; {rest}", reaches(alone)), None));
    }
    let worst = largest(results.iter().filter(|result| result.phase.kind == PhaseKind::Pressure), |result| {
        let mean = result.performance.estimate.mean?;
        Some(if plan.criterion.better == BetterDirection::Higher { -mean } else { mean })
    })?;
    let sentence = format!(
        "the pressure on {name} is unknown, because w0, the phase without neighbours, was not measured; beside {}, {}",
        SentenceSubject::of(plan, worst.phase).text,
        reaches(worst)
    );
    Some(about(worst, sentence, Some("Measure w0 in the same run.")))
}

/// What the first neighbour that was measured reaches where it is fastest.
fn of_neighbours(plan: &Plan, results: &[PhaseResult<'_>]) -> Option<Claim> {
    let of = |result: &PhaseResult<'_>, name: &str| -> Option<MeanEstimate> {
        Some(result.neighbours.get(name)?.estimate.clone()).filter(|estimate| estimate.mean.is_some())
    };
    let neighbour =
        plan.neighbours().find(|neighbour| results.iter().any(|result| of(result, &neighbour.name).is_some()))?;
    let measured = || results.iter().filter(|result| of(result, &neighbour.name).is_some());
    let best = largest(measured(), |result| of(result, &neighbour.name)?.mean)?;
    let throughput =
        Criterion { metric: "throughput".to_owned(), unit: neighbour.unit.clone(), better: BetterDirection::Higher };
    let subject = SentenceSubject::of_neighbour(plan, best.phase, &neighbour.name);
    let most = match measured().count() {
        1 => String::new(),
        phases => format!(", the most of {phases} phases"),
    };
    let beside = match best.neighbours.len() {
        0 | 1 => String::new(),
        2 => " beside another neighbour".to_owned(),
        count => format!(" beside {} other neighbours", count - 1),
    };
    let sentence = format!(
        "{}{beside}{most}; there is no primary, and so no pressure",
        reach(&throughput, &subject, &of(best, &neighbour.name)?)
    );
    Some(Claim { sentence, phase: Some(best.id().to_owned()), ..Claim::default() })
}

fn nothing_measured(results: &[PhaseResult<'_>]) -> Claim {
    let reason = results.iter().find_map(|result| result.performance.estimate.reason.clone());
    let reason = reason.map_or_else(|| ": the recording has no phases".to_owned(), |reason| format!(": {reason}"));
    Claim { sentence: format!("nothing was measured{reason}"), ..Claim::default() }
}

/// The phase with the largest `value` among those that have one.
fn largest<'a, 'b: 'a>(
    results: impl Iterator<Item = &'a PhaseResult<'b>>,
    value: impl Fn(&PhaseResult<'b>) -> Option<f64>,
) -> Option<&'a PhaseResult<'b>> {
    let valued = results.filter_map(|result| Some((result, value(result)?)));
    valued.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(result, _)| result)
}
