//! Whether memory was swapped while it was measured.

use manometer_measure::event::{Finding, Severity};

use super::evidence::{Evidence, amount, rows};
use super::{Rule, bytes_text, only};

/// Fewer pages than this, in and out of swap over all phases, are the host's housekeeping: 16 MiB of pages of 4 KiB.
const LEAST_PAGES: f64 = 4096.0;

/// Less growth of the swap than this is.
const LEAST_BYTES: f64 = (16_u64 << 20) as f64;

const SWAP: Rule = Rule {
    id: "swap-used",
    severity: Severity::Warning,
    source: "Storiks 3.4.1 (WR2)",
    meaning: "4,096 pages or more moved in or out of swap in phases, or 16 MiB more than before lay there",
    remedy: "Turn swap off while measuring, or use less memory.",
};

pub(super) const RULES: &[Rule] = &[SWAP];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    moved(evidence).or_else(|| grown(evidence)).into_iter().collect()
}

/// That pages went in or out while phases ran. A full swap that nobody touches is no load, and one that stays as full as
/// it was may be much.
fn moved(evidence: &Evidence<'_>) -> Option<Finding> {
    let vmstat = evidence.series("vmstat")?;
    let phases: Vec<(&str, f64, f64)> = evidence
        .measured()
        .map(|(one, window)| {
            let pages = |column| amount(vmstat, column, window).unwrap_or(0.0);
            (one.phase.id.as_str(), pages("pswpin"), pages("pswpout"))
        })
        .filter(|(_, read, written)| read + written >= 1.0)
        .collect();
    let ids: Vec<&str> = phases.iter().map(|(id, ..)| *id).collect();
    let (read, written) = phases.iter().fold((0.0, 0.0), |sum, (_, read, written)| (sum.0 + read, sum.1 + written));
    let sentence = format!(
        "{written:.0} pages of memory went to swap and {read:.0} came back in {}: what waits for them is slower, and \
         where swap lies on the measured device it is load.",
        ids.join(", ")
    );
    (read + written >= LEAST_PAGES).then(|| SWAP.tell(only(&ids), &sentence))
}

/// That more memory lay in swap at some time than at the begin, in whatever way it came there.
fn grown(evidence: &Evidence<'_>) -> Option<Finding> {
    let used = rows(evidence.series("memory")?, "swap_used", evidence.whole()?);
    let first = used.first()?.1;
    let grown = used.iter().map(|(_, bytes)| bytes - first).fold(0.0, f64::max);
    let sentence = format!(
        "{} of memory went to swap: what waits for it is slower, and where swap lies on the measured device it is load.",
        bytes_text(grown)
    );
    (grown >= LEAST_BYTES).then(|| SWAP.tell(None, &sentence))
}
