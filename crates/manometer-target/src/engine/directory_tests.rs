use std::fs;

use manometer_testing::memory_file_system;

use super::*;

/// A directory on a disk: one in memory is refused.
fn disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn marker() -> DatabaseManifest {
    DatabaseManifest {
        engine: "rocksdb".to_owned(),
        engine_version: "1".to_owned(),
        options: Value::Null,
        records: 10,
        form: "ycsb".to_owned(),
        value_bytes: 1000,
        load: "bulk".to_owned(),
        seed: 1,
        loaded: false,
        changed: false,
        made_at_unix_ns: 0,
    }
}

fn prepare(
    dir: &tempfile::TempDir,
    marker: DatabaseManifest,
    existing: DatabaseReuse,
) -> Result<DatabaseDirectory, EngineError> {
    DatabaseDirectory::prepare(&dir.path().join("primary"), marker, existing)
}

fn loaded(dir: &tempfile::TempDir) {
    let mut made = prepare(dir, marker(), DatabaseReuse::Remake).unwrap();
    fs::write(made.database().join("data"), "x").unwrap();
    made.set_loaded().unwrap();
}

#[test]
fn an_equal_database_is_reused_only_on_request() {
    let dir = disk();
    loaded(&dir);
    let again = prepare(&dir, marker(), DatabaseReuse::Reuse).unwrap();
    assert!(again.is_reused() && again.database().join("data").exists());
    drop(again);
    let anew = prepare(&dir, marker(), DatabaseReuse::Remake).unwrap();
    assert!(!anew.is_reused() && !anew.database().join("data").exists());
}

#[test]
fn another_experiments_database_is_refused_and_kept() {
    let dir = disk();
    loaded(&dir);
    let error = prepare(&dir, DatabaseManifest { records: 11, ..marker() }, DatabaseReuse::Remake).unwrap_err();
    assert!(error.to_string().contains("records 10, wanted 11"), "{error}");
    let error = prepare(&dir, DatabaseManifest { records: 11, ..marker() }, DatabaseReuse::Reuse).unwrap_err();
    assert!(error.to_string().contains("cannot serve"), "{error}");
    assert!(prepare(&dir, marker(), DatabaseReuse::Reuse).unwrap().is_reused());
}

#[test]
fn another_seed_serves_when_reuse_is_allowed() {
    let dir = disk();
    loaded(&dir);
    assert!(prepare(&dir, DatabaseManifest { seed: 2, ..marker() }, DatabaseReuse::Remake).is_err());
    assert!(prepare(&dir, DatabaseManifest { seed: 2, ..marker() }, DatabaseReuse::Reuse).unwrap().is_reused());
}

#[test]
fn a_sweep_uses_its_own_equal_database_and_replaces_any_other() {
    let dir = disk();
    loaded(&dir);
    assert!(prepare(&dir, marker(), DatabaseReuse::Renew).unwrap().is_reused());
    let other = prepare(&dir, DatabaseManifest { records: 11, ..marker() }, DatabaseReuse::Renew).unwrap();
    assert!(!other.is_reused() && !other.database().join("data").exists());
}

#[test]
fn half_a_load_is_not_taken_for_a_load() {
    let dir = disk();
    let half = prepare(&dir, marker(), DatabaseReuse::Remake).unwrap();
    fs::write(half.database().join("data"), "x").unwrap();
    drop(half);
    assert!(matches!(
        prepare(&dir, DatabaseManifest { seed: 2, ..marker() }, DatabaseReuse::Reuse),
        Err(EngineError::DatabaseMismatch { .. })
    ));
    assert!(!prepare(&dir, marker(), DatabaseReuse::Reuse).unwrap().is_reused());
}

#[test]
fn a_database_that_a_run_has_changed_is_not_taken_for_the_loaded_one() {
    let dir = disk();
    loaded(&dir);
    prepare(&dir, marker(), DatabaseReuse::Reuse).unwrap().set_changed().unwrap();
    for wanted in [marker(), DatabaseManifest { seed: 2, ..marker() }] {
        let error = prepare(&dir, wanted, DatabaseReuse::Reuse).unwrap_err().to_string();
        assert!(error.contains("it was changed by a run that inserts or deletes"), "{error}");
    }
    let mut again = prepare(&dir, marker(), DatabaseReuse::Renew).unwrap();
    assert!(!again.is_reused() && !again.database().join("data").exists());
    again.set_loaded().unwrap();
    drop(again);
    assert!(prepare(&dir, marker(), DatabaseReuse::Reuse).unwrap().is_reused());
}

#[test]
fn what_is_not_ours_is_never_touched() {
    let dir = disk();
    let path = dir.path().join("primary");
    for (name, content) in [("letters.txt", "dear"), ("manometer.json", "{}"), ("db", "not even a directory")] {
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(name), content).unwrap();
        for existing in [DatabaseReuse::Remake, DatabaseReuse::Reuse, DatabaseReuse::Renew] {
            let error = prepare(&dir, marker(), existing).unwrap_err();
            assert!(matches!(&error, EngineError::ForeignFiles { found, .. } if found == name), "{error}");
        }
        assert_eq!(fs::read_to_string(path.join(name)).unwrap(), content);
        fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn a_second_run_waits_its_turn() {
    let dir = disk();
    let first = prepare(&dir, marker(), DatabaseReuse::Remake).unwrap();
    assert!(matches!(prepare(&dir, marker(), DatabaseReuse::Remake), Err(EngineError::Locked(_))));
    first.remove().unwrap();
    assert!(!dir.path().join("primary").exists());
}

#[test]
fn memory_is_refused() {
    let Some(memory) = memory_file_system() else { return };
    let path = &memory.join("manometer-test");
    assert!(matches!(
        DatabaseDirectory::prepare(path, marker(), DatabaseReuse::Remake),
        Err(EngineError::InMemoryFileSystem(_))
    ));
    assert!(!path.exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let dir = disk();
    let file = dir.path().join("primary");
    fs::write(&file, "in the way").unwrap();
    let error = DatabaseDirectory::prepare(&file.join("below"), marker(), DatabaseReuse::Remake).unwrap_err();
    assert!(error.to_string().contains("below"), "{error}");
}

#[test]
fn a_database_keeps_its_creators_description() {
    let dir = disk();
    loaded(&dir);
    let other = DatabaseManifest { seed: 2, ..marker() };
    let mut used = prepare(&dir, other.clone(), DatabaseReuse::Reuse).unwrap();
    used.set_changed().unwrap();
    drop(used);
    let error = prepare(&dir, other, DatabaseReuse::Remake).unwrap_err().to_string();
    assert!(error.contains("seed 1, wanted 2"), "{error}");
}

#[test]
fn a_database_differs_from_an_equal_one_that_was_made_before() {
    let dir = disk();
    let path = dir.path().join("primary");
    loaded(&dir);
    let first = DatabaseManifest::read(&path).unwrap();
    assert!(first.serves(&marker(), false) && !first.serves(&DatabaseManifest { seed: 2, ..marker() }, false));
    assert!(first.serves(&DatabaseManifest { seed: 2, ..marker() }, true));
    drop(prepare(&dir, marker(), DatabaseReuse::Renew).unwrap());
    assert_eq!(DatabaseManifest::read(&path), Some(first.clone()), "it was used");
    prepare(&dir, marker(), DatabaseReuse::Remake).unwrap().set_loaded().unwrap();
    let second = DatabaseManifest::read(&path).unwrap();
    assert!(second.serves(&first, false) && second != first, "{second:?}");
}

#[test]
fn half_a_database_is_removed_and_a_whole_one_is_not() {
    let dir = disk();
    let path = dir.path().join("primary");
    loaded(&dir);
    remove_incomplete(open(&path).unwrap()).unwrap();
    assert!(path.join("db/data").exists());
    let half = prepare(&dir, marker(), DatabaseReuse::Remake).unwrap();
    assert!(matches!(remove_incomplete(open(&path).unwrap()), Err(EngineError::Locked(_))));
    drop(half);
    remove_incomplete(open(&path).unwrap()).unwrap();
    assert!(!path.exists());
}
