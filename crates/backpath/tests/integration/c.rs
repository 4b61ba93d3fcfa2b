//! A program in C, compiled and linked as the header says, by itself and under the sanitizers.

use std::path::{Path, PathBuf};
use std::process::Command;

use manometer_testing::crate_file;

/// Compiles and runs the program. A test runs in its crate's folder; cargo puts the library beside its program.
fn compile_and_run(flags: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    let binary = std::env::current_exe().unwrap();
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-Iinclude", "tests/program.c", "-o"])
        .arg(&program)
        .arg(newest_library(binary.parent().unwrap()))
        .args(["-lpthread", "-ldl", "-lm"])
        .args(flags)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_c_program_looks_up_inserts_and_changes() {
    compile_and_run(&[]);
}

#[test]
fn nothing_is_leaked_or_used_after_it_was_freed() {
    compile_and_run(&["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]);
}

/// Numbers that the header and the library both name.
#[test]
fn the_header_states_the_limits_of_the_library() {
    let header = std::fs::read_to_string(crate_file("include/backpath.h")).unwrap();
    assert!(header.contains(&format!("at most {}; 5", backpath::GRANTS_MAX)));
    assert_eq!(backpath::Options::default().grants, 5);
    assert_eq!(backpath::Options::default().capacity, 100_000);
    assert!(header.contains("at most 2^28; 100,000"));
}

/// The static library that was built last, in case others are left from earlier builds.
fn newest_library(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libbackpath") && name.ends_with(".a")
    };
    let age = |path: &PathBuf| path.metadata().unwrap().modified().unwrap();
    entries.filter(is_library).max_by_key(age).unwrap()
}
