//! `db_bench`'s interval reports, as summed by Storiks.

use serde_json::{Map, Value};

use super::log::number;
use crate::SampleTable;

/// Adds `db_bench`'s interval reports: the operations of all threads in the `length_s` before. `ops_per_s` is not used:
/// it sums the reports of all threads, and counts a thread twice that reported twice.
pub(super) fn push_db_bench(table: &mut SampleTable, t_ns: u64, length_s: f64, stats: &Map<String, Value>) {
    let value = |name: &str| number(stats.get(name)?.as_str()?);
    let mut row = vec![("length", "s", length_s)];
    row.extend(value("ops").map(|operations| ("all.requests", "", operations)));
    row.extend(value("ingest_MBps").map(|rate| ("ingested_bytes", "B/s", rate * 1e6)));
    row.extend(value("WAL_written_MBps").map(|rate| ("wal_written_bytes", "B/s", rate * 1e6)));
    row.extend(value("stall_percent").map(|percent| ("stalled", "s/s", percent / 100.0)));
    table.push(t_ns, "db_bench's interval report", row);
}
