//! Whether somebody else used storage, and who.

use manometer_measure::Event;
use manometer_measure::event::{Finding, Severity};

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
    let mut phase = None;
    let mut seen: Vec<(&str, Vec<Stranger<'_>>)> = Vec::new();
    for line in &evidence.recording.events {
        match (&line.event, phase) {
            (Event::PhaseEnded { phase: ended }, _) => phase = Some(ended.as_str()),
            (Event::Stranger { pid, command, read_bytes, written_bytes }, Some(phase)) => {
                let stranger =
                    Stranger { pid: *pid, command, read: *read_bytes as f64, written: *written_bytes as f64 };
                match seen.iter_mut().find(|(known, _)| *known == phase) {
                    Some((_, strangers)) => strangers.push(stranger),
                    None => seen.push((phase, vec![stranger])),
                }
            }
            _ => {}
        }
    }
    seen.into_iter().filter_map(|(phase, strangers)| told(evidence, phase, strangers)).collect()
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
