//! Reads the fuzzers' corpora, each file by its own reader and by content.

use std::fs;

use manometer_testing::repository_file;
use manometer_trace::{FORMATS, Format, ReadOptions, Trace, open};

/// The most batches that are read: a line may stand for very many requests.
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
    let corpora = repository_file("fuzz/corpus");
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

/// A fuzz target and its corpus are named after their format (`fuzz/src/lib.rs`).
#[test]
fn every_corpus_of_a_trace_belongs_to_a_format() {
    for entry in fs::read_dir(repository_file("fuzz/corpus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(format) = name.strip_prefix("trace_").filter(|format| *format != "any") else { continue };
        assert!(Format::find(&format.replace('_', "-")).is_ok(), "{name}");
    }
}
