//! Passes the versions of the crate's dependencies on as `NAME_VERSION`: not every engine reports its own.

use std::path::PathBuf;
use std::{env, fs};

const LOCK: &str = "../../Cargo.lock";

fn main() {
    // Read when it runs: compiled in, it would be the folder of whichever clone built this script first.
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for every build script"));
    let path = folder.join(LOCK);
    let lock = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for (package, version) in dependencies(&lock).filter_map(|package| Some((package, version_of(package, &lock)?))) {
        println!("cargo::rustc-env={}_VERSION={version}", package.to_uppercase().replace('-', "_"));
    }
    println!("cargo::rerun-if-changed={LOCK}");
}

/// The names of this crate's dependencies; one with several versions in the lock file is followed by its own.
fn dependencies(lock: &str) -> impl Iterator<Item = &str> {
    let own = lock.split("\n\n").find(|package| package.contains("\nname = \"manometer-target\"\n"));
    let list = own.and_then(|package| Some(package.split_once("dependencies = [")?.1)).unwrap_or_default();
    list.lines().filter_map(|line| line.trim().strip_prefix('"')?.split(['"', ' ']).next())
}

fn version_of<'a>(package: &str, lock: &'a str) -> Option<&'a str> {
    let (_, behind) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    Some(behind.split_once('"')?.0)
}
