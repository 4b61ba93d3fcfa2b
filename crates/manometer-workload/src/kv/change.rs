//! New settings out of old ones and a few changes: all of them, or none.

use manometer_measure::plan::Settings;
use manometer_measure::suggest::correction;
use serde_json::{Map, Value};

use super::plan::KvPlan;
use super::settings::KvSettings;
use crate::script::{ScriptError, ScriptStep, parse_script};

/// What can change while a workload runs, and what its value looks like. All else shapes the data or the
/// threads and is settled when the workload starts.
const CHANGEABLE: [(&str, &str); 13] = [
    ("rate", "write requests per second such as 5000, `1000..5000 in 10m`, or null for a closed loop"),
    ("arrivals", "write constant or poisson"),
    ("queue", "write how many requests may wait"),
    ("think", "write a stretch of time such as 5ms, or null for none"),
    ("distribution", "write one that `manometer kv --help` lists, or null for the workload's own"),
    ("exponent", "write a number above 0, or null for 0.99"),
    ("field_length", "write a number of bytes"),
    ("value_size", "write a number of bytes, or null for the workload's own"),
    ("read_proportion", SHARE),
    ("update_proportion", SHARE),
    ("insert_proportion", SHARE),
    ("scan_proportion", SHARE),
    ("read_modify_write_proportion", SHARE),
];
const SHARE: &str = "write a number from 0, or null for the workload's own";

/// The settings that can change while a workload runs.
pub fn changeable() -> Vec<&'static str> {
    CHANGEABLE.iter().map(|(name, _)| *name).collect()
}

/// The settings that come of `changes` to `current`, and what they mean.
pub(super) fn apply(current: &KvSettings, changes: &Settings) -> Result<(KvSettings, KvPlan), String> {
    let mut all = as_map(current);
    for (name, value) in changes {
        let wanted = known(name)?;
        all.insert(name.clone(), value.clone());
        // One by one, so that the one that cannot be read is named.
        serde_json::from_value::<KvSettings>(Value::Object(all.clone()))
            .map_err(|error| format!("`{name}`: got {value}; {wanted} ({error})"))?;
    }
    let changed: KvSettings = serde_json::from_value(Value::Object(all)).map_err(|error| error.to_string())?;
    // What the timetable says later was tried on other settings and is tried again when its time comes.
    let plan = KvPlan::new(&KvSettings { script: None, ..changed.clone() }).map_err(|error| error.to_string())?;
    Ok((changed, plan))
}

/// The values that the names of `changes` have in `settings`, as they are told.
pub(super) fn in_force(settings: &KvSettings, changes: &Settings) -> Settings {
    let all = as_map(settings);
    changes.keys().map(|name| (name.clone(), all.get(name).cloned().unwrap_or(Value::Null))).collect()
}

/// The timetable of `settings`, every step tried on the settings that it will find.
///
/// # Errors
/// The first step that cannot be read or made.
pub fn read_script(settings: &KvSettings) -> Result<Vec<ScriptStep>, ScriptError> {
    let Some(text) = &settings.script else { return Ok(Vec::new()) };
    let mut current = KvSettings { script: None, ..settings.clone() };
    parse_script(text, |changes| {
        current = apply(&current, changes)?.0;
        Ok(())
    })
}

fn known(name: &str) -> Result<&'static str, String> {
    if let Some((_, wanted)) = CHANGEABLE.iter().find(|(known, _)| *known == name) {
        return Ok(wanted);
    }
    let schema = schemars::schema_for!(KvSettings);
    if schema.as_value()["properties"].get(name).is_some() {
        return Err(format!(
            "`{name}` shapes the data or the threads and stays as it was at the start; start another workload to have it otherwise"
        ));
    }
    let names = CHANGEABLE.iter().map(|(name, _)| *name);
    Err(format!("`{name}` is no setting of kv: {}", correction(name, names)))
}

fn as_map(settings: &KvSettings) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(map)) => map,
        _ => unreachable!("settings are a struct of plain values"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::{Asks, PacePlan, Popularity, YcsbMix};
    use crate::script::parse_settings;

    fn changes(text: &str) -> Settings {
        parse_settings(text).unwrap()
    }

    fn null() -> KvSettings {
        KvSettings { engine: "null".to_owned(), ..KvSettings::default() }
    }

    #[test]
    fn everything_changeable_is_a_setting() {
        let schema = schemars::schema_for!(KvSettings);
        for name in changeable() {
            assert!(schema.as_value()["properties"].get(name).is_some(), "{name}");
        }
    }

    #[test]
    fn changes_are_made_together() {
        let line = "rate=\"10..20 in 1m\" distribution=uniform read_proportion=1 update_proportion=3 field_length=7";
        let (changed, plan) = apply(&null(), &changes(line)).unwrap();
        assert!(matches!(plan.pace, PacePlan::Open(_)));
        let Asks::Ycsb(YcsbMix { scan_lengths: scans, .. }) = KvPlan::new(&null()).unwrap().work.asks else { panic!() };
        assert_eq!((plan.work.distribution, plan.value_bytes()), (Popularity::Uniform, 70));
        assert_eq!(plan.work.asks, Asks::Ycsb(YcsbMix { shares: [0.25, 0.75, 0.0, 0.0, 0.0], scan_lengths: scans }));
        assert_eq!(in_force(&changed, &changes(line))["rate"], "10..20 in 1m");
        let (closed, plan) = apply(&changed, &changes("rate=null think=5ms")).unwrap();
        assert_eq!(plan.pace, PacePlan::Think(5_000_000));
        assert_eq!(in_force(&closed, &changes("rate=null"))["rate"], Value::Null);
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (line, wanted) in [
            ("records=5", "start another workload"),
            ("engine=null", "start another workload"),
            ("script=x", "start another workload"),
            ("raet=5", "`rate`"),
            ("zzz=5", "one of `rate`"),
            ("rate=fast", "1000..5000 in 10m"),
            ("arrivals=often", "poisson"),
            ("rate=5 think=1s", "one of both"),
            ("read_proportion=0 update_proportion=0", "above 0"),
            ("read_proportion=-1", "from 0 to 1"),
        ] {
            let reason = apply(&null(), &changes(line)).unwrap_err();
            assert!(reason.contains(wanted), "{line}: {reason}");
        }
    }

    #[test]
    fn a_timetable_is_tried_when_it_is_read() {
        let with = |script: &str| KvSettings { script: Some(script.to_owned()), ..null() };
        let steps = read_script(&with("10m: read_proportion = 0.5; 20m: rate = 0s: 100, 1m: 200")).unwrap();
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[1].settings["rate"], "0s: 100, 1m: 200");
        assert!(KvPlan::new(&with("10m: rate = 5000")).is_ok());
        let error = KvPlan::new(&with("10m: rate = 5000; 20m: records = 7")).unwrap_err();
        assert!(error.setting() == "script" && error.to_string().contains("step 2"), "{error}");
    }
}
