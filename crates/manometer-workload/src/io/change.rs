//! New settings out of old ones and a few changes: all of them, or none.

use manometer_measure::plan::Settings;
use manometer_measure::suggest::correction;
use serde_json::Value;

use super::IoSettings;
use super::validate::check;
use crate::setting_error::SettingError;

/// Every setting, in the order of [`IoSettings`], and what its value looks like.
const NAMES: [(&str, &str); 20] = [
    ("file_size", "write a number of bytes such as 1GiB"),
    ("files", "write a whole number from 1"),
    ("block_size", "write a number of bytes such as 4KiB"),
    ("write_ratio", "write a number from 0 to 1"),
    ("random_ratio", "write a number from 0 to 1"),
    ("iodepth", "write a whole number from 1 to 1024"),
    ("direct", "write true or false"),
    ("dsync", "write true or false"),
    ("fdatasync_every", "write a whole number of writes, 0 for never"),
    ("rate", "write requests such as 1000/s, bytes such as 10MiB/s, or null for no limit"),
    ("io_engine", "write posix, libaio or io_uring"),
    ("script", "write times and settings such as `20m: iodepth = 2; 25m: write_ratio = 0.5`"),
    ("trace", "write the path of a recorded trace"),
    ("input_format", "write the name of a trace's format"),
    ("columns", "write what the columns of a CSV trace mean"),
    ("delimiter", "write one ASCII character"),
    ("time_unit", "write s, ms, us or ns"),
    ("model", "write open, closed-conservative or closed-unordered"),
    ("time", "write original, scaled or full"),
    ("factor", "write a number such as 2, which halves a trace's span"),
];

/// What is settled when the workload starts.
const FIXED: [&str; 10] =
    ["file_size", "files", "io_engine", "trace", "input_format", "columns", "delimiter", "time_unit", "model", "time"];

/// What only a pattern has, and what only a trace has.
const OF_A_PATTERN: [&str; 4] = ["block_size", "write_ratio", "random_ratio", "rate"];
const OF_A_TRACE: [&str; 1] = ["factor"];

/// The settings that can change while `settings` run.
pub fn changeable(settings: &IoSettings) -> Vec<&'static str> {
    let strange: &[&str] = if settings.recorded.trace.is_some() { &OF_A_PATTERN } else { &OF_A_TRACE };
    let names = NAMES.iter().map(|(name, _)| *name);
    names.filter(|name| !FIXED.contains(name) && !strange.contains(name) && *name != "script").collect()
}

/// The settings that come of `changes` to `current`.
pub(super) fn apply(current: &IoSettings, changes: &Settings, fs_block_bytes: u64) -> Result<IoSettings, SettingError> {
    let mut changed = current.clone();
    for (name, value) in changes {
        changed = apply_one(&changed, name, value)?;
    }
    check(&changed, fs_block_bytes)?;
    Ok(changed)
}

/// The values that `names` of `changes` have in `settings`, as they are told.
pub(super) fn in_force(settings: &IoSettings, changes: &Settings) -> Settings {
    let all = as_map(settings);
    changes.keys().map(|name| (name.clone(), all.get(name).cloned().unwrap_or(Value::Null))).collect()
}

fn apply_one(current: &IoSettings, name: &str, value: &Value) -> Result<IoSettings, SettingError> {
    let wanted = known(name)?;
    if FIXED.contains(&name) || name == "block_size" && current.recorded.trace.is_some() {
        let wanted = "it stays as it was at the start; start another workload to have it otherwise";
        return Err(SettingError::new(name, format!("{value} while running"), wanted));
    }
    let mut all = as_map(current);
    all.insert(name.to_owned(), value.clone());
    serde_json::from_value(Value::Object(all)).map_err(|_| SettingError::new(name, value, wanted))
}

fn known(name: &str) -> Result<&'static str, SettingError> {
    if let Some((_, wanted)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Ok(wanted);
    }
    let wanted = correction(name, NAMES.iter().map(|(known, _)| *known));
    Err(SettingError::new(name, "a name that no setting of io has", wanted))
}

fn as_map(settings: &IoSettings) -> Settings {
    match serde_json::to_value(settings) {
        Ok(Value::Object(map)) => map,
        _ => unreachable!("settings are a struct of plain values"),
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::{ByteSize, Rate};
    use serde_json::json;

    use super::*;
    use crate::script::parse_settings;

    fn changes(text: &str) -> Settings {
        parse_settings(text).unwrap()
    }

    #[test]
    fn every_setting_is_known() {
        let schema = schemars::schema_for!(IoSettings);
        let properties = schema.as_value()["properties"].as_object().unwrap();
        let mut known: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
        let mut names: Vec<_> = properties.keys().map(String::as_str).collect();
        known.sort_unstable();
        names.sort_unstable();
        assert_eq!(known, names);
    }

    #[test]
    fn changes_are_made_together() {
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
        let told = in_force(&changed, &changes(line));
        assert_eq!(told["block_size"], "8KiB");
        assert_eq!(told["write_ratio"], 1.0);
        let unlimited = apply(&changed, &changes("rate=null"), 4096).unwrap();
        assert_eq!(unlimited.rate, None);
        assert_eq!(in_force(&unlimited, &changes("rate=null"))["rate"], json!(null));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (line, name, wanted) in [
            ("file_size=2GiB", "file_size", "start"),
            ("files=2", "files", "start"),
            ("io_engine=posix", "io_engine", "start"),
            ("iodept=2", "iodept", "`iodepth`"),
            ("xyzzy=2", "xyzzy", "one of `file_size`"),
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
