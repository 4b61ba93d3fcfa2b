//! Simulates the compaction decisions of `rlsm::plan` by counting bytes: random keys are loaded, then updated
//! uniformly.
//!
//! `simulator [VALUE_BYTES]` prints write amplification, space amplification and the runs per range, for several sizes
//! of the data in memtables and both ways to flush.

#![allow(clippy::print_stdout, reason = "an example program prints its result")]

use rlsm::plan::{CompactionSettings, RangeAction, RangeLoad, plan_range};

/// The size of a memtable, in bytes. Only ratios matter.
const MEMTABLE: f64 = 1e6;

/// Bytes per byte of key and value: in the WAL, in the index of a log run, and in a run.
struct Overheads {
    log: f64,
    index: f64,
    run: f64,
}

/// Measured on files of the engine, with keys of 16 bytes.
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
    jitter: u64,
}

struct Database {
    settings: CompactionSettings,
    overheads: Overheads,
    flush: Flush,
    ranges: Vec<Range>,
    level0: f64,
    written: f64,
    drawn: u64,
}

impl Database {
    fn new(value_bytes: f64, flush: Flush) -> Self {
        let settings = CompactionSettings {
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

    /// Fills a memtable, and compacts if that is due.
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
            let jitter = self.draw();
            self.written += batch * self.overheads.run;
            self.ranges.push(Range { width: 1.0, live: batch, stale: 0.0, runs: 1, jitter });
            return;
        }
        for range in std::mem::take(&mut self.ranges) {
            let added = batch * range.width;
            let (live, stale) =
                if is_update { (range.live, range.stale + added) } else { (range.live + added, range.stale) };
            let load = RangeLoad {
                bytes: (live + stale) as u64,
                stale_bytes: stale as u64,
                runs: range.runs + 1,
                jitter: range.jitter,
            };
            match plan_range(&self.settings, load) {
                RangeAction::Append => {
                    self.written += added * self.overheads.run;
                    self.ranges.push(Range { live, stale, runs: range.runs + 1, ..range });
                }
                RangeAction::Rewrite { parts } => {
                    self.written += live * self.overheads.run;
                    for _ in 0..parts {
                        let (share, jitter) = (1.0 / parts as f64, self.draw());
                        self.ranges.push(Range {
                            width: range.width * share,
                            live: live * share,
                            stale: 0.0,
                            runs: 1,
                            jitter,
                        });
                    }
                }
            }
        }
    }

    /// Space amplification: bytes per live byte, including the WAL of the memtable.
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
    println!("values of {value_bytes} bytes: write amplification, space amplification, runs per range");
    for (name, flush) in [("copy", Flush::Copy), ("index", Flush::Index)] {
        for memtables in [50, 150, 350, 500] {
            let mut database = Database::new(value_bytes, flush);
            (0..memtables).for_each(|_| database.fill(false));
            let loaded = database.written / (f64::from(memtables) * MEMTABLE);
            // One round until superseded versions are spread evenly, then three that are measured.
            (0..memtables).for_each(|_| database.fill(true));
            let before = database.written;
            let (mut space, mut runs) = (0.0, 0.0);
            for _ in 0..3 * memtables {
                database.fill(true);
                space += database.space();
                runs += database.runs();
            }
            let rounds = f64::from(3 * memtables);
            println!(
                "{name:>5}, data of {memtables:>3} memtables: load {loaded:.2}, update {:.2}, space {:.2}, runs {:.1}",
                (database.written - before) / (rounds * MEMTABLE),
                space / rounds,
                runs / rounds
            );
        }
    }
}
