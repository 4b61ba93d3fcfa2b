//! Paths, resolved when a test runs: its binary may have been compiled from another clone.

use std::env;
use std::path::{Path, PathBuf};

use crate::skip::{Cause, skip};

/// A file or directory of the crate under test.
pub fn crate_file(path: &str) -> PathBuf {
    // Cargo starts tests in their crate's directory and sets this variable.
    let folder = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env::current_dir().unwrap(), PathBuf::from);
    folder.join(path)
}

/// A file or directory of the repository.
pub fn repository_file(path: &str) -> PathBuf {
    crate_file("../..").canonicalize().unwrap().join(path)
}

/// A directory on the disk that holds the build, which is not in memory.
pub fn scratch_directory() -> PathBuf {
    let folder = profile_folder().parent().unwrap().join("tmp");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A program of this workspace, as cargo compiled it for integration tests.
pub fn binary(name: &str) -> PathBuf {
    profile_folder().join(name)
}

/// `target/debug`, found from the running test's own `target/debug/deps/…`.
fn profile_folder() -> PathBuf {
    env::current_exe().unwrap().parent().and_then(Path::parent).unwrap().to_owned()
}

/// A file or directory of the real traces and logs. `MANOMETER_DATA` names their directory, by default `../shared/data`
/// next to the repository. Skips the test if it does not exist.
#[track_caller]
pub fn real_data(path: &str) -> Option<PathBuf> {
    let folder = env::var_os("MANOMETER_DATA").map_or_else(|| repository_file("../shared/data"), PathBuf::from);
    let found = folder.join(path);
    if found.exists() {
        return Some(found);
    }
    skip(Cause::RealData, format_args!("there is no {}", found.display()));
    None
}

/// Whether a program is on the `PATH`. Skips the test if it is not.
#[track_caller]
pub fn installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !is_there {
        skip(Cause::Program, format_args!("{program} is not installed"));
    }
    is_there
}
