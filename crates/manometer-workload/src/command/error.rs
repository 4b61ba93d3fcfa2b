//! Why an external program's workload ended before it was told to.

use std::io;

use manometer_target::engine::EngineError;

use crate::setting_error::SettingError;

/// Why an external program's workload ended before it was told to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The settings make no sense, or the program is not there.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The program's folder cannot be had.
    #[error(transparent)]
    Folder(#[from] EngineError),
    /// The program cannot be started.
    #[error("`{program}` cannot be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The preparing command failed.
    #[error("preparing with `{program}` ended with {status}; it last said:\n{last}")]
    Prepare {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
        /// Its last lines.
        last: String,
    },
    /// The program ended by itself and may not.
    #[error("`{program}` ended by itself with {status}; it last said:\n{last}")]
    Ended {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
        /// Its last lines.
        last: String,
    },
    /// Nothing that the program said was a report.
    #[error(
        "the parser `{parser}` found no report in {lines} lines of `{program}` ({not_understood} lines not understood): \
         is it the right parser, and does the program report while it runs? It last said:\n{last}"
    )]
    NotUnderstood {
        /// The parser.
        parser: String,
        /// The program.
        program: String,
        /// How many lines there were.
        lines: u64,
        /// How many of them meant nothing to the parser.
        not_understood: u64,
        /// The last lines.
        last: String,
    },
}
