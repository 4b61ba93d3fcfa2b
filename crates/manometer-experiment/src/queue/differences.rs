//! The differences between the set in a folder and the requested one.

use serde_json::Value;

use super::journal::{ExperimentSource, SetDescription};
use crate::definition::{ReferencedFiles, without_write_budget};

/// The maximum number of reported differences.
const MAX_REPORTED: usize = 5;

/// The differences between the set in a folder and the `requested` one; none where they are the same.
pub(super) fn differences(existing: &SetDescription, requested: &SetDescription) -> Vec<String> {
    if existing.files.len() != requested.files.len() {
        let names = |set: &SetDescription| {
            set.files.iter().map(|source| source.file.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        return vec![format!("it is of {}, requested is {}", names(existing), names(requested))];
    }
    let several = existing.files.len() > 1;
    let mut all = Vec::new();
    for (one, other) in existing.files.iter().zip(&requested.files) {
        let place = if several { format!("{}: ", other.file.display()) } else { String::new() };
        all.extend(file_differences(one, other).into_iter().map(|text| format!("{place}{text}")));
    }
    first_of(all)
}

/// The first few of `all`, and the number of the others.
pub(super) fn first_of(mut all: Vec<String>) -> Vec<String> {
    let more = all.len().saturating_sub(MAX_REPORTED);
    all.truncate(MAX_REPORTED);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    all
}

/// The differences between two resolved files, and between the files that they reference.
pub(super) fn resolved_differences(
    existing: (&Value, &ReferencedFiles),
    requested: (&Value, &ReferencedFiles),
) -> Vec<String> {
    let mut found = Vec::new();
    let (one, other) = (without_write_budget(existing.0), without_write_budget(requested.0));
    compare_values("", Some(&one), Some(&as_read_back(&other)), &mut found);
    // A new path is reported with its setting.
    let changed = existing.1.iter().filter(|(path, hash)| requested.1.get(*path).is_some_and(|now| now != *hash));
    found.extend(changed.map(|(path, _)| format!("{} has changed", path.display())));
    found
}

fn file_differences(existing: &ExperimentSource, requested: &ExperimentSource) -> Vec<String> {
    let mut found =
        resolved_differences((&existing.resolved, &existing.referenced), (&requested.resolved, &requested.referenced));
    if found.is_empty() && existing.directory != requested.directory {
        let (was, is) = (existing.directory.display(), requested.directory.display());
        found.push(format!("the device directory was {was} and is {is}: start it from the same directory"));
    }
    if found.is_empty() && existing.file != requested.file {
        let (was, is) = (existing.file.display(), requested.file.display());
        found.push(format!("the file was {was} and is {is}: name it as before"));
    }
    found
}

/// The value as it is read back once written.
pub(super) fn as_read_back(value: &Value) -> Value {
    serde_json::from_str(&value.to_string()).unwrap_or_else(|_| value.clone())
}

fn compare_values(path: &str, existing: Option<&Value>, requested: Option<&Value>, found: &mut Vec<String>) {
    match (existing, requested) {
        (Some(one), Some(other)) if one == other => {}
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let new = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(new) {
                compare_values(&join_keys(path, key), one.get(key), other.get(key), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare_values(&format!("{path}[{index}]"), Some(one), Some(other), found);
            }
        }
        _ => {
            let text = |value: Option<&Value>| value.map_or("unset".to_owned(), Value::to_string);
            found.push(format!("`{path}` was {} and is {}", text(existing), text(requested)));
        }
    }
}

fn join_keys(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::prepare::disk_fit::DiskFits;

    fn set(resolved: Value, directory: &str) -> SetDescription {
        let (file, directory) = (PathBuf::from("a.toml"), PathBuf::from(directory));
        let referenced = ReferencedFiles::from([(PathBuf::from("/o"), Some("1".to_owned()))]);
        let files = vec![ExperimentSource { file, directory, resolved, referenced }];
        SetDescription { manometer: "0".to_owned(), files, fits: DiskFits::new() }
    }

    #[test]
    fn equal_sets_have_no_differences() {
        let value = json!({"plan": {"phase": "5s"}, "share": 0.1_f64 + 0.2});
        let existing: Value = serde_json::from_str(&value.to_string()).unwrap();
        assert!(differences(&set(existing, "/d"), &set(value, "/d")).is_empty());
    }

    #[test]
    fn a_referenced_file_is_a_difference_and_a_write_budget_is_not() {
        let device = |budget: &str| json!({"device": {"directory": "d", "write_budget": budget}});
        let existing = set(device("1GiB"), "/d");
        assert!(differences(&existing, &set(device("2GiB"), "/d")).is_empty());
        assert!(differences(&existing, &set(json!({"device": {"directory": "d"}}), "/d")).is_empty());
        let mut requested = set(device("1GiB"), "/d");
        requested.files[0].referenced.insert(PathBuf::from("/o"), Some("2".to_owned()));
        assert_eq!(differences(&existing, &requested), ["/o has changed"]);
        requested.files[0].referenced.insert(PathBuf::from("/o"), None);
        assert_eq!(differences(&existing, &requested).len(), 1);
    }

    #[test]
    fn a_difference_names_both_values() {
        let existing = json!({"plan": {"phase": "5s", "settle": "1s"}, "neighbour": [{"name": "n", "iodepth": 1}]});
        let requested = json!({"plan": {"phase": "9s"}, "neighbour": [{"name": "n", "iodepth": 4}], "seed": 2});
        assert_eq!(
            differences(&set(existing, "/d"), &set(requested, "/d")),
            [
                "`plan.phase` was \"5s\" and is \"9s\"",
                "`plan.settle` was \"1s\" and is unset",
                "`neighbour[0].iodepth` was 1 and is 4",
                "`seed` was unset and is 2",
            ]
        );
        let moved = differences(&set(json!({}), "/d"), &set(json!({}), "/e"));
        assert!(moved[0].contains("was /d and is /e"), "{moved:?}");
    }

    #[test]
    fn many_differences_are_abbreviated() {
        let one = set(json!({}), "/d");
        let two = SetDescription { files: [one.files.clone(), one.files.clone()].concat(), ..one.clone() };
        assert!(differences(&one, &two)[0].contains("it is of a.toml, requested is a.toml, a.toml"));
        let many = |start: i32| set((0..9).map(|key| (key.to_string(), json!(start))).collect(), "/d");
        assert_eq!(differences(&many(1), &many(2)).last().unwrap(), "4 more");
    }
}
