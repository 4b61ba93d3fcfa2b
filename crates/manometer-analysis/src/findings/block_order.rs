//! Whether the blocks of an interleaved plan ran in the order of `plan.json`, from which the analysis takes what came before
//! each.

use manometer_measure::Event;
use manometer_measure::event::{Finding, Severity, ThreatTarget};

use super::evidence::Evidence;
use super::rule::{Family, Rule, serious};

const ORDER: Rule = Rule {
    id: "block-order",
    severity: Severity::Error,
    threat: serious(ThreatTarget::Result, "blocks ran in another order than planned"),
    source: "the recording",
    meaning: "in an interleaved plan, blocks ran in another order than `orders` in `plan.json` says",
    remedy: "Copy `plan.json` and `events.jsonl` of the recording again.",
};

pub(super) const FAMILY: Family = Family { rules: &[ORDER], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    out_of_order(evidence).into_iter().collect()
}

/// The first block that started after another one than planned. Blocks that are missing are another finding.
fn out_of_order(evidence: &Evidence<'_>) -> Option<Finding> {
    let rounds = evidence.recording.plan.interleaved.as_ref()?;
    let mut before = (0, 0);
    for line in &evidence.recording.events {
        let Event::BlockStarted { phase, round } = &line.event else { continue };
        let place = (*round, rounds.position(phase, *round).unwrap_or(0));
        if place.1 == 0 || place <= before {
            let sentence =
                format!("In round {round}, the block of {phase} is not at its place in `orders` of plan.json.");
            return Some(ORDER.finding(None, &sentence));
        }
        before = place;
    }
    None
}
