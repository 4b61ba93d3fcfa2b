//! Whether somebody else used storage, and who.

use manometer_measure::Event;
use manometer_measure::event::{EventLine, Finding, Severity};

use super::evidence::{Evidence, amount};
use super::{Rule, bytes_text};

/// Less than this share of what the device did is not worth a word.
const LEAST_SHARE: f64 = 0.01;

/// The most processes that are named.
const NAMED: usize = 3;

const STRANGERS: Rule = Rule {
    id: "stranger",
    severity: Severity::Warning,
    source: "Storiks 3.1, definition 3, and 3.4.1 (WR2)",
    meaning: "processes that are not ours moved a hundredth of what the device did in a phase, or more",
    remedy: "Stop them and measure again.",
};

pub(super) const RULES: &[Rule] = &[STRANGERS];

/// One finding for each phase with strangers.
pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    by_phase(&evidence.recording.events)
        .into_iter()
        .filter_map(|(phase, strangers)| told(evidence, phase, strangers))
        .collect()
}

/// The strangers of each phase: they are told while it is still open. Of a phase that ran again the last time counts.
fn by_phase(events: &[EventLine]) -> Vec<(&str, Vec<Stranger<'_>>)> {
    let mut phases: Vec<(&str, Vec<Stranger<'_>>)> = Vec::new();
    let mut open = false;
    for line in events {
        match &line.event {
            Event::PhaseStarted { phase } => {
                phases.retain(|(known, _)| known != phase);
                phases.push((phase, Vec::new()));
                open = true;
            }
            Event::PhaseEnded { .. } | Event::PhaseGap { .. } => open = false,
            Event::Stranger { pid, command, read_bytes, written_bytes } => {
                if let Some((_, strangers)) = phases.last_mut().filter(|_| open) {
                    let (read, written) = (*read_bytes as f64, *written_bytes as f64);
                    strangers.push(Stranger { pid: *pid, command, read, written });
                }
            }
            _ => {}
        }
    }
    phases.retain(|(_, strangers)| !strangers.is_empty());
    phases
}

struct Stranger<'a> {
    pid: u32,
    command: &'a str,
    read: f64,
    written: f64,
}

impl Stranger<'_> {
    fn bytes(&self) -> f64 {
        self.read + self.written
    }
}

fn told(evidence: &Evidence<'_>, phase: &str, mut strangers: Vec<Stranger<'_>>) -> Option<Finding> {
    let all: f64 = strangers.iter().map(Stranger::bytes).sum();
    let window = evidence.measured().find(|(one, _)| one.phase.id == phase).map(|(_, window)| window)?;
    let device = evidence
        .series("device")
        .and_then(|device| Some(amount(device, "read_bytes", window)? + amount(device, "write_bytes", window)?));
    if device.is_some_and(|device| all < LEAST_SHARE * device) {
        return None;
    }
    strangers.sort_by(|one, other| other.bytes().total_cmp(&one.bytes()));
    let names: Vec<String> = strangers
        .iter()
        .take(NAMED)
        .map(|Stranger { pid, command, read, written }| {
            format!("`{command}` (process {pid}) read {} and wrote {}", bytes_text(*read), bytes_text(*written))
        })
        .collect();
    let others = strangers.len().saturating_sub(NAMED);
    let others = if others > 0 { format!("; and {others} more") } else { String::new() };
    let sentence = format!("Others used storage in {phase}: {}{others}.", names.join("; "));
    Some(STRANGERS.tell(Some(phase), &sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_belongs_to_the_phase_that_is_open_and_to_its_last_time() {
        let started = |phase: &str| Event::PhaseStarted { phase: phase.to_owned() };
        let ended = |phase: &str| Event::PhaseEnded { phase: phase.to_owned() };
        let stranger = |pid| Event::Stranger { pid, command: "dd".to_owned(), read_bytes: 1, written_bytes: 2 };
        let events = [
            stranger(1),
            started("w0"),
            stranger(2),
            ended("w0"),
            started("w1"),
            stranger(3),
            ended("w1"),
            stranger(4),
            started("w0"),
            stranger(5),
            stranger(6),
            ended("w0"),
        ];
        let lines: Vec<EventLine> = events.map(|event| EventLine { t_ns: 0, event }).into();
        let told: Vec<(&str, Vec<u32>)> = by_phase(&lines)
            .into_iter()
            .map(|(phase, strangers)| (phase, strangers.iter().map(|stranger| stranger.pid).collect()))
            .collect();
        assert_eq!(told, [("w1", vec![3]), ("w0", vec![5, 6])]);
    }
}
