//! The neighbour `access_time3`: its settings and statistics.

use manometer_measure::plan::Settings;
use serde_json::{Map, Value};

use super::log::number;
use crate::SampleTable;

/// A report of a neighbour.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Report<'a> {
    /// A setting took effect.
    Set(&'a str, &'a str),
    Stats(Map<String, Value>),
}

/// The report in a line of its output, if any.
pub(super) fn report(output: &str) -> Option<Report<'_>> {
    let text = output.strip_prefix("[info] ")?;
    if let Some(json) = text.strip_prefix("STATS: ") {
        return serde_json::from_str(json).ok().map(Report::Stats);
    }
    let (name, value) = text.strip_prefix("set ")?.split_once('=')?;
    Some(Report::Set(name, value.trim()))
}

/// A setting with Manometer's name and value; `None` for other settings.
pub(super) fn setting(name: &str, value: &str) -> Option<(&'static str, Value)> {
    let kib = |text: &str| text.parse::<u64>().ok().map(|kib| Value::from(format!("{kib}KiB")));
    let share = |text: &str| number(text).map(Value::from);
    match name {
        "block_size" => Some(("block_size", kib(value)?)),
        "filesize" => Some(("file_size", Value::from(format!("{}MiB", value.parse::<u64>().ok()?)))),
        "iodepth" => Some(("iodepth", Value::from(value.parse::<u64>().ok()?))),
        "random_ratio" => Some(("random_ratio", share(value)?)),
        "write_ratio" => Some(("write_ratio", share(value)?)),
        _ => None,
    }
}

/// The settings in its statistics, and whether it is paused.
pub(super) fn reported_settings(stats: &Map<String, Value>) -> (Settings, bool) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let settings = stats.iter().filter_map(|(name, value)| setting(name, &text(value)));
    let waits = stats.get("wait").is_some_and(|wait| text(wait) == "true");
    (settings.map(|(name, value)| (name.to_owned(), value)).collect(), waits)
}

const BYTES_PER_MIB: f64 = (1u64 << 20) as f64;

/// Adds its statistics of an interval of `length_s` that ended at `t_ns`.
pub(super) fn push(table: &mut SampleTable, t_ns: u64, length_s: f64, stats: &Map<String, Value>) {
    let rate = |name: &str| number(stats.get(name)?.as_str()?);
    let mut row = vec![("length", "s", length_s)];
    let columns = [
        ("read_MiB/s", "read.bytes", "B", BYTES_PER_MIB),
        ("write_MiB/s", "write.bytes", "B", BYTES_PER_MIB),
        ("blocks_read/s", "read.requests", "", 1.0),
        ("blocks_write/s", "write.requests", "", 1.0),
    ];
    row.extend(
        columns.iter().filter_map(|(theirs, ours, unit, scale)| Some((*ours, *unit, rate(theirs)? * scale * length_s))),
    );
    table.push(t_ns, "access_time3", row);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_in_both_forms() {
        assert_eq!(report("[info] set write_ratio=0.1 "), Some(Report::Set("write_ratio", "0.1")));
        let Some(Report::Stats(stats)) =
            report(r#"[info] STATS: {"time":"4","write_ratio":"0.5","wait":"true","block_size":"8"}"#)
        else {
            panic!("no statistics")
        };
        let (settings, waits) = reported_settings(&stats);
        assert!(waits);
        assert_eq!(settings["write_ratio"], 0.5);
        assert_eq!(settings["block_size"], "8KiB");
        assert_eq!(report("[info] worker thread in wait mode"), None);
    }
}
