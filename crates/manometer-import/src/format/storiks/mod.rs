//! The logs of Storiks and of its predecessor `rocksdb_test` 1.x: one `.out` file per run, often compressed with xz.
//!
//! A primary (YCSB or `db_bench`) runs from the start; a script starts and changes the neighbours (`access_time3`), and
//! further instances of YCSB or `db_bench` may start later. The phases follow from the workloads' *reports*, not from the
//! script.

mod engine;
mod experiment;
mod flags;
mod host;
mod log;
mod neighbour;
mod parameters;
mod phases;
mod primary;
mod thread_counts;
mod workload_script;

use std::collections::BTreeMap;
use std::path::Path;

use manometer_measure::event::{Finding, RunStatus};
use manometer_measure::plan::{BetterDirection, Criterion, PhaseKind, Plan, PlannedWorkload, Role, Settings};
use manometer_workload::command::ParserName;
use manometer_workload::command::parser::{self, Parser};
use serde_json::{Map, Value, json};

use self::host::Host;
use self::log::{Task, TaskOutput, log_line, task_output};
use self::neighbour::Report;
use self::parameters::Parameters;
use self::phases::{Activity, Change, shortest_ns};
use self::primary::DbBenchReports;
use crate::findings::{self, LateLine};
use crate::import_format::{ImportFormat, read_each};
use crate::input::{Lines, file_stem, ns_of_ms};
use crate::{ImportError, ImportedPhase, ImportedRun, SampleTable, program_output};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "storiks",
    about: "Logs of Storiks 0.1 and of rocksdb_test 1.x (`.out`, also compressed).",
    read: |files| read_each(files, read),
};

/// Programs that write such logs, and the known versions.
const KNOWN: [(&str, &[&str]); 2] =
    [("rocksdb_test", &["1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "1.10", "1.11", "1.12"]), ("storiks", &["0.1"])];

/// Reads the log at `path`.
///
/// # Errors
/// The file cannot be read, or is no such log.
fn read(path: &Path) -> Result<ImportedRun, ImportError> {
    let mut lines = Lines::open(path)?;
    let mut log = Log::begin(path, &mut lines)?;
    while let Some(line) = lines.next()? {
        log.take(&line);
    }
    if let Some(cut) = lines.damage {
        log.findings.push(findings::damaged(format!("the file is damaged {cut}: the rest is missing")));
    }
    log.finish(path)
}

/// More tasks that access files than this are a mistake.
const TASKS_MAX: f64 = 1000.0;

fn check_tasks(parameters: &Parameters, path: &Path) -> Result<(), ImportError> {
    match parameters.number("num_at") {
        Some(tasks) if tasks > TASKS_MAX => {
            Err(ImportError::format(path, format!("`num_at` is more than {TASKS_MAX}: so many tasks cannot run")))
        }
        _ => Ok(()),
    }
}

/// Converts Storiks' parameter file at `path`, with the files it includes, to an experiment file.
///
/// # Errors
/// A file cannot be read, includes itself, or asks for more tasks than anybody runs.
pub fn experiment_of_flags(path: &Path) -> Result<String, ImportError> {
    let parameters = flags::read(path)?;
    check_tasks(&parameters, path)?;
    Ok(experiment::text(&parameters, &file_stem(path)))
}

/// The content of a log.
struct Log {
    program: String,
    version: String,
    parameters: Parameters,
    begin_ms: i64,
    last_ms: i64,
    /// Whether the program ended normally.
    has_ended: bool,
    /// The lines with a time before that of a line before them.
    backward: Vec<LateLine>,
    /// By task.
    workloads: BTreeMap<(String, usize), WorkloadLog>,
    host: Host,
    /// Facts that only some reports contain.
    facts: Map<String, Value>,
    /// The offset of the host's clock from UTC in milliseconds, if a report contains both.
    zone_ms: Option<i64>,
    findings: Vec<Finding>,
}

/// The lines of one workload.
#[derive(Default)]
struct WorkloadLog {
    table: SampleTable,
    last_ns: Option<u64>,
    /// The beginning of its first interval with operations, and the end of the last one.
    works_ns: Option<(u64, u64)>,
    changes: Vec<Change>,
    settings: Settings,
    waits: bool,
    /// The engine's numbers, and those of the program that are no counts.
    engine: SampleTable,
    /// What `db_bench` reported; it becomes rows of the table once the phases are known.
    db_bench: DbBenchReports,
    /// The parser of YCSB's lines.
    ycsb: Option<Box<dyn Parser>>,
}

impl Log {
    fn begin(path: &Path, lines: &mut Lines) -> Result<Self, ImportError> {
        let unknown = |seen: &str| {
            let seen: String = seen.chars().take(80).collect();
            let known = KNOWN.map(|(program, versions)| format!("{program} {}", versions.join(", "))).join("; ");
            ImportError::format(
                path,
                format!("no log of Storiks: it begins with `{seen}`, not with the version of one of {known}"),
            )
        };
        let first = lines.next()?.unwrap_or_default();
        let line = log_line(&first).ok_or_else(|| unknown(&first))?;
        let (program, version) = line.text.split_once(" version: ").ok_or_else(|| unknown(&first))?;
        let known = KNOWN.iter().find(|(known, _)| *known == program).ok_or_else(|| unknown(&first))?;
        let version = version.trim();
        let mut log = Self {
            program: program.to_owned(),
            version: version.to_owned(),
            parameters: Parameters::default(),
            begin_ms: line.local_ms,
            last_ms: line.local_ms,
            has_ended: false,
            backward: Vec::new(),
            workloads: BTreeMap::new(),
            host: Host::default(),
            facts: Map::new(),
            zone_ms: None,
            findings: Vec::new(),
        };
        if !known.1.contains(&version) {
            let seen = known.1.join(", ");
            let text = format!(
                "{program} {version} is newer than the known versions ({seen}), and was read as those: check that nothing is missing"
            );
            log.findings.push(findings::unknown_version(text));
        }
        Ok(log)
    }

    /// Nanoseconds since the start.
    fn t_ns(&self, local_ms: i64) -> u64 {
        ns_of_ms(local_ms - self.begin_ms)
    }

    fn take(&mut self, line: &str) {
        let Some(line) = log_line(line) else { return };
        if line.local_ms < self.last_ms {
            let late_ms = self.last_ms.saturating_sub(line.local_ms);
            self.backward.push(LateLine { t_ns: self.t_ns(self.last_ms), late_ms });
        }
        self.last_ms = self.last_ms.max(line.local_ms);
        if let Some(parameters) = line.text.strip_prefix("parameters: ") {
            self.parameters = Parameters::parse(parameters);
        } else if line.text.starts_with("exit(") {
            self.has_ended = true;
        } else if let Some((task, output)) = task_output(line.text) {
            // Time must not go back in a recording.
            self.take_task(self.last_ms, task, output);
        }
    }

    fn take_task(&mut self, local_ms: i64, task: Task<'_>, output: TaskOutput<'_>) {
        let t_ns = self.t_ns(local_ms);
        match (task.0, output) {
            ("access_time3", TaskOutput::Output(output)) => self.take_neighbour(t_ns, task, output),
            ("ycsb", TaskOutput::Output(output)) => {
                let interval_s = self.interval_s();
                self.workload_log(task).take_status(t_ns, interval_s, output);
            }
            ("ycsb", TaskOutput::Stats(json)) => {
                if let Some(report) = object(json).as_ref().and_then(|stats| stats.get("socket_report")) {
                    engine::push(&mut self.workload_log(task).engine, t_ns, report);
                }
            }
            ("db_bench", TaskOutput::Stats(json)) => {
                if let Some(stats) = object(json) {
                    let interval_s = self.interval_s();
                    let workload = self.workload_log(task);
                    let length_s = workload.length_s(t_ns, interval_s);
                    workload.has_worked(t_ns, length_s);
                    workload.db_bench.take(t_ns, length_s, stats);
                }
            }
            ("db_bench", TaskOutput::Output(output)) => self.take_db_bench(t_ns, task, output),
            (source, TaskOutput::Stats(json)) => {
                let Some(stats) = object(json) else { return };
                match source {
                    "iostat" => self.host.iostat(t_ns, &stats),
                    "systemstats" => self.host.systemstats(t_ns, &stats),
                    "performancemonitor" => self.take_report(t_ns, &stats),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn workload_log(&mut self, task: Task<'_>) -> &mut WorkloadLog {
        self.workloads.entry((task.0.to_owned(), task.1)).or_default()
    }

    fn interval_s(&self) -> f64 {
        self.parameters.number("stats_interval").unwrap_or(5.0)
    }

    fn take_db_bench(&mut self, t_ns: u64, task: Task<'_>, output: &str) {
        let workload = self.workload_log(task);
        match workload_script::change(output) {
            Some((name, value)) => workload.set(t_ns, name, value),
            None => workload.db_bench.threads.take(t_ns, output),
        }
    }

    fn take_neighbour(&mut self, t_ns: u64, task: Task<'_>, output: &str) {
        let interval_s = self.interval_s();
        let workload = self.workload_log(task);
        match neighbour::report(output) {
            Some(Report::Set("wait", value)) => workload.wait(t_ns, value != "false"),
            Some(Report::Set(name, value)) => {
                if let Some((name, value)) = neighbour::setting(name, value) {
                    workload.set(t_ns, name, value);
                }
            }
            Some(Report::Stats(stats)) => {
                let (settings, waits) = neighbour::reported_settings(&stats);
                workload.wait(t_ns, waits);
                settings.into_iter().for_each(|(name, value)| workload.set(t_ns, &name, value));
                let length_s = workload.length_s(t_ns, interval_s);
                neighbour::push(&mut workload.table, t_ns, length_s, &stats);
            }
            None => {}
        }
    }

    fn take_report(&mut self, t_ns: u64, report: &Map<String, Value>) {
        if self.facts.is_empty() {
            self.facts = report.clone();
            let utc_s = report.get("time_system_s").and_then(Value::as_i64);
            let local = report.get("time_system").and_then(Value::as_str);
            let local = local.and_then(|time| log_line(&format!("[{time}.0] [info] x")).map(|line| line.local_ms));
            self.zone_ms =
                utc_s.zip(local).map(|(utc_s, local_ms)| local_ms.saturating_sub(utc_s.saturating_mul(1000)));
        }
        let workload = |container: &str| {
            let (kind, number) = container.rsplit_once('_')?;
            let task = match kind {
                "ycsb" => "ycsb",
                "at3" => "access_time3",
                _ => return None,
            };
            Some(workload_name(task, number.parse().ok()?))
        };
        self.host.performance_monitor(t_ns, report, workload);
    }
}

/// The name of a task's workload: the first primary is `primary`, neighbours are numbered from 1.
fn workload_name(task: &str, number: usize) -> String {
    match (task, number) {
        ("access_time3", number) => format!("n{}", number.saturating_add(1)),
        (_, 0) => "primary".to_owned(),
        (program, number) => format!("{program}{}", number.saturating_add(1)),
    }
}

fn is_primary(task: &str, number: usize) -> bool {
    task != "access_time3" && number == 0
}

fn object(json: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(json) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

impl WorkloadLog {
    fn is_empty(&self) -> bool {
        self.table.ends_ns().next().is_none() && self.db_bench.is_empty()
    }

    /// Adds a line printed by YCSB.
    fn take_status(&mut self, t_ns: u64, usual_s: f64, line: &str) {
        let new = || parser::new(ParserName::Ycsb, &[], &BTreeMap::new()).expect("its parser needs nothing");
        let reports = self.ycsb.get_or_insert_with(new).line(line);
        for report in reports.into_iter().flatten() {
            let length_s = self.length_s(t_ns, usual_s);
            let (table, engine) = (&mut self.table, &mut self.engine);
            if program_output::push(table, engine, "YCSB's status line", t_ns, length_s, &report) {
                self.has_worked(t_ns, length_s);
            }
        }
    }

    /// Notes that it worked in the `length_s` before `t_ns`.
    fn has_worked(&mut self, t_ns: u64, length_s: f64) {
        let begin_ns = t_ns.saturating_sub((length_s * 1e9).round() as u64);
        self.works_ns = Some((self.works_ns.map_or(begin_ns, |(begin_ns, _)| begin_ns), t_ns));
    }

    /// The time since its last report; for the first report the usual interval.
    fn length_s(&mut self, t_ns: u64, usual_s: f64) -> f64 {
        let last_ns = self.last_ns.replace(t_ns);
        last_ns.map_or(usual_s, |last_ns| t_ns.saturating_sub(last_ns) as f64 / 1e9)
    }

    fn set(&mut self, t_ns: u64, name: &str, value: Value) {
        if self.settings.get(name) != Some(&value) {
            self.settings.insert(name.to_owned(), value);
            self.changes.push(Change { t_ns, settings: self.settings.clone(), waits: self.waits });
        }
    }

    fn wait(&mut self, t_ns: u64, waits: bool) {
        if self.waits != waits || self.changes.is_empty() {
            self.waits = waits;
            self.changes.push(Change { t_ns, settings: self.settings.clone(), waits });
        }
    }
}

impl Log {
    /// When each workload works in a run that ends at `end_ns`: the primary first.
    fn activities(&self, end_ns: u64) -> Vec<Activity> {
        let shortest_ns = shortest_ns(self.interval_s());
        let primary = self.workloads.iter().find(|((task, number), _)| is_primary(task, *number));
        let first_ns = primary.and_then(|(_, workload)| workload.works_ns).map_or(0, |(begin_ns, _)| begin_ns);
        let mut activities: Vec<Activity> = Vec::new();
        for ((task, number), workload) in &self.workloads {
            let is_primary = is_primary(task, *number);
            let (begin_ns, end_ns) = match (task.as_str(), workload.works_ns) {
                ("access_time3", _) => (workload.changes.first().map_or(u64::MAX, |change| change.t_ns), u64::MAX),
                _ if is_primary => (0, u64::MAX),
                (_, None) => (u64::MAX, u64::MAX),
                // What starts with the primary has worked since the start, what works at the end has worked until then.
                (_, Some((begin_ns, last_ns))) => (
                    if begin_ns < first_ns.saturating_add(shortest_ns) { 0 } else { begin_ns },
                    if end_ns.saturating_sub(last_ns) < shortest_ns { u64::MAX } else { last_ns },
                ),
            };
            let (name, changes) = (workload_name(task, *number), workload.changes.clone());
            activities.push(Activity { name, is_primary, begin_ns, end_ns, changes });
        }
        activities.sort_by_key(|activity| !activity.is_primary);
        activities
    }

    /// The neighbours that run in a phase without a whole interval of their reports, each with the phase.
    fn unsampled<'a>(&self, phases: &'a [ImportedPhase]) -> Vec<(String, &'a str)> {
        let neighbours = self.workloads.iter().filter(|((task, number), _)| !is_primary(task, *number));
        let neighbours: Vec<_> = neighbours.map(|((task, number), log)| (workload_name(task, *number), log)).collect();
        let mut unsampled = Vec::new();
        for imported in phases.iter().filter(|imported| imported.phase.kind != PhaseKind::Warmup) {
            for (name, log) in neighbours.iter().filter(|(name, _)| imported.phase.running.contains(name)) {
                if !log.table.has_interval_within(imported.begin_ns, imported.end_ns) {
                    unsampled.push((name.clone(), imported.phase.id.as_str()));
                }
            }
        }
        unsampled
    }

    fn finish(mut self, path: &Path) -> Result<ImportedRun, ImportError> {
        if self.workloads.values().all(WorkloadLog::is_empty) {
            return Err(ImportError::format(path, "the log holds no statistics of any workload"));
        }
        check_tasks(&self.parameters, path)?;
        let (end_ns, interval_s) = (self.t_ns(self.last_ms), self.interval_s());
        let warm_up_ns = (self.parameters.number("warm_period").unwrap_or(0.0) * 60e9) as u64;
        let phases = phases::phases(&self.activities(end_ns), warm_up_ns, end_ns, interval_s);
        self.findings.extend(findings::late_lines(&self.backward, interval_s, &phases));
        if !self.has_ended {
            let text = "the log has no end: the run was cut short, or the file was";
            self.findings.push(findings::cut_short(text.to_owned()));
        }
        let boundaries_ns: Vec<u64> = phases.iter().map(|phase| phase.begin_ns).collect();
        for workload in self.workloads.values_mut() {
            workload.db_bench.push(&mut workload.table, &boundaries_ns);
        }
        let unsampled = self.unsampled(&phases);
        let unsampled: Vec<_> = unsampled.iter().map(|(name, phase)| (name.as_str(), *phase)).collect();
        let unsampled = findings::without_samples(&unsampled);
        self.findings.extend(unsampled);
        let workloads = self.workloads.keys().map(|(task, number)| {
            let is_neighbour = task == "access_time3";
            PlannedWorkload {
                name: workload_name(task, *number),
                role: if is_primary(task, *number) { Role::Primary } else { Role::Neighbour },
                kind: if is_neighbour { "io" } else { "kv" }.to_owned(),
                unit: if is_neighbour { "MiB/s" } else { "ops/s" }.to_owned(),
            }
        });
        let plan = Plan {
            experiment: file_stem(path),
            criterion: Criterion { metric: "throughput".into(), unit: "ops/s".into(), better: BetterDirection::Higher },
            interval_s,
            seed: 0,
            sweep: Settings::new(),
            reference: false,
            goal: None,
            interleaved: None,
            workloads: workloads.collect(),
            phases: Vec::new(),
        };
        let mut series = std::mem::take(&mut self.host.series);
        for ((task, number), workload) in &mut self.workloads {
            let name = workload_name(task, *number);
            if workload.engine.ends_ns().next().is_some() {
                series.insert(format!("{name}.engine"), std::mem::take(&mut workload.engine));
            }
            series.insert(name, std::mem::take(&mut workload.table));
        }
        let unix_ms = self.begin_ms.saturating_sub(self.zone_ms.unwrap_or(0));
        Ok(ImportedRun {
            constant: experiment::settings(&self.parameters),
            experiment: experiment::text(&self.parameters, &file_stem(path)),
            environment: self.environment(path),
            plan,
            phases,
            series,
            latencies: Vec::new(),
            begin_unix_ns: ns_of_ms(unix_ms),
            end_ns,
            status: Some(if self.has_ended { RunStatus::Complete } else { RunStatus::Interrupted }),
            findings: self.findings,
        })
    }

    /// The known facts about the host, and the source of the recording.
    fn environment(&self, path: &Path) -> Value {
        let fact = |path: &[&str]| {
            let (first, rest) = path.split_first()?;
            rest.iter().try_fold(self.facts.get(*first)?, |value, name| value.get(*name))
        };
        let kernel = fact(&["system_info", "kernel-release"]).and_then(Value::as_str).map(str::to_owned);
        let kernel = kernel.or_else(|| fact(&["system_info"])?.as_str()?.split(' ').nth(2).map(str::to_owned));
        let clock = match self.zone_ms {
            Some(zone_ms) => json!({ "zone_s": zone_ms / 1000, "uncertainty_s": 1.0 }),
            None => {
                json!({ "zone_s": null, "uncertainty_s": 14.0 * 3600.0, "reason": "the log's times are the host's own, without their zone" })
            }
        };
        let file_system = fact(&["fs"]).and_then(Value::as_object).and_then(|systems| systems.values().next());
        json!({
            "imported": {
                "from": path.file_name().map(|name| name.to_string_lossy()),
                "program": self.program,
                "version": self.version,
                "parameters": self.parameters.all().collect::<BTreeMap<_, _>>(),
                "clock": clock,
            },
            "host": { "kernel": kernel, "cores": fact(&["cpu", "count"]) },
            "device": {
                "name": fact(&["arg_device"]).cloned().or_else(|| self.parameters.get("io_device").map(Value::from)),
                "model": fact(&["smart", "model"]),
                "firmware": fact(&["smart", "firmware"]),
                "scheduler": fact(&["disk", "scheduler"]),
            },
            "file_system": file_system.map(|system| json!({ "type": system.get("fstype"), "options": system.get("opts") })),
        })
    }
}
