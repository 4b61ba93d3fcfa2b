//! Settings as text, for labels and messages.

use serde_json::{Map, Value};

/// A value as text; a string without its quotes.
pub fn format_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Settings as text: `key = value, key = value`.
pub fn format_settings(settings: &Map<String, Value>) -> String {
    settings.iter().map(|(key, value)| format!("{key} = {}", format_value(value))).collect::<Vec<_>>().join(", ")
}
