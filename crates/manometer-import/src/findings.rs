//! The findings of an import.

use std::collections::BTreeSet;

use manometer_measure::event::{Finding, Severity};

use crate::ImportedPhase;

/// The file contains unreadable bytes.
pub(crate) fn damaged(text: String) -> Finding {
    Finding::new("import-damaged", Severity::Warning, text)
}

/// The file is truncated.
pub(crate) fn cut_short(text: String) -> Finding {
    Finding::new("import-cut-short", Severity::Warning, text)
}

/// A line with a time before that of a line before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LateLine {
    /// The latest time before it, which it keeps.
    pub t_ns: u64,
    /// By how much its own time is earlier.
    pub late_ms: i64,
}

/// The file's clock went back: by a sample interval or more, which makes phases wrong, or by less.
pub(crate) fn late_lines(lines: &[LateLine], interval_s: f64, phases: &[ImportedPhase]) -> Option<Finding> {
    let most_ms = lines.iter().map(|line| line.late_ms).max()?;
    let is_long = |late_ms: i64| late_ms as f64 >= interval_s * 1e3;
    if !is_long(most_ms) {
        let text = format!(
            "The clock went back by {} at most, less than a sample interval: {} the latest time before.",
            milliseconds(most_ms),
            counted(lines.len())
        );
        return Some(Finding::new("import-clock-jitter", Severity::Info, text));
    }
    let stepped: Vec<LateLine> = lines.iter().copied().filter(|line| is_long(line.late_ms)).collect();
    let is_hit = |one: &&ImportedPhase| stepped.iter().any(|line| (one.begin_ns..=one.end_ns).contains(&line.t_ns));
    let hit: Vec<&str> = phases.iter().filter(is_hit).map(|one| one.phase.id.as_str()).collect();
    // The analysis lists several phases before the text.
    let place = if let [phase] = hit[..] { format!(" in {phase}") } else { String::new() };
    let text = format!(
        "The clock went back{place} by {} at most: {} the latest time before. Do not trust the length of the phase with the step.",
        milliseconds(most_ms),
        counted(stepped.len()),
    );
    Some(Finding::new("import-clock-stepped", Severity::Warning, text).in_phases(hit))
}

/// Neighbours of which no interval of reports lies in a phase, each with the phase.
pub(crate) fn without_samples(unsampled: &[(&str, &str)]) -> Option<Finding> {
    let (name, phase) = unsampled.first()?;
    let more =
        if unsampled.len() > 1 { format!(" (and {} more such cases)", unsampled.len() - 1) } else { String::new() };
    let text = format!(
        "No whole interval of the reports of `{name}` lies in {phase}{more}: how much it did there is unknown. Do not take the phase \
         for one without that neighbour."
    );
    let phases: BTreeSet<&str> = unsampled.iter().map(|(_, phase)| *phase).collect();
    Some(Finding::new("import-neighbour-unsampled", Severity::Warning, text).in_phases(phases))
}

fn counted(lines: usize) -> String {
    if lines == 1 { "1 line keeps".to_owned() } else { format!("{lines} lines keep") }
}

fn milliseconds(time_ms: i64) -> String {
    if time_ms < 1000 { format!("{time_ms} ms") } else { format!("{:.1} s", time_ms as f64 / 1e3) }
}

/// The file has an unknown version of its format.
pub(crate) fn unknown_version(text: String) -> Finding {
    Finding::new("import-unknown-version", Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use manometer_measure::plan::{Phase, PhaseKind, Settings};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn phase(id: &str, begin_s: u64, end_s: u64) -> ImportedPhase {
        let phase = Phase {
            id: id.to_owned(),
            label: String::new(),
            kind: PhaseKind::Baseline,
            duration_s: 1.0,
            settle_s: 0.0,
            running: Vec::new(),
            settings: Settings::new(),
        };
        ImportedPhase { phase, begin_ns: begin_s * SECOND, end_ns: end_s * SECOND }
    }

    fn finding(late: &[(u64, i64)]) -> Option<Finding> {
        let late = late.iter().map(|(second, late_ms)| LateLine { t_ns: second * SECOND, late_ms: *late_ms });
        late_lines(&late.collect::<Vec<_>>(), 5.0, &[phase("w0", 0, 100), phase("w1", 100, 200), phase("w2", 200, 300)])
    }

    #[test]
    fn a_step_of_an_interval_names_the_phases_that_it_hits() {
        let one = finding(&[(50, 1), (150, 5000)]).unwrap();
        assert_eq!((one.id.as_str(), one.phase_ids().collect::<Vec<_>>()), ("import-clock-stepped", vec!["w1"]));
        assert!(one.text.starts_with("The clock went back in w1 by 5.0 s at most: 1 line keeps"), "{}", one.text);
        let two = finding(&[(50, 9000), (250, 5000)]).unwrap();
        assert_eq!(two.phase_ids().collect::<Vec<_>>(), ["w0", "w2"]);
        assert!(two.text.starts_with("The clock went back by 9.0 s at most: 2 lines keep"), "{}", two.text);
    }

    #[test]
    fn neighbours_without_samples_are_one_finding() {
        assert_eq!(without_samples(&[]), None);
        let one = without_samples(&[("n2", "w1")]).unwrap();
        assert_eq!(one.phase.as_deref(), Some("w1"));
        assert!(one.text.starts_with("No whole interval of the reports of `n2` lies in w1: how"), "{}", one.text);
        let two = without_samples(&[("n2", "w1"), ("n1", "w3")]).unwrap();
        assert_eq!(two.phases, ["w1", "w3"]);
        assert!(two.text.contains("(and 1 more such cases)"), "{}", two.text);
    }

    #[test]
    fn a_step_below_the_interval_is_jitter() {
        assert_eq!(finding(&[]), None);
        let jitter = finding(&[(50, 1), (150, 4999)]).unwrap();
        assert_eq!((jitter.id.as_str(), jitter.severity), ("import-clock-jitter", Severity::Info));
        assert!(jitter.text.contains("by 5.0 s at most"), "{}", jitter.text);
        assert!(finding(&[(50, 1)]).unwrap().text.starts_with("The clock went back by 1 ms at most"));
    }
}
