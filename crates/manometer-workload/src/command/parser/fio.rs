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

/// Fewer milliseconds may be a pause of the host.
const LEAST_STEP_MS: u64 = 60_000;

/// A larger number of requests or bytes is not from fio, nor exact in a sample.
const MAX_COUNT: u64 = 1 << 53;

#[derive(Debug, Default)]
pub(super) struct Fio {
    /// The document being read.
    open: Option<String>,
    /// fio's own time of the last document, in milliseconds.
    last_ms: Option<u64>,
    /// The length of the last report, and the running time of all jobs until then.
    last_length_ms: u64,
    ran_ms: u64,
    done: BTreeMap<&'static str, Totals>,
    damaged: u64,
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
            // The document before has no end.
            self.damaged += u64::from(self.open.replace(String::new()).is_some());
        }
        let open = self.open.as_mut().filter(|open| open.len() < MAX_DOCUMENT_BYTES)?;
        open.push_str(line);
        open.push('\n');
        if line != "}" {
            return Some(Vec::new());
        }
        let document = self.open.take()?;
        let report = serde_json::from_str(&document).ok().and_then(|document| self.report(&document));
        self.damaged += u64::from(report.is_none());
        Some(report?.into_iter().collect())
    }

    fn damaged_reports(&self) -> u64 {
        self.damaged + u64::from(self.open.is_some())
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
    /// The report since the document before. `Some(None)` if no time has passed; `None` if the document is not from fio,
    /// which then changes nothing. The last one is written some milliseconds after the jobs ended, which are in its length:
    /// fio's running times tell no better, since those of a group of jobs are no time. A report that is left out by
    /// [`Self::is_clock_stepped`] counts as damaged, and leaves a gap.
    fn report(&mut self, document: &Value) -> Option<Option<Report>> {
        let jobs = document.get("jobs")?.as_array()?;
        let now_ms = document.get("timestamp_ms")?.as_u64()?;
        let length_ms = self.last_ms.map_or_else(|| longest_runtime_ms(jobs), |before| now_ms.saturating_sub(before));
        if length_ms == 0 {
            return Some(None);
        }
        let [read, write] = DIRECTIONS.map(|direction| Totals::of_all(jobs, direction));
        let done = [read?, write?];
        let is_clock_stepped = self.last_ms.is_some() && self.is_clock_stepped(length_ms, jobs);
        self.last_ms = Some(now_ms);
        self.ran_ms = running_time_ms(jobs);
        if is_clock_stepped {
            self.done = DIRECTIONS.into_iter().zip(done).collect();
            return None;
        }
        self.last_length_ms = length_ms;
        let mut report = Report { length_s: Some(length_ms as f64 / 1e3), ..Report::default() };
        for (direction, done) in DIRECTIONS.into_iter().zip(done) {
            let before = self.done.insert(direction, done.clone()).unwrap_or_default();
            report.operations.insert(direction.to_owned(), done.since(&before));
        }
        Some(Some(report))
    }
}

impl Fio {
    /// Whether the host's clock was set forward within the `length_ms` before a document: the jobs ran for a small part of a
    /// report that is much longer than the one before.
    fn is_clock_stepped(&self, length_ms: u64, jobs: &[Value]) -> bool {
        let ran_ms = running_time_ms(jobs).saturating_sub(self.ran_ms);
        let most_ms = self.last_length_ms.max(2 * ran_ms).saturating_mul(10).max(LEAST_STEP_MS);
        ran_ms > 0 && length_ms > most_ms
    }
}

impl Totals {
    /// `None` if a count cannot be one.
    fn of_all(jobs: &[Value], direction: &str) -> Option<Self> {
        let mut done = Self::default();
        for job in jobs.iter().filter_map(|job| job.get(direction)) {
            add(&mut done.requests, count_of(&job["total_ios"])?)?;
            add(&mut done.bytes, count_of(&job["io_bytes"])?)?;
            let bins = ["clat_ns", "lat_ns"].iter().find_map(|name| job[*name]["bins"].as_object());
            for (ns, count) in bins.into_iter().flatten() {
                if let (Ok(ns), Some(count)) = (ns.parse(), count.as_u64()) {
                    add(done.bins.entry(ns).or_default(), count)?;
                }
            }
        }
        Some(done)
    }

    fn since(&self, before: &Self) -> OperationReport {
        let mut latency = LatencyHistogram::new();
        for (ns, count) in &self.bins {
            latency.record_many(*ns, grown(*count, before.bins.get(ns).copied().unwrap_or(0)));
        }
        OperationReport {
            requests: Amount::Count(grown(self.requests, before.requests)),
            bytes: Some(Amount::Count(grown(self.bytes, before.bytes))),
            latency: Some(latency).filter(|latency| !latency.is_empty()),
        }
    }
}

/// A count, 0 where there is none; `None` for what cannot be one.
fn count_of(value: &Value) -> Option<u64> {
    if value.is_null() { Some(0) } else { value.as_u64() }
}

fn add(sum: &mut u64, count: u64) -> Option<()> {
    *sum = sum.checked_add(count).filter(|sum| *sum <= MAX_COUNT)?;
    Some(())
}

/// The running times of all jobs in milliseconds.
fn running_time_ms(jobs: &[Value]) -> u64 {
    let runtimes = jobs.iter().flat_map(|job| DIRECTIONS.map(|direction| job[direction]["runtime"].as_u64()));
    runtimes.flatten().fold(0, u64::saturating_add)
}

/// The running time of the longest job in milliseconds, without its start-up.
fn longest_runtime_ms(jobs: &[Value]) -> u64 {
    let runtimes = jobs.iter().flat_map(|job| DIRECTIONS.map(|direction| job[direction]["runtime"].as_u64()));
    runtimes.flatten().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
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
        let Some(Amount::Count(bytes)) = first.bytes else { panic!("{first:?}") };
        // Jobs continue while fio writes the document: its counters are some requests apart.
        assert!((bytes / 4096).abs_diff(requests) < 10, "{bytes} bytes, {requests} requests");
        assert_eq!(first.latency.as_ref().unwrap().len(), requests);
        assert!(second.latency.as_ref().unwrap().len() < 2 * requests, "documents are cumulative, reports are not");
        assert_eq!(Amount::Count(second.latency.as_ref().unwrap().len()), second.requests);
    }

    #[test]
    fn what_is_no_document_means_nothing() {
        let mut fio = Fio::default();
        assert_eq!(fio.line("fio: this job does not exist"), None);
        assert_eq!(fio.line("{"), Some(Vec::new()));
        assert_eq!(fio.line("}"), None, "a document without jobs");
        assert_eq!(fio.line("}"), None, "no document has begun");
        assert_eq!(fio.damaged_reports(), 1);
    }

    #[test]
    fn documents_that_are_damaged_or_cut_off_are_counted() {
        let whole = include_str!("samples/fio.txt");
        let read = |text: &str| {
            let mut fio = Fio::default();
            let (reports, _) = read_all(&mut fio, text);
            (reports.len(), fio.damaged_reports())
        };
        let (all, none) = read(whole);
        assert_eq!(none, 0);
        let last = whole.rfind("\n{").unwrap();
        assert_eq!(read(&whole[..last + 100]), (all - 1, 1));
        let middle = whole[..last].rfind("\n  \"jobs\"").unwrap();
        assert_eq!(read(&(whole[..middle].to_owned() + "####" + &whole[middle..])).1, 1);
        let end = whole.find("\n}").unwrap();
        assert_eq!(read(&(whole[..end].to_owned() + &whole[end + 2..])).1, 1, "the end of the first is lost");
        // The third document counts what the second, with an impossible count of writes, did not.
        let damaged = whole.replacen("\"io_bytes\": 12333056", "\"io_bytes\": 9223372036854775807", 1);
        let all_reads = |text: &str| -> u64 {
            let (reports, _) = read_all(&mut Fio::default(), text);
            let requests = reports.iter().map(|report| match report.operations["read"].requests {
                Amount::Count(count) => count,
                ref other => panic!("{other:?}"),
            });
            requests.sum()
        };
        assert_eq!((all_reads(&damaged), read(&damaged).1), (all_reads(whole), 1));
    }
}
