//! Whether memory went to swap.

use manometer_measure::event::{Finding, Severity};

use super::evidence::{Evidence, rows};
use super::{Rule, bytes_text};

/// Less growth of the swap than this is the host's housekeeping.
const LEAST_BYTES: f64 = (16_u64 << 20) as f64;

const SWAP: Rule = Rule {
    id: "swap-used",
    severity: Severity::Warning,
    source: "Storiks 3.4.1 (WR2)",
    meaning: "16 MiB of memory or more went to swap while phases ran",
    remedy: "Turn swap off while measuring, or use less memory.",
};

pub(super) const RULES: &[Rule] = &[SWAP];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    swapped(evidence).into_iter().collect()
}

fn swapped(evidence: &Evidence<'_>) -> Option<Finding> {
    let used = rows(evidence.series("memory")?, "swap_used", evidence.whole()?);
    let first = used.first()?.1;
    let grown = used.iter().map(|(_, bytes)| bytes - first).fold(0.0, f64::max);
    let sentence = format!(
        "{} of memory went to swap: what waits for it is slower, and where swap lies on the measured device it is load.",
        bytes_text(grown)
    );
    (grown >= LEAST_BYTES).then(|| SWAP.tell(None, &sentence))
}
