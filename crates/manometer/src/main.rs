//! The `manometer` command line: one file per verb, no logic of its own.

mod cache;
mod compare;
mod complete;
mod doctor;
mod engines;
mod format;
mod import;
mod io;
mod kv;
mod prepare;
mod progress;
mod replay;
mod report;
#[cfg(feature = "rlsm")]
mod rlsm;
mod run;
mod schema;
mod signals;
mod table;
mod trace;
mod watch;
mod worker;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Everything went as asked.
pub const DONE: u8 = 0;
/// The work failed.
pub const FAILED: u8 = 1;
/// The request was wrong; nothing was started.
pub const WRONG_REQUEST: u8 = 2;
/// The exit status of work that is done and whose verdict is no.
pub const NO: u8 = 3;

/// The pressure gauge for key-value storage: what a database loses when neighbours share its device.
#[derive(Parser)]
#[command(version, max_term_width = 100, after_help = "Begin with `manometer run experiments/quick.toml`.")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(run::Arguments),
    Prepare(prepare::Arguments),
    Report(report::ReportArgs),
    Cache(cache::CacheArgs),
    Compare(compare::CompareArgs),
    Import(import::Arguments),
    Io(io::Args),
    Kv(Box<kv::KvArgs>),
    Replay(Box<replay::ReplayArgs>),
    Engines(engines::EnginesArgs),
    #[cfg(feature = "rlsm")]
    Rlsm(rlsm::RlsmArgs),
    Doctor(doctor::DoctorArgs),
    Trace(trace::TraceArgs),
    Watch(watch::WatchArgs),
    Schema(schema::Arguments),
    Complete(complete::Arguments),
    #[command(hide = true)]
    Worker(worker::Arguments),
}

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::WARN).without_time().init();
    let outcome = match Arguments::parse().verb {
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Prepare(arguments) => prepare::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Cache(arguments) => cache::run(&arguments),
        Verb::Compare(arguments) => compare::run(&arguments),
        Verb::Import(arguments) => import::run(&arguments),
        Verb::Io(arguments) => io::run(arguments),
        Verb::Kv(arguments) => kv::run(&arguments),
        Verb::Replay(arguments) => replay::run(&arguments),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Trace(arguments) => trace::run(&arguments),
        Verb::Watch(arguments) => watch::run(&arguments),
        Verb::Engines(arguments) => engines::run(&arguments),
        #[cfg(feature = "rlsm")]
        Verb::Rlsm(arguments) => rlsm::run(&arguments),
        Verb::Schema(arguments) => schema::run(&arguments),
        Verb::Complete(arguments) => complete::run(&arguments),
        Verb::Worker(arguments) => worker::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        format::problem(&error);
        ExitCode::from(FAILED)
    })
}
