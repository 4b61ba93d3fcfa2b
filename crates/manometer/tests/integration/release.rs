//! The program as it is shipped: stripped, its debug information apart, with manual pages and one version.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use manometer_testing::{binary, repository_file, scratch_directory};

use crate::support::Scene;

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

#[test]
fn every_verb_has_a_manual_page_with_its_example() {
    let scene = Scene::new();
    scene.run("man pages/man1").status(0);
    let pages = fs::read_dir(scene.path("pages/man1")).unwrap();
    let pages: BTreeSet<String> = pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    for name in ["manometer.1", "manometer-run.1", "manometer-trace-convert.1", "manometer-cache-tier.1"] {
        assert!(pages.contains(name), "{name} is not in {pages:?}");
    }
    assert!(!pages.iter().any(|name| name.contains("help")), "{pages:?}");
    let run = scene.read("pages/man1/manometer-run.1");
    assert!(run.contains("manometer run quick"), "{run}");
    scene.write("file", "");
    scene.run("man file").status(1).err_has(&["file"]);
}

/// The text between `before` and `after` in a file of the repository.
fn between(file: &str, before: &str, after: &str) -> String {
    let text = fs::read_to_string(repository_file(file)).unwrap();
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{file} has no `{before}`"));
    rest.split_once(after).unwrap().0.to_owned()
}

#[test]
fn the_version_of_the_workspace_is_that_of_everything() {
    let version = between("Cargo.toml", "[workspace.package]\nversion = \"", "\"");
    let manifest = fs::read_to_string(repository_file("Cargo.toml")).unwrap();
    let own: Vec<&str> = manifest.lines().filter(|line| line.contains("path = \"crates/")).collect();
    assert!(own.len() > 10, "{own:?}");
    for dependency in own.iter().filter(|line| !line.starts_with("manometer-testing ")) {
        assert!(dependency.contains(&format!("version = \"{version}\"")), "{dependency}");
    }
    assert_eq!(between("CITATION.cff", "\nversion: ", "\n"), version);
    let changes = fs::read_to_string(repository_file("CHANGELOG.md")).unwrap();
    let mut releases = changes.lines().filter_map(|line| line.strip_prefix("## [")?.split_once(']'));
    let (newest, date) = releases.find(|(name, _)| *name != "Unreleased").unwrap();
    assert_eq!(newest, version, "the newest release in CHANGELOG.md");
    assert_eq!(between("CITATION.cff", "\ndate-released: \"", "\""), date.trim_start_matches(" - "));
    assert_eq!(between("pyproject.toml", "\ndynamic = [\"", "\"]"), "version", "maturin takes it from Cargo.toml");
}
