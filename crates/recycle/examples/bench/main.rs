//! Measures ways to use a file that is larger than memory; `benches/recycle.py` runs it. Not an example to learn from: for
//! that, see the documentation of the crate.
//!
//! `bench fill FILE BYTES` · `bench graph FILE SCALE` ·
//! `bench scan FILE way=map pattern=random write=0 threads=2 accesses=100000 memory=67108864` ·
//! `bench bfs FILE way=map threads=2 memory=67108864`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measuring program fails by panicking")]

mod bfs;
mod scan;
mod usage;
mod way;

use std::collections::HashMap;
use std::path::Path;

/// Settings as `name=value`.
struct Settings(HashMap<String, String>);

impl Settings {
    fn read(words: &[String]) -> Self {
        Self(
            words
                .iter()
                .map(|word| word.split_once('=').expect("name=value"))
                .map(|(a, b)| (a.into(), b.into()))
                .collect(),
        )
    }

    fn number(&self, name: &str, default: u64) -> u64 {
        self.0.get(name).map_or(default, |text| text.parse().expect("a number"))
    }

    fn word(&self, name: &str, default: &str) -> String {
        self.0.get(name).map_or(default, String::as_str).to_owned()
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let path = Path::new(&words[1]);
    match words[0].as_str() {
        "fill" => scan::fill(path, words[2].parse().unwrap()),
        "graph" => bfs::generate(path, words[2].parse().unwrap()),
        "scan" => scan::run(path, &Settings::read(&words[2..])),
        "bfs" => bfs::run(path, &Settings::read(&words[2..])),
        other => panic!("`{other}` is none of fill, graph, scan, bfs"),
    }
}
