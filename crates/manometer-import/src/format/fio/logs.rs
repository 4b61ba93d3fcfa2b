//! fio's logs: the files of `write_bw_log`, `write_iops_log` and `write_lat_log` of one run. Averaged logs
//! (`log_avg_msec`) are samples; in others each line is a request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manometer_measure::LatencyHistogram;

use crate::findings;
use crate::input::Lines;
use crate::single_run::SingleRun;
use crate::{ImportError, ImportedRun};

/// The length of the samples that requests are collected in.
const SAMPLE_MS: u64 = 1000;
const KIB: f64 = 1024.0;
const FROM: &str = "fio's logs";

/// The quantity of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// KiB per second.
    Bandwidth,
    /// Requests per second.
    Requests,
    /// Latencies in nanoseconds: of the whole request, until its submission, or since then.
    Latency(&'static str),
}

/// The run and the kind of `NAME_bw.1.log`.
fn kind_of(path: &Path) -> Option<(String, Kind)> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let name = [".xz", ".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let name = name.strip_suffix(".log")?;
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).strip_suffix('.').unwrap_or(name);
    let kinds = [
        ("_bw", Kind::Bandwidth),
        ("_iops", Kind::Requests),
        ("_clat", Kind::Latency("completion")),
        ("_slat", Kind::Latency("submission")),
        ("_lat", Kind::Latency("latency")),
    ];
    kinds.iter().find_map(|(end, kind)| Some((name.strip_suffix(end)?.to_owned(), *kind)))
}

/// Whether a file has the name of one of fio's logs.
pub fn is_log(path: &Path) -> bool {
    kind_of(path).is_some()
}

/// Reads fio's logs; those with the same NAME are one run.
///
/// # Errors
/// A file cannot be read, is no fio log, or contains no valid line.
pub fn read(paths: &[PathBuf]) -> Result<Vec<ImportedRun>, ImportError> {
    let mut runs: BTreeMap<String, Vec<(&Path, Kind)>> = BTreeMap::new();
    for path in paths {
        let (run, kind) = kind_of(path).ok_or_else(|| {
            ImportError::format(
                path,
                "its name is not that of a log of fio: `NAME_bw.1.log`, `_iops`, `_lat`, `_clat`, `_slat`",
            )
        })?;
        runs.entry(run).or_default().push((path, kind));
    }
    runs.into_iter().map(|(name, logs)| read_run(&name, &logs)).collect()
}

/// No run is longer than half of the range of nanoseconds.
const MS_MAX: u64 = u64::MAX / 2_000_000;

/// A line: time, value, direction and size in bytes; an average has no size.
struct Line {
    at_ms: u64,
    value: f64,
    direction: &'static str,
    bytes: u64,
}

fn line_of(text: &str) -> Option<Line> {
    let mut words = text.split(',').map(str::trim);
    let at_ms = words.next()?.parse().ok().filter(|at_ms| *at_ms < MS_MAX)?;
    let value = words.next()?.parse().ok()?;
    let direction = match words.next()? {
        "0" => "read",
        "1" => "write",
        "2" => "trim",
        _ => return None,
    };
    Some(Line { at_ms, value, direction, bytes: words.next()?.parse().ok()? })
}

/// The counts from all logs of a run.
#[derive(Default)]
struct LogCounts {
    /// The averaging interval in milliseconds.
    period_ms: Option<u64>,
    /// Counts by their interval's end in milliseconds, and by column with its unit; averages are summed over jobs.
    counts: BTreeMap<u64, BTreeMap<(String, &'static str), f64>>,
    /// Mean latencies in microseconds by end and name: their sum and the number of jobs.
    means: BTreeMap<(u64, String), (f64, u32)>,
    /// Latencies of single requests, by end and direction.
    latencies: BTreeMap<(u64, &'static str), LatencyHistogram>,
}

fn read_run(name: &str, logs: &[(&Path, Kind)]) -> Result<ImportedRun, ImportError> {
    let (mut counts, mut run) = (LogCounts::default(), SingleRun { has_ended: true, ..SingleRun::default() });
    let has_latencies = logs.iter().any(|(_, kind)| matches!(kind, Kind::Latency("latency" | "completion")));
    for (path, kind) in logs {
        let (mut lines, mut known) = (Lines::open(path)?, 0_u64);
        while let Some(text) = lines.next()? {
            let Some(line) = line_of(&text) else {
                let reason = format!(
                    "line {} is `{}`: fio writes `time, value, direction, bytes`",
                    lines.number,
                    text.chars().take(60).collect::<String>()
                );
                return Err(ImportError::format(path, reason));
            };
            known += 1;
            counts.take(*kind, &line, has_latencies);
        }
        if known == 0 {
            return Err(ImportError::format(path, "the log is empty: fio writes it when the run ends"));
        }
        if let Some(damage) = lines.damage {
            run.findings.push(findings::damaged(format!("{}: it is damaged {damage}", path.display())));
        }
    }
    counts.fill(&mut run);
    run.phase("whole run", 0);
    let path = PathBuf::from(name);
    Ok(run.into_imported("fio", "MiB/s", &path))
}

impl LogCounts {
    fn add(&mut self, end_ms: u64, column: String, unit: &'static str, value: f64) {
        *self.counts.entry(end_ms).or_default().entry((column, unit)).or_default() += value;
    }

    fn take(&mut self, kind: Kind, line: &Line, has_latencies: bool) {
        let direction = line.direction;
        if line.bytes > 0 {
            let end_ms = (line.at_ms / SAMPLE_MS + 1) * SAMPLE_MS;
            match kind {
                Kind::Latency("latency" | "completion") => {
                    self.add(end_ms, format!("{direction}.requests"), "", 1.0);
                    self.add(end_ms, format!("{direction}.bytes"), "B", line.bytes as f64);
                    self.latencies.entry((end_ms, direction)).or_default().record(line.value as u64);
                }
                // Every log has a line for each request: they are counted once.
                Kind::Requests if !has_latencies => {
                    self.add(end_ms, format!("{direction}.requests"), "", 1.0);
                    self.add(end_ms, format!("{direction}.bytes"), "B", line.bytes as f64);
                }
                _ => {}
            }
            return;
        }
        // Logs and jobs differ by a millisecond or two: the first average determines the interval.
        let period_ms = *self.period_ms.get_or_insert(line.at_ms.max(1));
        let end_ms = ((line.at_ms + period_ms / 2) / period_ms).max(1) * period_ms;
        let length_s = period_ms as f64 / 1e3;
        match kind {
            Kind::Bandwidth => self.add(end_ms, format!("{direction}.bytes"), "B", line.value * KIB * length_s),
            Kind::Requests => self.add(end_ms, format!("{direction}.requests"), "", line.value * length_s),
            Kind::Latency(of) => {
                let name = format!("{direction}_{of}_mean_us");
                let (sum, count) = self.means.entry((end_ms, name)).or_default();
                (*sum, *count) = (*sum + line.value / 1e3, *count + 1);
            }
        }
    }

    fn fill(self, run: &mut SingleRun) {
        let length_s = self.period_ms.filter(|_| self.latencies.is_empty()).unwrap_or(SAMPLE_MS) as f64 / 1e3;
        for (end_ms, values) in self.counts {
            let counts = values.iter().map(|((name, unit), value)| (name.as_str(), *unit, *value));
            run.end_ns = run.end_ns.max(end_ms * 1_000_000);
            run.table.push(end_ms * 1_000_000, FROM, std::iter::once(("length", "s", length_s)).chain(counts));
        }
        for ((end_ms, name), (sum, jobs)) in self.means {
            run.engine.push(end_ms * 1_000_000, FROM, [(name.as_str(), "µs", sum / f64::from(jobs))]);
            run.end_ns = run.end_ns.max(end_ms * 1_000_000);
        }
        for ((end_ms, direction), histogram) in self.latencies {
            run.latency(direction, end_ms.saturating_sub(SAMPLE_MS) * 1_000_000, end_ms * 1_000_000, histogram);
        }
    }
}
