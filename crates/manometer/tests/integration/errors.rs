//! Errors: each is said once, all at once, and a missing permission has one status in every verb.

use crate::support::{SHORT, Scene};

/// A file of the kernel that nobody may read, and a folder in which nobody may create anything, not even root.
const UNREADABLE: &str = "/proc/sys/vm/compact_memory";
const UNWRITABLE: &str = "/sys/kernel";

/// Commands that need a file that they may not read or create.
fn forbidden() -> Vec<String> {
    let reading = [
        "run FILE --dry-run",
        "prepare FILE",
        "trace info FILE",
        "trace head FILE",
        "trace characterise FILE",
        "cache curve FILE --policy lru",
        "cache simulate FILE --policy lru --capacity 3",
        "replay FILE --engine null",
        "import ycsb FILE --out imported",
        "import flags FILE",
        "kv -P FILE --engine null --seconds 1",
    ];
    let writing = [
        "report rec --out FOLDER/new.html",
        "report rec --metrics FOLDER/new.prom",
        "compare rec rec2 --junit FOLDER/new.xml",
        "run short.toml --out FOLDER/out",
        "import db_bench bench.txt --out FOLDER/out",
        "init FOLDER/new.toml",
        "trace convert trace.txt FOLDER/new.csv",
    ];
    let reading = reading.iter().map(|words| words.replace("FILE", UNREADABLE));
    reading.chain(writing.iter().map(|words| words.replace("FOLDER", UNWRITABLE))).collect()
}

#[test]
fn what_is_not_permitted_has_one_status_in_every_verb() {
    let scene = Scene::short();
    scene.write("trace.txt", "read,1,0,100\nread,2,1,100\n");
    for out in ["rec", "rec2"] {
        scene.run(&format!("run short.toml --out {out}")).status(0);
    }
    scene.write("bench.txt", "readrandom   :       2.5 micros/op 100 ops/sec 30.0 seconds 3000 operations;\n");
    for words in forbidden() {
        let output = scene.run(&words);
        assert_eq!(output.code(), 2, "`{words}`: {}", output.err());
        assert_said_once(&words, &output.err());
    }
}

/// No part of an error between colons comes twice, and no line does.
#[track_caller]
fn assert_said_once(words: &str, text: &str) {
    for line in text.lines() {
        let parts: Vec<&str> = line.split(": ").filter(|part| part.len() > 8).collect();
        let repeated = parts.iter().enumerate().find(|(index, part)| parts[..*index].contains(part));
        assert!(repeated.is_none(), "`{words}` says {repeated:?} twice: {text}");
    }
    let lines: Vec<&str> = text.lines().filter(|line| line.len() > 20).collect();
    let repeated = lines.iter().enumerate().find(|(index, line)| lines[..*index].contains(line));
    assert!(repeated.is_none(), "`{words}` says {repeated:?} twice: {text}");
}

#[test]
fn other_errors_are_said_once() {
    let scene = Scene::short();
    scene.write("bad.toml", &SHORT.replace("records = 1000", "records = \"many\"").replace("[plan]", "[plna]"));
    for words in [
        "run bad.toml",
        "run none.toml",
        "report none",
        "compare none none",
        "trace info none.txt",
        "cache curve none.txt --policy lru",
        "replay none.txt --engine null",
        "import ycsb none.txt --out imported",
        "rlsm verify none",
        "kv --engine none --seconds 1",
        "kv --engine lmdb --seconds 1 --dir short.toml/x",
        "io --file short.toml/x --file-size 1MiB",
        "watch none",
    ] {
        let output = scene.run(words);
        assert_ne!(output.code(), 0, "`{words}`");
        assert_said_once(words, &output.err());
    }
}

#[test]
fn a_file_with_three_mistakes_reports_three_each_with_its_place() {
    let scene = Scene::new();
    let text = SHORT
        .replace("engine = \"null\"", "engin = \"null\"")
        .replace("records = 1000", "records = \"many\"")
        .replace("file_size = \"4MiB\"", "file_size = \"4 parsecs\"");
    scene.write("three.toml", &text);
    let output = scene.run("run three.toml --dry-run").status(2);
    let place = |line: &str| format!("three.toml:{}: ", text.lines().position(|one| one == line).unwrap() + 1);
    for line in ["engin = \"null\"", "records = \"many\"", "file_size = \"4 parsecs\""] {
        assert_eq!(output.err().matches(&place(line)).count(), 1, "{line}: {}", output.err());
    }
    assert_eq!(output.err().matches("three.toml:").count(), 6, "a message and a drawing each: {}", output.err());
}

#[test]
fn help_has_the_table_of_statuses() {
    Scene::new()
        .run("--help")
        .status(0)
        .out_has(&["Exit status, of every verb:\n    0  done", "  130  a second signal"]);
}
