//! Whether settings are valid, timetable and trace aside.

use manometer_measure::ByteSize;
use manometer_target::file::{MAX_BUFFER_BYTES, MAX_DEPTH};

use super::{BlockReplaySettings, IoSettings};
use crate::replay::rules::check_times;
use crate::replay::{ReplayError, ReplayModel};
use crate::setting_error::SettingError;

/// The smallest sector of any device.
const SECTOR_BYTES: u64 = 512;

/// What `recycle` takes as its memory: the pages of one instruction, and what a budget can count.
const LEAST_MEMORY_BYTES: u64 = 4 * 4096;
const MOST_MEMORY_BYTES: u64 = 1 << 43;

/// More files than this are a mistake: each stays open.
const MAX_FILES: u32 = 512;

/// As [`validate`], without the timetable.
pub(super) fn check(settings: &IoSettings, fs_block_bytes: u64) -> Result<(), SettingError> {
    ratio("write_ratio", settings.write_ratio)?;
    ratio("random_ratio", settings.random_ratio)?;
    depth(settings)?;
    mapped(settings)?;
    block(settings, fs_block_bytes.max(SECTOR_BYTES))?;
    files(settings, fs_block_bytes.max(SECTOR_BYTES))?;
    check_replay(settings)
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
    if let Some(engine) = settings.io_engine.filter(|engine| engine.is_synchronous() && got > 1) {
        let wanted =
            format!("{engine} keeps one request in flight: write 1, or io_engine = \"io_uring\" or \"libaio\"");
        return Err(SettingError::new("iodepth", got, wanted));
    }
    Ok(())
}

/// Checks what engines that copy from and to memory do not have.
fn mapped(settings: &IoSettings) -> Result<(), SettingError> {
    let engine = settings.io_engine.filter(|engine| engine.is_mapped());
    if let Some(memory) = settings.memory {
        let Some(engine) = engine.filter(|engine| engine.has_memory()) else {
            let wanted = "only recycle and recycle_map have their own memory: leave it out; for mmap, limit memory.max";
            return Err(SettingError::new("memory", memory, wanted));
        };
        if !(LEAST_MEMORY_BYTES..=MOST_MEMORY_BYTES).contains(&memory.0) {
            let (least, most) = (ByteSize(LEAST_MEMORY_BYTES), ByteSize(MOST_MEMORY_BYTES));
            return Err(SettingError::new("memory", memory, format!("{engine} takes {least} to {most}")));
        }
    }
    let Some(engine) = engine else { return Ok(()) };
    if settings.dsync {
        let wanted = format!("{engine} cannot make single writes durable: write false, and fdatasync_every = 1");
        return Err(SettingError::new("dsync", true, wanted));
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

/// Checks the settings of a trace, and that those of a pattern are at their defaults.
fn check_replay(settings: &IoSettings) -> Result<(), SettingError> {
    let recorded = &settings.replay;
    if recorded.trace.is_none() {
        if *recorded == BlockReplaySettings::default() {
            return Ok(());
        }
        return Err(SettingError::new("trace", "nothing", "name the trace to which the other settings apply"));
    }
    check_times(recorded.model(), recorded.time(), recorded.factor).map_err(as_setting)?;
    let pattern = IoSettings::default();
    let of_a_pattern = "a trace has its own places and times: leave it out";
    if settings.write_ratio != pattern.write_ratio {
        return Err(SettingError::new("write_ratio", settings.write_ratio, of_a_pattern));
    }
    if settings.random_ratio != pattern.random_ratio {
        return Err(SettingError::new("random_ratio", settings.random_ratio, of_a_pattern));
    }
    if let Some(rate) = settings.rate {
        return Err(SettingError::new("rate", rate, format!("{of_a_pattern}, or write a `factor`")));
    }
    match recorded.model() {
        ReplayModel::ClosedPerClient => {
            let wanted = "requests of a device have no clients: write open, closed-conservative or closed-unordered";
            Err(SettingError::new("model", recorded.model().name(), wanted))
        }
        ReplayModel::ClosedConservative if settings.iodepth > 1 => {
            let wanted = "in the model closed-conservative each request waits for all before it: write 1, or \
                          choose another model";
            Err(SettingError::new("iodepth", settings.iodepth, wanted))
        }
        _ => Ok(()),
    }
}

fn as_setting(error: ReplayError) -> SettingError {
    match error {
        ReplayError::BadSetting { name, got, wanted } => SettingError { name: name.to_owned(), got, wanted },
        other => SettingError::new("trace", other, "name another trace"),
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::Rate;

    use super::*;
    use crate::replay::Timing;

    #[test]
    fn settings_of_a_pattern_are_refused_beside_a_trace() {
        let recorded = BlockReplaySettings { trace: Some("t".into()), ..BlockReplaySettings::default() };
        let good = IoSettings { replay: recorded.clone(), ..IoSettings::default() };
        let with = |change: BlockReplaySettings| IoSettings { replay: change, ..good.clone() };
        assert_eq!(check_replay(&good), Ok(()));
        let unordered = Some(ReplayModel::ClosedUnordered);
        let conservative = Some(ReplayModel::ClosedConservative);
        let cases = [
            (
                with(BlockReplaySettings { trace: None, factor: Some(2.0), ..recorded.clone() }),
                "trace",
                "name the trace",
            ),
            (with(BlockReplaySettings { factor: Some(2.0), ..recorded.clone() }), "factor", "only `scaled`"),
            (with(BlockReplaySettings { time: Some(Timing::Full), ..recorded.clone() }), "time", "all of them at once"),
            (with(BlockReplaySettings { model: unordered, ..recorded.clone() }), "time", "Write `full`"),
            (
                with(BlockReplaySettings { model: Some(ReplayModel::ClosedPerClient), ..recorded.clone() }),
                "model",
                "have no clients",
            ),
            (
                IoSettings {
                    iodepth: 2,
                    ..with(BlockReplaySettings { model: conservative, time: Some(Timing::Full), ..recorded })
                },
                "iodepth",
                "write 1",
            ),
            (IoSettings { write_ratio: 0.5, ..good.clone() }, "write_ratio", "leave it out"),
            (IoSettings { random_ratio: 0.5, ..good.clone() }, "random_ratio", "leave it out"),
            (IoSettings { rate: Some(Rate::Requests(1.0)), ..good.clone() }, "rate", "`factor`"),
        ];
        for (settings, name, wanted) in cases {
            let error = check_replay(&settings).unwrap_err();
            assert_eq!(error.name, name, "{error}");
            assert!(error.wanted.contains(wanted), "{error}");
        }
    }
}
