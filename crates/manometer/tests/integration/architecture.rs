//! The crates and modules depend on each other as `docs/ARCHITECTURE.md` says, and the paths that it names exist.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use manometer_testing::manual::files;
use manometer_testing::repository_file;
use serde_json::Value;

/// The names of the crates in the table of `docs/ARCHITECTURE.md`, from the highest to the lowest, and what each imports.
fn table() -> Vec<(String, String)> {
    let page = std::fs::read_to_string(repository_file("docs/ARCHITECTURE.md")).unwrap();
    let section = page.split("## The crates").nth(1).unwrap().split("\n## ").next().unwrap();
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect::<Vec<_>>();
    let rows = section.lines().filter(|line| line.starts_with("| `")).map(cells);
    rows.map(|cells| (cells[1].clone(), cells[3].clone())).collect()
}

/// What cargo prints, without a network.
fn cargo(arguments: &str) -> String {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments.split(' ')).args(["--offline", "--locked"]).current_dir(repository_file(""));
    let output = command.output().unwrap();
    assert!(output.status.success(), "cargo {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn packages() -> Vec<Value> {
    let metadata: Value = serde_json::from_str(&cargo("metadata --no-deps --format-version 1")).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn every_crate_imports_only_crates_below_it() {
    let table = table();
    let place: HashMap<&str, usize> = table.iter().enumerate().map(|(at, (name, _))| (name.as_str(), at)).collect();
    let packages = packages();
    assert_eq!(packages.len(), table.len(), "the table has a row for each crate");
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        let own = place.get(name).unwrap_or_else(|| panic!("the table has no row for {name}"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let below = dependency["name"].as_str().unwrap();
            let Some(at) = place.get(below).filter(|_| dependency["kind"] == Value::Null) else { continue };
            assert!(at > own, "{name} imports {below}, which stands above it");
            let allowed = &table[*own].1;
            let short = below.trim_start_matches("manometer-");
            assert!(
                allowed == "any" || allowed.split(", ").any(|one| one == short),
                "{name} imports {short}: the table says {allowed}"
            );
        }
    }
}

/// The crates from elsewhere that cargo compiles for `packages`, each with its features.
fn foreign_crates(packages: &str) -> BTreeSet<String> {
    let tree = cargo(&format!("tree {packages} --prefix none --format {{p}}|{{f}}"));
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)").to_owned());
    lines.filter(|line| !line.is_empty() && !line.contains(" (/")).collect()
}

/// Else `make test` compiles Arrow and most others twice. What programs are linked with is compared apart from what runs
/// during the compilation: a crate may be compiled for both, with different features.
#[test]
fn the_wheel_compiles_other_crates_as_the_workspace_does() {
    let edges = [("normal,build,dev", "normal,build"), ("no-build,no-proc-macro", "no-build,no-proc-macro,no-dev")];
    for (workspace, wheel) in edges {
        let workspace = foreign_crates(&format!("--workspace --edges {workspace}"));
        let wheel = foreign_crates(&format!("--package manometer-python --edges {wheel}"));
        assert!(wheel.len() > 50, "{wheel:?}");
        let twice: Vec<&String> = wheel.difference(&workspace).collect();
        assert!(
            twice.is_empty(),
            "add the features that the workspace has to manometer-python's Cargo.toml: {twice:#?}"
        );
    }
}

/// The circles of imports that are left, each between a module and its children: crate, files of the largest. Only ever
/// make these smaller.
const CIRCLES: &[(&str, usize)] = &[
    ("backpath", 2),
    ("manometer", 3),
    ("manometer-analysis", 4),
    ("manometer-cache", 30),
    ("manometer-experiment", 5),
    ("manometer-measure", 7),
    ("manometer-target", 36),
    ("manometer-trace", 6),
    ("manometer-workload", 8),
    ("recycle", 4),
    ("rlsm", 3),
];

/// The crates that write below device directories and output folders.
const HELD: [&str; 7] = ["experiment", "import", "measure", "report", "session", "target", "workload"];

#[test]
fn crates_that_write_below_a_directory_have_the_rules_of_all_and_one_more() {
    let text = |path: &str| std::fs::read_to_string(repository_file(path)).unwrap();
    let of_all = text("clippy.toml");
    for name in HELD {
        let path = format!("crates/manometer-{name}/clippy.toml");
        let own = text(&path);
        assert!(of_all.lines().all(|line| own.lines().any(|one| one == line)), "{path}");
        for method in ["std::fs::write", "std::fs::File::create", "std::fs::OpenOptions::open", "std::fs::rename"] {
            assert!(own.contains(&format!("path = \"{method}\"")), "{path}: {method}");
        }
    }
}

/// Tests of these crates may make files, and clippy has one switch for that and for what it forbids in every crate.
#[test]
fn tests_of_crates_that_write_below_a_directory_wait_for_no_clock_either() {
    let calls = ["Instant::now(", "SystemTime::now(", "thread::sleep(", "process::exit("];
    let allowed = ["crates/manometer-measure/src/clock.rs", "crates/manometer-session/src/worker.rs"];
    let paths = HELD.iter().flat_map(|name| files(&format!("crates/manometer-{name}"), &[".rs"]));
    let has_calls = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        calls.iter().any(|call| text.contains(call))
    };
    let with_calls: BTreeSet<PathBuf> = paths.filter(has_calls).collect();
    assert_eq!(with_calls, allowed.map(repository_file).into(), "take a manometer_measure::Clock");
}

#[test]
fn circles_of_imports_do_not_grow() {
    let script = repository_file("tools/import_circles.py");
    let output = Command::new("python3").arg(script).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let crates: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(": ")).collect();
    let crates = crates.into_iter().filter(|(_, rest)| rest.contains("largest circle")).collect::<Vec<_>>();
    assert_eq!(crates.len(), table().len(), "{text}");
    for (name, rest) in crates {
        let numbers: Vec<usize> = rest.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
        let [_, files, siblings] = numbers[..] else { panic!("{rest}") };
        let (_, files_max) = CIRCLES.iter().find(|(of, _)| *of == name).copied().unwrap_or((name, 0));
        assert!(
            files <= files_max && siblings == 0,
            "{name}: at most {files_max} files, and no siblings, may import in a circle: move what both need into a \
             separate module\n{text}"
        );
    }
}

/// A path in `docs/ARCHITECTURE.md`: from the repository, or `CRATE/FILE` without `crates/`, `manometer-` and `src/`.
/// `NAME` stands for any name.
fn exists(path: &str) -> bool {
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let crates = [name.to_owned(), format!("manometer-{name}")];
    let in_crate = |name: &String| [format!("crates/{name}/src/{rest}"), format!("crates/{name}/{rest}")];
    let candidates = std::iter::once(path.to_owned()).chain(crates.iter().flat_map(in_crate));
    candidates.map(|candidate| repository_file(&candidate)).any(|candidate| any_matches(&candidate))
}

/// Whether there is such a file or directory; `NAME` in its path matches any part of a name.
fn any_matches(path: &Path) -> bool {
    let parts: Vec<&str> = path.to_str().unwrap().split('/').collect();
    let Some(at) = parts.iter().position(|part| part.contains("NAME")) else { return path.exists() };
    let (before, after) = parts[at].split_once("NAME").unwrap();
    let Ok(folder) = Path::new(&parts[..at].join("/")).read_dir() else { return false };
    folder.map(|entry| entry.unwrap()).any(|entry| {
        let name = entry.file_name().into_string().unwrap();
        let is_named = name.len() > before.len() + after.len() && name.starts_with(before) && name.ends_with(after);
        is_named && parts[at + 1..].iter().fold(entry.path(), |path, part| path.join(part)).exists()
    })
}

#[test]
fn every_path_that_the_page_names_exists() {
    let page = std::fs::read_to_string(repository_file("docs/ARCHITECTURE.md")).unwrap();
    // A recording's files are of no clone, and the roles of a verb's files have no path.
    let text: String = page.split("\n| file | content |").enumerate().fold(String::new(), |text, (number, part)| {
        text + if number == 0 { part } else { part.split_once("\n\n").unwrap().1 }
    });
    let roles = ["args.rs", "json.rs", "text.rs", "summary.json"];
    let quoted = text.split('`').skip(1).step_by(2).filter(|quoted| !quoted.contains([' ', '\n']));
    let is_path = |quoted: &&str| {
        let endings = [".rs", ".md", ".toml", ".json", ".py", ".html"];
        quoted.contains('/') || endings.iter().any(|ending| quoted.ends_with(ending))
    };
    let paths: Vec<&str> = quoted.filter(is_path).filter(|path| !roles.contains(path)).collect();
    assert!(paths.contains(&"session/controller.rs"), "{paths:?}");
    let missing: Vec<&&str> = paths.iter().filter(|path| !exists(path)).collect();
    assert!(missing.is_empty(), "docs/ARCHITECTURE.md names what does not exist: {missing:?}");
}

#[test]
fn every_term_of_the_glossary_has_one_meaning() {
    let page = std::fs::read_to_string(repository_file("docs/glossary.md")).unwrap();
    let mut terms = BTreeSet::new();
    for row in
        page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| term") && !line.contains("---"))
    {
        let cells: Vec<&str> = row.split(" | ").collect();
        assert_eq!(cells.len(), 2, "a row has a term and its meaning: {row}");
        for term in cells[0].trim_start_matches("| ").split(", ") {
            assert!(terms.insert(term.to_lowercase()), "docs/glossary.md explains `{term}` twice");
        }
    }
    assert!(terms.contains("client") && terms.contains("latency"), "{terms:?}");
}

/// `cargo fmt` does not see the modules that a macro declares: those of the lists of policies, engines, observers,
/// formats and charts.
#[test]
fn files_that_a_list_declares_are_formatted() {
    let folders = [
        "manometer-cache/src/policy",
        "manometer-import/src/format",
        "manometer-measure/src/host/observers",
        "manometer-report/src/charts/figures",
        "manometer-target/src/engine",
        "manometer-trace/src/read",
        "manometer-trace/src/write",
    ];
    let entries = folders.iter().flat_map(|folder| repository_file(&format!("crates/{folder}")).read_dir().unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.map(|path| if path.is_dir() { path.join("mod.rs") } else { path });
    let mut command = Command::new("rustfmt");
    let output = command.args(["--check", "-l", "--edition", "2024"]).args(files).output().unwrap();
    let unformatted = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "run `rustfmt --edition 2024` on\n{unformatted}");
}
