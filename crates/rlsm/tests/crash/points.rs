//! The named points at which the engine tells that it is between two steps.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names in the engine's source.
pub fn in_source() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut names);
    // A repair is no part of a database's life: `tests/tools_crash.rs` crashes it.
    names.retain(|name| !name.starts_with("repair:"));
    assert!(names.len() > 30, "only {} points were found in the source", names.len());
    names
}

fn collect(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // The layer that is told of the points names some of its own in its tests.
            if !path.ends_with("storage") {
                collect(&path, names);
            }
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        for call in source.split(".reach(").skip(1) {
            let name = call.strip_prefix('"').and_then(|rest| rest.split('"').next());
            names.insert(
                name.unwrap_or_else(|| panic!("a point without a plain name in {}", path.display())).to_owned(),
            );
        }
    }
}
