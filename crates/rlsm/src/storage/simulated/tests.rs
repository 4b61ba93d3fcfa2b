use std::collections::BTreeSet;

use super::*;

fn content(storage: &SimulatedStorage, name: &str) -> Vec<u8> {
    let file = storage.open(name).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn everything(storage: &SimulatedStorage) -> BTreeMap<String, Vec<u8>> {
    storage.list().unwrap().into_iter().map(|name| (name.clone(), content(storage, &name))).collect()
}

/// Non-zero bytes that depend on their position.
fn bytes(range: std::ops::Range<usize>) -> Vec<u8> {
    range.map(|at| (at % 251 + 1) as u8).collect()
}

/// A durable file of `synced` bytes, then `unsynced` more.
fn file(storage: &SimulatedStorage, name: &str, synced: usize, unsynced: usize) -> Arc<dyn File> {
    let file = storage.create(name).unwrap();
    file.append(&bytes(0..synced)).unwrap();
    file.sync().unwrap();
    storage.sync_directory().unwrap();
    file.append(&bytes(synced..synced + unsynced)).unwrap();
    file
}

fn errno(error: &io::Error) -> Option<i32> {
    error.raw_os_error()
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

#[test]
fn it_behaves_as_a_directory_of_files() {
    let storage = SimulatedStorage::new(1);
    let file = storage.create("b").unwrap();
    file.append(b"0123456789").unwrap();
    assert_eq!(storage.create("b").err().unwrap().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(storage.open("a").err().unwrap().kind(), io::ErrorKind::NotFound);
    assert_eq!(file.read_at(&mut [0; 3], 8).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    file.punch(2, 3).unwrap();
    file.truncate(7).unwrap();
    file.append(b"x").unwrap();
    storage.create("a").unwrap();
    storage.rename("b", "a").unwrap();
    assert_eq!(everything(&storage), BTreeMap::from([("a".to_owned(), b"01\0\0\x0056x".to_vec())]));
    storage.remove("a").unwrap();
    assert!(storage.list().unwrap().is_empty());
    assert_eq!(file.len().unwrap(), 8);
    let held = storage.lock().unwrap().unwrap();
    assert!(storage.clone().lock().unwrap().is_none());
    drop(held);
    assert!(storage.lock().unwrap().is_some());
}

#[test]
fn a_copy_is_durable_but_for_its_name() {
    let (from, to) = (SimulatedStorage::new(1), SimulatedStorage::new(2));
    file(&from, "a", 5000, 5000);
    from.copy("a", &to).unwrap();
    to.sync_directory().unwrap();
    assert_eq!(content(&to.reboot(), "a"), bytes(0..10_000));
}

#[test]
fn synced_bytes_survive_every_crash() {
    for seed in 0..500 {
        let storage = SimulatedStorage::new(seed);
        let file = file(&storage, "a", 5000, 20_000);
        file.truncate(9000).unwrap();
        file.append(&bytes(9000..15_000)).unwrap();
        let after_crash = content(&storage.reboot(), "a");
        assert_eq!(after_crash[..5000], bytes(0..5000), "seed {seed}");
        file.sync().unwrap_err();
    }
}

#[test]
fn a_second_crash_loses_nothing_more() {
    for seed in 0..100 {
        let storage = SimulatedStorage::new(seed);
        file(&storage, "a", 5000, 20_000);
        storage.create("b").unwrap();
        let twice = storage.reboot().reboot();
        assert_eq!(everything(&twice), everything(&storage.reboot()), "seed {seed}");
    }
}

#[test]
fn the_seed_determines_what_survives() {
    let after_crash = |seed| {
        let storage = SimulatedStorage::new(seed);
        storage.fail_at(4, Fault::Append);
        for name in ["a", "b", "c"] {
            let file = storage.create(name).unwrap();
            let _ = file.append(&bytes(0..30_000));
        }
        storage.rename("a", "d").unwrap();
        everything(&storage.reboot())
    };
    let distinct: BTreeSet<_> = (0..50).map(after_crash).collect();
    assert!(distinct.len() > 20, "{} different ones", distinct.len());
    for seed in 0..50 {
        assert_eq!(after_crash(seed), after_crash(seed));
    }
}

/// What a crash did to the unsynced bytes of a file of 100 + 20,000 bytes.
fn unsynced_fate(after_crash: &[u8]) -> &'static str {
    let whole = bytes(0..20_100);
    let same = after_crash.iter().zip(&whole).take_while(|(left, right)| left == right).count();
    match after_crash.len() {
        100 => "lost",
        20_100 if same == 20_100 => "kept",
        len if same == len => "a prefix",
        _ if after_crash[same..].iter().zip(&whole[same..]).any(|(left, right)| left == right) => "a hole",
        _ => "a tail of zeros",
    }
}

#[test]
fn unsynced_appends_survive_in_every_way() {
    let mut fates = BTreeSet::new();
    for seed in 0..300 {
        let storage = SimulatedStorage::new(seed);
        file(&storage, "a", 100, 20_000);
        let after_crash = content(&storage.reboot(), "a");
        assert!(after_crash.iter().zip(bytes(0..20_100)).all(|(left, right)| *left == 0 || *left == right));
        fates.insert(unsynced_fate(&after_crash));
    }
    assert_eq!(fates, BTreeSet::from(["lost", "kept", "a prefix", "a hole", "a tail of zeros"]));
}

#[test]
fn an_unsynced_truncation_or_hole_happened_or_not() {
    let mut lengths = BTreeSet::new();
    let mut is_punched = BTreeSet::new();
    for seed in 0..100 {
        let storage = SimulatedStorage::new(seed);
        file(&storage, "a", 10_000, 0).truncate(6000).unwrap();
        file(&storage, "b", 10_000, 0).punch(4096, 4096).unwrap();
        let after = storage.reboot();
        lengths.insert(content(&after, "a").len());
        is_punched.insert(content(&after, "b")[8191] == 0);
        assert_eq!(content(&after, "b")[..4096], bytes(0..4096));
        assert_eq!(content(&after, "b")[8192..], bytes(8192..10_000));
    }
    assert_eq!(lengths, BTreeSet::from([6000, 10_000]));
    assert_eq!(is_punched, BTreeSet::from([false, true]));
}

#[test]
fn an_unsynced_name_may_vanish_and_a_synced_one_stays() {
    let mut survived = BTreeSet::new();
    for seed in 0..100 {
        let storage = SimulatedStorage::new(seed);
        file(&storage, "synced", 10, 0);
        storage.create("one").unwrap().sync().unwrap();
        storage.create("two").unwrap().sync().unwrap();
        survived.insert(storage.reboot().list().unwrap());
    }
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let all = [&["synced"][..], &["one", "synced"], &["synced", "two"], &["one", "synced", "two"]];
    assert_eq!(survived, all.into_iter().map(names).collect());
}

#[test]
fn an_unsynced_rename_leaves_one_name_or_the_other() {
    let mut survived = BTreeSet::new();
    for seed in 0..100 {
        let storage = SimulatedStorage::new(seed);
        for (name, content) in [("old", b"1"), ("new", b"2")] {
            let file = storage.create(name).unwrap();
            file.append(content).unwrap();
            file.sync().unwrap();
        }
        storage.sync_directory().unwrap();
        storage.rename("new", "old").unwrap();
        survived.insert(everything(&storage.reboot()));
    }
    let before = BTreeMap::from([("new".to_owned(), b"2".to_vec()), ("old".to_owned(), b"1".to_vec())]);
    let after = BTreeMap::from([("old".to_owned(), b"2".to_vec())]);
    assert_eq!(survived, BTreeSet::from([before, after]));
}

#[test]
fn an_unsynced_removal_may_be_undone() {
    let survived: BTreeSet<_> = (0..50)
        .map(|seed| {
            let storage = SimulatedStorage::new(seed);
            file(&storage, "a", 10, 0);
            storage.remove("a").unwrap();
            everything(&storage.reboot())
        })
        .collect();
    assert_eq!(survived, BTreeSet::from([BTreeMap::new(), BTreeMap::from([("a".to_owned(), bytes(0..10))])]));
}

#[test]
fn a_failed_sync_loses_bytes_for_good() {
    for seed in 0..200 {
        let storage = SimulatedStorage::new(seed);
        let file = file(&storage, "a", 5000, 20_000);
        storage.fail_at(0, Fault::Sync);
        assert_eq!(errno(&file.sync().unwrap_err()), Some(EIO));
        assert_eq!(content(&storage, "a"), bytes(0..25_000), "it can still be read");
        file.sync().unwrap();
        let after_crash = content(&storage.reboot(), "a");
        assert_eq!(after_crash.len(), 25_000);
        assert_eq!(after_crash[..5000], bytes(0..5000));
        assert!(after_crash[5000..8192].iter().all(|byte| *byte == 0), "seed {seed}");
    }
}

#[test]
fn bytes_synced_after_a_failed_sync_survive() {
    for seed in 0..200 {
        let storage = SimulatedStorage::new(seed);
        let file = file(&storage, "a", 5000, 20_000);
        storage.fail_at(0, Fault::Sync);
        file.sync().unwrap_err();
        file.append(&bytes(25_000..40_000)).unwrap();
        file.sync().unwrap();
        assert_eq!(content(&storage.reboot(), "a")[25_000..], bytes(25_000..40_000));
    }
}

#[test]
fn a_failed_append_leaves_any_part() {
    let lengths: BTreeSet<_> = (0..100)
        .map(|seed| {
            let storage = SimulatedStorage::new(seed);
            let file = storage.create("a").unwrap();
            storage.fail_at(2, Fault::Append);
            assert_eq!(errno(&file.append(&bytes(0..9)).unwrap_err()), Some(EIO));
            file.append(b"").unwrap();
            let arrived = content(&storage, "a");
            assert_eq!(arrived, bytes(0..arrived.len()));
            arrived.len()
        })
        .collect();
    assert_eq!(lengths, (0..=9).collect());
}

#[test]
fn a_fault_strikes_the_first_operation_it_applies_to() {
    let storage = SimulatedStorage::new(1);
    let file = file(&storage, "a", 10, 0);
    let now = storage.operations();
    storage.fail_at(now + 1, Fault::Read);
    file.append(b"x").unwrap();
    file.sync().unwrap();
    assert_eq!(errno(&file.read_at(&mut [0], 0).unwrap_err()), Some(EIO));
    file.read_at(&mut [0], 0).unwrap();

    storage.fail_at(now + 6, Fault::Any);
    file.read_at(&mut [0], 0).unwrap();
    assert_eq!(errno(&file.len().unwrap_err()), Some(EIO));
    file.len().unwrap();
    assert_eq!(storage.operations(), now + 7);
}

#[test]
fn a_full_device_refuses_operations_that_take_space() {
    let storage = SimulatedStorage::new(1);
    let file = file(&storage, "a", 10, 0);
    let refused = |error: io::Error| assert_eq!(errno(&error), Some(ENOSPC));
    for _ in 0..3 {
        storage.fail_at(0, Fault::NoSpace);
    }
    file.len().unwrap();
    storage.sync_directory().unwrap();
    refused(storage.create("b").err().unwrap());
    refused(storage.rename("a", "b").unwrap_err());
    refused(file.append(b"0").unwrap_err());
    assert_eq!(storage.list().unwrap(), ["a"]);
    file.append(b"0").unwrap();
    storage.remove("a").unwrap();
}

#[test]
fn after_a_crash_everything_fails_until_the_reboot() {
    let storage = SimulatedStorage::new(1);
    let file = file(&storage, "a", 10, 0);
    storage.crash_at_operation(storage.operations() + 2);
    file.append(b"0").unwrap();
    assert!(!storage.crashed());
    assert!(file.sync().is_err());
    assert!(storage.crashed());
    let operations = storage.operations();
    assert!(file.append(b"0").is_err());
    assert!(file.len().is_err());
    assert!(storage.list().is_err());
    assert!(storage.lock().is_err());
    assert!(storage.create("b").is_err());
    assert_eq!(storage.operations(), operations);
    let after = storage.reboot();
    assert_eq!(after.operations(), 0);
    assert!(!after.crashed());
    assert_eq!(after.list().unwrap(), ["a"]);
    assert!(file.len().is_err(), "a file of the machine that crashed");
}

#[test]
fn a_crash_waits_for_the_nth_arrival_at_a_point() {
    let storage = SimulatedStorage::new(1);
    storage.crash_at_point("flush: synced", 2);
    storage.fail_point("flush: synced");
    storage.fail_point("flush: begun");
    storage.list().unwrap();
    storage.fail_point("flush: synced");
    assert!(storage.crashed());
    assert!(storage.list().is_err());
    storage.fail_point("flush: begun");
    assert_eq!(storage.fail_points(), BTreeMap::from([("flush: begun", 1), ("flush: synced", 2)]));
    assert!(storage.reboot().fail_points().is_empty());
}

#[test]
fn a_crash_on_demand_stops_the_machine() {
    let storage = SimulatedStorage::new(1);
    storage.crash();
    assert!(storage.list().is_err());
}

#[test]
fn a_flipped_bit_is_read_before_and_after_a_crash() {
    let storage = SimulatedStorage::new(1);
    file(&storage, "a", 10, 0);
    storage.flip_bit("a", 3, 7).unwrap();
    let mut expected = bytes(0..10);
    expected[3] ^= 0x80;
    assert_eq!(content(&storage, "a"), expected);
    assert_eq!(content(&storage.reboot(), "a"), expected);
    assert_eq!(storage.flip_bit("b", 0, 0).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(storage.flip_bit("a", 10, 0).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(storage.flip_bit("a", 0, 8).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn many_threads_use_it_at_once() {
    let storage = SimulatedStorage::new(1);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let storage = storage.clone();
            scope.spawn(move || {
                let file = storage.create(&format!("data-{thread}")).unwrap();
                for at in 0..100 {
                    file.append(&bytes(at * 100..(at + 1) * 100)).unwrap();
                    file.sync().unwrap();
                    storage.sync_directory().unwrap();
                }
            });
        }
    });
    assert_eq!(storage.operations(), 4 * 301);
    let after = storage.reboot();
    for thread in 0..4 {
        assert_eq!(content(&after, &format!("data-{thread}")), bytes(0..10_000));
    }
}

#[test]
fn acknowledged_syncs_of_many_threads_survive_a_crash() {
    for seed in 0..50 {
        let storage = SimulatedStorage::new(seed);
        let files: Vec<_> = (0..3).map(|thread| storage.create(&thread.to_string()).unwrap()).collect();
        storage.sync_directory().unwrap();
        storage.crash_at_operation(20 + seed);
        let acknowledged: Vec<usize> = std::thread::scope(|scope| {
            let write = |file: &Arc<dyn File>| {
                let piece = |at: usize| bytes(at * 3000..(at + 1) * 3000);
                let is_durable = |at: &usize| file.append(&piece(*at)).and_then(|()| file.sync()).is_ok();
                3000 * (0..).take_while(is_durable).count()
            };
            let threads: Vec<_> = files.iter().map(|file| scope.spawn(move || write(file))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(storage.crashed());
        let after = storage.reboot();
        for (thread, len) in acknowledged.into_iter().enumerate() {
            assert_eq!(content(&after, &thread.to_string())[..len], bytes(0..len), "seed {seed}");
        }
    }
}
