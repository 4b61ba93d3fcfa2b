//! fio's `json+`: with `--status-interval`, one document per interval, each with the totals so far.
//!
//! A report is the difference of two documents: requests, bytes, and the completion latencies by bin.

use std::collections::BTreeMap;

use manometer_measure::LatencyHistogram;
use serde_json::Value;

use super::{Amount, OperationReport, Parser, Report, grown};

const DIRECTIONS: [&str; 2] = ["read", "write"];

/// A longer document is not from fio.
const MAX_DOCUMENT_BYTES: usize = 64 << 20;

#[derive(Debug, Default)]
pub(super) struct Fio {
    /// The document being read.
    open: Option<String>,
    /// fio's own time of the last document, in milliseconds.
    last_ms: Option<u64>,
    /// How long each direction of each job had run by then, in milliseconds.
    runtimes_ms: Vec<u64>,
    done: BTreeMap<&'static str, Totals>,
}

/// The totals of all jobs in one direction.
#[derive(Debug, Clone, Default)]
struct Totals {
    requests: u64,
    bytes: u64,
    /// The number of requests by latency in nanoseconds.
    bins: BTreeMap<u64, u64>,
}

impl Parser for Fio {
    fn line(&mut self, line: &str) -> Option<Vec<Report>> {
        if line == "{" {
            self.open = Some(String::new());
        }
        let open = self.open.as_mut().filter(|open| open.len() < MAX_DOCUMENT_BYTES)?;
        open.push_str(line);
        open.push('\n');
        if line != "}" {
            return Some(Vec::new());
        }
        let document: Value = serde_json::from_str(&self.open.take()?).ok()?;
        Some(self.report(&document)?.into_iter().collect())
    }

    fn operations(&self) -> Vec<String> {
        DIRECTIONS.map(str::to_owned).into()
    }

    fn unit(&self) -> &'static str {
        "MiB/s"
    }

    fn uncounted(&self) -> &'static [&'static str] {
        &[]
    }

    fn latencies(&self) -> Vec<&'static str> {
        DIRECTIONS.into()
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("fio", "--output-format=json+"), ("fio", "--status-interval=")]
    }
}

impl Fio {
    /// The report since the document before. `Some(None)` if no time has passed; `None` if the document is not from
    /// fio.
    fn report(&mut self, document: &Value) -> Option<Option<Report>> {
        let jobs = document.get("jobs")?.as_array()?;
        let now_ms = document.get("timestamp_ms")?.as_u64()?;
        let runtimes_ms = runtimes_ms(jobs);
        let length_ms = self.length_ms(now_ms, &runtimes_ms);
        if length_ms == 0 {
            return Some(None);
        }
        self.last_ms = Some(now_ms);
        self.runtimes_ms = runtimes_ms;
        let mut report = Report { length_s: Some(length_ms as f64 / 1e3), ..Report::default() };
        for direction in DIRECTIONS {
            let done = Totals::of_all(jobs, direction);
            let before = self.done.insert(direction, done.clone()).unwrap_or_default();
            report.operations.insert(direction.to_owned(), done.since(&before));
        }
        Some(Some(report))
    }

    /// The milliseconds since the last document in which a job ran, or all of them if none did or one began. fio writes
    /// its last document only after its jobs have ended and their processes are gone.
    fn length_ms(&self, now_ms: u64, runtimes_ms: &[u64]) -> u64 {
        let Some(last_ms) = self.last_ms else {
            return runtimes_ms.iter().copied().max().unwrap_or(0);
        };
        let passed = now_ms.saturating_sub(last_ms);
        let ran = |(now, before): (&u64, &u64)| now.saturating_sub(*before);
        let longest = runtimes_ms.iter().zip(&self.runtimes_ms).map(ran).max().unwrap_or(0);
        let one_began = runtimes_ms.iter().zip(&self.runtimes_ms).any(|(now, before)| *before == 0 && *now > 0);
        if longest == 0 || one_began { passed } else { passed.min(longest) }
    }
}

impl Totals {
    fn of_all(jobs: &[Value], direction: &str) -> Self {
        let mut done = Self::default();
        for job in jobs.iter().filter_map(|job| job.get(direction)) {
            done.requests += job["total_ios"].as_u64().unwrap_or(0);
            done.bytes += job["io_bytes"].as_u64().unwrap_or(0);
            let bins = ["clat_ns", "lat_ns"].iter().find_map(|name| job[*name]["bins"].as_object());
            for (ns, count) in bins.into_iter().flatten() {
                if let (Ok(ns), Some(count)) = (ns.parse(), count.as_u64()) {
                    *done.bins.entry(ns).or_default() += count;
                }
            }
        }
        done
    }

    fn since(&self, before: &Self) -> OperationReport {
        let mut latency = LatencyHistogram::new();
        for (ns, count) in &self.bins {
            latency.record_many(*ns, grown(*count, before.bins.get(ns).copied().unwrap_or(0)));
        }
        OperationReport {
            requests: Amount::Count(grown(self.requests, before.requests)),
            bytes: Amount::Count(grown(self.bytes, before.bytes)),
            latency: Some(latency).filter(|latency| !latency.is_empty()),
        }
    }
}

/// How long each direction of each job has run in milliseconds, without its start-up.
fn runtimes_ms(jobs: &[Value]) -> Vec<u64> {
    let runtimes = jobs.iter().flat_map(|job| DIRECTIONS.map(|direction| job[direction]["runtime"].as_u64()));
    runtimes.map(|runtime| runtime.unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::parser::read_all;

    #[test]
    fn recorded_documents_become_differences_with_their_latencies() {
        let (reports, unknown) = read_all(&mut Fio::default(), include_str!("samples/fio.txt"));
        // The empty line after the last document, and nothing else.
        assert!(unknown <= 3, "{unknown}");
        assert!(reports.len() >= 2, "{}", reports.len());
        let [first, second] = [&reports[0], &reports[1]].map(|report| &report.operations["read"]);
        let Amount::Count(requests) = first.requests else { panic!("{first:?}") };
        let Amount::Count(bytes) = first.bytes else { panic!("{first:?}") };
        // Jobs continue while fio writes the document: its counters are some requests apart.
        assert!((bytes / 4096).abs_diff(requests) < 10, "{bytes} bytes, {requests} requests");
        assert_eq!(first.latency.as_ref().unwrap().len(), requests);
        assert!(second.latency.as_ref().unwrap().len() < 2 * requests, "documents are cumulative, reports are not");
        assert_eq!(Amount::Count(second.latency.as_ref().unwrap().len()), second.requests);
    }

    #[test]
    fn a_report_is_as_long_as_a_job_ran() {
        let lengths = |documents: &[(u64, [u64; 2])]| {
            let mut fio = Fio::default();
            let report = |(now, runtimes): &(u64, [u64; 2])| {
                let jobs = runtimes.map(|runtime| json!({ "write": { "runtime": runtime } }));
                let report = fio.report(&json!({ "timestamp_ms": now, "jobs": jobs })).unwrap();
                report.map(|report| report.length_s.unwrap())
            };
            documents.iter().map(report).collect::<Vec<_>>()
        };
        let at_once = [(1000, [700, 690]), (2000, [1700, 1690]), (2950, [2600, 2610])];
        assert_eq!(lengths(&at_once), [Some(0.7), Some(1.0), Some(0.92)], "the jobs ended before the last document");
        let in_turn = [(1000, [700, 0]), (2000, [1200, 500]), (3000, [1200, 1500])];
        assert_eq!(lengths(&in_turn), [Some(0.7), Some(1.0), Some(1.0)], "one began in the second");
        let with_a_pause = [(1000, [700, 0]), (2000, [700, 0]), (2000, [700, 0])];
        assert_eq!(lengths(&with_a_pause), [Some(0.7), Some(1.0), None]);
    }

    #[test]
    fn what_is_no_document_means_nothing() {
        let mut fio = Fio::default();
        assert_eq!(fio.line("fio: this job does not exist"), None);
        assert_eq!(fio.line("{"), Some(Vec::new()));
        assert_eq!(fio.line("}"), None, "a document without jobs");
        assert_eq!(fio.line("}"), None, "no document has begun");
    }
}
