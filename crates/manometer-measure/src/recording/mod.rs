//! The recording of a run: a folder, written so that `kill -9` loses at most its last second, and read up to any damage.

mod error;
mod file_sums;
mod out_directory;
mod writer;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use self::error::RecordingError;
use self::error::{FORMAT, io_error, samples_error};
use self::file_sums::FileSums;
pub use self::out_directory::OutDirectory;
pub use self::writer::{RecordingWriter, write_document, write_file};
use self::writer::{latency_name, parquet_name, stream_name};
use crate::clock::WallAnchor;
use crate::directory::Directory;
use crate::event::{Event, EventLine, RunStatus};
use crate::event_log::EventLog;
use crate::latency_log::LatencyLog;
use crate::plan::Plan;
use crate::samples::{Samples, SamplesError, sums_name};
use crate::{event_log, plan_check};

/// The largest of the files `plan.json`, `environment.json` and `experiment.toml` that is read.
const MOST_DOCUMENT_BYTES: u64 = 64 << 20;

/// The files that [`Recording::open`] reads, and checks.
const CHECKED_AT_OPENING: [&str; 4] = ["plan.json", "environment.json", "experiment.toml", event_log::FILE];

/// Former names of sample series and today's: a recording answers to both.
pub(crate) const RENAMED_SERIES: [(&str, &str); 1] = [("others", "foreign_processes")];

/// A recording, up to any damage.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Its folder.
    pub dir: PathBuf,
    place: Place,
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
    /// Whether events have checksums, as everything else then has.
    has_sums: bool,
}

/// Where the folder of a recording is found. That of a set is opened anew for each file: thousands may be open at once.
#[derive(Debug, Clone)]
enum Place {
    /// As its user has named it.
    Named(PathBuf),
    /// A directory held open.
    Held(Directory),
    /// Below a directory held open, behind no link.
    Below(Directory, PathBuf),
}

impl Place {
    fn path(&self) -> PathBuf {
        match self {
            Self::Named(path) => path.clone(),
            Self::Held(directory) => directory.path().to_owned(),
            Self::Below(directory, name) => directory.path().join(name),
        }
    }

    fn open(&self) -> io::Result<Directory> {
        match self {
            Self::Named(path) => Directory::open(path),
            Self::Held(directory) => Ok(directory.clone()),
            Self::Below(directory, name) => directory.directory(name),
        }
    }
}

impl Recording {
    /// Opens the recording in the folder `dir`.
    ///
    /// # Errors
    /// The plan cannot be read: without it the rest has no meaning.
    pub fn open(dir: &Path) -> Result<Self, RecordingError> {
        Self::open_in(Place::Named(dir.to_owned()))
    }

    /// Opens the recording in `directory`, which it holds open.
    ///
    /// # Errors
    /// As those of [`Self::open`].
    pub fn open_held(directory: &Directory) -> Result<Self, RecordingError> {
        Self::open_in(Place::Held(directory.clone()))
    }

    /// Opens the recording in the folder `name` of `directory`, behind no link.
    ///
    /// # Errors
    /// As those of [`Self::open`].
    pub fn open_below(directory: &Directory, name: impl AsRef<Path>) -> Result<Self, RecordingError> {
        Self::open_in(Place::Below(directory.clone(), name.as_ref().to_owned()))
    }

    fn open_in(place: Place) -> Result<Self, RecordingError> {
        let dir = place.path();
        let not_a_recording = |reason: String| RecordingError::NotARecording { path: dir.clone(), reason };
        let unreadable = |error: &dyn std::fmt::Display| not_a_recording(format!("plan.json: {error}"));
        let files = place.open().map_err(|error| unreadable(&error))?;
        let plan = read_document(&files, "plan.json").map_err(|error| unreadable(&error))?;
        let mut damage = Vec::new();
        let sums = FileSums::read(&files, &mut damage);
        let fault = sums.fault("plan.json", &plan);
        damage.extend(fault.clone());
        let not_a_plan = |error: &dyn std::fmt::Display| match &fault {
            Some(fault) => RecordingError::Damaged { path: dir.clone(), fault: fault.clone() },
            None => unreadable(error),
        };
        let plan: Value = serde_json::from_slice(&plan).map_err(|error| not_a_plan(&error))?;
        let environment = read_environment(&files, &sums, &mut damage);
        match (&plan["format"], plan["format"].as_u64()) {
            (_, Some(format)) if format > FORMAT => {
                let writer = environment["manometer"].as_str().map(str::to_owned);
                return Err(RecordingError::Newer { path: dir, format, writer });
            }
            // The oldest recordings have no format.
            (Value::Null, _) | (_, Some(1..)) => {}
            (unknown, _) => return Err(not_a_plan(&format!("unknown format {unknown}"))),
        }
        let plan: Plan = serde_json::from_value(plan).map_err(|error| not_a_plan(&error))?;
        plan_check::check(&plan).map_err(|error| not_a_plan(&error))?;
        let experiment = read_experiment(&files, &sums, &mut damage);
        let damaged = damage.len();
        let EventLog { events, has_sums } = event_log::read(&files, &mut damage);
        if damage.len() == damaged {
            // Each line is whole: they may still be another run's.
            damage.extend(sums.fault_of_file(&files, event_log::FILE).unwrap_or_default());
        }
        if has_sums && !sums.lists("plan.json") {
            damage.push("checksums.jsonl is missing or incomplete: files are read unchecked".to_owned());
        }
        let start = serde_json::from_value(environment["clock"].clone())
            .unwrap_or_else(|_| WallAnchor { monotonic_ns: events.first().map_or(0, |line| line.t_ns), unix_ns: 0 });
        let mut recording = Self { dir, place, experiment, plan, environment, start, events, damage, has_sums };
        if recording.status().is_none() && recording.has_parquet() {
            recording.damage.push("events.jsonl: the end of the run is missing".to_owned());
        }
        if recording.status().is_some() && sums.is_cut {
            recording.damage.push("checksums.jsonl: its end is missing".to_owned());
        }
        Ok(recording)
    }

    /// Its folder.
    ///
    /// # Errors
    /// It is gone, behind a link, or cannot be read.
    pub fn files(&self) -> io::Result<Directory> {
        self.place.open()
    }

    /// Whether a series is in its final form, which it has only after the last event was written.
    fn has_parquet(&self) -> bool {
        self.series_files().iter().any(|name| name.extension().is_some_and(|end| end == "parquet"))
    }

    fn series_files(&self) -> Vec<PathBuf> {
        let entries = self.files().and_then(|files| files.directory("samples")?.entries()).unwrap_or_default();
        entries.into_iter().map(|(name, _)| name.into()).collect()
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
        let mut names: Vec<String> = self
            .series_files()
            .into_iter()
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
        self.samples_columns(source, |_| true)
    }

    /// The columns of the sample series `source` for which `is_wanted` holds; the others of a Parquet file are not read.
    ///
    /// # Errors
    /// As those of [`Self::samples`].
    pub fn samples_columns(&self, source: &str, is_wanted: impl Fn(&str) -> bool) -> Result<Samples, RecordingError> {
        let files = self.files().map_err(io_error(&self.dir))?;
        let source = recorded_name(&files, source);
        // The stream is removed only after its Parquet file is complete: if both exist, the stream counts.
        let stream = stream_name(source);
        if files.holds(&stream) {
            let samples = Samples::read_stream(&files, &stream);
            let mut samples = samples.map_err(samples_error(&self.dir.join(&stream)))?;
            samples.retain_columns(is_wanted);
            return Ok(samples);
        }
        let parquet = parquet_name(source);
        let file = checked_file(&files, &sums_of(&files), &parquet);
        let samples = file.and_then(|file| Samples::read_parquet_columns(file, is_wanted));
        samples.map_err(samples_error(&self.dir.join(&parquet)))
    }

    /// Whether the Parquet file of the sample series `source` is whole, by its checksum or, without one, by reading all of
    /// it, and keeps none of it in memory; `None` for a series that is still a stream.
    pub fn check_parquet(&self, source: &str) -> Option<Result<(), RecordingError>> {
        let files = match self.files() {
            Ok(files) => files,
            Err(error) => return Some(Err(io_error(&self.dir)(error))),
        };
        let source = recorded_name(&files, source);
        if files.holds(stream_name(source)) {
            return None;
        }
        let parquet = parquet_name(source);
        let sums = sums_of(&files);
        let file = checked_file(&files, &sums, &parquet);
        let checked = if sums.lists(&parquet) { file.map(drop) } else { file.and_then(Samples::check_parquet) };
        Some(checked.map_err(samples_error(&self.dir.join(&parquet))))
    }

    /// Everything that is known to be wrong with its files. Reads all of them.
    pub fn faults(&self) -> Vec<String> {
        self.damage.iter().cloned().chain(self.faults_of_files()).collect()
    }

    /// What is wrong with files that [`Self::open`] does not read: series and logs that are missing, or, after a clean end,
    /// changed. Reads all of them.
    pub fn faults_of_files(&self) -> Vec<String> {
        let files = match self.files() {
            Ok(files) => files,
            Err(error) => return vec![error.to_string()],
        };
        let mut faults = sums_of(&files).faults(&files, self.status().is_some());
        if self.has_sums {
            faults.extend(self.unchecked_streams(&files));
        }
        let is_known = |fault: &String| CHECKED_AT_OPENING.iter().any(|name| fault.starts_with(name));
        faults.into_iter().filter(|fault| !is_known(fault)).collect()
    }

    /// The streams whose checksums are gone.
    fn unchecked_streams(&self, files: &Directory) -> Vec<String> {
        let streams = self.series().into_iter().map(|source| stream_name(&source));
        let unchecked = streams.filter(|name| files.holds(name) && !files.holds(sums_name(name)));
        unchecked.map(|name| format!("{name}: its checksums are missing, and it is read unchecked")).collect()
    }

    /// The latencies of `workload`, up to any damage; empty for a workload without answers.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn latency(&self, workload: &str) -> Result<LatencyLog, RecordingError> {
        let files = self.files().map_err(io_error(&self.dir))?;
        let name = latency_name(workload);
        if !files.holds(&name) {
            return Ok(LatencyLog::default());
        }
        let log = files.read(&name).and_then(LatencyLog::read).map_err(io_error(&self.dir.join(&name)))?;
        let is_whole = checked_file(&files, &sums_of(&files), &name).is_ok();
        Ok(LatencyLog { truncated: log.truncated || !is_whole, ..log })
    }

    /// The latencies of `workload` in the last `bytes` of their log, for a view of a run that still writes it.
    ///
    /// # Errors
    /// The log is missing or cannot be read.
    pub fn latency_end(&self, workload: &str, bytes: u64) -> io::Result<LatencyLog> {
        LatencyLog::read_end(self.files()?.read(latency_name(workload))?, bytes)
    }

    /// A time of the recording's clock in seconds since the start of the recording.
    pub fn seconds(&self, t_ns: u64) -> f64 {
        (t_ns as f64 - self.start.monotonic_ns as f64) / 1e9
    }
}

/// The checksums of the recording `files`. Lines that cannot be read are named by [`Recording::open`].
fn sums_of(files: &Directory) -> FileSums {
    FileSums::read(files, &mut Vec::new())
}

/// The file `name`, which was written after the last event and agrees with its checksum.
fn checked_file(files: &Directory, sums: &FileSums, name: &str) -> Result<File, SamplesError> {
    let fault = sums.fault_of_file(files, name)?;
    fault.map_or_else(|| Ok(files.read(name)?), |fault| Err(SamplesError::Damaged(fault)))
}

/// The name under which the series `source` was recorded: its own, or the other one of a series that was renamed.
fn recorded_name<'a>(files: &Directory, source: &'a str) -> &'a str {
    let is_recorded = |name: &str| files.holds(stream_name(name)) || files.holds(parquet_name(name));
    let names = RENAMED_SERIES.into_iter().flat_map(|(former, name)| [(former, name), (name, former)]);
    let other = names.filter(|(name, _)| *name == source).map(|(_, other)| other).find(|other| is_recorded(other));
    other.filter(|_| !is_recorded(source)).unwrap_or(source)
}

fn read_document(files: &Directory, name: &str) -> io::Result<Vec<u8>> {
    files.read_all(name, MOST_DOCUMENT_BYTES)
}

fn read_experiment(files: &Directory, sums: &FileSums, damage: &mut Vec<String>) -> String {
    match read_document(files, "experiment.toml") {
        Ok(bytes) => {
            damage.extend(sums.fault("experiment.toml", &bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Err(error) => {
            damage.push(format!("experiment.toml: {error}"));
            String::new()
        }
    }
}

fn read_environment(files: &Directory, sums: &FileSums, damage: &mut Vec<String>) -> Value {
    let read = read_document(files, "environment.json").map_err(|error| error.to_string());
    let parsed = read.and_then(|bytes| {
        damage.extend(sums.fault("environment.json", &bytes));
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    });
    parsed.unwrap_or_else(|error| {
        damage.push(format!("environment.json: {error}"));
        Value::Null
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::histogram::LatencyHistogram;
    use crate::plan::{BetterDirection, Criterion, InterleavedRounds, Phase, PhaseKind, PlannedWorkload, Role};
    use crate::samples::Column;
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
    fn the_events_of_another_run_are_damage_though_each_line_is_whole() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        record(one.path()).finish(12_000_000_000, RunStatus::Complete).unwrap();
        assert_eq!(Recording::open(one.path()).unwrap().faults(), Vec::<String>::new());
        record(other.path()).finish(13_000_000_000, RunStatus::Complete).unwrap();
        fs::copy(other.path().join("events.jsonl"), one.path().join("events.jsonl")).unwrap();
        let faults = Recording::open(one.path()).unwrap().faults();
        assert!(faults[0].starts_with("events.jsonl was changed or damaged after it was written"), "{faults:?}");
        assert_eq!(faults.len(), 1, "{faults:?}");
    }

    #[test]
    fn a_link_in_the_way_of_a_new_file_is_replaced_and_what_it_leads_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (precious, file) = (dir.path().join("precious"), dir.path().join("plan.json"));
        std::fs::write(&precious, "precious").unwrap();
        for link in [file.with_extension("part"), file.clone()] {
            std::os::unix::fs::symlink(&precious, &link).unwrap();
            write_file(&file, b"new").unwrap();
            assert_eq!(std::fs::read(&file).unwrap(), b"new");
            std::fs::remove_file(&file).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
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
            assert_eq!(damage.last().unwrap(), "events.jsonl: the end of the run is missing");
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
            let _ = fs::remove_file(dir.path().join("checksums.jsonl"));
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
    fn a_damaged_plan_is_named_as_damage() {
        let dir = tempfile::tempdir().unwrap();
        RecordingWriter::create(dir.path(), START, "", &plan(), &Value::Null).unwrap();
        let path = dir.path().join("plan.json");
        let plan = fs::read_to_string(&path).unwrap();
        fs::write(&path, plan.replacen("baseline", "basalina", 1)).unwrap();
        let error = Recording::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("plan.json was changed or damaged"), "{error}");
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
