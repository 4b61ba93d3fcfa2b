//! Replays the corpora of the measuring half's fuzz targets, as they are and damaged: what is refused causes no panic.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use manometer_testing::repository_file;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use self::measuring::Reader;

#[path = "../../../../fuzz/src/measuring.rs"]
mod measuring;

/// The damages of each file.
fn damages() -> u64 {
    std::env::var("DAMAGES").map_or(40, |damages| damages.parse().unwrap())
}

/// One of the things that happen to a file, or that a stranger does to it.
fn damaged(bytes: &[u8], noise: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    let at = noise.random_range(0..bytes.len());
    let digits: Vec<usize> = (0..bytes.len()).filter(|index| bytes[*index].is_ascii_digit()).collect();
    match (noise.random_range(0..7), digits.is_empty()) {
        (0, _) => damaged.truncate(at),
        (1, _) => damaged[at..].fill(0),
        (2, _) => damaged[at..].iter_mut().take(64).for_each(|byte| *byte = noise.random()),
        (3, _) => damaged.extend_from_slice(&bytes[at..]),
        (4 | 5, false) => {
            let numbers = ["-1", "0", "1e308", "18446744073709551615", "9007199254740993", "nan", "\"\"", "null", "[]"];
            let digit = digits[noise.random_range(0..digits.len())];
            let number = numbers[noise.random_range(0..numbers.len())];
            damaged.splice(digit..=digit, number.bytes());
        }
        _ => damaged.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << noise.random_range(0..8)),
    }
    damaged
}

#[test]
fn no_file_causes_a_panic() {
    let corpora = repository_file("fuzz/corpus");
    for name in Reader::names() {
        let reader = Reader::find(&name).unwrap();
        let files = fs::read_dir(corpora.join(&name)).into_iter().flatten();
        let inputs: Vec<Vec<u8>> = files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for (number, input) in inputs.iter().enumerate() {
            let mut noise = Xoshiro256PlusPlus::seed_from_u64(number as u64);
            let damages = (0..damages()).map(|_| damaged(input, &mut noise));
            for bytes in [input.clone()].into_iter().chain(damages) {
                let read = catch_unwind(AssertUnwindSafe(|| reader.read(&bytes)));
                assert!(read.is_ok(), "{name} panics at {:?}", String::from_utf8_lossy(&bytes));
            }
        }
    }
}

/// The targets of the other crates have tests of their own.
#[test]
fn every_corpus_has_its_target() {
    for entry in fs::read_dir(repository_file("fuzz/corpus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_of_a_crate = ["trace_", "rlsm_", "recycle_", "backpath_"].iter().any(|begin| name.starts_with(begin));
        assert!(is_of_a_crate || Reader::find(&name).is_some(), "{name}");
    }
}
