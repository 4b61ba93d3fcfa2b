//! What the fuzzers have found interesting is read again, each file by its own reader and by content.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use manometer_trace::{FORMATS, ReadOptions, Trace, open};

/// A line may stand for more requests than anybody can wait for.
const BATCHES_MAX: usize = 64;

fn read(mut trace: Trace) {
    let mut batch = Vec::new();
    for _ in 0..BATCHES_MAX {
        match trace.reader.read(&mut batch) {
            Ok(0) => return,
            Ok(_) => {}
            Err(_) => return assert_eq!(trace.reader.read(&mut batch).unwrap(), 0),
        }
    }
}

#[test]
fn every_corpus_is_read_without_panic() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for format in FORMATS {
        let corpus = corpora.join(format!("trace_{}", format.name.replace('-', "_")));
        let files: Vec<_> = fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty(), "{} has no corpus", format.name);
        for file in files {
            for format in [Some(*format), None] {
                if let Ok(trace) = open(&file, &ReadOptions { format, keep_keys: true, ..ReadOptions::default() }) {
                    read(trace);
                }
            }
        }
    }
}

/// Every reader has a fuzz target of its own.
#[test]
fn every_format_has_a_fuzz_target() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/Cargo.toml")).unwrap();
    for format in FORMATS {
        assert!(manifest.contains(&format!("name = \"trace_{}\"", format.name.replace('-', "_"))), "{}", format.name);
    }
}
