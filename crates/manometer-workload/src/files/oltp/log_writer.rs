//! The log writer: one durable block after another, wrapping around at the end.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use manometer_measure::Directory;
use manometer_target::file::{DataGenerator, FileError};
use rustix::fs::OFlags;

use super::super::FilesError;
use super::super::aligned_buffer::AlignedBuffer;
use super::super::plan::LOG_FILE_BYTES;
use super::Database;
use crate::file_threads::{FileOperation, ThreadContext, ThreadEnd};
use crate::files::oltp_ratios::LOG_REQUEST_BYTES;

pub(super) fn work(database: &Database, shared: &ThreadContext<'_>, index: u32) -> Result<(), ThreadEnd> {
    let file = open(&database.log, database.direct)?;
    let mut data = DataGenerator::new(shared.seed ^ shared.clock.now_ns() ^ u64::from(index));
    let mut memory = AlignedBuffer::new(LOG_REQUEST_BYTES as usize);
    let mut offset = 0;
    while shared.gate.await_go() {
        data.fill(memory.bytes());
        shared.attempt(index, (FileOperation::Log, &database.log), || {
            file.write_all_at(memory.bytes(), offset)?;
            Ok(((), LOG_REQUEST_BYTES))
        })?;
        offset = (offset + LOG_REQUEST_BYTES) % LOG_FILE_BYTES;
        database.writer_schedule.record_batch(index as usize);
        if !database.writer_schedule.await_reads(index as usize) {
            break;
        }
    }
    Ok(())
}

fn open(path: &Path, direct: bool) -> Result<File, FilesError> {
    let flags = OFlags::WRONLY | OFlags::DSYNC | if direct { OFlags::DIRECT } else { OFlags::empty() };
    let opened = Directory::holding(path).and_then(|(directory, name)| directory.open_file(name, flags));
    opened.map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) if direct => FileError::DirectIoUnsupported(path.to_owned()).into(),
        _ => FilesError::of("open", path, error),
    })
}
