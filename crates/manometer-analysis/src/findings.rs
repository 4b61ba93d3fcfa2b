//! What a reader of the numbers must know: rules, each with its source and a remedy.
//!
//! A file per family of rules; [`FAMILIES`] lists them all, in the order in which findings are told. The table of
//! `docs/analysis.md` is made of the same list.

mod client;
mod clock;
mod conductor;
mod cpu;
mod data;
mod discard;
mod drift;
mod evidence;
mod flash;
mod heat;
mod levels;
mod phases;
pub mod replay;
mod run;
mod stable;
mod state;
mod steady;
mod strangers;
mod swap;
mod virtual_disk;

use std::fmt::Write as _;

use manometer_measure::Recording;
use manometer_measure::event::{Finding, Severity};

use self::evidence::Evidence;
pub(crate) use self::state::{Bounds, SAMPLES};
use crate::compare;
use crate::real_vs_synthetic;
use crate::sources::Sources;
use crate::summarise::Judged;

/// When something is a finding, why, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its kind, fixed, for machines.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Where it comes from.
    pub source: &'static str,
    /// When it is one.
    pub meaning: &'static str,
    /// What to do about it; the last sentence of the finding.
    pub remedy: &'static str,
}

impl Rule {
    /// The finding that `sentence` says, with the remedy.
    pub fn tell(&self, phase: Option<&str>, sentence: &str) -> Finding {
        finding(self.id, self.severity, phase, format!("{sentence} {}", self.remedy))
    }
}

/// The rules of one file, and what they find.
struct Family {
    rules: &'static [Rule],
    judge: fn(&Evidence<'_>) -> Vec<Finding>,
}

/// All rules. A replay that is not its trace, and the client as the bottleneck, make all other numbers moot: they come
/// first.
const FAMILIES: [Family; 20] = [
    Family { rules: replay::RULES, judge: replay::judge },
    Family { rules: client::LIMIT, judge: client::limit },
    Family { rules: conductor::RULES, judge: conductor::judge },
    Family { rules: run::RULES, judge: run::judge },
    Family { rules: virtual_disk::RULES, judge: virtual_disk::judge },
    Family { rules: stable::RULES, judge: stable::judge },
    Family { rules: phases::RULES, judge: phases::judge },
    Family { rules: steady::RULES, judge: steady::judge },
    Family { rules: client::PACE, judge: client::pace },
    Family { rules: drift::RULES, judge: drift::judge },
    Family { rules: levels::RULES, judge: levels::judge },
    Family { rules: state::RULES, judge: state::judge },
    Family { rules: cpu::RULES, judge: cpu::judge },
    Family { rules: heat::RULES, judge: heat::judge },
    Family { rules: swap::RULES, judge: swap::judge },
    Family { rules: strangers::RULES, judge: strangers::judge },
    Family { rules: discard::RULES, judge: discard::judge },
    Family { rules: clock::RULES, judge: clock::judge },
    Family { rules: data::RULES, judge: data::judge },
    Family { rules: flash::RULES, judge: flash::judge },
];

/// Every rule, in the order in which findings are told: of one recording, then of several put together, then of a trace
/// beside synthetic loads of it.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    FAMILIES
        .iter()
        .flat_map(|family| family.rules)
        .chain(compare::rules::rules())
        .chain(&real_vs_synthetic::findings::RULES)
}

/// All rules as the table of the manual.
pub fn table() -> String {
    let mut table = "| id | severity | source | meaning | remedy |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for Rule { id, severity, source, meaning, remedy } in rules() {
        let severity = match severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        // Writing to a text cannot fail.
        let _ = writeln!(table, "| `{id}` | {severity} | {source} | {meaning} | {remedy} |");
    }
    table
}

/// All findings: what happened in the run, then what the analysis saw. Each once.
pub(crate) fn findings(recording: &Recording, sources: &Sources, judged: &[Judged<'_>]) -> Vec<Finding> {
    let evidence = Evidence { recording, sources, judged };
    let mut once: Vec<Finding> = Vec::new();
    for finding in FAMILIES.iter().flat_map(|family| (family.judge)(&evidence)) {
        if !once.contains(&finding) {
            once.push(finding);
        }
    }
    once
}

fn finding(id: &str, severity: Severity, phase: Option<&str>, text: String) -> Finding {
    Finding { id: id.to_owned(), severity, phase: phase.map(str::to_owned), text }
}

/// The one phase that a finding is about, where it is about one.
fn only<'a>(ids: &[&'a str]) -> Option<&'a str> {
    match ids {
        [id] => Some(id),
        _ => None,
    }
}

/// `3.2 GiB`.
fn bytes_text(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [((1_u64 << 40) as f64, "TiB"), ((1_u64 << 30) as f64, "GiB"), ((1_u64 << 20) as f64, "MiB"), (1024.0, "KiB")];
    let fits = UNITS.iter().find(|(size, _)| bytes >= *size);
    fits.map_or_else(|| format!("{bytes:.0} B"), |(size, unit)| format!("{:.1} {unit}", bytes / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_whole_and_has_an_id_of_its_own() {
        let mut ids: Vec<&str> = rules().map(|rule| rule.id).collect();
        for rule in rules() {
            let texts = [rule.id, rule.source, rule.meaning, rule.remedy];
            assert!(texts.iter().all(|text| !text.is_empty() && !text.contains('|')), "{rule:?}");
            assert!(rule.remedy.ends_with('.'), "{rule:?}");
        }
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "an id twice: {ids:?}");
    }

    #[test]
    fn the_manual_has_the_table() {
        let manual = include_str!("../../../docs/analysis.md");
        assert!(manual.contains(&table()), "docs/analysis.md needs this table:\n{}", table());
    }

    #[test]
    fn bytes_are_short() {
        assert_eq!([0.0, 2048.0, 1.5e9, 3e12].map(bytes_text), ["0 B", "2.0 KiB", "1.4 GiB", "2.7 TiB"]);
    }
}
