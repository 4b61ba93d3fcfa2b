//! Every finding that Manometer reports has a rule, every rule is registered, and the manual lists them all.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use manometer_analysis::rules;
use manometer_testing::repository_file;

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The source files of all crates, without their tests.
fn sources() -> Vec<(PathBuf, String)> {
    let folders = fs::read_dir(repository_file("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let files = folders.filter(|folder| folder.is_dir()).flat_map(|folder| rust_files(&folder));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let own = text.split("#[cfg(test)]").next().unwrap().to_owned();
        (path.strip_prefix(repository_file("crates")).unwrap().to_owned(), own)
    };
    files.map(read).collect()
}

/// The text after each literal of the struct `name` in `source`.
fn literals<'a>(source: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!("{name} {{");
    let heads = source.match_indices(&head).filter(|(start, _)| {
        let before = &source[..*start];
        let is_word = before.chars().next_back().is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        !is_word && !["-> ", "struct ", "impl ", "for "].iter().any(|word| before.ends_with(word))
    });
    heads.map(|(start, head)| source[start + head.len()..].trim_start()).collect()
}

/// The value of the string field `id` with which a literal begins.
fn id(literal: &str) -> Option<&str> {
    Some(literal.strip_prefix("id: \"")?.split_once('"')?.0)
}

/// The id and the severity of each `Finding::new` in `source`; `None` where the id is no literal.
fn findings(source: &str) -> Vec<Option<(&str, &str)>> {
    let calls = source.split("Finding::new(").skip(1).map(str::trim_start);
    calls.map(finding).collect()
}

fn finding(call: &str) -> Option<(&str, &str)> {
    let (id, rest) = call.strip_prefix('"')?.split_once('"')?;
    let severity = rest.split_once("Severity::")?.1;
    Some((id, severity.split(|letter: char| !letter.is_alphanumeric()).next()?))
}

#[test]
fn every_finding_has_a_rule_of_the_same_severity() {
    let (mut without_id, mut reported) = (Vec::new(), 0);
    for (path, source) in sources() {
        for finding in findings(&source) {
            let Some((id, severity)) = finding else {
                without_id.push(path.clone());
                continue;
            };
            reported += 1;
            let rule = rules::of_id(id).unwrap_or_else(|| panic!("{}: `{id}` is not a rule", path.display()));
            assert_eq!(severity, format!("{:?}", rule.severity), "{}: `{id}`", path.display());
        }
    }
    assert!(reported > 20, "only {reported} findings have been found in the sources");
    without_id.sort();
    // The finding of a rule, and the findings of runs that a comparison repeats.
    let known = ["compare/run_findings.rs", "findings/rule.rs"];
    assert_eq!(without_id, known.map(|path| Path::new("manometer-analysis/src").join(path)));
}

#[test]
fn a_finding_is_only_made_by_its_constructor() {
    for (path, source) in sources() {
        let whole = literals(&source, "Finding").into_iter().filter(|literal| literal.starts_with("id:")).count();
        assert_eq!(whole, 0, "{}: use `Finding::new`, which the test above finds", path.display());
    }
}

#[test]
fn every_rule_is_registered() {
    let registered: BTreeSet<&str> = rules::all().map(|rule| rule.id).collect();
    for (path, source) in sources() {
        for id in literals(&source, "Rule").into_iter().filter_map(id) {
            assert!(registered.contains(id), "{}: add `{id}` to a family", path.display());
        }
    }
}

#[test]
fn the_manual_lists_every_rule() {
    let manual = fs::read_to_string(repository_file("docs/findings.md")).unwrap();
    assert!(manual == rules::manual(), "run `make docs`");
}

#[test]
fn the_manual_names_no_unknown_rule() {
    let known: BTreeSet<&str> = rules::all().map(|rule| rule.id).collect();
    for page in ["docs/analysis.md", "docs/compare.md"] {
        let text = fs::read_to_string(repository_file(page)).unwrap();
        let code = text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2));
        let is_id = |word: &&str| word.contains('-') && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let ids: Vec<&str> = code.filter(is_id).filter(|word| !word.starts_with('-')).collect();
        assert!(!ids.is_empty(), "{page} names no rule");
        for id in ids {
            assert!(known.contains(id), "{page} names `{id}`, which is not a rule");
        }
    }
}
