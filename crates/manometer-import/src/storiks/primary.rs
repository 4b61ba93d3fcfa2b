//! The primaries: YCSB's status lines and what was made of `db_bench`'s.

use std::sync::LazyLock;

use chrono::NaiveDateTime;
use regex::Regex;
use serde_json::{Map, Value};

use super::log::number;
use crate::Table;

static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d):(\d+) \d+ sec: (\d+) operations; (?:([\d.,]+) current ops/sec;)?(.*)$";
    Regex::new(pattern).expect("the pattern is right")
});
static OPERATION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[([A-Z-]+): ([^\]]*)\]").expect("the pattern is right"));
static FIELD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([\w.]+)=(\d+(?:[.,]\d+)?)").expect("the pattern is right"));

/// One of YCSB's status lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Status {
    /// Milliseconds since 1970 on the host's own clock, as if its zone were UTC.
    pub local_ms: i64,
    /// Operations so far.
    pub operations: u64,
    /// What it says of each operation since the line before: name, and value by name.
    pub measured: Vec<(String, Vec<(String, f64)>)>,
}

/// A status line, if `line` is one.
pub(crate) fn status(line: &str) -> Option<Status> {
    let parts = STATUS.captures(line)?;
    let time = NaiveDateTime::parse_from_str(&parts[1], "%Y-%m-%d %H:%M:%S").ok()?;
    let milliseconds: i64 = parts[2].parse().ok()?;
    let measured = OPERATION.captures_iter(&parts[5]).map(|operation| {
        let fields = FIELD.captures_iter(&operation[2]);
        let values = fields.filter_map(|field| Some((field[1].to_owned(), number(&field[2])?)));
        (operation[1].to_lowercase().replace('-', "_"), values.collect())
    });
    Some(Status {
        local_ms: time.and_utc().timestamp_millis() + milliseconds,
        operations: parts[3].parse().ok()?,
        measured: measured.collect(),
    })
}

/// Adds what a status line says of the `length_s` before it: counts to the workload's `table`; means and quantiles, which
/// cannot be added up, to that of its `engine`.
pub(crate) fn push_status(table: &mut Table, engine: &mut Table, t_ns: u64, length_s: f64, status: &Status) {
    const FROM: &str = "YCSB's status line";
    let (mut counts, mut latencies) = (vec![("length".to_owned(), "s", length_s)], Vec::new());
    for (operation, values) in &status.measured {
        for (name, value) in values {
            match name.as_str() {
                "Count" => counts.push((format!("{operation}.requests"), "", *value)),
                "Avg" => latencies.push((format!("{operation}_mean_us"), "µs", *value)),
                "Min" => latencies.push((format!("{operation}_min_us"), "µs", *value)),
                "Max" => latencies.push((format!("{operation}_max_us"), "µs", *value)),
                share => latencies.push((format!("{operation}_p{}_us", share.replace('.', "")), "µs", *value)),
            }
        }
    }
    table.push(t_ns, FROM, counts.iter().map(|(name, unit, value)| (name.as_str(), *unit, *value)));
    engine.push(t_ns, FROM, latencies.iter().map(|(name, unit, value)| (name.as_str(), *unit, *value)));
}

/// Adds what was made of `db_bench`'s interval reports: a rate over all threads, held for `length_s`.
pub(super) fn push_db_bench(table: &mut Table, t_ns: u64, length_s: f64, stats: &Map<String, Value>) {
    let value = |name: &str| number(stats.get(name)?.as_str()?);
    let mut row = vec![("length", "s", length_s)];
    row.extend(value("ops_per_s").map(|rate| ("all.requests", "", rate * length_s)));
    row.extend(value("ingest_MBps").map(|rate| ("ingested_bytes", "B/s", rate * 1e6)));
    row.extend(value("WAL_written_MBps").map(|rate| ("wal_written_bytes", "B/s", rate * 1e6)));
    row.extend(value("stall_percent").map(|percent| ("stalled", "s/s", percent / 100.0)));
    table.push(t_ns, "db_bench's interval report", row);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_are_read_in_either_language() {
        let line = "2020-10-23 11:12:57:246 50 sec: 1296057 operations; 32807,4 current ops/sec; \
            [READ: Count=155767, Max=116479, Min=1, Avg=148,97, 90=337, 99=675, 99.9=8975, 99.99=97279] \
            [READ-MODIFY-WRITE: Count=8240, Avg=160.89]";
        let status = status(line).unwrap();
        assert_eq!(status.local_ms % 100_000, 77_246 % 100_000);
        assert_eq!(status.operations, 1_296_057);
        let (read, values) = &status.measured[0];
        assert_eq!(
            (read.as_str(), &values[3], &values[6]),
            ("read", &("Avg".to_owned(), 148.97), &("99.9".to_owned(), 8975.0))
        );
        assert_eq!(status.measured[1].0, "read_modify_write");
        assert!(super::status("2020-10-23 11:12:07:246 0 sec: 0 operations;  ").unwrap().measured.is_empty());
        assert_eq!(super::status("Loading workload..."), None);
    }
}
