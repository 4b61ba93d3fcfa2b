//! The levels as the newest manifest tells them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::edit::RangeRecord;
use super::manifest::PASSING;
use super::{Edit, Grave, LiveRun, Range, RunRef, Runs, Version};
use crate::log::{End, LogKind, LogReader};
use crate::names::FileName;
use crate::plan::LEVEL0_RUNS_MAX;
use crate::run::{DataFile, Extent, Run};
use crate::storage::Storage;
use crate::{Error, Result, Sequence};

/// What the folder holds, as far as a manifest vouches for it.
pub(crate) struct Recovered {
    /// Whether the folder holds no database yet.
    pub is_new: bool,
    pub version: Arc<Version>,
    pub grave: Arc<Grave>,
    pub flushed: Sequence,
    /// No file has this number or a higher one.
    pub next_number: u64,
    /// The write-ahead logs that are needed, in order.
    pub logs: Vec<u64>,
    /// The engine's files that nothing refers to.
    pub unpublished: Vec<String>,
    /// Bytes at the manifest's end that no whole record holds.
    pub torn_bytes: u64,
}

impl Recovered {
    fn new_database(next_number: u64, unpublished: Vec<String>) -> Self {
        Self {
            is_new: true,
            version: Arc::new(Version::empty()),
            grave: Arc::default(),
            flushed: 0,
            next_number,
            logs: Vec::new(),
            unpublished,
            torn_bytes: 0,
        }
    }
}

/// Reads the newest manifest, if there is one, and opens all that it names.
pub(crate) fn recover(storage: &dyn Storage, level0_growth: u64) -> Result<Recovered> {
    let listed = storage.list().map_err(Error::io("listing", "."))?;
    let files: Vec<FileName> = listed.iter().filter_map(|name| FileName::parse(name)).collect();
    let unfinished = |name: &&String| name.strip_suffix(PASSING).and_then(FileName::parse);
    let passing = listed.iter().filter(|name| unfinished(name).is_some()).cloned();
    let numbers = files.iter().copied().chain(listed.iter().filter_map(|name| unfinished(&name)));
    let unused = numbers.map(FileName::number).max().unwrap_or(0) + 1;
    let Some(newest) = newest_manifest(&files) else {
        refuse_orphans(&files)?;
        return Ok(Recovered::new_database(unused, passing.collect()));
    };
    let (told, torn) = read_manifest(storage, newest)?;
    refuse_overlaps(&told, newest)?;
    let opened = open_levels(storage, &told, level0_growth, &mut Err).map_err(|error| blame(newest, torn, error))?;
    let grave = opened.grave;
    for (number, live) in opened.live {
        grave.clear_between(number, live)?;
    }
    let needed = |file: &&FileName| match file {
        FileName::Manifest(number) => *number == newest,
        FileName::Wal(number) => *number >= told.log || opened.files.contains_key(number),
        FileName::Data(number) => opened.files.contains_key(number),
    };
    let is_needed_log = |file: &&FileName| matches!(file, FileName::Wal(number) if *number >= told.log);
    let mut logs: Vec<u64> = files.iter().filter(is_needed_log).map(|file| file.number()).collect();
    logs.sort_unstable();
    check_logs(&logs, told.log).map_err(|error| blame(newest, torn, error))?;
    let unneeded = files.iter().filter(|file| !needed(file)).map(FileName::to_string);
    Ok(Recovered {
        is_new: false,
        version: Arc::new(opened.version),
        flushed: told.flushed,
        next_number: told.next_number.max(unused),
        logs,
        unpublished: unneeded.chain(passing).collect(),
        torn_bytes: torn.map_or(0, |torn| torn.bytes),
        grave,
    })
}

/// A folder with data but without a manifest is no new database.
fn refuse_orphans(files: &[FileName]) -> Result<()> {
    match files.first() {
        None => Ok(()),
        Some(file) => Err(Error::corrupt(
            &file.to_string(),
            0,
            "there is no manifest that tells what it is part of; `manometer rlsm repair` can make one",
        )),
    }
}

/// Where two ranges may have a key, look-ups would ask one and compactions fill the other.
fn refuse_overlaps(told: &Told, manifest: u64) -> Result<()> {
    let ranges = told.ranges.values().map(|range| &range.span);
    match ranges.clone().zip(ranges.skip(1)).find(|(one, next)| one.high >= next.low) {
        None => Ok(()),
        Some((one, next)) => {
            let (one, next) = (one.low.escape_ascii(), next.low.escape_ascii());
            let what = format!("the ranges from `{one}` on and from `{next}` on overlap");
            Err(Error::corrupt(&FileName::Manifest(manifest).to_string(), 0, what))
        }
    }
}

/// The number of the manifest that counts.
pub(crate) fn newest_manifest(files: &[FileName]) -> Option<u64> {
    let manifests = files.iter().filter(|file| matches!(file, FileName::Manifest(_)));
    manifests.map(|file| file.number()).max()
}

/// What follows the last whole record of a manifest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Torn {
    offset: u64,
    pub bytes: u64,
}

/// A log is on the device before the manifest calls it needed, and those after it are newer.
fn check_logs(logs: &[u64], needed: u64) -> Result<()> {
    match logs.first() {
        Some(&first) if first != needed => {
            let file = FileName::Wal(needed).to_string();
            Err(Error::corrupt(
                &file,
                0,
                format!("it is missing, though it is needed before `{}`", FileName::Wal(first)),
            ))
        }
        _ => Ok(()),
    }
}

/// What is missing beside a manifest whose last record is not whole was given up because of that record: no crash came
/// before it was durable.
fn blame(manifest: u64, torn: Option<Torn>, error: Error) -> Error {
    let is_missing = match &error {
        Error::Corrupt { .. } => true,
        Error::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    };
    match torn {
        Some(torn) if is_missing => {
            let what = format!("its last record cannot be read, and what was done because of it shows: {error}");
            Error::corrupt(&FileName::Manifest(manifest).to_string(), torn.offset, what)
        }
        _ => error,
    }
}

/// What all records of a manifest come to.
#[derive(Default)]
pub(crate) struct Told {
    pub log: u64,
    pub flushed: Sequence,
    next_number: u64,
    level0: Vec<RunRef>,
    pub ranges: BTreeMap<Box<[u8]>, RangeRecord>,
}

/// Reads a manifest.
pub(crate) fn read_manifest(storage: &dyn Storage, number: u64) -> Result<(Told, Option<Torn>)> {
    let name = FileName::Manifest(number).to_string();
    let mut reader = LogReader::open(storage, LogKind::Manifest, number)?;
    let mut told = Told::default();
    let mut records = 0;
    while let Some(record) = reader.next() {
        told.add(Edit::decode(record.payload, &name, record.offset)?);
        records += 1;
        if told.level0.len() > LEVEL0_RUNS_MAX {
            let what = format!("Level 0 has {} runs; {LEVEL0_RUNS_MAX} is the most", told.level0.len());
            return Err(Error::corrupt(&name, record.offset, what));
        }
    }
    let torn = match reader.end() {
        End::Clean => None,
        // The first record was whole before the file had its name.
        End::Torn { offset, .. } if records > 0 => Some(Torn { offset, bytes: reader.len() - offset }),
        End::Torn { offset, what } | End::Damaged { offset, what, .. } => {
            return Err(Error::corrupt(&name, offset, what));
        }
    };
    Ok((told, torn))
}

impl Told {
    fn add(&mut self, edit: Edit) {
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

/// The levels with their files open.
pub(crate) struct OpenLevels {
    pub version: Version,
    pub grave: Arc<Grave>,
    files: HashMap<u64, Arc<DataFile>>,
    /// What of each file is in use.
    live: HashMap<u64, Vec<Extent>>,
}

/// Opens the runs that a manifest tells of. `refuse` is asked about each that cannot be opened: it is left out unless
/// there is an error again.
pub(crate) fn open_levels(
    storage: &dyn Storage,
    told: &Told,
    level0_growth: u64,
    refuse: &mut dyn FnMut(Error) -> Result<()>,
) -> Result<OpenLevels> {
    let (mut version, grave) = (Version::empty(), Arc::new(Grave::default()));
    let listed = storage.list().map_err(Error::io("listing", "."))?.into_iter().collect();
    let (files, live) = (HashMap::new(), HashMap::new());
    let mut opening = Opening { storage, grave: &grave, listed, files, live, refuse };
    version.level0 = opening.runs(version.level0, &told.level0, level0_growth)?;
    let mut ranges = Vec::new();
    for range in told.ranges.values() {
        let runs = opening.runs(Range::no_runs(), &range.runs, Range::GROWTH)?;
        ranges.push(Range::new(range.span.clone(), runs));
    }
    version.ranges = Arc::new(ranges);
    version.has_range_deletes = version.any_range_deletes();
    let (files, live) = (opening.files, opening.live);
    Ok(OpenLevels { version, grave, files, live })
}

struct Opening<'a> {
    storage: &'a dyn Storage,
    grave: &'a Arc<Grave>,
    listed: HashSet<String>,
    files: HashMap<u64, Arc<DataFile>>,
    live: HashMap<u64, Vec<Extent>>,
    refuse: &'a mut dyn FnMut(Error) -> Result<()>,
}

impl Opening<'_> {
    fn runs(&mut self, mut runs: Runs, at: &[RunRef], growth: u64) -> Result<Runs> {
        for run in at {
            match self.file(run.file).and_then(|file| Run::open(file, run.footer)) {
                Ok((opened, hashes)) => {
                    self.live.entry(run.file).or_default().extend(opened.extents());
                    runs = runs.with(LiveRun::new(Arc::new(opened), self.grave), &hashes, growth);
                }
                Err(error) => (self.refuse)(error)?,
            }
        }
        Ok(runs)
    }

    fn file(&mut self, number: u64) -> Result<Arc<DataFile>> {
        if let Some(file) = self.files.get(&number) {
            return Ok(Arc::clone(file));
        }
        let name = FileName::of_run(number, |log| self.listed.contains(&log.to_string()));
        let file = Arc::new(DataFile::open_unless_refused(self.storage, name, self.refuse)?);
        self.files.insert(number, Arc::clone(&file));
        Ok(file)
    }
}
