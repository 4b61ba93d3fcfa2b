//! Reads the lines of a file, decompressed by content.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// A file that cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system or the decompressor.
        source: io::Error,
    },
    /// The file does not have the format.
    #[error("{}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What was expected and what was found.
        reason: String,
    },
    /// The recording cannot be written.
    #[error(transparent)]
    Recording(#[from] manometer_measure::RecordingError),
}

impl ImportError {
    pub(crate) fn format(path: &Path, reason: impl Into<String>) -> Self {
        Self::Format { path: path.to_owned(), reason: reason.into() }
    }
}

/// A longer line is not part of a log.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// The lines of a file, and the damage at its end, if any.
pub(crate) struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    /// The number of the last line, from 1.
    pub number: u64,
    /// The damage that ended the file early.
    pub damage: Option<String>,
}

impl Lines {
    /// Opens a file, which may be compressed with xz, gzip or zstd under any name.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let io_error = |source| ImportError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io_error)?;
        let kind = file.metadata().map_err(io_error)?.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return Err(ImportError::format(path, "it is a device, not a file"));
        }
        let mut file = BufReader::new(file);
        let head = file.fill_buf().map_err(io_error)?;
        let reader: Box<dyn Read> = if head.starts_with(b"\xfd7zXZ\0") {
            Box::new(liblzma::read::XzDecoder::new_multi_decoder(file))
        } else if head.starts_with(&[0x1f, 0x8b]) {
            Box::new(flate2::read::MultiGzDecoder::new(file))
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Box::new(zstd::Decoder::new(file).map_err(io_error)?)
        } else {
            Box::new(file)
        };
        Ok(Self { path: path.to_owned(), reader: Box::new(BufReader::new(reader)), number: 0, damage: None })
    }

    /// The next line without its terminator; invalid UTF-8 is replaced. A damaged file ends there, with the reason in
    /// `damage`; it is an error only if the first line cannot be read.
    pub fn next(&mut self) -> Result<Option<String>, ImportError> {
        let mut bytes = Vec::new();
        match self.reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes) {
            Ok(0) => Ok(None),
            Ok(_) => {
                self.number += 1;
                while bytes.last().is_some_and(|last| matches!(last, b'\n' | b'\r')) {
                    bytes.pop();
                }
                Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
            }
            Err(source) if self.number == 0 => Err(ImportError::Io { path: self.path.clone(), source }),
            Err(error) => {
                self.damage = Some(format!("after line {}: {error}", self.number));
                Ok(None)
            }
        }
    }
}

/// Milliseconds as nanoseconds, limited to the valid range.
pub(crate) fn ns_of_ms(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000)
}

/// All lines of a file, and the damage at its end.
pub(crate) fn all_lines(path: &Path) -> Result<(Vec<String>, Option<String>), ImportError> {
    let mut lines = Lines::open(path)?;
    let mut all = Vec::new();
    while let Some(line) = lines.next()? {
        // A program that redraws its line ends it with a carriage return.
        all.extend(line.split('\r').map(str::to_owned));
    }
    Ok((all, lines.damage))
}

/// The file's name without its extensions.
pub(crate) fn file_stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = [".xz", ".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let ends = [".out", ".flags", ".txt", ".log", ".json", ".hdr"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned()
}
