//! Files that a user names. They are read only if they are regular: a pipe would wait for a writer, and a device never ends.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens the regular file at `path`. A pipe does not hold it up, nor does a file of the kernel that waits for what comes.
#[expect(clippy::disallowed_methods, reason = "it is read, and its user has named it")]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    check(file)
}

/// The file itself, if it is regular.
pub(crate) fn check(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}

/// Reads the regular file at `path`, which has at most `most_bytes`.
///
/// # Errors
/// It cannot be read, is not a regular file, or is larger.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    read_whole(open(path)?, most_bytes)
}

/// Reads `file`, which has at most `most_bytes`.
pub(crate) fn read_whole(file: File, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most_bytes} bytes")));
    }
    Ok(bytes)
}

/// Reads the text of the regular file at `path`, which has at most `most_bytes`.
///
/// # Errors
/// As those of [`read`], or it is not UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    String::from_utf8(read(path, most_bytes)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_device_is_refused_and_a_large_file_too() {
        let dir = tempfile::tempdir().unwrap();
        let (link, file) = (dir.path().join("link"), dir.path().join("file"));
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert!(read(&link, 10).unwrap_err().to_string().contains("not a regular file"));
        fs::write(&file, "0123456789").unwrap();
        assert_eq!(read(&file, 10).unwrap(), b"0123456789");
        assert!(read(&file, 9).unwrap_err().to_string().contains("more than 9 bytes"));
    }
}
