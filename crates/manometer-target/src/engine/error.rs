//! Errors of engines.

use std::path::PathBuf;

use manometer_measure::suggest::did_you_mean;

/// An engine, its options or its directory cannot be used, or the engine failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// No engine has this name.
    #[error("there is no engine `{got}`; this build has {known}")]
    UnknownEngine {
        /// The name as given.
        got: String,
        /// The names of all engines.
        known: String,
    },
    /// The engine has no option of this name.
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
    /// The engine refuses the value of an option.
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
        /// The engine's reason.
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
    /// A section of an options file that is unknown or not supported.
    #[error("{place}: section `[{section}]` is not one of {known}")]
    InvalidOptionsSection {
        /// File and line.
        place: String,
        /// The section.
        section: String,
        /// The sections that are supported.
        known: &'static str,
    },
    /// The directory lies in memory.
    #[error("{} is on a file system in memory, which says nothing about a device; choose a directory on a disk", .0.display())]
    InMemoryFileSystem(PathBuf),
    /// The directory cannot be written.
    #[error("{} cannot be written: {reason}", path.display())]
    NotWritable {
        /// The directory or file.
        path: PathBuf,
        /// The system's error.
        reason: std::io::Error,
    },
    /// A file cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    NotReadable {
        /// The directory or file.
        path: PathBuf,
        /// The system's error.
        reason: std::io::Error,
    },
    /// Another run uses the directory.
    #[error("{} is in use by another run; wait for it or choose another directory", .0.display())]
    Locked(PathBuf),
    /// The directory holds files that Manometer did not create.
    #[error("{} holds files that Manometer did not create (`{found}`); choose an empty directory", path.display())]
    ForeignFiles {
        /// The directory.
        path: PathBuf,
        /// One of the files.
        found: String,
    },
    /// The database belongs to another experiment.
    #[error("the database in {} was created by another experiment ({differences}); {remedy}", path.display())]
    DatabaseMismatch {
        /// The directory.
        path: PathBuf,
        /// The fields that differ.
        differences: String,
        /// What to do.
        remedy: &'static str,
    },
    /// An external server holds data that Manometer did not write.
    #[error(
        "the server at {place} holds {keys} keys that Manometer did not write; choose an empty one, or set \
         `flush = true` to delete all data on it"
    )]
    ForeignKeys {
        /// Its address.
        place: String,
        /// The number of keys.
        keys: u64,
    },
    /// An external server no longer holds as many records as were loaded.
    #[error(
        "the server at {place} holds {keys} keys where an earlier run loaded {records} records: {} set `flush = true` \
         to delete all data on it", since(*.keys, *.records)
    )]
    RecordCountMismatch {
        /// Its address.
        place: String,
        /// The number of keys, without the marker.
        keys: u64,
        /// The number of records loaded.
        records: u64,
    },
    /// The device is full.
    #[error("no space left in {} while {doing}; make room or load fewer records", path.display())]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
    },
    /// The engine failed.
    #[error("{engine} failed while {doing}: {text}")]
    Failed {
        /// The engine.
        engine: &'static str,
        /// The operation that failed.
        doing: &'static str,
        /// The engine's message.
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
    /// The engine does not support an operation.
    #[error("{engine} cannot {what}")]
    Unsupported {
        /// The engine.
        engine: &'static str,
        /// The operation.
        what: &'static str,
    },
}

impl EngineError {
    /// Whether the request was invalid, rather than the run failed.
    pub fn is_wrong_request(&self) -> bool {
        !matches!(self, Self::NotReadable { .. } | Self::Locked(_) | Self::NoSpace { .. } | Self::Failed { .. })
    }
}

/// The explanation and advice for a server that holds `keys` keys after `records` records were loaded.
fn since(keys: u64, records: u64) -> &'static str {
    if keys < records {
        "keys were evicted or deleted since; run without `--reuse` to load it again, or"
    } else {
        "keys were added since; remove them, or"
    }
}
