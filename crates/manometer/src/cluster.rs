//! `manometer cluster`: many machines. The Python package does it, on Dask (docs/cluster.md); this verb leads there.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::exit_status::{ExitStatus, wrong_request};
use crate::process;

/// Starts the package's command line; without the package it says what to install.
const START: &str = "\
import sys
try:
    from manometer.cluster.__main__ import main
except ModuleNotFoundError as error:
    print(f'manometer: `manometer cluster` needs the Python package: {sys.executable} has no module {error.name}; '
          'install it with `pip install manometer[cluster]`, or name the Python that has it in MANOMETER_PYTHON',
          file=sys.stderr)
    sys.exit(2)
sys.exit(main(sys.argv[1:]))
";

/// Run experiments, loads and traces on many machines, by Dask: `manometer cluster --help`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:\n  manometer cluster run sweep.toml --local 2 --out results/sweep\n  \
    manometer cluster hosts --scheduler tls://head:8786 --security certificates"
)]
pub struct Args {
    /// What the Python package is asked for.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    words: Vec<OsString>,
}

/// Becomes the package's command line.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let python = env::var_os("MANOMETER_PYTHON").unwrap_or_else(|| OsString::from("python3"));
    let mut command = Command::new(&python);
    // The current directory may hold anything, also a folder `manometer`.
    command.args(["-c", START]).args(&args.words).env("PYTHONSAFEPATH", "1");
    command.env("MANOMETER_PROGRAM", process::executable());
    let error = command.exec();
    Ok(wrong_request(format_args!(
        "`manometer cluster` needs Python 3.10 or later with the package manometer: {}: {error}",
        python.to_string_lossy()
    )))
}
