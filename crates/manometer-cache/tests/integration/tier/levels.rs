//! The levels: memory, and the SSD before the origin.

use manometer_cache::tier::{Arrangement, TierLoad, WriteMode, run_with_progress};

use super::{small, under};

fn with_mode(name: &str, mode: WriteMode) -> Arrangement {
    let mut arrangement = small(name);
    arrangement.cache.as_mut().unwrap().mode = mode;
    arrangement
}

#[test]
fn a_run_is_the_same_every_time_and_another_with_another_seed() {
    let arrangement = small("bcache-1s-4h0");
    let [first, again] = [0, 1].map(|_| serde_json::to_string(&under(&arrangement, "varmail")).unwrap());
    assert_eq!(first, again);
    let other = Arrangement { seed: 2, ..arrangement };
    assert_ne!(serde_json::to_string(&under(&other, "varmail")).unwrap(), first);
}

#[test]
fn what_is_written_through_reaches_the_origin_and_what_is_written_around_only_that() {
    let through = under(&with_mode("bcache-1s-1h", WriteMode::WriteThrough), "write-64KiB");
    let around = under(&with_mode("bcache-1s-1h", WriteMode::WriteAround), "write-64KiB");
    let back = under(&with_mode("bcache-1s-1h", WriteMode::WriteBack), "write-64KiB");
    // What was requested before the measurement may end within it.
    let near = |bytes: u64, outcome: &manometer_cache::tier::TierResult| {
        bytes.abs_diff(outcome.requests * 65536) <= 64 * 65536
    };
    assert!(near(through.flows.file.origin_written, &through) && near(through.flows.file.cache_written, &through));
    assert!(near(around.flows.file.origin_written, &around) && around.flows.file.cache_written == 0);
    assert!(back.flows.file.origin_written < back.flows.file.cache_written);
    assert!(back.flows.cleaning.origin_written > 0 && through.flows.cleaning.origin_written == 0);
}

#[test]
fn reads_of_twice_the_cache_find_half() {
    let bcache = under(&small("bcache-1s-1h"), "read-64KiB");
    assert!((0.40..0.52).contains(&bcache.read_hit_ratio.unwrap()), "{:?}", bcache.read_hit_ratio);
    assert_eq!(bcache.flows.demotion.origin_written, 0, "nothing is dirty");
    assert!(bcache.flows.promotion.cache_written > 0 && bcache.flows.promotion.origin_read == 0);
    assert!(bcache.mb_per_s > 1.3 * under(&small("1h"), "read-64KiB").mb_per_s);
}

#[test]
fn a_part_of_a_block_is_promoted_with_the_whole_block() {
    let outcome = under(&small("dmcache-1s-1h"), "read-64KiB");
    let promotion = outcome.flows.promotion;
    assert!(promotion.origin_read > 0 && promotion.origin_read.is_multiple_of(256 << 10));
    assert!(promotion.origin_read.abs_diff(promotion.cache_written) <= 4 * (256 << 10));
    assert!(outcome.flows.metadata.cache_written > 0);
}

#[test]
fn metadata_of_what_is_written_whole_are_written_too() {
    let with = |metadata: serde_json::Value| {
        let mut arrangement = small("dmcache-1s-1h");
        let cache = arrangement.cache.as_mut().unwrap();
        (cache.policy, cache.metadata) = ("lru".parse().unwrap(), serde_json::from_value(metadata).unwrap());
        let outcome = under(&arrangement, "write-512KiB");
        (outcome.flows.metadata.cache_written as f64 / outcome.flows.file.cache_written as f64, outcome)
    };
    let (mapping, outcome) = with(serde_json::json!({ "kind": "mapping", "bytes": "4KiB" }));
    // Two blocks each, a node for both where they come and where they go dirty; half of them are there already.
    assert!((0.5 / 64.0..2.1 / 64.0).contains(&mapping), "{mapping}");
    assert!(outcome.flows.demotion.origin_written > 0);
    let (tree, _) = with(serde_json::json!({ "kind": "b-tree", "bytes": "4KiB" }));
    // An entry of the journal each, and as many of nodes at most.
    assert!((1.0 / 128.0..2.0 / 128.0).contains(&tree), "{tree}");
    assert_eq!(with(serde_json::json!({ "kind": "none" })).0, 0.0);
}

#[test]
fn what_is_kept_of_reads_is_an_entry_of_a_node_and_not_of_the_journal() {
    let flows = under(&small("bcache-1s-1h"), "read-64KiB").flows;
    let entries = flows.promotion.cache_written / 65536;
    assert!(flows.metadata.cache_written > 0, "time passes");
    assert!(flows.metadata.cache_written < entries * 4096 / 4, "{} of {entries}", flows.metadata.cache_written);
}

#[test]
fn what_is_sequential_goes_past_the_cache() {
    let outcome = under(&small("bcache-1s-1h"), "read-4MiB");
    assert_eq!((outcome.flows.file.cache_read, outcome.flows.promotion.cache_written), (0, 0));
    assert!(outcome.bypassed.unwrap() > 0);
    let mut without = small("bcache-1s-1h");
    without.cache.as_mut().unwrap().sequential = None;
    assert!(under(&without, "read-4MiB").flows.file.cache_read > 0);
}

#[test]
fn what_lags_behind_is_gone_past() {
    let mut eager = small("bcache-1s-4h0");
    let cache = eager.cache.as_mut().unwrap();
    cache.congested = None;
    let mut wary = eager.clone();
    let limits = serde_json::json!({ "read": "1us", "write": "1us" });
    wary.cache.as_mut().unwrap().congested = serde_json::from_value(limits).unwrap();
    let (eager, wary) = (under(&eager, "oltp"), under(&wary, "oltp"));
    assert!(wary.bypassed > eager.bypassed);
    assert!(wary.flows.file.cache_written < eager.flows.file.cache_written);
}

#[test]
fn a_cache_that_takes_memory_leaves_less_for_pages() {
    let hits = |memory_per_byte: f64| {
        let mut arrangement = small("bcache-1s-1h");
        arrangement.cache.as_mut().unwrap().memory_per_byte = memory_per_byte;
        under(&arrangement, "fileserver").ram_hit_ratio.unwrap()
    };
    assert!(hits(0.15) < hits(0.0) - 0.05);
}

#[test]
fn progress_is_reported() {
    for workload in ["varmail", "read-4KiB"] {
        let arrangement = Arrangement { scale: 32, ..small("1h") };
        let mut shares = Vec::new();
        let load = TierLoad::Workload(arrangement.workloads[workload].clone());
        run_with_progress(&arrangement, &load, &mut |share| shares.push(share)).unwrap();
        assert!(
            shares.len() >= 3 && shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)),
            "{shares:?}"
        );
        assert!(*shares.last().unwrap() > 0.5, "{shares:?}");
    }
}

#[test]
fn past_the_page_cache_nothing_is_found_there() {
    let outcome = under(&small("1h"), "oltp");
    assert_eq!(outcome.ram_hit_ratio, None);
    assert!(outcome.flows.file.origin_read > 0 && outcome.flows.file.origin_written > 0);
}

#[test]
fn every_policy_serves_as_a_second_level() {
    for policy in manometer_cache::policy::POLICIES.iter().filter(|policy| policy.name != "opt") {
        let mut arrangement = Arrangement { scale: 2048, ..small("dmcache-1s-1h") };
        let cache = arrangement.cache.as_mut().unwrap();
        (cache.policy, cache.block) = (policy.name.parse().unwrap(), "64KiB".parse().unwrap());
        let outcome = under(&arrangement, "fileserver");
        assert!(outcome.requests > 0 && outcome.hit_ratio.unwrap() < 1.0, "{}", policy.name);
    }
}
