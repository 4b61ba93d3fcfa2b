//! Grades, and the reasons for them.

use manometer_measure::PhaseKind;
use manometer_measure::event::{Finding, Threat, ThreatStrength, Threatened};
use serde::{Deserialize, Serialize};

use crate::findings::{self, Rule};
use crate::phase_result::{PhaseResult, baseline};

/// What a result may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// For conclusions: no finding threatens them seriously.
    #[default]
    Sound,
    /// As an indication: something may have changed the result, and a repetition has to confirm it.
    Indicative,
    /// For no conclusion about what was to be measured.
    Void,
}

impl Grade {
    /// `sound`, `indicative` or `void`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Indicative => "indicative",
            Self::Void => "void",
        }
    }
}

/// What a result may be used for, and why.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// What it may be used for.
    pub grade: Grade,
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
        reasons.sort_by_key(|reason| std::cmp::Reverse((reason.allows, reason.threat)));
        let grade = reasons.iter().map(|reason| reason.allows).max().unwrap_or_default();
        Self { grade, reasons }
    }

    /// The reason that decides the grade; `None` for a sound result.
    pub fn decisive(&self) -> Option<&Reason> {
        self.reasons.first().filter(|reason| reason.allows > Grade::Sound)
    }

    /// Whether only the conclusion about storage is void: the numbers hold for this host.
    pub fn is_void_for_storage(&self) -> bool {
        self.grade == Grade::Void && self.decisive().is_some_and(|reason| reason.threat.to == Threatened::Storage)
    }

    /// `Verdict: indicative. The primary drifted.`: the grade, and the decisive reason as a sentence.
    pub fn sentence(&self) -> String {
        match self.decisive() {
            None => format!("Verdict: {}.", self.grade.name()),
            Some(reason) => format!("Verdict: {}. {}.", self.grade.name(), capitalised(&reason.clause_with_phases())),
        }
    }

    /// The phases in which a fatal threat leaves nothing to conclude.
    pub(crate) fn is_void_in(&self, phase: &str) -> bool {
        let is_fatal = |reason: &&Reason| reason.threat.strength == ThreatStrength::Fatal;
        self.reasons.iter().filter(is_fatal).any(|reason| reason.phases.iter().any(|id| id == phase))
    }
}

impl Reason {
    /// The clause, and where: `the processors were saturated in w1, w2`.
    pub fn clause_with_phases(&self) -> String {
        const MAX_NAMED: usize = 4;
        match self.phases.len() {
            // A drift is named after the phase that shows it.
            _ if self.threat.to == Threatened::Result => self.clause.clone(),
            0 => self.clause.clone(),
            count if count > MAX_NAMED => format!("{} in {count} phases", self.clause),
            _ => format!("{} in {}", self.clause, self.phases.join(", ")),
        }
    }
}

/// `sentence` with its first letter in upper case.
pub(super) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The verdict on a recording whose phases have these `results`, by a criterion that is a percentile of latencies or not.
pub(crate) fn judge(found: &[Finding], results: &[PhaseResult<'_>], is_latency: bool) -> Verdict {
    let baseline = baseline(results).map(PhaseResult::id);
    let pressures = results.iter().filter(|result| result.phase.kind == PhaseKind::Pressure);
    let measured: Vec<&str> =
        pressures.filter(|result| result.performance.estimate.mean.is_some()).map(PhaseResult::id).collect();
    let names = |phases: &[String], id: &str| phases.iter().any(|phase| phase == id);
    // Some phase with neighbours can still be compared with `w0`.
    let leaves_a_result = |phases: &[String]| {
        !phases.is_empty()
            && baseline.is_some_and(|id| !names(phases, id))
            && measured.iter().any(|id| !names(phases, id))
    };
    let rules: Vec<&Rule> = findings::rules().collect();
    Verdict::of(found, &rules, |threat, phases| match (threat.strength, threat.to) {
        (ThreatStrength::Minor, _) => Grade::Sound,
        (_, Threatened::Tail) if !is_latency => Grade::Sound,
        (ThreatStrength::Fatal, Threatened::Phase | Threatened::Storage) if leaves_a_result(phases) => {
            Grade::Indicative
        }
        (ThreatStrength::Serious, _) => Grade::Indicative,
        (ThreatStrength::Fatal, _) => Grade::Void,
    })
}
