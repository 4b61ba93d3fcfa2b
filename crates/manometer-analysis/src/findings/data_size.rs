//! Whether the database is large enough to exercise compaction, and its space amplification.

use manometer_measure::event::{Finding, Severity, ThreatTarget};
use manometer_measure::human;
use manometer_measure::plan::Settings;
use manometer_measure::{ByteSize, Column, Event, Samples};
use serde_json::Value;

use super::evidence::{Evidence, values};
use super::rule::{Family, Rule, minor};
use crate::lsm_levels::{level_columns, level_of};

/// RocksDB's default size of the first level below level 0 (`max_bytes_for_level_base`).
const DEFAULT_LEVEL_BASE_BYTES: f64 = (256_u64 << 20) as f64;

/// The settings of a workload that change the length of its values.
const LENGTH_SETTINGS: [&str; 2] = ["field_length", "value_size"];

/// The operations that may create a record; the first always does.
const WRITES: [&str; 6] = ["insert", "update", "read_modify_write", "merge", "background_update", "background_merge"];

/// A space amplification from this factor on is reported.
const SPACE_AMPLIFICATION: f64 = 1.5;

const SMALL: Rule = Rule {
    id: "smaller-than-a-level",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Storage, "the database is smaller than one level"),
    source: "Didona et al., pitfall 4; Storiks 3.4.1",
    meaning: "the whole LSM tree is smaller than the maximum size of its first level below level 0 \
        (`max_bytes_for_level_base`)",
    remedy: "Load several times as much data, or make the levels smaller.",
};

const SPACE: Rule = Rule {
    id: "space-amplification",
    severity: Severity::Warning,
    threat: None,
    source: "Didona et al., pitfall 5",
    meaning: "the database takes at least 1.5 times the bytes of its records: those that were loaded, and where the primary \
        inserts, as many as it can have created since; not evaluated where the length of values changes, or for an engine \
        that does not report its size on the device",
    remedy: "Compare engines at equal space as well, and plan the device's size by this space.",
};

pub(super) const FAMILY: Family = Family { rules: &[SMALL, SPACE], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    small(evidence).into_iter().chain(space(evidence)).collect()
}

/// The weighted sum of `columns` at each sample.
fn weighted_sums<'a>(evidence: &Evidence<'_>, columns: impl Iterator<Item = (&'a str, f64)>) -> Vec<(u64, f64)> {
    let Some((engine, window)) = evidence.engine().zip(evidence.measured_time()) else { return Vec::new() };
    let mut sums: Vec<(u64, f64)> = Vec::new();
    for (column, weight) in columns {
        for (t_ns, value) in values(engine, column, &[window]) {
            match sums.binary_search_by_key(&t_ns, |(known, _)| *known) {
                Ok(index) => sums[index].1 += weight * value,
                Err(index) => sums.insert(index, (t_ns, weight * value)),
            }
        }
    }
    sums
}

fn small(evidence: &Evidence<'_>) -> Option<Finding> {
    let sizes = weighted_sums(evidence, level_columns(evidence.engine()?).map(|(_, column)| (column, 1.0)));
    let largest = sizes.into_iter().map(|(_, bytes)| bytes).max_by(f64::total_cmp).filter(|bytes| *bytes > 0.0)?;
    let option = evidence.primary_facts().and_then(|facts| facts.get("options")?.get("max_bytes_for_level_base"));
    let base = option.and_then(number).unwrap_or(DEFAULT_LEVEL_BASE_BYTES);
    let sentence = format!(
        "The whole tree holds {}, less than the {} of one level: there is hardly any compaction between levels, the main \
         cost of a larger database.",
        human::bytes(largest as u64),
        human::bytes(base as u64)
    );
    (largest < base).then(|| SMALL.finding(None, &sentence))
}

/// A number, also if it was written as text.
fn number(value: &Value) -> Option<f64> {
    let of_text = |text: &str| text.parse().ok().or_else(|| Some(text.parse::<ByteSize>().ok()?.0 as f64));
    value.as_f64().or_else(|| of_text(value.as_str()?))
}

fn space(evidence: &Evidence<'_>) -> Option<Finding> {
    let facts = evidence.primary_facts()?;
    let fact = |name: &str| facts.get(name).and_then(number);
    let loaded = fact("loaded")?;
    let record_bytes = fact("record_bytes").or_else(|| fact("value_bytes")).filter(|_| !lengths_change(evidence))?;
    let created = CreatedRecords::of(evidence, facts);
    let sizes = weighted_sums(evidence, size_columns(evidence.engine()?, facts).into_iter()).into_iter();
    let pairs = sizes.map(|(t_ns, size)| (size, (loaded + created.until(t_ns)) * record_bytes));
    let (size, data) = pairs
        .filter(|(size, data)| *size > 0.0 && *data > 0.0)
        .max_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)))?;
    let amplification = size / data;
    let (at_least, of) = match created.is_empty() {
        true => ("", "of its records"),
        false => ("at least ", "that its records can have at most"),
    };
    let sentence = format!(
        "The database takes {}, {at_least}{amplification:.1} times the {} {of}.",
        human::bytes(size as u64),
        human::bytes(data as u64)
    );
    (amplification >= SPACE_AMPLIFICATION).then(|| SPACE.finding(None, &sentence))
}

/// The columns that add up to the database's size on the device, each with its bytes per unit; empty for an engine that
/// keeps its data elsewhere.
fn size_columns<'a>(engine: &'a Samples, facts: &Settings) -> Vec<(&'a str, f64)> {
    let page_size = facts.get("page_bytes").or_else(|| facts.get("options")?.get("page_size"));
    let page_bytes = page_size.and_then(number);
    let size_column = |column: &'a Column| {
        let name = column.name.as_str();
        match name {
            "blob_bytes" | "tables_bytes" | "file_bytes" | "wal_bytes" => Some((name, 1.0)),
            "file_pages" | "page_count" => Some((name, page_bytes?)),
            _ => level_of(name).map(|_| (name, 1.0)),
        }
    };
    engine.columns.iter().filter_map(size_column).collect()
}

/// Whether the length of the primary's values changed during the run: the size of its records is then unknown.
fn lengths_change(evidence: &Evidence<'_>) -> bool {
    let primary = evidence.recording.plan.primary().map(|primary| primary.name.as_str());
    evidence.recording.events.iter().any(|line| match &line.event {
        Event::Setting { workload, settings } => {
            Some(workload.as_str()) == primary && LENGTH_SETTINGS.iter().any(|name| settings.contains_key(*name))
        }
        _ => false,
    })
}

/// An upper bound of the records created since the load: cumulative, with the time of each sample.
struct CreatedRecords(Vec<(u64, f64)>);

impl CreatedRecords {
    /// Counts inserts. A primary that declares its data unstable may also create records by updates and merges: all its
    /// writes count. Deletes are not subtracted.
    fn of(evidence: &Evidence<'_>, facts: &Settings) -> Self {
        let primary = evidence.recording.plan.primary().and_then(|primary| evidence.series(&primary.name));
        let Some(samples) = primary else { return Self(Vec::new()) };
        let operations: &[&str] = if facts.contains_key("unstable") { &WRITES } else { &WRITES[..1] };
        let columns = operations.iter().filter_map(|operation| samples.column(&format!("{operation}.requests")));
        let columns: Vec<&[Option<f64>]> = columns.collect();
        let mut sum = 0.0;
        let mut cumulative = Vec::new();
        for (row, t_ns) in samples.t_ns.iter().enumerate() {
            let created: f64 = columns.iter().filter_map(|column| column[row]).filter(|count| *count > 0.0).sum();
            sum += created;
            if created > 0.0 {
                cumulative.push((*t_ns, sum));
            }
        }
        Self(cumulative)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn until(&self, t_ns: u64) -> f64 {
        let index = self.0.partition_point(|(known, _)| *known <= t_ns);
        index.checked_sub(1).map_or(0.0, |last| self.0[last].1)
    }
}
