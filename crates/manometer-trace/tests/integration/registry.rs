//! Tests that `docs/traces.md` lists exactly the formats of the registries.

use manometer_testing::repository_file;
use manometer_trace::FORMATS;
use manometer_trace::write::OUTPUT_FORMATS;

/// The rows of the first table of a section of the manual.
fn rows(section: &str) -> Vec<String> {
    let page = std::fs::read_to_string(repository_file("docs/traces.md")).unwrap();
    let body = page.split(&format!("\n## {section}\n")).nth(1).unwrap();
    let table = body.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with("| `"));
    table.map(str::to_owned).collect()
}

/// Checks that each format has a row that begins as in the registry, and that there are no others.
fn check(section: &str, begins: &[String]) {
    let rows = rows(section);
    for begin in begins {
        let found = rows.iter().any(|row| row.starts_with(begin));
        assert!(found, "docs/traces.md is not current: under \"{section}\" a row begins with\n{begin}");
    }
    assert_eq!(rows.len(), begins.len(), "docs/traces.md has a row too many under \"{section}\"");
}

#[test]
fn the_manual_lists_every_input_format() {
    let begin = |name, about: &str| format!("| `{name}` | {} |", about.replace('|', "\\|"));
    let begins: Vec<String> = FORMATS.iter().map(|format| begin(format.name, format.about)).collect();
    check("Input formats", &begins);
}

#[test]
fn the_manual_lists_every_output_format() {
    let begins: Vec<String> = OUTPUT_FORMATS.iter().map(|format| format!("| `{}` | ", format.name)).collect();
    check("Output formats", &begins);
}

#[test]
fn the_texts_count_the_formats_as_the_registries_do() {
    const NUMBERS: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    let input = format!("{} formats", FORMATS.len());
    for path in ["docs/traces.md", "python/manometer/trace.py"] {
        let text = std::fs::read_to_string(repository_file(path)).unwrap();
        assert!(text.contains(&input), "{path} is not current: it is to say \"{input}\"");
    }
    let page = std::fs::read_to_string(repository_file("docs/traces.md")).unwrap().replace('\n', " ");
    let output = format!("writes {} formats", NUMBERS[OUTPUT_FORMATS.len()]);
    assert!(page.contains(&output), "docs/traces.md is not current: it is to say \"{output}\"");
}
