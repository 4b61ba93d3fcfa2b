//! `db_bench`'s interval reports, as Storiks summed them up.

use serde_json::{Map, Value};

use super::log::number;
use super::thread_counts::ThreadCounts;
use crate::SampleTable;

/// `db_bench`'s reports, until the phases are known.
#[derive(Debug, Default)]
pub(super) struct DbBenchReports {
    /// The interval reports: when each ended, its usual length, and its numbers.
    reports: Vec<(u64, f64, Map<String, Value>)>,
    pub threads: ThreadCounts,
}

impl DbBenchReports {
    /// Takes an interval report that ended at `t_ns`, `length_s` after the one before.
    pub fn take(&mut self, t_ns: u64, length_s: f64, stats: Map<String, Value>) {
        self.reports.push((t_ns, length_s, stats));
    }

    /// Whether there is no report.
    pub fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    /// Adds the reports to `table`: the operations of all threads in each interval, by the threads' own counts where
    /// there are any. An interval across one of the `boundaries_ns` of phases is divided there, so that the phases on both
    /// sides have their share. What the threads did after the last report is one more. The reports' `ops` and `ops_per_s`
    /// count a thread twice that reported twice.
    pub fn push(&self, table: &mut SampleTable, boundaries_ns: &[u64]) {
        let covered_ns = self.threads.covered_ns();
        let last_ns = self.reports.last().map(|(end_ns, ..)| *end_ns);
        let rest = covered_ns.zip(last_ns).filter(|(covered_ns, last_ns)| covered_ns > last_ns);
        let rest = rest.map(|(covered_ns, last_ns)| (covered_ns, (covered_ns - last_ns) as f64 / 1e9, Map::new()));
        for (end_ns, length_s, stats) in self.reports.iter().chain(&rest) {
            let begin_ns = end_ns.saturating_sub((length_s * 1e9).round() as u64);
            let is_inside = |at_ns: &u64| (begin_ns + 1..*end_ns).contains(at_ns);
            let mut moments: Vec<u64> = boundaries_ns.iter().copied().chain(covered_ns).filter(is_inside).collect();
            if covered_ns.is_none() {
                moments.clear();
            }
            moments.extend([begin_ns, *end_ns]);
            moments.sort_unstable();
            for part in moments.windows(2) {
                let operations = match covered_ns {
                    Some(_) => {
                        self.threads.at(part[0]).zip(self.threads.at(part[1])).map(|(before, after)| after - before)
                    }
                    None => value(stats, "ops"),
                };
                push_row(table, part[1], (part[1] - part[0]) as f64 / 1e9, operations, stats);
            }
        }
    }
}

fn value(stats: &Map<String, Value>, name: &str) -> Option<f64> {
    number(stats.get(name)?.as_str()?)
}

fn push_row(table: &mut SampleTable, t_ns: u64, length_s: f64, operations: Option<f64>, stats: &Map<String, Value>) {
    let mut row = vec![("length", "s", length_s)];
    row.extend(operations.map(|operations| ("all.requests", "", operations)));
    row.extend(value(stats, "ingest_MBps").map(|rate| ("ingested_bytes", "B/s", rate * 1e6)));
    row.extend(value(stats, "WAL_written_MBps").map(|rate| ("wal_written_bytes", "B/s", rate * 1e6)));
    row.extend(value(stats, "stall_percent").map(|percent| ("stalled", "s/s", percent / 100.0)));
    table.push(t_ns, "db_bench's interval report", row);
}
