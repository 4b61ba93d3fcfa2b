//! The house is built as `docs/ARCHITECTURE.md` says: arrows between crates point down, siblings import in no circle.

use std::collections::HashMap;
use std::process::Command;

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

fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = command.current_dir(repository_file("")).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
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

#[test]
fn siblings_import_each_other_in_no_circle() {
    let script = repository_file("tools/import_circles.py");
    let output = Command::new("python3").arg(script).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let crates: Vec<&str> = text.lines().filter(|line| line.contains("largest circle")).collect();
    assert_eq!(crates.len(), table().len(), "{text}");
    for line in crates {
        let largest: usize = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(largest == 0, "{line}: let what both need move into a module of its own\n{text}");
    }
}

/// `cargo fmt` does not see the modules that a macro declares: those of the lists of policies, engines, formats and charts.
#[test]
fn files_that_a_list_declares_are_formatted() {
    let folders = [
        "manometer-cache/src/policy",
        "manometer-import/src/format",
        "manometer-report/src/charts/figures",
        "manometer-target/src/engine",
        "manometer-trace/src/read",
    ];
    let entries = folders.iter().flat_map(|folder| repository_file(&format!("crates/{folder}")).read_dir().unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.map(|path| if path.is_dir() { path.join("mod.rs") } else { path });
    let mut command = Command::new("rustfmt");
    let output = command.args(["--check", "-l", "--edition", "2024"]).args(files).output().unwrap();
    let unformatted = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "run `rustfmt --edition 2024` on\n{unformatted}");
}
