//! What can still be read of a damaged run, and whether one is dead.

use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::Kind;
use crate::entry::Entry;
use crate::run::{FileWriter, Order, Run, WriteOptions};
use crate::storage::Disk;

const ENTRIES: u32 = 2000;

/// A run of some hundred blocks, with a footer of more than a page.
fn run(folder: &std::path::Path, order: Order) -> Arc<Run> {
    let disk = Disk::open(folder).unwrap();
    let mut writer = FileWriter::create(&disk, 1, &WriteOptions::default()).unwrap();
    let run = writer.run(order, false, 1);
    let mut keys: Vec<Vec<u8>> = (0..ENTRIES).map(|number| format!("key{number:05}").into_bytes()).collect();
    if order == Order::Hash {
        keys.sort_by_key(|key| crate::hash::hash(key));
    }
    for (key, sequence) in keys.iter().zip(1..) {
        writer.push(run, Entry { key, sequence, kind: Kind::Put, value: &[7; 200] }).unwrap();
    }
    writer.finish().unwrap().1.remove(0)
}

fn salvaged(run: &Run) -> (usize, usize) {
    let (mut taken, mut lost) = (0, 0);
    run.salvage(&mut |_| taken += 1, &mut |_| lost += 1);
    (taken, lost)
}

fn overwrite(folder: &std::path::Path, offset: u64, bytes: &[u8]) {
    let file = std::fs::File::options().write(true).open(folder.join("data-000001")).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

#[test]
fn a_damaged_block_costs_its_own_entries() {
    for order in [Order::Hash, Order::Key] {
        let folder = tempfile::tempdir().unwrap();
        let run = run(folder.path(), order);
        assert_eq!(salvaged(&run), (ENTRIES as usize, 0));
        overwrite(folder.path(), 10_000, b"not what was written");
        let (taken, lost) = salvaged(&run);
        assert_eq!(lost, 1);
        assert!(taken >= ENTRIES as usize - 30 && taken < ENTRIES as usize, "{taken}");
    }
}

#[test]
fn a_run_is_dead_when_all_its_pages_are_given_back() {
    for order in [Order::Hash, Order::Key] {
        let folder = tempfile::tempdir().unwrap();
        let run = run(folder.path(), order);
        assert!(!run.is_given_back().unwrap());
        overwrite(folder.path(), 8192, &[0; 8192]);
        assert!(!run.is_given_back().unwrap(), "one lost page is damage");
        for extent in run.extents() {
            let (start, end) = (extent.offset.next_multiple_of(4096), extent.end().unwrap() / 4096 * 4096);
            overwrite(folder.path(), start, &vec![0; end.saturating_sub(start) as usize]);
        }
        assert!(run.is_given_back().unwrap(), "{order:?}");
    }
}
