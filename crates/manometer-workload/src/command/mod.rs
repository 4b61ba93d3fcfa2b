//! External programs as workloads: a command, and a parser that turns its output into samples.
//!
//! [`CommandSettings`] names the program, [`validate`] checks that it can be started here, and [`run`] runs it. Each
//! program's output has its own parser, a plain state machine without processes or clocks.

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
