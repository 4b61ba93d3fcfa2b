//! Crashes, I/O errors, flipped bits and killed processes: no durable write is ever lost, no batch is applied in part,
//! no damage goes undetected.
//!
//! `RLSM_CRASHES` sets the number of crashes (default: 1,000), `RLSM_CRASH_SEED` the first seed: set it to the one that
//! a failure printed.

mod crashes;
mod faults;
mod flips;
mod kills;
mod machine;

use crate::support::READS;
use rlsm::{Compression, Flush, Maintenance, Options, Sync};
use std::time::Duration;

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Small memtables, ranges, blocks and manifests, so that much happens with little data.
fn small(chance: &mut Xoshiro256PlusPlus, maintenance: Maintenance) -> (Options, Sync) {
    let compressions = [Compression::None, Compression::Lz4, Compression::Zstd];
    let syncs = [Sync::Always, Sync::Always, Sync::Never, Sync::Interval(Duration::from_millis(1))];
    // Syncs at an interval come from a thread: the run would not be deterministic.
    let choices = if maintenance == Maintenance::Inline { 3 } else { 4 };
    let sync = syncs[chance.random_range(0..choices)];
    let (flush, level0_compression) = match chance.random_range(0..2) {
        0 => (Flush::Index, Compression::None),
        _ => (Flush::Copy, compressions[chance.random_range(0..3)]),
    };
    let options = Options::new()
        .memtable_bytes(65_536)
        .range_bytes(65_536)
        .block_bytes(chance.random_range(512..5000))
        .flush(flush)
        .level0_compression(level0_compression)
        .level1_compression(compressions[chance.random_range(0..3)])
        .stale_ratio(chance.random_range(0.2..1.0))
        .compaction_bytes(30_000)
        .manifest_bytes(chance.random_range(0..3000))
        .cache_bytes(1 << 18)
        .sync(sync)
        .maintenance(maintenance);
    // Measured pressure would not be deterministic.
    let options = if chance.random_ratio(1, 2) { options.alternating_pressure() } else { options };
    (options.read(READS[chance.random_range(0..READS.len())]), sync)
}
