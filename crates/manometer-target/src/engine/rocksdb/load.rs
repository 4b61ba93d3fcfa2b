//! Sorted bulk loading: writes SST files next to the database and ingests them.

use std::path::{Path, PathBuf};

use rocksdb::{IngestExternalFileOptions, SstFileWriter};

use super::{RocksDb, options};
use crate::engine::{EngineError, SortedRecords};

/// RocksDB's own default for `target_file_size_base`.
const TABLE_BYTES: u64 = 64 << 20;

/// Records between two polls of the file's size and for a stop.
const RECORDS_PER_LOOK: u32 = 256;

/// Loads `records` into an empty database: each table is ingested into the lowest level, so that it needs no
/// compaction.
pub(super) fn load_sorted(engine: &RocksDb, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
    let folder = engine.directory.with_file_name("load");
    let wanted = options::value_of(&engine.given, "target_file_size_base").and_then(|text| text.parse().ok());
    let table_bytes = wanted.unwrap_or(TABLE_BYTES);
    let mut number = 0;
    loop {
        let path = folder.join(format!("{number:06}.sst"));
        if !write_table(engine, &path, table_bytes, records)? {
            return Ok(());
        }
        ingest(engine, path)?;
        if records.keep_going().is_break() {
            return Ok(());
        }
        number += 1;
    }
}

/// Writes the next table. Returns false when no record was left.
fn write_table(
    engine: &RocksDb,
    path: &Path,
    table_bytes: u64,
    records: &mut dyn SortedRecords,
) -> Result<bool, EngineError> {
    const DOING: &str = "loading";
    let failure = |error| engine.failure(DOING, error);
    let Some((key, value)) = records.next() else { return Ok(false) };
    let mut writer = SstFileWriter::create(&engine.options);
    writer.open(path).map_err(failure)?;
    writer.put(key, value).map_err(failure)?;
    let mut until_look = RECORDS_PER_LOOK;
    while let Some((key, value)) = records.next() {
        writer.put(key, value).map_err(failure)?;
        until_look -= 1;
        if until_look == 0 {
            until_look = RECORDS_PER_LOOK;
            if writer.file_size() >= table_bytes || records.keep_going().is_break() {
                break;
            }
        }
    }
    writer.finish().map_err(failure)?;
    Ok(true)
}

fn ingest(engine: &RocksDb, path: PathBuf) -> Result<(), EngineError> {
    let mut how = IngestExternalFileOptions::default();
    how.set_move_files(true);
    let done = engine.db.ingest_external_file_opts(&how, vec![path]);
    done.map_err(|error| engine.failure("taking a loaded table in", error))
}
