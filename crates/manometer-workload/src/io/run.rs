//! Runs an `io` workload: checks the settings, creates the files, reports the facts, sends requests.

use std::path::{Path, PathBuf};

use manometer_measure::Clock;
use manometer_measure::host::mount;
use manometer_measure::plan::Settings;
use manometer_target::file::{self, BackendOptions, DataGenerator, FileError, FileReuse, FileSet, IoBackend, IoEngine};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use super::check::check;
use super::counts::SYNCS;
use super::pattern::Pattern;
use super::trace::BlockTrace;
use super::workload::{IoFiles, IoWorkload, OpenBackend, RequestSource, may_write};
use super::{IoError, IoSettings, parse_script, validate};
use crate::error::WorkloadError;
use crate::interface::{Driver, PreparedWorkload, Progress, WorkloadEvent};

/// The block size where the file system does not report it.
const USUAL_BLOCK_BYTES: u64 = 4096;

/// The memory of `recycle` where nothing is said.
const USUAL_MEMORY_BYTES: u64 = 64 << 20;

/// An `io` workload and its files.
#[derive(Debug, Clone, PartialEq)]
pub struct IoJob {
    /// The files.
    pub paths: Vec<PathBuf>,
    /// What may be done with existing files.
    pub existing: FileReuse,
    /// The settings.
    pub settings: IoSettings,
    /// The seed of every random choice.
    pub seed: u64,
}

impl IoJob {
    /// The workload `name` with its own files below `directory`; with `reuse`, equal files of an earlier workload are used.
    pub fn in_directory(directory: &Path, name: &str, reuse: bool, settings: IoSettings, seed: u64) -> Self {
        let paths = paths_in(&directory.join(name), &settings);
        let existing = if reuse { FileReuse::Reuse } else { FileReuse::Remake };
        Self { paths, existing, settings, seed }
    }

    /// The workload on `path`, or, with several files, on `path.0`, `path.1` …
    pub fn on_file(path: &Path, existing: FileReuse, settings: IoSettings, seed: u64) -> Self {
        let numbered = |file| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{file}"));
            PathBuf::from(name)
        };
        let paths = match settings.files {
            1 => vec![path.to_owned()],
            files => (0..files).map(numbered).collect(),
        };
        Self { paths, existing, settings, seed }
    }

    fn folder(&self) -> &Path {
        let parent = self.paths.first().and_then(|path| path.parent());
        parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }
}

/// The files of a workload of `settings` whose folder is `folder`.
pub fn paths_in(folder: &Path, settings: &IoSettings) -> Vec<PathBuf> {
    (0..settings.files).map(|file| folder.join(format!("{file}.data"))).collect()
}

/// Creates the files, then sends requests until `driver` stops it or the trace ends. Samples come from the start on; the
/// last one may be shorter than the interval.
///
/// # Errors
/// The job is invalid here, its files cannot be created, or the device refused a request.
pub fn run(job: &IoJob, driver: &mut dyn Driver, clock: &dyn Clock) -> Result<(), WorkloadError> {
    let (settings, fs_block_bytes) = resolve(job)?;
    let trace = BlockTrace::new(&settings)?;
    let files = FileSet { paths: job.paths.clone(), bytes_each: settings.bytes_each() };
    let mut seeds = Xoshiro256PlusPlus::seed_from_u64(job.seed);
    let (pattern_seed, files_seed, data_seed) = (seeds.next_u64(), seeds.next_u64(), seeds.next_u64());
    let Some(created) = create_files(job, &files, files_seed, driver)? else { return Ok(()) };
    let fs_block_bytes = fs_block_bytes.max(file::direct_alignment_bytes(&job.paths[0]).unwrap_or(1));
    check(&settings, fs_block_bytes).map_err(IoError::from)?;
    let engine = settings.io_engine.unwrap_or_else(file::best_available);
    let may_write = job.existing != FileReuse::ReadOnly;
    let slot_bytes = trace.as_ref().map(|trace| trace.slot_bytes);
    let mut open = |settings: &IoSettings| file::open(&files, &options(settings, slot_bytes, engine, may_write));
    let backend = open(&settings).map_err(IoError::from)?;
    let facts = facts(&settings, trace.as_ref(), &files, &created, backend.as_ref());
    // New bytes for every run: equal bytes would help a device that deduplicates.
    let data = DataGenerator::new(data_seed ^ clock.now_ns());
    let files = IoFiles { paths: files.paths.clone(), engine, fs_block_bytes, may_write };
    let margin_ns = trace.as_ref().map_or(0, |trace| trace.margin_ns(clock));
    let requests =
        IoRequests { settings, files, trace, margin_ns, backend, open: &mut open, data, pattern_seed, facts };
    requests.send(driver, clock)
}

/// The requests of a workload whose files exist.
pub struct IoRequests<'a> {
    /// The requests to send.
    pub settings: IoSettings,
    /// The files.
    pub files: IoFiles,
    /// The trace that replaces the pattern.
    pub trace: Option<BlockTrace>,
    /// How long before a request of a trace is due waiting for it becomes polling.
    pub margin_ns: u64,
    /// The backend for the settings.
    pub backend: Box<dyn IoBackend>,
    /// Opens another backend for other settings.
    pub open: &'a mut OpenBackend<'a>,
    /// The bytes to write.
    pub data: DataGenerator,
    /// The seed of the pattern.
    pub pattern_seed: u64,
    /// Facts that the driver receives once all is ready.
    pub facts: Settings,
}

impl IoRequests<'_> {
    /// Sends them, controlled by `driver`.
    ///
    /// # Errors
    /// The device refused a request, or the trace changed.
    pub fn send(self, driver: &mut dyn Driver, clock: &dyn Clock) -> Result<(), WorkloadError> {
        let Self { settings, files, trace, margin_ns, backend, open, data, pattern_seed, facts } = self;
        let script = match &settings.script {
            Some(text) => parse_script(text, &settings, files.fs_block_bytes).map_err(IoError::from)?,
            None => Vec::new(),
        };
        let ready = PreparedWorkload { facts, state: None, script };
        let now_ns = clock.now_ns();
        let Some(trace) = trace else {
            let source = RequestSource::Pattern(Pattern::new(pattern_seed, &settings));
            return driver.drive(ready, &mut IoWorkload::new(files, settings, (source, data), open, backend, now_ns));
        };
        trace.replay(margin_ns, |recorded| {
            let source = RequestSource::Trace(Box::new(recorded));
            let mut workload = IoWorkload::new(files, settings, (source, data), open, backend, now_ns);
            driver.drive(ready, &mut workload)?;
            let t_ns = clock.now_ns();
            if let Some(replayed) = workload.into_replayed(t_ns) {
                driver.emit(WorkloadEvent::Replayed { t_ns, replayed: Box::new(replayed) });
            }
            Ok(())
        })
    }
}

/// The settings with their I/O engine, checked for the file system of the files.
fn resolve(job: &IoJob) -> Result<(IoSettings, u64), IoError> {
    let folder = job.folder();
    let fs_block_bytes = mount::block_size_bytes(folder).unwrap_or(USUAL_BLOCK_BYTES);
    validate(&job.settings, fs_block_bytes)?;
    may_write(&job.settings, job.existing != FileReuse::ReadOnly)?;
    if mount::is_memory(folder) {
        return Err(IoError::Memory(folder.to_owned()));
    }
    let engine = job.settings.io_engine.unwrap_or_else(file::best_available);
    engine.probe().map_err(|source| FileError::EngineUnavailable { engine, source })?;
    let settings = IoSettings { io_engine: Some(engine), ..job.settings.clone() };
    validate(&settings, fs_block_bytes)?;
    Ok((settings, fs_block_bytes))
}

/// Creates the missing files; returns their paths, or nothing where it was stopped.
fn create_files(
    job: &IoJob,
    files: &FileSet,
    seed: u64,
    driver: &mut dyn Driver,
) -> Result<Option<Vec<PathBuf>>, IoError> {
    let mut progress = Progress::new(driver, "writing files");
    match file::prepare(files, job.existing, seed, &mut |done, total| progress.report(done, total)) {
        Err(FileError::Interrupted(_)) if progress.is_stopped => Ok(None),
        created => Ok(Some(created?)),
    }
}

fn options(settings: &IoSettings, slot_bytes: Option<u32>, engine: IoEngine, write: bool) -> BackendOptions {
    BackendOptions {
        engine,
        depth: settings.iodepth,
        slot_bytes: slot_bytes.unwrap_or(settings.block_size.0 as u32),
        write,
        direct: settings.direct,
        dsync: settings.dsync,
        memory_bytes: settings.memory.map_or(USUAL_MEMORY_BYTES, |memory| memory.0),
    }
}

/// The units of the state's columns.
fn state_units(engine: Option<IoEngine>) -> Value {
    let of_engine = engine.map_or(&[][..], IoEngine::state).iter().map(|(name, unit, _)| (*name, *unit));
    let units = of_engine.chain([(SYNCS, "requests")]);
    units.map(|(name, unit)| (name.to_owned(), Value::from(unit))).collect::<serde_json::Map<_, _>>().into()
}

fn facts(
    settings: &IoSettings,
    trace: Option<&BlockTrace>,
    files: &FileSet,
    made: &[PathBuf],
    backend: &dyn IoBackend,
) -> Settings {
    let facts = [
        ("io_engine", json!(settings.io_engine)),
        ("io_engine_features", json!(backend.features())),
        ("file_size", json!(settings.file_size)),
        ("files", json!(settings.files)),
        ("rate", json!(settings.rate)),
        ("paths", json!(files.paths)),
        ("made", json!(made)),
        ("direct_alignment_bytes", json!(file::direct_alignment_bytes(&files.paths[0]))),
        ("state_units", state_units(settings.io_engine)),
    ];
    let of_trace = trace.map(|trace| {
        [
            ("trace", json!(settings.replay.trace)),
            ("model", json!(trace.model)),
            ("time", json!(trace.time)),
            ("factor", json!(trace.factor)),
            ("requests", json!(trace.requests)),
            ("span_s", json!(trace.resolution.span_ns as f64 / 1e9)),
            ("notes", json!(trace.notes)),
        ]
    });
    let facts = facts.into_iter().chain(of_trace.into_iter().flatten());
    facts.map(|(name, value)| (name.to_owned(), value)).collect()
}
