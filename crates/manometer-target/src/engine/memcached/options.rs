//! memcached's options: how to get at a server of yours, or how large to make one of our own.

use manometer_measure::suggest::similar;
use serde_json::Value;

use super::ENGINE;
use crate::engine::server::{addresses, bad_option, flag, table};
use crate::engine::{EngineError, EngineOptions};

/// Options of a server of our own, and the flags of memcached that they are.
const OWN: [(&str, &str); 4] =
    [("memory_mib", "-m"), ("threads", "-t"), ("max_item_size", "-I"), ("connections", "-c")];

/// The largest item of a server of our own unless said: memcached's 1 MiB leaves no room for a value of
/// 1 MiB and its key.
const ITEM_USUAL: &str = "2m";

/// What was asked for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// A server of yours; none for our own.
    pub(super) address: Option<String>,
    /// Whether it may be emptied.
    pub(super) flush: bool,
    /// For our own: flags and their values.
    pub(super) arguments: Vec<String>,
}

/// The options as given, checked as far as that goes without a server.
pub(super) fn read(options: &EngineOptions) -> Result<Asked, EngineError> {
    let table = table(ENGINE, options)?;
    let mut asked = Asked::default();
    let ours = !table.contains_key("address");
    for (name, value) in &table {
        match name.as_str() {
            "address" => asked.address = Some(address(value)?),
            "flush" if ours => {
                return Err(bad_option(ENGINE, name, value, "it is for a server of yours: give `address`"));
            }
            "flush" => asked.flush = flag(ENGINE, name, value)?,
            _ => {
                let flag = OWN.iter().find(|(own, _)| own == name).ok_or_else(|| unknown(name))?.1;
                if !ours {
                    let reason = "a server of yours is set up by you: leave this out, or `address`";
                    return Err(bad_option(ENGINE, name, value, reason));
                }
                asked.arguments.extend([flag.to_owned(), amount(name, value)?]);
            }
        }
    }
    // Its memory bounds its items: whoever says how much of it there is says both.
    if ours && !["max_item_size", "memory_mib"].iter().any(|name| table.contains_key(*name)) {
        asked.arguments.extend(["-I", ITEM_USUAL].map(str::to_owned));
    }
    Ok(asked)
}

fn unknown(name: &str) -> EngineError {
    let known = OWN.iter().map(|(own, _)| *own).chain(["address", "flush"]);
    EngineError::UnknownOption {
        engine: ENGINE,
        place: "options".to_owned(),
        name: name.to_owned(),
        similar: similar(name, known),
    }
}

fn address(value: &Value) -> Result<String, EngineError> {
    match <[String; 1]>::try_from(addresses(ENGINE, value)?) {
        Ok([address]) => Ok(address),
        Err(_) => Err(bad_option(ENGINE, "address", value, "memcached has no clusters: give one address")),
    }
}

/// A whole number, for sizes of items with memcached's own `k` or `m` behind it.
fn amount(name: &str, value: &Value) -> Result<String, EngineError> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let digits = match name {
        "max_item_size" => text.strip_suffix(['k', 'm', 'K', 'M']).unwrap_or(&text),
        _ => &text,
    };
    match digits.parse::<u64>() {
        Ok(1..) => Ok(text),
        _ => Err(bad_option(ENGINE, name, value, "write a whole number above 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(value: Value) -> Result<Asked, String> {
        let Value::Object(table) = value else { panic!("{value}") };
        read(&EngineOptions::Table(table)).map_err(|error| error.to_string())
    }

    #[test]
    fn options_become_flags() {
        let asked = asked(json!({"memory_mib": 128, "max_item_size": "2m", "threads": "2"})).unwrap();
        assert_eq!(asked.arguments, ["-m", "128", "-I", "2m", "-t", "2"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (table, says) in [
            (json!({"memory": 1}), "memory_mib"),
            (json!({"memory_mib": "64m"}), "whole number"),
            (json!({"threads": 0}), "whole number"),
            (json!({"address": "a:1,b:2"}), "no clusters"),
            (json!({"address": "a:1", "threads": 2}), "set up by you"),
            (json!({"flush": true}), "give `address`"),
        ] {
            let error = asked(table).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
