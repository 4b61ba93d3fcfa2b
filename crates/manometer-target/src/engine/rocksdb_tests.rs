use std::ops::ControlFlow;

use manometer_measure::{Column, ManualClock};

use super::*;
use crate::engine::EngineOptions;

#[path = "rocksdb_styles_tests.rs"]
mod styles;

/// A directory on a disk, and the path of a database in it.
fn disk() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let database = dir.path().join("db");
    std::fs::create_dir(dir.path().join("load")).unwrap();
    (dir, database)
}

fn open(database: &Path, options: &EngineOptions) -> Result<RocksDb, EngineError> {
    RocksDb::open(&OpenRequest { directory: database, options, value_bytes: 100 })
}

fn inline(value: serde_json::Value) -> EngineOptions {
    let serde_json::Value::Object(table) = value else { panic!("{value}") };
    EngineOptions::Table(table)
}

/// Keys from `000000` on with equal values; may end early.
struct Counted {
    next: u32,
    end: u32,
    key: String,
    keep_going: bool,
}

impl Counted {
    fn up_to(end: u32) -> Self {
        Self { next: 0, end, key: String::new(), keep_going: true }
    }
}

impl SortedRecords for Counted {
    fn next(&mut self) -> Option<(&[u8], &[u8])> {
        if self.next == self.end {
            return None;
        }
        self.key = format!("{:06}", self.next);
        self.next += 1;
        Some((self.key.as_bytes(), &[7; 100]))
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        if self.keep_going { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[test]
fn the_version_is_the_librarys() {
    let version = version();
    assert!(version.split('.').count() == 3 && version.starts_with(|c: char| c.is_ascii_digit()), "{version}");
}

#[test]
fn the_list_of_option_names_is_the_librarys() {
    let (_dir, database) = disk();
    let engine = open(&database, &EngineOptions::default()).unwrap();
    let names = std::fs::read_dir(&database).unwrap().map(|entry| entry.unwrap().path());
    let path = names.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-")).max().unwrap();
    drop(engine);
    let text = std::fs::read_to_string(path).unwrap();
    let section = |start: &str| -> Vec<String> {
        let lines = text.lines().skip_while(|line| !line.starts_with(start)).skip(1);
        let lines = lines.take_while(|line| !line.starts_with('['));
        let mut names: Vec<String> = lines.filter_map(|line| Some(line.trim().split_once('=')?.0.to_owned())).collect();
        names.sort();
        names
    };
    assert_eq!(section("[DBOptions]"), names::DATABASE);
    assert_eq!(section("[CFOptions"), names::COLUMN_FAMILY);
    assert_eq!(section("[TableOptions"), names::TABLE);
}

#[test]
fn the_librarys_own_options_file_is_read_back() {
    let (_dir, database) = disk();
    let engine = open(&database, &inline(json!({"num_levels": 5, "block_size": 8192}))).unwrap();
    let given = engine.options_in_force().unwrap();
    assert_eq!(options::value_of(&given, "num_levels"), Some("5"));
    assert_eq!(options::value_of(&given, "block_size"), Some("8192"));
    options::build(&given).unwrap();
    assert_eq!(engine.facts()["options"]["num_levels"], "5");
}

#[test]
fn what_is_put_is_found_again_after_reopening() {
    let (_dir, database) = disk();
    for round in 0..2 {
        let engine = open(&database, &EngineOptions::default()).unwrap();
        let mut session = engine.session();
        if round == 0 {
            session.put(b"a", b"old").unwrap();
            session.put(b"a", b"new").unwrap();
        }
        assert_eq!(session.get(b"a").unwrap(), Some(b"new".as_slice()));
        assert_eq!(session.get(b"b").unwrap(), None);
    }
}

#[test]
fn a_bulk_load_lands_in_the_lowest_level() {
    let (_dir, database) = disk();
    let engine =
        open(&database, &inline(json!({"target_file_size_base": 65536, "compression": "kNoCompression"}))).unwrap();
    engine.load_sorted(&mut Counted::up_to(5000)).unwrap();
    engine.settle().unwrap();
    let mut session = engine.session();
    for key in [0, 1234, 4999] {
        assert!(session.get(format!("{key:06}").as_bytes()).unwrap().is_some(), "{key}");
    }
    let mut state = engine.state_sampler();
    let row = state.sample(&ManualClock::at(1_000_000_000));
    assert!(row["level6_bytes"] > 500_000.0 && row["level6_files"] > 2.0, "{row:?}");
    assert_eq!(row["level0_files"], 0.0);
}

#[test]
fn a_load_stops_on_request() {
    let (_dir, database) = disk();
    let engine = open(&database, &EngineOptions::default()).unwrap();
    let mut records = Counted { keep_going: false, ..Counted::up_to(u32::MAX) };
    engine.load_sorted(&mut records).unwrap();
    assert!(records.next < 10_000);
}

#[test]
fn every_column_is_reported_and_rates_need_two_looks() {
    let (_dir, database) = disk();
    let engine = open(&database, &inline(json!({"compression": "kNoCompression"}))).unwrap();
    let mut session = engine.session();
    let mut state = engine.state_sampler();
    assert!(!state.sample(&ManualClock::at(0)).contains_key("flushes"));
    for key in 0..100_u32 {
        session.put(&key.to_be_bytes(), &[1; 1000]).unwrap();
    }
    engine.settle().unwrap();
    let row = state.sample(&ManualClock::at(1_000_000_000));
    for Column { name, .. } in state.columns() {
        assert!(row.contains_key(&name), "{name} is missing: {row:?}");
    }
    assert_eq!(row.len(), state.columns().len());
    assert_eq!(row["flushes"], 1.0);
    // Written once to the log and once to a table.
    assert!((1.8..2.3).contains(&row["write_amplification"]), "{row:?}");
}

#[test]
fn a_database_in_use_is_named() {
    let (_dir, database) = disk();
    let _first = open(&database, &EngineOptions::default()).unwrap();
    assert!(matches!(open(&database, &EngineOptions::default()), Err(EngineError::Locked(_))));
}

#[test]
fn a_full_disk_has_an_error_of_its_own() {
    let full = rocksdb_error_from("IO error: No space left on device: While appending to file");
    assert!(matches!(full, EngineError::NoSpace { .. }), "{full}");
    let other = rocksdb_error_from("Corruption: bad block");
    assert!(matches!(other, EngineError::Failed { .. }), "{other}");
}

fn rocksdb_error_from(text: &str) -> EngineError {
    failure_text(Path::new("d"), "loading", text.to_owned())
}
