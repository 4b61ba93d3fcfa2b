//! What is written can be read: by key at any snapshot, as a whole, after opening, interleaved with other runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::memory_files::MemoryFiles;
use super::model::*;
use crate::entry::{Entry, EntryKind, RangeTombstone};
use crate::error::Error;
use crate::file_name::FileName;
use crate::hash::hash;
use crate::run::{BlockCache, DataFile, DataFileOptions, DataFileWriter, Extent, Order, Run, find_footers};

fn check_gets(run: &Run, entries: &[Owned], cache: &BlockCache, hash_of: fn(&[u8]) -> u64) {
    for snapshot in [0, 999, 1000, 1050, 1150, 1299, u64::MAX] {
        for look_ups in entries {
            let expected = newest(entries, &look_ups.key, snapshot);
            let found = run.get(cache, look_ups.hash, &look_ups.key, snapshot).unwrap();
            assert_eq!(
                found.as_ref().map(|found| (found.sequence, found.kind)),
                expected.map(|e| (e.sequence, e.kind()))
            );
            assert_eq!(found.as_ref().map(|found| &*found.value), expected.map(|e| e.entry().value));
        }
        for absent in [&b"absent"[..], b"", b"key", b"key 11x", b"zz"] {
            let expected = newest(entries, absent, snapshot);
            assert_eq!(run.get(cache, hash_of(absent), absent, snapshot).unwrap().is_some(), expected.is_some());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn runs_of_one_file_have_the_pushed_entries(
        runs in proptest::collection::vec((order(), any::<bool>()).prop_flat_map(|(order, permutation)| (Just(order), Just(permutation), entries(order, false, 120))), 1..4),
        options in options(),
        read_ahead in prop_oneof![Just(1usize), Just(5_000), Just(1 << 20)],
    ) {
        let borrowed: Vec<_> = runs.iter().map(|(order, permutation, entries)| (*order, *permutation, &entries[..])).collect();
        let written = write(&options, &borrowed);
        prop_assert_eq!(written.files.file("data-000007").syncs.load(Ordering::Relaxed), 1);
        let cache = BlockCache::new(1 << 20, 1 << 20);
        let opened = Arc::new(DataFile::open(&written.files, FileName::Data(7)).unwrap());
        let mut extents: Vec<Extent> = vec![Extent { offset: 0, len: 16 }];
        for ((run, hashes), (order, _, entries)) in written.runs.iter().zip(&written.hashes).zip(&runs) {
            let (again, again_hashes) = Run::open(opened.clone(), run.footer).unwrap();
            prop_assert_eq!(hashes, &again_hashes);
            for run in [run, &Arc::new(again)] {
                prop_assert_eq!(run.order, *order);
                prop_assert_eq!(run.entries, entries.len() as u64);
                prop_assert_eq!(run.deletes, entries.iter().filter(|entry| entry.value.is_none()).count() as u64);
                prop_assert_eq!(run.user_bytes, entries.iter().map(|entry| entry.entry().user_bytes()).sum::<u64>());
                prop_assert_eq!(&*run.low, entries.iter().map(|entry| &entry.key[..]).min().unwrap_or_default());
                prop_assert_eq!(&*run.high, entries.iter().map(|entry| &entry.key[..]).max().unwrap_or_default());
                prop_assert_eq!(run.sequences.0, entries.iter().map(|entry| entry.sequence).min().unwrap_or(0));
                prop_assert_eq!(run.sequences.1, entries.iter().map(|entry| entry.sequence).max().unwrap_or(0));
                prop_assert_eq!(read_all(run, read_ahead).unwrap(), plain(entries));
                run.verify().unwrap();
                check_gets(run, entries, &cache, hash);
            }
            extents.extend(run.extents());
            prop_assert_eq!(run.stored_bytes, run.extents().iter().map(|extent| extent.len).sum::<u64>());
        }
        // The extents of all runs and the header cover the file exactly once.
        extents.sort();
        let ends = extents.iter().map(|extent| extent.end().unwrap());
        let starts = extents.iter().map(|extent| extent.offset).skip(1).chain([opened.len]);
        prop_assert!(ends.eq(starts));
        let footers: Vec<Extent> = written.runs.iter().map(|run| run.footer).collect();
        prop_assert_eq!(find_footers(&opened).unwrap(), footers);
    }

    #[test]
    fn keys_with_the_same_hash_are_distinguished(entries in entries(Order::Hash, true, 200), options in options()) {
        let written = write(&options, &[(Order::Hash, false, &entries)]);
        check_gets(&written.runs[0], &entries, &BlockCache::new(1 << 20, 0), colliding);
        prop_assert_eq!(read_all(&written.runs[0], 4096).unwrap(), plain(&entries));
    }

    #[test]
    fn many_versions_of_few_keys_are_found(
        versions in proptest::collection::vec((0u8..4, 1_000u64..1_300), 0..600),
        (order, options) in (order(), options()),
    ) {
        let own = |(key, sequence): (u8, u64)| Owned::new([key; 3], sequence, Some(vec![key; 40]));
        let mut entries: Vec<Owned> = versions.into_iter().map(own).collect();
        arrange(order, &mut entries);
        let written = write(&options, &[(order, true, &entries)]);
        let cache = BlockCache::new(1 << 20, 0);
        for snapshot in (990..1310).step_by(7) {
            for key in 0..5u8 {
                let expected = newest(&entries, &[key; 3], snapshot).map(|entry| entry.sequence);
                let found = written.runs[0].get(&cache, hash(&[key; 3]), &[key; 3], snapshot).unwrap();
                prop_assert_eq!(found.map(|found| found.sequence), expected);
            }
        }
        written.runs[0].verify().unwrap();
    }
}

#[test]
fn large_values_can_be_read() {
    let value = |len: usize| Some((0..len).map(|i| ((i * i) >> 7) as u8).collect::<Vec<u8>>());
    let sizes = [3 << 20, 0, 100, (1 << 20) - 40, (1 << 20) - 14, 1 << 20, 5 << 20, 17];
    for order in [Order::Hash, Order::Key] {
        for compression in [crate::Compression::None, crate::Compression::Lz4, crate::Compression::Zstd] {
            let mut entries: Vec<Owned> =
                (0..).zip(sizes).map(|(number, len)| Owned::new(vec![b'k', number], 1000, value(len))).collect();
            arrange(order, &mut entries);
            let options = DataFileOptions { compression, ..DataFileOptions::default() };
            let written = write(&options, &[(order, true, &entries), (order, false, &entries)]);
            for run in &written.runs {
                run.verify().unwrap();
                assert_eq!(read_all(run, 64 << 10).unwrap(), plain(&entries));
                let cache = BlockCache::new(1 << 20, 0);
                for entry in &entries {
                    let found = run.get(&cache, entry.hash, &entry.key, 1000).unwrap().unwrap();
                    assert!(*found.value == **entry.value.as_ref().unwrap());
                }
            }
        }
    }
}

#[test]
fn range_tombstones_are_stored() {
    let files = MemoryFiles::default();
    let range_delete = |low: &[u8], sequence| RangeTombstone { low: low.into(), high: b"zz"[..].into(), sequence };
    let mut writer = DataFileWriter::create(&files, 7, &DataFileOptions::default()).unwrap();
    let (only, both, none) =
        (writer.run(Order::Hash, true, 0), writer.run(Order::Key, false, 0), writer.run(Order::Hash, false, 5));
    writer.range_delete(only, range_delete(b"a", 17));
    writer.range_delete(only, range_delete(b"", 12));
    writer.range_delete(both, range_delete(b"x", 3));
    writer.push(both, Entry { key: b"k", sequence: 9, kind: EntryKind::Put, value: b"v" }).unwrap();
    let (data, runs, _) = writer.finish().unwrap();
    let open = |run: usize| Run::open(data.clone(), runs[run].footer).unwrap().0;
    assert_eq!(
        (&*open(only).range_tombstones, open(only).sequences),
        (&[range_delete(b"a", 17), range_delete(b"", 12)][..], (12, 17))
    );
    assert_eq!((&*open(both).range_tombstones, open(both).sequences), (&[range_delete(b"x", 3)][..], (3, 9)));
    assert_eq!((open(none).range_tombstones.len(), open(none).sequences, open(none).entries), (0, (0, 0), 0));
    (0..3).for_each(|run| open(run).verify().unwrap());
}

#[test]
fn invalid_entries_and_options_are_refused() {
    let files = MemoryFiles::default();
    let mut writer = DataFileWriter::create(&files, 7, &DataFileOptions::default()).unwrap();
    let run = writer.run(Order::Key, false, 10);
    let put = |key, sequence| Entry { key, sequence, kind: EntryKind::Put, value: b"v" };
    let long = vec![0; 65_536];
    writer.push(run, put(b"k", 12)).unwrap();
    for (entry, expected) in [
        (put(&long, 12), "a key has 65536 bytes; at most 65535 are allowed"),
        (put(b"l", 9), "sequence number 9 is below the base 10, or too far above it"),
        (put(b"j", 12), "the key `j` is out of order"),
        (put(b"k", 12), "the key `k` is out of order"),
        (put(b"k", 13), "the key `k` is out of order"),
    ] {
        assert_eq!(writer.push(run, entry).unwrap_err().to_string(), expected);
    }
    for block_bytes in [0, (1 << 20) + 1] {
        let options = DataFileOptions { block_bytes, ..DataFileOptions::default() };
        assert!(matches!(DataFileWriter::create(&files, 9, &options), Err(Error::Invalid { .. })));
    }
    assert!(matches!(
        DataFileWriter::create(&files, 7, &DataFileOptions::default()),
        Err(Error::Io { operation: "creating", .. })
    ));
    assert!(matches!(DataFile::open(&files, FileName::Data(8)), Err(Error::Io { operation: "opening", .. })));
}

#[test]
fn a_look_up_reads_one_block_and_a_cached_one_none() {
    let mut entries: Vec<Owned> =
        (0..20_000u32).map(|i| Owned::new(format!("{i:016}"), 1000, Some(vec![b'v'; 100]))).collect();
    arrange(Order::Hash, &mut entries);
    let written = write(&DataFileOptions::default(), &[(Order::Hash, false, &entries)]);
    let (file, cache) = (written.files.file("data-000007"), BlockCache::new(8 << 20, 0));
    let ask_all = || {
        let before = file.reads.load(Ordering::Relaxed);
        entries
            .iter()
            .for_each(|entry| assert!(written.runs[0].get(&cache, entry.hash, &entry.key, 1000).unwrap().is_some()));
        file.reads.load(Ordering::Relaxed) - before
    };
    let blocks = ask_all();
    assert!((550..620).contains(&blocks), "{blocks} blocks");
    assert_eq!(cache.counts().misses, blocks);
    assert_eq!(ask_all(), 0);
    assert_eq!(cache.counts().misses, blocks);
    // The block before is only searched where a fence pointer is inconclusive.
    assert!(cache.counts().hits + cache.counts().misses < 40_000 * 1002 / 1000 + 1200, "{:?}", cache.counts());
}

#[test]
fn footers_are_found_after_others_were_punched() {
    let mut entries: Vec<Owned> = (0..3_000u32).map(|i| Owned::new(i.to_be_bytes(), 1000, Some(vec![7; 20]))).collect();
    arrange(Order::Hash, &mut entries);
    let run = (Order::Hash, true, &entries[..]);
    let written = write(&DataFileOptions { piece_bytes: 8 << 10, ..DataFileOptions::default() }, &[run; 4]);
    for extent in written.runs[2].extents() {
        written.data.file.punch(extent.offset, extent.len).unwrap();
    }
    let left: Vec<Extent> = [0, 1, 3].map(|run: usize| written.runs[run].footer).to_vec();
    assert_eq!(find_footers(&written.data).unwrap(), left);
    assert!(matches!(Run::open(written.data.clone(), written.runs[2].footer), Err(Error::Corrupt { .. })));
    [0, 1, 3].into_iter().for_each(|run: usize| written.runs[run].verify().unwrap());
}

#[test]
fn many_readers_share_a_cache_that_is_too_small() {
    let mut entries: Vec<Owned> =
        (0..5_000u32).map(|i| Owned::new(i.to_be_bytes(), 1000, Some(vec![i as u8; 50]))).collect();
    arrange(Order::Hash, &mut entries);
    let written = write(&DataFileOptions::default(), &[(Order::Hash, true, &entries)]);
    let (run, cache) = (&written.runs[0], Arc::new(BlockCache::new(64 << 10, 0)));
    std::thread::scope(|scope| {
        for reader in 0..4usize {
            let (entries, cache) = (&entries, &cache);
            scope.spawn(move || {
                for number in 0..entries.len() {
                    let entry = &entries[(number * 7 + reader * 1_000) % entries.len()];
                    let found = run.get(cache, entry.hash, &entry.key, 1000).unwrap().unwrap();
                    assert_eq!(&*found.value, entry.entry().value);
                }
            });
        }
    });
    assert!(cache.memory_bytes() <= 64 << 10);
}

#[test]
fn blocks_of_small_entries_lie_in_one_page_each() {
    let mut entries: Vec<Owned> =
        (0..20_000u32).map(|i| Owned::new(format!("{i:016}"), 1000 + u64::from(i), Some(vec![b'v'; 100]))).collect();
    arrange(Order::Hash, &mut entries);
    let written = write(&DataFileOptions::default(), &[(Order::Hash, false, &entries), (Order::Hash, false, &entries)]);
    for run in &written.runs {
        let blocks: Vec<_> = (0..run.blocks()).map(|block| run.fences.locate(block).unwrap()).collect();
        assert!(blocks.iter().all(|block| block.offset / 4096 == (block.offset + block.len - 1) / 4096));
        let entries_per_block = entries.len() / blocks.len();
        assert!(entries_per_block >= 33, "{entries_per_block} entries of 120 bytes in a block");
    }
}
