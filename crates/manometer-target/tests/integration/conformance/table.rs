//! The suite's results in the manual, engine by engine, derived from the suite's source and each engine's capabilities:
//! a test that fails on an engine it applies to fails `make test`.

use manometer_target::engine::EngineInfo;

use super::subject::GROUPS;
use crate::registry::{manual, whole_registry};

/// The tests of the suite.
const TEXTS: [&str; 7] = [
    include_str!("requests.rs"),
    include_str!("scans.rs"),
    include_str!("loading.rs"),
    include_str!("concurrency.rs"),
    include_str!("model.rs"),
    include_str!("full_disk.rs"),
    include_str!("options.rs"),
];

/// A test: its name, and the engines it applies to.
struct Case<'a> {
    name: &'a str,
    body: &'a str,
}

fn cases(text: &str) -> impl Iterator<Item = Case<'_>> {
    text.split("#[test]\nfn ").skip(1).map(|rest| {
        let (name, body) = rest.split_once("()").unwrap();
        Case { name, body: body.split("\n}\n").next().unwrap() }
    })
}

impl Case<'_> {
    fn concerns(&self, info: &EngineInfo) -> bool {
        if let Some((_, rest)) = self.body.split_once("engines_named(&[") {
            let names = rest.split(']').next().unwrap();
            return names.split(", ").any(|name| name.trim_matches('"') == info.name);
        }
        // Tests that fill a disk apply to engines that store data on one.
        let group = if self.body.contains("    fill(|engine") { "every_engine_on_disk" } else { self.group() };
        GROUPS.iter().any(|(name, concerns)| *name == group && concerns(info))
    }

    fn group(&self) -> &'static str {
        let called = GROUPS.iter().find(|(name, _)| self.body.contains(&format!("{name}(|")));
        called.unwrap_or_else(|| panic!("{}: which engines does it concern?", self.name)).0
    }

    fn row(&self, engines: &[&EngineInfo]) -> String {
        let cells = engines.iter().map(|info| if self.concerns(info) { " passes |" } else { " |" });
        format!("| {} |{}\n", self.name.replace('_', " "), cells.collect::<String>())
    }
}

fn table(engines: &[&EngineInfo]) -> String {
    let names: String = engines.iter().map(|info| format!(" `{}` |", info.name)).collect();
    let head = format!("| test |{names}\n| --- |{}\n", " --- |".repeat(engines.len()));
    head + &TEXTS.iter().flat_map(|text| cases(text)).map(|case| case.row(engines)).collect::<String>()
}

#[test]
fn the_table_in_the_manual_is_current() {
    let Some(engines) = whole_registry() else { return };
    let table = table(&engines);
    assert!(manual().contains(&table), "docs/engines.md is not current: its table of conformance is to be\n{table}");
}
