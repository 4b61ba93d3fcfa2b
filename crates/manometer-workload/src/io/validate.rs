//! Whether settings make sense, before anything is done.

use manometer_measure::ByteSize;
use manometer_target::file::{IoEngine, MAX_BUFFER_BYTES, MAX_DEPTH};

use super::recorded::BlockTrace;
use super::{IoError, IoSettings, RecordedSettings, parse_script};
use crate::setting_error::SettingError;

/// The smallest sector of any device.
const SECTOR_BYTES: u64 = 512;

/// More files than this are a mistake: each stays open.
const MAX_FILES: u32 = 512;

/// Checks `settings` for files on a file system with blocks of `fs_block_bytes`, its timetable and
/// its recorded trace included, which is read to its end unless it was before.
///
/// # Errors
/// The first setting that is wrong, with what would be right.
pub fn validate(settings: &IoSettings, fs_block_bytes: u64) -> Result<(), IoError> {
    check(settings, fs_block_bytes)?;
    BlockTrace::new(settings)?;
    if let Some(script) = &settings.script {
        parse_script(script, settings, fs_block_bytes)?;
    }
    Ok(())
}

/// As [`validate`], without the timetable.
pub(super) fn check(settings: &IoSettings, fs_block_bytes: u64) -> Result<(), SettingError> {
    ratio("write_ratio", settings.write_ratio)?;
    ratio("random_ratio", settings.random_ratio)?;
    depth(settings)?;
    block(settings, fs_block_bytes.max(SECTOR_BYTES))?;
    files(settings, fs_block_bytes.max(SECTOR_BYTES))?;
    RecordedSettings::check(settings)
}

fn ratio(name: &str, value: f64) -> Result<(), SettingError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(SettingError::new(name, value, "write a number from 0 to 1"))
}

fn depth(settings: &IoSettings) -> Result<(), SettingError> {
    let got = settings.iodepth;
    if !(1..=MAX_DEPTH).contains(&got) {
        return Err(SettingError::new("iodepth", got, format!("write a whole number from 1 to {MAX_DEPTH}")));
    }
    if settings.io_engine == Some(IoEngine::Posix) && got > 1 {
        let wanted = "posix keeps one request in flight: write 1, or io_engine = \"io_uring\" or \"libaio\"";
        return Err(SettingError::new("iodepth", got, wanted));
    }
    Ok(())
}

fn block(settings: &IoSettings, unit: u64) -> Result<(), SettingError> {
    let got = settings.block_size;
    if got.0 == 0 || !got.0.is_multiple_of(unit) {
        let nearest = ByteSize((got.0 / unit * unit).max(unit));
        let wanted = format!("write a multiple of the file system's block of {}, such as {nearest}", ByteSize(unit));
        return Err(SettingError::new("block_size", got, wanted));
    }
    let most = MAX_BUFFER_BYTES / u64::from(settings.iodepth);
    if got.0 > most {
        let wanted = format!(
            "with iodepth = {} write at most {}: requests in flight may hold {}",
            settings.iodepth,
            ByteSize(most / unit * unit),
            ByteSize(MAX_BUFFER_BYTES)
        );
        return Err(SettingError::new("block_size", got, wanted));
    }
    Ok(())
}

fn files(settings: &IoSettings, unit: u64) -> Result<(), SettingError> {
    let files = settings.files;
    if !(1..=MAX_FILES).contains(&files) {
        return Err(SettingError::new("files", files, format!("write a whole number from 1 to {MAX_FILES}")));
    }
    let (got, unit) = (settings.file_size, unit * u64::from(files));
    let least = settings.block_size.0.saturating_mul(u64::from(files));
    if got.0 < least {
        let wanted = format!("write at least {}: one block for each file", ByteSize(least));
        return Err(SettingError::new("file_size", got, wanted));
    }
    if !got.0.is_multiple_of(unit) || got.0 > i64::MAX as u64 {
        let nearest = ByteSize(got.0.min(i64::MAX as u64) / unit * unit);
        let wanted = format!("write a multiple of {}, whole blocks for each file, such as {nearest}", ByteSize(unit));
        return Err(SettingError::new("file_size", got, wanted));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_right_passes() {
        assert!(validate(&IoSettings::default(), 4096).is_ok());
        let large = IoSettings { iodepth: 1024, block_size: ByteSize(1 << 20), ..IoSettings::default() };
        assert!(validate(&large, 4096).is_ok());
    }

    #[test]
    fn every_mistake_names_its_setting_and_what_would_be_right() {
        let good = IoSettings::default;
        let cases = [
            (IoSettings { write_ratio: 1.5, ..good() }, "write_ratio", "from 0 to 1"),
            (IoSettings { random_ratio: f64::NAN, ..good() }, "random_ratio", "from 0 to 1"),
            (IoSettings { iodepth: 0, ..good() }, "iodepth", "1 to 1024"),
            (IoSettings { iodepth: 1025, ..good() }, "iodepth", "1 to 1024"),
            (IoSettings { iodepth: 2, io_engine: Some(IoEngine::Posix), ..good() }, "iodepth", "io_uring"),
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
