//! Tests that the registry of engines, cargo's features and `docs/engines.md` agree.

use std::collections::BTreeSet;

use manometer_measure::engine::TITLES;
use manometer_target::engine::{Capability, ENGINES, EngineInfo, EngineOption, StorageKind};
use manometer_testing::{Cause, repository_file, skip};

/// The names of all engines, in the order of the manual; `None` if the build leaves one out.
pub(crate) fn whole_registry() -> Option<Vec<&'static EngineInfo>> {
    if !cfg!(feature = "default") {
        skip(Cause::Engine, "this build has not every engine");
        return None;
    }
    Some(ENGINES.iter().collect())
}

pub(crate) fn manual() -> String {
    std::fs::read_to_string(repository_file("docs/engines.md")).unwrap()
}

/// The names before `=` in a section of a manifest, with the rest of their lines.
fn entries<'a>(manifest: &'a str, section: &str) -> Vec<(&'a str, &'a str)> {
    let body = manifest.split(&format!("[{section}]\n")).nth(1).unwrap().split("\n[").next().unwrap();
    body.lines().filter_map(|line| line.split_once('=')).map(|(name, rest)| (name.trim(), rest.trim())).collect()
}

#[test]
fn every_engine_is_a_feature_and_every_feature_an_engine() {
    let Some(engines) = whole_registry() else { return };
    let engines: BTreeSet<&str> = engines.iter().map(|info| info.name).filter(|name| *name != "null").collect();
    let manifest = std::fs::read_to_string(repository_file("crates/manometer-target/Cargo.toml")).unwrap();
    let features = entries(&manifest, "features");
    let names: BTreeSet<&str> = features.iter().map(|(name, _)| *name).filter(|name| *name != "default").collect();
    assert_eq!(names, engines);
    let (_, usual) = features.iter().find(|(name, _)| *name == "default").unwrap();
    let usual: BTreeSet<&str> = usual.trim_matches(['[', ']']).split(", ").map(|name| name.trim_matches('"')).collect();
    assert_eq!(usual, engines, "an engine that is no default is in nobody's build");
}

/// Engines that are no store: what is reached without storage, and without any store.
const REFERENCES: [&str; 2] = ["map", "null"];

#[test]
fn the_pages_count_the_stores_as_the_registry_does() {
    const NUMBERS: [&str; 13] =
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let Some(engines) = whole_registry() else { return };
    let stores = engines.iter().filter(|info| !REFERENCES.contains(&info.name)).count();
    assert_eq!(engines.len() - stores, REFERENCES.len());
    let readme = std::fs::read_to_string(repository_file("README.md")).unwrap().replace('\n', " ");
    let claim = format!("RocksDB and {} other [engines](docs/engines.md)", NUMBERS[stores - 1]);
    assert!(readme.contains(&claim), "README.md is not current: it is to say \"{claim}\"");
    let claim = format!("{} are key-value stores", NUMBERS[stores]);
    assert!(manual().to_lowercase().contains(&claim), "docs/engines.md is not current: it is to say \"{claim}\"");
}

#[test]
fn every_title_belongs_to_an_engine() {
    let Some(engines) = whole_registry() else { return };
    for (name, title) in TITLES {
        assert!(engines.iter().any(|info| info.name == name), "`{name}`, titled {title}, is no engine");
    }
}

#[test]
fn an_optional_dependency_belongs_to_an_engine() {
    let manifest = std::fs::read_to_string(repository_file("crates/manometer-target/Cargo.toml")).unwrap();
    let features = entries(&manifest, "features");
    for (name, value) in entries(&manifest, "dependencies") {
        let wanted = format!("\"dep:{name}\"");
        let engines = features.iter().filter(|(_, needs)| needs.contains(&wanted)).count();
        assert_eq!(engines > 0, value.contains("optional = true"), "{name}");
    }
}

#[test]
fn the_command_line_has_the_features_of_the_engines_and_no_other_crate() {
    for folder in std::fs::read_dir(repository_file("crates")).unwrap() {
        let path = folder.unwrap().path().join("Cargo.toml");
        let manifest = std::fs::read_to_string(&path).unwrap();
        // `backpath` stands alone, with a feature for its metadata store over Redis.
        let is_apart = ["manometer-target/Cargo.toml", "backpath/Cargo.toml"].iter().any(|end| path.ends_with(end));
        if is_apart || !manifest.contains("[features]") {
            continue;
        }
        let features = entries(&manifest, "features");
        if !path.ends_with("manometer/Cargo.toml") {
            let repeated = |name: &str| ENGINES.iter().any(|info| info.name == name);
            assert!(!features.iter().any(|(name, _)| repeated(name)), "{}: {features:?}", path.display());
            continue;
        }
        let value = |wanted: &str| features.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        for info in ENGINES.iter().filter(|info| info.name != "null") {
            let feature = value(info.name).unwrap_or_else(|| panic!("{}: no feature {}", path.display(), info.name));
            assert!(feature.contains(&format!("\"manometer-target/{}\"", info.name)), "{feature}");
            assert!(value("default").unwrap().contains(&format!("\"{}\"", info.name)), "default has no {}", info.name);
        }
    }
}

#[test]
fn what_an_engine_claims_of_itself_fits_together() {
    for info in ENGINES {
        let can = |capability| info.capabilities.contains(&capability);
        assert_eq!(can(Capability::State), !info.state.is_empty(), "{}", info.name);
        assert!(info.storage == StorageKind::Disk || info.immutable_files.is_empty(), "{}", info.name);
        let options: BTreeSet<&str> = info.options.iter().map(|option| option.name).collect();
        assert_eq!(options.len(), info.options.len(), "{}: an option stands twice", info.name);
        let names_memtable =
            info.memtable_option.is_none_or(|name| can(Capability::OptionsFile) || options.contains(name));
        assert!(names_memtable, "{}: {:?} is no option", info.name, info.memtable_option);
    }
}

#[test]
fn the_manual_says_how_durable_a_put_is() {
    let Some(engines) = whole_registry() else { return };
    let page = manual();
    for info in engines {
        let row = format!("\n| `{}` | {} | {} |", info.name, info.about, info.durability);
        assert!(page.contains(&row), "docs/engines.md is not current: a row of its first table begins with{row}");
    }
}

#[test]
fn the_manual_says_what_each_engine_can_do() {
    let Some(engines) = whole_registry() else { return };
    let page = manual();
    let cells = |cell: &dyn Fn(&EngineInfo) -> &'static str| -> String {
        engines.iter().map(|info| format!(" {} |", cell(info))).collect()
    };
    let names: String = engines.iter().map(|info| format!(" `{}` |", info.name)).collect();
    let can = |capability: Capability, yes: &'static str, no: &'static str| {
        cells(&|info| if info.capabilities.contains(&capability) { yes } else { no })
    };
    let on_disk = cells(&|info| if info.storage == StorageKind::Disk { "yes" } else { "no" });
    for (what, cells) in [
        ("capability", names),
        ("scan in key order, both ways", can(Capability::Scan, "yes", "no")),
        ("merge", can(Capability::Merge, "native", "get and put")),
        ("multi-get", can(Capability::MultiGet, "native", "one by one")),
        ("pipeline", can(Capability::Pipeline, "native", "one by one")),
        ("time to live", can(Capability::TimeToLive, "yes", "kept for ever")),
        ("recorded Redis commands", can(Capability::Command, "yes", "no")),
        ("open loop on few connections", can(Capability::OpenLoop, "yes", "no")),
        ("bulk load", can(Capability::BulkLoad, "native", "puts")),
        ("options file", can(Capability::OptionsFile, "yes", "no")),
        ("state in each sample", can(Capability::State, "yes", "no")),
        ("persistent", on_disk),
    ] {
        let row = format!("\n| {what} |{cells}\n");
        assert!(page.contains(&row), "docs/engines.md is not current: it has no row{row}");
    }
}

#[test]
fn the_manual_lists_every_option() {
    let Some(engines) = whole_registry() else { return };
    let page = manual();
    let row = |option: &EngineOption| format!("| `{}` | {} | {} |\n", option.name, option.values, option.default);
    for info in engines.iter().filter(|info| !info.options.is_empty()) {
        let section = page.split(&format!("\n### `{}`\n", info.name)).nth(1).unwrap_or_default();
        let rows: String = info.options.iter().map(row).collect();
        let table = format!("| option | values | default |\n| --- | --- | --- |\n{rows}\n");
        let section = section.split("\n### ").next().unwrap();
        assert!(section.contains(&table), "docs/engines.md is not current: the options of {} are\n{table}", info.name);
    }
}
