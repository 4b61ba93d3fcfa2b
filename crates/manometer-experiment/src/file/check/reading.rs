//! Reading values of the tree, and reporting those that are invalid.

use manometer_measure::suggest::correction;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Map;

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
        match serde_path_to_error::deserialize::<_, T>(node.to_json()) {
            Ok(value) => Some(value),
            Err(error) => {
                let at = node_at(node, error.path());
                let inside = error.path().to_string();
                let key = if inside == "." { key.to_owned() } else { inside };
                self.report(format!("`{key}`: {}", error.inner()), Some(&at.origin), None);
                None
            }
        }
    }

    /// Reads the required table `key` of `root`.
    pub(super) fn read_root_table<T: DeserializeOwned + JsonSchema>(&mut self, root: &Node, key: &str) -> Option<T> {
        let Some(node) = root.get(key) else {
            self.report(format!("the table `[{key}]` is missing"), Some(&root.key_origin), None);
            return None;
        };
        let errors_before = self.errors.len();
        let table = self.read_table(node, key);
        for step in node.get("step").filter(|_| key == "plan").map_or(&[][..], Node::elements) {
            self.check_keys(step, &property_names::<StepTable>());
        }
        table.filter(|_| self.errors.len() == errors_before)
    }

    /// Reads a table whose keys are those of `T`.
    pub(super) fn read_table<T: DeserializeOwned + JsonSchema>(&mut self, node: &Node, key: &str) -> Option<T> {
        let errors_before = self.errors.len();
        self.check_keys(node, &property_names::<T>());
        // A misspelt key would be reported again as a missing one.
        (self.errors.len() == errors_before).then(|| self.read(node, key))?
    }
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
