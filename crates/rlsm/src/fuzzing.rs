//! The entry points of the fuzz targets. None of them may panic, hang, or allocate without bound.

use std::sync::Arc;

use crate::codec::u16_at;
use crate::file_name::FileName;
use crate::levels::VersionEdit;
use crate::log::{LogKind, LogReader, LogWriter};
use crate::memory::decode;
use crate::run::{BlockCache, DataFile, Run, find_footers};
use crate::storage::Storage;
use crate::storage::simulated::SimulatedStorage;
use crate::{Maintenance, Options, Result};

/// A fuzz target: its name, and what runs it on an input.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// The fuzz targets by name.
pub const TARGETS: [FuzzTarget; 4] =
    [("rlsm_wal", wal), ("rlsm_manifest", manifest_edit), ("rlsm_data_file", data_file), ("rlsm_folder", folder)];

/// A WAL: as a file, and as the payload of a record.
fn wal(bytes: &[u8]) {
    if let Ok(batch) = decode(bytes, "wal-000001", 0) {
        assert_eq!(batch.operations().count() as u64, u64::from(batch.len));
    }
    let storage = SimulatedStorage::new(1);
    put(&storage, "wal-000001", bytes);
    if let Ok(mut reader) = LogReader::open(&storage, LogKind::Wal, 1) {
        while reader.next().is_some() {}
        let _ = reader.end();
    }
}

/// A version edit. What is decoded must survive encoding.
fn manifest_edit(bytes: &[u8]) {
    if let Ok(edit) = VersionEdit::decode(bytes, "manifest-000001", 0) {
        let again = VersionEdit::decode(&edit.encode(), "manifest-000001", 0);
        assert!(again.is_ok_and(|again| again == edit));
    }
}

/// A data file: as it is, and with valid checksums.
fn data_file(bytes: &[u8]) {
    let _: Result<()> = read_data_file(bytes);
    if let Some(file) = crate::run::fuzzing::data_file(bytes) {
        let _: Result<()> = read_data_file(&file);
    }
}

fn read_data_file(bytes: &[u8]) -> Result<()> {
    let storage = SimulatedStorage::new(1);
    put(&storage, &FileName::Data(1).to_string(), bytes);
    let file = Arc::new(DataFile::open(&storage, FileName::Data(1))?);
    for footer in find_footers(&file)? {
        let Ok((run, _)) = Run::open(Arc::clone(&file), footer) else { continue };
        let run = Arc::new(run);
        let _: Result<()> = run.verify();
        let _: Result<()> = read_run(&run);
    }
    Ok(())
}

fn read_run(run: &Arc<Run>) -> Result<()> {
    let cache = Arc::new(BlockCache::new(1 << 16, 1 << 16));
    for key in [&b"key0000"[..], b"key0007", &*run.low, &*run.high] {
        run.get(&cache, crate::hash::hash(key), key, u64::MAX)?;
    }
    let mut cursor = run.cursor(&cache)?;
    crate::merge::Cursor::first(&mut cursor)?;
    while crate::merge::Cursor::entry(&cursor).is_some() {
        crate::merge::Cursor::next(&mut cursor)?;
    }
    let mut reader = run.read_all(4096);
    while reader.next()?.is_some() {}
    Ok(())
}

/// A whole directory of files, one after another: a byte for the kind, two for the length, then the content. Records of
/// logs are a length of two bytes and the payload. All checksums are valid, and files are numbered from 1.
fn folder(bytes: &[u8]) {
    let storage = SimulatedStorage::new(1);
    let mut rest = bytes;
    let mut number = 0;
    while let Some((&kind, tail)) = rest.split_first() {
        let Some((content, tail)) = piece(tail) else { break };
        number += 1;
        rest = tail;
        match kind % 3 {
            0 => put_log(&storage, LogKind::Manifest, number, content),
            1 => put_log(&storage, LogKind::Wal, number, content),
            _ => {
                let Some(file) = crate::run::fuzzing::data_file(content) else { return };
                put(&storage, &FileName::Data(number).to_string(), &file);
            }
        }
    }
    let _: Result<()> = read_folder(storage);
}

fn read_folder(storage: SimulatedStorage) -> Result<()> {
    let options = Options::new().memtable_bytes(1 << 16).cache_bytes(1 << 16).maintenance(Maintenance::Inline);
    let database = options.open_on(Arc::new(storage))?;
    let _ = database.get(b"key0007");
    let _ = database.range(..)?.count();
    database.put(b"key0007", b"fuzzed")?;
    database.compact()
}

/// Two bytes of length, as many bytes, and the rest.
fn piece(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_at_checked(2)?;
    rest.split_at_checked(usize::from(u16_at(len, 0)))
}

fn put_log(storage: &dyn Storage, kind: LogKind, number: u64, mut content: &[u8]) {
    let mut log = LogWriter::create(storage, kind, number).expect("simulated storage without faults does not fail");
    while let Some((payload, rest)) = piece(content) {
        content = rest;
        if !payload.is_empty() {
            log.append(payload).expect("the payload is not empty");
        }
    }
    log.commit().expect("simulated storage without faults does not fail");
}

fn put(storage: &dyn Storage, name: &str, bytes: &[u8]) {
    let file = storage.create(name).expect("simulated storage without faults does not fail");
    file.append(bytes).expect("simulated storage without faults does not fail");
}

#[cfg(test)]
mod tests {
    use std::fs;

    use manometer_testing::repository_file;

    /// What fuzzers began with and have found.
    #[test]
    fn the_corpora_cause_no_panic() {
        let corpora = repository_file("fuzz/corpus");
        for (name, target) in super::TARGETS {
            let files: Vec<_> = fs::read_dir(corpora.join(name)).unwrap().collect();
            assert!(!files.is_empty(), "the corpus of {name} is empty");
            for file in files {
                target(&fs::read(file.unwrap().path()).unwrap());
            }
        }
    }
}
