//! The settings of a `files` workload that can change while it runs.

use manometer_measure::plan::Settings;
use serde_json::Value;

use super::plan::FilesPlan;
use super::settings::FilesSettings;
use crate::change;
use crate::file_threads::ThreadChange;
use crate::setting_error::SettingError;

/// The settings that can change while a workload runs, with the values that they take.
const CHANGEABLE: [(&str, &str); 2] = [
    ("threads", "write a whole number from 1 to 512"),
    ("rate", "write operations such as 1000/s, or null for no limit"),
];

/// The settings that can change while the workload runs.
pub fn changeable() -> Vec<&'static str> {
    CHANGEABLE.iter().map(|(name, _)| *name).collect()
}

/// Applies `changes` to `current`.
pub(super) fn apply(current: &FilesSettings, changes: &Settings) -> Result<ThreadChange<FilesSettings>, SettingError> {
    let settings = change::apply("files", &CHANGEABLE, current, changes)?;
    let plan = FilesPlan::new(&settings)?;
    Ok(ThreadChange { settings, threads: plan.threads, rate: plan.rate, values: values_of(&plan, changes) })
}

/// The values that the names of `changes` have in `plan`.
fn values_of(plan: &FilesPlan, changes: &Settings) -> Settings {
    let value = |name: &str| match name {
        "threads" => Value::from(plan.threads),
        "rate" => serde_json::to_value(plan.rate).unwrap_or_default(),
        _ => Value::Null,
    };
    changes.keys().map(|name| (name.clone(), value(name))).collect()
}

#[cfg(test)]
mod tests {
    use manometer_measure::Rate;
    use serde_json::json;

    use super::super::settings::Personality;
    use super::*;
    use crate::change::assert_settings;
    use crate::script::parse_settings;

    fn changes(text: &str) -> Settings {
        parse_settings(text).unwrap()
    }

    fn mail() -> FilesSettings {
        FilesSettings::of(Personality::Varmail)
    }

    #[test]
    fn everything_changeable_is_a_setting() {
        assert_settings::<FilesSettings>(&CHANGEABLE);
    }

    #[test]
    fn changes_take_effect_together_and_reported() {
        let line = changes("threads=4 rate=100/s");
        let changed = apply(&mail(), &line).unwrap();
        let rate = Some(Rate::Requests(100.0));
        assert_eq!(changed.settings, FilesSettings { threads: Some(4), rate, ..mail() });
        assert_eq!((changed.threads, changed.rate), (4, rate));
        assert_eq!(json!(changed.values), json!({ "threads": 4, "rate": "100/s" }));
        let unlimited = apply(&changed.settings, &changes("rate=null")).unwrap();
        assert_eq!((unlimited.settings.rate, unlimited.rate), (None, None));
        assert_eq!(json!(unlimited.values), json!({ "rate": null }));
    }

    #[test]
    fn invalid_changes_are_refused_with_valid_values() {
        for (line, name, wanted) in [
            ("files=2", "files", "start"),
            ("personality=oltp", "personality", "start"),
            ("thread=2", "thread", "`threads`"),
            ("xyzzy=2", "xyzzy", "one of `threads`"),
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
