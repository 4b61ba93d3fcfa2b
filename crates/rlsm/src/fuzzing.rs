//! What the fuzz targets do with their bytes. Nothing may panic, hang, or take memory without bound.

use std::sync::Arc;

use crate::codec::u16_at;
use crate::levels::Edit;
use crate::log::{LogKind, LogReader, LogWriter};
use crate::memory::decode;
use crate::names::FileName;
use crate::run::{BlockCache, DataFile, Run, find_footers};
use crate::storage::Storage;
use crate::storage::simulated::Simulated;
use crate::{Maintenance, Options, Result};

/// A write-ahead log: as a file, and as one record's payload.
pub fn wal(bytes: &[u8]) {
    if let Ok(batch) = decode(bytes, "wal-000001", 0) {
        assert_eq!(batch.operations().count() as u64, u64::from(batch.len));
    }
    let storage = Simulated::new(1);
    put(&storage, "wal-000001", bytes);
    if let Ok(mut reader) = LogReader::open(&storage, LogKind::Wal, 1) {
        while reader.next().is_some() {}
        let _ = reader.end();
    }
}

/// A record of the manifest: what is read is written again as it was.
pub fn manifest_edit(bytes: &[u8]) {
    if let Ok(edit) = Edit::decode(bytes, "manifest-000001", 0) {
        let again = Edit::decode(&edit.encode(), "manifest-000001", 0);
        assert!(again.is_ok_and(|again| again == edit));
    }
}

/// A data file: as it is, and with right checksums.
pub fn data_file(bytes: &[u8]) {
    let _: Result<()> = read_data_file(bytes);
    if let Some(file) = crate::run::fuzzing::data_file(bytes) {
        let _: Result<()> = read_data_file(&file);
    }
}

fn read_data_file(bytes: &[u8]) -> Result<()> {
    let storage = Simulated::new(1);
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

/// A whole folder, of files that follow one another: a byte for the kind, two for the length, and the content. Records
/// of logs are a length of two bytes and the payload. All checksums are right, and files are numbered from 1 on.
pub fn folder(bytes: &[u8]) {
    let storage = Simulated::new(1);
    let mut rest = bytes;
    let mut number = 0;
    while let Some((&kind, behind)) = rest.split_first() {
        let Some((content, behind)) = piece(behind) else { break };
        number += 1;
        rest = behind;
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

fn read_folder(storage: Simulated) -> Result<()> {
    let options = Options::new().memtable_bytes(1 << 16).cache_bytes(1 << 16).maintenance(Maintenance::Inline);
    let database = options.open_on(Arc::new(storage))?;
    let _ = database.get(b"key0007");
    let _ = database.range(..)?.count();
    database.put(b"key0007", b"fuzzed")?;
    database.compact()
}

/// Two bytes of length, so many bytes, and the rest.
fn piece(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_at_checked(2)?;
    rest.split_at_checked(usize::from(u16_at(len, 0)))
}

fn put_log(storage: &dyn Storage, kind: LogKind, number: u64, mut content: &[u8]) {
    let mut log = LogWriter::create(storage, kind, number).expect("nothing goes wrong in memory");
    while let Some((payload, rest)) = piece(content) {
        content = rest;
        if !payload.is_empty() {
            log.append(payload).expect("it is not empty");
        }
    }
    log.commit().expect("nothing goes wrong in memory");
}

fn put(storage: &dyn Storage, name: &str, bytes: &[u8]) {
    let file = storage.create(name).expect("nothing goes wrong in memory");
    file.append(bytes).expect("nothing goes wrong in memory");
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    type Target = fn(&[u8]);

    /// What fuzzers began with and have found.
    #[test]
    fn the_corpora_do_no_harm() {
        let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        let targets: [(&str, Target); 4] = [
            ("rlsm_wal", super::wal),
            ("rlsm_manifest", super::manifest_edit),
            ("rlsm_data_file", super::data_file),
            ("rlsm_folder", super::folder),
        ];
        for (name, target) in targets {
            let files: Vec<_> = fs::read_dir(corpora.join(name)).unwrap().collect();
            assert!(!files.is_empty(), "the corpus of {name} is empty");
            for file in files {
                target(&fs::read(file.unwrap().path()).unwrap());
            }
        }
    }
}
