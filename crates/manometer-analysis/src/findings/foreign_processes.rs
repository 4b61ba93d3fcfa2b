//! Whether foreign processes, which do not belong to the experiment, used storage.

use manometer_measure::Event;
use manometer_measure::event::{EventLine, Finding, Severity, ThreatStrength, ThreatTarget};
use manometer_measure::human;

use super::evidence::{Evidence, total_of_rate};
use super::rule::{Family, Rule, serious, with_strength};
use super::text::phase_list;
use crate::time_series::TimeWindow;

/// Foreign processes with less than this share of the device's I/O are not reported.
const MIN_SHARE: f64 = 0.01;

/// From this share of the device's I/O in a phase on, they may have changed the result.
pub(crate) const SERIOUS_SHARE: f64 = 0.1;
/// From this share on, the result is as much theirs as that of the experiment.
pub(crate) const FATAL_SHARE: f64 = 1.0 / 3.0;

/// The most processes named in a finding.
const MAX_NAMED: usize = 3;

const FOREIGN_PROCESSES: Rule = Rule {
    id: "foreign-processes",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Phase, "foreign processes used storage"),
    source: "Storiks 3.1, definition 3, and 3.4.1 (WR2)",
    meaning: "foreign processes, which do not belong to the experiment, did 1 % or more of the device's I/O in a phase",
    remedy: "Stop the foreign processes and repeat the run.",
};

pub(super) const FAMILY: Family = Family { rules: &[FOREIGN_PROCESSES], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let phases = by_phase(&evidence.recording.events).into_iter();
    let phases: Vec<ForeignIo<'_>> =
        phases.filter_map(|(phase, processes)| foreign_io(evidence, phase, processes)).collect();
    finding(&phases).into_iter().collect()
}

/// What foreign processes read and wrote in a phase.
struct ForeignIo<'a> {
    phase: &'a str,
    /// The one with the most bytes first.
    processes: Vec<ForeignProcess<'a>>,
    /// Their share of the device's I/O; `None` where that was not sampled.
    share: Option<f64>,
}

struct ForeignProcess<'a> {
    pid: u32,
    command: &'a str,
    read_bytes: f64,
    written_bytes: f64,
}

impl ForeignProcess<'_> {
    fn bytes(&self) -> f64 {
        self.read_bytes + self.written_bytes
    }
}

/// The name under which the rounds of an interleaved plan are reported: foreign processes are counted over all of them.
const ROUNDS: &str = "the rounds";

/// The foreign processes of each phase, or of all rounds; they are reported before it ends. If a phase ran again, its last
/// time counts.
fn by_phase(events: &[EventLine]) -> Vec<(&str, Vec<ForeignProcess<'_>>)> {
    let mut phases: Vec<(&str, Vec<ForeignProcess<'_>>)> = Vec::new();
    let mut is_running = false;
    for line in events {
        match &line.event {
            Event::PhaseStarted { .. } | Event::RoundsStarted => {
                let begun = if let Event::PhaseStarted { phase } = &line.event { phase } else { ROUNDS };
                phases.retain(|(known, _)| *known != begun);
                phases.push((begun, Vec::new()));
                is_running = true;
            }
            Event::PhaseEnded { .. } | Event::PhaseGap { .. } | Event::RoundsEnded => is_running = false,
            Event::ForeignProcess { pid, command, read_bytes, written_bytes } => {
                if let Some((_, processes)) = phases.last_mut().filter(|_| is_running) {
                    let (read_bytes, written_bytes) = (*read_bytes as f64, *written_bytes as f64);
                    processes.push(ForeignProcess { pid: *pid, command, read_bytes, written_bytes });
                }
            }
            _ => {}
        }
    }
    phases.retain(|(_, processes)| !processes.is_empty());
    phases
}

/// The I/O of foreign processes in `phase`; `None` where it is negligible.
fn foreign_io<'a>(
    evidence: &Evidence<'_>,
    phase: &'a str,
    mut processes: Vec<ForeignProcess<'a>>,
) -> Option<ForeignIo<'a>> {
    let total: f64 = processes.iter().map(ForeignProcess::bytes).sum();
    let windows = measured_windows(evidence, phase)?;
    let windows = windows.as_slice();
    let device_total = evidence.series("device").and_then(|device| {
        Some(total_of_rate(device, "read_bytes", windows)? + total_of_rate(device, "write_bytes", windows)?)
    });
    let share = device_total.map(|device_total| if device_total > 0.0 { (total / device_total).min(1.0) } else { 1.0 });
    processes.sort_by(|one, other| other.bytes().total_cmp(&one.bytes()));
    share.is_none_or(|share| share >= MIN_SHARE).then_some(ForeignIo { phase, processes, share })
}

fn finding(phases: &[ForeignIo<'_>]) -> Option<Finding> {
    let bytes = |one: &ForeignIo<'_>| one.processes.iter().map(ForeignProcess::bytes).sum::<f64>();
    let order = |one: &&ForeignIo<'_>, other: &&ForeignIo<'_>| {
        one.share.unwrap_or(0.0).total_cmp(&other.share.unwrap_or(0.0)).then(bytes(one).total_cmp(&bytes(other)))
    };
    let most = phases.iter().max_by(order)?;
    let ids: Vec<&str> = phases.iter().map(|one| one.phase).collect();
    let share = most.share.map_or_else(String::new, |share| format!(" did {:.0} % of the device's I/O", 100.0 * share));
    let place = match (ids.len(), share.is_empty()) {
        (1, true) => String::new(),
        (1, false) => format!(" they{share}:"),
        (_, true) => format!(" in {}, most of all,", most.phase),
        (_, false) => format!(" in {}, most of all, they{share}:", most.phase),
    };
    let sentence =
        format!("Foreign processes used storage in {}:{place} {}.", phase_list(&ids), described(&most.processes));
    // Which part of the traffic is theirs is unknown without the device's own counters.
    let strength = match most.share {
        Some(share) if share >= FATAL_SHARE => ThreatStrength::Fatal,
        Some(share) if share < SERIOUS_SHARE => ThreatStrength::Minor,
        _ => ThreatStrength::Serious,
    };
    Some(with_strength(FOREIGN_PROCESSES.finding_in(&ids, &sentence), strength))
}

/// The processes with the most bytes, and how many others there are.
fn described(processes: &[ForeignProcess<'_>]) -> String {
    let named = processes.iter().take(MAX_NAMED).map(|ForeignProcess { pid, command, read_bytes, written_bytes }| {
        format!(
            "`{command}` (process {pid}) read {} and wrote {}",
            human::bytes(*read_bytes as u64),
            human::bytes(*written_bytes as u64)
        )
    });
    let named: Vec<String> = named.collect();
    let others = match processes.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        others => format!("; and {others} more"),
    };
    format!("{}{others}", named.join("; "))
}

/// When `phase`, or all rounds with their washouts, were measured.
fn measured_windows(evidence: &Evidence<'_>, phase: &str) -> Option<Vec<TimeWindow>> {
    if phase != ROUNDS {
        let (_, windows) = evidence.measured_phases().find(|(result, _)| result.id() == phase)?;
        return Some(windows.to_vec());
    }
    let windows = || evidence.results.iter().flat_map(|result| &result.blocks).map(|block| block.window);
    let begin_ns = windows().map(|window| window.begin_ns).min()?;
    let end_ns = windows().map(|window| window.end_ns).max()?;
    Some(vec![TimeWindow { begin_ns, end_ns }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_belongs_to_the_running_phase_and_to_its_last_time() {
        let started = |phase: &str| Event::PhaseStarted { phase: phase.to_owned() };
        let ended = |phase: &str| Event::PhaseEnded { phase: phase.to_owned() };
        let process = |pid| Event::ForeignProcess { pid, command: "dd".to_owned(), read_bytes: 1, written_bytes: 2 };
        let events = [
            process(1),
            started("w0"),
            process(2),
            ended("w0"),
            started("w1"),
            process(3),
            ended("w1"),
            process(4),
            started("w0"),
            process(5),
            process(6),
            ended("w0"),
            Event::RoundsStarted,
            process(7),
            Event::RoundsEnded,
            process(8),
        ];
        let lines: Vec<EventLine> = events.map(|event| EventLine { t_ns: 0, event }).into();
        let pids: Vec<(&str, Vec<u32>)> = by_phase(&lines)
            .into_iter()
            .map(|(phase, processes)| (phase, processes.iter().map(|process| process.pid).collect()))
            .collect();
        assert_eq!(pids, [("w1", vec![3]), ("w0", vec![5, 6]), (ROUNDS, vec![7])]);
    }
}
