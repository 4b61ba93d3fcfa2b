//! Reading values and telling what is wrong with them.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Map;

use super::Checker;
use crate::file::problem::Complaint;
use crate::file::tree::{Node, Origin};
use crate::file::types::StepTable;

impl Checker<'_> {
    pub(super) fn report(&mut self, message: impl Into<String>, origin: Option<&Origin>, help: Option<&str>) {
        let complaint = Complaint::new(message, origin.cloned());
        self.complaints.push(match help {
            Some(help) => complaint.with_help(help),
            None => complaint,
        });
    }

    /// Reports keys that are none of `known`, each with the nearest one that is.
    pub(super) fn known_keys(&mut self, table: &Node, known: &[String]) {
        self.complaints.extend(unknown_keys(table, known));
    }

    pub(super) fn required<T: DeserializeOwned>(&mut self, table: &Node, key: &str) -> Option<T> {
        match table.get(key) {
            Some(node) => self.value(node, key),
            None => {
                self.report(format!("`{key}` is missing"), Some(&table.key_origin), None);
                None
            }
        }
    }

    pub(super) fn optional<T: DeserializeOwned>(&mut self, table: &Node, key: &str) -> Option<T> {
        let node = table.get(key)?;
        self.value(node, key)
    }

    pub(super) fn value<T: DeserializeOwned>(&mut self, node: &Node, key: &str) -> Option<T> {
        match serde_path_to_error::deserialize::<_, T>(node.to_json()) {
            Ok(value) => Some(value),
            Err(error) => {
                let at = follow(node, error.path());
                let inside = error.path().to_string();
                let key = if inside == "." { key.to_owned() } else { inside };
                self.report(format!("`{key}`: {}", error.inner()), Some(&at.origin), None);
                None
            }
        }
    }

    /// Reads a table that must be there, its keys those of `T`.
    pub(super) fn table<T: DeserializeOwned + JsonSchema>(&mut self, root: &Node, key: &str) -> Option<T> {
        let Some(node) = root.get(key) else {
            self.report(format!("the table `[{key}]` is missing"), Some(&root.key_origin), None);
            return None;
        };
        let found_before = self.complaints.len();
        self.known_keys(node, &property_names::<T>());
        if key == "plan" {
            for step in node.get("step").map_or(&[][..], Node::elements) {
                self.known_keys(step, &property_names::<StepTable>());
            }
        }
        // A misspelt key would be told again as a missing one.
        (self.complaints.len() == found_before).then(|| self.value(node, key))?
    }
}

/// What is to be said of keys of `table` that are none of `T`'s.
pub(in crate::file) fn known_keys<T: JsonSchema>(table: &Node) -> Vec<Complaint> {
    unknown_keys(table, &property_names::<T>())
}

fn unknown_keys(table: &Node, known: &[String]) -> Vec<Complaint> {
    let unknown = table.entries().iter().filter(|(key, _)| !known.contains(key));
    let complaint = |(key, node): &(String, Node)| {
        let help = nearest_of(key, known.iter().map(String::as_str));
        Complaint::new(format!("`{key}` is no key here"), Some(node.key_origin.clone())).with_help(help)
    };
    unknown.map(complaint).collect()
}

pub(super) fn property_names<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T).to_value();
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    properties.keys().cloned().collect()
}

/// A sentence that names what is nearest to `word`, and else everything there is.
pub(super) fn nearest_of<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let distance = |name: &&&str| strsim::damerau_levenshtein(word, name);
    let nearest = known.iter().min_by_key(distance).filter(|name| distance(name) <= 1 + word.len() / 3);
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("there are `{}`", known.join("`, `")),
    }
}

/// The node that a path of a failed reading leads to, as far as it leads.
pub(in crate::file) fn follow<'a>(node: &'a Node, path: &serde_path_to_error::Path) -> &'a Node {
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
