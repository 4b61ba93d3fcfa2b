//! Passes the versions of the crate's dependencies on as `NAME_VERSION`: not every engine reports its own. Says how to build
//! without RocksDB where its library is not.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// In a package the lock file lies beside the manifest, in a clone at the top of the workspace.
const LOCKS: [&str; 2] = ["Cargo.lock", "../../Cargo.lock"];

fn main() {
    require_rocksdb();
    // Read when it runs: compiled in, it would be the folder of whichever clone built this script first.
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for every build script"));
    let path = LOCKS.map(|lock| folder.join(lock)).into_iter().find(|path| path.exists());
    let path = path.unwrap_or_else(|| panic!("{}: neither {} is there", folder.display(), LOCKS.join(" nor ")));
    let lock = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for (package, version) in dependencies(&lock).filter_map(|package| Some((package, version_of(package, &lock)?))) {
        println!("cargo::rustc-env={}_VERSION={version}", package.to_uppercase().replace('-', "_"));
    }
    println!("cargo::rerun-if-changed={}", path.display());
}

/// A build that is pointed at a compiled RocksDB finds it.
fn require_rocksdb() {
    println!("cargo::rerun-if-env-changed=ROCKSDB_LIB_DIR");
    let Some(folder) = env::var_os("ROCKSDB_LIB_DIR").filter(|_| env::var_os("CARGO_FEATURE_ROCKSDB").is_some()) else {
        return;
    };
    let folder = Path::new(&folder);
    if !["librocksdb.a", "librocksdb.so"].iter().any(|library| folder.join(library).exists()) {
        println!(
            "cargo::error=RocksDB's library is not in {}, which ROCKSDB_LIB_DIR names: `setup/rocksdb` compiles it. Without \
             RocksDB: cargo build --release -p manometer --no-default-features --features fjall,lmdb,redb,redis,rlsm,sqlite",
            folder.display()
        );
    }
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
