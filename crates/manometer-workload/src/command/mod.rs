//! External programs as workloads: a command, and a parser that turns its output into samples.
//!
//! [`CommandSettings`] says which program, [`validate`] whether it can be started here, [`run`] does it.
//! What a program's output means is the matter of one parser each; a parser is a plain state machine
//! that knows neither processes nor clocks.

mod error;
mod output_tail;
pub mod parser;
mod plan;
mod program;
mod reports;
mod run;
mod settings;
mod workload;

pub use error::CommandError;
pub use plan::{files_named, latencies, unit, validate};
pub use run::run;
pub use settings::{CommandLine, CommandSettings, EndPolicy, ParserName};
