//! Whether processors were the bottleneck.

use manometer_measure::event::{Finding, Severity};

use super::evidence::{Evidence, mean_of};
use super::{Rule, only};
use crate::series::Window;

/// From this share of all processors on, they are what is measured.
const SATURATED: f64 = 0.9;

const CPU: Rule = Rule {
    id: "cpu-saturated",
    severity: Severity::Warning,
    source: "Gregg 2013, the USE method; Storiks 3.4.1 (WR2)",
    meaning: "nine tenths of all processors were busy on average over a phase, waiting for I/O aside",
    remedy: "It is no result about storage: give it more processors, fewer threads, or a slower pace.",
};

pub(super) const RULES: &[Rule] = &[CPU];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    saturated(evidence).into_iter().collect()
}

fn saturated(evidence: &Evidence<'_>) -> Option<Finding> {
    let busy: Vec<(&str, f64)> = evidence
        .with_primary()
        .filter_map(|(one, window)| Some((one.phase.id.as_str(), busy_share(evidence, window)?)))
        .filter(|(_, share)| *share >= SATURATED)
        .collect();
    let (phase, most) = busy.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let ids: Vec<&str> = busy.iter().map(|(id, _)| *id).collect();
    let sentence = format!(
        "The processors were saturated in {}: {:.0} % busy in {phase}. A neighbour then takes processor time, whatever \
         it does to the device.",
        ids.join(", "),
        100.0 * most
    );
    Some(CPU.tell(only(&ids), &sentence))
}

/// The share of all processors that worked.
fn busy_share(evidence: &Evidence<'_>, window: Window) -> Option<f64> {
    let cpu = evidence.series("cpu")?;
    let of = |column: &str| mean_of(cpu, column, window);
    let busy = of("user")? + of("system")? + of("interrupts").unwrap_or(0.0) + of("steal").unwrap_or(0.0);
    let all = busy + of("idle")? + of("iowait").unwrap_or(0.0);
    (all > 0.0).then_some(busy / all)
}
