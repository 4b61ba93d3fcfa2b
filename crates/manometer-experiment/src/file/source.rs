//! The texts that an experiment is read from, and positions in them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use miette::NamedSource;

use crate::shipped::ShippedExperiment;

/// The position of a value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The text, as an index into [`Sources`].
    pub source: usize,
    /// The bytes in it.
    pub span: Range<usize>,
}

/// A text that values are read from.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    text: String,
    /// Whether it is inside the program.
    is_shipped: bool,
}

/// The texts of one experiment: its file, the files that it extends, and each `--set`.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text and returns its index.
    pub(crate) fn add(&mut self, path: PathBuf, text: String) -> usize {
        self.0.push(Source { path, text, is_shipped: false });
        self.0.len() - 1
    }

    /// Adds a shipped experiment and returns its index.
    pub(crate) fn add_shipped(&mut self, experiment: &ShippedExperiment) -> usize {
        let path = PathBuf::from(format!("{} (shipped)", experiment.name));
        self.0.push(Source { path, text: experiment.text.to_owned(), is_shipped: true });
        self.0.len() - 1
    }

    /// Whether `origin` is in a shipped experiment.
    pub(crate) fn is_shipped(&self, origin: &Origin) -> bool {
        self.0.get(origin.source).is_some_and(|source| source.is_shipped)
    }

    /// The folder to which a path at `origin` is relative: that of its file, or the current one for a `--set` and for a
    /// shipped experiment.
    pub(crate) fn folder(&self, origin: &Origin) -> &Path {
        self.0.get(origin.source).and_then(|source| source.path.parent()).unwrap_or(Path::new(""))
    }

    /// The text that `origin` points into, with its name.
    pub(crate) fn named_source(&self, origin: &Origin) -> Option<NamedSource<String>> {
        let Source { path, text, .. } = self.0.get(origin.source)?;
        Some(NamedSource::new(path.display().to_string(), text.clone()))
    }
}
