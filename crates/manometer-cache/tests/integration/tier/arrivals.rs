//! What is on its way into memory or into the cache is not there yet.

use manometer_cache::tier::workload::BlockOperation::{Read, Write};
use manometer_cache::tier::{Arrangement, TierResult};

use super::{TestStep, run_steps, shipped};

const BLOCK: u64 = 256 << 10;
/// Where the arm of a disk has to go to.
const FAR: u64 = 100 << 20;

fn cached(block: &str) -> Arrangement {
    let mut arrangement = shipped("dmcache-1s-1h");
    let cache = arrangement.cache.as_mut().unwrap();
    (cache.policy, cache.block) = ("lru".parse().unwrap(), block.parse().unwrap());
    arrangement
}

fn at_once(arrangement: &Arrangement, steps: &[TestStep]) -> TierResult {
    run_steps(arrangement, steps.len() as u32, true, steps)
}

#[test]
fn a_page_that_is_being_read_is_no_hit_and_is_read_once() {
    let outcome = run_steps(&shipped("1h"), 2, false, &[(Read, FAR, 8192), (Read, FAR + 4096, 4096)]);
    assert_eq!((outcome.ram_hit_ratio, outcome.flows.file.origin_read), (Some(0.0), 8192));
    // Both waited for the disk.
    assert!(outcome.latency_mean_us > 500.0, "{}", outcome.latency_mean_us);
}

#[test]
fn who_wants_a_block_that_is_being_copied_waits_until_it_is_there() {
    let outcome = at_once(&cached("256KiB"), &[(Read, 0, 4096), (Read, 8192, 4096), (Write, 16384, 4096)]);
    assert_eq!((outcome.hit_ratio, outcome.flows.promotion.origin_read), (Some(0.0), BLOCK));
    let file = outcome.flows.file;
    assert_eq!((file.origin_read, file.cache_read, file.cache_written), (0, 8192, 4096));
    let after = run_steps(&cached("256KiB"), 1, true, &[(Read, 0, 4096), (Read, 8192, 4096)]);
    assert_eq!(after.hit_ratio, Some(0.5));
}

#[test]
fn a_block_that_is_kept_of_what_was_read_comes_from_the_origin_until_it_is_there() {
    let outcome = at_once(&cached("4KiB"), &[(Read, 0, 4096), (Read, 0, 4096)]);
    assert_eq!((outcome.hit_ratio, outcome.flows.file.origin_read), (Some(0.0), 8192));
    assert_eq!((outcome.flows.file.cache_read, outcome.flows.promotion.cache_written), (0, 4096));
}

#[test]
fn what_is_written_while_a_block_is_on_its_way_counts() {
    let whole = at_once(&cached("4KiB"), &[(Read, 0, 4096), (Write, 0, 4096), (Read, 0, 4096)]);
    assert_eq!((whole.flows.file.cache_written, whole.flows.file.cache_read), (4096, 4096));
    let part = at_once(&cached("8KiB"), &[(Read, 0, 8192), (Write, 0, 4096), (Read, 0, 8192)]);
    assert_eq!((part.flows.file.origin_written, part.flows.file.cache_read), (4096, 0));
}
