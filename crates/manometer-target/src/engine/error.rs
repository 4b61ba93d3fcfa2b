//! What can go wrong with an engine, and what to do about it.

use std::path::PathBuf;

use manometer_measure::suggest::did_you_mean;

/// An engine, its options or its folder is not as it should be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// No engine has this name.
    #[error("there is no engine `{got}`; this build has {known}")]
    UnknownEngine {
        /// The name as given.
        got: String,
        /// The names there are.
        known: String,
    },
    /// The engine has no such option.
    #[error("{place}: {engine} has no option `{name}`{}", did_you_mean(*similar))]
    UnknownOption {
        /// The engine.
        engine: &'static str,
        /// File and line, or the table.
        place: String,
        /// The option as given.
        name: String,
        /// The most similar known name.
        similar: Option<&'static str>,
    },
    /// The engine refuses an option's value.
    #[error("{place}: {engine} refuses option `{name}` = `{value}`: {reason}")]
    InvalidOption {
        /// The engine.
        engine: &'static str,
        /// File and line, or the table.
        place: String,
        /// The option.
        name: String,
        /// Its value as given.
        value: String,
        /// What the engine says.
        reason: String,
    },
    /// A line of an options file is neither a section nor an option.
    #[error("{place}: expected `[Section]`, `name=value` or a comment, found `{line}`")]
    InvalidOptionsLine {
        /// File and line.
        place: String,
        /// The line.
        line: String,
    },
    /// A section of an options file that does not concern us or does not exist.
    #[error("{place}: section `[{section}]` is none of {known}")]
    InvalidOptionsSection {
        /// File and line.
        place: String,
        /// The section.
        section: String,
        /// What would be right.
        known: &'static str,
    },
    /// The folder lies in memory.
    #[error("{} lies on a file system in memory, which says nothing about a device; choose a folder on a disk", .0.display())]
    InMemoryFileSystem(PathBuf),
    /// The folder cannot be written.
    #[error("{} cannot be written: {reason}", path.display())]
    NotWritable {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
    /// A file cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    NotReadable {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
    /// Another run uses the folder.
    #[error("{} is in use by another run; wait for it or choose another folder", .0.display())]
    Locked(PathBuf),
    /// The folder holds something that is not ours.
    #[error("{} holds files that no experiment of ours made (`{found}`); choose an empty folder", path.display())]
    ForeignFiles {
        /// The folder.
        path: PathBuf,
        /// One of the files.
        found: String,
    },
    /// The database was made by another experiment.
    #[error("the database in {} was made by another experiment ({differences}); {remedy}", path.display())]
    DatabaseMismatch {
        /// The folder.
        path: PathBuf,
        /// What differs.
        differences: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A server that is not ours holds something that is not ours.
    #[error(
        "the server at {place} holds {keys} keys that no experiment of ours put there; choose an empty one, or say \
         `flush = true` to have it emptied, whatever it holds"
    )]
    ForeignKeys {
        /// Where it is.
        place: String,
        /// How many.
        keys: u64,
    },
    /// A server that is not ours no longer holds as many records as were loaded.
    #[error(
        "the server at {place} holds {keys} keys where an earlier run loaded {records} records: {} say `flush = true` \
         to have it emptied, whatever it holds", since(*.keys, *.records)
    )]
    RecordCountMismatch {
        /// Where it is.
        place: String,
        /// How many keys there are beside the marker.
        keys: u64,
        /// How many records there should be.
        records: u64,
    },
    /// The device is full.
    #[error("no space left in {} while {doing}; make room or load fewer records", path.display())]
    NoSpace {
        /// The folder.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
    },
    /// The engine itself failed.
    #[error("{engine} failed while {doing}: {text}")]
    Failed {
        /// The engine.
        engine: &'static str,
        /// What was being done.
        doing: &'static str,
        /// What it says.
        text: String,
    },
    /// The program of a managed server is not installed.
    #[error(
        "{engine} needs `{program}`, which is not installed; install Debian's package `{package}`, or give the \
         `address` of an external server"
    )]
    NotInstalled {
        /// The engine.
        engine: &'static str,
        /// Its program.
        program: &'static str,
        /// Debian's package of the program.
        package: &'static str,
    },
    /// The engine cannot do this.
    #[error("{engine} cannot {what}")]
    Unsupported {
        /// The engine.
        engine: &'static str,
        /// The operation.
        what: &'static str,
    },
}

impl EngineError {
    /// Whether another request would have succeeded: the error is about the request, not about what happened.
    pub fn is_wrong_request(&self) -> bool {
        !matches!(self, Self::NotReadable { .. } | Self::Locked(_) | Self::NoSpace { .. } | Self::Failed { .. })
    }
}

/// What became of `records` that are now `keys`, and what to do.
fn since(keys: u64, records: u64) -> &'static str {
    if keys < records {
        "some were evicted or deleted since; run without `--reuse` to load it again, or"
    } else {
        "some were added since, which are not ours; take them out, or"
    }
}
