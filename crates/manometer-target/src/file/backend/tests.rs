//! Tests that the backends behave the same.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use manometer_measure::{Clock as _, MonotonicClock};
use manometer_testing::{Cause, skip};

use super::super::{FileError, FileReuse, prepare};
use super::*;

const BLOCK: u32 = 4096;
const BLOCKS: u64 = 64;

/// Fewer pages than blocks.
const MEMORY_BYTES: u64 = 16 * 4096;
const PATIENCE_NS: u64 = 30_000_000_000;

fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn made(dir: &Path, names: &[&str]) -> FileSet {
    let paths = names.iter().map(|name| dir.join(name)).collect();
    let files = FileSet { paths, bytes_each: BLOCKS * u64::from(BLOCK) };
    prepare(&files, FileReuse::Remake, 1, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
    files
}

fn options(engine: IoEngine, depth: u32) -> BackendOptions {
    BackendOptions {
        engine,
        depth,
        slot_bytes: BLOCK,
        write: true,
        direct: true,
        dsync: false,
        memory_bytes: MEMORY_BYTES,
    }
}

fn available() -> Vec<(IoEngine, u32)> {
    let (here, missing): (Vec<_>, Vec<_>) = IoEngine::ALL.into_iter().partition(|engine| engine.probe().is_ok());
    missing.iter().for_each(|engine| skip(Cause::IoInterface, engine));
    here.into_iter().map(|engine| (engine, if engine.is_synchronous() { 1 } else { 8 })).collect()
}

/// Performs `requests` at the queue depth `depth`. Returns each one's result and bytes.
fn perform(backend: &mut dyn IoBackend, depth: u32, requests: &[Submission]) -> Vec<(i32, Vec<u8>)> {
    let mut results = Vec::new();
    for batch in requests.chunks(depth as usize) {
        let mut finished = Vec::new();
        for (slot, request) in (0..).zip(batch) {
            if request.operation == IoOperation::Write {
                backend.slot_mut(slot).fill(request.offset as u8 ^ 0x5a);
            }
            backend.queue(Submission { slot, ..*request });
        }
        while finished.len() < batch.len() {
            let now_ns = MonotonicClock.now_ns();
            backend.wait(now_ns, now_ns + PATIENCE_NS, &mut finished).unwrap();
        }
        finished.sort_by_key(|completion: &Completion| completion.slot);
        results
            .extend(finished.iter().map(|completion| (completion.result, backend.slot_mut(completion.slot).to_vec())));
    }
    results
}

fn request(operation: IoOperation, file: u32, block: u64) -> Submission {
    Submission { slot: 0, operation, file, offset: block * u64::from(BLOCK), skip: 0, length: BLOCK }
}

#[test]
fn every_backend_reads_what_the_file_holds() {
    let dir = on_disk();
    let files = made(dir.path(), &["a", "b"]);
    for (engine, depth) in available() {
        for direct in [true, false] {
            let mut backend = open(&files, &BackendOptions { direct, ..options(engine, depth) }).unwrap();
            for (file, path) in (0..).zip(&files.paths) {
                let requests: Vec<_> = (0..BLOCKS).map(|block| request(IoOperation::Read, file, block)).collect();
                let results = perform(&mut *backend, depth, &requests);
                assert!(results.iter().all(|(result, _)| *result == BLOCK as i32), "{engine}");
                let bytes: Vec<u8> = results.into_iter().flat_map(|(_, bytes)| bytes).collect();
                assert!(bytes == std::fs::read(path).unwrap(), "{engine} read something else");
            }
        }
    }
}

#[test]
fn every_backend_writes_where_requested_and_nowhere_else() {
    for (engine, depth) in available() {
        for dsync in [false, true] {
            let dir = on_disk();
            let files = made(dir.path(), &["a", "b"]);
            let before = std::fs::read(&files.paths[0]).unwrap();
            let mut backend = open(&files, &BackendOptions { dsync, ..options(engine, depth) }).unwrap();
            let odd: Vec<_> = (0..BLOCKS).filter(|block| block % 2 == 1).collect();
            let requests: Vec<_> = odd.iter().map(|block| request(IoOperation::Write, 1, *block)).collect();
            let results = perform(&mut *backend, depth, &requests);
            assert!(results.iter().all(|(result, _)| *result == BLOCK as i32), "{engine}");
            let sync = perform(&mut *backend, depth, &[request(IoOperation::Sync, 1, 0)]);
            assert_eq!(sync[0].0, 0, "{engine}");
            assert!(std::fs::read(&files.paths[0]).unwrap() == before, "{engine} wrote into the wrong file");
            let after = std::fs::read(&files.paths[1]).unwrap();
            assert_eq!(after.len() as u64, files.bytes_each);
            for (block, bytes) in (0..).zip(after.chunks(BLOCK as usize)) {
                let written = bytes.iter().all(|byte| *byte == (block * u64::from(BLOCK)) as u8 ^ 0x5a);
                assert_eq!(written, block % 2 == 1, "{engine}, block {block}");
            }
        }
    }
}

#[test]
fn the_end_of_the_file_and_errors_come_back_as_results() {
    // Where bytes are copied from memory, a file cut short ends the process, but for `recycle`.
    for (engine, depth) in available().into_iter().filter(|(engine, _)| !engine.is_mapped()) {
        let dir = on_disk();
        let files = made(dir.path(), &["a"]);
        let mut backend = open(&files, &options(engine, depth)).unwrap();
        let whole = std::fs::OpenOptions::new().write(true).open(&files.paths[0]).unwrap();
        whole.set_len(u64::from(BLOCK) / 2).unwrap();
        let misaligned = Submission { offset: 1, ..request(IoOperation::Read, 0, 0) };
        let requests = [request(IoOperation::Read, 0, 9), request(IoOperation::Read, 0, 0), misaligned];
        let results: Vec<_> = perform(&mut *backend, depth, &requests).into_iter().map(|(result, _)| result).collect();
        assert_eq!(results, [0, BLOCK as i32 / 2, -libc::EINVAL], "{engine}");
    }
}

#[test]
fn a_file_cut_beneath_recycle_is_an_error() {
    let dir = on_disk();
    let files = made(dir.path(), &["a"]);
    let mut backend = open(&files, &options(IoEngine::Recycle, 1)).unwrap();
    std::fs::OpenOptions::new().write(true).open(&files.paths[0]).unwrap().set_len(u64::from(BLOCK) / 2).unwrap();
    let requests = [request(IoOperation::Read, 0, 9), request(IoOperation::Read, 0, 0)];
    let results: Vec<_> = perform(&mut *backend, 1, &requests).into_iter().map(|(result, _)| result).collect();
    assert_eq!(results, [-libc::EIO, -libc::EIO]);
    let counted: std::collections::HashMap<_, _> = backend.state().into_iter().collect();
    assert_eq!((counted["faults"], counted["pages_read"]), (2, 0));
}

#[test]
fn a_wait_ends_at_its_deadline_with_nothing_in_flight() {
    let dir = on_disk();
    let files = made(dir.path(), &["a"]);
    for (engine, depth) in available() {
        let mut backend = open(&files, &options(engine, depth)).unwrap();
        let mut finished = Vec::new();
        // The second deadline is before the first one, which stays armed; the third has passed.
        for wait_ns in [20_000_000, 1_000_000, 0] {
            let now_ns = MonotonicClock.now_ns();
            backend.wait(now_ns, now_ns + wait_ns, &mut finished).unwrap();
        }
        assert!(finished.is_empty(), "{engine}");
        let results = perform(&mut *backend, depth, &[request(IoOperation::Read, 0, 1)]);
        assert_eq!(results[0].0, BLOCK as i32, "{engine}");
    }
}

#[test]
fn a_slot_is_filled_from_where_the_request_says() {
    let dir = on_disk();
    let files = made(dir.path(), &["a"]);
    let bytes = std::fs::read(&files.paths[0]).unwrap();
    for (engine, depth) in available() {
        let mut backend = open(&files, &options(engine, depth)).unwrap();
        let rest = Submission { offset: 4096 + 1024, skip: 1024, length: 3072, ..request(IoOperation::Read, 0, 1) };
        let results = perform(&mut *backend, depth, &[rest]);
        if results[0].0 == -libc::EINVAL {
            skip(Cause::Sectors, "this disk has no sectors of 512 bytes");
            continue;
        }
        assert_eq!(results[0].0, 3072, "{engine}");
        assert!(results[0].1[1024..] == bytes[4096 + 1024..8192], "{engine}");
    }
}

#[test]
fn a_file_that_went_away_is_an_error_with_its_name() {
    let dir = on_disk();
    let files = FileSet { paths: vec![dir.path().join("gone")], bytes_each: 4096 };
    let error = open(&files, &options(IoEngine::Posix, 1)).err().unwrap();
    assert!(matches!(&error, FileError::System { path, .. } if path.ends_with("gone")), "{error}");
}

#[test]
fn a_reader_needs_no_right_to_write() {
    let dir = on_disk();
    let files = made(dir.path(), &["a"]);
    let backend = open(&files, &BackendOptions { write: false, ..options(IoEngine::Posix, 1) });
    let mut backend = backend.unwrap();
    assert_eq!(perform(&mut *backend, 1, &[request(IoOperation::Write, 0, 0)])[0].0, -libc::EBADF);
    let file = std::fs::File::open(&files.paths[0]).unwrap();
    let mut start = [0; 8];
    file.read_exact_at(&mut start, 0).unwrap();
    assert_eq!(start, super::super::MAGIC);
}

#[test]
fn requests_leave_in_batches_that_double() {
    let mut departures = SubmissionBatch::default();
    let left: Vec<_> = (1..=32).filter(|_| departures.is_full()).collect();
    assert_eq!(left, [1, 3, 7, 15, 31]);
    departures.begin();
    assert_eq!((1..=8).filter(|_| departures.is_full()).collect::<Vec<_>>(), [1, 3, 7]);
}
