//! The recording of a run: a folder, written so that `kill -9` loses at most its last second, and read up to any damage.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::clock::WallAnchor;
use crate::event::{Event, EventLine, RunStatus};
use crate::histogram::LatencyHistogram;
use crate::latency_log::{LatencyLog, LatencyLogWriter};
use crate::plan::Plan;
use crate::samples::{Column, SampleWriter, Samples, SamplesError};
use crate::{event_log, plan_check, regular_file};

/// An error of writing or reading a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A file error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A sample series could not be written or read.
    #[error("{}: {source}", path.display())]
    Samples {
        /// The file.
        path: PathBuf,
        /// The error.
        source: SamplesError,
    },
    /// The folder is not empty.
    #[error("{} exists and is not empty: choose another directory for the recording", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The folder is not a recording.
    #[error("{} is not a recording: {reason}", path.display())]
    NotARecording {
        /// The folder.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// It has a later format than this version reads.
    #[error(
        "{} is a recording of format {format}{}; this version reads formats up to {FORMAT}: use a later version",
        path.display(),
        writer.as_ref().map_or(String::new(), |writer| format!(", written by Manometer {writer}"))
    )]
    Newer {
        /// The folder.
        path: PathBuf,
        /// Its format.
        format: u64,
        /// The version that wrote it, if known.
        writer: Option<String>,
    },
}

/// The latest version of the recording format that is read. It grows when something that earlier versions read changes its
/// meaning, not when something is added.
const FORMAT: u64 = 2;

/// The version of the recording format, in `plan.json`: 2 where phases are made of blocks, and 1, which earlier versions
/// read too, where they are not.
fn format_of(plan: &Plan) -> u64 {
    if plan.interleaved.is_some() { 2 } else { 1 }
}

/// The largest of the files `plan.json`, `environment.json` and `experiment.toml` that is read.
const MOST_DOCUMENT_BYTES: u64 = 64 << 20;

/// Former names of sample series and today's: a recording answers to both.
pub(crate) const RENAMED_SERIES: [(&str, &str); 1] = [("others", "foreign_processes")];

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> RecordingError {
    let path = path.to_owned();
    move |source| RecordingError::Io { path, source }
}

fn samples_error(path: &Path) -> impl FnOnce(SamplesError) -> RecordingError {
    let path = path.to_owned();
    move |source| RecordingError::Samples { path, source }
}

/// Writes a recording.
pub struct RecordingWriter {
    dir: PathBuf,
    start: WallAnchor,
    events: File,
    samples: HashMap<String, SampleWriter>,
    latencies: HashMap<String, LatencyLogWriter>,
}

/// Creates the folder `dir` for a recording, or checks that it is empty.
///
/// # Errors
/// The folder is not empty, or cannot be created.
pub fn check_room(dir: &Path) -> Result<(), RecordingError> {
    fs::create_dir_all(dir).map_err(io_error(dir))?;
    match fs::read_dir(dir).map_err(io_error(dir))?.next() {
        Some(_) => Err(RecordingError::NotEmpty { path: dir.to_owned() }),
        None => Ok(()),
    }
}

impl RecordingWriter {
    /// Creates a recording in the folder `dir`, which is created, or must be empty.
    ///
    /// # Errors
    /// The folder is not empty, or cannot be written.
    pub fn create(
        dir: &Path,
        start: WallAnchor,
        experiment: &str,
        plan: &Plan,
        environment: &Value,
    ) -> Result<Self, RecordingError> {
        check_room(dir)?;
        for folder in ["samples", "latency"] {
            let folder = dir.join(folder);
            fs::create_dir(&folder).map_err(io_error(&folder))?;
        }
        write_file(&dir.join("experiment.toml"), experiment.as_bytes())?;
        write_file(&dir.join("plan.json"), &pretty(&PlanFile { format: format_of(plan), plan }))?;
        let events_path = dir.join("events.jsonl");
        let events = File::create_new(&events_path).map_err(io_error(&events_path))?;
        let mut writer =
            Self { dir: dir.to_owned(), start, events, samples: HashMap::new(), latencies: HashMap::new() };
        writer.environment(environment)?;
        writer.event(start.monotonic_ns, Event::Started)?;
        Ok(writer)
    }

    /// Writes the environment, replacing an earlier one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn environment(&self, environment: &Value) -> Result<(), RecordingError> {
        let mut environment = environment.clone();
        environment["clock"] = serde_json::json!(self.start);
        environment["manometer"] = Value::from(env!("CARGO_PKG_VERSION"));
        write_file(&self.dir.join("environment.json"), &pretty(&environment))
    }

    /// The recording's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The start of the recording.
    pub fn start(&self) -> WallAnchor {
        self.start
    }

    /// Writes the `event` that happened at `t_ns`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn event(&mut self, t_ns: u64, event: Event) -> Result<(), RecordingError> {
        let mut line = serde_json::to_vec(&EventLine { t_ns, event }).expect("an event is plain data");
        line.push(b'\n');
        self.events.write_all(&line).map_err(io_error(&self.dir.join("events.jsonl")))
    }

    /// Creates the sample series `source`.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn begin_series(&mut self, source: &str, columns: &[Column]) -> Result<(), RecordingError> {
        let path = self.dir.join("samples").join(format!("{source}.arrows"));
        let writer = SampleWriter::create(&path, columns).map_err(samples_error(&path))?;
        self.samples.insert(source.to_owned(), writer);
        Ok(())
    }

    /// Whether the series `source` was created.
    pub fn has_series(&self, source: &str) -> bool {
        self.samples.contains_key(source)
    }

    /// Appends a row to the series `source`.
    ///
    /// # Errors
    /// The series was not created, the row does not match its columns, or the file cannot be written.
    pub fn sample(&mut self, source: &str, t_ns: u64, values: &[Option<f64>]) -> Result<(), RecordingError> {
        let path = self.dir.join("samples").join(format!("{source}.arrows"));
        let Some(writer) = self.samples.get_mut(source) else {
            return Err(samples_error(&path)(SamplesError::Format("the series was not created".to_owned())));
        };
        writer.append(t_ns, values).map_err(samples_error(&path))
    }

    /// Appends the latencies of `operation` of `workload` from `begin_ns` to `end_ns`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn latency(
        &mut self,
        workload: &str,
        operation: &str,
        begin_ns: u64,
        end_ns: u64,
        histogram: &LatencyHistogram,
    ) -> Result<(), RecordingError> {
        let path = self.dir.join("latency").join(format!("{workload}.hlog"));
        if !self.latencies.contains_key(workload) {
            let writer = LatencyLogWriter::create(&path, self.start).map_err(io_error(&path))?;
            self.latencies.insert(workload.to_owned(), writer);
        }
        let writer = self.latencies.get_mut(workload).expect("inserted above");
        writer.append(operation, begin_ns, end_ns, histogram).map_err(io_error(&path))
    }

    /// Ends the recording: writes its status and converts every stream to Parquet.
    ///
    /// # Errors
    /// A file cannot be written; the streams that are not converted yet stay.
    pub fn finish(mut self, t_ns: u64, status: RunStatus) -> Result<(), RecordingError> {
        self.event(t_ns, Event::Finished { status })?;
        for (source, writer) in self.samples.drain() {
            let stream = self.dir.join("samples").join(format!("{source}.arrows"));
            let parquet = stream.with_extension("parquet");
            writer.finish().map_err(samples_error(&stream))?;
            let samples = Samples::read_stream(&stream).map_err(samples_error(&stream))?;
            samples.write_parquet(&parquet).map_err(samples_error(&parquet))?;
            fs::remove_file(&stream).map_err(io_error(&stream))?;
        }
        Ok(())
    }
}

/// Writes a file atomically: under another name first.
///
/// # Errors
/// The file cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), RecordingError> {
    let part = path.with_extension("part");
    let mut file = File::create(&part).map_err(io_error(&part))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io_error(&part))?;
    fs::rename(&part, path).map_err(io_error(path))
}

/// The content of `plan.json`.
#[derive(serde::Serialize)]
struct PlanFile<'a> {
    format: u64,
    #[serde(flatten)]
    plan: &'a Plan,
}

fn pretty(value: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("plain data");
    bytes.push(b'\n');
    bytes
}

/// A recording, up to any damage.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Its folder.
    pub dir: PathBuf,
    /// The experiment file exactly as run.
    pub experiment: String,
    /// The plan of the run.
    pub plan: Plan,
    /// The host.
    pub environment: Value,
    /// Its start.
    pub start: WallAnchor,
    /// The events, in order.
    pub events: Vec<EventLine>,
    /// The parts that could not be read, for people; empty for an undamaged recording.
    pub damage: Vec<String>,
}

impl Recording {
    /// Opens the recording in the folder `dir`.
    ///
    /// # Errors
    /// The plan cannot be read: without it the rest has no meaning.
    pub fn open(dir: &Path) -> Result<Self, RecordingError> {
        let not_a_recording = |reason: String| RecordingError::NotARecording { path: dir.to_owned(), reason };
        let not_a_plan = |error: &dyn std::fmt::Display| not_a_recording(format!("plan.json: {error}"));
        let plan = read_document(&dir.join("plan.json")).map_err(|error| not_a_plan(&error))?;
        let plan: Value = serde_json::from_slice(&plan).map_err(|error| not_a_plan(&error))?;
        let mut damage = Vec::new();
        let environment = read_environment(&dir.join("environment.json"), &mut damage);
        match (&plan["format"], plan["format"].as_u64()) {
            (_, Some(format)) if format > FORMAT => {
                let writer = environment["manometer"].as_str().map(str::to_owned);
                return Err(RecordingError::Newer { path: dir.to_owned(), format, writer });
            }
            // The oldest recordings have no format.
            (Value::Null, _) | (_, Some(1..)) => {}
            (unknown, _) => return Err(not_a_plan(&format!("unknown format {unknown}"))),
        }
        let plan: Plan = serde_json::from_value(plan).map_err(|error| not_a_plan(&error))?;
        plan_check::check(&plan).map_err(|error| not_a_plan(&error))?;
        let experiment = read_document(&dir.join("experiment.toml"))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_else(|error| {
                damage.push(format!("experiment.toml: {error}"));
                String::new()
            });
        let events = event_log::read(&dir.join("events.jsonl"), &mut damage);
        let start = serde_json::from_value(environment["clock"].clone())
            .unwrap_or_else(|_| WallAnchor { monotonic_ns: events.first().map_or(0, |line| line.t_ns), unix_ns: 0 });
        let mut recording = Self { dir: dir.to_owned(), experiment, plan, environment, start, events, damage };
        if recording.status().is_none() && recording.has_parquet() {
            recording.damage.push("events.jsonl: the end of the run is missing".to_owned());
        }
        Ok(recording)
    }

    /// Whether a series is in its final form, which it has only after the last event was written.
    fn has_parquet(&self) -> bool {
        let Ok(entries) = fs::read_dir(self.dir.join("samples")) else { return false };
        entries.flatten().any(|entry| entry.path().extension().is_some_and(|end| end == "parquet"))
    }

    /// How the run ended; `None` if it was cut short.
    pub fn status(&self) -> Option<RunStatus> {
        self.events.iter().rev().find_map(|line| match line.event {
            Event::Finished { status } => Some(status),
            _ => None,
        })
    }

    /// The names of the sample series, sorted.
    pub fn series(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.dir.join("samples")) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "parquet" || end == "arrows"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The sample series `source`: its stream up to any damage, else its Parquet file.
    ///
    /// # Errors
    /// There is no such series, or not even its header can be read.
    pub fn samples(&self, source: &str) -> Result<Samples, RecordingError> {
        let stream = self.dir.join("samples").join(format!("{}.arrows", self.recorded_name(source)));
        let parquet = stream.with_extension("parquet");
        // The stream is removed only after its Parquet file is complete: if both exist, the stream counts.
        if stream.exists() {
            return Samples::read_stream(&stream).map_err(samples_error(&stream));
        }
        Samples::read_parquet(&parquet).map_err(samples_error(&parquet))
    }

    /// The name under which the series `source` was recorded: its own, or the other one of a series that was renamed.
    fn recorded_name<'a>(&self, source: &'a str) -> &'a str {
        let is_recorded = |name: &str| {
            let stream = self.dir.join("samples").join(format!("{name}.arrows"));
            stream.exists() || stream.with_extension("parquet").exists()
        };
        let names = RENAMED_SERIES.into_iter().flat_map(|(former, name)| [(former, name), (name, former)]);
        let other = names.filter(|(name, _)| *name == source).map(|(_, other)| other).find(|other| is_recorded(other));
        other.filter(|_| !is_recorded(source)).unwrap_or(source)
    }

    /// The latencies of `workload`, up to any damage; empty for a workload without answers.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn latency(&self, workload: &str) -> Result<LatencyLog, RecordingError> {
        let path = self.dir.join("latency").join(format!("{workload}.hlog"));
        if !path.exists() {
            return Ok(LatencyLog::default());
        }
        LatencyLog::read(&path).map_err(io_error(&path))
    }

    /// A time of the recording's clock in seconds since the start of the recording.
    pub fn seconds(&self, t_ns: u64) -> f64 {
        (t_ns as f64 - self.start.monotonic_ns as f64) / 1e9
    }
}

fn read_document(path: &Path) -> io::Result<Vec<u8>> {
    regular_file::read(path, MOST_DOCUMENT_BYTES)
}

fn read_environment(path: &Path, damage: &mut Vec<String>) -> Value {
    let read = read_document(path).map_err(|error| error.to_string());
    let parsed = read.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
    parsed.unwrap_or_else(|error| {
        damage.push(format!("environment.json: {error}"));
        Value::Null
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BetterDirection, Criterion, InterleavedRounds, Phase, PhaseKind, PlannedWorkload, Role};
    use proptest::prelude::*;

    const START: WallAnchor = WallAnchor { monotonic_ns: 7_000_000_000, unix_ns: 1_700_000_000_000_000_000 };

    fn plan() -> Plan {
        Plan {
            experiment: "a test".to_owned(),
            criterion: Criterion { metric: "throughput".into(), unit: "ops/s".into(), better: BetterDirection::Higher },
            interval_s: 1.0,
            seed: 1,
            sweep: Default::default(),
            reference: false,
            goal: None,
            interleaved: None,
            workloads: vec![PlannedWorkload {
                name: "primary".into(),
                role: Role::Primary,
                kind: "kv".into(),
                unit: "ops/s".into(),
            }],
            phases: vec![Phase {
                id: "w0".into(),
                label: "no neighbour".into(),
                kind: PhaseKind::Baseline,
                duration_s: 3.0,
                settle_s: 0.0,
                running: vec!["primary".into()],
                settings: Default::default(),
            }],
        }
    }

    fn record(dir: &Path) -> RecordingWriter {
        let environment = serde_json::json!({"host": {"kernel": "6.1"}});
        let mut writer = RecordingWriter::create(dir, START, "name = \"a test\"\n", &plan(), &environment).unwrap();
        writer.event(8_000_000_000, Event::PhaseStarted { phase: "w0".into() }).unwrap();
        writer.begin_series("primary", &[Column::new("read.operations", "")]).unwrap();
        for second in 8..11 {
            let t_ns = second * 1_000_000_000;
            writer.sample("primary", t_ns, &[Some(100.0)]).unwrap();
            let mut histogram = LatencyHistogram::new();
            histogram.record(1_000);
            writer.latency("primary", "read", t_ns - 1_000_000_000, t_ns, &histogram).unwrap();
        }
        writer.event(11_000_000_000, Event::PhaseEnded { phase: "w0".into() }).unwrap();
        writer
    }

    #[test]
    fn a_finished_recording_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path()).finish(12_000_000_000, RunStatus::Complete).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        assert_eq!(recording.status(), Some(RunStatus::Complete));
        assert_eq!(recording.plan, plan());
        assert_eq!(recording.start, START);
        assert_eq!(recording.series(), ["primary"]);
        assert_eq!(recording.samples("primary").unwrap().t_ns.len(), 3);
        assert_eq!(recording.latency("primary").unwrap().intervals.len(), 3);
        assert_eq!(recording.seconds(8_500_000_000), 1.5);
        assert!(recording.damage.is_empty());
        assert!(!dir.path().join("samples/primary.arrows").exists());
    }

    #[test]
    fn a_renamed_series_is_read_under_either_name() {
        for recorded in ["others", "foreign_processes"] {
            let dir = tempfile::tempdir().unwrap();
            let mut writer = RecordingWriter::create(dir.path(), START, "", &plan(), &Value::Null).unwrap();
            writer.begin_series(recorded, &[Column::new("read_bytes", "B/s")]).unwrap();
            writer.sample(recorded, 8_000_000_000, &[Some(1.0)]).unwrap();
            writer.finish(9_000_000_000, RunStatus::Complete).unwrap();
            let recording = Recording::open(dir.path()).unwrap();
            for name in ["others", "foreign_processes"] {
                assert_eq!(recording.samples(name).unwrap().t_ns, [8_000_000_000], "{recorded} read as {name}");
            }
            assert!(recording.samples("elsewhere").is_err());
        }
    }

    #[test]
    fn a_killed_recording_keeps_every_interval_it_wrote() {
        let dir = tempfile::tempdir().unwrap();
        std::mem::forget(record(dir.path()));
        let recording = Recording::open(dir.path()).unwrap();
        assert_eq!(recording.status(), None);
        assert_eq!(recording.samples("primary").unwrap().t_ns.len(), 3);
        assert_eq!(recording.latency("primary").unwrap().intervals.len(), 3);
        assert_eq!(recording.events.len(), 3);
    }

    #[test]
    fn events_without_their_end_are_damage_after_a_clean_end() {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path()).finish(12_000_000_000, RunStatus::Complete).unwrap();
        let path = dir.path().join("events.jsonl");
        let events = fs::read_to_string(&path).unwrap();
        for cut in [events.len() - 10, events.find("{\"t_ns\":11").unwrap()] {
            fs::write(&path, &events[..cut]).unwrap();
            let damage = Recording::open(dir.path()).unwrap().damage;
            assert_eq!(damage, ["events.jsonl: the end of the run is missing"]);
        }
    }

    #[test]
    fn a_recording_of_an_unknown_format_or_an_impossible_plan_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        RecordingWriter::create(dir.path(), START, "", &plan(), &Value::Null).unwrap();
        let path = dir.path().join("plan.json");
        let plan = fs::read_to_string(&path).unwrap();
        let refused = |from: &str, to: &str| {
            assert!(plan.contains(from), "{plan}");
            fs::write(&path, plan.replace(from, to)).unwrap();
            Recording::open(dir.path()).unwrap_err().to_string()
        };
        for format in ["\"one\"", "0", "-1", "1.5"] {
            let error = refused("\"format\": 1", &format!("\"format\": {format}"));
            assert!(error.contains("unknown format"), "{error}");
        }
        let error = refused("\"duration_s\": 3.0", "\"duration_s\": -1");
        assert!(error.contains("plan.json: phase `w0` has a `duration_s` of -1"), "{error}");
    }

    #[test]
    fn a_recording_of_a_later_format_is_named() {
        let dir = tempfile::tempdir().unwrap();
        RecordingWriter::create(dir.path(), START, "", &plan(), &Value::Null).unwrap();
        let change = |name: &str, key: &str, value: Value| {
            let path = dir.path().join(name);
            let mut document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            assert!(document[key] != value);
            document[key] = value;
            fs::write(&path, document.to_string()).unwrap();
        };
        change("plan.json", "format", Value::from(7));
        change("plan.json", "phases", Value::from("in another form"));
        change("environment.json", "manometer", Value::from("9.2.0"));
        let error = Recording::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("format 7") && error.contains("Manometer 9.2.0"), "{error}");
    }

    #[test]
    fn only_a_recording_with_blocks_has_a_format_that_earlier_versions_refuse() {
        let format = |plan: &Plan| {
            let dir = tempfile::tempdir().unwrap();
            RecordingWriter::create(dir.path(), START, "", plan, &Value::Null).unwrap();
            assert_eq!(Recording::open(dir.path()).unwrap().plan, *plan);
            let written: Value = serde_json::from_slice(&fs::read(dir.path().join("plan.json")).unwrap()).unwrap();
            written["format"].as_u64().unwrap()
        };
        let orders = vec![vec!["w0".to_owned()]];
        let rounds = InterleavedRounds { rounds: 1, block_s: 1.4, washout_s: 0.4, orders };
        assert_eq!([format(&plan()), format(&Plan { interleaved: Some(rounds), ..plan() })], [1, 2]);
    }

    #[test]
    fn a_folder_in_use_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.pdf"), "years of work").unwrap();
        let error = RecordingWriter::create(dir.path(), START, "", &plan(), &Value::Null).err().unwrap();
        assert!(matches!(error, RecordingError::NotEmpty { .. }), "{error}");
    }

    fn files(dir: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
        }
        found.sort();
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_recording_with_any_file_cut_anywhere_never_panics(
            which in any::<prop::sample::Index>(), at in 0.0..1.0f64, finished in any::<bool>()
        ) {
            let dir = tempfile::tempdir().unwrap();
            let writer = record(dir.path());
            if finished {
                writer.finish(12_000_000_000, RunStatus::Complete).unwrap();
            } else {
                drop(writer);
            }
            let files = files(dir.path());
            let path = which.get(&files);
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..(bytes.len() as f64 * at) as usize]).unwrap();
            if let Ok(recording) = Recording::open(dir.path()) {
                let _ = recording.status();
                for source in recording.series() {
                    let _ = recording.samples(&source);
                }
                let _ = recording.latency("primary");
            }
        }
    }
}
