//! YCSB: its output with `-s`, and the histogram logs of `measurementtype=hdrhistogram` and
//! `hdrhistogram.fileoutput=true`, one per operation.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use manometer_measure::LatencyHistogram;
use manometer_measure::latency_log::response_tag;
use manometer_workload::command::ParserName;

use crate::findings;
use crate::import_format::ImportFormat;
use crate::input::Lines;
use crate::single_run::SingleRun;
use crate::{ImportError, ImportedRun, program_output};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "ycsb",
    about: "Output of YCSB with `-s`, and its histogram logs (`READ.hdr`), which belong to the file before them.",
    read,
};

/// Local clocks differ from UTC by multiples of a quarter of an hour.
const ZONE_MS: i64 = 15 * 60 * 1000;
/// Operations write their intervals some milliseconds apart: those that end within this time end together.
const ROUND_NS: u64 = 100_000_000;
/// The unit of YCSB's histograms: microseconds.
const UNIT_NS: u64 = 1000;

/// Reads runs. Each file of status lines starts a run, to which the histogram logs after it belong; logs before any
/// status lines are a separate run.
///
/// # Errors
/// A file cannot be read, or is neither.
fn read(paths: &[PathBuf]) -> Result<Vec<ImportedRun>, ImportError> {
    let mut runs: Vec<(PathBuf, Option<SingleRun>, Vec<HistogramLog>)> = Vec::new();
    for path in paths {
        match (histogram_log(path)?, runs.last_mut()) {
            (None, _) => {
                let (run, _) = program_output::read_run(ParserName::Ycsb, path)?;
                runs.push((path.clone(), Some(run), Vec::new()));
            }
            (Some(log), Some((_, _, logs))) => logs.push(log),
            (Some(log), None) => runs.push((path.clone(), None, vec![log])),
        }
    }
    Ok(runs.into_iter().map(|(path, run, logs)| merge(run, &logs).into_imported("YCSB", "ops/s", &path)).collect())
}

/// The histograms of one operation.
struct HistogramLog {
    operation: String,
    /// The log's time 0, in milliseconds since 1970.
    base_unix_ms: Option<i64>,
    /// Start, end and latencies of each interval, on the log's clock.
    intervals: Vec<(u64, u64, LatencyHistogram)>,
    damage: Option<String>,
}

/// A histogram log, if the file is one.
fn histogram_log(path: &Path) -> Result<Option<HistogramLog>, ImportError> {
    let mut lines = Lines::open(path)?;
    let mut text = String::new();
    while let Some(line) = lines.next()? {
        if lines.number == 1 && !line.starts_with("#[") {
            return Ok(None);
        }
        text.push_str(&line);
        text.push('\n');
    }
    let operation = operation_of(&text, path)?;
    let mut log = HistogramLog { operation, base_unix_ms: None, intervals: Vec::new(), damage: lines.damage };
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        match entry {
            Ok(LogEntry::BaseTime(time)) => log.base_unix_ms = Some(time.as_millis() as i64),
            Ok(LogEntry::StartTime(time)) if log.base_unix_ms.is_none() => {
                log.base_unix_ms = Some(time.as_millis() as i64)
            }
            Ok(LogEntry::Interval(line)) => match in_nanoseconds(line.encoded_histogram()) {
                Ok(histogram) => {
                    let begin_ns = line.start_timestamp().as_nanos() as u64;
                    log.intervals.push((
                        begin_ns,
                        begin_ns.saturating_add(line.duration().as_nanos() as u64),
                        histogram,
                    ));
                }
                Err(reason) => {
                    log.damage = Some(format!("at histogram {}: {reason}", log.intervals.len() + 1));
                    break;
                }
            },
            Ok(_) => {}
            Err(_) => {
                log.damage =
                    Some(format!("after histogram {}: a line is none of a histogram log", log.intervals.len()));
                break;
            }
        }
    }
    Ok(Some(log))
}

/// The operation, with Manometer's name: from the log, or from the end of the file's name, `READ.hdr`.
fn operation_of(text: &str, path: &Path) -> Result<String, ImportError> {
    let named = text.lines().find_map(|line| line.strip_prefix("#[Logging for: ")?.strip_suffix(']'));
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let from_name =
        || stem.rsplit(|letter: char| !letter.is_ascii_uppercase() && letter != '-').next().unwrap_or_default();
    let name = named.unwrap_or_else(from_name).trim_start_matches('-');
    if name.is_empty() {
        let reason = "it does not name its operation: a histogram log of YCSB is named after its operation, `READ.hdr`";
        return Err(ImportError::format(path, reason));
    }
    let ours = |name: &str| name.to_lowercase().replace('-', "_");
    // Response times, which count from when the request was due.
    Ok(name.strip_prefix("Intended-").map_or_else(|| ours(name), |name| response_tag(&ours(name))))
}

fn in_nanoseconds(encoded: &str) -> Result<LatencyHistogram, String> {
    let bytes = STANDARD.decode(encoded).map_err(|error| error.to_string())?;
    let read: Histogram<u64> =
        Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| error.to_string())?;
    let mut histogram = LatencyHistogram::new();
    for counted in read.iter_recorded() {
        histogram.record_many(counted.value_iterated_to().saturating_mul(UNIT_NS), counted.count_at_value());
    }
    Ok(histogram)
}

/// A run with the histograms of its operations. Without status lines they provide the counts too.
fn merge(run: Option<SingleRun>, logs: &[HistogramLog]) -> SingleRun {
    let (mut run, counts) = match run {
        Some(run) => (run, false),
        None => (SingleRun::default(), true),
    };
    if counts {
        run.begin_unix_ms = logs.iter().filter_map(|log| log.base_unix_ms).min();
        run.has_ended = true;
    }
    for log in logs {
        // Status lines have local time, the log UTC.
        let ahead_ms =
            log.base_unix_ms.zip(run.begin_unix_ms).map_or(0, |(base_ms, begin_ms)| base_ms.saturating_sub(begin_ms));
        let ahead_ms =
            if counts { ahead_ms } else { (ahead_ms.saturating_add(ZONE_MS / 2)).rem_euclid(ZONE_MS) - ZONE_MS / 2 };
        let shifted = |t_ns: u64| t_ns.saturating_add_signed(ahead_ms.saturating_mul(1_000_000));
        for (begin_ns, end_ns, histogram) in &log.intervals {
            let (begin_ns, end_ns) = (shifted(*begin_ns), shifted(*end_ns));
            run.latency(&log.operation, begin_ns, end_ns, histogram.clone());
            if counts {
                run.end_ns = run.end_ns.max(end_ns);
            }
        }
        if let Some(damage) = &log.damage {
            let text = format!("the histogram log of `{}` is damaged {damage}: the rest is missing", log.operation);
            run.findings.push(findings::damaged(text));
        }
    }
    if counts {
        // Histograms of response times count the same requests again.
        let sent = logs.iter().filter(|log| !log.operation.contains('.'));
        let counted = sent.flat_map(|log| {
            let end = |end_ns: &u64| end_ns.saturating_add(ROUND_NS / 2) / ROUND_NS * ROUND_NS;
            let one = move |(begin_ns, end_ns, histogram): &(u64, u64, LatencyHistogram)| {
                (log.operation.as_str(), *begin_ns, end(end_ns), histogram.len())
            };
            log.intervals.iter().map(one)
        });
        run.count("YCSB's histogram logs", counted);
        run.phase("whole run", 0);
    }
    run
}
