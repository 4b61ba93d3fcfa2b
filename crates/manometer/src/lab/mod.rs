//! `manometer lab`: one module per verb.

mod counts;
mod guest;
mod run;

use std::path::{Path, PathBuf};
use std::time::Duration;

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
