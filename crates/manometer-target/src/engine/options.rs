//! Parser of engine options given as a table; checks every name and value.

use std::fmt::Display;

use manometer_measure::suggest::similar;
use manometer_measure::units::ByteSize;
use serde_json::{Map, Value};

use super::{EngineError, EngineOption, EngineOptions};

/// The options of an engine as given.
#[derive(Debug)]
pub(super) struct RawOptions<'a> {
    engine: &'static str,
    table: &'a Map<String, Value>,
}

impl<'a> RawOptions<'a> {
    /// The options of `engine`; their names must be among `known`.
    pub(super) fn read(
        engine: &'static str,
        known: &'static [EngineOption],
        options: &'a EngineOptions,
    ) -> Result<Self, EngineError> {
        let table = match options {
            EngineOptions::Table(table) => table,
            EngineOptions::File(_) => {
                return Err(EngineError::Unsupported {
                    engine,
                    what: "read an options file: give its options as a table",
                });
            }
        };
        let unknown = table.keys().find(|name| !known.iter().any(|option| option.name == *name));
        match unknown {
            None => Ok(Self { engine, table }),
            Some(name) => Err(EngineError::UnknownOption {
                engine,
                place: place(),
                name: name.clone(),
                similar: similar(name, known.iter().map(|option| option.name)),
            }),
        }
    }

    /// A number of bytes within `limits`.
    pub(super) fn bytes(&self, name: &str, limits: (u64, u64)) -> Result<Option<u64>, EngineError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let read: ByteSize = serde_json::from_value(value.clone()).map_err(|error| self.refuse(name, error))?;
        let shown = |bytes| ByteSize(bytes).to_string();
        self.within(name, read.0, limits, shown).map(Some)
    }

    /// A whole number within `limits`.
    pub(super) fn number(&self, name: &str, limits: (u64, u64)) -> Result<Option<u64>, EngineError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let read = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        let read = read.ok_or_else(|| self.refuse(name, "expected a whole number"))?;
        self.within(name, read, limits, |number| number.to_string()).map(Some)
    }

    /// A number within `limits`.
    pub(super) fn ratio(&self, name: &str, (least, most): (f64, f64)) -> Result<Option<f64>, EngineError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let read = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        let read = read.ok_or_else(|| self.refuse(name, "expected a number"))?;
        if (least..=most).contains(&read) {
            return Ok(Some(read));
        }
        Err(self.refuse(name, format!("expected {least} to {most}")))
    }

    /// A flag.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, EngineError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let read = value.as_bool().or_else(|| value.as_str()?.trim().parse().ok());
        read.map(Some).ok_or_else(|| self.refuse(name, "expected `true` or `false`"))
    }

    /// One of `choices`.
    pub(super) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, EngineError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let chosen = value.as_str().and_then(|text| choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)));
        match chosen {
            Some((_, chosen)) => Ok(Some(*chosen)),
            None => {
                let words: Vec<String> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
                Err(self.refuse(name, format!("expected one of {}", words.join(", "))))
            }
        }
    }

    /// The error that refuses the value of `name` for `reason`.
    pub(super) fn refuse(&self, name: &str, reason: impl Display) -> EngineError {
        EngineError::InvalidOption {
            engine: self.engine,
            place: place(),
            name: name.to_owned(),
            value: self.value(name).map(option_text).unwrap_or_default(),
            reason: reason.to_string(),
        }
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.table.get(name)
    }

    fn within(
        &self,
        name: &str,
        got: u64,
        (least, most): (u64, u64),
        shown: fn(u64) -> String,
    ) -> Result<u64, EngineError> {
        if got < least {
            return Err(self.refuse(name, format!("at least {}", shown(least))));
        }
        if got > most {
            return Err(self.refuse(name, format!("at most {}", shown(most))));
        }
        Ok(got)
    }
}

fn place() -> String {
    "options".to_owned()
}

/// A value as the user would write it.
fn option_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The word for `wanted` among `choices`.
pub(super) fn word<T: Copy + PartialEq>(choices: &[(&'static str, T)], wanted: T) -> &'static str {
    choices.iter().find(|(_, choice)| *choice == wanted).map_or("unknown", |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const fn option(name: &'static str) -> EngineOption {
        EngineOption { name, values: "", default: "" }
    }

    const KNOWN: &[EngineOption] = &[option("cache_size"), option("sync"), option("max_readers"), option("write_map")];

    fn with<T>(value: Value, read: impl Fn(&RawOptions) -> Result<T, EngineError>) -> Result<T, String> {
        let Value::Object(table) = value else { panic!("{value}") };
        let options = EngineOptions::Table(table);
        let given = RawOptions::read("any", KNOWN, &options).map_err(|error| error.to_string())?;
        read(&given).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_read_as_people_write_them() {
        let all = (0, u64::MAX);
        for value in [json!("64MiB"), json!(64 << 20)] {
            assert_eq!(with(json!({"cache_size": value}), |given| given.bytes("cache_size", all)), Ok(Some(64 << 20)));
        }
        for value in [json!(7), json!("7")] {
            assert_eq!(with(json!({"max_readers": value}), |given| given.number("max_readers", all)), Ok(Some(7)));
        }
        for value in [json!(true), json!("true")] {
            assert_eq!(with(json!({"write_map": value}), |given| given.flag("write_map")), Ok(Some(true)));
        }
        for value in [json!(7), json!(7.0), json!("7")] {
            assert_eq!(
                with(json!({"max_readers": value}), |given| given.ratio("max_readers", (1.0, 9.0))),
                Ok(Some(7.0))
            );
        }
        assert_eq!(with(json!({"sync": "FULL"}), |given| given.choice("sync", &[("full", 2)])), Ok(Some(2)));
        assert_eq!(with(json!({}), |given| given.flag("write_map")), Ok(None));
    }

    #[test]
    fn what_will_not_do_is_refused_with_what_would() {
        let limits = (1024, 4096);
        let bytes = |value| with(json!({"cache_size": value}), |given| given.bytes("cache_size", limits));
        assert!(bytes(json!("1GiB")).unwrap_err().contains("at most 4KiB"));
        assert!(bytes(json!(1)).unwrap_err().contains("at least 1KiB"));
        assert!(bytes(json!("much")).unwrap_err().contains("cache_size"));
        assert!(bytes(json!([])).unwrap_err().contains("cache_size"));
        let ratio = |value| with(json!({"max_readers": value}), |given| given.ratio("max_readers", (1.0, 9.5)));
        assert!(ratio(json!(10)).unwrap_err().contains("1 to 9.5"));
        assert!(ratio(json!("NaN")).is_err() && ratio(json!(true)).unwrap_err().contains("a number"));
        let sync = with(json!({"sync": "never"}), |given| given.choice("sync", &[("full", 2), ("no-sync", 0)]));
        assert!(sync.unwrap_err().contains("`full`, `no-sync`"));
        assert!(with(json!({"write_map": 3}), |given| given.flag("write_map")).unwrap_err().contains("`true`"));
        assert!(with(json!({"cash_size": 3}), |_| Ok(())).unwrap_err().contains("`cache_size`"));
    }
}
