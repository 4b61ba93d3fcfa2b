//! Counts bytes for the decisions of `rlsm::plan`, without writing any: random keys are loaded, then updated uniformly.
//!
//! `simulator [VALUE_BYTES]` prints, for each size of the data in memory buffers and each way to flush, what is written
//! for each byte of the user's, the space taken for each byte that is not superseded, and the runs of a range.

#![allow(clippy::print_stdout, reason = "it is a program of its own")]

use rlsm::plan::{Balance, Load, PlanSettings, balance};

/// A memory buffer, in bytes; only ratios count.
const MEMTABLE: f64 = 1e6;

/// What a write takes in the log, as an item of the log's index, and in a run, for each byte of key and value.
struct Overheads {
    log: f64,
    index: f64,
    run: f64,
}

/// Measured on files of the engine, for keys of 16 bytes.
fn overheads(value_bytes: f64) -> Overheads {
    let user = 16.0 + value_bytes;
    Overheads { log: 1.0 + 12.0 / user, index: 12.0 / user, run: 1.0 + 6.0 / user }
}

#[derive(Clone, Copy)]
enum Flush {
    Copy,
    Index,
}

struct Range {
    /// Its share of all keys.
    width: f64,
    live: f64,
    stale: f64,
    runs: usize,
    dice: u64,
}

struct Database {
    settings: PlanSettings,
    overheads: Overheads,
    flush: Flush,
    ranges: Vec<Range>,
    level0: f64,
    written: f64,
    drawn: u64,
}

impl Database {
    fn new(value_bytes: f64, flush: Flush) -> Self {
        let settings = PlanSettings {
            memtable_bytes: MEMTABLE as u64,
            range_bytes: 2 * MEMTABLE as u64,
            split_ratio: 1.2,
            stale_ratio: 0.4,
        };
        let overheads = overheads(value_bytes);
        Self { settings, overheads, flush, ranges: Vec::new(), level0: 0.0, written: 0.0, drawn: 0 }
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    /// Fills one memory buffer, and compacts if that is due.
    fn fill(&mut self, is_update: bool) {
        let flushed = match self.flush {
            Flush::Copy => self.overheads.run,
            Flush::Index => self.overheads.index,
        };
        self.written += MEMTABLE * (self.overheads.log + flushed);
        self.level0 += MEMTABLE;
        let live: f64 = self.ranges.iter().map(|range| range.live + range.stale).sum();
        if self.level0 >= self.settings.batch_bytes(live as u64) as f64 {
            self.compact(is_update);
        }
    }

    fn compact(&mut self, is_update: bool) {
        let batch = std::mem::take(&mut self.level0);
        if self.ranges.is_empty() {
            let dice = self.draw();
            self.written += batch * self.overheads.run;
            self.ranges.push(Range { width: 1.0, live: batch, stale: 0.0, runs: 1, dice });
            return;
        }
        for range in std::mem::take(&mut self.ranges) {
            let added = batch * range.width;
            let (live, stale) =
                if is_update { (range.live, range.stale + added) } else { (range.live + added, range.stale) };
            let load = Load {
                bytes: (live + stale) as u64,
                stale_bytes: stale as u64,
                runs: range.runs + 1,
                dice: range.dice,
            };
            match balance(&self.settings, load) {
                Balance::Append => {
                    self.written += added * self.overheads.run;
                    self.ranges.push(Range { live, stale, runs: range.runs + 1, ..range });
                }
                Balance::Rewrite { parts } => {
                    self.written += live * self.overheads.run;
                    for _ in 0..parts {
                        let (share, dice) = (1.0 / parts as f64, self.draw());
                        self.ranges.push(Range {
                            width: range.width * share,
                            live: live * share,
                            stale: 0.0,
                            runs: 1,
                            dice,
                        });
                    }
                }
            }
        }
    }

    /// For each byte that is not superseded. The log of the memory buffer is there, too.
    fn space(&self) -> f64 {
        let live: f64 = self.ranges.iter().map(|range| range.live).sum();
        let held: f64 = self.ranges.iter().map(|range| range.live + range.stale).sum();
        let level0 = match self.flush {
            Flush::Copy => self.overheads.run,
            Flush::Index => self.overheads.log + self.overheads.index,
        };
        (held * self.overheads.run + self.level0 * level0 + MEMTABLE) / live.max(1.0)
    }

    fn runs(&self) -> f64 {
        self.ranges.iter().map(|range| range.runs).sum::<usize>() as f64 / self.ranges.len().max(1) as f64
    }
}

fn main() {
    let value_bytes = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100.0);
    println!("values of {value_bytes} bytes; written per byte of the user's, space per live byte, runs per range");
    for (name, flush) in [("copy", Flush::Copy), ("index", Flush::Index)] {
        for buffers in [50, 150, 350, 500] {
            let mut database = Database::new(value_bytes, flush);
            (0..buffers).for_each(|_| database.fill(false));
            let loaded = database.written / (f64::from(buffers) * MEMTABLE);
            // One round until superseded versions are spread evenly, then three that count.
            (0..buffers).for_each(|_| database.fill(true));
            let before = database.written;
            let (mut space, mut runs) = (0.0, 0.0);
            for _ in 0..3 * buffers {
                database.fill(true);
                space += database.space();
                runs += database.runs();
            }
            let rounds = f64::from(3 * buffers);
            println!(
                "{name:>5}, data of {buffers:>3} buffers: load {loaded:.2}, update {:.2}, space {:.2}, runs {:.1}",
                (database.written - before) / (rounds * MEMTABLE),
                space / rounds,
                runs / rounds
            );
        }
    }
}
