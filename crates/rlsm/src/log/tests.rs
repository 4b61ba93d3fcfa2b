use proptest::collection::vec;
use proptest::prelude::*;

use super::frame::{CHECKSUM_BYTES, HEADER_BYTES};
use super::reader::LogRecord;
use super::*;
use crate::error::Error;
use crate::storage::Storage;
use crate::storage::simulated::{Fault, SimulatedStorage};

const KIND: LogKind = LogKind::Wal;
const NUMBER: u64 = 7;

/// Writes a log of commits, some of them synced.
fn write(storage: &dyn Storage, commits: &[(Vec<Vec<u8>>, bool)]) -> LogWriter {
    let mut writer = LogWriter::create(storage, KIND, NUMBER).unwrap();
    for (payloads, is_synced) in commits {
        for payload in payloads {
            assert_eq!(writer.append(payload).unwrap(), writer.len() - framed(payload));
        }
        writer.commit().unwrap();
        assert_eq!(writer.committed(), writer.len());
        if *is_synced {
            writer.sync().unwrap();
        }
    }
    writer
}

fn framed(payload: &[u8]) -> u64 {
    let varint = (usize::BITS - payload.len().leading_zeros()).div_ceil(7);
    CHECKSUM_BYTES as u64 + u64::from(varint) + payload.len() as u64
}

fn image(storage: &dyn Storage) -> Vec<u8> {
    let file = storage.open("wal-000007").unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> (Vec<(u64, Vec<u8>)>, LogEnd) {
    records(LogReader::of(bytes.to_vec(), KIND, NUMBER).unwrap())
}

fn records(mut reader: LogReader) -> (Vec<(u64, Vec<u8>)>, LogEnd) {
    let mut records = Vec::new();
    while let Some(LogRecord { offset, payload, .. }) = reader.next() {
        records.push((offset, payload.to_vec()));
    }
    (records, reader.end())
}

fn payloads(records: &[(u64, Vec<u8>)]) -> Vec<Vec<u8>> {
    records.iter().map(|(_, payload)| payload.clone()).collect()
}

fn commits(payload_bytes_max: usize) -> impl Strategy<Value = Vec<(Vec<Vec<u8>>, bool)>> {
    vec((vec(vec(any::<u8>(), 1..=payload_bytes_max), 0..4), any::<bool>()), 0..6)
}

/// A log of three synced records and two that are not, with the offset of each.
fn sample() -> (Vec<u8>, Vec<(u64, Vec<u8>)>) {
    let storage = SimulatedStorage::new(0);
    let commit = |text: &str, is_synced| (vec![text.as_bytes().to_vec()], is_synced);
    let tail = (vec![b"the fourth".to_vec(), vec![0; 200]], false);
    write(&storage, &[commit("the first", true), commit("the second", true), commit("the third", true), tail]);
    let bytes = image(&storage);
    let (records, end) = read(&bytes);
    assert_eq!((records.len(), end), (5, LogEnd::Clean));
    (bytes, records)
}

proptest! {
    #[test]
    fn appended_records_are_read(commits in commits(300)) {
        let storage = SimulatedStorage::new(0);
        let writer = write(&storage, &commits);
        let expected: Vec<Vec<u8>> = commits.into_iter().flat_map(|(payloads, _)| payloads).collect();
        let mut reader = LogReader::open(&storage, KIND, NUMBER).unwrap();
        prop_assert_eq!(reader.end(), LogEnd::Clean);
        prop_assert_eq!(reader.offset(), writer.len());
        let (records, _) = records(LogReader::open(&storage, KIND, NUMBER).unwrap());
        prop_assert_eq!(payloads(&records), expected);
    }

    #[test]
    fn a_truncated_log_ends_after_its_last_whole_record(commits in commits(50)) {
        let storage = SimulatedStorage::new(0);
        write(&storage, &commits);
        let whole = image(&storage);
        let (all, _) = read(&whole);
        for len in 0..whole.len() {
            let is_kept = |(offset, payload): &&(u64, Vec<u8>)| offset + framed(payload) <= len as u64;
            let expected: Vec<_> = all.iter().take_while(is_kept).cloned().collect();
            let header = if len < HEADER_BYTES { 0 } else { HEADER_BYTES as u64 };
            let expected_end = expected.last().map_or(header, |(offset, payload)| offset + framed(payload));
            let (kept, end) = read(&whole[..len]);
            prop_assert_eq!(kept, expected);
            match end {
                LogEnd::Clean => prop_assert_eq!(expected_end, len as u64),
                LogEnd::Torn { offset, .. } => {
                    prop_assert_eq!(offset, expected_end);
                    prop_assert!(offset != len as u64 || len == 0);
                }
                LogEnd::Damaged { .. } => prop_assert!(false, "cut at {}: {:?}", len, end),
            }
        }
    }

    #[test]
    fn a_flipped_bit_is_detected(commits in commits(300), place: u64) {
        let storage = SimulatedStorage::new(0);
        write(&storage, &commits);
        let mut bytes = image(&storage);
        let (all, _) = read(&bytes);
        let bit = place as usize % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (kept, end) = read(&bytes);
        prop_assert_eq!(&kept[..], &all[..kept.len()]);
        prop_assert!(kept.len() < all.len() || all.is_empty());
        prop_assert_ne!(end, LogEnd::Clean);
    }

    #[test]
    fn random_bytes_are_not_taken_for_a_log(bytes in vec(any::<u8>(), 0..5000), has_header: bool) {
        let mut log = if has_header { frame::header(KIND, NUMBER).to_vec() } else { Vec::new() };
        log.extend(bytes);
        if let Ok(mut reader) = LogReader::of(log, KIND, NUMBER) {
            prop_assert!(reader.next().is_none());
            reader.end();
        }
    }

    #[test]
    fn overwritten_bytes_are_detected(
        commits in commits(300),
        noise in vec(any::<u8>(), 1..50),
        place: u64,
    ) {
        let storage = SimulatedStorage::new(0);
        write(&storage, &commits);
        let whole = image(&storage);
        let (all, _) = read(&whole);
        let start = place as usize % whole.len();
        let end = whole.len().min(start + noise.len());
        let mut bytes = whole.clone();
        bytes[start..end].copy_from_slice(&noise[..end - start]);
        let (kept, end) = read(&bytes);
        prop_assert_eq!(&kept[..], &all[..kept.len()]);
        prop_assert_eq!(end == LogEnd::Clean, bytes == whole);
    }

    #[test]
    fn a_crash_keeps_synced_records_and_is_not_taken_for_damage(
        seed: u64,
        commits in commits(9000),
    ) {
        let storage = SimulatedStorage::new(seed);
        let mut writer = LogWriter::create(&storage, KIND, NUMBER).unwrap();
        storage.sync_directory().unwrap();
        let mut synced = 0;
        let mut written = Vec::new();
        for (payloads, is_synced) in commits {
            for payload in payloads {
                writer.append(&payload).unwrap();
                written.push(payload);
            }
            writer.commit().unwrap();
            if is_synced {
                writer.sync().unwrap();
                synced = written.len();
            }
        }
        let after = storage.reboot();
        let mut reader = LogReader::open(&after, KIND, NUMBER).unwrap();
        let end = reader.end();
        let is_crash = !matches!(end, LogEnd::Damaged { was_synced: true, .. });
        prop_assert!(is_crash, "{:?}", end);
        let (kept, _) = records(LogReader::open(&after, KIND, NUMBER).unwrap());
        prop_assert!(kept.len() >= synced);
        prop_assert_eq!(payloads(&kept), &written[..kept.len()]);
    }
}

#[test]
fn every_flipped_bit_is_found_and_named() {
    let (whole, all) = sample();
    let last_synced = all[3].0 as usize;
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (kept, end) = read(&bytes);
        let begins = |count: usize| all.get(count).map_or(whole.len() as u64, |(offset, _)| *offset);
        let at = bit as u64 / 8;
        if at < HEADER_BYTES as u64 {
            assert!(kept.is_empty());
            assert!(matches!(end, LogEnd::Damaged { offset: 0, was_synced: true, .. }), "{bit}: {end:?}");
            continue;
        }
        assert!(begins(kept.len()) <= at && at < begins(kept.len() + 1), "bit {bit}");
        assert_eq!(kept[..], all[..kept.len()]);
        match end {
            LogEnd::Damaged { offset, was_synced, .. } => {
                assert_eq!(offset, begins(kept.len()));
                assert_eq!(was_synced, at < last_synced as u64, "bit {bit}");
                assert!(kept.len() < 4);
            }
            LogEnd::Torn { offset, .. } => assert!(offset == begins(4) && kept.len() == 4, "bit {bit}"),
            LogEnd::Clean => panic!("bit {bit} was not found"),
        }
    }
}

#[test]
fn every_problem_is_named() {
    let (whole, all) = sample();
    let with = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        read(&bytes).1
    };
    let last = all[4].0;
    assert_eq!(with(last as usize, 0), LogEnd::Torn { offset: last, problem: "a record's checksum is wrong" });
    assert_eq!(with(last as usize + 4, 0), LogEnd::Torn { offset: last, problem: "a record is empty" });
    let too_long = LogEnd::Torn { offset: last, problem: "a record is longer than the rest of the file" };
    assert_eq!(with(last as usize + 5, 0x7f), too_long);
    assert_eq!(
        with(last as usize + 5, 0xff),
        LogEnd::Torn { offset: last, problem: "a record is longer than the rest of the file" }
    );
    let third = all[2].0;
    let damaged = LogEnd::Damaged { offset: third, problem: "a record's checksum is wrong", was_synced: true };
    assert_eq!(with(third as usize + 6, b'?'), damaged);
    let cut = read(&whole[..last as usize + 3]).1;
    assert_eq!(cut, LogEnd::Torn { offset: last, problem: "a record is cut off" });
    assert_eq!(read(&whole[..20]).1, LogEnd::Torn { offset: 0, problem: "the header is cut off" });
    assert_eq!(read(&[]).1, LogEnd::Torn { offset: 0, problem: "the header is cut off" });
    assert_eq!(read(&[0; 40]).1, LogEnd::Torn { offset: 0, problem: "the header's checksum is wrong" });
}

#[test]
fn a_manifest_of_another_kind_or_number_and_a_log_of_another_version_are_refused() {
    let refused = |bytes: Vec<u8>, kind| LogReader::of(bytes, kind, NUMBER).err().unwrap().to_string();
    let wal = refused(frame::header(LogKind::Wal, NUMBER).to_vec(), LogKind::Manifest);
    assert_eq!(wal, "`manifest-000007` is damaged at byte 0: it begins with `rlsm-wal`, expected `rlsmmani`");
    let other = refused(frame::header(LogKind::Manifest, 8).to_vec(), LogKind::Manifest);
    assert!(other.contains("another number"), "{other}");
    let mut newer = frame::header(KIND, NUMBER);
    newer[8] = 2;
    let checksum = crc32c::crc32c(&newer[..20]);
    newer[20..].copy_from_slice(&checksum.to_le_bytes());
    assert!(refused(newer.to_vec(), KIND).contains("version is 2; this version of rlsm reads version 1"));
}

#[test]
fn the_content_of_a_recycled_block_is_not_taken_for_a_log() {
    for (kind, number) in [(LogKind::Manifest, NUMBER), (LogKind::Wal, NUMBER - 1)] {
        let mut bytes = frame::header(kind, number).to_vec();
        frame::put(&mut bytes, frame::salt(kind, number), b"payload");
        assert_eq!(read(&bytes), (vec![], LogEnd::Torn { offset: 0, problem: "the header belongs to another file" }));
        // Unless a synced record follows: a crash leaves none.
        let salt = frame::salt(KIND, NUMBER);
        frame::put(&mut bytes, salt, b"payload");
        let second = bytes.len();
        frame::put(&mut bytes, salt, b"payload");
        frame::mark_synced(&mut bytes[second..]);
        assert!(matches!(read(&bytes).1, LogEnd::Damaged { offset: 0, was_synced: true, .. }));
    }
}

#[test]
fn records_of_another_log_are_not_read() {
    let (_, all) = sample();
    let mut bytes = frame::header(KIND, NUMBER).to_vec();
    for (_, payload) in &all {
        frame::put(&mut bytes, frame::salt(KIND, NUMBER + 1), payload);
    }
    let (kept, end) = read(&bytes);
    assert!(kept.is_empty());
    assert!(matches!(end, LogEnd::Torn { .. }), "{end:?}");
}

#[test]
fn a_small_record_has_five_bytes_of_framing() {
    let storage = SimulatedStorage::new(0);
    let mut writer = LogWriter::create(&storage, KIND, NUMBER).unwrap();
    let before = writer.len();
    writer.append(&[1; 127]).unwrap();
    assert_eq!(writer.len() - before, 127 + 5);
}

#[test]
fn a_commit_is_one_append() {
    let storage = SimulatedStorage::new(0);
    let mut writer = LogWriter::create(&storage, KIND, NUMBER).unwrap();
    let before = storage.operations();
    for _ in 0..100 {
        writer.append(b"payload").unwrap();
    }
    writer.commit().unwrap();
    writer.commit().unwrap();
    assert_eq!(storage.operations() - before, 1);
}

#[test]
fn an_empty_record_is_refused() {
    let storage = SimulatedStorage::new(0);
    let mut writer = LogWriter::create(&storage, KIND, NUMBER).unwrap();
    assert!(matches!(writer.append(b""), Err(Error::Invalid { .. })));
}

#[test]
fn failures_name_the_file() {
    let storage = SimulatedStorage::new(0);
    let mut writer = LogWriter::create(&storage, KIND, NUMBER).unwrap();
    writer.append(b"one").unwrap();
    storage.fail_at(0, Fault::NoSpace);
    assert!(writer.commit().unwrap_err().to_string().starts_with("writing `wal-000007`: "));
    storage.fail_at(0, Fault::Sync);
    assert!(writer.sync().unwrap_err().to_string().starts_with("syncing `wal-000007`: "));
    storage.fail_at(0, Fault::Read);
    let unread = LogReader::open(&storage, KIND, NUMBER).err().unwrap();
    assert!(unread.to_string().starts_with("reading `wal-000007`: "));
    let missing = LogReader::open(&storage, KIND, 8).err().unwrap();
    assert!(missing.to_string().starts_with("opening `wal-000008`: "));
}
