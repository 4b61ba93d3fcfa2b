//! Grades, and the reasons for them.

use manometer_measure::Grade;
use manometer_measure::event::{Finding, Threat, ThreatStrength, ThreatTarget};
use serde::{Deserialize, Serialize};

use crate::findings::{self, Rule};
use crate::phase_result::{PhaseResult, baseline};
use crate::prose::capitalised;

/// The most that a recording can answer: the conclusion that its verdict is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// What phases with neighbours cost against `w0`.
    #[default]
    Pressure,
    /// How fast workloads are: nothing can be compared with a `w0`.
    Performance,
    /// Whether a device that was watched is idle enough to measure on it.
    Device,
    /// Nothing: no workload was measured in any phase.
    Nothing,
}

/// What a result may be used for, and why.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// What it may be used for.
    pub grade: Grade,
    /// The conclusion that it is about.
    #[serde(default)]
    pub about: Conclusion,
    /// What threatens the conclusion, the greatest threat first.
    pub reasons: Vec<Reason>,
}

/// A finding that threatens the conclusion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The rule's id.
    pub id: String,
    /// What it threatens, and how strongly.
    #[serde(flatten)]
    pub threat: Threat,
    /// The best grade that it allows.
    pub allows: Grade,
    /// The phases it concerns; empty if it concerns the whole recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<String>,
    /// What happened, as a clause: `the processors were saturated`.
    pub clause: String,
    /// The finding's text.
    pub text: String,
}

impl Verdict {
    /// The verdict from `findings` of `rules`, where `allows` gives the best grade that a threat to some phases allows.
    pub(crate) fn of(findings: &[Finding], rules: &[&Rule], allows: impl Fn(Threat, &[String]) -> Grade) -> Self {
        let reason = |finding: &Finding| {
            let rule = rules.iter().find(|rule| rule.id == finding.id).and_then(|rule| rule.threat);
            let threat = finding.threat.or(rule.map(|rule| rule.threat))?;
            let phases: Vec<String> = finding.phase_ids().map(str::to_owned).collect();
            let clause = rule.map_or_else(|| format!("`{}` was reported", finding.id), |rule| rule.clause.to_owned());
            let allows = allows(threat, &phases);
            Some(Reason { id: finding.id.clone(), threat, allows, phases, clause, text: finding.text.clone() })
        };
        let mut reasons: Vec<Reason> = findings.iter().filter_map(reason).collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.weight()));
        let grade = reasons.iter().map(|reason| reason.allows).max().unwrap_or_default();
        Self { grade, about: Conclusion::Pressure, reasons }
    }

    /// The reason that decides the grade; `None` for a sound result.
    pub fn decisive(&self) -> Option<&Reason> {
        self.reasons.first().filter(|reason| reason.allows > Grade::Sound)
    }

    /// Whether only the conclusion about storage is void, because nothing but threats to it are fatal: the numbers hold for
    /// this host.
    pub fn is_void_for_storage(&self) -> bool {
        // The gravest reason is one to more than storage, where there is one.
        self.grade == Grade::Void && self.decisive().is_some_and(|reason| reason.threat.to == ThreatTarget::Storage)
    }

    /// `Verdict: indicative`: the grade, and what it is about where that is no pressure.
    pub fn title(&self) -> String {
        match self.about {
            Conclusion::Pressure => format!("Verdict: {}", self.grade.name()),
            Conclusion::Performance => format!("Verdict on the performance alone: {}", self.grade.name()),
            Conclusion::Device => format!("Verdict on measuring here: {}", self.grade.name()),
            Conclusion::Nothing => "No verdict: nothing was measured".to_owned(),
        }
    }

    /// What the grade means, as a clause.
    pub fn meaning(&self) -> &'static str {
        match (self.about, self.grade) {
            (Conclusion::Nothing, _) => "the recording has no measured phase",
            (_, Grade::Sound) => "nothing that was observed threatens this result seriously",
            (_, Grade::Indicative) => "something may have changed this result: confirm it by a repetition",
            (_, Grade::Void) if self.is_void_for_storage() => {
                "nothing can be concluded from this result about storage: its numbers hold for this host"
            }
            (_, Grade::Void) => "nothing can be concluded from this result about what was to be measured",
        }
    }

    /// `Verdict: indicative. The primary drifted.`: the title, and the decisive reason as a sentence.
    pub fn sentence(&self) -> String {
        match self.decisive() {
            None => format!("{}.", self.title()),
            Some(reason) => format!("{}. {}.", self.title(), capitalised(&reason.clause_with_phases())),
        }
    }

    /// Whether a fatal threat leaves nothing to conclude from `phase`.
    pub fn is_void_in(&self, phase: &str) -> bool {
        let is_fatal = |reason: &&Reason| reason.threat.strength == ThreatStrength::Fatal;
        self.reasons.iter().filter(is_fatal).any(|reason| reason.phases.iter().any(|id| id == phase))
    }
}

impl Reason {
    /// The order of reasons: by the grade that they allow, then by their threat. What makes more void than storage outweighs
    /// what makes storage void.
    fn weight(&self) -> (Grade, bool, Threat) {
        let is_void = self.allows == Grade::Void;
        (self.allows, is_void && self.threat.to != ThreatTarget::Storage, self.threat)
    }

    /// The clause, and where: `the processors were saturated in w1, w2`.
    pub fn clause_with_phases(&self) -> String {
        const MAX_NAMED: usize = 4;
        match self.phases.len() {
            // A drift is named after the phase that shows it.
            _ if self.threat.to == ThreatTarget::Result => self.clause.clone(),
            0 => self.clause.clone(),
            count if count > MAX_NAMED => format!("{} in {count} phases", self.clause),
            _ => format!("{} in {}", self.clause, self.phases.join(", ")),
        }
    }
}

/// The verdict on a recording whose phases have these `results`, by a criterion that is a percentile of latencies or not.
pub(crate) fn judge(found: &[Finding], results: &[PhaseResult<'_>], is_latency: bool) -> Verdict {
    let about = conclusion(results);
    let rules: Vec<&Rule> = findings::rules().collect();
    let verdict = Verdict::of(found, &rules, |threat, phases| match (threat.strength, threat.to) {
        (ThreatStrength::Minor, _) => Grade::Sound,
        (_, ThreatTarget::Tail) if !is_latency => Grade::Sound,
        (ThreatStrength::Fatal, ThreatTarget::Phase | ThreatTarget::Storage)
            if leaves_a_result(about, results, phases) =>
        {
            Grade::Indicative
        }
        (ThreatStrength::Serious, _) => Grade::Indicative,
        (ThreatStrength::Fatal, _) => Grade::Void,
    });
    let verdict = Verdict { about, ..without_rest(verdict, |phases| leaves_a_result(about, results, phases)) };
    let grade = if about == Conclusion::Nothing { Grade::Void } else { verdict.grade };
    Verdict { grade, ..verdict }
}

/// `verdict`, void where its fatal reasons together leave no result although each of them does.
fn without_rest(mut verdict: Verdict, leaves_a_result: impl Fn(&[String]) -> bool) -> Verdict {
    let is_fatal =
        |reason: &Reason| reason.threat.strength == ThreatStrength::Fatal && reason.allows == Grade::Indicative;
    let fatal = verdict.reasons.iter().filter(|reason| is_fatal(reason));
    let phases: Vec<String> = fatal.flat_map(|reason| reason.phases.clone()).collect();
    if verdict.grade == Grade::Indicative && !phases.is_empty() && !leaves_a_result(&phases) {
        let fatal = verdict.reasons.iter_mut().filter(|reason| is_fatal(reason));
        fatal.for_each(|reason| reason.allows = Grade::Void);
        verdict.grade = Grade::Void;
    }
    verdict.reasons.sort_by_key(|reason| std::cmp::Reverse(reason.weight()));
    verdict
}

/// The most that phases with these `results` can answer.
fn conclusion(results: &[PhaseResult<'_>]) -> Conclusion {
    let has_pressure = |result: &PhaseResult<'_>| result.is_under_pressure() && result.pressure.value.is_some();
    match results {
        _ if results.iter().any(has_pressure) => Conclusion::Pressure,
        _ if results.iter().any(PhaseResult::is_measured) => Conclusion::Performance,
        _ => Conclusion::Nothing,
    }
}

/// Whether a conclusion can still be drawn without `phases`; not where these are none, and all are meant.
fn leaves_a_result(about: Conclusion, results: &[PhaseResult<'_>], phases: &[String]) -> bool {
    let is_left = |result: &&PhaseResult<'_>| !phases.iter().any(|phase| phase == result.id());
    let mut left = results.iter().filter(|result| result.is_measured()).filter(is_left);
    !phases.is_empty()
        && match about {
            Conclusion::Pressure => {
                baseline(results).as_ref().is_some_and(is_left) && left.any(PhaseResult::is_under_pressure)
            }
            Conclusion::Performance => left.next().is_some(),
            Conclusion::Device | Conclusion::Nothing => false,
        }
}
