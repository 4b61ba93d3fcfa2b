//! What is left of a database: runs that can be opened, and writes in WALs.

use std::collections::HashSet;
use std::sync::Arc;

use super::RepairReport;
use crate::file_name::FileName;
use crate::levels::{ManifestState, RunLocation, Version, newest_manifest, open_levels, read_manifest};
use crate::log::{LogEnd, LogKind, LogReader};
use crate::memory::{Memtable, decode};
use crate::run::{DataFile, Run, find_footers};
use crate::storage::Storage;
use crate::verify::{Problem, logs_from};
use crate::{Error, Result, SequenceNumber};

/// Where the entries of the repaired database come from.
pub(super) struct Sources {
    pub runs: Vec<Arc<Run>>,
    /// The writes in the WALs.
    pub memtable: Memtable,
    /// The last sequence number.
    pub last_sequence: SequenceNumber,
}

impl Sources {
    pub fn gather(storage: &dyn Storage, files: &[FileName], repair: &mut RepairReport) -> Result<Self> {
        let state = newest_manifest(files).map(|number| read_manifest(storage, number));
        let (runs, first_log, flushed) = match state {
            Some(Ok((state, _))) => {
                repair.had_manifest = true;
                (manifest_runs(storage, files, &state, repair)?, state.log, state.flushed)
            }
            Some(Err(error)) => {
                repair.lost.push(error.into());
                (scan_for_runs(storage, files, repair), 0, 0)
            }
            None => (scan_for_runs(storage, files, repair), 0, 0),
        };
        repair.runs = runs.len() as u64;
        let last_in_runs = runs.iter().map(|run| run.sequences.1).max().unwrap_or(0).max(flushed);
        let logs: Vec<u64> = logs_from(files, first_log).collect();
        let (memtable, last_in_logs) = replay(storage, &logs, repair);
        Ok(Self { runs, memtable, last_sequence: last_in_runs.max(last_in_logs) })
    }
}

/// The runs that the manifest refers to.
fn manifest_runs(
    storage: &dyn Storage,
    files: &[FileName],
    state: &ManifestState,
    repair: &mut RepairReport,
) -> Result<Vec<Arc<Run>>> {
    let mut on_error = |error: Error| {
        repair.lost.push(error.into());
        Ok(())
    };
    let opened = open_levels(storage, state, 1, &mut on_error)?;
    report_missing_runs(state, files, &opened.version, repair);
    Ok(opened.version.runs().map(|run| Arc::clone(&***run)).collect())
}

fn report_missing_runs(state: &ManifestState, files: &[FileName], version: &Version, repair: &mut RepairReport) {
    let there: HashSet<RunLocation> = version.runs().map(|run| run.location()).collect();
    for range in state.ranges.values() {
        for run in range.runs.iter().filter(|run| !there.contains(run)) {
            let (low, high) = (range.span.low.escape_ascii(), range.span.high.escape_ascii());
            let description = format!("this run is missing; it held versions of keys from `{low}` to `{high}`");
            let file = FileName::of_run(run.file, |log| files.contains(&log)).to_string();
            repair.lost.push(Problem { file, offset: Some(run.footer.offset), description });
        }
    }
}

/// The runs of all valid footers, except those whose space was reclaimed.
fn scan_for_runs(storage: &dyn Storage, files: &[FileName], repair: &mut RepairReport) -> Vec<Arc<Run>> {
    let mut runs = Vec::new();
    for file in files {
        // WALs are replayed, whether they are runs or not.
        let FileName::Data(_) = file else { continue };
        match runs_of_file(storage, *file, repair) {
            Ok(found) => runs.extend(found),
            Err(error) => repair.lost.push(error.into()),
        }
    }
    runs
}

fn runs_of_file(storage: &dyn Storage, name: FileName, repair: &mut RepairReport) -> Result<Vec<Arc<Run>>> {
    let file = DataFile::open_tolerant(storage, name, &mut |error| {
        repair.lost.push(error.into());
        Ok(())
    })?;
    let file = Arc::new(file);
    let (mut runs, mut covered) = (Vec::new(), crate::run::HEADER_BYTES);
    for footer in find_footers(&file)? {
        let (run, _) = Run::open(Arc::clone(&file), footer)?;
        covered += run.stored_bytes;
        if run.is_reclaimed()? {
            repair.dead_runs += 1;
        } else {
            runs.push(Arc::new(run));
        }
    }
    if covered < file.len {
        let bytes = file.len - covered;
        let description =
            format!("{bytes} bytes belong to no valid footer: to a run that is lost, or to an obsolete one");
        repair.lost.push(Problem { file: file.name.clone(), offset: None, description });
    }
    Ok(runs)
}

/// Applies the WALs to a memtable. Returns it with the last sequence number.
fn replay(storage: &dyn Storage, logs: &[u64], repair: &mut RepairReport) -> (Memtable, SequenceNumber) {
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
    last: &mut SequenceNumber,
    repair: &mut RepairReport,
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
        LogEnd::Damaged { offset, problem, was_synced: true } => {
            let problem = format!("{problem}; the last {} bytes of the file are lost", reader.len() - offset);
            Err(Error::corrupt(&name, offset, problem))
        }
        _ => Ok(()),
    }
}
