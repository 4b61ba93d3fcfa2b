//! The fuzz targets: `trace_<format>` for every format of a trace, `trace_any` for a format found by content, those of the
//! measuring half (`measuring.rs`), and those of `rlsm`, `recycle` and `backpath`. Each has its corpus in `corpus/`.

mod measuring;

use std::io::{Cursor, Write as _};

use manometer_trace::{Format, ReadOptions, Trace, TraceError, open, open_stream};

/// A line of input may expand to so many requests that one execution would not end in time.
const BATCHES_MAX: usize = 64;

/// What is fuzzed.
#[derive(Debug)]
pub enum Target {
    /// A trace, in this format or in the one that its content shows.
    Trace(Option<&'static Format>),
    /// A file of the measuring half.
    Measuring(measuring::Reader),
    /// A crate's parser, or a sequence of its operations, driven by the input bytes.
    Crate(fn(&[u8])),
}

impl Target {
    /// The one that `FUZZ_TARGET` names.
    pub fn from_environment() -> Self {
        let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names what to fuzz");
        Self::find(&name).unwrap_or_else(|| panic!("`{name}` is no fuzz target"))
    }

    /// The target of this name.
    pub fn find(name: &str) -> Option<Self> {
        match name.strip_prefix("trace_") {
            Some("any") => Some(Self::Trace(None)),
            Some(format) => Some(Self::Trace(Some(Format::find(&format.replace('_', "-")).ok()?))),
            None => {
                let crates = [&rlsm::fuzzing::TARGETS[..], &recycle::fuzzing::TARGETS, &backpath::fuzzing::TARGETS];
                let mut targets = crates.into_iter().flatten();
                let of_crate = targets.find(|target| target.0 == name).map(|target| Self::Crate(target.1));
                of_crate.or_else(|| measuring::Reader::find(name).map(Self::Measuring))
            }
        }
    }

    /// Reads `bytes` without panic.
    pub fn run(&self, bytes: &[u8]) {
        match self {
            Self::Trace(format) => read(*format, bytes),
            Self::Measuring(reader) => {
                leave_panics_to_readers();
                reader.read(bytes);
            }
            Self::Crate(run) => run(bytes),
        }
    }
}

/// Reads the bytes as a trace, as far as anybody would wait.
fn read(format: Option<&'static Format>, bytes: &[u8]) {
    let options = ReadOptions { format, keep_keys: true, ..ReadOptions::default() };
    let Ok(mut trace) = opened(bytes, &options) else { return };
    let mut batch = Vec::new();
    for _ in 0..BATCHES_MAX {
        match trace.reader.read(&mut batch) {
            Ok(0) => return,
            Ok(_) => {}
            Err(_) => {
                assert!(matches!(trace.reader.read(&mut batch), Ok(0)), "something follows an error");
                return;
            }
        }
    }
}

/// Parquet is read from its end, and needs a file.
fn opened(bytes: &[u8], options: &ReadOptions) -> Result<Trace, TraceError> {
    let is_parquet = options.format.is_some_and(|format| format.name == "parquet");
    if !is_parquet && !bytes.starts_with(b"PAR1") {
        return open_stream(Box::new(Cursor::new(bytes.to_vec())), options);
    }
    leave_panics_to_readers();
    let mut file = tempfile::NamedTempFile::new().expect("a file can be made");
    file.write_all(bytes).expect("a file can be written");
    open(file.path(), options)
}

/// Readers catch the panics of libraries, which libFuzzer's own hook would make the end. What is not caught still is one.
fn leave_panics_to_readers() {
    std::panic::set_hook(Box::new(|_| {}));
}
