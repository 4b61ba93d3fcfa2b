//! TOML as a tree whose every value knows where it was written: the base of `extends`, `--set` and of
//! errors that point.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use miette::NamedSource;
use serde_json::Value;
use toml_edit::{Document, Item, TableLike};

use super::problem::{Complaint, ExperimentError, Problem};

/// How deep `extends` may go.
const MAX_EXTENDS: usize = 16;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// Which of the [`Sources`].
    pub source: usize,
    /// The bytes in it.
    pub span: Range<usize>,
}

/// A value and where it was written.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub kind: Kind,
    /// Where the value stands.
    pub origin: Origin,
    /// Where its key stands; the value itself for array elements.
    pub key_origin: Origin,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Table(Vec<(String, Node)>),
    Array(Vec<Node>),
    Leaf(Value),
}

impl Node {
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(super) fn entries(&self) -> &[(String, Node)] {
        match &self.kind {
            Kind::Table(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn elements(&self) -> &[Node] {
        match &self.kind {
            Kind::Array(elements) => elements,
            _ => &[],
        }
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.kind, Kind::Table(_))
    }

    /// The value without its places.
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Table(entries) => {
                Value::Object(entries.iter().map(|(key, node)| (key.clone(), node.to_json())).collect())
            }
            Kind::Array(elements) => Value::Array(elements.iter().map(Node::to_json).collect()),
            Kind::Leaf(value) => value.clone(),
        }
    }

    fn entry_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.kind {
            Kind::Table(entries) => entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node),
            _ => None,
        }
    }

    fn insert(&mut self, key: &str, node: Node) {
        match (self.entry_mut(key).is_some(), &mut self.kind) {
            (true, Kind::Table(entries)) => entries.iter_mut().filter(|(name, _)| name == key).for_each(|(_, old)| {
                *old = node.clone();
            }),
            (false, Kind::Table(entries)) => entries.push((key.to_owned(), node)),
            _ => {}
        }
    }

    /// Lays `nearer` over this tree: tables are joined, everything else is replaced.
    fn overlay(&mut self, nearer: Node) {
        match (&mut self.kind, nearer.kind) {
            (Kind::Table(_), Kind::Table(entries)) => {
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

/// The texts that an experiment was read from: its file, the files it extends, its `--set`s.
#[derive(Debug, Default)]
pub(super) struct Sources(Vec<(PathBuf, String)>);

impl Sources {
    /// The folder of the file that `origin` points into; `--set` speaks from the current folder.
    pub(super) fn folder(&self, origin: &Origin) -> &Path {
        self.0.get(origin.source).and_then(|(path, _)| path.parent()).unwrap_or(Path::new(""))
    }

    fn add(&mut self, path: PathBuf, text: String) -> usize {
        self.0.push((path, text));
        self.0.len() - 1
    }

    pub(super) fn error(&self, complaints: Vec<Complaint>) -> ExperimentError {
        let source = |complaint: &Complaint| {
            let (path, text) = self.0.get(complaint.origin.as_ref()?.source)?;
            Some(NamedSource::new(path.display().to_string(), text.clone()))
        };
        let problem = |complaint: Complaint| Problem::new(complaint.clone(), source(&complaint));
        ExperimentError { problems: complaints.into_iter().map(problem).collect() }
    }
}

/// Reads the file at `path`, the files it extends beneath it, and `sets` above it.
pub(super) fn load(sources: &mut Sources, path: &Path, sets: &[String]) -> Result<Node, Vec<Complaint>> {
    let mut root = load_file(sources, path, None, MAX_EXTENDS)?;
    for set in sets {
        apply_set(sources, &mut root, set)?;
    }
    Ok(root)
}

fn load_file(
    sources: &mut Sources,
    path: &Path,
    said_at: Option<Origin>,
    depth_left: usize,
) -> Result<Node, Vec<Complaint>> {
    let text = fs::read_to_string(path)
        .map_err(|error| vec![Complaint::new(format!("{}: {error}", path.display()), said_at.clone())])?;
    let source = sources.add(path.to_owned(), text.clone());
    let mut node = parse(source, &text)?;
    let Some(extends) = node.get("extends").cloned() else { return Ok(node) };
    let Value::String(base) = extends.to_json() else {
        return Err(vec![Complaint::new("`extends` takes the path of one file, as text", Some(extends.origin))]);
    };
    if depth_left == 0 {
        let message = format!("`extends` goes deeper than {MAX_EXTENDS} files: does a file extend itself?");
        return Err(vec![Complaint::new(message, Some(extends.origin))]);
    }
    let base = path.parent().unwrap_or(Path::new("")).join(base);
    let mut below = load_file(sources, &base, Some(extends.origin), depth_left - 1)?;
    if let Kind::Table(entries) = &mut node.kind {
        entries.retain(|(key, _)| key != "extends");
    }
    below.overlay(node);
    Ok(below)
}

fn parse(source: usize, text: &str) -> Result<Node, Vec<Complaint>> {
    let document = text.parse::<Document<String>>().map_err(|error| {
        let origin = error.span().map(|span| Origin { source, span });
        vec![Complaint::new(error.message().trim().to_owned(), origin)]
    })?;
    let whole = Origin { source, span: 0..0 };
    table(source, document.as_table(), &whole).map_err(|complaint| vec![complaint])
}

fn table(source: usize, table: &dyn TableLike, origin: &Origin) -> Result<Node, Complaint> {
    let mut entries = Vec::new();
    for (name, item) in table.iter() {
        let key_span = table.key(name).and_then(|key| key.span()).or(item.span());
        let key_origin = key_span.map_or_else(|| origin.clone(), |span| Origin { source, span });
        let mut node = self::item(source, item, &key_origin)?;
        node.key_origin = key_origin;
        entries.push((name.to_owned(), node));
    }
    Ok(Node { kind: Kind::Table(entries), origin: origin.clone(), key_origin: origin.clone() })
}

fn item(source: usize, item: &Item, near: &Origin) -> Result<Node, Complaint> {
    let origin = item.span().map_or_else(|| near.clone(), |span| Origin { source, span });
    if let Some(inner) = item.as_table_like() {
        return table(source, inner, &origin);
    }
    let kind = match item {
        Item::ArrayOfTables(tables) => {
            let place =
                |table: &toml_edit::Table| table.span().map_or_else(|| origin.clone(), |span| Origin { source, span });
            Kind::Array(tables.iter().map(|one| table(source, one, &place(one))).collect::<Result<_, _>>()?)
        }
        Item::Value(value) => return self::value(source, value, &origin),
        Item::None | Item::Table(_) => Kind::Table(Vec::new()),
    };
    Ok(Node { kind, key_origin: origin.clone(), origin })
}

fn value(source: usize, value: &toml_edit::Value, near: &Origin) -> Result<Node, Complaint> {
    let origin = value.span().map_or_else(|| near.clone(), |span| Origin { source, span });
    let kind = match value {
        toml_edit::Value::String(text) => Kind::Leaf(Value::String(text.value().clone())),
        toml_edit::Value::Integer(number) => Kind::Leaf(Value::from(*number.value())),
        toml_edit::Value::Boolean(flag) => Kind::Leaf(Value::Bool(*flag.value())),
        toml_edit::Value::Float(number) => match serde_json::Number::from_f64(*number.value()) {
            Some(number) => Kind::Leaf(Value::Number(number)),
            None => return Err(Complaint::new(format!("{} is no finite number", number.value()), Some(origin))),
        },
        toml_edit::Value::Datetime(_) => {
            return Err(Complaint::new("a date has no meaning in an experiment", Some(origin)));
        }
        toml_edit::Value::Array(elements) => {
            Kind::Array(elements.iter().map(|one| self::value(source, one, &origin)).collect::<Result<_, _>>()?)
        }
        toml_edit::Value::InlineTable(inner) => return table(source, inner, &origin),
    };
    Ok(Node { kind, key_origin: origin.clone(), origin })
}

/// Puts one `--set key=value` into the tree: `plan.phase=5s`, `primary.records=1000`, or
/// `writer.write_ratio=0.5` for the neighbour of that name.
fn apply_set(sources: &mut Sources, root: &mut Node, set: &str) -> Result<(), Vec<Complaint>> {
    let source = sources.add(PathBuf::from("--set"), set.to_owned());
    let origin = Origin { source, span: 0..set.len() };
    let wrong = |message: String| vec![Complaint::new(message, Some(origin.clone()))];
    let Some((path, text)) = set.split_once('=') else {
        return Err(wrong(format!("`{set}`: write `--set key=value`, such as `--set plan.phase=5s`")));
    };
    let text = text.trim();
    let literal = format!("value = {text}");
    let parsed = literal.parse::<Document<String>>().ok();
    let node = match parsed.as_ref().and_then(|document| document.get("value")) {
        Some(parsed) => item(source, parsed, &origin).map_err(|complaint| vec![complaint])?,
        None => {
            let kind = Kind::Leaf(Value::String(text.to_owned()));
            Node { kind, origin: origin.clone(), key_origin: origin.clone() }
        }
    };
    let keys = keys_of(path.trim());
    let named = root.get("neighbour").map_or(&[][..], Node::elements).iter().position(|neighbour| {
        neighbour.get("name").is_some_and(|name| name.to_json() == Value::String(keys[0].to_owned()))
    });
    let (mut at, keys) = match (named, root.entry_mut("neighbour")) {
        (Some(index), Some(Node { kind: Kind::Array(neighbours), .. })) if keys.len() > 1 => {
            (&mut neighbours[index], &keys[1..])
        }
        _ => (root, &keys[..]),
    };
    let (last, folders) = keys.split_last().ok_or_else(|| wrong("the key is empty".to_owned()))?;
    for folder in folders {
        if at.get(folder).is_none() {
            let empty = Node { kind: Kind::Table(Vec::new()), origin: origin.clone(), key_origin: origin.clone() };
            at.insert(folder, empty);
        }
        at = at.entry_mut(folder).filter(|node| node.is_table()).ok_or_else(|| {
            wrong(format!("`{path}`: `{folder}` is no table; a neighbour's setting is `name.setting`"))
        })?;
    }
    at.insert(last, with_origin(node, &origin));
    Ok(())
}

/// The keys of a path; what follows `limits` is one key, since names of limits hold dots.
fn keys_of(path: &str) -> Vec<&str> {
    match path.split_once(".limits.") {
        Some((before, limit)) => before.split('.').chain(["limits", limit]).collect(),
        None => path.split('.').collect(),
    }
}

/// The tree with every place replaced by `origin`: spans of a helper text would point nowhere.
fn with_origin(node: Node, origin: &Origin) -> Node {
    let kind = match node.kind {
        Kind::Table(entries) => {
            Kind::Table(entries.into_iter().map(|(key, node)| (key, with_origin(node, origin))).collect())
        }
        Kind::Array(elements) => Kind::Array(elements.into_iter().map(|node| with_origin(node, origin)).collect()),
        leaf => leaf,
    };
    Node { kind, origin: origin.clone(), key_origin: origin.clone() }
}
