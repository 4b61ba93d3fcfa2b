//! Crashes, faults, flipped bits and killed processes: nothing acknowledged as kept is ever lost, no batch is half
//! there, nothing damaged is taken for whole.
//!
//! `RLSM_CRASHES` says how many crashes are injected (1,000 if it does not), `RLSM_CRASH_SEED` begins with another
//! seed: one that a failure printed is tried first then.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod crashes;
mod faults;
mod flips;
mod history;
mod kills;
mod life;
mod points;
#[path = "../support/mod.rs"]
mod support;
mod work;

use rlsm::{Compression, Flush, Maintenance, Options, Sync};
use std::time::Duration;

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Small buffers, ranges, blocks and manifests, so that much happens with little data.
fn small(chance: &mut Xoshiro256PlusPlus, maintenance: Maintenance) -> (Options, Sync) {
    let compressions = [Compression::None, Compression::Lz4, Compression::Zstd];
    let syncs = [Sync::Always, Sync::Always, Sync::Never, Sync::Interval(Duration::from_millis(1))];
    // Syncs at an interval are a thread's: no two lives would be the same.
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
    // What is measured would not be the same every time.
    let options = if chance.random_ratio(1, 2) { options.squeezed_in_turns() } else { options };
    (options, sync)
}

/// A number that the environment gives.
fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`; it takes a whole number")))
}
