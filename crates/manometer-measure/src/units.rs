//! Quantities as text: `256MiB`, `15m`, `1000/s`, `10MiB/s`.
//!
//! Each type parses a string or a number, prints the shortest text that parses to the same value, and has a JSON Schema.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that is not a quantity of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{got}` is not a {expected}")]
pub struct UnitError {
    /// The text.
    pub got: String,
    /// The expected quantity, with examples.
    pub expected: &'static str,
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSize(pub u64);

const BYTE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];

impl ByteSize {
    const EXPECTED: &str = "number of bytes: write `4096`, `4KiB`, `256MiB` or `1.5GiB`";

    /// The size in mebibytes.
    pub fn mib(self) -> f64 {
        self.0 as f64 / (1 << 20) as f64
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { got: text.to_owned(), expected: Self::EXPECTED };
        let (number, unit) = split_number(text);
        let factor = match unit {
            "" => 1,
            _ => BYTE_UNITS
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(unit))
                .map(|(_, factor)| *factor)
                .ok_or_else(error)?,
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).map(Self).ok_or_else(error);
        }
        let bytes = number.parse::<f64>().map_err(|_| error())? * factor as f64;
        let exact = bytes.fract() == 0.0 && (0.0..9.0e15).contains(&bytes);
        exact.then_some(Self(bytes as u64)).ok_or_else(error)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = BYTE_UNITS.iter().filter(|(name, _)| name.contains('i'));
        let largest = binary.into_iter().find(|(_, factor)| self.0 >= *factor && self.0.is_multiple_of(*factor));
        match largest {
            Some((name, factor)) => write!(f, "{}{name}", self.0 / factor),
            None => write!(f, "{}B", self.0),
        }
    }
}

/// A duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub Duration);

impl Span {
    const EXPECTED: &str = "duration: write `10s`, `500ms`, `15m` or `1h 30m`";

    /// The span in seconds.
    pub fn seconds(self) -> f64 {
        self.0.as_secs_f64()
    }

    /// The span in whole milliseconds; more than 584 million years saturate.
    pub fn milliseconds(self) -> u64 {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX)
    }

    /// The span in nanoseconds; more than 584 years saturate.
    pub fn nanoseconds(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        humantime::parse_duration(text)
            .map(Self)
            .map_err(|_| UnitError { got: text.to_owned(), expected: Self::EXPECTED })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

/// A rate of requests or of bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Requests per second.
    Requests(f64),
    /// Bytes per second.
    Bytes(u64),
}

impl Rate {
    const EXPECTED: &str = "rate: write `1000/s` (requests) or `10MiB/s` (bytes)";
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { got: text.to_owned(), expected: Self::EXPECTED };
        let amount = text.trim().strip_suffix("/s").ok_or_else(error)?.trim();
        let (number, unit) = split_number(amount);
        let rate = match unit {
            "" => Self::Requests(number.parse().map_err(|_| error())?),
            _ => Self::Bytes(amount.parse::<ByteSize>().map_err(|_| error())?.0),
        };
        match rate {
            Self::Requests(requests) if requests.is_finite() && requests > 0.0 => Ok(rate),
            Self::Bytes(bytes) if bytes > 0 => Ok(rate),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requests(requests) => write!(f, "{requests}/s"),
            Self::Bytes(bytes) => write!(f, "{}/s", ByteSize(*bytes)),
        }
    }
}

/// A share above 0 and below 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub f64);

impl Share {
    const EXPECTED: &str = "share above 0 and below 1: write `5%` or `0.05`";
}

impl FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { got: text.to_owned(), expected: Self::EXPECTED };
        fraction(text).filter(|share| *share > 0.0 && *share < 1.0).map(Self).ok_or_else(error)
    }
}

/// A number, or a percentage.
fn fraction(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    Some(number.trim().parse::<f64>().ok()? / unit)
}

/// A ratio above 0, such as the pressure that a goal allows: a latency may more than double.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio(pub f64);

impl Ratio {
    const EXPECTED: &str = "ratio above 0: write `5%`, `0.05` or `1.5`";
}

impl FromStr for Ratio {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { got: text.to_owned(), expected: Self::EXPECTED };
        fraction(text).filter(|ratio| *ratio > 0.0 && ratio.is_finite()).map(Self).ok_or_else(error)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bare number is the shortest text that reads back to the same share.
        write!(f, "{}", self.0)
    }
}

/// Splits `1_000 KiB` into `1000` and `KiB`.
fn split_number(text: &str) -> (String, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    (text[..end].replace('_', ""), text[end..].trim())
}

/// Reads a quantity from text, or from a bare number through `$number`.
macro_rules! quantity {
    ($type:ident, $name:literal, $number:expr, $fraction:expr, $kind:literal, $example:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Quantity;
                impl Visitor<'_> for Quantity {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "a {}", $type::EXPECTED)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }

                    fn visit_u64<E: de::Error>(self, number: u64) -> Result<$type, E> {
                        let read: fn(u64) -> Option<$type> = $number;
                        read(number).ok_or_else(|| E::invalid_type(de::Unexpected::Unsigned(number), &self))
                    }

                    fn visit_f64<E: de::Error>(self, number: f64) -> Result<$type, E> {
                        let read: fn(f64) -> Option<$type> = $fraction;
                        read(number).ok_or_else(|| E::invalid_type(de::Unexpected::Float(number), &self))
                    }

                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$type, E> {
                        match u64::try_from(number) {
                            Ok(number) => self.visit_u64(number),
                            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
                        }
                    }
                }
                deserializer.deserialize_any(Quantity)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": ["string", $kind], "description": $type::EXPECTED, "examples": [$example] })
            }
        }
    };
}

quantity!(ByteSize, "ByteSize", |number| Some(ByteSize(number)), |_| None, "integer", "256MiB");
quantity!(Span, "Span", |_| None, |_| None, "integer", "10s");
quantity!(Rate, "Rate", |_| None, |_| None, "integer", "1000/s");
quantity!(Share, "Share", |_| None, |number| number.to_string().parse().ok(), "number", "5%");
quantity!(
    Ratio,
    "Ratio",
    |number| number.to_string().parse().ok(),
    |number| number.to_string().parse().ok(),
    "number",
    "5%"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_parsed_with_their_units() {
        for (text, bytes) in [("4096", 4096), ("4KiB", 4096), ("1.5 GiB", 3 << 29), ("250_000", 250_000), ("1kB", 1000)]
        {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
    }

    #[test]
    fn an_invalid_quantity_is_refused_with_an_example() {
        for text in ["", "MiB", "4 parsecs", "-1", "1.0001B", "99999999999TiB"] {
            let error = text.parse::<ByteSize>().unwrap_err();
            assert!(error.to_string().contains("256MiB"), "{error}");
        }
        for text in ["", "10", "0/s", "-5/s", "1000", "fast/s", "NaN/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        assert!("10".parse::<Span>().is_err());
    }

    #[test]
    fn rates_of_requests_and_of_bytes_are_distinguished() {
        assert_eq!("1000/s".parse(), Ok(Rate::Requests(1000.0)));
        assert_eq!("10MiB/s".parse(), Ok(Rate::Bytes(10 << 20)));
    }

    #[test]
    fn shares_are_between_zero_and_one() {
        for (text, share) in [("5%", 0.05), ("0.05", 0.05), ("2.5 %", 0.025), (" 50% ", 0.5)] {
            assert_eq!(text.parse(), Ok(Share(share)), "{text}");
            assert_eq!(Share(share).to_string().parse(), Ok(Share(share)));
        }
        for wrong in ["5", "0", "-1%", "100%", "five", "", "NaN", "%"] {
            assert!(wrong.parse::<Share>().unwrap_err().to_string().contains("5%"), "{wrong}");
        }
        assert_eq!(serde_json::from_str::<Share>("0.1").unwrap(), Share(0.1));
        assert!(serde_json::from_str::<Share>("10").is_err());
    }

    #[test]
    fn ratios_are_above_zero() {
        for (text, ratio) in [("5%", 0.05), ("1", 1.0), ("150 %", 1.5), ("2.5", 2.5)] {
            assert_eq!(text.parse(), Ok(Ratio(ratio)), "{text}");
            assert_eq!(Ratio(ratio).to_string().parse(), Ok(Ratio(ratio)));
        }
        for wrong in ["0", "-1%", "inf", "NaN", "five", ""] {
            assert!(wrong.parse::<Ratio>().is_err(), "{wrong}");
        }
        assert_eq!(serde_json::from_str::<Ratio>("2").unwrap(), Ratio(2.0));
        assert_eq!(serde_json::from_str::<Ratio>("0.1").unwrap(), Ratio(0.1));
    }

    proptest! {
        #[test]
        fn every_size_survives_its_own_text(bytes in any::<u64>()) {
            prop_assert_eq!(ByteSize(bytes).to_string().parse(), Ok(ByteSize(bytes)));
        }

        #[test]
        fn every_span_survives_its_own_text(ns in 0..u64::MAX / 2) {
            let span = Span(Duration::from_nanos(ns));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
