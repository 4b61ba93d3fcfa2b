//! Errors of an external program's workload.

use std::io;

use manometer_target::engine::EngineError;

use crate::error::WorkloadError;
use crate::setting_error::SettingError;

/// Why an external program's workload failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// A setting is invalid, or the program is not installed.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The program's folder cannot be used.
    #[error(transparent)]
    Folder(#[from] EngineError),
    /// The program cannot be started.
    #[error("`{program}` cannot be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The `prepare` command failed.
    #[error("preparing with `{program}` ended with {status}; its last lines:\n{last}")]
    Prepare {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
        /// Its last lines.
        last: String,
    },
    /// The program ended by itself.
    #[error("`{program}` ended by itself with {status}; its last lines:\n{last}")]
    Ended {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
        /// Its last lines.
        last: String,
    },
    /// The parser found no report in the output.
    #[error(
        "the parser `{parser}` found no report in {lines} lines of `{program}` ({not_understood} lines not understood): \
         is it the right parser, and does the program report while it runs? Its last lines:\n{last}"
    )]
    NotUnderstood {
        /// The parser.
        parser: String,
        /// The program.
        program: String,
        /// How many lines there were.
        lines: u64,
        /// How many of them the parser did not understand.
        not_understood: u64,
        /// The last lines.
        last: String,
    },
}

impl From<CommandError> for WorkloadError {
    fn from(error: CommandError) -> Self {
        let is_wrong_request = matches!(error, CommandError::Setting(_));
        Self::of_kind(error, is_wrong_request)
    }
}
