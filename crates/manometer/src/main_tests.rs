//! The verbs, the help texts and the manual agree: every verb has an example, and every example parses.

use clap::{Command, CommandFactory as _, Parser as _};
use manometer_testing::manual::{fenced_blocks, files};
use manometer_testing::repository_file;

use super::Cli;

/// The commands in `text`, as words: from each `manometer` at the start of a line or of a shell command.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let starts = text.lines().flat_map(|line| line.split("; ")).map(|part| {
        let part = part.trim_start().trim_start_matches("$ ").trim_start_matches("sudo ");
        part.trim_start_matches("Example: ").to_owned()
    });
    starts
        .filter(|part| part.starts_with("manometer ") && !part.starts_with("manometer ("))
        .map(|part| words(&part))
        .collect()
}

/// The words of a shell command, up to a comment, a redirection or a pipe.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in command.chars().chain([' ']) {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, ' ') if word.is_empty() => {}
            (None, ' ') if ["#", ">", "|", "||", "&&"].contains(&word.as_str()) => return words,
            // A pattern matches several files.
            (None, ' ') if word.contains('*') => {
                words.extend(["1", "2"].map(|file| word.replace('*', file)));
                word.clear();
            }
            (None, ' ') => words.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words
}

#[track_caller]
fn assert_all_parse(place: &str, text: &str) -> usize {
    let commands = commands(text);
    for words in &commands {
        if let Err(error) = Cli::try_parse_from(words)
            && error.use_stderr()
        {
            panic!("{place}: `{}`: {error}", words.join(" "));
        }
    }
    commands.len()
}

fn assert_examples(command: &Command, path: &str) {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        let path = format!("{path} {}", verb.get_name());
        let after = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(assert_all_parse(&path, &after) > 0, "`{path} --help` has no example");
        assert!(verb.get_about().is_some(), "`{path} --help` does not say what it does");
        assert_examples(verb, &path);
    }
}

#[test]
fn every_verb_has_an_example_that_parses() {
    assert_examples(&Cli::command(), "manometer");
}

#[test]
fn the_manual_lists_every_verb_and_no_other() {
    let page = std::fs::read_to_string(repository_file("docs/index.md")).unwrap();
    let cells = page.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    let listed: Vec<&str> = cells.flat_map(|cell| cell.split(',')).map(|verb| verb.trim().trim_matches('`')).collect();
    let command = Cli::command();
    let verbs: Vec<&str> =
        command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(|verb| verb.get_name()).collect();
    for verb in &verbs {
        assert!(listed.contains(verb), "the tables of docs/index.md have no row for `{verb}`");
    }
    for verb in &listed {
        // A build without an engine lacks its verb.
        assert!(verbs.contains(verb) || !cfg!(feature = "rlsm"), "docs/index.md lists `{verb}`, which is not a verb");
    }
}

#[test]
fn every_command_in_the_manual_parses() {
    let count: usize = files("docs", &[".md"])
        .into_iter()
        .chain([repository_file("README.md")])
        .map(|page| {
            let text = std::fs::read_to_string(&page).unwrap();
            assert_all_parse(&page.display().to_string(), &fenced_blocks(&text).concat())
        })
        .sum();
    assert!(count > 20, "only {count} commands were found in the manual");
}
