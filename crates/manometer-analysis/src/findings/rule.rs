//! What a rule is, and a family of rules.

use manometer_measure::event::{Finding, Severity};

use super::evidence::Evidence;

/// When something is a finding, where that comes from, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its stable identifier.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Its source: a publication, or what reports it.
    pub source: &'static str,
    /// What has happened if it is reported.
    pub meaning: &'static str,
    /// What to do about it; the last sentence of the finding.
    pub remedy: &'static str,
}

impl Rule {
    /// A finding of this rule: `sentence`, then the remedy.
    pub fn finding(&self, phase: Option<&str>, sentence: &str) -> Finding {
        Finding {
            id: self.id.to_owned(),
            severity: self.severity,
            phase: phase.map(str::to_owned),
            text: format!("{sentence} {}", self.remedy),
        }
    }
}

/// The rules of one file and the function that evaluates them.
pub(super) struct Family {
    pub(super) rules: &'static [Rule],
    pub(super) evaluate: fn(&Evidence<'_>) -> Vec<Finding>,
}
