//! Tests that the manual and the Python package list exactly the formats of the crate.

use std::collections::BTreeSet;
use std::path::PathBuf;

use manometer_import::{FORMATS, ImportError, ImportedRun, find_format};
use manometer_testing::repository_file;

/// The first run in `files`.
pub fn read(format: &str, files: &[PathBuf]) -> Result<ImportedRun, ImportError> {
    find_format(format).unwrap().read(files).map(|mut imported_runs| imported_runs.remove(0))
}

fn names() -> BTreeSet<String> {
    FORMATS.iter().map(|format| format.name.to_owned()).collect()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(repository_file(path)).unwrap()
}

#[test]
fn every_format_has_a_name_and_a_sentence() {
    assert_eq!(names().len(), FORMATS.len(), "a name is listed twice");
    for format in FORMATS {
        assert!(format.about.ends_with('.'), "{}", format.name);
    }
    assert!(find_format("fio").is_some() && find_format("flags").is_none());
}

#[test]
fn the_manual_has_a_row_for_every_format() {
    let manual = text("docs/import.md");
    let rows = manual.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    assert_eq!(rows.map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>(), names());
}

#[test]
fn python_has_a_function_for_every_format() {
    let module = text("python/manometer/importing.py");
    let calls = module.split("return _import(\"").skip(1).filter_map(|rest| rest.split('"').next());
    assert_eq!(calls.map(str::to_owned).collect::<BTreeSet<_>>(), names());
    for format in FORMATS {
        assert!(module.contains(&format!("def {}(", format.name.replace('-', "_"))), "{}", format.name);
    }
}
