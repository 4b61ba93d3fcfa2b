//! Reading a limit from a string or a bare number.

use serde_json::Value;

/// The text of a limit given as a string or a number; nothing for any other JSON type.
pub(super) fn limit_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Implements `Deserialize` (through `FromStr`) and `JsonSchema` for a limit. The type's `EXPECTED` completes the error
/// message `… is not` and describes the limit in the schema.
macro_rules! limit {
    ($type:ident, $name:literal, $example:literal) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
                let invalid = || serde::de::Error::custom(format!("{value} is not {}", Self::EXPECTED));
                let text = $crate::limits::value::limit_text(&value).ok_or_else(invalid)?;
                text.parse().map_err(|()| invalid())
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": ["string", "integer"], "description": $type::EXPECTED, "examples": [$example]
                })
            }
        }
    };
}

/// As [`limit`], and serialises the type through `Display`.
macro_rules! text_limit {
    ($type:ident, $name:literal, $example:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        $crate::limits::value::limit!($type, $name, $example);
    };
}
pub(super) use {limit, text_limit};
