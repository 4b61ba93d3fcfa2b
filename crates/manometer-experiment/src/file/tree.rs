//! TOML as a tree in which every value knows its position, so that `extends` and `--set` can merge trees and errors can
//! point at lines.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use manometer_measure::regular_file;
use manometer_measure::suggest::similar;
use serde_json::Value;
use toml_edit::{Document, Item, TableLike};

use super::problem::CheckError;
use super::source::{Origin, Sources};
use crate::shipped;

/// The maximum depth of `extends`.
const MAX_EXTENDS: usize = 16;

/// The largest file that is read.
const MOST_FILE_BYTES: u64 = 16 << 20;

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

    /// The table with those of its keys that `is_kept`; anything else as it is.
    pub(crate) fn with_keys(&self, is_kept: impl Fn(&str) -> bool) -> Node {
        let kind = match &self.kind {
            NodeKind::Table(entries) => {
                NodeKind::Table(entries.iter().filter(|(key, _)| is_kept(key)).cloned().collect())
            }
            other => other.clone(),
        };
        Node { kind, ..self.clone() }
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

/// Reads the file at `path`, or the shipped experiment of that name, merged over the files that it extends, with the
/// `--set` changes `sets` applied. Adds what is wrong to `errors`; nothing is returned where no more can be checked.
pub(crate) fn load(sources: &mut Sources, path: &Path, sets: &[String], errors: &mut Vec<CheckError>) -> Option<Node> {
    let source = open(sources, path, path).map_err(|error| errors.push(error)).ok()?;
    let mut root = load_source(sources, source, MAX_EXTENDS, errors)?;
    for set in sets {
        if let Err(error) = apply_set(sources, &mut root, set) {
            errors.push(error);
        }
    }
    Some(root)
}

/// Adds the text of the file at `path`, which was written as `name`. Where there is no such file, a bare name is that of a
/// shipped experiment.
fn open(sources: &mut Sources, path: &Path, name: &Path) -> Result<usize, CheckError> {
    let error = match regular_file::read_text(path, MOST_FILE_BYTES) {
        Ok(text) => return Ok(sources.add(path.to_owned(), text)),
        Err(error) => error,
    };
    let bare = name.to_str().filter(|name| error.kind() == io::ErrorKind::NotFound && !name.contains('/'));
    match bare.map(|name| (name, shipped::find(name))) {
        Some((_, Some(experiment))) => Ok(sources.add_shipped(experiment)),
        Some((name, None)) => {
            let known = shipped::EXPERIMENTS.iter().map(|experiment| experiment.name);
            let meant = similar(name.strip_suffix(".toml").unwrap_or(name), known);
            let meant = meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
            let text = format!("there is no file `{name}`, and no experiment of this name comes with Manometer");
            Err(CheckError::new(text, None).with_help(format!("{meant}`manometer experiments` lists those")))
        }
        None => Err(CheckError::new(format!("{}: {error}", path.display()), None)),
    }
}

fn load_source(sources: &mut Sources, source: usize, depth_left: usize, errors: &mut Vec<CheckError>) -> Option<Node> {
    let whole = Origin { source, span: 0..0 };
    let text = sources.named_source(&whole)?.inner().clone();
    let mut node = parse(source, &text, errors)?;
    let Some(extends) = node.get("extends").cloned() else { return Some(node) };
    let mut refuse = |message| errors.push(CheckError::new(message, Some(extends.origin.clone())));
    let Value::String(base) = extends.to_json() else {
        refuse("`extends` must be the path of one file, as a string".to_owned());
        return None;
    };
    if depth_left == 0 {
        refuse(format!("`extends` is deeper than {MAX_EXTENDS} files: does a file extend itself?"));
        return None;
    }
    let path = sources.folder(&whole).join(&base);
    let at = Some(extends.origin.clone());
    let base =
        open(sources, &path, Path::new(&base)).map_err(|error| errors.push(CheckError { origin: at, ..error })).ok()?;
    let mut merged = load_source(sources, base, depth_left - 1, errors)?;
    if let NodeKind::Table(entries) = &mut node.kind {
        entries.retain(|(key, _)| key != "extends");
    }
    merged.overlay(node);
    Some(merged)
}

fn parse(source: usize, text: &str, errors: &mut Vec<CheckError>) -> Option<Node> {
    let whole = Origin { source, span: 0..0 };
    match text.parse::<Document<String>>() {
        Ok(document) => Some(table_node(source, document.as_table(), &whole, errors)),
        Err(first) => {
            let all = syntax_errors(text);
            let first = (first.message().trim().to_owned(), first.span());
            let all = if all.is_empty() { vec![first] } else { all };
            errors.extend(
                all.into_iter()
                    .map(|(message, span)| CheckError::new(message, span.map(|span| Origin { source, span }))),
            );
            None
        }
    }
}

/// The errors of syntax in `text`, one for each line: what follows in a line often follows from it.
fn syntax_errors(text: &str) -> Vec<(String, Option<Range<usize>>)> {
    let (_, mut errors) = toml::de::DeTable::parse_recoverable(text);
    let begin = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    let line = |error: &toml::de::Error| text[..begin(error)].matches('\n').count();
    errors.sort_by_key(begin);
    errors.dedup_by_key(|error| line(error));
    errors.into_iter().map(|error| (error.message().trim().to_owned(), error.span())).collect()
}

/// The values of `table`. What is no value of an experiment file is left out and added to `errors`.
fn table_node(source: usize, table: &dyn TableLike, origin: &Origin, errors: &mut Vec<CheckError>) -> Node {
    let mut entries = Vec::new();
    for (name, item) in table.iter() {
        let key_span = table.key(name).and_then(|key| key.span()).or(item.span());
        let key_origin = key_span.map_or_else(|| origin.clone(), |span| Origin { source, span });
        if let Some(node) = item_node(source, item, &key_origin, errors) {
            entries.push((name.to_owned(), Node { key_origin, ..node }));
        }
    }
    Node { kind: NodeKind::Table(entries), origin: origin.clone(), key_origin: origin.clone() }
}

fn item_node(source: usize, item: &Item, near: &Origin, errors: &mut Vec<CheckError>) -> Option<Node> {
    let origin = item.span().map_or_else(|| near.clone(), |span| Origin { source, span });
    if let Some(inner) = item.as_table_like() {
        return Some(table_node(source, inner, &origin, errors));
    }
    let kind = match item {
        Item::ArrayOfTables(tables) => {
            let place =
                |table: &toml_edit::Table| table.span().map_or_else(|| origin.clone(), |span| Origin { source, span });
            NodeKind::Array(tables.iter().map(|one| table_node(source, one, &place(one), errors)).collect())
        }
        Item::Value(value) => return value_node(source, value, &origin, errors),
        Item::None | Item::Table(_) => NodeKind::Table(Vec::new()),
    };
    Some(Node { kind, key_origin: origin.clone(), origin })
}

fn value_node(source: usize, value: &toml_edit::Value, near: &Origin, errors: &mut Vec<CheckError>) -> Option<Node> {
    let origin = value.span().map_or_else(|| near.clone(), |span| Origin { source, span });
    let kind = match value {
        toml_edit::Value::String(text) => NodeKind::Leaf(Value::String(text.value().clone())),
        toml_edit::Value::Integer(number) => NodeKind::Leaf(Value::from(*number.value())),
        toml_edit::Value::Boolean(flag) => NodeKind::Leaf(Value::Bool(*flag.value())),
        toml_edit::Value::Float(number) => match serde_json::Number::from_f64(*number.value()) {
            Some(number) => NodeKind::Leaf(Value::Number(number)),
            None => {
                errors.push(CheckError::new(format!("{} is not a finite number", number.value()), Some(origin)));
                return None;
            }
        },
        toml_edit::Value::Datetime(_) => {
            errors.push(CheckError::new("dates are not supported in an experiment file", Some(origin)));
            return None;
        }
        toml_edit::Value::Array(elements) => {
            NodeKind::Array(elements.iter().filter_map(|one| value_node(source, one, &origin, errors)).collect())
        }
        toml_edit::Value::InlineTable(inner) => return Some(table_node(source, inner, &origin, errors)),
    };
    Some(Node { kind, key_origin: origin.clone(), origin })
}

/// Applies one `--set key=value` to the tree: `plan.phase=5s`, `primary.records=1000`, or `writer.write_ratio=0.5` for
/// the neighbour of that name.
fn apply_set(sources: &mut Sources, root: &mut Node, set: &str) -> Result<(), CheckError> {
    let source = sources.add(PathBuf::from("--set"), set.to_owned());
    let origin = Origin { source, span: 0..set.len() };
    let invalid = |message: String| CheckError::new(message, Some(origin.clone()));
    let Some((path, text)) = set.split_once('=') else {
        return Err(invalid(format!("`{set}`: expected `--set key=value`, such as `--set plan.phase=5s`")));
    };
    let text = text.trim();
    let literal = format!("value = {text}");
    let parsed = literal.parse::<Document<String>>().ok();
    let node = match parsed.as_ref().and_then(|document| document.get("value")) {
        Some(parsed) => {
            let mut errors = Vec::new();
            let node = item_node(source, parsed, &origin, &mut errors);
            // Positions in the parsed helper text point nowhere.
            match (node, errors.pop()) {
                (Some(node), None) => node,
                (_, error) => return Err(invalid(error.map_or_else(String::new, |error| error.message))),
            }
        }
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
