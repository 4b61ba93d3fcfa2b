//! Damage anywhere in a file: a read is right, or fails with an error that names the place.

use crate::codec::u32_at;
use crate::file_name::FileName;
use crate::merge::Cursor;
use std::sync::Arc;

use proptest::prelude::*;

use super::model::*;
use crate::error::{Error, Result};
use crate::hash::hash;
use crate::run::footer::Footer;
use crate::run::permutation::Permutation;
use crate::run::{BlockCache, DataFile, Extent, Order, Run, find_footers};
use crate::storage::Storage;

#[derive(Debug, Clone)]
enum Damage {
    Flip {
        byte: prop::sample::Index,
        bit: u8,
    },
    Truncated(prop::sample::Index),
    Zero(prop::sample::Index, u16),
    /// With the content of another file: invalid lengths, say.
    Overwrite(prop::sample::Index, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = || any::<prop::sample::Index>();
    prop_oneof![
        6 => (place(), 0u8..8).prop_map(|(byte, bit)| Damage::Flip { byte, bit }),
        1 => place().prop_map(Damage::Truncated),
        1 => (place(), any::<u16>()).prop_map(|(from, len)| Damage::Zero(from, len)),
        2 => (place(), proptest::collection::vec(any::<u8>(), 1..40)).prop_map(|(from, bytes)| Damage::Overwrite(from, bytes)),
    ]
}

fn apply(damage: &Damage, bytes: &mut Vec<u8>) {
    let len = bytes.len();
    match damage {
        Damage::Flip { byte, bit } => bytes[byte.index(len)] ^= 1 << bit,
        Damage::Truncated(at) => bytes.truncate(at.index(len)),
        Damage::Zero(from, count) => {
            let from = from.index(len);
            bytes[from..(from + usize::from(*count)).min(len)].fill(0);
        }
        Damage::Overwrite(from, with) => {
            let from = from.index(len);
            let end = (from + with.len()).min(len);
            bytes[from..end].copy_from_slice(&with[..end - from]);
        }
    }
}

/// Asserts that the result is right, or an error that names the file.
fn right_or_named<T: PartialEq + std::fmt::Debug>(got: Result<T>, right: &T) {
    match got {
        Ok(got) => assert_eq!(got, *right),
        Err(Error::Corrupt { file, problem, .. }) => assert!(file == "data-000007" && !problem.is_empty()),
        Err(other) => panic!("{other}"),
    }
}

fn check(storage: &dyn Storage, footer: Extent, entries: &[Owned]) {
    let opened = DataFile::open(storage, FileName::Data(7)).and_then(|file| {
        right_or_named(find_footers(&file).map(|_| ()), &());
        Run::open(Arc::new(file), footer)
    });
    let run = match opened {
        Ok((run, hashes)) => {
            let mut expected: Vec<u32> = entries.iter().map(|entry| (entry.hash >> 32) as u32).collect();
            expected.sort_unstable();
            assert_eq!(hashes.0, expected);
            Arc::new(run)
        }
        Err(error) => return right_or_named(Err::<(), _>(error), &()),
    };
    right_or_named(read_all(&run, 3000), &plain(entries));
    right_or_named(run.verify(), &());
    let cache = Arc::new(BlockCache::new(1 << 20, 1 << 20));
    for entry in entries {
        let right = newest(entries, &entry.key, 1200).map(|newest| (newest.sequence, newest.entry().value.to_vec()));
        let got = run
            .get(&cache, entry.hash, &entry.key, 1200)
            .map(|found| found.map(|found| (found.sequence, found.value.to_vec())));
        right_or_named(got, &right);
    }
    let (sorted, mut walked) = (in_key_order(entries), Vec::new());
    let walk = run.cursor(&cache).and_then(|mut cursor| {
        cursor.first()?;
        while let Some(entry) = cursor.entry() {
            walked.push((entry.key.to_vec(), entry.sequence));
            cursor.next()?;
        }
        Ok(std::mem::take(&mut walked))
    });
    right_or_named(walk, &sorted.iter().map(|entry| (entry.key.clone(), entry.sequence)).collect());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_damage_is_detected_or_harmless(
        (order, entries) in order().prop_flat_map(|order| (Just(order), entries(order, false, 60))),
        permutation in any::<bool>(),
        options in options(),
        damages in proptest::collection::vec(damage(), 1..3),
    ) {
        let written = write(&options, &[(order, permutation, &entries), (order, false, &entries)]);
        {
            let file = written.files.file("data-000007");
            let mut bytes = file.bytes.lock();
            for damage in damages {
                if !bytes.is_empty() {
                    apply(&damage, &mut bytes);
                }
            }
        }
        written.runs.iter().for_each(|run| check(&written.files, run.footer, &entries));
    }

    #[test]
    fn a_footer_at_another_place_is_refused(offset in any::<u64>(), len in any::<u64>(), near in 0u64..2000) {
        let entries = [Owned::new(*b"key", 1000, Some(vec![1; 1000]))];
        let written = write(&small(), &[(Order::Hash, true, &entries)]);
        for footer in [Extent { offset, len }, Extent { offset: near, len }, Extent { offset: near, len: near }, Extent { offset, len: near }] {
            if footer != written.runs[0].footer {
                let opened = Run::open(written.data.clone(), footer);
                prop_assert!(matches!(opened, Err(Error::Corrupt { .. })), "opened at {:?}", footer);
            }
        }
    }
}

#[test]
fn every_single_bit_of_a_small_file_counts_or_is_padding() {
    for order in [Order::Hash, Order::Key] {
        let mut entries: Vec<Owned> = (0..30u8).map(|i| Owned::new([i; 5], 1000, Some(vec![i; 30]))).collect();
        arrange(order, &mut entries);
        let written = write(&small(), &[(order, true, &entries)]);
        let (file, footer) = (written.files.file("data-000007"), written.runs[0].footer);
        let bits = file.bytes.lock().len() * 8;
        for bit in 0..bits {
            file.bytes.lock()[bit / 8] ^= 1 << (bit % 8);
            check(&written.files, footer, &entries);
            file.bytes.lock()[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Reads everything in every way. Only panics count.
fn read_everything(storage: &dyn Storage, footer: Extent, entries: &[Owned]) -> Result<()> {
    let (run, _) = Run::open(Arc::new(DataFile::open(storage, FileName::Data(7))?), footer)?;
    let (run, cache) = (Arc::new(run), Arc::new(BlockCache::new(1 << 20, 1 << 20)));
    let _ = run.verify();
    let _ = read_all(&run, 1000);
    let mut cursor = run.cursor(&cache)?;
    for entry in entries {
        let _ = run.get(&cache, entry.hash, &entry.key, 1100);
        let _ = cursor.seek(&entry.key).and_then(|()| cursor.next());
        let _ = cursor.seek_for_previous(&entry.key).and_then(|()| cursor.previous());
    }
    cursor.first().and_then(|()| cursor.last())
}

/// The part of a file to change under a valid checksum.
#[derive(Debug, Clone, Copy)]
enum Part {
    Footer,
    Block,
    IndexPageLocation,
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![Just(Part::Footer), Just(Part::Block), Just(Part::IndexPageLocation)]
}

/// Writes the valid checksum of the `len` bytes at `offset` after them.
fn rewrite_checksum(bytes: &mut [u8], offset: usize, len: usize) {
    let checksum = crc32c::crc32c(&bytes[offset..offset + len]);
    bytes[offset + len..offset + len + 4].copy_from_slice(&checksum.to_le_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn invalid_content_under_valid_checksums_causes_no_panic(
        (order, entries) in order().prop_flat_map(|order| (Just(order), entries(order, false, 60))),
        permutation in any::<bool>(),
        (place, with, part) in (any::<prop::sample::Index>(), proptest::collection::vec(any::<u8>(), 1..9), part()),
    ) {
        let written = write(&small(), &[(order, permutation, &entries)]);
        let footer = written.runs[0].footer;
        {
            let file = written.files.file("data-000007");
            let mut bytes = file.bytes.lock();
            let page = written.runs[0].pages.filter(|pages| pages.len > 0);
            // The footer up to its checksum, or the body of the first block or of the first page.
            let block = match part {
                Part::Footer => None,
                Part::Block => {
                    (16..footer.offset as usize).step_by(16).find(|at| !entries.is_empty() && bytes[*at..*at + 4] != [0; 4])
                }
                Part::IndexPageLocation => page.map(|page| page.offset as usize),
            };
            let (offset, len, first) = match block {
                None => (footer.offset as usize, footer.len as usize - 12, 0),
                Some(at) => (at, 5 + u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize, 5),
            };
            let start = place.index(len - 4).max(first);
            let end = (start + with.len()).min(len);
            bytes[offset + start..offset + end].copy_from_slice(&with[..end - start]);
            rewrite_checksum(&mut bytes, offset, len);
        }
        let _ = read_everything(&written.files, footer, &entries);
    }
}

#[test]
fn verify_detects_what_checksums_do_not() {
    let corrupt_with = |run: &Run, expected: &str| match run.verify() {
        Err(Error::Corrupt { file, problem, .. }) => {
            assert!(file == "data-000007" && problem.contains(expected), "{problem}")
        }
        other => panic!("{expected}: {other:?}"),
    };
    // Stored under hashes that are not those of the keys, in all but the lower bits.
    let mut entries: Vec<Owned> =
        (0..30u8).map(|i| Owned { hash: u64::from(i) << 56, ..Owned::new([i], 1000, None) }).collect();
    corrupt_with(&write(&small(), &[(Order::Hash, false, &entries)]).runs[0], "fence");
    entries.truncate(1);
    entries[0].hash = (hash(&[0]) >> 32) << 32;
    let sound = write(&small(), &[(Order::Hash, false, &entries)]);
    sound.runs[0].verify().unwrap();
    entries[0].hash = u64::MAX;
    corrupt_with(&write(&small(), &[(Order::Hash, false, &entries)]).runs[0], "fence");
    entries = (0..30u8).map(|i| Owned::new([i], 1000, None)).collect();
    arrange(Order::Hash, &mut entries);
    // Two ranks of the permutation, swapped.
    let written = write(&small(), &[(Order::Hash, true, &entries)]);
    {
        let file = written.files.file("data-000007");
        let (mut bytes, page) =
            (file.bytes.lock(), written.runs[0].extents().last().unwrap().end().unwrap() - written.runs[0].footer.len);
        let page = page as usize - (5 + 30 * 4 + 4usize).next_multiple_of(16);
        let ranks = page + 5;
        (0..4).for_each(|byte| bytes.swap(ranks + byte, ranks + 4 + byte));
        rewrite_checksum(&mut bytes, page, 5 + 30 * 4);
    }
    corrupt_with(&written.runs[0], "the permutation's rank 0 is not in key order");
}

/// Opens a file of just this footer, with valid checksums.
fn open_alone(footer: &Footer) -> Result<()> {
    let files = super::memory_files::MemoryFiles::default();
    let file = files.create("data-000007").unwrap();
    file.append(&crate::run::file::header()).unwrap();
    let encoded = footer.encode(16, &Default::default());
    file.append(&encoded).unwrap();
    let file = Arc::new(DataFile::open(&files, FileName::Data(7))?);
    Run::open(file, Extent { offset: 16, len: encoded.len() as u64 }).map(drop)
}

#[test]
fn impossible_counts_are_refused() {
    let nothing = Extent { offset: 16, len: 0 };
    let footer = |order, entries, highest| Footer {
        order,
        entries,
        deletes: 0,
        user_bytes: 0,
        base: 0,
        sequences: (0, highest),
        low: Box::default(),
        high: Box::default(),
        range_tombstones: Box::default(),
        pieces: Box::default(),
        permutation: None,
        index: (order == Order::Log).then_some(nothing),
        fences: Default::default(),
        key_index: Default::default(),
    };
    for order in [Order::Hash, Order::Key, Order::Log] {
        open_alone(&footer(order, 0, 7)).unwrap();
        for (entries, highest) in [(u64::MAX, 7), (1 << 50, 7), (0, 1 << 63)] {
            let mut footer = footer(order, entries, highest);
            assert!(matches!(open_alone(&footer), Err(Error::Corrupt { .. })), "{order:?} {entries} {highest}");
            footer.permutation = Some(Permutation { pages: nothing, entries, samples: Default::default() });
            assert!(matches!(open_alone(&footer), Err(Error::Corrupt { .. })), "{order:?} {entries} {highest}");
        }
    }
}

/// Small entries in blocks of a page each, and the extents of the padding before and after blocks.
fn with_gaps() -> (Written, Vec<Owned>, Vec<Extent>) {
    let mut entries: Vec<Owned> =
        (0..1_500u32).map(|i| Owned::new(i.to_be_bytes(), 1000, Some(vec![i as u8; 90]))).collect();
    arrange(Order::Hash, &mut entries);
    let written = write(&Default::default(), &[(Order::Hash, false, &entries)]);
    let run = &written.runs[0];
    let first = run.fences.locate(0).unwrap();
    let mut gaps = vec![Extent { offset: run.pieces[0].offset, len: first.offset - run.pieces[0].offset }];
    let file = written.files.file("data-000007");
    for block in (0..run.blocks()).map_while(|block| run.fences.locate(block)) {
        let stored = u32_at(&file.bytes.lock(), block.offset as usize);
        let own = (5 + u64::from(stored) + 4).next_multiple_of(16);
        gaps.push(Extent { offset: block.offset + own, len: block.len - own });
    }
    gaps.retain(|gap| gap.len > 0);
    (written, entries, gaps)
}

#[test]
fn damage_to_padding_is_harmless_or_reported() {
    let (written, entries, gaps) = with_gaps();
    assert!(gaps[0].offset == 16 && gaps.len() > 30, "{gaps:?}");
    let footer = written.runs[0].footer;
    check(&written.files, footer, &entries);
    for gap in gaps.iter().step_by(7) {
        let file = written.files.file("data-000007");
        for byte in [0, 3, 4, gap.len as usize - 1] {
            let at = gap.offset as usize + byte;
            file.bytes.lock()[at] = 1;
            check(&written.files, footer, &entries);
            file.bytes.lock()[at] = 0;
        }
    }
}

#[test]
fn a_zeroed_block_is_reported_with_its_offset() {
    let (written, entries, _) = with_gaps();
    let run = &written.runs[0];
    let reported_offset = |result: Result<()>| match result {
        Err(Error::Corrupt { offset, .. }) => offset,
        other => panic!("{other:?}"),
    };
    for number in [0, 1, 17, run.blocks() - 1] {
        let block = run.fences.locate(number).unwrap();
        let file = written.files.file("data-000007");
        let within = block.offset as usize..(block.offset + block.len) as usize;
        let before = file.bytes.lock()[within.clone()].to_vec();
        file.bytes.lock()[within.clone()].fill(0);
        assert_eq!(reported_offset(read_all(run, 100).map(drop)), block.offset);
        assert_eq!(reported_offset(run.verify()), block.offset);
        let cache = BlockCache::new(1 << 20, 0);
        let got = entries.iter().try_for_each(|entry| run.get(&cache, entry.hash, &entry.key, 1200).map(drop));
        assert_eq!(reported_offset(got), block.offset);
        file.bytes.lock()[within].copy_from_slice(&before);
    }
}
