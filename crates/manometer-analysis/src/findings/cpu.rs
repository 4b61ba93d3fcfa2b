//! Whether processors were the bottleneck.

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity};

use super::evidence::{Evidence, mean_of};
use super::{Rule, only};
use crate::series::Window;

/// From this share of all processors, or of one core, on, they are what is measured.
const SATURATED: f64 = 0.9;

const CPU: Rule = Rule {
    id: "cpu-saturated",
    severity: Severity::Warning,
    source: "Gregg 2013, the USE method; Storiks 3.4.1 (WR2)",
    meaning: "nine tenths of all processors, or of a single core, were busy on average over a phase, waiting for I/O aside",
    remedy: "It is no result about storage: give it more processors, spread it over more of them, or slow its pace.",
};

pub(super) const RULES: &[Rule] = &[CPU];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    all_saturated(evidence).or_else(|| one_saturated(evidence)).into_iter().collect()
}

fn all_saturated(evidence: &Evidence<'_>) -> Option<Finding> {
    let cpu = evidence.series("cpu")?;
    let busy: Vec<(&str, f64)> = saturated(evidence, |window| busy_share(cpu, "", window));
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

/// That a core had no time left where others had: one thread, or the interrupts of a device, cannot be faster.
fn one_saturated(evidence: &Evidence<'_>) -> Option<Finding> {
    let cores = evidence.series("cpu.cores")?;
    let of_cores = names_of(cores).into_iter().map(|core| {
        let prefix = format!("{core}.");
        (saturated(evidence, |window| busy_share(cores, &prefix, window)), core)
    });
    let busy: Vec<(Vec<(&str, f64)>, &str)> = of_cores.filter(|(phases, _)| !phases.is_empty()).collect();
    let all = busy.iter().flat_map(|(phases, core)| phases.iter().map(move |(phase, share)| (*core, *phase, *share)));
    let (core, phase, most) = all.max_by(|one, other| one.2.total_cmp(&other.2))?;
    let with_one = |id: &str| busy.iter().any(|(phases, _)| phases.iter().any(|(phase, _)| *phase == id));
    let ids: Vec<&str> =
        evidence.with_primary().map(|(one, _)| one.phase.id.as_str()).filter(|id| with_one(id)).collect();
    let others =
        if busy.len() > 1 { format!(", and {} more were in some phase", busy.len() - 1) } else { String::new() };
    let sentence = format!(
        "A single core was saturated in {}: {core} was {:.0} % busy in {phase}{others}. A client or an engine of one \
         thread, or a device's interrupts, cannot be faster then, whatever the other cores have to spare.",
        ids.join(", "),
        100.0 * most
    );
    Some(CPU.tell(only(&ids), &sentence))
}

/// The phases with the primary whose `share` is that of a bottleneck.
fn saturated<'a>(evidence: &Evidence<'a>, share: impl Fn(Window) -> Option<f64>) -> Vec<(&'a str, f64)> {
    let phases = evidence.with_primary().filter_map(|(one, window)| Some((one.phase.id.as_str(), share(window)?)));
    phases.filter(|(_, share)| *share >= SATURATED).collect()
}

/// The cores by name, as the columns have them: `core0`.
fn names_of(cores: &Samples) -> Vec<&str> {
    cores.columns.iter().filter_map(|column| column.name.strip_suffix(".user")).collect()
}

/// The share of all processors, or of one core, that worked; the columns begin with `prefix`.
fn busy_share(samples: &Samples, prefix: &str, window: Window) -> Option<f64> {
    let of = |column: &str| mean_of(samples, &format!("{prefix}{column}"), window);
    let busy = of("user")? + of("system")? + of("interrupts").unwrap_or(0.0) + of("steal").unwrap_or(0.0);
    let all = busy + of("idle")? + of("iowait").unwrap_or(0.0);
    (all > 0.0).then_some(busy / all)
}
