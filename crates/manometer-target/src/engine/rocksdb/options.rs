//! RocksDB's options, from its own OPTIONS file or from a table; checks every name.

use std::fs;
use std::path::Path;

use manometer_measure::suggest::similar;
use rocksdb::Options as RocksOptions;
use serde_json::Value;

use super::ENGINE;
use super::names::{COLUMN_FAMILY, COLUMN_FAMILY_UNWRITTEN, DATABASE, TABLE, TABLE_UNWRITTEN};
use crate::engine::{EngineError, EngineOptions};

/// The supported sections of an OPTIONS file.
const SECTIONS: &str =
    "`[Version]`, `[DBOptions]`, `[CFOptions \"default\"]`, `[TableOptions/BlockBasedTable \"default\"]`";

/// The option that holds the table's options in RocksDB's one-line form.
const TABLE_FACTORY: &str = "block_based_table_factory";

/// One option as given.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RawOption {
    /// File and line, or the table.
    place: String,
    name: String,
    value: String,
    scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// An option of the database or of its column family.
    Database,
    /// An option of the block-based table.
    Table,
    /// An option of every write.
    Write,
}

/// The options of writes. An OPTIONS file has no place for them.
const WRITE: &[&str] = &["disableWAL", "sync"];

/// Reads the options and checks every name.
pub(super) fn read(options: &EngineOptions) -> Result<Vec<RawOption>, EngineError> {
    match options {
        EngineOptions::File(path) => {
            let text =
                fs::read_to_string(path).map_err(|reason| EngineError::NotReadable { path: path.clone(), reason })?;
            from_file(path, &text)
        }
        EngineOptions::Table(table) => from_table(table),
    }
}

/// RocksDB's options with `given` set.
pub(super) fn build(given: &[RawOption]) -> Result<RocksOptions, EngineError> {
    match RocksOptions::default().get_options_from_string(one_line(given)) {
        Ok(options) => Ok(options),
        Err(all) => Err(find_rejected_option(given, all.into_string())),
    }
}

/// The write mode that `given` sets.
pub(super) fn writes(given: &[RawOption]) -> Result<Writes, EngineError> {
    let flag = |name| match given.iter().rev().find(|option| option.name == name) {
        None => Ok(false),
        Some(option) => option.value.parse().map_err(|_| EngineError::InvalidOption {
            engine: ENGINE,
            place: option.place.clone(),
            name: option.name.clone(),
            value: option.value.clone(),
            reason: "write true or false".to_owned(),
        }),
    };
    let writes = Writes { sync: flag("sync")?, without_log: flag("disableWAL")? };
    if writes.sync && writes.without_log {
        return Err(EngineError::InvalidOption {
            engine: ENGINE,
            place: "options".to_owned(),
            name: "sync".to_owned(),
            value: "true".to_owned(),
            reason: "with `disableWAL` there is no log to sync".to_owned(),
        });
    }
    Ok(writes)
}

/// The write mode of puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writes {
    /// Whether the log is synced before a put is answered.
    pub(super) sync: bool,
    /// Whether the log is disabled.
    pub(super) without_log: bool,
}

/// The value of `name`, if given.
pub(super) fn value_of<'a>(given: &'a [RawOption], name: &str) -> Option<&'a str> {
    given.iter().rev().find(|option| option.name == name).map(|option| option.value.as_str())
}

/// The options of a file in RocksDB's OPTIONS format.
pub(super) fn from_file(path: &Path, text: &str) -> Result<Vec<RawOption>, EngineError> {
    let mut given = Vec::new();
    let mut section = String::new();
    for (number, line) in text.lines().enumerate() {
        let place = || format!("{}:{}", path.display(), number + 1);
        let line = line.split_once(" #").map_or(line, |(before, _)| before).trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            check_section(name, place)?;
            name.clone_into(&mut section);
            continue;
        }
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| EngineError::InvalidOptionsLine { place: place(), line: line.to_owned() })?;
        if section == "Version" {
            continue;
        }
        if section.is_empty() {
            return Err(EngineError::InvalidOptionsSection { place: place(), section, known: SECTIONS });
        }
        given.push(in_section(&section, place(), name.trim(), unescape(value.trim()))?);
    }
    Ok(given)
}

fn check_section(name: &str, place: impl Fn() -> String) -> Result<(), EngineError> {
    let known = ["Version", "DBOptions", "CFOptions \"default\"", "TableOptions/BlockBasedTable \"default\""];
    if known.contains(&name) {
        return Ok(());
    }
    Err(EngineError::InvalidOptionsSection { place: place(), section: name.to_owned(), known: SECTIONS })
}

fn in_section(section: &str, place: String, name: &str, value: String) -> Result<RawOption, EngineError> {
    let lists: &[Names] = match section {
        "DBOptions" => &[(DATABASE, Scope::Database)],
        "CFOptions \"default\"" => &FAMILY_LISTS,
        _ => &TABLE_LISTS,
    };
    checked_option(place, name, value, lists)
}

/// Option names and their scope.
type Names = (&'static [&'static str], Scope);

const TABLE_LISTS: [Names; 2] = [(TABLE, Scope::Table), (TABLE_UNWRITTEN, Scope::Table)];
const FAMILY_LISTS: [Names; 2] = [(COLUMN_FAMILY, Scope::Database), (COLUMN_FAMILY_UNWRITTEN, Scope::Database)];
const ALL_LISTS: [Names; 6] = [
    (DATABASE, Scope::Database),
    FAMILY_LISTS[0],
    FAMILY_LISTS[1],
    TABLE_LISTS[0],
    TABLE_LISTS[1],
    (WRITE, Scope::Write),
];

/// The option `name`, if one of `lists` contains it.
fn checked_option(place: String, name: &str, value: String, lists: &[Names]) -> Result<RawOption, EngineError> {
    if let Some((_, scope)) = lists.iter().find(|(names, _)| names.contains(&name)) {
        return Ok(RawOption { place, name: name.to_owned(), value, scope: *scope });
    }
    let similar = similar(name, lists.iter().flat_map(|(names, _)| names.iter().copied()));
    Err(EngineError::UnknownOption { engine: ENGINE, place, name: name.to_owned(), similar })
}

/// Reverts the escapes of OPTIONS files.
fn unescape(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next()),
            other => plain.push(other),
        }
    }
    plain
}

fn from_table(table: &serde_json::Map<String, Value>) -> Result<Vec<RawOption>, EngineError> {
    let place = || "options".to_owned();
    let mut given = Vec::new();
    for (name, value) in table {
        match value {
            Value::Object(inner) if name == TABLE_FACTORY => {
                for (name, value) in inner {
                    given.push(checked_option(place(), name, option_text(value), &TABLE_LISTS)?);
                }
            }
            _ => given.push(checked_option(place(), name, option_text(value), &ALL_LISTS)?),
        }
    }
    Ok(given)
}

/// A value as RocksDB spells it.
fn option_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(option_text).collect::<Vec<_>>().join(":"),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}={};", option_text(value)));
            format!("{{{}}}", fields.collect::<String>())
        }
        other => other.to_string(),
    }
}

/// The options in RocksDB's one-line form, the table's options nested.
fn one_line(given: &[RawOption]) -> String {
    let list = |scope| {
        let options = given.iter().filter(move |option| option.scope == scope);
        // RocksDB writes an empty value for "none" but does not read it for every option.
        let options = options.filter(|option| !option.value.is_empty());
        options.map(|option| format!("{}={};", option.name, option.value)).collect::<String>()
    };
    let (database, table) = (list(Scope::Database), list(Scope::Table));
    if table.is_empty() { database } else { format!("{database}{TABLE_FACTORY}={{{table}}};") }
}

/// Finds the option that RocksDB refuses, by trying each alone.
fn find_rejected_option(given: &[RawOption], all: String) -> EngineError {
    let refused = given.iter().find_map(|option| {
        let alone = RocksOptions::default().get_options_from_string(one_line(std::slice::from_ref(option)));
        alone.err().map(|error| (option, error.into_string()))
    });
    match refused {
        Some((option, reason)) => EngineError::InvalidOption {
            engine: ENGINE,
            place: option.place.clone(),
            name: option.name.clone(),
            value: option.value.clone(),
            reason,
        },
        None => EngineError::Failed { engine: ENGINE, doing: "reading its options", text: all },
    }
}

#[cfg(test)]
mod tests {
    use manometer_testing::repository_file;
    use serde_json::json;

    use super::*;

    fn table(value: Value) -> Result<Vec<RawOption>, EngineError> {
        let Value::Object(table) = value else { panic!("{value}") };
        read(&EngineOptions::Table(table))
    }

    #[test]
    fn the_thesis_template_is_understood() {
        let path = repository_file("experiments/rocksdb-thesis.options");
        let given = read(&EngineOptions::File(path.to_owned())).unwrap();
        build(&given).unwrap();
        for (name, value) in [("num_levels", "6"), ("compression", "kZSTD"), ("block_size", "4096")] {
            assert_eq!(value_of(&given, name), Some(value), "{name}");
        }
    }

    #[test]
    fn an_unknown_option_is_named_with_its_line_and_the_nearest() {
        let text = "[DBOptions]\n  max_background_jobs=4\n\n[CFOptions \"default\"]\n  wirte_buffer_size=1\n";
        let error = from_file(Path::new("my.options"), text).unwrap_err().to_string();
        assert!(error.contains("my.options:5") && error.contains("`write_buffer_size`"), "{error}");
        let error = table(json!({"blok_size": 1})).unwrap_err().to_string();
        assert!(error.contains("`block_size`"), "{error}");
    }

    #[test]
    fn a_value_that_rocksdb_refuses_is_named() {
        let text = "[CFOptions \"default\"]\nnum_levels=6\ncompression=kBest\n";
        let given = from_file(Path::new("my.options"), text).unwrap();
        let error = build(&given).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("my.options:3") && error.contains("compression"), "{error}");
    }

    #[test]
    fn nonsense_lines_and_sections_are_refused() {
        for (text, line) in [("[DBOptions]\nwhat\n", ":2"), ("[Options]\n", ":1"), ("num_levels=6", ":1")] {
            let error = from_file(Path::new("o"), text).unwrap_err().to_string();
            assert!(error.contains(line), "{error}");
        }
    }

    #[test]
    fn writes_have_options_of_their_own() {
        let given = table(json!({"sync": true, "num_levels": 5})).unwrap();
        build(&given).unwrap();
        assert_eq!(writes(&given).unwrap(), Writes { sync: true, without_log: false });
        for bad in [json!({"sync": "often"}), json!({"sync": true, "disableWAL": true})] {
            let error = writes(&table(bad).unwrap()).unwrap_err().to_string();
            assert!(error.contains("`sync`"), "{error}");
        }
    }

    #[test]
    fn inline_options_may_nest_and_be_numbers_flags_and_sizes() {
        let given = table(json!({
            "write_buffer_size": "128MiB",
            "level_compaction_dynamic_level_bytes": true,
            "block_cache": "64M",
            "compression_per_level": ["kNoCompression", "kZSTD"],
            "block_based_table_factory": {"block_size": 4096},
        }));
        build(&given.unwrap()).unwrap();
    }
}
