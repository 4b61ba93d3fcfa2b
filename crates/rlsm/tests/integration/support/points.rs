//! The fail points of the engine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use manometer_testing::crate_file;

/// The names of the fail points in the engine's source.
pub fn in_source() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect(&crate_file("src"), &mut names);
    // The fail points of a repair are tested in `tests/integration/tools_crash.rs`.
    names.retain(|name| !name.starts_with("repair:"));
    assert!(names.len() > 30, "only {} points were found in the source", names.len());
    names
}

fn collect(directory: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // The tests of the storage layer have fail points of their own.
            if !path.ends_with("storage") {
                collect(&path, names);
            }
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        for call in source.split(".fail_point(").skip(1) {
            let name = call.strip_prefix('"').and_then(|rest| rest.split('"').next());
            names.insert(
                name.unwrap_or_else(|| panic!("a point without a plain name in {}", path.display())).to_owned(),
            );
        }
    }
}
