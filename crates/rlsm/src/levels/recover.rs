//! Recovering the levels from the newest manifest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::manifest::TEMPORARY_SUFFIX;
use super::version_edit::RangeRecord;
use super::{ExtentReclaimer, LiveRun, Range, RunLocation, RunSet, Version, VersionEdit};
use crate::file_name::FileName;
use crate::log::{LogEnd, LogKind, LogReader};
use crate::plan::LEVEL0_RUNS_MAX;
use crate::run::{DataFile, Extent, Run};
use crate::storage::{Storage, list};
use crate::{Error, Result, SequenceNumber};

/// The levels as recovered, and what else the directory holds.
pub(crate) struct RecoveredLevels {
    /// Whether the directory holds no database yet.
    pub is_new: bool,
    pub version: Arc<Version>,
    pub reclaimer: Arc<ExtentReclaimer>,
    pub flushed: SequenceNumber,
    /// No file has this number or a higher one.
    pub next_number: u64,
    /// The WALs to replay, in order.
    pub logs: Vec<u64>,
    /// The engine's files that nothing refers to.
    pub unpublished: Vec<String>,
    /// Bytes after the last whole record of the manifest.
    pub torn_bytes: u64,
}

impl RecoveredLevels {
    fn new_database(next_number: u64, unpublished: Vec<String>) -> Self {
        Self {
            is_new: true,
            version: Arc::new(Version::empty()),
            reclaimer: Arc::default(),
            flushed: 0,
            next_number,
            logs: Vec::new(),
            unpublished,
            torn_bytes: 0,
        }
    }
}

/// Reads the newest manifest, if there is one, and opens the runs it refers to.
pub(crate) fn recover(storage: &dyn Storage, level0_growth: u64) -> Result<RecoveredLevels> {
    let listed = list(storage)?;
    let files: Vec<FileName> = listed.iter().filter_map(|name| FileName::parse(name)).collect();
    let unfinished = |name: &&String| name.strip_suffix(TEMPORARY_SUFFIX).and_then(FileName::parse);
    let temporary = listed.iter().filter(|name| unfinished(name).is_some()).cloned();
    let numbers = files.iter().copied().chain(listed.iter().filter_map(|name| unfinished(&name)));
    let unused = numbers.map(FileName::number).max().unwrap_or(0) + 1;
    let Some(newest) = newest_manifest(&files) else {
        check_no_orphans(&files)?;
        return Ok(RecoveredLevels::new_database(unused, temporary.collect()));
    };
    let (state, torn) = read_manifest(storage, newest)?;
    check_ranges_disjoint(&state, newest)?;
    let opened =
        open_levels(storage, &state, level0_growth, &mut Err).map_err(|error| explain_missing(newest, torn, error))?;
    let reclaimer = opened.reclaimer;
    for (number, live) in opened.live {
        reclaimer.reclaim_gaps(number, live)?;
    }
    let needed = |file: &&FileName| match file {
        FileName::Manifest(number) => *number == newest,
        FileName::Wal(number) => *number >= state.log || opened.files.contains_key(number),
        FileName::Data(number) => opened.files.contains_key(number),
    };
    let is_needed_log = |file: &&FileName| matches!(file, FileName::Wal(number) if *number >= state.log);
    let mut logs: Vec<u64> = files.iter().filter(is_needed_log).map(|file| file.number()).collect();
    logs.sort_unstable();
    check_logs(&logs, state.log).map_err(|error| explain_missing(newest, torn, error))?;
    let unneeded = files.iter().filter(|file| !needed(file)).map(FileName::to_string);
    Ok(RecoveredLevels {
        is_new: false,
        version: Arc::new(opened.version),
        flushed: state.flushed,
        next_number: state.next_number.max(unused),
        logs,
        unpublished: unneeded.chain(temporary).collect(),
        torn_bytes: torn.map_or(0, |torn| torn.bytes),
        reclaimer,
    })
}

/// A directory with data but without a manifest is not a new database.
fn check_no_orphans(files: &[FileName]) -> Result<()> {
    match files.first() {
        None => Ok(()),
        Some(file) => Err(Error::corrupt(
            &file.to_string(),
            0,
            "the directory has no manifest, so it is not known what this file is part of; a repair rebuilds one",
        )),
    }
}

/// If ranges overlapped, look-ups could ask one and compactions fill the other.
fn check_ranges_disjoint(state: &ManifestState, manifest: u64) -> Result<()> {
    let ranges = state.ranges.values().map(|range| &range.span);
    match ranges.clone().zip(ranges.skip(1)).find(|(one, next)| one.high >= next.low) {
        None => Ok(()),
        Some((one, next)) => {
            let (one, next) = (one.low.escape_ascii(), next.low.escape_ascii());
            let problem = format!("the ranges that begin with `{one}` and `{next}` overlap");
            Err(Error::corrupt(&FileName::Manifest(manifest).to_string(), 0, problem))
        }
    }
}

/// The number of the newest manifest.
pub(crate) fn newest_manifest(files: &[FileName]) -> Option<u64> {
    let manifests = files.iter().filter(|file| matches!(file, FileName::Manifest(_)));
    manifests.map(|file| file.number()).max()
}

/// What follows the last whole record of a manifest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TornTail {
    offset: u64,
    pub bytes: u64,
}

/// A WAL is durable before the manifest refers to it, and later WALs have higher numbers.
fn check_logs(logs: &[u64], needed: u64) -> Result<()> {
    match logs.first() {
        Some(&first) if first != needed => {
            let file = FileName::Wal(needed).to_string();
            Err(Error::corrupt(&file, 0, format!("it is missing; it is needed before `{}`", FileName::Wal(first))))
        }
        _ => Ok(()),
    }
}

/// If the manifest's last record is torn and a file is missing, the file was removed because of that record: then the
/// record had been durable, and no crash tore it.
fn explain_missing(manifest: u64, torn: Option<TornTail>, error: Error) -> Error {
    let is_missing = match &error {
        Error::Corrupt { .. } => true,
        Error::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    };
    match torn {
        Some(torn) if is_missing => {
            let problem =
                format!("its last record cannot be read, but was durable, for a later change depends on it: {error}");
            Error::corrupt(&FileName::Manifest(manifest).to_string(), torn.offset, problem)
        }
        _ => error,
    }
}

/// The state that all records of a manifest add up to.
#[derive(Default)]
pub(crate) struct ManifestState {
    pub log: u64,
    pub flushed: SequenceNumber,
    next_number: u64,
    level0: Vec<RunLocation>,
    pub ranges: BTreeMap<Box<[u8]>, RangeRecord>,
}

/// Reads a manifest.
pub(crate) fn read_manifest(storage: &dyn Storage, number: u64) -> Result<(ManifestState, Option<TornTail>)> {
    let name = FileName::Manifest(number).to_string();
    let mut reader = LogReader::open(storage, LogKind::Manifest, number)?;
    let mut state = ManifestState::default();
    let mut records = 0;
    while let Some(record) = reader.next() {
        state.add(VersionEdit::decode(record.payload, &name, record.offset)?);
        records += 1;
        if state.level0.len() > LEVEL0_RUNS_MAX {
            let problem = format!("Level 0 has {} runs; at most {LEVEL0_RUNS_MAX} are allowed", state.level0.len());
            return Err(Error::corrupt(&name, record.offset, problem));
        }
    }
    let torn = match reader.end() {
        LogEnd::Clean => None,
        // The first record was durable before the manifest got its name.
        LogEnd::Torn { offset, .. } if records > 0 => Some(TornTail { offset, bytes: reader.len() - offset }),
        LogEnd::Torn { offset, problem } | LogEnd::Damaged { offset, problem, .. } => {
            return Err(Error::corrupt(&name, offset, problem));
        }
    };
    Ok((state, torn))
}

impl ManifestState {
    fn add(&mut self, edit: VersionEdit) {
        self.log = edit.log.unwrap_or(self.log);
        self.flushed = edit.flushed.unwrap_or(self.flushed);
        self.next_number = self.next_number.max(edit.next_number);
        self.level0.retain(|run| !edit.level0_dropped.contains(run));
        self.level0.extend(edit.level0_added);
        for low in &edit.ranges_dropped {
            self.ranges.remove(low);
        }
        for range in edit.ranges_set {
            self.ranges.insert(range.span.low.clone(), range);
        }
    }
}

/// The levels with open files.
pub(crate) struct OpenedLevels {
    pub version: Version,
    pub reclaimer: Arc<ExtentReclaimer>,
    files: HashMap<u64, Arc<DataFile>>,
    /// The extents in use, by file.
    live: HashMap<u64, Vec<Extent>>,
}

/// Opens the runs of a manifest. `on_error` decides about each that cannot be opened: it is left out unless `on_error`
/// fails.
pub(crate) fn open_levels(
    storage: &dyn Storage,
    state: &ManifestState,
    level0_growth: u64,
    on_error: &mut dyn FnMut(Error) -> Result<()>,
) -> Result<OpenedLevels> {
    let (mut version, reclaimer) = (Version::empty(), Arc::new(ExtentReclaimer::default()));
    let listed = list(storage)?.into_iter().collect();
    let (files, live) = (HashMap::new(), HashMap::new());
    let mut opening = RunOpener { storage, reclaimer: &reclaimer, listed, files, live, on_error };
    version.level0 = opening.runs(version.level0, &state.level0, level0_growth)?;
    let mut ranges = Vec::new();
    for range in state.ranges.values() {
        let runs = opening.runs(Range::empty_run_set(), &range.runs, Range::EXPECTED_GROWTH)?;
        ranges.push(Range::new(range.span.clone(), runs));
    }
    version.ranges = Arc::new(ranges);
    version.has_range_tombstones = version.any_range_tombstones();
    let (files, live) = (opening.files, opening.live);
    Ok(OpenedLevels { version, reclaimer, files, live })
}

struct RunOpener<'a> {
    storage: &'a dyn Storage,
    reclaimer: &'a Arc<ExtentReclaimer>,
    listed: HashSet<String>,
    files: HashMap<u64, Arc<DataFile>>,
    live: HashMap<u64, Vec<Extent>>,
    on_error: &'a mut dyn FnMut(Error) -> Result<()>,
}

impl RunOpener<'_> {
    fn runs(&mut self, mut runs: RunSet, at: &[RunLocation], growth: u64) -> Result<RunSet> {
        for run in at {
            match self.file(run.file).and_then(|file| Run::open(file, run.footer)) {
                Ok((opened, hashes)) => {
                    self.live.entry(run.file).or_default().extend(opened.extents());
                    runs = runs.with_run(LiveRun::new(Arc::new(opened), self.reclaimer), &hashes, growth);
                }
                Err(error) => (self.on_error)(error)?,
            }
        }
        Ok(runs)
    }

    fn file(&mut self, number: u64) -> Result<Arc<DataFile>> {
        if let Some(file) = self.files.get(&number) {
            return Ok(Arc::clone(file));
        }
        let name = FileName::of_run(number, |log| self.listed.contains(&log.to_string()));
        let file = Arc::new(DataFile::open_tolerant(self.storage, name, self.on_error)?);
        self.files.insert(number, Arc::clone(&file));
        Ok(file)
    }
}
