//! A full disk has its own error, and no request hangs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use manometer_measure::{Clock as _, MonotonicClock};
use manometer_target::engine::{Engine, EngineError, StorageKind};
use manometer_testing::SmallDisk;

use super::subject::{Counted, Subject, engines_of_this_host, record};

const DISK_BYTES: u64 = 48 << 20;
const VALUE_BYTES: usize = 64 << 10;

/// More values than the disk can hold.
const VALUES: u32 = 2 * (DISK_BYTES / VALUE_BYTES as u64) as u32;

/// A new disk for each engine, since engines and the file system's journal free space at their own time.
fn fill(write: impl Fn(&dyn Engine) -> Result<(), EngineError>) {
    for info in engines_of_this_host().filter(|info| info.storage == StorageKind::Disk) {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let Some(_disk) = SmallDisk::at(folder.path(), DISK_BYTES) else { return };
        let folder = folder.path().join(info.name);
        let engine = Subject::within(info, &folder).open();
        // An engine that buffers values in memory fails when it settles.
        let written = write(&*engine).and_then(|()| engine.settle());
        let error = written.expect_err("more was written than the disk holds");
        assert!(matches!(error, EngineError::NoSpace { .. }), "{}: {error}", info.name);
        drop(engine);
    }
}

#[test]
fn a_disk_that_fills_while_loading_is_named() {
    fill(|engine| {
        let mut records = Counted { value_bytes: 1_000, ..Counted::up_to(2 * DISK_BYTES as u32 / 1_000) };
        engine.load_sorted(&mut records)
    });
}

#[test]
fn a_disk_that_fills_while_writing_is_named() {
    fill(|engine| {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            // Some engines stall writers until there is room, unless their background work is checked.
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) && engine.check_background().is_ok() {
                    MonotonicClock.sleep(20_000_000);
                }
            });
            let mut session = engine.session();
            let written = (0..VALUES).try_for_each(|number| {
                let (key, value) = record(number, VALUE_BYTES);
                session.put(&key, &value)
            });
            done.store(true, Ordering::Relaxed);
            written
        })
    });
}
