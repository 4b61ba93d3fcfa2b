//! A program in C, compiled and linked as the header says.

use std::path::Path;
use std::process::Command;

use crate::support::PAGE;

#[test]
fn a_c_program_maps_and_pins() {
    let directory = tempfile::tempdir().unwrap();
    let (program, file) = (directory.path().join("program"), directory.path().join("file"));
    std::fs::File::create(&file).unwrap().set_len(40 * PAGE).unwrap();
    // Tests run in their crate's folder; cargo puts the library beside them.
    let binary = std::env::current_exe().unwrap();
    let library = newest_library(binary.parent().unwrap());
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-Iinclude", "tests/program.c", "-o"])
        .arg(&program)
        .arg(&library)
        .args(["-lpthread", "-ldl", "-lm"])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let content = std::fs::read(&file).unwrap();
    assert_eq!(content.len() as u64, 41 * PAGE);
    assert!(content.starts_with(b"Page 0\0") && content[39 * PAGE as usize..].starts_with(b"changed\0"));
}

/// The static library that was built last, in case others are left from earlier builds.
fn newest_library(folder: &Path) -> std::path::PathBuf {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_library = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("librecycle") && name.ends_with(".a")
    };
    let age = |path: &std::path::PathBuf| path.metadata().unwrap().modified().unwrap();
    entries.filter(is_library).max_by_key(age).unwrap()
}
