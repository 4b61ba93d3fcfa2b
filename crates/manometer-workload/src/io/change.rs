//! The settings of an `io` workload that can change while it runs.

use manometer_measure::plan::Settings;

use super::IoSettings;
use super::check::check;
use crate::change;
use crate::setting_error::SettingError;

/// The settings that can change while a workload runs, with the values that they take.
const CHANGEABLE: [(&str, &str); 10] = [
    ("block_size", "write a number of bytes such as 4KiB"),
    ("write_ratio", "write a number from 0 to 1"),
    ("random_ratio", "write a number from 0 to 1"),
    ("iodepth", "write a whole number from 1 to 1024"),
    ("direct", "write true or false"),
    ("dsync", "write true or false"),
    ("fdatasync_every", "write a whole number of writes, 0 for never"),
    ("rate", "write requests such as 1000/s, bytes such as 10MiB/s, or null for no limit"),
    ("script", "write times and settings such as `20m: iodepth = 2; 25m: write_ratio = 0.5`"),
    ("factor", "write a number such as 2, which halves a trace's span"),
];

/// Settings of a pattern only, and of a trace only.
const PATTERN_ONLY: [&str; 4] = ["block_size", "write_ratio", "random_ratio", "rate"];
const TRACE_ONLY: [&str; 1] = ["factor"];

/// The settings that can change while `settings` run.
pub fn changeable(settings: &IoSettings) -> Vec<&'static str> {
    let other: &[&str] = if settings.replay.trace.is_some() { &PATTERN_ONLY } else { &TRACE_ONLY };
    let names = CHANGEABLE.iter().map(|(name, _)| *name);
    names.filter(|name| !other.contains(name) && *name != "script").collect()
}

/// Applies `changes` to `current`, and checks the result.
pub(super) fn apply(current: &IoSettings, changes: &Settings, fs_block_bytes: u64) -> Result<IoSettings, SettingError> {
    if let Some(value) = changes.get("block_size").filter(|_| current.replay.trace.is_some()) {
        let wanted = "the blocks of a trace are fixed at the start: start another workload to change them";
        return Err(SettingError::new("block_size", format!("{value} while running"), wanted));
    }
    let changed = change::apply("io", &CHANGEABLE, current, changes)?;
    check(&changed, fs_block_bytes)?;
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use manometer_measure::{ByteSize, Rate};
    use serde_json::json;

    use super::*;
    use crate::change::{assert_settings, values_of};
    use crate::script::parse_settings;

    fn changes(text: &str) -> Settings {
        parse_settings(text).unwrap()
    }

    #[test]
    fn everything_changeable_is_a_setting() {
        assert_settings::<IoSettings>(&CHANGEABLE);
    }

    #[test]
    fn changes_take_effect_together() {
        let line = "iodepth=16 write_ratio=1 block_size=8KiB dsync=true rate=10MiB/s direct=false";
        let changed = apply(&IoSettings::default(), &changes(line), 4096).unwrap();
        let expected = IoSettings {
            iodepth: 16,
            write_ratio: 1.0,
            block_size: ByteSize(8192),
            dsync: true,
            direct: false,
            rate: Some(Rate::Bytes(10 << 20)),
            ..IoSettings::default()
        };
        assert_eq!(changed, expected);
        let values = values_of(&changed, &changes(line));
        assert_eq!(values["block_size"], "8KiB");
        assert_eq!(values["write_ratio"], 1.0);
        let unlimited = apply(&changed, &changes("rate=null"), 4096).unwrap();
        assert_eq!(unlimited.rate, None);
        assert_eq!(values_of(&unlimited, &changes("rate=null"))["rate"], json!(null));
    }

    #[test]
    fn invalid_changes_are_refused_with_valid_values() {
        for (line, name, wanted) in [
            ("file_size=2GiB", "file_size", "start"),
            ("files=2", "files", "start"),
            ("io_engine=posix", "io_engine", "start"),
            ("iodept=2", "iodept", "`iodepth`"),
            ("xyzzy=2", "xyzzy", "one of `block_size`"),
            ("iodepth=2000", "iodepth", "1 to 1024"),
            ("iodepth=1.5", "iodepth", "whole number"),
            ("iodepth=4 write_ratio=2", "write_ratio", "0 to 1"),
            ("direct=maybe", "direct", "true or false"),
            ("rate=fast", "rate", "1000/s"),
            ("block_size=5000", "block_size", "4KiB"),
        ] {
            let error = apply(&IoSettings::default(), &changes(line), 4096).unwrap_err();
            assert_eq!(error.name, name, "{line}");
            assert!(error.wanted.contains(wanted), "{error}");
        }
    }
}
