//! The depth of files: one number, or a range.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The deepest file. A path of this many components and the longest names fits into a path of the kernel (4,096 bytes).
pub const DEPTH_MAX: u32 = 128;

/// How deep files lie: the components of a file's path below the root of the tree, the file's name included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DepthRange {
    /// The least depth.
    pub min: u32,
    /// The greatest depth.
    pub max: u32,
}

impl DepthRange {
    const EXPECTED: &str = "depth: write a number from 1 to 128 such as 8, or a range such as `8-10`";

    /// The number of different depths.
    pub(super) fn len(self) -> u64 {
        u64::from(self.max - self.min) + 1
    }
}

impl FromStr for DepthRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        let parsed = min.trim().parse().ok().zip(max.trim().parse().ok());
        let range = parsed.map(|(min, max)| Self { min, max });
        let valid = range.filter(|range| (1..=range.max).contains(&range.min) && range.max <= DEPTH_MAX);
        valid.ok_or_else(|| format!("got `{text}`; {}", Self::EXPECTED))
    }
}

impl fmt::Display for DepthRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max { write!(f, "{}", self.min) } else { write!(f, "{}-{}", self.min, self.max) }
    }
}

impl Serialize for DepthRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.min == self.max { serializer.serialize_u32(self.min) } else { serializer.collect_str(self) }
    }
}

impl<'de> Deserialize<'de> for DepthRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = DepthRange;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(DepthRange::EXPECTED)
            }

            fn visit_u64<E: de::Error>(self, depth: u64) -> Result<DepthRange, E> {
                self.visit_str(&depth.to_string())
            }

            fn visit_i64<E: de::Error>(self, depth: i64) -> Result<DepthRange, E> {
                self.visit_str(&depth.to_string())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<DepthRange, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for DepthRange {
    fn schema_name() -> Cow<'static, str> {
        "DepthRange".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "description": Self::EXPECTED, "examples": ["8-10"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depth_is_a_number_or_a_range() {
        for (json, min, max) in [("8", 8, 8), ("\"8\"", 8, 8), ("\"8-10\"", 8, 10), ("\" 1 - 128 \"", 1, 128)] {
            let range: DepthRange = serde_json::from_str(json).unwrap();
            assert_eq!(range, DepthRange { min, max });
            let written = serde_json::to_string(&range).unwrap();
            assert_eq!(serde_json::from_str::<DepthRange>(&written).unwrap(), range);
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_would_be_right() {
        for json in ["0", "129", "-1", "\"10-8\"", "\"deep\"", "\"8-\"", "\"\"", "\"1-999999999999\"", "true", "8.5"] {
            let error = serde_json::from_str::<DepthRange>(json).unwrap_err().to_string();
            assert!(error.contains("such as 8, or a range such as `8-10`"), "{json}: {error}");
        }
    }
}
