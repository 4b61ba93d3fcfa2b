//! Output that nobody reads: `manometer … | head -1`. No verb panics, and none changes its status.

use std::fs;

use manometer_testing::repository_file;

use crate::support::Scene;

/// A command of every verb, as text and as JSON where it has both; `OUT` is a new name for each run.
const COMMANDS: &[&str] = &[
    "--help",
    "run --help",
    "--version",
    "nonsense",
    "run short.toml --out OUT",
    "run short.toml --out OUT --format json",
    "run short.toml --dry-run",
    "run short.toml --dry-run --format json",
    "run no-such-experiment",
    "init OUT.toml",
    "experiments",
    "experiments --format json",
    "experiments quick",
    "prepare short.toml --dry-run",
    "prepare short.toml --dry-run --format json",
    "prepare short.toml",
    "report rec",
    "report rec --format json",
    "compare rec rec2",
    "compare rec rec2 --format json",
    "kv --engine null --records 100 --seconds 0.3 --dir OUT",
    "kv --engine null --records 100 --seconds 0.3 --dir OUT --format json",
    "kv --workload ycsb-c --engine null --records 100 --describe",
    "io --file OUT --file-size 1MiB --seconds 0.3 --interval 100ms",
    "io --file OUT --file-size 1MiB --seconds 0.3 --format json",
    "replay trace.txt --time full --engine null",
    "replay trace.txt --time full --engine null --format json",
    "trace info trace.txt",
    "trace info trace.txt --format json",
    "trace head trace.txt",
    "trace characterise trace.txt",
    "trace convert trace.txt OUT.csv",
    "cache curve trace.txt --policy lru",
    "cache curve trace.txt --policy lru --format json",
    "cache simulate trace.txt --policy lru --capacity 3",
    "import ycsb trace.txt --out OUT",
    "engines",
    "engines --format json",
    "rlsm verify nowhere",
    "rlsm stats nowhere --format json",
    "backpath --help",
    "cluster --help",
    "doctor .",
    "doctor . --format json",
    "watch . --once --interval 100ms",
    "watch . --format json --interval 100ms",
    "schema",
    "schema columns",
    "schema findings",
    "complete zsh",
    "complete bash",
    "man OUT",
    "array status",
    "lab guest",
    "worker",
];

fn scene() -> Scene {
    let scene = Scene::short();
    let trace: String = (0..200).map(|number| format!("read,{},{},100\n", number % 10, number * 100)).collect();
    scene.write("trace.txt", &trace);
    for out in ["rec", "rec2"] {
        scene.run(&format!("run short.toml --out {out}")).status(0);
    }
    scene
}

#[test]
fn no_verb_panics_or_changes_its_status_where_nobody_reads_its_output() {
    let scene = scene();
    for (index, command) in COMMANDS.iter().enumerate() {
        let words = |run: &str| command.replace("OUT", &format!("{run}-{index}"));
        let usual = scene.run(&words("usual"));
        let unread = scene.run_unread(&words("unread"));
        for word in ["panicked", "Broken pipe", "os error 32", "Traceback"] {
            assert!(!unread.err().contains(word), "`{command}`: {}", unread.err());
        }
        assert_eq!(unread.code(), usual.code(), "`{command}`: {}\n{}", unread.err(), usual.err());
        if command.starts_with("cluster") {
            // Python ends with a status of its own where it cannot print why the package is missing.
            continue;
        }
        let unheard = scene.run_unheard(&words("unheard"));
        assert_eq!(unheard.code(), usual.code(), "`{command}` with its standard error closed");
    }
}

#[test]
fn a_run_whose_viewer_has_gone_is_recorded_as_a_whole() {
    let scene = scene();
    scene.run_unread("run short.toml --out unread").status(0);
    scene.run_unheard("run short.toml --out unheard").status(0);
    for recording in ["unread", "unheard"] {
        assert!(scene.read(&format!("{recording}/events.jsonl")).contains("complete"), "{recording}");
        assert!(scene.path(&format!("{recording}/report.html")).exists(), "{recording}");
    }
}

#[test]
fn every_verb_is_in_the_list() {
    let readme = fs::read_to_string(repository_file("docs/index.md")).unwrap();
    let cells = readme.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    let verbs: Vec<String> =
        cells.flat_map(|cell| cell.split(',')).map(|verb| verb.trim().trim_matches('`').to_owned()).collect();
    assert!(verbs.len() > 15, "{verbs:?}");
    for verb in &verbs {
        let is_listed = COMMANDS.iter().any(|command| command.split(' ').next() == Some(verb));
        assert!(is_listed, "no command of `{verb}` is tested with a closed pipe");
    }
}
