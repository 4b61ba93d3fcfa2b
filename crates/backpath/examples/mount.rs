//! Mounts a directory, or a metadata store over Redis, until it is unmounted: `mount [--no-cache] SOURCE TARGET`.
//!
//! SOURCE is a directory or `redis://HOST:PORT/NUMBER`. Needs root and /dev/fuse.

#![expect(clippy::disallowed_methods, reason = "files of the mount have the wall clock's times")]
#![expect(clippy::print_stderr, reason = "it says when the mount is there")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, SystemTime};

use backpath::Options;
use backpath::fuse::{DirectoryFileSystem, MountOptions, NodeFileSystem, StoredFileSystem, mount};
use backpath::metadata::{MetadataStore, RedisKeyValue};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let has_cache = arguments.first().is_none_or(|first| first != "--no-cache");
    if !has_cache {
        arguments.remove(0);
    }
    let [source, target] = arguments.as_slice() else { return Err("mount [--no-cache] SOURCE TARGET".into()) };
    if source.starts_with("redis://") {
        let store = MetadataStore::open_on(RedisKeyValue::connect(source, "backpath:")?, Options::default())?;
        // Others may change the store: the kernel has to ask every time.
        return serve(StoredFileSystem::new(store, SystemTime::now), source, target, Duration::ZERO);
    }
    let files = DirectoryFileSystem::open(Path::new(source), has_cache.then(Options::default))?;
    let counters = files.counters();
    serve(files, source, target, Duration::from_secs(1))?;
    eprintln!("attributes asked for: {}, of them from the cache: {}", counters.stats(), counters.stats_from_cache());
    Ok(())
}

fn serve(files: impl NodeFileSystem, source: &str, target: &str, kernel_cache: Duration) -> Result<(), Box<dyn Error>> {
    let options = MountOptions { name: source.to_owned(), kernel_cache, threads: 2, allow_other: true };
    Ok(mount(files, Path::new(target), &options, |_| eprintln!("{source} is mounted at {target}"))?)
}
