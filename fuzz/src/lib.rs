//! What every fuzz target does with its bytes: read them as a trace, as far as anybody would wait.

use std::io::{Cursor, Write as _};

use manometer_trace::{Format, ReadOptions, Trace, TraceError, open, open_stream};

/// A line may stand for more requests than anybody can wait for.
const BATCHES_MAX: usize = 64;

/// Reads the bytes in the format of this name, or in the one that they show.
pub fn read(format: Option<&str>, bytes: &[u8]) {
    let format = format.map(|name| Format::find(name).expect("the targets are named after formats"));
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
    // The reader catches the panics of the Parquet library, which libFuzzer's own hook would make the end. What is not
    // caught still is one.
    std::panic::set_hook(Box::new(|_| {}));
    let mut file = tempfile::NamedTempFile::new().expect("a file can be made");
    file.write_all(bytes).expect("a file can be written");
    open(file.path(), options)
}
