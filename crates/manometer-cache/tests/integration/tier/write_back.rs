//! Write-back of bcache: what may become dirty, and when it is cleaned.

use std::sync::Arc;

use manometer_cache::tier::workload::{BlockOperation, TraceRequest, TraceRequests, TraceSettings};
use manometer_cache::tier::{Arrangement, TierLoad, TierResult, run};

use super::shipped;

const MIB: u64 = 1 << 20;
const SECOND: u64 = 1_000_000_000;
/// The room for data of 64 MiB: 1/128 is metadata, 1/64 is kept free.
const ROOM: f64 = 64.0 * (1.0 - 1.0 / 128.0) * (1.0 - 1.0 / 64.0);

/// 64 MiB of bcache in buckets of 64 KiB, without bypass.
fn bcache() -> Arrangement {
    let mut arrangement = Arrangement { scale: 1, ..shipped("bcache-1s-1h") };
    let cache = arrangement.cache.as_mut().unwrap();
    (cache.size, cache.bucket) = ("64MiB".parse().unwrap(), Some("64KiB".parse().unwrap()));
    (cache.sequential, cache.congested) = (None, None);
    arrangement
}

/// Does what is requested at its time.
fn at_times(arrangement: &Arrangement, is_direct: bool, requests: Vec<TraceRequest>) -> TierResult {
    let trace = TraceRequests { requests, bytes: 513 * MIB, streams: 1, are_timed: true, ..TraceRequests::default() };
    run(arrangement, &TierLoad::Trace(Arc::new(trace), TraceSettings { threads: None, is_direct })).unwrap()
}

fn request(time_ns: u64, offset: u64, bytes: u32, kind: BlockOperation) -> TraceRequest {
    TraceRequest { time_ns, offset, bytes, stream: 0, kind }
}

/// Writes `mib` from 0 on, 64 KiB every 10 ms, and reads elsewhere at the times `reads_s`.
fn write_then_read(arrangement: &Arrangement, mib: u64, is_direct: bool, reads_s: &[u64]) -> TierResult {
    let writes = (0..mib * 16).map(|at| request(at * SECOND / 100, at << 16, 1 << 16, BlockOperation::Write));
    let reads = reads_s.iter().map(|s| request(s * SECOND, 512 * MIB, 4096, BlockOperation::Read));
    at_times(arrangement, is_direct, writes.chain(reads).collect())
}

/// MiB that requests wrote to the origin, and that were cleaned.
fn written(result: &TierResult) -> (f64, f64) {
    let mib = |bytes: u64| bytes as f64 / MIB as f64;
    (mib(result.flows.file.origin_written), mib(result.flows.cleaning.origin_written))
}

#[test]
fn writes_reach_the_origin_too_above_70_percent_of_the_buckets_in_use_or_40_of_background_writes() {
    let mut arrangement = bcache();
    // Nothing is cleaned: dirty data may be all of it.
    arrangement.cache.as_mut().unwrap().clean_above = Some("99%".parse().unwrap());
    let (through, cleaned) = written(&write_then_read(&arrangement, 128, true, &[]));
    assert!((through - (128.0 - 0.71 * ROOM)).abs() < 0.02 * ROOM && cleaned < 2.0, "{through} {cleaned}");
    let in_background = write_then_read(&arrangement, 128, false, &[20, 40, 60, 80]);
    let (through, cleaned) = written(&in_background);
    assert!((through - (128.0 - 0.41 * ROOM)).abs() < 0.04 * ROOM && cleaned < 2.0, "{through} {cleaned}");
}

/// MiB that are cleaned until `end_s` of `mib` that are dirty after 30 s, while requests come: a plain sum of the controller.
fn cleaned_until(end_s: u64, mib: f64) -> f64 {
    let target = 64.0 * 0.1 * 2048.0;
    let (mut dirty, mut accumulated) = (mib * 2048.0, 0.0);
    for at in (30..end_s).step_by(5) {
        let error: f64 = dirty - target;
        if (error > 0.0 && at > 30) || (error < 0.0 && accumulated > 0.0) {
            accumulated += error * 5.0;
        }
        let per_s = (error / 40.0 + accumulated / 10_000.0).max(8.0);
        dirty = (dirty - 5.0 * per_s).max(0.0);
    }
    mib - dirty / 2048.0
}

#[test]
fn dirty_data_is_cleaned_as_fast_as_the_controller_says_after_a_first_pause() {
    for end_s in [45, 60, 100, 200] {
        let reads: Vec<u64> = (4..=end_s / 2).map(|at| at * 2).collect();
        let (through, cleaned) = written(&write_then_read(&bcache(), 32, true, &reads));
        let expected = cleaned_until(end_s, 32.0);
        assert!(through == 0.0 && (cleaned - expected).abs() < 1.0, "{end_s} s: {through} {cleaned} {expected}");
    }
}

#[test]
fn an_idle_cache_is_cleaned_without_a_limit() {
    let (_, cleaned) = written(&write_then_read(&bcache(), 32, true, &[200]));
    assert!((cleaned - 32.0).abs() < 0.01, "{cleaned}");
}

#[test]
fn parts_of_dirty_blocks_are_written_through_and_never_push_dirty_data_out() {
    // 20 MiB of 64 are dirty at the start; parts of them, and of others, are written until all buckets would be in use.
    let whole = (0..320).map(|at| request(at * SECOND / 100, at << 16, 1 << 16, BlockOperation::Write));
    let place = |at: u64| at * 7919 % 40_000 * 4096;
    let parts = (0..60_000).map(|at| request(4 * SECOND + at * 10_000, place(at), 1024, BlockOperation::Write));
    let result = at_times(&bcache(), true, whole.chain(parts).collect());
    assert_eq!(result.flows.demotion.origin_written, 0);
    assert!(result.flows.file.origin_written > 0, "some are written through");
}

#[test]
fn what_is_rewritten_before_its_turn_is_not_written_back() {
    // At the least rate, nothing of what is written again and again has its turn.
    let rewrites = |period_ms: u64| {
        let writes = (0..120_000 / period_ms)
            .map(|at| request(at * period_ms * 1_000_000, at % 64 * 128 * 1024, 4096, BlockOperation::Write));
        written(&at_times(&bcache(), true, writes.collect())).1
    };
    let (often, seldom) = (rewrites(20), rewrites(2000));
    assert!(often < 0.5 * seldom, "{often} {seldom}");
}

#[test]
fn a_write_past_the_cache_does_not_overtake_a_block_that_is_being_written_back() {
    let mut arrangement = bcache();
    arrangement.cache.as_mut().unwrap().sequential =
        serde_json::from_str("{ \"bytes\": \"64KiB\", \"synchronous_writes\": true }").unwrap();
    let requests = vec![
        request(0, 40_960, 4096, BlockOperation::Write),
        request(20_000, 0, 1 << 16, BlockOperation::Write),
        request(20 * SECOND, 40_960, 4096, BlockOperation::Read),
    ];
    let result = at_times(&arrangement, true, requests);
    assert_eq!((result.flows.file.origin_written, result.read_hit_ratio), (15 * 4096, Some(1.0)));
}
