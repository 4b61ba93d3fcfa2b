//! Reading values of the tree, and reporting those that are invalid.

use manometer_measure::suggest::correction;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Checker;
use crate::file::problem::CheckError;
use crate::file::source::Origin;
use crate::file::tables::StepTable;
use crate::file::tree::Node;

impl Checker<'_> {
    pub(super) fn report(&mut self, message: impl Into<String>, origin: Option<&Origin>, help: Option<&str>) {
        let error = CheckError::new(message, origin.cloned());
        self.errors.push(match help {
            Some(help) => error.with_help(help),
            None => error,
        });
    }

    /// Reports the keys of `table` that are not among `known`, each with the most similar known one.
    pub(super) fn check_keys(&mut self, table: &Node, known: &[String]) {
        self.errors.extend(keys_not_in(table, known));
    }

    pub(super) fn read_required<T: DeserializeOwned>(&mut self, table: &Node, key: &str) -> Option<T> {
        match table.get(key) {
            Some(node) => self.read(node, key),
            None => {
                self.report(format!("`{key}` is missing"), Some(&table.key_origin), None);
                None
            }
        }
    }

    pub(super) fn read_optional<T: DeserializeOwned>(&mut self, table: &Node, key: &str) -> Option<T> {
        let node = table.get(key)?;
        self.read(node, key)
    }

    pub(super) fn read<T: DeserializeOwned>(&mut self, node: &Node, key: &str) -> Option<T> {
        self.read_table_of(node, key, true)
    }

    /// As `read`, for a table from which unknown keys were taken unless it `is_whole`.
    pub(super) fn read_table_of<T: DeserializeOwned>(&mut self, node: &Node, key: &str, is_whole: bool) -> Option<T> {
        deserialize(node, key, is_whole).map_err(|errors| self.errors.extend(errors)).ok()
    }

    /// Reads the required table `key` of `root`.
    pub(super) fn read_root_table<T: DeserializeOwned + JsonSchema>(&mut self, root: &Node, key: &str) -> Option<T> {
        let Some(node) = root.get(key) else {
            self.report(format!("the table `[{key}]` is missing"), Some(&root.key_origin), None);
            return None;
        };
        if !node.is_table() {
            // Reported by its shape.
            return None;
        }
        let errors_before = self.errors.len();
        let table = self.read_table(node, key);
        for step in node.get("step").filter(|_| key == "plan").map_or(&[][..], Node::elements) {
            self.check_keys(step, &property_names::<StepTable>());
        }
        table.filter(|_| self.errors.len() == errors_before)
    }

    /// Reads a table whose keys are those of `T`.
    pub(super) fn read_table<T: DeserializeOwned + JsonSchema>(&mut self, node: &Node, key: &str) -> Option<T> {
        let (errors_before, known) = (self.errors.len(), property_names::<T>());
        self.check_keys(node, &known);
        let is_whole = self.errors.len() == errors_before;
        let table = self.read_table_of(&node.with_keys(|key| known.iter().any(|name| name == key)), key, is_whole);
        table.filter(|_| is_whole)
    }
}

/// The value at `node`, which is called `key`, or everything that is wrong with it. Of a table from which unknown keys were
/// taken (unless it `is_whole`) missing keys are not reported: the unknown one may be meant.
pub(crate) fn deserialize<T: DeserializeOwned>(node: &Node, key: &str, is_whole: bool) -> Result<T, Vec<CheckError>> {
    let (mut left, mut errors) = (node.to_json(), Vec::new());
    loop {
        let error = match serde_path_to_error::deserialize::<_, T>(left.clone()) {
            Ok(value) if errors.is_empty() => return Ok(value),
            Ok(_) => return Err(errors),
            Err(error) => error,
        };
        let (path, message) = (error.path(), error.inner().to_string());
        if message.starts_with("missing field") && !(is_whole && errors.is_empty()) {
            return Err(errors);
        }
        let at = node_at(node, path);
        let inside = path.to_string();
        let key = if inside == "." { key } else { inside.as_str() };
        let message = if key.is_empty() { message } else { format!("`{key}`: {message}") };
        errors.push(CheckError::new(message, Some(at.origin.clone())));
        // The other values may be wrong too.
        if !remove(&mut left, path) {
            return Err(errors);
        }
    }
}

/// Removes the value at `path` from `value`, or the list that it is in. Whether there was one.
fn remove(value: &mut Value, path: &serde_path_to_error::Path) -> bool {
    let keys = path.iter().map_while(|segment| match segment {
        serde_path_to_error::Segment::Map { key } => Some(key),
        _ => None,
    });
    let keys: Vec<&String> = keys.collect();
    let Some((last, tables)) = keys.split_last() else { return false };
    let table = tables.iter().try_fold(value, |value, key| value.get_mut(key.as_str()));
    table.and_then(Value::as_object_mut).and_then(|table| table.remove(last.as_str())).is_some()
}

/// The keys of `table` that `T` does not have.
pub(crate) fn unknown_keys<T: JsonSchema>(table: &Node) -> Vec<CheckError> {
    keys_not_in(table, &property_names::<T>())
}

fn keys_not_in(table: &Node, known: &[String]) -> Vec<CheckError> {
    let unknown = table.entries().iter().filter(|(key, _)| !known.contains(key));
    let error = |(key, node): &(String, Node)| {
        let help = correction(key, known.iter().map(String::as_str));
        CheckError::new(format!("unknown key `{key}`"), Some(node.key_origin.clone())).with_help(help)
    };
    unknown.map(error).collect()
}

pub(super) fn property_names<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T).to_value();
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    properties.keys().cloned().collect()
}

/// The node at `path`, or the deepest one on the way to it that exists.
pub(crate) fn node_at<'a>(node: &'a Node, path: &serde_path_to_error::Path) -> &'a Node {
    let mut at = node;
    for segment in path {
        let next = match segment {
            serde_path_to_error::Segment::Map { key } => at.get(key),
            serde_path_to_error::Segment::Seq { index } => at.elements().get(*index),
            _ => None,
        };
        match next {
            Some(node) => at = node,
            None => return at,
        }
    }
    at
}
