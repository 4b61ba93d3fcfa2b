//! TOML as a tree in which every value knows its position, so that `extends` and `--set` can merge trees and errors can
//! point at lines.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::{Document, Item, TableLike};

use super::problem::CheckError;
use super::source::{Origin, Sources};

/// The maximum depth of `extends`.
const MAX_EXTENDS: usize = 16;

/// A value and its position.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub kind: NodeKind,
    /// The position of the value.
    pub origin: Origin,
    /// The position of its key; for an array element, of the value.
    pub key_origin: Origin,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
    Table(Vec<(String, Node)>),
    Array(Vec<Node>),
    Leaf(Value),
}

impl Node {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(crate) fn entries(&self) -> &[(String, Node)] {
        match &self.kind {
            NodeKind::Table(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn elements(&self) -> &[Node] {
        match &self.kind {
            NodeKind::Array(elements) => elements,
            _ => &[],
        }
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.kind, NodeKind::Table(_))
    }

    /// The value without positions.
    pub(crate) fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Table(entries) => {
                Value::Object(entries.iter().map(|(key, node)| (key.clone(), node.to_json())).collect())
            }
            NodeKind::Array(elements) => Value::Array(elements.iter().map(Node::to_json).collect()),
            NodeKind::Leaf(value) => value.clone(),
        }
    }

    fn entry_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.kind {
            NodeKind::Table(entries) => entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node),
            _ => None,
        }
    }

    fn insert(&mut self, key: &str, node: Node) {
        match (self.entry_mut(key).is_some(), &mut self.kind) {
            (true, NodeKind::Table(entries)) => {
                entries.iter_mut().filter(|(name, _)| name == key).for_each(|(_, old)| {
                    *old = node.clone();
                })
            }
            (false, NodeKind::Table(entries)) => entries.push((key.to_owned(), node)),
            _ => {}
        }
    }

    /// Merges `nearer` over this tree: tables are merged key by key, everything else is replaced.
    fn overlay(&mut self, nearer: Node) {
        match (&mut self.kind, nearer.kind) {
            (NodeKind::Table(_), NodeKind::Table(entries)) => {
                for (key, node) in entries {
                    match self.entry_mut(&key) {
                        Some(old) => old.overlay(node),
                        None => self.insert(&key, node),
                    }
                }
            }
            (kind, other) => {
                *kind = other;
                self.origin = nearer.origin;
                self.key_origin = nearer.key_origin;
            }
        }
    }
}

/// Reads the file at `path`, merged over the files that it extends, with the `--set` changes `sets` applied.
pub(crate) fn load(sources: &mut Sources, path: &Path, sets: &[String]) -> Result<Node, Vec<CheckError>> {
    let mut root = load_file(sources, path, None, MAX_EXTENDS)?;
    for set in sets {
        apply_set(sources, &mut root, set)?;
    }
    Ok(root)
}

fn load_file(
    sources: &mut Sources,
    path: &Path,
    extended_at: Option<Origin>,
    depth_left: usize,
) -> Result<Node, Vec<CheckError>> {
    let text = fs::read_to_string(path)
        .map_err(|error| vec![CheckError::new(format!("{}: {error}", path.display()), extended_at.clone())])?;
    let source = sources.add(path.to_owned(), text.clone());
    let mut node = parse(source, &text)?;
    let Some(extends) = node.get("extends").cloned() else { return Ok(node) };
    let Value::String(base) = extends.to_json() else {
        return Err(vec![CheckError::new("`extends` must be the path of one file, as a string", Some(extends.origin))]);
    };
    if depth_left == 0 {
        let message = format!("`extends` is deeper than {MAX_EXTENDS} files: does a file extend itself?");
        return Err(vec![CheckError::new(message, Some(extends.origin))]);
    }
    let base = path.parent().unwrap_or(Path::new("")).join(base);
    let mut merged = load_file(sources, &base, Some(extends.origin), depth_left - 1)?;
    if let NodeKind::Table(entries) = &mut node.kind {
        entries.retain(|(key, _)| key != "extends");
    }
    merged.overlay(node);
    Ok(merged)
}

fn parse(source: usize, text: &str) -> Result<Node, Vec<CheckError>> {
    let document = text.parse::<Document<String>>().map_err(|error| {
        let origin = error.span().map(|span| Origin { source, span });
        vec![CheckError::new(error.message().trim().to_owned(), origin)]
    })?;
    let whole = Origin { source, span: 0..0 };
    table_node(source, document.as_table(), &whole).map_err(|error| vec![error])
}

fn table_node(source: usize, table: &dyn TableLike, origin: &Origin) -> Result<Node, CheckError> {
    let mut entries = Vec::new();
    for (name, item) in table.iter() {
        let key_span = table.key(name).and_then(|key| key.span()).or(item.span());
        let key_origin = key_span.map_or_else(|| origin.clone(), |span| Origin { source, span });
        let mut node = item_node(source, item, &key_origin)?;
        node.key_origin = key_origin;
        entries.push((name.to_owned(), node));
    }
    Ok(Node { kind: NodeKind::Table(entries), origin: origin.clone(), key_origin: origin.clone() })
}

fn item_node(source: usize, item: &Item, near: &Origin) -> Result<Node, CheckError> {
    let origin = item.span().map_or_else(|| near.clone(), |span| Origin { source, span });
    if let Some(inner) = item.as_table_like() {
        return table_node(source, inner, &origin);
    }
    let kind = match item {
        Item::ArrayOfTables(tables) => {
            let place =
                |table: &toml_edit::Table| table.span().map_or_else(|| origin.clone(), |span| Origin { source, span });
            NodeKind::Array(tables.iter().map(|one| table_node(source, one, &place(one))).collect::<Result<_, _>>()?)
        }
        Item::Value(value) => return value_node(source, value, &origin),
        Item::None | Item::Table(_) => NodeKind::Table(Vec::new()),
    };
    Ok(Node { kind, key_origin: origin.clone(), origin })
}

fn value_node(source: usize, value: &toml_edit::Value, near: &Origin) -> Result<Node, CheckError> {
    let origin = value.span().map_or_else(|| near.clone(), |span| Origin { source, span });
    let kind = match value {
        toml_edit::Value::String(text) => NodeKind::Leaf(Value::String(text.value().clone())),
        toml_edit::Value::Integer(number) => NodeKind::Leaf(Value::from(*number.value())),
        toml_edit::Value::Boolean(flag) => NodeKind::Leaf(Value::Bool(*flag.value())),
        toml_edit::Value::Float(number) => match serde_json::Number::from_f64(*number.value()) {
            Some(number) => NodeKind::Leaf(Value::Number(number)),
            None => return Err(CheckError::new(format!("{} is not a finite number", number.value()), Some(origin))),
        },
        toml_edit::Value::Datetime(_) => {
            return Err(CheckError::new("dates are not supported in an experiment file", Some(origin)));
        }
        toml_edit::Value::Array(elements) => {
            NodeKind::Array(elements.iter().map(|one| value_node(source, one, &origin)).collect::<Result<_, _>>()?)
        }
        toml_edit::Value::InlineTable(inner) => return table_node(source, inner, &origin),
    };
    Ok(Node { kind, key_origin: origin.clone(), origin })
}

/// Applies one `--set key=value` to the tree: `plan.phase=5s`, `primary.records=1000`, or `writer.write_ratio=0.5` for
/// the neighbour of that name.
fn apply_set(sources: &mut Sources, root: &mut Node, set: &str) -> Result<(), Vec<CheckError>> {
    let source = sources.add(PathBuf::from("--set"), set.to_owned());
    let origin = Origin { source, span: 0..set.len() };
    let invalid = |message: String| vec![CheckError::new(message, Some(origin.clone()))];
    let Some((path, text)) = set.split_once('=') else {
        return Err(invalid(format!("`{set}`: expected `--set key=value`, such as `--set plan.phase=5s`")));
    };
    let text = text.trim();
    let literal = format!("value = {text}");
    let parsed = literal.parse::<Document<String>>().ok();
    let node = match parsed.as_ref().and_then(|document| document.get("value")) {
        Some(parsed) => item_node(source, parsed, &origin).map_err(|error| vec![error])?,
        None => {
            let kind = NodeKind::Leaf(Value::String(text.to_owned()));
            Node { kind, origin: origin.clone(), key_origin: origin.clone() }
        }
    };
    let keys = split_keys(path.trim());
    let neighbour = root.get("neighbour").map_or(&[][..], Node::elements).iter().position(|neighbour| {
        neighbour.get("name").is_some_and(|name| name.to_json() == Value::String(keys[0].to_owned()))
    });
    let (mut at, keys) = match (neighbour, root.entry_mut("neighbour")) {
        (Some(index), Some(Node { kind: NodeKind::Array(neighbours), .. })) if keys.len() > 1 => {
            (&mut neighbours[index], &keys[1..])
        }
        _ => (root, &keys[..]),
    };
    let (last, tables) = keys.split_last().ok_or_else(|| invalid("the key is empty".to_owned()))?;
    for table in tables {
        if at.get(table).is_none() {
            let empty = Node { kind: NodeKind::Table(Vec::new()), origin: origin.clone(), key_origin: origin.clone() };
            at.insert(table, empty);
        }
        at = at.entry_mut(table).filter(|node| node.is_table()).ok_or_else(|| {
            invalid(format!("`{path}`: `{table}` is not a table; write a neighbour's setting as `name.setting`"))
        })?;
    }
    at.insert(last, with_origin(node, &origin));
    Ok(())
}

/// Splits a path into keys. What follows `limits` is one key, as the names of limits contain dots.
fn split_keys(path: &str) -> Vec<&str> {
    match path.split_once(".limits.") {
        Some((before, limit)) => before.split('.').chain(["limits", limit]).collect(),
        None => path.split('.').collect(),
    }
}

/// The tree with all positions replaced by `origin`: those of the parsed helper text point nowhere.
fn with_origin(node: Node, origin: &Origin) -> Node {
    let kind = match node.kind {
        NodeKind::Table(entries) => {
            NodeKind::Table(entries.into_iter().map(|(key, node)| (key, with_origin(node, origin))).collect())
        }
        NodeKind::Array(elements) => {
            NodeKind::Array(elements.into_iter().map(|node| with_origin(node, origin)).collect())
        }
        leaf => leaf,
    };
    Node { kind, origin: origin.clone(), key_origin: origin.clone() }
}
