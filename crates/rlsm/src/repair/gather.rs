//! What is left: runs that can be opened, and writes that the logs still hold.

use std::collections::HashSet;
use std::sync::Arc;

use super::Repair;
use crate::levels::{RunRef, Told, Version, newest_manifest, open_levels, read_manifest};
use crate::log::{End, LogKind, LogReader};
use crate::memory::{Memtable, decode};
use crate::names::FileName;
use crate::run::{DataFile, Run, find_footers};
use crate::storage::Storage;
use crate::verify::{Problem, logs_from};
use crate::{Error, Result, Sequence};

/// Where the entries of the new database come from.
pub(super) struct Sources {
    pub runs: Vec<Arc<Run>>,
    /// What the logs hold.
    pub memtable: Memtable,
    /// The last write of all.
    pub last_sequence: Sequence,
}

impl Sources {
    pub fn gather(storage: &dyn Storage, files: &[FileName], repair: &mut Repair) -> Result<Self> {
        let told = newest_manifest(files).map(|number| read_manifest(storage, number));
        let (runs, first_log, flushed) = match told {
            Some(Ok((told, _))) => {
                repair.had_manifest = true;
                (told_runs(storage, files, &told, repair)?, told.log, told.flushed)
            }
            Some(Err(error)) => {
                repair.lost.push(error.into());
                (found_runs(storage, files, repair), 0, 0)
            }
            None => (found_runs(storage, files, repair), 0, 0),
        };
        repair.runs = runs.len() as u64;
        let last_in_runs = runs.iter().map(|run| run.sequences.1).max().unwrap_or(0).max(flushed);
        let logs: Vec<u64> = logs_from(files, first_log).collect();
        let (memtable, last_in_logs) = replay(storage, &logs, repair);
        Ok(Self { runs, memtable, last_sequence: last_in_runs.max(last_in_logs) })
    }
}

/// The runs that a manifest tells of.
fn told_runs(storage: &dyn Storage, files: &[FileName], told: &Told, repair: &mut Repair) -> Result<Vec<Arc<Run>>> {
    let mut lose = |error: Error| {
        repair.lost.push(error.into());
        Ok(())
    };
    let opened = open_levels(storage, told, 1, &mut lose)?;
    tell_where_runs_are_missing(told, files, &opened.version, repair);
    Ok(opened.version.runs().map(|run| Arc::clone(&***run)).collect())
}

fn tell_where_runs_are_missing(told: &Told, files: &[FileName], version: &Version, repair: &mut Repair) {
    let there: HashSet<RunRef> = version.runs().map(|run| run.at()).collect();
    for range in told.ranges.values() {
        for run in range.runs.iter().filter(|run| !there.contains(run)) {
            let (low, high) = (range.span.low.escape_ascii(), range.span.high.escape_ascii());
            let what = format!("it held versions of keys from `{low}` to `{high}`");
            let file = FileName::of_run(run.file, |log| files.contains(&log)).to_string();
            repair.lost.push(Problem { file, offset: Some(run.footer.offset), what });
        }
    }
}

/// All runs whose footers are whole, but for those whose space was given back.
fn found_runs(storage: &dyn Storage, files: &[FileName], repair: &mut Repair) -> Vec<Arc<Run>> {
    let mut runs = Vec::new();
    for file in files {
        // What logs hold is replayed, whether they are runs or not.
        let FileName::Data(_) = file else { continue };
        match runs_of_file(storage, *file, repair) {
            Ok(found) => runs.extend(found),
            Err(error) => repair.lost.push(error.into()),
        }
    }
    runs
}

fn runs_of_file(storage: &dyn Storage, name: FileName, repair: &mut Repair) -> Result<Vec<Arc<Run>>> {
    let file = DataFile::open_unless_refused(storage, name, &mut |error| {
        repair.lost.push(error.into());
        Ok(())
    })?;
    let file = Arc::new(file);
    let (mut runs, mut covered) = (Vec::new(), crate::run::HEADER_BYTES);
    for footer in find_footers(&file)? {
        let (run, _) = Run::open(Arc::clone(&file), footer)?;
        covered += run.stored_bytes;
        if run.is_given_back()? {
            repair.dead_runs += 1;
        } else {
            runs.push(Arc::new(run));
        }
    }
    if covered < file.len {
        let bytes = file.len - covered;
        let what = format!("{bytes} bytes belong to no footer that can be read: of a run that is lost, or was dead");
        repair.lost.push(Problem { file: file.name.clone(), offset: None, what });
    }
    Ok(runs)
}

/// Puts what the logs hold into memory, and returns the last write.
fn replay(storage: &dyn Storage, logs: &[u64], repair: &mut Repair) -> (Memtable, Sequence) {
    let memtable = Memtable::new(64 << 20);
    let mut last = 0;
    for &log in logs {
        if let Err(error) = replay_log(storage, log, &memtable, &mut last, repair) {
            repair.lost.push(error.into());
        }
    }
    (memtable, last)
}

fn replay_log(
    storage: &dyn Storage,
    number: u64,
    memtable: &Memtable,
    last: &mut Sequence,
    repair: &mut Repair,
) -> Result<()> {
    let name = FileName::Wal(number).to_string();
    let mut reader = LogReader::open(storage, LogKind::Wal, number)?;
    while let Some(record) = reader.next() {
        let batch = decode(record.payload, &name, record.offset)?;
        if batch.first > *last {
            memtable.apply(batch.first, batch.operations());
            *last = batch.next_sequence() - 1;
            repair.batches += 1;
        }
    }
    match reader.end() {
        End::Damaged { offset, what, was_synced: true } => {
            let what = format!("{what}; the {} bytes from here on are lost", reader.len() - offset);
            Err(Error::corrupt(&name, offset, what))
        }
        _ => Ok(()),
    }
}
