//! Statistics, verification, backup and repair, of sound and of damaged databases.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rlsm::{Database, Error, Maintenance, Options, RepairReport, Sync};

use crate::support::{Model, all};

fn options() -> Options {
    Options::new().memtable_bytes(64 << 10).sync(Sync::Never).maintenance(Maintenance::Inline).stale_ratio(0.1)
}

fn key(number: u32) -> Vec<u8> {
    format!("key{:05}", number * 7919 % 100_003).into_bytes()
}

fn value(number: u32, round: u32) -> Vec<u8> {
    format!("{number}-{round}-").into_bytes().repeat(12)
}

/// Writes enough for several ranges, runs in both levels, obsolete runs, and writes in the WAL only.
fn fill(database: &Database) -> Model {
    let mut model = Model::new();
    for round in 0..3 {
        for number in 0..3000 {
            database.put(&key(number), &value(number, round)).unwrap();
            model.insert(key(number), value(number, round));
        }
    }
    for number in (0..3000).step_by(5) {
        database.delete(&key(number)).unwrap();
        model.remove(&key(number));
    }
    database.delete_range(b"key00100", b"key02000").unwrap();
    model.retain(|key, _| key.as_slice() < b"key00100" || key.as_slice() >= b"key02000");
    for number in 5000..5020 {
        database.put(&key(number), b"in the log").unwrap();
        model.insert(key(number), b"in the log".to_vec());
    }
    model
}

fn create() -> (tempfile::TempDir, Model) {
    let directory = tempfile::tempdir().unwrap();
    let database = options().open(directory.path()).unwrap();
    let model = fill(&database);
    let stats = database.stats().unwrap();
    assert!(stats.ranges > 1 && stats.level0_runs > 0 && stats.memtable_entries > 0, "{stats:?}");
    (directory, model)
}

/// The engine's files of a kind, in order.
fn files(directory: &Path, kind: &str) -> Vec<PathBuf> {
    let engines = |name: &str| name.strip_prefix(kind).is_some_and(|rest| rest[1..].parse::<u64>().is_ok());
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| engines(name)).collect();
    names.sort_unstable();
    names.iter().map(|name| directory.join(name)).collect()
}

fn everything(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

fn flip(file: &Path, offset: u64) {
    let file = fs::File::options().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Asserts that all old files exist under other names, with the same content.
fn assert_old_files_are_kept(before: &BTreeMap<String, Vec<u8>>, directory: &Path, repair: &RepairReport) {
    let after = everything(directory);
    for (name, bytes) in before.iter().filter(|(name, _)| *name != "LOCK") {
        let aside = repair.moved_aside.iter().find(|aside| aside.starts_with(name.as_str()));
        assert_eq!(&after[aside.unwrap()], bytes, "{name}");
    }
}

#[test]
fn statistics_add_up() {
    let directory = tempfile::tempdir().unwrap();
    let database = options().open(directory.path()).unwrap();
    let new = database.stats().unwrap();
    assert_eq!((new.user_bytes, new.ranges, new.level0_runs, new.snapshots), (0, 0, 0, 0));
    assert_eq!((new.write_amplification(), new.range_runs_mean(), new.index_bytes_per_entry()), (None, None, None));
    for number in 0..2000 {
        database.put(&key(number), &value(number, 0)).unwrap();
    }
    let snapshot = database.snapshot();
    let stats = database.stats().unwrap();
    let user_bytes: usize = (0..2000).map(|number| key(number).len() + value(number, 0).len()).sum();
    assert_eq!(stats.user_bytes, user_bytes as u64);
    assert!(stats.log_bytes > stats.user_bytes);
    assert!(stats.flushes > 0 && stats.flush_bytes > 0 && stats.manifest_bytes > 0);
    assert_eq!(stats.level0_entries + stats.level1_entries + stats.memtable_entries, 2000);
    assert_eq!(stats.snapshots, 1);
    let sum =
        stats.log_bytes + stats.flush_bytes + stats.compaction_bytes + stats.rebalance_bytes + stats.manifest_bytes;
    assert_eq!(stats.write_amplification(), Some(sum as f64 / user_bytes as f64));
    drop(snapshot);
    database.compact().unwrap();
    let stats = database.stats().unwrap();
    assert_eq!((stats.level0_runs, stats.memtable_entries, stats.snapshots), (0, 0, 0));
    assert_eq!((stats.level1_runs, stats.range_runs_max), (stats.ranges, 1));
    assert_eq!((stats.level1_entries, stats.entry_bytes), (2000, user_bytes as u64));
    assert!(stats.compactions > 0 && stats.rebalance_bytes > 0);
    assert!(stats.compacting > Duration::ZERO && stats.compaction_memory_bytes > 0, "{stats:?}");
    assert!(stats.space_bytes >= stats.level1_bytes / 2 && stats.data_files > 0 && stats.logs >= 1);
    assert_eq!(database.get(&key(7)).unwrap().as_deref(), Some(value(7, 0).as_slice()));
    let read = database.stats().unwrap();
    assert!(read.cache_hits + read.cache_misses > stats.cache_hits + stats.cache_misses);
}

/// The data files without a run in use.
fn unused_files(database: &Database, directory: &Path) -> Vec<PathBuf> {
    let layout = database.layout();
    let named: BTreeSet<String> =
        layout.ranges.into_iter().flat_map(|range| range.runs).chain(layout.level0).map(|run| run.file).collect();
    let is_unused = |file: &PathBuf| !named.contains(file.file_name().unwrap().to_str().unwrap());
    files(directory, "data").into_iter().filter(is_unused).collect()
}

#[test]
fn the_space_of_replaced_runs_is_reclaimed_at_once() {
    for maintenance in [Maintenance::Inline, Maintenance::Background] {
        let directory = tempfile::tempdir().unwrap();
        let database = options().maintenance(maintenance).open(directory.path()).unwrap();
        let model = fill(&database);
        database.settle().unwrap();
        assert_eq!(unused_files(&database, directory.path()), Vec::<PathBuf>::new());
        let iterator = database.range(..).unwrap();
        database.compact().unwrap();
        assert!(!unused_files(&database, directory.path()).is_empty(), "the iterator reads what was replaced");
        drop(iterator);
        drop(database);
        let database = options().open_read_only(directory.path()).unwrap();
        assert_eq!(unused_files(&database, directory.path()), Vec::<PathBuf>::new());
        assert_eq!(all(&database).unwrap(), model);
    }
}

#[test]
fn verifying_a_sound_database_changes_nothing() {
    let (directory, model) = create();
    let before = everything(directory.path());
    let verification = rlsm::verify(directory.path()).unwrap();
    assert_eq!(verification.problems, []);
    assert!(verification.runs > 2 && verification.entries >= model.len() as u64 && verification.logs == 1);
    let repair = rlsm::repair(directory.path()).unwrap();
    assert!(!repair.was_needed && repair.moved_aside.is_empty());
    assert_eq!(everything(directory.path()), before);
    let database = options().open(directory.path()).unwrap();
    assert!(matches!(rlsm::verify(directory.path()), Err(Error::Locked { .. })));
    assert!(database.verify().is_sound());
    assert_eq!(all(&database).unwrap(), model);
    let (layout, there) = (database.layout(), everything(directory.path()));
    let runs = layout.ranges.iter().flat_map(|range| &range.runs).chain(&layout.level0);
    runs.for_each(|run| assert!(there.contains_key(&run.file), "there is no `{}`", run.file));
}

#[test]
fn opening_read_only_changes_nothing() {
    let (directory, model) = create();
    let before = everything(directory.path());
    let database = options().open_read_only(directory.path()).unwrap();
    assert_eq!(all(&database).unwrap(), model);
    assert!(database.verify().is_sound());
    let layout = database.layout();
    assert!(!layout.level0.is_empty() && layout.ranges.len() > 1);
    assert!(layout.ranges.windows(2).all(|pair| pair[0].high < pair[1].low));
    for refused in [database.put(b"a", b"b"), database.flush(), database.compact(), database.settle()] {
        assert!(matches!(refused, Err(Error::Invalid { .. })));
    }
    drop(database);
    assert_eq!(everything(directory.path()), before);
}

#[test]
fn a_missing_database_is_reported_and_not_created() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    let errors = [
        rlsm::verify(directory.path()).err(),
        rlsm::repair(directory.path()).err(),
        options().open_read_only(directory.path()).err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(Error::Invalid { .. })), "{error:?}");
    }
    assert!(matches!(rlsm::verify(directory.path().join("nowhere")), Err(Error::Io { .. })));
    assert_eq!(everything(directory.path()).len(), 1);
}

#[test]
fn every_flipped_bit_of_a_data_file_is_reported_with_its_file() {
    let (directory, _) = create();
    let file = files(directory.path(), "data").pop().unwrap();
    let len = fs::metadata(&file).unwrap().len();
    let whole = fs::read(&file).unwrap();
    for offset in (0..len).step_by(len as usize / 40) {
        // Reclaimed space and padding belong to no run.
        flip(&file, offset);
        let verification = rlsm::verify(directory.path()).unwrap();
        let is_of_the_file = |problem: &rlsm::Problem| problem.file == name(&file) && problem.offset.is_some();
        assert!(verification.problems.iter().all(is_of_the_file), "{:?}", verification.problems);
        let spare = whole[offset as usize / 16 * 16..].iter().take(16).filter(|byte| **byte == 0).count() > 4;
        assert!(!verification.is_sound() || spare, "byte {offset} of {len}");
        flip(&file, offset);
    }
    assert!(rlsm::verify(directory.path()).unwrap().is_sound());
}

#[test]
fn a_backup_is_an_independent_database() {
    let (directory, model) = create();
    let database = options().open(directory.path()).unwrap();
    let backups = tempfile::tempdir().unwrap();
    let backup = backups.path().join("new/one");
    database.backup(&backup).unwrap();
    for number in 0..3000 {
        database.put(&key(number), b"later").unwrap();
    }
    database.compact().unwrap();
    assert!(rlsm::verify(&backup).unwrap().is_sound());
    let copied = options().open(&backup).unwrap();
    assert_eq!(all(&copied).unwrap(), model);
    copied.put(b"only here", b"").unwrap();
    copied.compact().unwrap();
    assert!(database.get(b"only here").unwrap().is_none());
    let again = database.backup(&backup).unwrap_err();
    assert!(again.to_string().contains("not empty"), "{again}");
}

#[test]
fn a_backup_of_an_empty_database_is_empty() {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    options().open(directories[0].path()).unwrap().backup(directories[1].path()).unwrap();
    assert!(rlsm::verify(directories[1].path()).unwrap().is_sound());
    assert!(all(&options().open(directories[1].path()).unwrap()).unwrap().is_empty());
}

#[test]
fn a_repair_without_a_manifest_recovers_all_puts() {
    let (directory, model) = create();
    fs::remove_file(&files(directory.path(), "manifest")[0]).unwrap();
    let before = everything(directory.path());
    assert!(matches!(options().open(directory.path()), Err(Error::Corrupt { .. })));
    let verification = rlsm::verify(directory.path()).unwrap();
    assert!(verification.problems[0].description.contains("no manifest"), "{:?}", verification.problems);
    let repair = rlsm::repair(directory.path()).unwrap();
    assert!(repair.was_needed && !repair.had_manifest && repair.runs > 0 && repair.batches > 0);
    assert_old_files_are_kept(&before, directory.path(), &repair);
    assert!(rlsm::verify(directory.path()).unwrap().is_sound());
    let database = options().open(directory.path()).unwrap();
    let after = all(&database).unwrap();
    for (key, value) in &model {
        assert_eq!(after.get(key), Some(value), "{}", key.escape_ascii());
    }
    // There are no foreign keys, and surplus keys existed once.
    let was_there = |key: &Vec<u8>| (0..3000).any(|number| self::key(number) == *key);
    assert!(after.keys().all(|key| model.contains_key(key) || was_there(key)));
    database.put(b"and on it goes", b"").unwrap();
    drop(database);
    assert!(!rlsm::repair(directory.path()).unwrap().was_needed);
    assert!(options().open(directory.path()).unwrap().get(b"and on it goes").unwrap().is_some());
}

#[test]
fn a_repair_replaces_a_damaged_manifest() {
    let (directory, model) = create();
    let manifest = files(directory.path(), "manifest").pop().unwrap();
    for offset in [2, 40, fs::metadata(&manifest).unwrap().len() / 2] {
        flip(&manifest, offset);
    }
    let repair = rlsm::repair(directory.path()).unwrap();
    assert!(repair.was_needed && !repair.had_manifest);
    assert_eq!(repair.lost[0].file, name(&manifest));
    let after = all(&options().open(directory.path()).unwrap()).unwrap();
    assert!(model.iter().all(|(key, value)| after.get(key) == Some(value)));
}

#[test]
fn a_repair_loses_only_the_damaged_block() {
    let (directory, model) = create();
    let data = files(directory.path(), "data");
    let layout = options().open_read_only(directory.path()).unwrap().layout();
    let run = layout.ranges.iter().flat_map(|range| &range.runs).max_by_key(|run| run.stored_bytes).unwrap();
    let file = data.iter().find(|file| name(file) == run.file).unwrap();
    let sound = rlsm::verify(directory.path()).unwrap();
    // The middle of the run's blocks, which end before its footer or another run's blocks.
    let mut offset = run.footer_offset - run.stored_bytes / 2;
    while rlsm::verify(directory.path()).unwrap() == sound {
        offset -= 700;
        flip(file, offset);
    }
    let before = everything(directory.path());
    let repair = rlsm::repair(directory.path()).unwrap();
    assert!(repair.was_needed && repair.had_manifest);
    assert!(
        repair.lost.iter().all(|problem| problem.file == run.file && problem.offset.is_some()),
        "{:?}",
        repair.lost
    );
    assert_old_files_are_kept(&before, directory.path(), &repair);
    let after = all(&options().open(directory.path()).unwrap()).unwrap();
    let missing = model.iter().filter(|(key, value)| after.get(*key) != Some(value)).count();
    assert!((1..1000).contains(&missing), "{missing} of {}", model.len());
}

#[test]
fn a_missing_data_file_is_reported_with_its_keys() {
    let (directory, _) = create();
    let layout = options().open_read_only(directory.path()).unwrap().layout();
    let range = &layout.ranges[0];
    fs::remove_file(directory.path().join(&range.runs[0].file)).unwrap();
    assert!(options().open(directory.path()).is_err());
    let repair = rlsm::repair(directory.path()).unwrap();
    let is_reported =
        repair.lost.iter().any(|problem| problem.description.contains(&range.low.escape_ascii().to_string()));
    assert!(is_reported, "{:?}", repair.lost);
    let database = options().open(directory.path()).unwrap();
    for number in 5000..5020 {
        assert_eq!(database.get(&key(number)).unwrap().as_deref(), Some(&b"in the log"[..]));
    }
}

#[test]
fn a_data_file_with_a_damaged_header_is_salvaged() {
    let (directory, model) = create();
    for file in files(directory.path(), "data") {
        flip(&file, 3);
    }
    let verification = rlsm::verify(directory.path()).unwrap();
    let data = files(directory.path(), "data");
    assert_eq!(verification.problems.len(), data.len());
    assert!(verification.entries > model.len() as u64);
    let repair = rlsm::repair(directory.path()).unwrap();
    assert_eq!(repair.lost.len(), data.len());
    assert_eq!(all(&options().open(directory.path()).unwrap()).unwrap(), model);
}

#[test]
fn a_log_is_salvaged_up_to_its_damage() {
    let directory = tempfile::tempdir().unwrap();
    let synced = options().sync(Sync::Always);
    let database = synced.open(directory.path()).unwrap();
    for number in 0..100 {
        database.put(&key(number), &value(number, 0)).unwrap();
    }
    drop(database);
    let log = files(directory.path(), "wal").pop().unwrap();
    let len = fs::metadata(&log).unwrap().len();
    flip(&log, len / 2);
    assert!(matches!(synced.open(directory.path()), Err(Error::Corrupt { .. })));
    let verification = rlsm::verify(directory.path()).unwrap();
    assert_eq!(verification.problems.len(), 1);
    assert_eq!(verification.problems[0].file, name(&log));
    let repair = rlsm::repair(directory.path()).unwrap();
    assert!(repair.had_manifest && repair.lost.len() == 1 && repair.lost[0].description.contains("lost"), "{repair:?}");
    assert!((40..60).contains(&repair.batches), "{}", repair.batches);
    let after = all(&synced.open(directory.path()).unwrap()).unwrap();
    assert_eq!(after.len() as u64, repair.entries);
    assert!((0..repair.batches as u32).all(|number| after[&key(number)] == value(number, 0)));
}
