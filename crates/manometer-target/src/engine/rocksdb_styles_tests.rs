//! RocksDB's other compaction styles, each through an options file in RocksDB's format.

use std::collections::BTreeMap;

use manometer_measure::ManualClock;

use super::*;

const RECORDS: u32 = 4_000;
const VALUE: [u8; 1_000] = [b'v'; 1_000];

/// An options file whose column family has `lines`.
fn options_file(folder: &Path, lines: &str) -> EngineOptions {
    let path = folder.join("options.ini");
    let text = format!(
        "[Version]\n  rocksdb_version={}\n  options_file_version=1.1\n[DBOptions]\n  max_background_jobs=2\n\
         [CFOptions \"default\"]\n  compression=kNoCompression\n  write_buffer_size=262144\n{lines}\n\
         [TableOptions/BlockBasedTable \"default\"]\n  block_size=4096\n",
        version()
    );
    std::fs::write(&path, text).unwrap();
    EngineOptions::File(path)
}

fn put_all(engine: &RocksDb) {
    let mut session = engine.session();
    for key in 0..RECORDS {
        session.put(&key.to_be_bytes(), &VALUE).unwrap();
    }
    engine.settle().unwrap();
}

fn found(engine: &RocksDb) -> Vec<u32> {
    let mut session = engine.session();
    let mut there = |key: &u32| match session.get(&key.to_be_bytes()).unwrap() {
        Some(value) => {
            assert_eq!(value, VALUE);
            true
        }
        None => false,
    };
    (0..RECORDS).filter(|key| there(key)).collect()
}

fn row(engine: &RocksDb) -> BTreeMap<String, f64> {
    engine.state_sampler().sample(&ManualClock::at(0))
}

fn levels(row: &BTreeMap<String, f64>, what: &str) -> f64 {
    row.iter().filter(|(name, _)| name.starts_with("level") && name.ends_with(what)).map(|(_, value)| value).sum()
}

fn level_files(row: &BTreeMap<String, f64>) -> f64 {
    levels(row, "_files")
}

#[test]
fn universal_compaction_keeps_what_is_put() {
    let (dir, database) = disk();
    let lines = "  compaction_style=kCompactionStyleUniversal\n  compaction_options_universal={min_merge_width=2;}";
    let options = options_file(dir.path(), lines);
    let engine = open(&database, &options).unwrap();
    assert_eq!(engine.facts()["options"]["compaction_style"], "kCompactionStyleUniversal");
    put_all(&engine);
    assert_eq!(found(&engine).len(), RECORDS as usize);
    let before = row(&engine);
    // Runs of the same age are merged completely: sorted data is in the lowest level.
    assert!(before["level6_bytes"] > 1e6 && level_files(&before) >= 1.0, "{before:?}");
    drop(engine);
    let engine = open(&database, &options).unwrap();
    assert_eq!(found(&engine).len(), RECORDS as usize);
    assert_eq!(row(&engine)["level6_bytes"], before["level6_bytes"]);
}

#[test]
fn fifo_compaction_drops_the_oldest_and_keeps_the_rest() {
    let (dir, database) = disk();
    let lines = "  compaction_style=kCompactionStyleFIFO\n  \
                 compaction_options_fifo={max_table_files_size=2097152;allow_compaction=false;}";
    let options = options_file(dir.path(), lines);
    let engine = open(&database, &options).unwrap();
    put_all(&engine);
    let kept = found(&engine);
    // About half of 4 MB is deleted, the oldest first; the rest stays whole and in the first level.
    assert!((1_000..3_000).contains(&kept.len()), "{} records", kept.len());
    assert!(kept.iter().copied().eq(RECORDS - kept.len() as u32..RECORDS));
    let state = row(&engine);
    assert!(state["level0_files"] > 1.0 && state["level0_files"] == level_files(&state), "{state:?}");
    assert!(state["level0_bytes"] <= 2_097_152.0, "{state:?}");
    drop(engine);
    assert_eq!(found(&open(&database, &options).unwrap()), kept);
}

#[test]
fn blobs_are_reported_beside_the_levels() {
    let (dir, database) = disk();
    let lines = "  enable_blob_files=true\n  min_blob_size=512\n  blob_compression_type=kNoCompression\n  \
                 enable_blob_garbage_collection=true";
    let options = options_file(dir.path(), lines);
    let engine = open(&database, &options).unwrap();
    assert_eq!(row(&engine)["blob_files"], 0.0);
    put_all(&engine);
    engine.session().put(b"short", b"in the table").unwrap();
    assert_eq!(found(&engine).len(), RECORDS as usize);
    let state = row(&engine);
    let values = f64::from(RECORDS) * VALUE.len() as f64;
    let levels = levels(&state, "_bytes");
    assert!(state["blob_files"] >= 1.0 && state["blob_bytes"] >= values, "{state:?}");
    assert!(levels < values / 4.0, "the tables hold keys alone: {state:?}");
    drop(engine);
    let engine = open(&database, &options).unwrap();
    assert_eq!(found(&engine).len(), RECORDS as usize);
    assert_eq!(engine.session().get(b"short").unwrap(), Some(b"in the table".as_slice()));
    assert_eq!(row(&engine)["blob_files"], state["blob_files"]);
}

#[test]
fn a_database_of_nine_levels_reports_all_of_them() {
    let (dir, database) = disk();
    let options = options_file(dir.path(), "  num_levels=9");
    let engine = open(&database, &options).unwrap();
    put_all(&engine);
    let (row, columns) = (row(&engine), engine.state_sampler().columns());
    assert!(["level8_bytes", "level8_files"].iter().all(|name| columns.iter().any(|column| column.name == *name)));
    assert!(!row.contains_key("level9_files"));
    // Flushed data moves to the lowest level.
    assert!(row["level8_bytes"] > 1e6 && row["level7_bytes"] == 0.0, "{row:?}");
}
