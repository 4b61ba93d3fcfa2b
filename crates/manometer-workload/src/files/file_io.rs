//! Creating files and writing their bytes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use manometer_target::file::DataGenerator;

/// The most bytes of one read or write call (Filebench's `iosize=1m`).
pub(super) const IO_BYTES: usize = 1 << 20;
/// Written bytes are generated in multiples of this.
const DATA_UNIT_BYTES: usize = 16;

/// Creates a file; an existing one is truncated to nothing.
pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path).and_then(|file| {
        file.set_len(0)?;
        Ok(file)
    })
}

/// Writes `bytes` new bytes through `buffer`, which is of [`IO_BYTES`].
pub(super) fn write_bytes(mut file: &File, bytes: u64, data: &mut DataGenerator, buffer: &mut [u8]) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let length = left.min(buffer.len() as u64) as usize;
        data.fill(&mut buffer[..length.next_multiple_of(DATA_UNIT_BYTES)]);
        file.write_all(&buffer[..length])?;
        left -= length as u64;
    }
    Ok(())
}
