//! New settings out of old ones and a few changes: all of them, or none.

use manometer_measure::plan::Settings;
use manometer_measure::suggest::correction;
use serde_json::Value;

use super::plan::FilesPlan;
use super::settings::FilesSettings;
use crate::setting_error::SettingError;

/// Every setting, and what its value looks like.
const NAMES: [(&str, &str); 8] = [
    ("personality", "write fileserver, varmail or oltp"),
    ("files", "write a whole number"),
    ("mean_file_size", "write a number of bytes such as 128KiB"),
    ("mean_append_size", "write a number of bytes such as 16KiB"),
    ("directory_width", "write a whole number, 0 for one directory"),
    ("threads", "write a whole number from 1 to 512"),
    ("direct", "write true or false"),
    ("rate", "write operations such as 1000/s, or null for no limit"),
];

const CHANGEABLE: [&str; 2] = ["threads", "rate"];

/// The settings that can change while the workload runs.
pub fn changeable() -> Vec<&'static str> {
    CHANGEABLE.to_vec()
}

/// The settings that come of `changes` to `current`, and their plan.
pub(super) fn apply(current: &FilesSettings, changes: &Settings) -> Result<(FilesSettings, FilesPlan), SettingError> {
    let mut changed = current.clone();
    for (name, value) in changes {
        changed = apply_one(&changed, name, value)?;
    }
    let plan = FilesPlan::new(&changed)?;
    Ok((changed, plan))
}

/// The values that `names` of `changes` have in `plan`, as they are told.
pub(super) fn in_force(plan: &FilesPlan, changes: &Settings) -> Settings {
    let value = |name: &str| match name {
        "threads" => Value::from(plan.threads),
        "rate" => serde_json::to_value(plan.rate).unwrap_or_default(),
        _ => Value::Null,
    };
    changes.keys().map(|name| (name.clone(), value(name))).collect()
}

fn apply_one(current: &FilesSettings, name: &str, value: &Value) -> Result<FilesSettings, SettingError> {
    let wanted = known(name)?;
    if !CHANGEABLE.contains(&name) {
        let wanted = "it stays as it was at the start; start another workload to have it otherwise";
        return Err(SettingError::new(name, format!("{value} while running"), wanted));
    }
    let wrong = || SettingError::new(name, value, wanted);
    let Ok(Value::Object(mut all)) = serde_json::to_value(current) else { return Err(wrong()) };
    all.insert(name.to_owned(), value.clone());
    serde_json::from_value(Value::Object(all)).map_err(|_| wrong())
}

fn known(name: &str) -> Result<&'static str, SettingError> {
    if let Some((_, wanted)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Ok(wanted);
    }
    let wanted = correction(name, NAMES.iter().map(|(known, _)| *known));
    Err(SettingError::new(name, "a name that no setting of files has", wanted))
}

#[cfg(test)]
mod tests {
    use manometer_measure::Rate;
    use serde_json::json;

    use super::super::settings::Personality;
    use super::*;
    use crate::script::parse_settings;

    fn changes(text: &str) -> Settings {
        parse_settings(text).unwrap()
    }

    fn mail() -> FilesSettings {
        FilesSettings::of(Personality::Varmail)
    }

    #[test]
    fn every_setting_is_known() {
        let schema = schemars::schema_for!(FilesSettings);
        let properties = schema.as_value()["properties"].as_object().unwrap();
        let mut known: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
        let mut names: Vec<_> = properties.keys().map(String::as_str).collect();
        known.sort_unstable();
        names.sort_unstable();
        assert_eq!(known, names);
    }

    #[test]
    fn changes_are_made_together_and_told() {
        let line = changes("threads=4 rate=100/s");
        let (changed, plan) = apply(&mail(), &line).unwrap();
        assert_eq!(changed, FilesSettings { threads: Some(4), rate: Some(Rate::Requests(100.0)), ..mail() });
        assert_eq!(json!(in_force(&plan, &line)), json!({ "threads": 4, "rate": "100/s" }));
        let line = changes("rate=null");
        let (unlimited, plan) = apply(&changed, &line).unwrap();
        assert_eq!(unlimited.rate, None);
        assert_eq!(json!(in_force(&plan, &line)), json!({ "rate": null }));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (line, name, wanted) in [
            ("files=2", "files", "start"),
            ("personality=oltp", "personality", "start"),
            ("thread=2", "thread", "`threads`"),
            ("xyzzy=2", "xyzzy", "one of `personality`"),
            ("threads=0", "threads", "1 to 512"),
            ("threads=1.5", "threads", "whole number"),
            ("rate=fast", "rate", "1000/s"),
            ("rate=1MiB/s", "rate", "1000/s"),
        ] {
            let error = apply(&mail(), &changes(line)).unwrap_err();
            assert_eq!(error.name, name, "{line}");
            assert!(error.wanted.contains(wanted), "{error}");
        }
    }
}
