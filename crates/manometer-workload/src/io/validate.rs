//! Whether an `io` workload's settings can run, timetable and trace included.

use super::check::check;
use super::trace::BlockTrace;
use super::{IoError, IoSettings, parse_script};

/// Checks `settings` for files on a file system with blocks of `fs_block_bytes`, its timetable and
/// its recorded trace included, which is read to its end unless it was already.
///
/// # Errors
/// The first invalid setting.
pub fn validate(settings: &IoSettings, fs_block_bytes: u64) -> Result<(), IoError> {
    check(settings, fs_block_bytes)?;
    BlockTrace::new(settings)?;
    if let Some(script) = &settings.script {
        parse_script(script, settings, fs_block_bytes)?;
    }
    Ok(())
}

impl IoSettings {
    /// Whether it writes, by its settings or its trace.
    ///
    /// # Errors
    /// The trace cannot be read, or not be replayed on files.
    pub fn writes(&self) -> Result<bool, IoError> {
        let by_script = self.script.as_ref().is_some_and(|script| script.contains("write_ratio"));
        Ok(match BlockTrace::new(self)? {
            Some(trace) => trace.writes,
            None => self.write_ratio != 0.0 || by_script,
        })
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::ByteSize;
    use manometer_target::file::IoEngine;

    use super::*;

    #[test]
    fn valid_settings_pass() {
        assert!(validate(&IoSettings::default(), 4096).is_ok());
        let large = IoSettings { iodepth: 1024, block_size: ByteSize(1 << 20), ..IoSettings::default() };
        assert!(validate(&large, 4096).is_ok());
    }

    #[test]
    fn every_error_names_its_setting_and_a_valid_value() {
        let good = IoSettings::default;
        let cases = [
            (IoSettings { write_ratio: 1.5, ..good() }, "write_ratio", "from 0 to 1"),
            (IoSettings { random_ratio: f64::NAN, ..good() }, "random_ratio", "from 0 to 1"),
            (IoSettings { iodepth: 0, ..good() }, "iodepth", "1 to 1024"),
            (IoSettings { iodepth: 1025, ..good() }, "iodepth", "1 to 1024"),
            (IoSettings { iodepth: 2, io_engine: Some(IoEngine::Posix), ..good() }, "iodepth", "io_uring"),
            (IoSettings { iodepth: 2, io_engine: Some(IoEngine::Recycle), ..good() }, "iodepth", "recycle keeps one"),
            (IoSettings { io_engine: Some(IoEngine::Recycle), dsync: true, ..good() }, "dsync", "fdatasync_every"),
            (IoSettings { memory: Some(ByteSize(1 << 20)), ..good() }, "memory", "leave it out"),
            (
                IoSettings { io_engine: Some(IoEngine::Recycle), memory: Some(ByteSize(4096)), ..good() },
                "memory",
                "16KiB to",
            ),
            (IoSettings { block_size: ByteSize(6000), ..good() }, "block_size", "4KiB"),
            (IoSettings { block_size: ByteSize(0), ..good() }, "block_size", "4KiB"),
            (IoSettings { block_size: ByteSize(4 << 20), iodepth: 1024, ..good() }, "block_size", "at most 1MiB"),
            (IoSettings { files: 0, ..good() }, "files", "from 1"),
            (IoSettings { file_size: ByteSize(4096), files: 2, ..good() }, "file_size", "at least 8KiB"),
            (IoSettings { files: 3, ..good() }, "file_size", "multiple of 12KiB"),
            (IoSettings { file_size: ByteSize(u64::MAX), ..good() }, "file_size", "multiple"),
        ];
        for (settings, name, wanted) in cases {
            let Err(IoError::Setting(error)) = validate(&settings, 4096) else { panic!("{settings:?} passed") };
            assert_eq!(error.name, name);
            assert!(error.wanted.contains(wanted), "{error}");
        }
    }
}
