//! Whether memory was swapped during the measurement.

use manometer_measure::event::{Finding, Severity, ThreatTarget};
use manometer_measure::human;

use super::evidence::{Evidence, total_of_rate, values};
use super::rule::{Family, Rule, serious};
use super::text::phase_list;

/// Fewer pages in and out of swap over all phases are housekeeping: 16 MiB of 4 KiB pages.
const MIN_PAGES: f64 = 4096.0;

/// A smaller growth of the used swap is housekeeping.
const MIN_BYTES: f64 = (16_u64 << 20) as f64;

const SWAP: Rule = Rule {
    id: "swap-used",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the host swapped"),
    source: "Storiks 3.4.1 (WR2)",
    meaning: "4,096 pages or more were swapped in or out during phases, or the used swap grew by 16 MiB",
    remedy: "Disable swap while measuring, or use less memory.",
};

const CONSEQUENCE: &str = "accesses to them are slow, and swap on the measured device adds load";

pub(super) const FAMILY: Family = Family { rules: &[SWAP], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    swapped_pages(evidence).or_else(|| used_swap_growth(evidence)).into_iter().collect()
}

/// Pages swapped in or out during phases. A full swap that is not accessed is no load, and one of constant size may be
/// heavily used.
fn swapped_pages(evidence: &Evidence<'_>) -> Option<Finding> {
    let vmstat = evidence.series("vmstat")?;
    let phases: Vec<(&str, f64, f64)> = evidence
        .measured_phases()
        .map(|(result, windows)| {
            let pages = |column| total_of_rate(vmstat, column, windows).unwrap_or(0.0);
            (result.id(), pages("pswpin"), pages("pswpout"))
        })
        .filter(|(_, read, written)| read + written >= 1.0)
        .collect();
    let ids: Vec<&str> = phases.iter().map(|(id, ..)| *id).collect();
    let (read, written) = phases.iter().fold((0.0, 0.0), |sum, (_, read, written)| (sum.0 + read, sum.1 + written));
    let sentence =
        format!("{written:.0} pages were swapped out and {read:.0} in during {}: {CONSEQUENCE}.", phase_list(&ids));
    (read + written >= MIN_PAGES).then(|| SWAP.finding_in(&ids, &sentence))
}

fn used_swap_growth(evidence: &Evidence<'_>) -> Option<Finding> {
    let used = values(evidence.series("memory")?, "swap_used", &[evidence.measured_time()?]);
    let (_, first) = used.first()?;
    let growth = used.iter().map(|(_, bytes)| bytes - first).fold(0.0, f64::max);
    let sentence = format!("{} of pages were swapped out: {CONSEQUENCE}.", human::bytes(growth as u64));
    (growth >= MIN_BYTES).then(|| SWAP.finding(None, &sentence))
}
