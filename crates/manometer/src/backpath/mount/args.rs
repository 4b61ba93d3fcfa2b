//! The arguments of `backpath mount`.

use std::path::PathBuf;

use manometer_measure::Span;

use super::source::Source;
use crate::output::Format;

/// The most paths that a cache takes.
const CAPACITY_MAX: u64 = 1 << 28;

/// Mount a directory or a metadata store with FUSE, until it is unmounted or interrupted.
///
/// An empty store becomes an empty file system. A directory with a cache must change through the mount only: changes behind
/// its back are not seen. The kernel keeps answers too (--kernel-cache), so that a cache of paths gains little behind it:
/// compare with --without-cache.
///
/// The first SIGINT, SIGTERM or SIGHUP unmounts. A mount that is in use then leaves the directory tree at once and is served
/// until its last user leaves it; a second signal ends the program without waiting.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer backpath mount src /mnt/src\n  \
    manometer backpath mount src /mnt/src --without-cache --kernel-cache 0s\n  \
    manometer backpath mount redis://127.0.0.1:6379/0 /mnt/store --prefix photos:\n  \
    manometer backpath mount rlsm:photos.db /mnt/store")]
pub struct Args {
    /// A directory, redis://HOST:PORT/NUMBER, or rlsm:DIRECTORY for a store in a database of rlsm.
    pub source: Source,
    /// The directory to mount on; it is empty.
    pub target: PathBuf,
    /// Ask the directory every time.
    #[arg(long)]
    pub without_cache: bool,
    /// About how many paths the cache keeps.
    #[arg(long, value_name = "PATHS", default_value_t = 100_000, conflicts_with = "without_cache")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=CAPACITY_MAX))]
    pub capacity: u64,
    /// How long the kernel may use an answer without asking again [default: 1s; 0s for a store, which others may change].
    #[arg(long, value_name = "DURATION")]
    pub kernel_cache: Option<Span>,
    /// Threads that answer the kernel.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
    /// What the keys of a Redis store begin with [default: backpath:].
    #[arg(long)]
    pub prefix: Option<String>,
    /// The output format of the summary at the end.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
