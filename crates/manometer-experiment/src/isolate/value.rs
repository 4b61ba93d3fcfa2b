//! Limits as people write them: text, or a bare number.

use serde_json::Value;

/// The text of a limit: a text as it is, a number as people write it.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Reads a limit from text or from a bare number, and describes it in a JSON Schema. The type reads itself, and says in
/// `WANTED` what would be right.
macro_rules! limit {
    ($type:ident, $name:literal, $example:literal) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
                let wrong = || serde::de::Error::custom(format!("{value} is no {}", Self::WANTED));
                let text = $crate::isolate::value::text_of(&value).ok_or_else(wrong)?;
                text.parse().map_err(|()| wrong())
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": ["string", "integer"], "description": $type::WANTED, "examples": [$example]
                })
            }
        }
    };
}

/// As [`limit`], for a type that also writes itself as text.
macro_rules! text_limit {
    ($type:ident, $name:literal, $example:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        $crate::isolate::value::limit!($type, $name, $example);
    };
}
pub(super) use {limit, text_limit};
