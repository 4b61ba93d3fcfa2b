//! Salvaging damaged runs, and recognising reclaimed ones.

use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::EntryKind;
use crate::entry::Entry;
use crate::run::{DataFileOptions, DataFileWriter, Order, Run};
use crate::storage::DiskStorage;

const ENTRIES: u32 = 2000;

/// A run of some hundred blocks, with a footer of more than a page.
fn run(directory: &std::path::Path, order: Order) -> Arc<Run> {
    let disk = DiskStorage::open(directory).unwrap();
    let mut writer = DataFileWriter::create(&disk, 1, &DataFileOptions::default()).unwrap();
    let run = writer.run(order, false, 1);
    let mut keys: Vec<Vec<u8>> = (0..ENTRIES).map(|number| format!("key{number:05}").into_bytes()).collect();
    if order == Order::Hash {
        keys.sort_by_key(|key| crate::hash::hash(key));
    }
    for (key, sequence) in keys.iter().zip(1..) {
        writer.push(run, Entry { key, sequence, kind: EntryKind::Put, value: &[7; 200] }).unwrap();
    }
    writer.finish().unwrap().1.remove(0)
}

fn salvaged(run: &Run) -> (usize, usize) {
    let (mut taken, mut lost) = (0, 0);
    run.salvage(&mut |_| taken += 1, &mut |_| lost += 1);
    (taken, lost)
}

fn overwrite(directory: &std::path::Path, offset: u64, bytes: &[u8]) {
    let file = std::fs::File::options().write(true).open(directory.join("data-000001")).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

#[test]
fn a_damaged_block_costs_its_own_entries() {
    for order in [Order::Hash, Order::Key] {
        let directory = tempfile::tempdir().unwrap();
        let run = run(directory.path(), order);
        assert_eq!(salvaged(&run), (ENTRIES as usize, 0));
        overwrite(directory.path(), 10_000, b"not what was written");
        let (taken, lost) = salvaged(&run);
        assert_eq!(lost, 1);
        assert!(taken >= ENTRIES as usize - 30 && taken < ENTRIES as usize, "{taken}");
    }
}

#[test]
fn a_run_is_reclaimed_if_all_its_pages_are_zero() {
    for order in [Order::Hash, Order::Key] {
        let directory = tempfile::tempdir().unwrap();
        let run = run(directory.path(), order);
        assert!(!run.is_reclaimed().unwrap());
        overwrite(directory.path(), 8192, &[0; 8192]);
        assert!(!run.is_reclaimed().unwrap(), "a single zeroed page is damage");
        for extent in run.extents() {
            let (start, end) = (extent.offset.next_multiple_of(4096), extent.end().unwrap() / 4096 * 4096);
            overwrite(directory.path(), start, &vec![0; end.saturating_sub(start) as usize]);
        }
        assert!(run.is_reclaimed().unwrap(), "{order:?}");
    }
}
