//! Whether the data is large enough, and how much more room it takes than it holds.

use manometer_measure::event::{Finding, Severity};
use serde_json::Value;

use super::evidence::{Evidence, rows};
use super::levels::levels;
use super::{Rule, bytes_text};

/// What RocksDB keeps in its first level below 0 unless said otherwise (`max_bytes_for_level_base`).
const LEVEL_BASE_BYTES: f64 = (256_u64 << 20) as f64;

/// From this many bytes on the device for each byte of data, a reader should know.
const SPACE_AMPLIFICATION: f64 = 1.5;

const SMALL: Rule = Rule {
    id: "smaller-than-a-level",
    severity: Severity::Warning,
    source: "Didona et al., pitfall 4; Storiks 3.4.1",
    meaning: "all of an LSM tree is smaller than what its first level below 0 may hold (`max_bytes_for_level_base`)",
    remedy: "Load several times as much, or make the levels smaller.",
};

const SPACE: Rule = Rule {
    id: "space-amplification",
    severity: Severity::Warning,
    source: "Didona et al., pitfall 5",
    meaning: "the tree takes one and a half times the bytes of the records loaded, or more",
    remedy: "Compare engines at equal space too, and count the space taken as the device's used share.",
};

pub(super) const RULES: &[Rule] = &[SMALL, SPACE];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some(greatest) = greatest_bytes(evidence).filter(|bytes| *bytes > 0.0) else { return Vec::new() };
    small(evidence, greatest).into_iter().chain(space(evidence, greatest)).collect()
}

/// The most that all levels held together while phases ran.
fn greatest_bytes(evidence: &Evidence<'_>) -> Option<f64> {
    let (engine, all) = (evidence.engine()?, evidence.whole()?);
    let mut sums: Vec<(u64, f64)> = Vec::new();
    for (_, column) in levels(engine) {
        for (t_ns, bytes) in rows(engine, column, all) {
            match sums.binary_search_by_key(&t_ns, |(known, _)| *known) {
                Ok(place) => sums[place].1 += bytes,
                Err(place) => sums.insert(place, (t_ns, bytes)),
            }
        }
    }
    sums.into_iter().map(|(_, bytes)| bytes).max_by(f64::total_cmp)
}

fn small(evidence: &Evidence<'_>, bytes: f64) -> Option<Finding> {
    let option = evidence.facts().and_then(|facts| facts.get("options")?.get("max_bytes_for_level_base"));
    let base = option.and_then(number).unwrap_or(LEVEL_BASE_BYTES);
    let sentence = format!(
        "The whole tree holds {}, less than the {} of one level: compaction between levels, which costs a larger \
         database most, hardly takes place.",
        bytes_text(bytes),
        bytes_text(base)
    );
    (bytes < base).then(|| SMALL.tell(None, &sentence))
}

/// A number, also where it was written as text.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn space(evidence: &Evidence<'_>, bytes: f64) -> Option<Finding> {
    let fact = |name: &str| evidence.facts().and_then(|facts| facts.get(name)).and_then(number);
    let data = fact("loaded")? * fact("value_bytes")?;
    let amplification = bytes / data;
    let sentence = format!(
        "The tree takes {}, {amplification:.1} times the {} of values that were loaded.",
        bytes_text(bytes),
        bytes_text(data)
    );
    (amplification.is_finite() && amplification >= SPACE_AMPLIFICATION).then(|| SPACE.tell(None, &sentence))
}
