//! The `manometer` command line: one module per verb, no logic.
//!
//! ```text
//! manometer run quick --out recording
//! manometer report recording
//! ```

mod array;
mod backpath;
mod cache;
mod cluster;
mod compare;
mod complete;
mod doctor;
mod engines;
mod exit_status;
mod experiment_error;
mod experiments;
mod fidelity;
mod guard;
mod import;
mod init;
mod io;
mod junit;
mod kv;
mod lab;
mod latency;
mod man;
mod metrics;
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

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::exit_status::ExitStatus;

/// Measure what a key-value store loses to noisy neighbours on its disk.
#[derive(Parser)]
#[command(version, max_term_width = 100, after_help = after_help())]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

verbs::verbs! {
    Run => run,
    Init => init,
    Experiments => experiments,
    Prepare => prepare,
    Report => report,
    Compare => compare,
    Kv => kv,
    Io => io,
    Replay => replay,
    Trace => trace,
    Cache => cache,
    Array => array,
    Lab => lab,
    Import => import,
    Engines => engines,
    #[cfg(feature = "rlsm")]
    Rlsm => rlsm,
    Backpath => backpath,
    Cluster => cluster,
    Doctor => doctor,
    Watch => watch,
    Schema => schema,
    Complete => complete,
    Man => man,
    Worker => worker,
    Guard => guard,
}

fn main() -> ExitCode {
    log_warnings();
    let status = Cli::parse().verb.run().unwrap_or_else(|error| {
        let status = ExitStatus::of_error(&error);
        output::error(error);
        status
    });
    ExitCode::from(status)
}

/// The example and the exit statuses at the end of `--help`.
fn after_help() -> String {
    format!("Example:\n  manometer run quick\n\n{}", exit_status::help())
}

/// Writes the warnings of libraries to standard error. Those of `fuser` say that somebody else unmounted, which is how mounts end.
fn log_warnings() {
    let filter = Targets::new().with_default(Level::WARN).with_target("fuser", Level::ERROR);
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    // A closed standard error must not end a measurement: the message about it would be written there too.
    let log = log.log_internal_errors(false);
    log.without_time().finish().with(filter).init();
}
