//! Every command in the manual runs: on small inputs under the names that the page uses, and shortened. Its exit status and
//! the shape of its output are those that the page, or the table here, promises.
//!
//! A command that cannot run in a test is in [`table::NOT_RUN`] with the reason; that it parses is tested in
//! `main_tests.rs` as for all others.

mod inputs;
mod table;

use std::collections::BTreeSet;

use manometer_testing::manual::{fenced_blocks, files};
use manometer_testing::{installed, repository_file};

use self::inputs::scene;
use self::table::{COMMANDS, Command, NOT_RUN, NOT_RUN_COUNT, SHORTER};

/// A command of the manual, and the output that the page shows below it.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    page: String,
    line: String,
    output: Vec<String>,
}

/// The commands in a page's blocks. In a block with `$` the other lines are output.
fn commands(page: &str, text: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    for block in fenced_blocks(text) {
        let block = block.replace("\\\n", " ");
        let is_session = block.lines().any(|line| line.starts_with("$ "));
        let mut is_below = false;
        for line in block.lines() {
            let typed = line.trim().strip_prefix("$ ").or((!is_session).then_some(line.trim()));
            match typed {
                Some(typed) => {
                    is_below =
                        typed.trim_start_matches("sudo ").starts_with("manometer ") && !typed.contains("manometer (");
                    if is_below {
                        found.push(Shown { page: page.to_owned(), line: without_comment(typed), output: Vec::new() });
                    }
                }
                None if is_below => found.last_mut().unwrap().output.push(line.to_owned()),
                None => {}
            }
        }
    }
    found
}

/// A shell line with single spaces and without its comment.
fn without_comment(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().take_while(|word| *word != "#").collect();
    words.join(" ")
}

fn shown() -> Vec<Shown> {
    let root = repository_file("");
    let pages = files("docs", &[".md"]).into_iter().chain([repository_file("README.md")]);
    pages
        .flat_map(|path| {
            let page = path.strip_prefix(&root).unwrap().display().to_string();
            commands(&page, &std::fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// What a line of output is like: its first word, with `#` for every number. `None` for what is left out.
fn shape(line: &str) -> Option<String> {
    let word = line.split_whitespace().next().filter(|word| !word.starts_with('…'))?;
    Some(with_signs(word.trim_end_matches(':')))
}

fn with_signs(text: &str) -> String {
    let mut signs = String::new();
    for letter in text.chars() {
        let is_number = letter.is_ascii_digit() || (signs.ends_with('#') && matches!(letter, '.' | ','));
        if !is_number {
            signs.push(letter);
        } else if !signs.ends_with('#') {
            signs.push('#');
        }
    }
    signs
}

/// Runs the command as the page has it, but shorter.
fn check(scene: &crate::support::Scene, shown: &Shown, command: &Command) {
    if command.needs.iter().any(|program| !installed(program)) {
        return;
    }
    let line = SHORTER.iter().fold(shown.line.clone(), |line, (long, short)| line.replace(long, short));
    let line = command.instead.iter().fold(line, |line, (long, short)| {
        assert!(line.contains(long), "{}: `{long}` is not in `{line}`", shown.page);
        line.replace(long, short)
    });
    let output = scene.shell(&line);
    let text = output.out() + &output.err();
    let place = format!("{}: `{line}`", shown.page);
    assert!(command.statuses.contains(&output.code()), "{place} ended with {}:\n{text}", output.code());
    for words in command.prints {
        assert!(text.contains(words), "{place} does not print `{words}`:\n{text}");
    }
    let printed: BTreeSet<String> = text.lines().filter_map(shape).collect();
    for line in &shown.output {
        let Some(shape) = shape(line) else { continue };
        assert!(printed.contains(&shape), "{place} prints no line like `{line}` ({shape}):\n{text}");
    }
}

/// Runs those of the commands whose page's name begins so, in the order of the page, in one directory for each page.
fn run_all(is_here: impl Fn(&str) -> bool) {
    let shown = shown();
    let pages: BTreeSet<&str> = shown.iter().map(|one| one.page.as_str()).filter(|page| is_here(page)).collect();
    for page in pages {
        let scene = scene();
        for one in shown.iter().filter(|one| one.page == page) {
            if let Some(command) = COMMANDS.iter().find(|command| command.line == one.line) {
                check(&scene, one, command);
            }
        }
    }
}

#[test]
fn commands_of_the_task_pages_run() {
    run_all(|page| page.starts_with("docs/tasks/") || page == "README.md");
}

#[test]
fn commands_of_the_pages_on_caches_run() {
    run_all(|page| page.starts_with("docs/cache"));
}

#[test]
fn commands_of_the_pages_on_traces_run() {
    run_all(|page| {
        ["docs/replay", "docs/traces", "docs/real", "docs/watch"].iter().any(|start| page.starts_with(start))
    });
}

#[test]
fn commands_of_the_pages_on_workloads_run() {
    run_all(|page| {
        ["docs/kv", "docs/db_bench", "docs/io", "docs/workloads", "docs/pacing"]
            .iter()
            .any(|start| page.starts_with(start))
    });
}

#[test]
fn commands_of_all_other_pages_run() {
    let elsewhere = [
        "docs/tasks/",
        "README",
        "docs/cache",
        "docs/replay",
        "docs/traces",
        "docs/real",
        "docs/watch",
        "docs/kv",
        "docs/db_bench",
        "docs/io",
        "docs/workloads",
        "docs/pacing",
    ];
    run_all(|page| !elsewhere.iter().any(|start| page.starts_with(start)));
}

#[test]
fn every_command_of_the_manual_is_in_one_of_the_tables() {
    let shown: BTreeSet<String> = shown().into_iter().map(|one| one.line).collect();
    let run = COMMANDS.iter().map(|command| command.line.to_owned());
    let not_run = NOT_RUN.iter().map(|(line, _)| (*line).to_owned());
    let listed: Vec<String> = run.chain(not_run).collect();
    let set: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(set.len(), listed.len(), "a command is in the tables twice");
    let missing: Vec<&String> = shown.difference(&set).collect();
    assert!(missing.is_empty(), "add to COMMANDS, or with a reason to NOT_RUN: {missing:#?}");
    let gone: Vec<&String> = set.difference(&shown).collect();
    assert!(gone.is_empty(), "no page has these any more: {gone:#?}");
    assert_eq!(NOT_RUN.len(), NOT_RUN_COUNT, "commands that do not run must become fewer, not more");
}

#[test]
fn a_command_and_the_output_below_it_are_found() {
    let page =
        "```sh\nmanometer a b \\\n    c   # why\nls\n```\n```console\n$ sudo manometer d\nrate: 5\n…\n$ ls\nx\n```\n";
    let found = commands("p", page);
    assert_eq!(found.iter().map(|one| one.line.as_str()).collect::<Vec<_>>(), ["manometer a b c", "sudo manometer d"]);
    assert_eq!(found[1].output, ["rate: 5", "…"]);
    assert_eq!(shape("rate: 5"), Some("rate".to_owned()));
    assert_eq!(shape("  w12   1,234.5 ops/s"), Some("w#".to_owned()));
    assert_eq!((shape("…"), shape("1,234.5 a")), (None, Some("#".to_owned())));
}
