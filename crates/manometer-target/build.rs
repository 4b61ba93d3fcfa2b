//! Tells the crate the versions of those engines that do not tell it themselves.

use std::path::PathBuf;
use std::{env, fs};

const LOCK: &str = "../../Cargo.lock";

fn main() {
    // Asked when it runs: compiled in, it would be the folder of whichever clone built this script first.
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says it to every build script"));
    let path = folder.join(LOCK);
    let lock = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for engine in ["fjall", "redb"] {
        let version = version_of(engine, &lock).unwrap_or_else(|| panic!("{} names no {engine}", path.display()));
        println!("cargo::rustc-env={}_VERSION={version}", engine.to_uppercase());
    }
    println!("cargo::rerun-if-changed={LOCK}");
}

fn version_of<'a>(package: &str, lock: &'a str) -> Option<&'a str> {
    let (_, behind) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    Some(behind.split_once('"')?.0)
}
