//! The program as it is shipped: stripped, its debug information apart.

use std::process::Command;

use manometer_testing::{binary, repository_file, scratch_directory};

/// The names of the sections of an ELF file.
fn sections(path: &std::path::Path) -> String {
    let output = Command::new("readelf").args(["--wide", "--section-headers"]).arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_shipped_program_is_stripped_and_names_the_file_of_its_debug_information() {
    let folder = tempfile::tempdir_in(scratch_directory()).unwrap();
    let split = Command::new(repository_file("tools/split_debug")).arg(binary("manometer")).arg(folder.path()).status();
    assert!(split.unwrap().success());
    let (program, debug) = (folder.path().join("manometer"), folder.path().join("manometer.debug"));
    let (shipped, apart) = (sections(&program), sections(&debug));
    assert!(shipped.contains(".gnu_debuglink") && !shipped.contains(".debug_line") && !shipped.contains(".symtab"));
    assert!(apart.contains(".debug_line") && apart.contains(".symtab"));
    let version = Command::new(&program).arg("--version").output().unwrap();
    assert!(version.status.success(), "{version:?}");
    assert!(String::from_utf8(version.stdout).unwrap().starts_with("manometer "));
}
