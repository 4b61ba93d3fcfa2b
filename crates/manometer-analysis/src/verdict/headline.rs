//! The headline of a recording: the main result in a sentence with its interval, and what the verdict says of it.
//!
//! A claim about harm needs a confidence interval of the pressure above 0, a claim that there is none the whole interval of
//! every phase within the margin. Anything else says what is unknown, and how long phases would have to be.

use manometer_measure::plan::{BetterDirection, Criterion, Phase, Plan};
use manometer_measure::{Event, PhaseKind, Recording, engine};

use super::claim::{Claim, Percent, effect, metric_name};
use super::grade::{Conclusion, Grade, Verdict, capitalised};
use super::performance::performance_claim;
use super::setting::SentenceSubject;
use crate::estimate::{IntervalEstimate, NeededLength};
use crate::phase_result::{PhaseResult, baseline, compared_phases};

/// A loss of at most this share is none that matters, unless the experiment has a goal.
pub(crate) const MARGIN: f64 = 0.05;

/// The main result of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headline {
    /// In a sentence that says in the same breath what the verdict is.
    pub(crate) sentence: String,
    /// The claim alone, without a full stop.
    pub(crate) claim: String,
    /// The phase that the claim is about; none where it is about no single one.
    pub(crate) phase: Option<String>,
}

/// The headline of `recording`.
pub(crate) fn headline(recording: &Recording, results: &[PhaseResult<'_>], verdict: &Verdict) -> Headline {
    let name = primary_name(recording);
    let claim = match verdict.about {
        Conclusion::Pressure => pressure_claim(recording, &name, results, verdict),
        Conclusion::Performance | Conclusion::Device | Conclusion::Nothing => {
            performance_claim(&recording.plan, &name, results)
        }
    };
    Headline { sentence: with_verdict(&claim, verdict), claim: claim.sentence, phase: claim.phase }
}

/// The claim about the pressure on the primary `name`.
fn pressure_claim(recording: &Recording, name: &str, results: &[PhaseResult<'_>], verdict: &Verdict) -> Claim {
    let (plan, baseline) = (&recording.plan, baseline(results));
    let primary = PrimaryResult { name, plan, margin: plan.goal.map_or(MARGIN, |goal| goal.pressure) };
    let purpose = format!("to tell a loss of {:.0} %,", 100.0 * primary.margin);
    let telling = |result: &PhaseResult<'_>| {
        let compared = compared_phases(recording, baseline?, result);
        compared.needed(2.0 * primary.margin, plan.criterion.better, &purpose)
    };
    let phases = results.iter().filter(|result| result.phase.kind == PhaseKind::Pressure);
    let phases: Vec<PhaseEvidence<'_>> = phases
        .map(|result| PhaseEvidence {
            phase: result.phase,
            pressure: &result.pressure,
            telling: telling(result),
            is_void: verdict.grade < Grade::Void && verdict.is_void_in(result.id()),
        })
        .collect();
    primary.claim(&phases)
}

/// The claim with the verdict in the same breath.
fn with_verdict(claim: &Claim, verdict: &Verdict) -> String {
    let more: String = claim.more.iter().map(|sentence| format!(" {sentence}")).collect();
    let said = |id: &str| claim.says_too_short && id == "phase-too-short";
    let decisive = verdict.reasons.iter().find(|reason| reason.allows == verdict.grade && !said(&reason.id));
    let clause = decisive.map(super::grade::Reason::clause_with_phases).unwrap_or_default();
    match verdict.grade {
        Grade::Sound => format!("{}.{more}", capitalised(&claim.sentence)),
        Grade::Indicative if clause.is_empty() => format!("Indicative: {}.{more}", claim.sentence),
        Grade::Indicative => format!("Indicative: {}, but {clause}.{more}", claim.sentence),
        Grade::Void if verdict.is_void_for_storage() => {
            format!("Not a storage result: {clause}. {}.{more}", capitalised(&claim.sentence))
        }
        Grade::Void => format!("Void: {clause}. Measured, and not to be relied on: {}.{more}", claim.sentence),
    }
}

/// The workload whose performance is judged.
struct PrimaryResult<'a> {
    name: &'a str,
    plan: &'a Plan,
    /// A loss of at most this share is none that matters.
    margin: f64,
}

/// A phase with neighbours.
struct PhaseEvidence<'a> {
    phase: &'a Phase,
    pressure: &'a IntervalEstimate,
    /// The length that tells a loss as large as the margin from none; `None` where the phase is as long, or none is known.
    telling: Option<NeededLength>,
    /// Whether nothing can be concluded from it.
    is_void: bool,
}

impl PhaseEvidence<'_> {
    fn value(&self) -> f64 {
        self.pressure.value.unwrap_or(f64::NEG_INFINITY)
    }

    fn interval(&self) -> Option<(f64, f64)> {
        self.pressure.ci_low.zip(self.pressure.ci_high)
    }

    fn is_measured(&self) -> bool {
        self.pressure.value.is_some()
    }

    fn is_untested(&self) -> bool {
        self.is_measured() && self.interval().is_none()
    }

    fn is_harmful(&self) -> bool {
        self.interval().is_some_and(|(low, _)| low > 0.0)
    }

    fn is_helpful(&self) -> bool {
        self.interval().is_some_and(|(_, high)| high < 0.0)
    }
}

impl PrimaryResult<'_> {
    fn criterion(&self) -> &Criterion {
        &self.plan.criterion
    }

    fn claim(&self, phases: &[PhaseEvidence<'_>]) -> Claim {
        let judged: Vec<&PhaseEvidence<'_>> =
            phases.iter().filter(|phase| phase.is_measured() && !phase.is_void).collect();
        let mut claim = self.claim_of_judged(&judged).unwrap_or_default();
        claim.more.extend(list("Nothing can be concluded from", phases, |phase| phase.is_void && phase.is_measured()));
        claim.more.extend(list("Not measured:", phases, |phase| !phase.is_measured()));
        claim
    }

    /// The claim about the phases from which something can be concluded; `None` where there are none.
    fn claim_of_judged(&self, judged: &[&PhaseEvidence<'_>]) -> Option<Claim> {
        let worst = largest(judged, |_| true)?;
        let about = |phase: &PhaseEvidence<'_>, sentence: String, more: Vec<String>| Claim {
            sentence,
            more,
            phase: Some(phase.phase.id.clone()),
            says_too_short: false,
        };
        if let Some(harmful) = largest(judged, PhaseEvidence::is_harmful) {
            let untested = list("Untested:", judged.iter().copied(), PhaseEvidence::is_untested);
            let more = untested.into_iter().chain(length_advice(judged)).collect();
            return Some(about(harmful, self.effect(harmful), more));
        }
        if let Some(untested) = largest(judged, PhaseEvidence::is_untested) {
            let effect = self.effect(untested);
            let sentence = format!(
                "harm to {} is neither shown nor ruled out: {effect}, without a confidence interval",
                self.name
            );
            let claim = about(untested, sentence, length_advice(judged).into_iter().collect());
            return Some(Claim { says_too_short: true, ..claim });
        }
        let upper = largest_by(judged, |phase| phase.interval().map_or(f64::NEG_INFINITY, |(_, high)| high))?;
        let (_, high) = upper.interval()?;
        Some(if judged.iter().all(|phase| phase.is_helpful()) {
            about(worst, format!("no neighbour harms {}: {}", self.name, self.effect(worst)), Vec::new())
        } else if high <= self.margin {
            about(upper, self.bounded(upper, high.max(0.0)), Vec::new())
        } else {
            let sentence = format!("no harm to {} was shown: {}", self.name, self.effect(upper));
            about(upper, sentence, vec![self.narrowing_advice(upper)])
        })
    }

    /// `no neighbour costs RocksDB more than 4 % of its throughput`: no upper end of an interval is above that of `phase`.
    fn bounded(&self, phase: &PhaseEvidence<'_>, high: f64) -> String {
        let (name, criterion) = (self.name, self.criterion());
        let high = Percent::of(phase.pressure).text(high);
        let most = format!("(upper end of the 95 % interval, with {})", self.subject(phase).text);
        match criterion.better {
            BetterDirection::Higher => {
                format!("no neighbour costs {name} more than {high} of its {} {most}", criterion.metric)
            }
            BetterDirection::Lower => {
                format!("no neighbour raises {} by more than {high} {most}", metric_name(criterion, name))
            }
        }
    }

    fn subject(&self, phase: &PhaseEvidence<'_>) -> SentenceSubject {
        SentenceSubject::of(self.plan, phase.phase)
    }

    fn effect(&self, phase: &PhaseEvidence<'_>) -> String {
        effect(self.criterion(), self.name, &self.subject(phase), phase.pressure)
    }

    /// How long the run has to be for an interval that tells a loss as large as the margin from none.
    fn narrowing_advice(&self, phase: &PhaseEvidence<'_>) -> String {
        match &phase.telling {
            Some(needed) => format!("{}.", capitalised(&needed.reason)),
            None => format!("A loss of {:.0} % or more cannot be ruled out.", 100.0 * self.margin),
        }
    }
}

/// How long the run has to be for a confidence interval of every phase, where one has none.
fn length_advice(judged: &[&PhaseEvidence<'_>]) -> Option<String> {
    let untested = || judged.iter().filter(|phase| phase.is_untested());
    untested().next()?;
    let needed = untested().filter_map(|phase| phase.pressure.needed.as_ref());
    let longest = needed.max_by(|one, other| one.phase_s.total_cmp(&other.phase_s));
    Some(longest.map_or_else(|| "Run longer phases.".to_owned(), NeededLength::advice))
}

/// The phase with the largest pressure among those for which `is_selected` holds.
fn largest<'a, 'b>(
    phases: &[&'a PhaseEvidence<'b>],
    is_selected: impl Fn(&PhaseEvidence<'b>) -> bool,
) -> Option<&'a PhaseEvidence<'b>> {
    let selected: Vec<&PhaseEvidence<'b>> = phases.iter().copied().filter(|phase| is_selected(phase)).collect();
    largest_by(&selected, PhaseEvidence::value)
}

fn largest_by<'a, 'b>(
    phases: &[&'a PhaseEvidence<'b>],
    value: impl Fn(&PhaseEvidence<'b>) -> f64,
) -> Option<&'a PhaseEvidence<'b>> {
    phases.iter().copied().max_by(|one, other| value(one).total_cmp(&value(other)))
}

/// A further sentence with a list of phases; `None` for none.
fn list<'a, 'b: 'a>(
    introduction: &str,
    phases: impl IntoIterator<Item = &'a PhaseEvidence<'b>>,
    is_selected: impl Fn(&PhaseEvidence<'b>) -> bool,
) -> Option<String> {
    let selected = phases.into_iter().filter(|phase| is_selected(phase));
    let ids: Vec<&str> = selected.map(|phase| phase.phase.id.as_str()).collect();
    (!ids.is_empty()).then(|| format!("{introduction} {}.", ids.join(", ")))
}

/// The title of the primary's engine, or the name of the workload where it has none.
pub(super) fn primary_name(recording: &Recording) -> String {
    let Some(primary) = recording.plan.primary() else { return String::new() };
    let name = recording.events.iter().find_map(|line| match &line.event {
        Event::Ready { workload, facts } if *workload == primary.name => facts.get("engine")?.as_str(),
        _ => None,
    });
    name.map_or_else(|| format!("`{}`", primary.name), |name| engine::title(name).to_owned())
}
