//! What user-mode-linux needs to run on today's processors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the library, to be loaded before the C library, into `directory`. See its source.
pub(super) fn compile(directory: &Path) -> PathBuf {
    let (source, library) = (directory.join("processor_state.c"), directory.join("processor_state.so"));
    fs::write(&source, include_str!("processor_state.c")).unwrap();
    let compiled = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}
