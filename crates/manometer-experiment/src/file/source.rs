//! The texts that an experiment is read from, and positions in them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use miette::NamedSource;

/// The position of a value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The text, as an index into [`Sources`].
    pub source: usize,
    /// The bytes in it.
    pub span: Range<usize>,
}

/// The texts of one experiment: its file, the files that it extends, and each `--set`.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<(PathBuf, String)>);

impl Sources {
    /// Adds a text and returns its index.
    pub(crate) fn add(&mut self, path: PathBuf, text: String) -> usize {
        self.0.push((path, text));
        self.0.len() - 1
    }

    /// The folder to which a path at `origin` is relative: that of its file, or the current one for a `--set`.
    pub(crate) fn folder(&self, origin: &Origin) -> &Path {
        self.0.get(origin.source).and_then(|(path, _)| path.parent()).unwrap_or(Path::new(""))
    }

    /// The text that `origin` points into, with its name.
    pub(crate) fn named_source(&self, origin: &Origin) -> Option<NamedSource<String>> {
        let (path, text) = self.0.get(origin.source)?;
        Some(NamedSource::new(path.display().to_string(), text.clone()))
    }
}
