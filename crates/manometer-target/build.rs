//! Tells the crate the versions of those engines that do not tell it themselves.

use std::fs;
use std::path::Path;

const LOCK: &str = "../../Cargo.lock";

fn main() {
    let lock = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(LOCK)).unwrap_or_default();
    for engine in ["fjall", "redb"] {
        let version = version_of(engine, &lock).unwrap_or("unknown");
        println!("cargo::rustc-env={}_VERSION={version}", engine.to_uppercase());
    }
    println!("cargo::rerun-if-changed={LOCK}");
}

fn version_of<'a>(package: &str, lock: &'a str) -> Option<&'a str> {
    let (_, behind) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    Some(behind.split_once('"')?.0)
}
