//! What a recording answers that has no pressure: how fast its workloads are.

use manometer_measure::plan::{BetterDirection, Criterion, Plan};

use super::Grade;
use super::claim::{Claim, reach};
use super::grade::Verdict;
use super::setting::{SentenceSubject, enumerated};
use crate::estimate::MeanEstimate;
use crate::phase_result::{PhaseResult, baseline};

/// The most phases that are named in addition to the one that a sentence is about.
const MAX_NAMED: usize = 4;

/// The claim about a recording without a pressure; `name` is that of its primary, if it has one.
pub(super) fn performance_claim(plan: &Plan, name: &str, results: &[PhaseResult<'_>], verdict: &Verdict) -> Claim {
    let is_usable = |result: &PhaseResult<'_>| verdict.grade == Grade::Void || !verdict.is_void_in(result.id());
    let claim = match plan.primary() {
        Some(_) => of_primary(plan, name, results, is_usable),
        None => of_neighbours(plan, results, is_usable),
    };
    claim.unwrap_or_else(|| nothing_measured(results))
}

/// What the primary reaches: without neighbours where that was measured, else where it does worst.
fn of_primary(
    plan: &Plan,
    name: &str,
    results: &[PhaseResult<'_>],
    is_usable: impl Fn(&PhaseResult<'_>) -> bool,
) -> Option<Claim> {
    let subject = SentenceSubject { text: name.to_owned(), is_plural: false };
    let reaches = |result: &PhaseResult<'_>| reach(&plan.criterion, &subject, &result.performance.estimate);
    let about = |result: &PhaseResult<'_>, sentence: String, more: Option<&str>| {
        let phase = Some(result.id().to_owned());
        Claim { sentence, more: more.map(str::to_owned).into_iter().collect(), phase, ..Claim::default() }
    };
    if let Some(alone) = baseline(results) {
        let under_pressure = || results.iter().filter(|result| result.is_under_pressure());
        let measured = under_pressure().find(|result| result.performance.estimate.mean.is_some());
        let why_none = measured.and_then(|result| result.pressure.reason.as_deref());
        let rest = match why_none {
            Some(reason) => format!("no pressure is known, because {reason}"),
            None if under_pressure().next().is_some() => "no phase with neighbours was measured".to_owned(),
            None => "its plan has no phase with neighbours, and so no pressure".to_owned(),
        };
        return Some(about(alone, format!("{} without neighbours; {rest}", reaches(alone)), None));
    }
    let with_neighbours = results.iter().filter(|result| result.is_under_pressure() && is_usable(result));
    let worst = largest(with_neighbours, |result| {
        let mean = result.performance.estimate.mean?;
        Some(if plan.criterion.better == BetterDirection::Higher { -mean } else { mean })
    })?;
    let sentence = format!(
        "the pressure on {name} is unknown, because w0, the phase without neighbours, was not measured; with {}, {}",
        SentenceSubject::of(plan, worst.phase).text,
        reaches(worst)
    );
    Some(about(worst, sentence, Some("Measure w0 in the same run.")))
}

/// What the first neighbour that was measured reaches where it is fastest: among the phases with a confidence interval, where
/// any has one.
fn of_neighbours(
    plan: &Plan,
    results: &[PhaseResult<'_>],
    is_usable: impl Fn(&PhaseResult<'_>) -> bool,
) -> Option<Claim> {
    let of = |result: &PhaseResult<'_>, name: &str| -> Option<MeanEstimate> {
        Some(result.neighbours.get(name)?.estimate.clone()).filter(|estimate| estimate.mean.is_some())
    };
    let neighbour =
        plan.neighbours().find(|neighbour| results.iter().any(|result| of(result, &neighbour.name).is_some()))?;
    let ends = |result: &PhaseResult<'_>| {
        let estimate = of(result, &neighbour.name)?;
        estimate.ci_low.zip(estimate.ci_high)
    };
    let measured: Vec<&PhaseResult<'_>> =
        results.iter().filter(|result| is_usable(result) && of(result, &neighbour.name).is_some()).collect();
    let tested: Vec<&PhaseResult<'_>> = measured.iter().copied().filter(|result| ends(result).is_some()).collect();
    let compared = if tested.is_empty() { &measured } else { &tested };
    let best = largest(compared.iter().copied(), |result| of(result, &neighbour.name)?.mean)?;
    let throughput =
        Criterion { metric: "throughput".to_owned(), unit: neighbour.unit.clone(), better: BetterDirection::Higher };
    let subject = SentenceSubject::of_neighbour(plan, best.phase, &neighbour.name);
    let is_close = |result: &&&PhaseResult<'_>| {
        let overlap = ends(result).zip(ends(best)).is_none_or(|((_, high), (low, _))| high >= low);
        result.id() != best.id() && overlap
    };
    let close: Vec<String> = compared.iter().filter(is_close).map(|result| result.id().to_owned()).collect();
    let most = match (compared.len(), close.as_slice()) {
        (1, _) => String::new(),
        (phases, []) => format!(", the most of {phases} phases"),
        (phases, _) if tested.is_empty() => format!(", the largest mean of {phases} phases"),
        (phases, close) => {
            let names = if close.len() > MAX_NAMED { format!("{} others", close.len()) } else { enumerated(close) };
            format!(", the largest mean of {phases} phases, with an interval that overlaps that of {names}")
        }
    };
    let untested = measured.len() - compared.len();
    let untested = (untested > 0)
        .then(|| format!("{untested} of {} phases have no confidence interval and are left out.", measured.len()));
    let others = match best.neighbours.len() {
        0 | 1 => String::new(),
        2 => " alongside another neighbour".to_owned(),
        count => format!(" alongside {} other neighbours", count - 1),
    };
    let sentence = format!(
        "{}{others}{most}; there is no primary, and so no pressure",
        reach(&throughput, &subject, &of(best, &neighbour.name)?)
    );
    let more = untested.into_iter().collect();
    Some(Claim { sentence, more, phase: Some(best.id().to_owned()), ..Claim::default() })
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
