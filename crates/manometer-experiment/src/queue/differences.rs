//! What differs between what a folder is of and what is asked for.

use serde_json::Value;

use super::journal::{Made, Source};
use crate::file::{Referenced, without_budget};

/// The most differences that are told.
const MOST: usize = 5;

/// What `asked` says otherwise than `there`, in words; nothing where both are the same set.
pub(super) fn differences(there: &Made, asked: &Made) -> Vec<String> {
    if there.files.len() != asked.files.len() {
        let count = |made: &Made| made.files.iter().map(|source| source.file.display().to_string()).collect::<Vec<_>>();
        return vec![format!("it is of {}, asked for is {}", count(there).join(", "), count(asked).join(", "))];
    }
    let several = there.files.len() > 1;
    let mut all = Vec::new();
    for (one, other) in there.files.iter().zip(&asked.files) {
        let place = if several { format!("{}: ", other.file.display()) } else { String::new() };
        all.extend(of_file(one, other).into_iter().map(|text| format!("{place}{text}")));
    }
    in_short(all)
}

/// The first few of `all`, and how many more there are.
pub(super) fn in_short(mut all: Vec<String>) -> Vec<String> {
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    all
}

/// What the resolved file `asked` and the files that it names say otherwise than those `there`.
pub(super) fn of_resolved(there: (&Value, &Referenced), asked: (&Value, &Referenced)) -> Vec<String> {
    let mut found = Vec::new();
    let (one, other) = (without_budget(there.0), without_budget(asked.0));
    values("", Some(&one), Some(&written(&other)), &mut found);
    // A path that is new was told with the setting that names it.
    let changed = there.1.iter().filter(|(path, hash)| asked.1.get(*path).is_some_and(|now| now != *hash));
    found.extend(changed.map(|(path, _)| format!("{} does not say what it said", path.display())));
    found
}

fn of_file(there: &Source, asked: &Source) -> Vec<String> {
    let mut found = of_resolved((&there.resolved, &there.referenced), (&asked.resolved, &asked.referenced));
    if found.is_empty() && there.directory != asked.directory {
        let (was, is) = (there.directory.display(), asked.directory.display());
        found.push(format!("the device directory was {was} and is {is}: start it from the same folder"));
    }
    found
}

/// The value as it reads once it has been written.
pub(super) fn written(value: &Value) -> Value {
    serde_json::from_str(&value.to_string()).unwrap_or_else(|_| value.clone())
}

fn values(path: &str, there: Option<&Value>, asked: Option<&Value>, found: &mut Vec<String>) {
    match (there, asked) {
        (Some(one), Some(other)) if one == other => {}
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let new = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(new) {
                values(&inside(path, key), one.get(key), other.get(key), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                values(&format!("{path}[{index}]"), Some(one), Some(other), found);
            }
        }
        _ => {
            let text = |value: Option<&Value>| value.map_or("unsaid".to_owned(), Value::to_string);
            found.push(format!("`{path}` was {} and is {}", text(there), text(asked)));
        }
    }
}

fn inside(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::fit::Fits;

    fn made(resolved: Value, directory: &str) -> Made {
        let (file, directory) = (PathBuf::from("a.toml"), PathBuf::from(directory));
        let referenced = Referenced::from([(PathBuf::from("/o"), Some("1".to_owned()))]);
        let files = vec![Source { file, directory, resolved, referenced }];
        Made { manometer: "0".to_owned(), files, fits: Fits::new() }
    }

    #[test]
    fn the_same_set_has_none() {
        let value = json!({"plan": {"phase": "5s"}, "share": 0.1_f64 + 0.2});
        let there: Value = serde_json::from_str(&value.to_string()).unwrap();
        assert!(differences(&made(there, "/d"), &made(value, "/d")).is_empty());
    }

    #[test]
    fn a_write_budget_is_no_difference_and_what_a_named_file_says_is() {
        let device = |budget: &str| json!({"device": {"directory": "d", "write_budget": budget}});
        let there = made(device("1GiB"), "/d");
        assert!(differences(&there, &made(device("2GiB"), "/d")).is_empty());
        assert!(differences(&there, &made(json!({"device": {"directory": "d"}}), "/d")).is_empty());
        let mut asked = made(device("1GiB"), "/d");
        asked.files[0].referenced.insert(PathBuf::from("/o"), Some("2".to_owned()));
        assert_eq!(differences(&there, &asked), ["/o does not say what it said"]);
        asked.files[0].referenced.insert(PathBuf::from("/o"), None);
        assert_eq!(differences(&there, &asked).len(), 1);
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        let there = json!({"plan": {"phase": "5s", "settle": "1s"}, "neighbour": [{"name": "n", "iodepth": 1}]});
        let asked = json!({"plan": {"phase": "9s"}, "neighbour": [{"name": "n", "iodepth": 4}], "seed": 2});
        assert_eq!(
            differences(&made(there, "/d"), &made(asked, "/d")),
            [
                "`plan.phase` was \"5s\" and is \"9s\"",
                "`plan.settle` was \"1s\" and is unsaid",
                "`neighbour[0].iodepth` was 1 and is 4",
                "`seed` was unsaid and is 2",
            ]
        );
        let moved = differences(&made(json!({}), "/d"), &made(json!({}), "/e"));
        assert!(moved[0].contains("was /d and is /e"), "{moved:?}");
    }

    #[test]
    fn other_files_and_many_differences_are_told_in_short() {
        let one = made(json!({}), "/d");
        let two = Made { files: [one.files.clone(), one.files.clone()].concat(), ..one.clone() };
        assert!(differences(&one, &two)[0].contains("it is of a.toml, asked for is a.toml, a.toml"));
        let many = |start: i32| made((0..9).map(|key| (key.to_string(), json!(start))).collect(), "/d");
        assert_eq!(differences(&many(1), &many(2)).last().unwrap(), "4 more");
    }
}
