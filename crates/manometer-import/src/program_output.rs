//! Output of benchmark programs in a file: YCSB's status lines, `db_bench`'s interval reports, fio's documents. The
//! parsers are those of external programs as workloads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use chrono::NaiveDateTime;
use manometer_workload::command::ParserName;
use manometer_workload::command::parser::{self, Amount, Parser, Report};
use regex::Regex;

use crate::findings::{self, LateLine};
use crate::input::{all_lines, ns_of_ms};
use crate::single_run::SingleRun;
use crate::{ImportError, ImportedRun, SampleTable};

/// The source of the numbers.
const FROM: &str = "the program's reports";

/// Reads the output of a program from the file at `path`.
///
/// # Errors
/// The file cannot be read, or contains no report of that program.
pub fn read(program: ParserName, path: &Path) -> Result<ImportedRun, ImportError> {
    let (run, unit) = read_run(program, path)?;
    Ok(run.into_imported(name_of(program), unit, path))
}

/// The run in a file, and the unit of its performance.
pub(crate) fn read_run(program: ParserName, path: &Path) -> Result<(SingleRun, &'static str), ImportError> {
    let (lines, damage) = all_lines(path)?;
    let mut reader = OutputReader::default();
    let (mut needs, mut unit) = (&[][..], "ops/s");
    for section in sections(program, &lines) {
        let parser = parser::new(program, &section.words, &BTreeMap::new());
        let mut parser = parser.map_err(|error| ImportError::format(path, error.to_string()))?;
        (needs, unit) = (parser.needs(), parser.unit());
        reader.take(&section, parser.as_mut());
    }
    if reader.samples == 0 {
        let words: BTreeSet<String> = needs.iter().map(|(_, word)| format!("`{word}`")).collect();
        let words: Vec<String> = words.into_iter().collect();
        let reason =
            format!("{} has no reports by interval in it: run it with {}", name_of(program), words.join(" and "));
        return Err(ImportError::format(path, reason));
    }
    if let Some(damage) = damage {
        let text = format!("the file is damaged {damage}: the rest is missing");
        reader.run.findings.push(findings::damaged(text));
    }
    Ok((reader.finish(program), unit))
}

fn name_of(program: ParserName) -> &'static str {
    match program {
        ParserName::Fio => "fio",
        ParserName::DbBench => "db_bench",
        ParserName::Ycsb => "YCSB",
        ParserName::RedisBenchmark => "redis-benchmark",
        ParserName::Memtier => "memtier_benchmark",
        ParserName::Sysbench => "sysbench",
        ParserName::Regex => "a program",
    }
}

/// The lines of one phase.
struct Section<'a> {
    /// The name of the phase; `None` if nothing shows that it ended.
    name: Option<String>,
    /// The program's arguments, for the parser.
    words: Vec<String>,
    lines: &'a [String],
}

static RESULT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^([a-z]\w*(?:\[\w+\])?) +: +[\d.]+ micros/op").expect("the pattern is right"));
static THREAD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"thread (\d+): \(").expect("the pattern is right"));

/// Each benchmark of `db_bench` is a section that ends with its result; other programs have one section.
fn sections(program: ParserName, lines: &[String]) -> Vec<Section<'_>> {
    if program != ParserName::DbBench {
        return vec![Section { name: None, words: Vec::new(), lines }];
    }
    let (mut sections, mut begin) = (Vec::new(), 0);
    let results =
        lines.iter().enumerate().filter_map(|(at, line)| Some((at + 1, Some(RESULT.captures(line)?[1].to_owned()))));
    for (end, name) in results.chain([(lines.len(), None)]) {
        let lines = &lines[begin..end];
        let threads = lines.iter().filter_map(|line| THREAD.captures(line)?[1].parse::<usize>().ok()).max();
        // In `readwhilewriting` and similar benchmarks the background thread is not among `--threads`.
        let beside = usize::from(name.as_ref().is_some_and(|name| name.contains("while")));
        let words = [
            "db_bench".to_owned(),
            format!("--threads={}", threads.map_or(1, |highest| highest.saturating_add(1).saturating_sub(beside))),
            format!("--benchmarks={}", name.clone().unwrap_or_default()),
        ];
        sections.push(Section { name, words: words.into(), lines });
        begin = end;
    }
    sections
}

static YCSB_TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d):(\d{3}) (\d+) sec:").expect("the pattern is right")
});
static FIO_TIME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^\s*"timestamp_ms"\s*:\s*(\d+)"#).expect("the pattern is right"));

/// A time on the program's own clock, in milliseconds since 1970, and the elapsed time of the run, if the line contains
/// it.
fn timestamp_ms(line: &str) -> Option<(i64, Option<i64>)> {
    if let Some(found) = FIO_TIME.captures(line) {
        return Some((found[1].parse().ok()?, None));
    }
    let found = YCSB_TIME.captures(line)?;
    let time = NaiveDateTime::parse_from_str(&found[1], "%Y-%m-%d %H:%M:%S").ok()?;
    let elapsed_s: i64 = found[3].parse().ok()?;
    Some((time.and_utc().timestamp_millis() + found[2].parse::<i64>().ok()?, Some(elapsed_s.checked_mul(1000)?)))
}

/// The samples of a file so far.
#[derive(Default)]
struct OutputReader {
    run: SingleRun,
    samples: u64,
    /// The last time on the program's own clock.
    last_ms: Option<i64>,
    /// The lines with a time before that of a line before them.
    backward: Vec<LateLine>,
}

impl OutputReader {
    fn take(&mut self, section: &Section<'_>, parser: &mut dyn Parser) {
        let (begin_ns, before) = (self.run.end_ns, self.samples);
        for line in section.lines {
            self.run.has_ended |= line.starts_with("[OVERALL]");
            if let Some((now_ms, elapsed_ms)) = timestamp_ms(line) {
                self.set_clock(now_ms, elapsed_ms);
            }
            for report in parser.line(line).into_iter().flatten() {
                self.report(&report);
            }
        }
        let damaged = parser.damaged_reports();
        if damaged > 0 {
            let text = format!("reports of the program that are damaged or cut off, and left out: {damaged}");
            self.run.findings.push(findings::damaged(text));
        }
        if self.samples > before {
            self.run.has_ended |= section.name.is_some();
            self.run.phase(section.name.as_deref().unwrap_or("whole run"), begin_ns);
        }
    }

    fn set_clock(&mut self, now_ms: i64, elapsed_ms: Option<i64>) {
        if let Some(last_ms) = self.last_ms.filter(|last_ms| now_ms < *last_ms) {
            let t_ns = self.run.begin_unix_ms.map_or(0, |begin_ms| ns_of_ms(last_ms.saturating_sub(begin_ms)));
            self.backward.push(LateLine { t_ns, late_ms: last_ms.saturating_sub(now_ms) });
            return;
        }
        self.last_ms = Some(now_ms);
        if let (None, Some(elapsed_ms)) = (self.run.begin_unix_ms, elapsed_ms) {
            self.run.begin_unix_ms = Some(now_ms.saturating_sub(elapsed_ms));
        }
    }

    fn report(&mut self, report: &Report) {
        let reported_ns = report.length_s.map(|length_s| (length_s * 1e9) as u64);
        // fio's clock has the end of a document; the first document's length gives the start.
        if let (None, Some(now_ms), Some(reported_ns)) = (self.run.begin_unix_ms, self.last_ms, reported_ns) {
            self.run.begin_unix_ms = Some(now_ms.saturating_sub((reported_ns / 1_000_000) as i64));
        }
        let clock = self.run.begin_unix_ms.zip(self.last_ms);
        let clock_ns = clock.map(|(begin_ms, now_ms)| ns_of_ms(now_ms.saturating_sub(begin_ms)));
        let before_ns = self.run.end_ns;
        let end_ns = clock_ns.unwrap_or(before_ns.saturating_add(reported_ns.unwrap_or(0))).max(before_ns);
        let length_ns = reported_ns.unwrap_or(end_ns - before_ns);
        self.run.end_ns = end_ns;
        let length_s = length_ns as f64 / 1e9;
        if push(&mut self.run.table, &mut self.run.engine, FROM, end_ns, length_s, report) {
            self.samples += 1;
        }
        for (operation, counted) in &report.operations {
            if let Some(histogram) = &counted.latency {
                self.run.latency(operation, end_ns.saturating_sub(length_ns), end_ns, histogram.clone());
            }
        }
    }

    /// The run with its findings.
    fn finish(mut self, program: ParserName) -> SingleRun {
        let interval_s = self.run.table.usual_interval_s();
        self.run.findings.extend(findings::late_lines(&self.backward, interval_s, &self.run.phases));
        // fio's last document looks like any other.
        self.run.has_ended |= program == ParserName::Fio;
        if !self.run.has_ended {
            let text = "the final result is missing: the run or the file was cut short";
            self.run.findings.push(findings::cut_short(text.to_owned()));
        }
        self.run
    }
}

/// Adds a program's report on the `length_s` before `end_ns`: counts to the workload's `table`; means and quantiles,
/// which cannot be summed, to that of its `engine`. Returns whether there were counts.
pub(crate) fn push(
    table: &mut SampleTable,
    engine: &mut SampleTable,
    from: &str,
    end_ns: u64,
    length_s: f64,
    report: &Report,
) -> bool {
    if !report.state.is_empty() {
        engine.push(end_ns, from, report.state.iter().map(|(name, value)| (name.as_str(), unit_of(name), *value)));
    }
    if length_s == 0.0 || report.operations.is_empty() {
        return false;
    }
    let amount = |amount: Amount| match amount {
        Amount::Count(count) => count as f64,
        Amount::PerSecond(rate) => rate * length_s,
    };
    let mut row = vec![("length".to_owned(), "s", length_s)];
    for (operation, counted) in &report.operations {
        row.push((format!("{operation}.requests"), "", amount(counted.requests)));
        if let Some(bytes) = counted.bytes {
            row.push((format!("{operation}.bytes"), "B", amount(bytes)));
        }
    }
    table.push(end_ns, from, row.iter().map(|(name, unit, value)| (name.as_str(), *unit, *value)));
    true
}

/// The unit that the suffix of a name denotes.
fn unit_of(name: &str) -> &'static str {
    let units = [("_us", "µs"), ("_ms", "ms"), ("_ns", "ns"), ("_bytes", "B")];
    units.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}
