//! The state of RocksDB, read through a socket: its levels and stalls.

use serde_json::{Map, Value};

use super::log::number;
use crate::SampleTable;

/// Adds the levels of the column families in a report.
pub(super) fn push(table: &mut SampleTable, t_ns: u64, report: &Value) {
    let Some(stats) = report.get("rocksdb.cfstats").and_then(Value::as_object) else { return };
    let columns = levels(stats);
    let row: Vec<_> = columns.iter().map(|(name, unit, value)| (name.as_str(), *unit, *value)).collect();
    if !row.is_empty() {
        table.push(t_ns, "rocksdb.cfstats", row);
    }
}

fn levels(stats: &Map<String, Value>) -> Vec<(String, &'static str, f64)> {
    let mut columns = Vec::new();
    for (name, value) in stats {
        let Some(value) = value.as_str().and_then(number) else { continue };
        let parts: Vec<&str> = name.split('.').collect();
        match parts[..] {
            ["compaction", level, "SizeBytes"] if level != "Sum" => columns.extend(column(level, "bytes", "B", value)),
            ["compaction", level, "NumFiles"] if level != "Sum" => {
                columns.extend(column(level, "files", "files", value))
            }
            // A file that is being compacted counts in its level.
            ["compaction", level, "CompactedFiles"] if level != "Sum" => {
                columns.extend(column(level, "compacting_files", "files", value));
            }
            ["compaction", "Sum", "WriteAmp"] => columns.push(("write_amplification".to_owned(), "ratio", value)),
            _ => {}
        }
    }
    columns
}

/// The column of a level, such as `level3_bytes` for `L3` and `bytes`.
fn column(level: &str, what: &str, unit: &'static str, value: f64) -> Option<(String, &'static str, f64)> {
    let number: u32 = level.strip_prefix('L')?.parse().ok()?;
    Some((format!("level{number}_{what}"), unit, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_become_columns() {
        let report = r#"{"compaction.L0.NumFiles":"3.0","compaction.L3.SizeBytes":"535374272.0","compaction.Sum.WriteAmp":"20.4","io_stalls.total_stop":"0"}"#;
        let columns = levels(serde_json::from_str::<Value>(report).unwrap().as_object().unwrap());
        assert_eq!(
            columns,
            [
                ("level0_files".to_owned(), "files", 3.0),
                ("level3_bytes".to_owned(), "B", 535_374_272.0),
                ("write_amplification".to_owned(), "ratio", 20.4)
            ]
        );
    }
}
