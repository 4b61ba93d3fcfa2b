//! The headline of a recording: the main result in a sentence with its interval, and what the verdict says of it.
//!
//! A claim about harm needs a confidence interval of the pressure above 0, and the corrected test of the pressure scale that
//! tells the phase from `w0`; a claim that there is none needs the whole interval of every phase within the margin. Anything
//! else says what is unknown, and how long phases would have to be.

use manometer_measure::plan::{BetterDirection, Criterion, Phase, Plan};
use manometer_measure::{Event, Recording, engine};

use super::Grade;
use super::claim::{Claim, Percent, effect, metric_name, range};
use super::grade::{Conclusion, Verdict};
use super::performance::performance_claim;
use super::setting::SentenceSubject;
use crate::estimate::{IntervalEstimate, NeededLength};
use crate::phase_result::{PhaseResult, baseline, compared_phases};
use crate::prose::capitalised;
use crate::scale::PressureScale;

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

/// The headline of `recording`, whose phases are on this `scale`.
pub(crate) fn headline(
    recording: &Recording,
    results: &[PhaseResult<'_>],
    verdict: &Verdict,
    scale: &PressureScale,
) -> Headline {
    let name = primary_name(recording);
    let is_void = verdict.grade == Grade::Void && !verdict.is_void_for_storage();
    let claim = match verdict.about {
        Conclusion::Pressure | Conclusion::Performance if is_void => nothing_to_conclude(),
        Conclusion::Pressure => pressure_claim(recording, &name, results, (verdict, scale)),
        Conclusion::Performance | Conclusion::Device | Conclusion::Nothing => {
            performance_claim(&recording.plan, &name, results, verdict)
        }
    };
    Headline { sentence: with_verdict(&claim, verdict), claim: claim.sentence, phase: claim.phase }
}

/// What is left of a result that is void for more than storage.
fn nothing_to_conclude() -> Claim {
    Claim { sentence: "nothing can be concluded from this run".to_owned(), ..Claim::default() }
}

/// The claim about the pressure on the primary `name`.
fn pressure_claim(
    recording: &Recording,
    name: &str,
    results: &[PhaseResult<'_>],
    (verdict, scale): (&Verdict, &PressureScale),
) -> Claim {
    let (plan, baseline) = (&recording.plan, baseline(results));
    let primary = PrimaryResult { name, plan, margin: plan.goal.map_or(MARGIN, |goal| goal.pressure) };
    let purpose = format!("to tell {}", primary.least_harm());
    let telling = |result: &PhaseResult<'_>| {
        let compared = compared_phases(recording, baseline?, result);
        compared.needed(2.0 * primary.margin, plan.criterion.better, &purpose)
    };
    let phases = results.iter().filter(|result| result.is_under_pressure());
    let phases: Vec<PhaseEvidence<'_>> = phases
        .map(|result| PhaseEvidence {
            phase: result.phase,
            pressure: &result.pressure,
            telling: telling(result),
            is_told_from_w0: baseline.is_some_and(|baseline| scale.tells_apart(baseline.id(), result.id())),
            is_void: verdict.grade < Grade::Void && verdict.is_void_in(result.id()),
        })
        .collect();
    primary.claim(&phases)
}

/// The claim with the verdict in the same breath.
fn with_verdict(claim: &Claim, verdict: &Verdict) -> String {
    // More of the same does not mend what makes a result void.
    let advice = claim.length_advice.as_ref().filter(|_| verdict.grade < Grade::Void);
    let more: String = claim.more.iter().chain(advice).map(|sentence| format!(" {sentence}")).collect();
    let said = |id: &str| claim.says_too_short && id == "phase-too-short";
    let decisive = verdict.reasons.iter().find(|reason| reason.allows == verdict.grade && !said(&reason.id));
    let clause = decisive.map(super::grade::Reason::clause_with_phases).unwrap_or_default();
    match verdict.grade {
        Grade::Sound => format!("{}.{more}", capitalised(&claim.sentence)),
        Grade::Indicative if clause.is_empty() => format!("Indicative: {}.{more}", claim.sentence),
        Grade::Indicative => format!("Indicative: {}, but {clause}.{more}", claim.sentence),
        Grade::Void if verdict.is_void_for_storage() => {
            format!("Not a storage result: {clause}. On this host, {}.{more}", claim.sentence)
        }
        Grade::Void if clause.is_empty() => format!("Void: {}.{more}", claim.sentence),
        Grade::Void => format!("Void: {clause}. {}.{more}", capitalised(&claim.sentence)),
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
    /// Whether the corrected test of the pressure scale tells it from `w0`.
    is_told_from_w0: bool,
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
        self.is_told_from_w0 && self.interval().is_some_and(|(low, _)| low > 0.0)
    }

    fn is_helpful(&self) -> bool {
        self.is_told_from_w0 && self.interval().is_some_and(|(_, high)| high < 0.0)
    }
}

impl PrimaryResult<'_> {
    fn criterion(&self) -> &Criterion {
        &self.plan.criterion
    }

    fn claim(&self, phases: &[PhaseEvidence<'_>]) -> Claim {
        let judged: Vec<&PhaseEvidence<'_>> =
            phases.iter().filter(|phase| phase.is_measured() && !phase.is_void).collect();
        let mut claim = self.claim_of_judged(&judged).unwrap_or_else(nothing_to_conclude);
        claim.more.extend(list("Nothing can be concluded from", phases, |phase| phase.is_void && phase.is_measured()));
        claim.more.extend(list("Not measured:", phases, |phase| !phase.is_measured()));
        claim
    }

    /// The claim about the phases from which something can be concluded; `None` where there are none.
    fn claim_of_judged(&self, judged: &[&PhaseEvidence<'_>]) -> Option<Claim> {
        let worst = largest(judged, |_| true)?;
        let about = |phase: &PhaseEvidence<'_>, sentence: String| Claim {
            sentence,
            phase: Some(phase.phase.id.clone()),
            ..Claim::default()
        };
        if let Some(harmful) = largest(judged, PhaseEvidence::is_harmful) {
            let untested = list("Untested:", judged.iter().copied(), PhaseEvidence::is_untested);
            let (more, length_advice) = (untested.into_iter().collect(), length_advice(judged));
            return Some(Claim { more, length_advice, ..about(harmful, self.effect(harmful)) });
        }
        if let Some(untested) = largest(judged, PhaseEvidence::is_untested) {
            let range = self.range(untested);
            let sentence =
                format!("harm to {} is neither shown nor ruled out: {range}, without a confidence interval", self.name);
            let length_advice = length_advice(judged);
            return Some(Claim { says_too_short: true, length_advice, ..about(untested, sentence) });
        }
        let upper = largest_by(judged, |phase| phase.interval().map_or(f64::NEG_INFINITY, |(_, high)| high))?;
        let (_, high) = upper.interval()?;
        Some(if judged.iter().all(|phase| phase.is_helpful()) {
            about(worst, format!("no neighbour harms {}: {}", self.name, self.effect(worst)))
        } else if high <= self.margin {
            about(upper, self.bounded(upper, high.max(0.0)))
        } else {
            self.not_shown(about(worst, self.not_shown_sentence(worst)), judged)
        })
    }

    /// What is known of the phase with the largest pressure where no phase is shown to harm.
    fn not_shown_sentence(&self, worst: &PhaseEvidence<'_>) -> String {
        let untested = match worst.interval() {
            Some((low, _)) if low > 0.0 => {
                " of this phase alone, which does not differ from w0 by the test corrected for all pairs of phases"
            }
            _ => "",
        };
        format!("no harm to {} was shown: {}{untested}", self.name, self.range(worst))
    }

    /// `claim` with the length that would tell harm as large as the margin from none in every phase, as far as one is known.
    fn not_shown(&self, claim: Claim, judged: &[&PhaseEvidence<'_>]) -> Claim {
        let needed = judged.iter().filter_map(|phase| Some((phase.phase.id.as_str(), phase.telling.as_ref()?)));
        match longest(needed) {
            Some((phase, needed)) => Claim { length_advice: Some(needed.advice(phase)), ..claim },
            None => Claim { more: vec![format!("{} cannot be ruled out.", capitalised(&self.least_harm()))], ..claim },
        }
    }

    /// The least harm that matters: `a loss of 5 %`.
    fn least_harm(&self) -> String {
        let what = if self.criterion().better == BetterDirection::Higher { "loss" } else { "rise" };
        format!("a {what} of {:.0} %", 100.0 * self.margin)
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

    fn range(&self, phase: &PhaseEvidence<'_>) -> String {
        range(self.criterion(), self.name, &self.subject(phase), phase.pressure)
    }
}

/// How long the run has to be for a confidence interval of every phase, where one has none.
fn length_advice(judged: &[&PhaseEvidence<'_>]) -> Option<String> {
    let untested = || judged.iter().filter(|phase| phase.is_untested());
    untested().next()?;
    let needed = untested().filter_map(|phase| Some((phase.phase.id.as_str(), phase.pressure.needed.as_ref()?)));
    Some(longest(needed).map_or_else(|| "Run longer phases.".to_owned(), |(phase, needed)| needed.advice(phase)))
}

/// The longest of the lengths that phases need.
fn longest<'a>(needed: impl Iterator<Item = (&'a str, &'a NeededLength)>) -> Option<(&'a str, &'a NeededLength)> {
    needed.max_by(|one, other| one.1.phase_s.total_cmp(&other.1.phase_s))
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
