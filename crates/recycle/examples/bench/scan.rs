//! The synthetic benchmark of Song 2018, section 4.1.1: threads touch a word of each page, in order or not.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use recycle::PAGE_BYTES;

use crate::Settings;
use crate::usage::{Usage, waited_ns};
use crate::way::Way;

const PAGE: u64 = PAGE_BYTES as u64;

/// Writes a file of random bytes, which no device can compress.
pub fn fill(path: &Path, bytes: u64) {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(bytes);
    let mut file = File::create(path).unwrap();
    let mut buffer = vec![0; 1 << 20];
    for _ in 0..bytes >> 20 {
        chance.fill_bytes(&mut buffer);
        file.write_all(&buffer).unwrap();
    }
    file.sync_all().unwrap();
}

/// Touches as many pages as told, after others that fill memory.
pub fn run(path: &Path, settings: &Settings) {
    let pages = std::fs::metadata(path).unwrap().len() / PAGE;
    let way = Way::open(path, settings);
    let threads = settings.number("threads", 1);
    let accesses = settings.number("accesses", 100_000) / threads;
    let is_random = settings.word("pattern", "random") == "random";
    let is_write = settings.number("write", 0) == 1;
    let seed = settings.number("seed", 1);
    let warmup = settings.number("warmup", accesses / 10) / threads;
    touch_all(&way, pages, threads, warmup, is_random, is_write, seed);
    let before = Usage::now(way.counters());
    let waited_ns = touch_all(&way, pages, threads, accesses, is_random, is_write, seed + 1_000);
    println!("{}", before.report(accesses * threads, threads, waited_ns, way.counters()));
}

/// Returns how long the threads waited for a processor.
fn touch_all(way: &Way, pages: u64, threads: u64, accesses: u64, is_random: bool, is_write: bool, seed: u64) -> u64 {
    let work = |thread: u64| {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed * 100 + thread);
        // In order, each thread has its own part of the file.
        let (first, count) = (thread * pages / threads, pages / threads);
        for number in 0..accesses {
            let page = if is_random { chance.next_u64() % pages } else { first + number % count };
            let place = page * PAGE + chance.next_u64() % (PAGE / 8) * 8;
            if is_write {
                way.write(place, number);
            } else {
                std::hint::black_box(way.read(place));
            }
        }
        waited_ns()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                let work = &work;
                scope.spawn(move || work(thread))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}
