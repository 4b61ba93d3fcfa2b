//! What a rule is, and a family of rules.

use manometer_measure::event::{Finding, Severity, Threat, ThreatStrength, ThreatTarget};

use super::evidence::Evidence;

/// When something is a finding, where that comes from, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its stable identifier.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What its findings threaten, unless a finding says otherwise; `None` where they threaten nothing.
    pub threat: Option<RuleThreat>,
    /// Its source: a publication, or what reports it.
    pub source: &'static str,
    /// What has happened if it is reported.
    pub meaning: &'static str,
    /// What to do about it; the last sentence of the finding.
    pub remedy: &'static str,
}

/// What the findings of a rule threaten, and how a headline says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleThreat {
    /// What, and how strongly.
    pub threat: Threat,
    /// What happened, as the clause of a sentence: `the processors were saturated`.
    pub clause: &'static str,
}

const fn threat(strength: ThreatStrength, to: ThreatTarget, clause: &'static str) -> Option<RuleThreat> {
    Some(RuleThreat { threat: Threat { strength, to }, clause })
}

/// The threat of a rule whose findings rule a conclusion out.
pub(crate) const fn fatal(to: ThreatTarget, clause: &'static str) -> Option<RuleThreat> {
    threat(ThreatStrength::Fatal, to, clause)
}

/// The threat of a rule whose findings may have changed a conclusion.
pub(crate) const fn serious(to: ThreatTarget, clause: &'static str) -> Option<RuleThreat> {
    threat(ThreatStrength::Serious, to, clause)
}

/// The threat of a rule whose findings limit how far a conclusion can be generalised.
pub(crate) const fn minor(to: ThreatTarget, clause: &'static str) -> Option<RuleThreat> {
    threat(ThreatStrength::Minor, to, clause)
}

impl Rule {
    /// A finding of this rule about `phase`, or about the whole recording: `sentence`, then the remedy.
    pub fn finding(&self, phase: Option<&str>, sentence: &str) -> Finding {
        self.finding_in(phase.as_slice(), sentence)
    }

    /// The same about several phases, or about the whole recording where there are none.
    pub fn finding_in(&self, phases: &[&str], sentence: &str) -> Finding {
        self.finding_with_remedy(phases, sentence, self.remedy)
    }

    /// The same where another remedy applies.
    pub(crate) fn finding_with_remedy(&self, phases: &[&str], sentence: &str, remedy: &str) -> Finding {
        let threat = self.threat.map(|rule| rule.threat);
        let finding = Finding::new(self.id, self.severity, format!("{sentence} {remedy}"));
        Finding { threat, ..finding.in_phases(phases.iter().copied()) }
    }
}

/// `finding` with its threat as strong as `strength`; one without a threat stays without.
pub(crate) fn with_strength(finding: Finding, strength: ThreatStrength) -> Finding {
    Finding { threat: finding.threat.map(|threat| Threat { strength, ..threat }), ..finding }
}

/// The rules of one file and the function that evaluates them.
pub(super) struct Family {
    pub(super) rules: &'static [Rule],
    pub(super) evaluate: fn(&Evidence<'_>) -> Vec<Finding>,
}
