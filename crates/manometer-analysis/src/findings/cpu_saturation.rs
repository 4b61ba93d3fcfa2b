//! Whether processors were the bottleneck.

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};

use super::evidence::{Evidence, mean_of};
use super::rule::{Family, Rule, fatal, with_strength};
use super::text::phase_list;
use crate::time_series::TimeWindow;

/// From this utilisation of all processors, or of one core, on, they limit the result.
const SATURATED: f64 = 0.9;

const CPU_SATURATED: Rule = Rule {
    id: "cpu-saturated",
    severity: Severity::Warning,
    threat: fatal(ThreatTarget::Storage, "the processors were saturated"),
    source: "Gregg 2013, the USE method; Storiks 3.4.1 (WR2)",
    meaning: "the mean utilisation of all processors, or of a single core, was 90 % or more in a phase, time waiting for \
        I/O excluded; a fatal threat where it was all of them, a serious one where it was a single core",
    remedy: "Use more processors, more threads, or a lower rate.",
};

pub(super) const FAMILY: Family = Family { rules: &[CPU_SATURATED], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    all_saturated(evidence).or_else(|| core_saturated(evidence)).into_iter().collect()
}

fn all_saturated(evidence: &Evidence<'_>) -> Option<Finding> {
    let cpu = evidence.series("cpu")?;
    let saturated: Vec<(&str, f64)> = saturated_phases(evidence, |windows| utilisation(cpu, "", windows));
    let (phase, most) = saturated.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let ids: Vec<&str> = saturated.iter().map(|(id, _)| *id).collect();
    let sentence = format!(
        "The processors were saturated in {}: a utilisation of {:.0} % in {phase}. A neighbour then takes processor time, \
         regardless of what it does to the device: this result does not measure storage.",
        phase_list(&ids),
        100.0 * most
    );
    Some(CPU_SATURATED.finding_in(&ids, &sentence))
}

/// A single saturated core limits one thread, or the interrupts of one device, even where other cores are idle.
fn core_saturated(evidence: &Evidence<'_>) -> Option<Finding> {
    let samples = evidence.series("cpu.cores")?;
    let by_core = core_names(samples).into_iter().map(|core| {
        let prefix = format!("{core}.");
        (core, saturated_phases(evidence, |windows| utilisation(samples, &prefix, windows)))
    });
    let saturated: Vec<(&str, Vec<(&str, f64)>)> = by_core.filter(|(_, phases)| !phases.is_empty()).collect();
    let all = saturated.iter().flat_map(|(core, phases)| phases.iter().map(move |(id, share)| (*core, *id, *share)));
    let (core, phase, most) = all.max_by(|one, other| one.2.total_cmp(&other.2))?;
    let has_saturated_core =
        |id: &str| saturated.iter().any(|(_, phases)| phases.iter().any(|(phase, _)| *phase == id));
    let ids: Vec<&str> =
        evidence.primary_phases().map(|(result, _)| result.id()).filter(|id| has_saturated_core(id)).collect();
    let others = match saturated.len() - 1 {
        0 => String::new(),
        others => format!(", and {others} more were saturated in some phase"),
    };
    let sentence = format!(
        "A single core was saturated in {}: {core} had a utilisation of {:.0} % in {phase}{others}. A client or engine \
         with one thread, or a device's interrupts, cannot go faster, even if other cores are idle: this result may not \
         measure storage.",
        phase_list(&ids),
        100.0 * most
    );
    // Other cores had room: what it costs need not be processor time.
    Some(with_strength(CPU_SATURATED.finding_in(&ids, &sentence), ThreatStrength::Serious))
}

/// The phases with the primary in which `utilisation` reaches saturation.
fn saturated_phases<'a>(
    evidence: &Evidence<'a>,
    utilisation: impl Fn(&[TimeWindow]) -> Option<f64>,
) -> Vec<(&'a str, f64)> {
    let phases = evidence.primary_phases().filter_map(|(result, windows)| Some((result.id(), utilisation(windows)?)));
    phases.filter(|(_, share)| *share >= SATURATED).collect()
}

/// The names of the cores in the columns: `core0`.
fn core_names(samples: &Samples) -> Vec<&str> {
    samples.columns.iter().filter_map(|column| column.name.strip_suffix(".user")).collect()
}

/// The utilisation of all processors, or of the core whose columns begin with `prefix`.
fn utilisation(samples: &Samples, prefix: &str, windows: &[TimeWindow]) -> Option<f64> {
    let mean = |column: &str| mean_of(samples, &format!("{prefix}{column}"), windows);
    let busy = mean("user")? + mean("system")? + mean("interrupts").unwrap_or(0.0) + mean("steal").unwrap_or(0.0);
    let all = busy + mean("idle")? + mean("iowait").unwrap_or(0.0);
    (all > 0.0).then_some(busy / all)
}
