//! A file in `/proc` or `/sys` that is read repeatedly: opened once, read from its start each time.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// The size of one read; most such files are shorter.
const CHUNK_BYTES: usize = 8 << 10;

/// A longer file than any of these is, even with thousands of processors.
const MAX_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct KernelFile {
    path: PathBuf,
    file: Option<File>,
    bytes: Vec<u8>,
}

impl KernelFile {
    pub(super) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: None, bytes: Vec::new() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its current text; `None` where it cannot be read. A file that is gone may come back: the next read opens it
    /// again.
    pub(super) fn read(&mut self) -> Option<&str> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let whole = self.file.as_ref().is_some_and(|file| read_whole(file, &mut self.bytes));
        if !whole {
            self.file = None;
            return None;
        }
        std::str::from_utf8(&self.bytes).ok()
    }

    /// Its content as a number.
    pub(super) fn number(&mut self) -> Option<f64> {
        self.read()?.trim().parse().ok()
    }
}

/// Reads all of `file` into `bytes`; `false` if that fails.
fn read_whole(file: &File, bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    while bytes.len() < MAX_BYTES {
        let begin = bytes.len();
        bytes.resize(begin + CHUNK_BYTES, 0);
        let Ok(read) = file.read_at(&mut bytes[begin..], begin as u64) else { return false };
        bytes.truncate(begin + read);
        if read == 0 {
            return true;
        }
    }
    false
}

/// The number after `key` in a text of lines `key number`.
pub(super) fn field(text: &str, key: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_each_time_and_a_gap_when_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("value");
        let mut file = KernelFile::new(&path);
        assert_eq!(file.read(), None);
        std::fs::write(&path, "1\n").unwrap();
        assert_eq!(file.number(), Some(1.0));
        std::fs::write(&path, "23 \n").unwrap();
        assert_eq!(file.number(), Some(23.0));
        std::fs::write(&path, "x".repeat(3 * CHUNK_BYTES)).unwrap();
        assert_eq!(file.read().map(str::len), Some(3 * CHUNK_BYTES));
    }

    #[test]
    fn a_key_is_taken_whole() {
        assert_eq!(field("ctxt_all 7\nctxt 5\n", "ctxt"), Some(5.0));
        assert_eq!(field("ctxt 5\n", "btime"), None);
        assert_eq!(field("ctxt five\n", "ctxt"), None);
    }
}
