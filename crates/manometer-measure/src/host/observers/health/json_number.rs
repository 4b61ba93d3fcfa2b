//! Numbers in the JSON that tools print.

use serde_json::Value;

/// A number. Tools print large ones as text, and `nvme -H` wraps them in an object.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.replace(',', "").parse().ok(),
        Value::Object(fields) => fields.get("value").and_then(Value::as_f64),
        _ => None,
    }
}
