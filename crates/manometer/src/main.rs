//! The `manometer` command line: one module per verb, no logic.
//!
//! ```text
//! manometer run experiments/quick.toml --out recording
//! manometer report recording
//! ```

mod backpath;
mod cache;
mod compare;
mod complete;
mod doctor;
mod engines;
mod exit_status;
mod experiment_error;
mod fidelity;
mod import;
mod io;
mod junit;
mod kv;
mod latency;
mod number;
mod output;
mod parse;
mod preparation;
mod prepare;
mod process;
mod progress;
mod recordings;
mod replay;
mod report;
#[cfg(feature = "rlsm")]
mod rlsm;
mod run;
mod schema;
mod table;
mod text;
mod trace;
mod verbs;
mod watch;
mod worker;

#[cfg(test)]
mod main_tests;

use std::process::ExitCode;

use clap::Parser;

use self::exit_status::ExitStatus;

/// Measure what a key-value store loses to noisy neighbours on its disk.
#[derive(Parser)]
#[command(version, max_term_width = 100, after_help = "Example:\n  manometer run experiments/quick.toml")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

verbs::verbs! {
    Run => run,
    Prepare => prepare,
    Report => report,
    Compare => compare,
    Kv => kv,
    Io => io,
    Replay => replay,
    Trace => trace,
    Cache => cache,
    Import => import,
    Engines => engines,
    #[cfg(feature = "rlsm")]
    Rlsm => rlsm,
    Backpath => backpath,
    Doctor => doctor,
    Watch => watch,
    Schema => schema,
    Complete => complete,
    Worker => worker,
}

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::WARN).without_time().init();
    let status = Cli::parse().verb.run().unwrap_or_else(|error| {
        output::error(error);
        ExitStatus::Failed
    });
    ExitCode::from(status)
}
