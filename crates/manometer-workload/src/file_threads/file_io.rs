//! Creating files, and reading and writing their bytes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use manometer_target::file::DataGenerator;

/// The most bytes of one read or write call (Filebench's `iosize=1m`).
pub(crate) const IO_BYTES: usize = 1 << 20;
/// Written bytes are generated in multiples of this.
const DATA_UNIT_BYTES: usize = 16;

/// Creates a file; an existing one is truncated to nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "the measured call itself, in the directory that the worker has created and locked"
)]
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path).and_then(|file| {
        file.set_len(0)?;
        Ok(file)
    })
}

/// Writes `bytes` new bytes through `buffer`, which is of [`IO_BYTES`].
pub(crate) fn write_bytes(mut file: &File, bytes: u64, data: &mut DataGenerator, buffer: &mut [u8]) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let length = left.min(buffer.len() as u64) as usize;
        data.fill(&mut buffer[..length.next_multiple_of(DATA_UNIT_BYTES)]);
        file.write_all(&buffer[..length])?;
        left -= length as u64;
    }
    Ok(())
}

/// Reads a file to its end through `buffer`. Returns its bytes.
pub(crate) fn read_to_end(mut file: &File, buffer: &mut [u8]) -> io::Result<u64> {
    let mut bytes = 0;
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(bytes),
            Ok(more) => bytes += more as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
