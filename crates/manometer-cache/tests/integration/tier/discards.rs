//! Discards: which pages they drop, and how far down they reach.

use manometer_cache::tier::workload::BlockOperation;
use manometer_cache::tier::{Arrangement, TierResult};

use super::{TestStep, run_steps, shipped};

const MIB: u64 = 1 << 20;

/// What is done one after the other.
fn done(arrangement: &Arrangement, is_direct: bool, steps: &[TestStep]) -> TierResult {
    run_steps(arrangement, 1, is_direct, steps)
}

#[test]
fn only_whole_pages_are_dropped_from_memory() {
    use BlockOperation::{Discard, Read, Write};
    let after = |offset, bytes| {
        let steps = [(Write, 0, 12288), (Discard, offset, bytes), (Read, 0, 12288)];
        done(&shipped("1h"), false, &steps).ram_hit_ratio
    };
    assert_eq!(after(4095, 4098), Some(2.0 / 3.0));
    assert_eq!(after(4097, 8190), Some(1.0));
    assert_eq!(after(0, 12288), Some(0.0));
}

#[test]
fn only_whole_blocks_are_dropped_from_the_second_level() {
    use BlockOperation::{Discard, Read, Write};
    const BLOCK: u32 = 256 << 10;
    let mut cached = shipped("dmcache-1s-1h");
    cached.cache.as_mut().unwrap().policy = "lru".parse().unwrap();
    let after = |offset, bytes| {
        let steps = [(Write, 0, 2 * BLOCK), (Discard, offset, bytes), (Read, 0, 4096), (Read, u64::from(BLOCK), 4096)];
        done(&cached, true, &steps).read_hit_ratio
    };
    assert_eq!(after(0, 4096), Some(1.0));
    assert_eq!(after(4096, 2 * BLOCK), Some(0.5));
    assert_eq!(after(0, 2 * BLOCK), Some(0.0));
}

#[test]
fn what_is_dropped_dirty_is_not_written_back() {
    use BlockOperation::{Discard, Write};
    let mut cached = shipped("dmcache-1s-1h");
    let cache = cached.cache.as_mut().unwrap();
    (cache.size, cache.sequential, cache.policy) = ("256MiB".parse().unwrap(), None, "lru".parse().unwrap());
    let steps = |drops: bool| {
        (0..512_u64).flat_map(move |at| {
            let range = (at * MIB, MIB as u32);
            [Some((Write, range.0, range.1)), drops.then_some((Discard, range.0, range.1))]
        })
    };
    let kept = done(&cached, true, &steps(false).flatten().collect::<Vec<_>>());
    let dropped = done(&cached, true, &steps(true).flatten().collect::<Vec<_>>());
    assert!(kept.flows.demotion.origin_written > 200 * MIB, "{}", kept.flows.demotion.origin_written);
    assert_eq!(dropped.flows.demotion.origin_written, 0);
}

#[test]
fn what_is_dropped_makes_room_on_an_ssd() {
    let mut ssd = shipped("1s");
    // A device that is filled once and of which half is dropped again has room to write the other half without moving.
    let manometer_cache::tier::device::DeviceSettings::Ssd(settings) = ssd.devices.get_mut("ssd").unwrap() else {
        panic!("it is an SSD")
    };
    settings.capacity = "1GB".parse().unwrap();
    settings.span_small = "100MB".parse().unwrap();
    ssd.origin.size = "1GB".parse().unwrap();
    let amplified = |drops: bool| {
        use BlockOperation::{Discard, Write};
        let blocks = 240_000_u64;
        let all = (0..blocks).map(|at| (Write, at * 4096, 4096));
        let half = (0..blocks / 2).filter(|_| drops).map(|at| (Discard, at * 2 * 4096, 4096));
        let again = (0..blocks).map(|at| (Write, (at * 7919 % (blocks / 2) * 2 + 1) * 4096, 4096));
        done(&ssd, true, &all.chain(half).chain(again).collect::<Vec<_>>()).write_amplification.unwrap()
    };
    let (kept, dropped) = (amplified(false), amplified(true));
    assert!(dropped < 0.9 * kept, "{dropped} {kept}");
}
