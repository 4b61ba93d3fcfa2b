//! `manometer lab`: one module per verb.

mod counts;
mod faults;
mod guest;
mod run;

use std::path::{Path, PathBuf};
use std::time::Duration;

use manometer_cache::tier::WriteMode;
use manometer_lab::LabError;
use manometer_lab::guest::GuestMachine;
use manometer_measure::{ByteSize, Span};

use crate::exit_status::ExitStatus;
use crate::process;
use crate::verbs::verbs;

/// Build arrangements in a virtual machine, and measure there: real bcache, dm-cache and RAID without root.
///
/// The machine is user-mode-linux: a kernel as a program, with the files of this host, read-only, and disks that are
/// files. Its counts are those of a real kernel; its times are the emulator's.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer lab counts trace.csv --array mine.toml")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Run => run,
    Counts => counts,
    Faults => faults,
    Guest => guest,
}

/// Runs the verb.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    args.verb.run()
}

/// The guest's room and time.
#[derive(Debug, clap::Args)]
struct GuestArgs {
    /// Memory of the guest.
    #[arg(long, default_value = "512MiB")]
    memory: ByteSize,
    /// End a guest that takes longer.
    #[arg(long, default_value = "30m")]
    time_limit: Span,
    /// Directory for the guest's disks, sparse files that are removed at the end.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

impl GuestArgs {
    /// A machine, whose disks lie in `scratch` where nothing else is asked for.
    fn machine(&self, scratch: &Path) -> Result<GuestMachine, LabError> {
        let scratch = self.scratch.as_deref().unwrap_or(scratch);
        let time_limit = Duration::from_nanos(self.time_limit.nanoseconds());
        GuestMachine::new(&process::executable(), scratch, self.memory, time_limit)
    }
}

/// The ways to handle writes, as arrangements name them.
const MODES: [(&str, WriteMode); 3] = [
    ("write-back", WriteMode::WriteBack),
    ("write-through", WriteMode::WriteThrough),
    ("write-around", WriteMode::WriteAround),
];

fn mode_named(text: &str) -> Result<WriteMode, String> {
    let mode = MODES.iter().find(|(name, _)| *name == text).map(|(_, mode)| *mode);
    mode.ok_or_else(|| format!("take one of {}", MODES.map(|(name, _)| name).join(", ")))
}

fn mode_name(mode: WriteMode) -> &'static str {
    MODES.iter().find(|(_, other)| *other == mode).map_or("", |(name, _)| name)
}
