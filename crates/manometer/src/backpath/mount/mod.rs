//! `manometer backpath mount`: a directory or a metadata store as a file system.

mod args;
// The crate `backpath` knows no engine: its example of one is the adapter, by a link that the packaged crate resolves.
#[cfg(feature = "rlsm")]
mod rlsm_key_value;
mod serve;
mod source;
mod summary;
mod target;

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use backpath::Options;
use backpath::fuse::{DirectoryFileSystem, StoredFileSystem};
use backpath::metadata::{KeyValue, MetadataStore, RedisKeyValue};

pub use self::args::Args;
use self::serve::serve;
use self::source::Source;
use self::summary::Asked;
use crate::exit_status::{ExitStatus, wrong_request};
use crate::output;

/// How long the kernel keeps answers of a directory, which changes through the mount only.
const KERNEL_CACHE: Duration = Duration::from_secs(1);

/// Mounts, and waits until it is unmounted.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    if let Some(reason) = refusal(args) {
        return Ok(wrong_request(reason));
    }
    match &args.source {
        Source::Directory(path) => mount_directory(args, path),
        Source::Redis(address) => {
            let prefix = args.prefix.as_deref().unwrap_or("backpath:");
            let connection = RedisKeyValue::connect(address, prefix)
                // Its text has that of its cause.
                .map_err(|error| anyhow::anyhow!("{error}"))
                .with_context(|| args.source.to_string())?;
            mount_store(args, connection)
        }
        Source::Rlsm(folder) => mount_rlsm(args, folder),
    }
}

/// Why the request is wrong, as far as it can be seen before anything is opened.
fn refusal(args: &Args) -> Option<String> {
    if args.without_cache && !matches!(args.source, Source::Directory(_)) {
        return Some("--without-cache: a metadata store is always mounted with its cache".to_owned());
    }
    if args.prefix.is_some() && !matches!(args.source, Source::Redis(_)) {
        return Some("--prefix: only a Redis store has one".to_owned());
    }
    if let Source::Directory(path) = &args.source {
        if !path.is_dir() {
            let shown = path.display();
            return Some(format!("{shown}: no directory: name one, or redis://HOST:PORT/NUMBER, or rlsm:DIRECTORY"));
        }
        if target::is_inside(&args.target, path) {
            return Some(format!("{} is inside {}: mount elsewhere", args.target.display(), path.display()));
        }
    }
    target::refusal(&args.target)
}

fn mount_directory(args: &Args, path: &Path) -> anyhow::Result<ExitStatus> {
    let cache = (!args.without_cache).then(|| options(args));
    let files = DirectoryFileSystem::open(path, cache).with_context(|| path.display().to_string())?;
    let counters = files.counters();
    serve(args, files, KERNEL_CACHE, || {
        let (stats, stats_from_cache) = (counters.stats(), counters.stats_from_cache());
        if counters.too_many() > 0 {
            let failed = counters.too_many();
            output::note(&format!(
                "{failed} look-ups failed for lack of open files: raise the hard limit (`ulimit -Hn`)"
            ));
        }
        Asked::Directory { stats, stats_from_cache }
    })
}

#[cfg(feature = "rlsm")]
fn mount_rlsm(args: &Args, folder: &Path) -> anyhow::Result<ExitStatus> {
    use self::rlsm_key_value::RlsmKeyValue;
    let name = || folder.display().to_string();
    let database = rlsm::Database::open(folder).map_err(explained).with_context(name)?;
    let names = RlsmKeyValue::new(database);
    if names.holds_something_else().with_context(name)? {
        return Ok(wrong_request(format!("{}: the database holds something else: name a new one", folder.display())));
    }
    mount_store(args, names)
}

/// What to do about a database that cannot be opened.
#[cfg(feature = "rlsm")]
fn explained(error: rlsm::Error) -> anyhow::Error {
    let error = anyhow::Error::new(error);
    let is_full = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::StorageFull);
    if is_full {
        error.context("the disk is full, and opening a database writes: free some space first")
    } else {
        error
    }
}

#[cfg(not(feature = "rlsm"))]
fn mount_rlsm(_args: &Args, _folder: &Path) -> anyhow::Result<ExitStatus> {
    Ok(wrong_request("this build leaves rlsm out: mount a directory or a Redis store"))
}

fn mount_store<K: KeyValue + 'static>(args: &Args, names: K) -> anyhow::Result<ExitStatus>
where
    K::Error: Send + Sync,
{
    let store = MetadataStore::open_on(names, options(args)).with_context(|| args.source.to_string())?;
    let files = StoredFileSystem::new(store, now);
    let store = files.store();
    // Others may change the store: the kernel has to ask every time.
    serve(args, files, Duration::ZERO, || Asked::Store { round_trips: store.round_trips() })
}

/// Strangers choose the paths of a mount: they must not know how they are hashed.
fn options(args: &Args) -> Options {
    use std::hash::{BuildHasher as _, RandomState};
    let capacity = usize::try_from(args.capacity).unwrap_or(usize::MAX);
    Options { capacity, seed: RandomState::new().hash_one(0), ..Options::default() }
}

#[expect(clippy::disallowed_methods, reason = "files of the mount have the wall clock's times")]
fn now() -> SystemTime {
    SystemTime::now()
}
