//! Every finding that any part of Manometer tells stands among the rules, and so in the manual.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

use std::fs;
use std::path::{Path, PathBuf};

use manometer_analysis::findings::rules;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// What follows `Finding {` wherever the source `text` makes one, its tests aside.
fn made(text: &str) -> Vec<&str> {
    let own = text.split("#[cfg(test)]").next().unwrap();
    let heads = own.match_indices("Finding {");
    let heads =
        heads.filter(|(place, _)| !["-> ", "struct ", "impl "].iter().any(|word| own[..*place].ends_with(word)));
    heads.map(|(place, head)| own[place + head.len()..].trim_start()).collect()
}

#[test]
fn every_finding_is_a_rule_of_the_manual() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let files =
        folders.flat_map(|folder| sources(&folder)).filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let mut elsewhere = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        for body in made(&text) {
            match body.strip_prefix("id: \"").and_then(|rest| rest.split_once('"')) {
                Some((id, _)) => assert!(rules().any(|rule| rule.id == id), "{}: `{id}` is no rule", path.display()),
                None => elsewhere.push(path.strip_prefix(crates).unwrap().to_owned()),
            }
        }
    }
    elsewhere.sort();
    // A rule's own finding, that of a run told again with the run's folder, and the page's `damaged` and `worker-failed`.
    let known = [
        "manometer-analysis/src/compare/own.rs",
        "manometer-analysis/src/compare/own.rs",
        "manometer-analysis/src/findings.rs",
        "manometer-report/src/page/findings.rs",
    ];
    assert_eq!(elsewhere, known.map(PathBuf::from));
}
