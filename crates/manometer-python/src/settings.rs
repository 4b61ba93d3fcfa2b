//! Settings as columns, and experiments written as dictionaries.

use manometer_measure::plan::Settings;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::ExperimentError;
use crate::frame::Column;

/// A column for each setting of any of `rows`, in order of first appearance: numbers or flags if all values are, else
/// texts.
pub(crate) fn columns(rows: &[Settings]) -> Vec<Column> {
    let mut names: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(Settings::keys) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| column(name, rows)).collect()
}

fn column(name: &str, rows: &[Settings]) -> Column {
    let values = || rows.iter().map(|row| row.get(name).filter(|value| !value.is_null()));
    if values().flatten().all(Value::is_number) {
        return Column::numbers(name, "", values().map(|value| value?.as_f64()));
    }
    if values().flatten().all(Value::is_boolean) {
        return Column::flags(name, values().map(|value| value?.as_bool()));
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Column::texts(name, values().map(|value| value.map(text)))
}

/// TOML as a JSON object.
#[pyfunction]
pub(crate) fn json_of_toml(text: &str) -> PyResult<String> {
    let document: toml::Table =
        text.parse().map_err(|error: toml::de::Error| PyValueError::new_err(error.to_string()))?;
    serde_json::to_string(&document).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A JSON object as TOML.
#[pyfunction]
pub(crate) fn toml_of_json(text: &str) -> PyResult<String> {
    let wrong = |error: &dyn std::fmt::Display| ExperimentError::new_err(format!("not an experiment: {error}"));
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(&error))?;
    toml::to_string(&value).map_err(|error| wrong(&error))
}
