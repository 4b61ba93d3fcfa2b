//! The texts for people keep to the words of `docs/glossary.md`: the manual, help texts, messages, findings, charts and
//! Python's documentation have none of those that it replaced.

use std::path::{Path, PathBuf};
use std::process::Command;

use manometer_testing::manual::files;
use manometer_testing::{binary, repository_file};

/// Words that the field does not use for this, and what it uses.
const REPLACED: &[(&str, &str)] = &[
    ("asker", "request generator"),
    ("beside", "with, against, compared with, next to"),
    ("costs against", "costs compared with"),
    ("crew", "worker pool"),
    ("end of the interval", "end of the sample interval"),
    ("folder", "directory"),
    ("folders", "directories"),
    ("length of the interval", "length of the sample interval"),
    ("machine form", "JSON output"),
    ("parted", "separated, partitioned"),
    ("per interval", "per sample interval"),
    ("scribe", "recording writer"),
    ("stranger", "foreign process"),
    ("strangers", "foreign processes"),
    ("told", "reported, requested, distinguished"),
];

/// Where one of them is right: the end of the path, the word, and why.
const RIGHT: &[(&str, &str, &str)] = &[
    ("manometer-analysis/src/rules.rs", "stranger", "the former id of a finding, which old recordings have"),
    ("manometer-measure/src/event.rs", "stranger", "the former name of an event, which old recordings have"),
    ("manometer-measure/src/doctor/alignment.rs", "parted", "the program"),
];

/// A place, and a text in it that people read.
type Text = (String, String);

#[test]
fn texts_for_people_use_the_words_of_the_glossary() {
    let texts = [pages(), messages(), charts(), documentation_of_python(), help_texts()];
    let counts = texts.each_ref().map(Vec::len);
    assert!(counts.iter().all(|count| *count > 20), "pages, messages, charts, Python, help: {counts:?}");
    let wrong: Vec<String> = texts.iter().flatten().flat_map(|(place, text)| replaced_words(place, text)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_replaced_word_is_found_wherever_people_read_it() {
    let of = |text: &str| replaced_words("docs/new.md", &prose(text));
    assert_eq!(
        of("It runs Beside\nRocksDB."),
        ["docs/new.md: `beside`, instead of: with, against, compared with, next to"]
    );
    assert_eq!(of("The costs\nagainst it, (parted).").len(), 2);
    assert!(of("`stranger` is untold; besides, {folder} departed.").is_empty());
    let source = "/// It is told.\nfn f<'a>(quote: char) { if quote == '\"' { fail!(\"it is \\\n    told: {folder}\") } }\n\
                  const R: &str = r#\"a \"folder\"\"#; // told\n#[cfg(test)]\nmod tests { const T: &str = \"told\"; }\n";
    assert_eq!(literals(source).len(), 2, "{:?}", literals(source));
    let found: Vec<String> =
        literals(source).iter().flat_map(|text| replaced_words("src/a.rs", &prose(text))).collect();
    assert_eq!(found.len(), 2, "{found:?}");
}

/// The replaced words in `text`, unless they are right there.
fn replaced_words(place: &str, text: &str) -> Vec<String> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let words: Vec<&str> = text.split(|character| !is_word(character)).filter(|word| !word.is_empty()).collect();
    let line = format!(" {} ", words.join(" ").to_lowercase());
    let is_right = |word: &str| RIGHT.iter().any(|(end, right, _)| place.ends_with(end) && *right == word);
    let wrong = REPLACED.iter().filter(|(word, _)| line.contains(&format!(" {word} ")) && !is_right(word));
    wrong.map(|(word, instead)| format!("{place}: `{word}`, instead of: {instead}")).collect()
}

/// `text` without code in back-quotes and without placeholders in braces.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    for (at, part) in text.split('`').enumerate() {
        prose.push_str(if at % 2 == 0 { part } else { " " });
    }
    let mut depth = 0_usize;
    prose.retain(|character| {
        let was_inside = depth > 0;
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        !was_inside && depth == 0
    });
    prose
}

/// The content of a file under its path in the repository.
fn read(path: &Path) -> Text {
    let place = path.strip_prefix(repository_file("")).unwrap().display().to_string();
    (place, std::fs::read_to_string(path).unwrap())
}

/// The manual, without code in a line. The changelog quotes what earlier versions printed.
fn pages() -> Vec<Text> {
    let mut pages = files("docs", &[".md"]);
    pages.extend(files("crates", &["README.md"]));
    pages.extend(["README.md", "CONTRIBUTING.md"].map(repository_file));
    let paragraphs = |path: &PathBuf| -> Vec<Text> {
        let (place, text) = read(path);
        text.split("\n\n").map(|paragraph| (place.clone(), prose(paragraph))).collect()
    };
    pages.iter().flat_map(paragraphs).collect()
}

/// The texts in the code of the crates: messages, findings, captions, descriptions of columns and settings.
fn messages() -> Vec<Text> {
    let sources = files("crates", &[".rs"]).into_iter().map(|path| read(&path));
    let is_for_people = |place: &str| {
        place.contains("/src/") && !place.ends_with("tests.rs") && !place.starts_with("crates/manometer-testing/")
    };
    let sources = sources.filter(|(place, _)| is_for_people(place));
    sources
        .flat_map(|(place, source)| {
            literals(&source).into_iter().map(move |text| (place.clone(), prose(&text))).collect::<Vec<_>>()
        })
        .collect()
}

/// The string literals of a Rust source, without those of its tests.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'', '/', 'r']) {
        let (before, from) = rest.split_at(at);
        let is_part = before.ends_with(|character: char| character.is_alphanumeric() || character == '_');
        let length = match from.as_bytes() {
            [b'/', b'/', ..] => from.find('\n').unwrap_or(from.len()),
            [b'r', b'"' | b'#', ..] if !is_part => raw_literal(from, &mut found),
            [b'\'', b'\\', ..] => 3 + from[3..].find('\'').map_or(0, |end| end + 1),
            [b'\'', ..] if from.chars().nth(2) == Some('\'') => 1 + from[1..].find('\'').unwrap() + 1,
            [b'"', ..] => literal(from, &mut found),
            _ => 1,
        };
        rest = &from[length..];
    }
    found
}

/// Adds the literal at the start of `from`, its lines joined as the compiler joins them, and returns its length.
fn literal(from: &str, found: &mut Vec<String>) -> usize {
    let mut text = String::new();
    let mut characters = from.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                found.push(text);
                return at + 1;
            }
            '\\' => match characters.next() {
                Some((_, '\n')) => while characters.next_if(|(_, space)| space.is_whitespace()).is_some() {},
                Some((_, 'n' | 't')) => text.push(' '),
                Some((_, escaped)) => text.push(escaped),
                None => {}
            },
            _ => text.push(character),
        }
    }
    from.len()
}

/// Adds the raw literal at the start of `from`, if there is one, and returns its length.
fn raw_literal(from: &str, found: &mut Vec<String>) -> usize {
    let hashes = from[1..].bytes().take_while(|byte| *byte == b'#').count();
    let end = format!("\"{}", "#".repeat(hashes));
    let Some(text) = from[1 + hashes..].strip_prefix('"') else { return 1 };
    let length = text.find(&end).unwrap_or(text.len());
    found.push(text[..length].to_owned());
    from.len().min(2 + hashes + length + end.len())
}

fn charts() -> Vec<Text> {
    files("charts", &[".vl.json"]).iter().map(|path| read(path)).collect()
}

/// The documentation strings of the package and its stubs.
fn documentation_of_python() -> Vec<Text> {
    let sources = files("python/manometer", &[".py", ".pyi"]).into_iter().map(|path| read(&path));
    sources
        .flat_map(|(place, source)| {
            let strings: Vec<&str> = source.split("\"\"\"").skip(1).step_by(2).collect();
            strings.into_iter().map(|text| (place.clone(), prose(text))).collect::<Vec<_>>()
        })
        .collect()
}

/// The `--help` of the program and of every verb.
fn help_texts() -> Vec<Text> {
    let mut texts = Vec::new();
    let mut pending = vec![String::new()];
    while let Some(verb) = pending.pop() {
        let mut command = Command::new(binary("manometer"));
        let output = command.args(verb.split_whitespace()).arg("--help").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let verbs = text.split("\nCommands:\n").nth(1).and_then(|list| list.split("\n\n").next()).unwrap_or_default();
        let names = verbs.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        // Python writes the help of `cluster`, whose documentation is read as such.
        let names = names.filter(|name| !["help", "cluster"].contains(name));
        pending.extend(names.map(|name| format!("{verb} {name}")));
        texts.push((format!("manometer{verb} --help"), prose(&text)));
    }
    texts
}
