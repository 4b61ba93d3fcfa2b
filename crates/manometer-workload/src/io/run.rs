//! From a job to a running loop: check, make the files, say what was found, run.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use manometer_measure::Clock;
use manometer_measure::host::environment;
use manometer_measure::plan::Settings;
use manometer_target::file::{self, Backend, Existing, FileError, FileSet, IoEngine, Options, WriteData};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use serde_json::json;

use super::pattern::Pattern;
use super::recorded::BlockTrace;
use super::runner::{Constants, Runner, Source, Surroundings, may_write};
use super::tally::SYNCS;
use super::validate::check;
use super::{IoError, IoSettings, validate};
use crate::control::{Controls, Sink};
use crate::protocol::{Control, Message};
use crate::settings::SettingError;

/// How often a progress message is sent while files are made.
const PROGRESS_NS: u64 = 200_000_000;

/// Where the file system does not tell its block's size.
const USUAL_BLOCK_BYTES: u64 = 4096;

/// An `io` workload, its files and its beat.
#[derive(Debug, Clone, PartialEq)]
pub struct IoJob {
    /// The files, as many as the settings say.
    pub paths: Vec<PathBuf>,
    /// What may be done with those that exist.
    pub existing: Existing,
    /// What to do.
    pub settings: IoSettings,
    /// The seed of every random choice.
    pub seed: u64,
    /// The sample interval; samples end on its multiples.
    pub interval_ns: u64,
}

impl IoJob {
    /// The workload `name` with files of its own below `directory`; equal files of a workload before it are
    /// used as they are when `reuse`.
    pub fn in_directory(
        directory: &Path,
        name: &str,
        reuse: bool,
        settings: IoSettings,
        seed: u64,
        interval_ns: u64,
    ) -> Self {
        let paths = paths_in(&directory.join(name), &settings);
        let existing = if reuse { Existing::Reuse } else { Existing::Remake };
        Self { paths, existing, settings, seed, interval_ns }
    }

    /// The workload on `path`, or, with several files, on `path.0`, `path.1` …
    pub fn on_file(path: &Path, existing: Existing, settings: IoSettings, seed: u64, interval_ns: u64) -> Self {
        let numbered = |file| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{file}"));
            PathBuf::from(name)
        };
        let paths = match settings.files {
            1 => vec![path.to_owned()],
            files => (0..files).map(numbered).collect(),
        };
        Self { paths, existing, settings, seed, interval_ns }
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

/// Makes the files, says [`Message::Ready`], and obeys control lines until it is told to stop. Samples
/// come from `Ready` on; the last one may be shorter than the interval. That it is done, or why it failed,
/// is for the caller to say.
///
/// # Errors
/// The job makes no sense here, its files cannot be made, or the device refused a request.
pub fn run(job: &IoJob, clock: &dyn Clock, controls: &Controls, sink: &mut dyn Sink) -> Result<(), IoError> {
    let (settings, fs_block_bytes) = resolve(job)?;
    let trace = BlockTrace::new(&settings)?;
    let files = FileSet { paths: job.paths.clone(), bytes_each: settings.bytes_each() };
    let mut seeds = Xoshiro256PlusPlus::seed_from_u64(job.seed);
    let (pattern_seed, files_seed, data_seed) = (seeds.next_u64(), seeds.next_u64(), seeds.next_u64());
    let Some((made, heard)) = make_files(job, &files, files_seed, (clock, controls), sink)? else { return Ok(()) };
    let fs_block_bytes = fs_block_bytes.max(file::direct_alignment_bytes(&job.paths[0]).unwrap_or(1));
    check(&settings, fs_block_bytes)?;
    let engine = settings.io_engine.unwrap_or_else(file::best_available);
    let write = job.existing != Existing::ReadOnly;
    let slot_bytes = trace.as_ref().map(|trace| trace.slot_bytes);
    let mut open = |settings: &IoSettings| file::open(&files, &options(settings, slot_bytes, engine, write));
    let backend = open(&settings)?;
    tell(sink, Message::Ready { facts: facts(&settings, trace.as_ref(), &files, &made, backend.as_ref()) })?;
    let constants = Constants {
        paths: files.paths.clone(),
        engine,
        fs_block_bytes,
        interval_ns: job.interval_ns,
        may_write: write,
    };
    let outside = Surroundings { clock, controls, sink, open: &mut open };
    // Bytes of their own for every run: the same ones again would help a device that deduplicates.
    let data = WriteData::new(data_seed ^ clock.now_ns());
    let Some(trace) = trace else {
        let source = Source::Pattern(Pattern::new(pattern_seed, &settings));
        return Runner::new(outside, constants, settings, backend, (source, data), heard)?.run();
    };
    trace.replay(clock, |recorded| {
        let source = Source::Recorded(Box::new(recorded));
        Runner::new(outside, constants, settings, backend, (source, data), heard)?.run()
    })
}

/// The settings with the engine that will be used, checked for the place where the files will lie.
fn resolve(job: &IoJob) -> Result<(IoSettings, u64), IoError> {
    let folder = job.folder();
    let fs_block_bytes = environment::block_size_bytes(folder).unwrap_or(USUAL_BLOCK_BYTES);
    if job.interval_ns == 0 {
        return Err(SettingError::new("interval", "0", "write a stretch of time such as 1s").into());
    }
    validate(&job.settings, fs_block_bytes)?;
    may_write(&job.settings, job.existing != Existing::ReadOnly)?;
    if environment::is_memory(folder) {
        return Err(IoError::Memory(folder.to_owned()));
    }
    let engine = job.settings.io_engine.unwrap_or_else(file::best_available);
    engine.probe().map_err(|source| FileError::EngineUnavailable { engine, source })?;
    let settings = IoSettings { io_engine: Some(engine), ..job.settings.clone() };
    validate(&settings, fs_block_bytes)?;
    Ok((settings, fs_block_bytes))
}

/// The paths of the files that were made, and the control lines that came meanwhile.
type Made = (Vec<PathBuf>, VecDeque<Control>);

/// Makes the files. Nothing when told to stop meanwhile.
fn make_files(
    job: &IoJob,
    files: &FileSet,
    seed: u64,
    (clock, controls): (&dyn Clock, &Controls),
    sink: &mut dyn Sink,
) -> Result<Option<Made>, IoError> {
    let mut heard = VecDeque::new();
    let mut next_ns = clock.now_ns();
    let mut unheard = None;
    let made = file::prepare(files, job.existing, seed, &mut |done, total| {
        match controls.poll() {
            Some(Control::Stop) => return ControlFlow::Break(()),
            other => heard.extend(other),
        }
        if clock.now_ns() >= next_ns {
            next_ns = clock.now_ns() + PROGRESS_NS;
            let told = tell(sink, Message::Progress { what: "writing files".to_owned(), done, total });
            unheard = told.err();
        }
        if unheard.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match (made, unheard) {
        (Err(FileError::Interrupted(_)), None) => Ok(None),
        (Err(FileError::Interrupted(_)), Some(unheard)) => Err(unheard),
        (made, _) => Ok(Some((made?, heard))),
    }
}

fn options(settings: &IoSettings, slot_bytes: Option<u32>, engine: IoEngine, write: bool) -> Options {
    Options {
        engine,
        depth: settings.iodepth,
        slot_bytes: slot_bytes.unwrap_or(settings.block_size.0 as u32),
        write,
        direct: settings.direct,
        dsync: settings.dsync,
    }
}

fn facts(
    settings: &IoSettings,
    trace: Option<&BlockTrace>,
    files: &FileSet,
    made: &[PathBuf],
    backend: &dyn Backend,
) -> Settings {
    let facts = [
        ("io_engine", json!(settings.io_engine)),
        ("io_engine_features", json!(backend.features())),
        ("file_size", json!(settings.file_size)),
        ("files", json!(settings.files)),
        ("paths", json!(files.paths)),
        ("made", json!(made)),
        ("direct_alignment_bytes", json!(file::direct_alignment_bytes(&files.paths[0]))),
        ("state_units", json!({ SYNCS: "requests" })),
    ];
    let of_trace = trace.map(|trace| {
        [
            ("trace", json!(settings.recorded.trace)),
            ("model", json!(trace.model)),
            ("time", json!(trace.time)),
            ("factor", json!(trace.factor)),
            ("requests", json!(trace.requests)),
            ("span_s", json!(trace.grain.span_ns as f64 / 1e9)),
            ("notes", json!(trace.notes)),
        ]
    });
    let facts = facts.into_iter().chain(of_trace.into_iter().flatten());
    facts.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn tell(sink: &mut dyn Sink, message: Message) -> Result<(), IoError> {
    sink.send(message).map_err(IoError::Unheard)
}
