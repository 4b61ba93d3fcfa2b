//! memcached's options: the access to an external server, or the size of a managed one.

use manometer_measure::suggest::similar;
use serde_json::Value;

use super::ENGINE;
use crate::engine::server::{addresses, bad_option, flag, table};
use crate::engine::{EngineError, EngineOption, EngineOptions};

/// Its options, in the order of the manual.
pub(super) const OPTIONS: &[EngineOption] = &[
    EngineOption {
        name: "address",
        values: "`\"host:port\"` of a running server, which is used instead of a new one",
        default: "none",
    },
    EngineOption {
        name: "flush",
        values: "`true`, `false`; with `address` only: the server may be emptied",
        default: "`false`",
    },
    EngineOption { name: "memory_mib", values: "memcached's `-m`; without `address` only", default: "memcached's own" },
    EngineOption { name: "threads", values: "memcached's `-t`; without `address` only", default: "memcached's own" },
    EngineOption {
        name: "max_item_size",
        values: "memcached's `-I`, in bytes or with `k` or `m`; without `address` only",
        default: "`2m`; with `memory_mib` memcached's own",
    },
    EngineOption {
        name: "connections",
        values: "memcached's `-c`; without `address` only",
        default: "memcached's own",
    },
];

/// Options of a managed server and memcached's flags for them.
const OWN: [(&str, &str); 4] =
    [("memory_mib", "-m"), ("threads", "-t"), ("max_item_size", "-I"), ("connections", "-c")];

/// Default of the largest item of a managed server: memcached's 1 MiB has no room for a value of 1 MiB and its key.
const ITEM_USUAL: &str = "2m";

/// The parsed options.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ServerOptions {
    /// The address of an external server; `None` for a managed server.
    pub(super) address: Option<String>,
    /// Whether it may be emptied.
    pub(super) flush: bool,
    /// Arguments of a managed server: flags and their values.
    pub(super) arguments: Vec<String>,
}

/// Parses and checks the options, as far as possible without a server.
pub(super) fn read(options: &EngineOptions) -> Result<ServerOptions, EngineError> {
    let table = table(ENGINE, options)?;
    let mut options = ServerOptions::default();
    let ours = !table.contains_key("address");
    for (name, value) in &table {
        match name.as_str() {
            "address" => options.address = Some(address(value)?),
            "flush" if ours => {
                return Err(bad_option(ENGINE, name, value, "it applies to an external server: give `address`"));
            }
            "flush" => options.flush = flag(ENGINE, name, value)?,
            _ => {
                let flag = OWN.iter().find(|(own, _)| own == name).ok_or_else(|| unknown(name))?.1;
                if !ours {
                    let reason = "an external server has its own settings: leave this out, or `address`";
                    return Err(bad_option(ENGINE, name, value, reason));
                }
                options.arguments.extend([flag.to_owned(), amount(name, value)?]);
            }
        }
    }
    // The memory bounds the size of items, so setting either sets both.
    if ours && !["max_item_size", "memory_mib"].iter().any(|name| table.contains_key(*name)) {
        options.arguments.extend(["-I", ITEM_USUAL].map(str::to_owned));
    }
    Ok(options)
}

fn unknown(name: &str) -> EngineError {
    EngineError::UnknownOption {
        engine: ENGINE,
        place: "options".to_owned(),
        name: name.to_owned(),
        similar: similar(name, OPTIONS.iter().map(|option| option.name)),
    }
}

fn address(value: &Value) -> Result<String, EngineError> {
    match <[String; 1]>::try_from(addresses(ENGINE, value)?) {
        Ok([address]) => Ok(address),
        Err(_) => Err(bad_option(ENGINE, "address", value, "memcached has no clusters: give one address")),
    }
}

/// A whole number; sizes of items may have memcached's suffix `k` or `m`.
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

    fn read_options(value: Value) -> Result<ServerOptions, String> {
        let Value::Object(table) = value else { panic!("{value}") };
        read(&EngineOptions::Table(table)).map_err(|error| error.to_string())
    }

    #[test]
    fn options_become_flags() {
        let options = read_options(json!({"memory_mib": 128, "max_item_size": "2m", "threads": "2"})).unwrap();
        assert_eq!(options.arguments, ["-m", "128", "-I", "2m", "-t", "2"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (table, says) in [
            (json!({"memory": 1}), "memory_mib"),
            (json!({"memory_mib": "64m"}), "whole number"),
            (json!({"threads": 0}), "whole number"),
            (json!({"address": "a:1,b:2"}), "no clusters"),
            (json!({"address": "a:1", "threads": 2}), "its own settings"),
            (json!({"flush": true}), "give `address`"),
        ] {
            let error = read_options(table).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
