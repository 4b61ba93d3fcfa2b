//! A reader: one block at a random place after the other.

use std::os::unix::fs::FileExt as _;

use super::super::aligned_buffer::AlignedBuffer;
use super::{BlockChooser, Database};
use crate::file_threads::{FileOperation, ThreadContext, ThreadEnd};

pub(super) fn work(database: &Database, shared: &ThreadContext<'_>, index: u32, number: u32) -> Result<(), ThreadEnd> {
    let mut places = BlockChooser::new(database, shared, index);
    let mut memory = AlignedBuffer::new(database.request_bytes as usize);
    while shared.gate.await_start(number) {
        shared.await_operation()?;
        let (file, offset) = places.next();
        let path = &database.data.paths[file as usize];
        shared.attempt(index, (FileOperation::Read, path), || {
            database.opened[file as usize].read_exact_at(memory.bytes(), offset)?;
            Ok(((), u64::from(database.request_bytes)))
        })?;
        if !database.writer_schedule.record_read() {
            return Ok(());
        }
    }
    Ok(())
}
