//! Every finding that this crate tells stands among the rules of the analysis, and so in the manual.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

use std::fs;
use std::path::{Path, PathBuf};

use manometer_analysis::findings::rules;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

fn written(body: &str) -> Option<(&str, &str)> {
    let (id, rest) = body.strip_prefix("id: \"")?.split_once("\".to_owned(),")?;
    Some((id, rest.trim_start().strip_prefix("severity: Severity::")?.split(',').next()?))
}

/// The id and the severity of each finding that the source `text` makes, or what stands in their place.
fn told(text: &str) -> Vec<Result<(&str, &str), &str>> {
    let bodies = text.match_indices("Finding {").filter(|(place, _)| !text[..*place].ends_with("-> "));
    let bodies = bodies.map(|(place, head)| text[place + head.len()..].trim_start());
    bodies.map(|body| written(body).ok_or_else(|| body.lines().next().unwrap_or_default())).collect()
}

#[test]
fn every_finding_is_a_rule_of_the_manual_with_the_severity_that_it_says() {
    let mut ids = Vec::new();
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        for finding in told(&text) {
            let place = path.display();
            let (id, severity) = finding.unwrap_or_else(|body| {
                panic!("{place}: expected `id: \"…\".to_owned(), severity: Severity::…` in a finding, got `{body}`")
            });
            let rule = rules().find(|rule| rule.id == id);
            let rule = rule.unwrap_or_else(|| panic!("{place}: `{id}` is no rule of manometer-analysis/src/findings"));
            assert_eq!(format!("{:?}", rule.severity), severity, "{place}: `{id}`");
            ids.push(id.to_owned());
        }
    }
    for known in ["isolation-lost", "interval-too-wide", "not-settled", "repeats-too-wide", "scaled-down"] {
        assert!(ids.iter().any(|id| id == known), "`{known}` is not among {ids:?}");
    }
}
