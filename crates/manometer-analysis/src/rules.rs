//! Every rule that Manometer reports findings by, and the manual's page of them.

use std::fmt::Write as _;

use manometer_measure::event::Severity;

use crate::findings::Rule;
use crate::{compare, findings, real_vs_synthetic};

/// Every rule: of one recording, of several, and of a trace compared with synthetic loads.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    findings::rules().chain(compare::rules()).chain(real_vs_synthetic::findings::RULES)
}

const HEAD: &str = "\
# Findings

A finding is what you must know before you use the numbers of a recording. Its text gives the fact first, with numbers and
units, and ends with what to do. [The analysis](analysis.md#findings) says how findings are evaluated. An *error* means that
numbers are missing or wrong, a *warning* that they need care, an *info* is worth knowing.

`manometer schema findings` writes this page.

| id | severity | meaning | remedy | source |
| --- | --- | --- | --- | --- |
";

/// `docs/findings.md`.
pub fn manual() -> String {
    let mut page = HEAD.to_owned();
    for Rule { id, severity, source, meaning, remedy } in all() {
        let severity = match severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        _ = writeln!(page, "| `{id}` | {severity} | {meaning} | {remedy} | {source} |");
    }
    page
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
        }
    }
}
