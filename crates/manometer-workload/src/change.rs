//! Changes of a running workload's settings: all of them, or none.

use manometer_measure::plan::Settings;
use manometer_measure::suggest::correction;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::setting_error::SettingError;

/// The settings of a kind of workload that can change while it runs, each with its valid values.
pub(crate) type Changeable = [(&'static str, &'static str)];

/// Applies `changes` to `current`, the settings of a workload of `kind`.
pub(crate) fn apply<S: Serialize + DeserializeOwned + JsonSchema>(
    kind: &str,
    changeable: &Changeable,
    current: &S,
    changes: &Settings,
) -> Result<S, SettingError> {
    let mut values = to_map(current);
    for (name, value) in changes {
        let Some((_, expected)) = changeable.iter().find(|(known, _)| known == name) else {
            return Err(unchangeable::<S>(kind, changeable, name, value));
        };
        values.insert(name.clone(), value.clone());
        // One by one, so that the error names the setting.
        from_map::<S>(values.clone())
            .map_err(|error| SettingError::new(name, value, format!("{expected} ({error})")))?;
    }
    from_map(values)
        .map_err(|error| SettingError::new("settings", "a combination that cannot be read", error.to_string()))
}

/// The values in `settings` of the settings named in `changes`.
pub(crate) fn values_of(settings: &impl Serialize, changes: &Settings) -> Settings {
    let values = to_map(settings);
    changes.keys().map(|name| (name.clone(), values.get(name).cloned().unwrap_or(Value::Null))).collect()
}

/// Converts `settings` to values by name.
pub(crate) fn to_map(settings: &impl Serialize) -> Settings {
    match serde_json::to_value(settings) {
        Ok(Value::Object(map)) => map,
        _ => unreachable!("settings are a struct of plain values"),
    }
}

/// Converts values by name to settings.
pub(crate) fn from_map<S: DeserializeOwned>(values: Settings) -> Result<S, serde_json::Error> {
    serde_json::from_value(Value::Object(values))
}

fn unchangeable<S: JsonSchema>(kind: &str, changeable: &Changeable, name: &str, value: &Value) -> SettingError {
    if schemars::schema_for!(S).as_value()["properties"].get(name).is_some() {
        let wanted = "it is fixed at the start: start another workload to change it";
        return SettingError::new(name, format!("{value} while running"), wanted);
    }
    let wanted = correction(name, changeable.iter().map(|(known, _)| *known));
    SettingError::new(name, format!("a name that no setting of {kind} has"), wanted)
}

/// Asserts that every changeable setting is one of `S`.
#[cfg(test)]
pub(crate) fn assert_settings<S: JsonSchema>(changeable: &Changeable) {
    let schema = schemars::schema_for!(S);
    for (name, _) in changeable {
        assert!(schema.as_value()["properties"].get(*name).is_some(), "{name}");
    }
}
