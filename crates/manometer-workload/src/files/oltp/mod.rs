//! A database: readers at random places, writers of batches behind them, and one writer of a log.
//!
//! As in Filebench's `oltp`, writers follow readers: every writer's batch takes a thousand reads, a write of the log 3,200,
//! and readers wait where writers fall too far behind. The processor time that Filebench burns is left out.

mod db_writer;
mod log_writer;
mod reader;
mod writer_schedule;

use std::fs::File;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_measure::host::{device_of, mount};
use manometer_target::file::{self, FileError, FileReuse, FileSet, IoEngine};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use self::writer_schedule::WriterSchedule;
use super::FilesError;
use super::oltp_ratios::{DB_WRITER_RATIO, DB_WRITERS, LOG_WRITER_RATIO, REQUEST_BYTES};
use super::plan::{FilesPlan, LOG_FILE_BYTES};
use crate::file_threads::creation::ReportProgress;
use crate::file_threads::{ThreadContext, ThreadEnd};

/// The block size where the file system does not report it.
const USUAL_BLOCK_BYTES: u64 = 4096;

/// A few large files and a log, open.
pub(super) struct Database {
    data: FileSet,
    log: PathBuf,
    opened: Vec<File>,
    request_bytes: u32,
    direct: bool,
    engine: IoEngine,
    writer_schedule: WriterSchedule,
}

/// The files of `plan` below `root`.
fn data_files(plan: &FilesPlan, root: &Path) -> FileSet {
    let paths = (0..plan.files).map(|number| root.join(format!("{number}.data"))).collect();
    FileSet { paths, bytes_each: plan.mean_file_bytes }
}

/// Creates the files of `plan` below `root`. `progress` receives the bytes written and required; where it breaks, some
/// files are not created.
pub(super) fn create(
    plan: &FilesPlan,
    root: &Path,
    data_seed: u64,
    progress: &mut ReportProgress<'_>,
) -> Result<(), FilesError> {
    let free = mount::free_bytes(root);
    if let Some(free) = free.filter(|free| *free < plan.bytes()) {
        let (wanted, free) = (ByteSize(plan.bytes()), ByteSize(free));
        let (path, files) = (root.to_owned(), plan.files);
        return Err(FilesError::NoSpace { path, files, wanted, free, setting: "mean_file_size" });
    }
    let log = FileSet { paths: vec![root.join("log")], bytes_each: LOG_FILE_BYTES };
    let total = plan.bytes();
    for (files, before) in [(log, 0), (data_files(plan, root), LOG_FILE_BYTES)] {
        match file::prepare(&files, FileReuse::Remake, data_seed ^ before, &mut |done, _| {
            progress(before + done, total)
        }) {
            Ok(_) => {}
            Err(FileError::Interrupted(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Database {
    /// Opens the files of `plan` below `root`.
    pub(super) fn open(plan: &FilesPlan, root: &Path) -> Result<Self, FilesError> {
        let data = data_files(plan, root);
        let opened = data.open(false, plan.direct)?;
        let log = root.join("log");
        check_length(&log, LOG_FILE_BYTES)?;
        data.paths.iter().try_for_each(|path| check_length(path, data.bytes_each))?;
        let block = if plan.direct { block_bytes(&data.paths[0]) } else { 1 };
        Ok(Self {
            data,
            log,
            opened,
            request_bytes: request_bytes(block),
            direct: plan.direct,
            engine: file::best_available(),
            writer_schedule: WriterSchedule::new(
                [vec![DB_WRITER_RATIO; DB_WRITERS as usize], vec![LOG_WRITER_RATIO]].concat(),
            ),
        })
    }

    pub(super) fn request_bytes(&self) -> u32 {
        self.request_bytes
    }

    pub(super) fn engine(&self) -> IoEngine {
        self.engine
    }

    /// A note for the user on the requests.
    pub(super) fn note(&self) -> Option<String> {
        note(self.request_bytes)
    }

    /// How many threads write.
    pub(super) fn writers(&self) -> u32 {
        DB_WRITERS + 1
    }

    /// The work of the reader `number` of all readers, which counts as the thread `index`.
    pub(super) fn read(&self, shared: &ThreadContext<'_>, index: u32, number: u32) -> Result<(), ThreadEnd> {
        reader::work(self, shared, index, number)
    }

    /// The work of the writer `index`.
    pub(super) fn write(&self, shared: &ThreadContext<'_>, index: u32) -> Result<(), ThreadEnd> {
        if index < DB_WRITERS { db_writer::work(self, shared, index) } else { log_writer::work(self, shared, index) }
    }

    /// Releases waiting threads, for good.
    pub(super) fn close(&self) {
        self.writer_schedule.close();
    }
}

/// Checks that the file at `path` still has `bytes`.
fn check_length(path: &Path, bytes: u64) -> Result<(), FilesError> {
    let found = std::fs::metadata(path).map_err(|error| FilesError::of("examining", path, error))?;
    if found.len() == bytes { Ok(()) } else { Err(FilesError::Truncated(path.to_owned())) }
}

/// Bytes of a read or a write where direct I/O takes whole blocks of `block` bytes.
fn request_bytes(block: u64) -> u32 {
    REQUEST_BYTES.next_multiple_of(block.max(1)) as u32
}

/// A note where reads and writes of `request_bytes` differ from the intended size.
fn note(request_bytes: u32) -> Option<String> {
    let (got, wanted) = (ByteSize(u64::from(request_bytes)), ByteSize(REQUEST_BYTES));
    (got != wanted)
        .then(|| format!("direct I/O takes whole blocks here: reads and writes have {got} instead of {wanted}"))
}

/// The multiple of bytes that direct I/O on `path` takes.
fn block_bytes(path: &Path) -> u64 {
    let logical = || {
        let file = device_of(path)?.disk_sysfs().join("queue/logical_block_size");
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    };
    let known = file::direct_alignment_bytes(path).or_else(logical);
    known.or_else(|| mount::block_size_bytes(path)).unwrap_or(USUAL_BLOCK_BYTES)
}

/// Random places in files that are visited in turn.
struct BlockChooser {
    random: Xoshiro256PlusPlus,
    files: u32,
    next: u32,
    blocks: u64,
    block_bytes: u64,
}

impl BlockChooser {
    /// The places of the thread `index`.
    fn new(database: &Database, shared: &ThreadContext<'_>, index: u32) -> Self {
        let (files, block_bytes) = (database.opened.len() as u32, u64::from(database.request_bytes));
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(shared.seed.wrapping_mul(31).wrapping_add(u64::from(index))),
            files,
            next: index % files.max(1),
            blocks: (database.data.bytes_each / block_bytes).max(1),
            block_bytes,
        }
    }

    /// The next file, and where in it.
    fn next(&mut self) -> (u32, u64) {
        let file = self.next;
        self.next = (self.next + 1) % self.files.max(1);
        (file, self.random.random_range(0..self.blocks) * self.block_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_whole_blocks_and_a_note_says_where_they_grew() {
        for (block, bytes) in [(1, 2048), (512, 2048), (2048, 2048), (4096, 4096), (16_384, 16_384)] {
            assert_eq!(request_bytes(block), bytes);
            assert_eq!(note(bytes).is_some(), bytes != 2048);
        }
        assert!(note(4096).unwrap().contains("4KiB instead of 2KiB"));
    }
}
