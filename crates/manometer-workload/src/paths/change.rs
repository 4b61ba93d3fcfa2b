//! The settings of a `paths` workload that can change while it runs, at once or by a timetable.

use manometer_measure::plan::Settings;

use super::plan::PathsPlan;
use super::settings::PathsSettings;
use crate::change::{self, values_of};
use crate::file_threads::ThreadChange;
use crate::script::{ScriptError, ScriptStep, parse_script};
use crate::setting_error::SettingError;

/// The settings that can change while a workload runs, with the values that they take. All others shape the tree.
const CHANGEABLE: [(&str, &str); 8] = [
    ("threads", "write a whole number from 1 to 512"),
    ("rate", "write operations such as 1000/s, or null for no limit"),
    ("stat_proportion", SHARE),
    ("open_proportion", SHARE),
    ("read_proportion", SHARE),
    ("list_proportion", SHARE),
    ("exponent", "write a number from 0 to 10"),
    ("locality", "write a share from 0 to below 1, such as 0.9"),
];
const SHARE: &str = "write a number from 0 to 1";

/// The settings that can change while the workload runs.
pub fn changeable() -> Vec<&'static str> {
    CHANGEABLE.iter().map(|(name, _)| *name).collect()
}

/// The timetable of `settings`; every step is tried on the settings that the steps before it leave.
///
/// # Errors
/// The first invalid step.
pub fn read_script(settings: &PathsSettings) -> Result<Vec<ScriptStep>, ScriptError> {
    let Some(text) = &settings.script else { return Ok(Vec::new()) };
    let mut current = settings.clone();
    parse_script(text, |changes| {
        current = apply(&current, changes).map_err(|error| error.to_string())?.settings;
        Ok(())
    })
}

/// Applies `changes` to `current`.
pub(super) fn apply(current: &PathsSettings, changes: &Settings) -> Result<ThreadChange<PathsSettings>, SettingError> {
    let settings = change::apply("paths", &CHANGEABLE, current, changes)?;
    let plan = PathsPlan::new(&settings)?;
    let values = values_of(&settings, changes);
    Ok(ThreadChange { settings, threads: plan.threads, rate: plan.rate, values })
}

#[cfg(test)]
mod tests {
    use manometer_measure::Rate;
    use serde_json::json;

    use super::*;
    use crate::change::assert_settings;
    use crate::script::parse_settings;

    fn changes(text: &str) -> Settings {
        parse_settings(text).unwrap()
    }

    #[test]
    fn everything_changeable_is_a_setting() {
        assert_settings::<PathsSettings>(&CHANGEABLE);
    }

    #[test]
    fn changes_take_effect_together_and_reported() {
        let line = changes("threads=4 rate=100/s locality=0 stat_proportion=0 list_proportion=1");
        let changed = apply(&PathsSettings::default(), &line).unwrap();
        let rate = Some(Rate::Requests(100.0));
        assert_eq!((changed.threads, changed.rate, changed.settings.locality), (4, rate, 0.0));
        let expected = json!({
            "threads": 4, "rate": "100/s", "locality": 0.0, "stat_proportion": 0.0, "list_proportion": 1.0
        });
        assert_eq!(json!(changed.values), expected);
        let unlimited = apply(&changed.settings, &changes("rate=null")).unwrap();
        assert_eq!((unlimited.rate, json!(unlimited.values)), (None, json!({ "rate": null })));
    }

    #[test]
    fn invalid_changes_are_refused_with_valid_values() {
        for (line, name, wanted) in [
            ("files=2", "files", "start"),
            ("depth=9", "depth", "start"),
            ("script=x", "script", "start"),
            ("thread=2", "thread", "`threads`"),
            ("xyzzy=2", "xyzzy", "one of `threads`"),
            ("threads=0", "threads", "1 to 512"),
            ("threads=1.5", "threads", "whole number"),
            ("rate=1MiB/s", "rate", "1000/s"),
            ("locality=1", "locality", "below 1"),
            ("locality=near", "locality", "below 1"),
            ("exponent=-1", "exponent", "from 0"),
            ("stat_proportion=0 open_proportion=0 read_proportion=0 list_proportion=0", "stat_proportion", "above 0"),
        ] {
            let error = apply(&PathsSettings::default(), &changes(line)).unwrap_err();
            assert_eq!(error.name, name, "{line}");
            assert!(error.wanted.contains(wanted), "{error}");
        }
    }

    #[test]
    fn a_timetable_is_tried_when_it_is_parsed() {
        let with = |script: &str| PathsSettings { script: Some(script.to_owned()), ..PathsSettings::default() };
        let steps = read_script(&with("10m: threads = 8; 20m: locality = 0; 20m: rate = 500/s")).unwrap();
        assert_eq!((steps.len(), &steps[1].settings["rate"]), (2, &json!("500/s")));
        assert_eq!(read_script(&PathsSettings::default()).unwrap(), []);
        let error = super::super::validate(&with("10m: threads = 8; 20m: files = 7")).unwrap_err();
        assert!(error.name == "script" && error.to_string().contains("step 2"), "{error}");
    }
}
