//! Every rule that Manometer reports findings by, and the manual's page of them.

use std::fmt::Write as _;

use manometer_measure::event::{Severity, Threat, ThreatStrength, ThreatTarget};

use crate::findings::Rule;
use crate::verdict::DEVICE_IN_USE;
use crate::{compare, findings, real_vs_synthetic};

/// Every rule: of one recording, of several, of a watched device, and of a trace compared with synthetic loads.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let of_recordings = findings::rules().chain(compare::rules());
    of_recordings.chain([&DEVICE_IN_USE]).chain(real_vs_synthetic::findings::RULES)
}

const HEAD: &str = "\
# Findings

A finding is what you must know before you use the numbers of a recording. Its text gives the fact first, with numbers and
units, and ends with what to do. [The analysis](analysis.md#findings) says how findings are evaluated. An *error* means that
numbers are missing or wrong, a *warning* that they need care, an *info* is worth knowing.

A finding may threaten the conclusion: all of the *result*, that it is about *storage*, the results of a *phase*, or the
*tail* of latencies. A *fatal* threat rules that conclusion out, a *serious* one may have changed it, a *minor* one limits
how far it can be generalised. The [verdict](analysis.md#the-verdict) follows from the threats.

`stranger` is the former id of `foreign-processes`, `replay-untold` that of `replay-unverified`.
`manometer schema findings` writes this page.

| id | severity | threatens | meaning | remedy | source |
| --- | --- | --- | --- | --- | --- |
";

/// `docs/findings.md`.
pub fn manual() -> String {
    let mut page = HEAD.to_owned();
    for Rule { id, severity, threat, source, meaning, remedy } in all() {
        let severity = match severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let threat = threat.map_or_else(|| "nothing".to_owned(), |rule| describe(rule.threat));
        _ = writeln!(page, "| `{id}` | {severity} | {threat} | {meaning} | {remedy} | {source} |");
    }
    page
}

/// Former ids of rules, and today's.
const RENAMED: [(&str, &str); 2] = [("stranger", "foreign-processes"), ("replay-untold", "replay-unverified")];

/// The rule `id`, under its name or a former one; `None` if there is none.
pub fn of_id(id: &str) -> Option<&'static Rule> {
    let id = RENAMED.into_iter().find(|(former, _)| *former == id).map_or(id, |(_, name)| name);
    all().find(|rule| rule.id == id)
}

/// `storage: fatal`.
fn describe(threat: Threat) -> String {
    let to = match threat.to {
        ThreatTarget::Result => "result",
        ThreatTarget::Storage => "storage",
        ThreatTarget::Phase => "phase",
        ThreatTarget::Tail => "tail",
    };
    let strength = match threat.strength {
        ThreatStrength::Fatal => "fatal",
        ThreatStrength::Serious => "serious",
        ThreatStrength::Minor => "minor",
    };
    format!("{to}: {strength}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_is_complete_and_its_id_is_unique() {
        let mut ids = BTreeSet::new();
        for rule in all() {
            let texts = [rule.id, rule.source, rule.meaning, rule.remedy];
            assert!(texts.iter().all(|text| !text.is_empty() && !text.contains('|')), "{rule:?}");
            assert!(rule.remedy.ends_with('.') && !rule.meaning.ends_with('.'), "{rule:?}");
            assert!(ids.insert(rule.id), "`{}` is listed twice", rule.id);
            let clause = rule.threat.map_or("none", |threat| threat.clause);
            assert!(!clause.is_empty() && !clause.ends_with('.') && clause.starts_with(char::is_lowercase), "{rule:?}");
        }
    }

    #[test]
    fn a_renamed_rule_answers_to_its_former_id() {
        for (former, name) in RENAMED {
            assert_eq!(of_id(former).map(|rule| rule.id), Some(name));
        }
    }

    #[test]
    fn an_error_threatens_a_conclusion_and_a_small_one_does_not_rank_above_saturated_processors() {
        // Runs that are stopped for their budget, or exceed it, measured what they measured.
        let harmless = ["write-budget-passed", "write-budget-too-small"];
        for rule in all().filter(|rule| rule.severity == Severity::Error && !harmless.contains(&rule.id)) {
            assert!(rule.threat.is_some(), "{rule:?}");
        }
        let threat = |id: &str| of_id(id).unwrap().threat.map(|rule| rule.threat);
        assert!(threat("cpu-saturated") > threat("recording-on-device"));
        assert!(threat("recording-on-device") > threat("single-device"));
    }
}
