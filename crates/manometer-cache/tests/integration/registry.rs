//! The tables of the manual follow from the lists of policies and admissions.

use manometer_cache::admission::ADMISSIONS;
use manometer_cache::policy::{POLICIES, PolicyParameter};
use manometer_testing::repository_file;

fn parameters(parameters: &[PolicyParameter]) -> String {
    let parameter = |parameter: &PolicyParameter| {
        let PolicyParameter { name, meaning, default, min, max, .. } = parameter;
        format!("`{name}={default}` ({min} to {max}): {meaning}")
    };
    parameters.iter().map(parameter).collect::<Vec<_>>().join("<br>")
}

fn table(
    what: &str,
    rows: impl Iterator<Item = (&'static str, &'static str, &'static str, &'static [PolicyParameter])>,
) -> String {
    let head = format!("| {what} | what it does | source | parameters |\n| --- | --- | --- | --- |\n");
    let row = |(name, about, source, known)| format!("| `{name}` | {about} | {source} | {} |\n", parameters(known));
    head + &rows.map(row).collect::<String>()
}

#[test]
fn the_tables_in_the_manual_are_current() {
    let page = std::fs::read_to_string(repository_file("docs/cache-policies.md")).unwrap();
    let policies = POLICIES.iter().map(|kind| (kind.name, kind.about, kind.source, kind.parameters));
    let admissions = ADMISSIONS.iter().map(|kind| (kind.name, kind.about, kind.source, kind.parameters));
    for table in [table("policy", policies), table("admission", admissions)] {
        assert!(page.contains(&table), "docs/cache-policies.md is not current: a table of it is to be\n{table}");
    }
}
