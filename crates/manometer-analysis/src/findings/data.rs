//! Whether the data is large enough, and how much more room it takes than it holds.

use manometer_measure::event::{Finding, Severity};
use manometer_measure::plan::Settings;
use manometer_measure::{ByteSize, Column, Event, Samples};
use serde_json::Value;

use super::evidence::{Evidence, rows};
use super::levels::levels;
use super::{Rule, bytes_text};
use crate::levels::level_of;

/// What RocksDB keeps in its first level below 0 unless said otherwise (`max_bytes_for_level_base`).
const LEVEL_BASE_BYTES: f64 = (256_u64 << 20) as f64;

/// The settings of a workload that say how long its values are.
const LENGTHS: [&str; 2] = ["field_length", "value_size"];

/// The operations that may make a record; the first does nothing else.
const WRITES: [&str; 6] = ["insert", "update", "read_modify_write", "merge", "background_update", "background_merge"];

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
    meaning: "the database takes one and a half times the bytes of its records, or more: of those that were loaded, and \
        where the primary inserts of as many as it can have made since; not judged where the length of values changes, or \
        of an engine that does not tell what it takes on the device",
    remedy: "Compare engines at equal space too, and count the space taken as the device's used share.",
};

pub(super) const RULES: &[Rule] = &[SMALL, SPACE];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    small(evidence).into_iter().chain(space(evidence)).collect()
}

/// What `columns` come to together, each times its factor, row by row.
fn summed<'a>(evidence: &Evidence<'_>, columns: impl Iterator<Item = (&'a str, f64)>) -> Vec<(u64, f64)> {
    let Some((engine, all)) = evidence.engine().zip(evidence.whole()) else { return Vec::new() };
    let mut sums: Vec<(u64, f64)> = Vec::new();
    for (column, factor) in columns {
        for (t_ns, number) in rows(engine, column, all) {
            match sums.binary_search_by_key(&t_ns, |(known, _)| *known) {
                Ok(place) => sums[place].1 += factor * number,
                Err(place) => sums.insert(place, (t_ns, factor * number)),
            }
        }
    }
    sums
}

/// That all levels together, when they held the most while phases ran, are smaller than one may be.
fn small(evidence: &Evidence<'_>) -> Option<Finding> {
    let sums = summed(evidence, levels(evidence.engine()?).map(|(_, column)| (column, 1.0)));
    let bytes = sums.into_iter().map(|(_, bytes)| bytes).max_by(f64::total_cmp).filter(|bytes| *bytes > 0.0)?;
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
    let of_text = |text: &str| text.parse().ok().or_else(|| Some(text.parse::<ByteSize>().ok()?.0 as f64));
    value.as_f64().or_else(|| of_text(value.as_str()?))
}

fn space(evidence: &Evidence<'_>) -> Option<Finding> {
    let facts = evidence.facts()?;
    let fact = |name: &str| facts.get(name).and_then(number);
    let loaded = fact("loaded")?;
    let record_bytes = fact("record_bytes").or_else(|| fact("value_bytes")).filter(|_| !lengths_change(evidence))?;
    let written = Written::of(evidence, facts);
    let sizes = summed(evidence, parts(evidence.engine()?, facts).into_iter()).into_iter();
    let both = sizes.map(|(t_ns, bytes)| (bytes, (loaded + written.until(t_ns)) * record_bytes));
    let (bytes, data) = both
        .filter(|(bytes, data)| *bytes > 0.0 && *data > 0.0)
        .max_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)))?;
    let amplification = bytes / data;
    let (least, most) =
        if written.0.is_empty() { ("", "of its records") } else { ("at least ", "that its records are at most") };
    let sentence = format!(
        "The database takes {}, {least}{amplification:.1} times the {} {most}.",
        bytes_text(bytes),
        bytes_text(data)
    );
    (amplification >= SPACE_AMPLIFICATION).then(|| SPACE.tell(None, &sentence))
}

/// The columns that hold what the database takes on the device, each with the bytes of its unit; none for an engine that
/// keeps its data elsewhere.
fn parts<'a>(engine: &'a Samples, facts: &Settings) -> Vec<(&'a str, f64)> {
    let told = facts.get("page_bytes").or_else(|| facts.get("options")?.get("page_size"));
    let page_bytes = told.and_then(number);
    let part = |column: &'a Column| {
        let name = column.name.as_str();
        match name {
            "blob_bytes" | "tables_bytes" | "file_bytes" | "wal_bytes" => Some((name, 1.0)),
            "file_pages" | "page_count" => Some((name, page_bytes?)),
            _ => level_of(name).map(|_| (name, 1.0)),
        }
    };
    engine.columns.iter().filter_map(part).collect()
}

/// Whether values became longer or shorter while it ran: how much data its records are is not known then.
fn lengths_change(evidence: &Evidence<'_>) -> bool {
    let primary = evidence.recording.plan.primary().map(|primary| primary.name.as_str());
    evidence.recording.events.iter().any(|line| match &line.event {
        Event::Setting { workload, settings } => {
            Some(workload.as_str()) == primary && LENGTHS.iter().any(|name| settings.contains_key(*name))
        }
        _ => false,
    })
}

/// The requests that may have made records, counted up: when, and how many by then.
struct Written(Vec<(u64, f64)>);

impl Written {
    /// Inserts; of a primary that says that its data do not stay what they are every write, since its updates and merges
    /// may be of records that were not there. None is taken off for a delete. So records are never more than this.
    fn of(evidence: &Evidence<'_>, facts: &Settings) -> Self {
        let primary = evidence.recording.plan.primary().and_then(|primary| evidence.series(&primary.name));
        let Some(samples) = primary else { return Self(Vec::new()) };
        let wanted: &[&str] = if facts.contains_key("unstable") { &WRITES } else { &WRITES[..1] };
        let columns = wanted.iter().filter_map(|operation| samples.column(&format!("{operation}.requests")));
        let columns: Vec<&[Option<f64>]> = columns.collect();
        let mut sum = 0.0;
        let mut counted = Vec::new();
        for (row, t_ns) in samples.t_ns.iter().enumerate() {
            let fresh: f64 = columns.iter().filter_map(|column| column[row]).filter(|count| *count > 0.0).sum();
            sum += fresh;
            if fresh > 0.0 {
                counted.push((*t_ns, sum));
            }
        }
        Self(counted)
    }

    fn until(&self, t_ns: u64) -> f64 {
        let place = self.0.partition_point(|(known, _)| *known <= t_ns);
        place.checked_sub(1).map_or(0.0, |last| self.0[last].1)
    }
}
