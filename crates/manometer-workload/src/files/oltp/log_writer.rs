//! The log writer: one durable block after another, wrapping around at the end.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use manometer_target::file::{DataGenerator, FileError};

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
    let flags = libc::O_DSYNC | if direct { libc::O_DIRECT } else { 0 };
    let opened = OpenOptions::new().write(true).custom_flags(flags).open(path);
    opened.map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) if direct => FileError::DirectIoUnsupported(path.to_owned()).into(),
        _ => FilesError::of("open", path, error),
    })
}
