//! Disks, SSDs and arrays by themselves.

use manometer_cache::tier::Arrangement;
use manometer_measure::ByteSize;

use super::{small, under};

fn speed(arrangement: &Arrangement, workload: &str) -> f64 {
    under(arrangement, workload).mb_per_s
}

#[test]
fn a_disk_reads_at_random_what_its_arm_and_its_turns_allow() {
    let outcome = under(&small("1h"), "read-4KiB");
    // Half a turn of 8.33 ms, the shortest way of the arm, and what the third part of the working set adds to it.
    assert!((4_500.0..7_000.0).contains(&outcome.latency_mean_us), "{}", outcome.latency_mean_us);
    assert!(outcome.origin_busy > 0.99);
    // What was requested last is not answered yet.
    assert!(outcome.flows.file.origin_read.abs_diff(outcome.requests * 4096) <= 4096);
    assert_eq!(outcome.flows.file.origin_written, 0);
}

#[test]
fn below_the_chunk_an_array_reads_no_faster_than_a_disk() {
    let (one, four, mirrored) = (small("1h"), small("4h0"), small("4h10"));
    for workload in ["read-64KiB", "read-512KiB"] {
        let speeds = [&one, &four, &mirrored].map(|arrangement| speed(arrangement, workload));
        assert!(speeds.iter().all(|speed| (0.8..1.3).contains(&(speed / speeds[0]))), "{workload}: {speeds:?}");
    }
    assert!(speed(&four, "read-4MiB") > 2.0 * speed(&one, "read-4MiB"));
}

#[test]
fn writes_are_gathered_and_spread_over_an_array() {
    let [one, mirrored, four] = ["1h", "4h10", "4h0"].map(|name| speed(&small(name), "write-64KiB"));
    assert!((1.7..2.4).contains(&(mirrored / one)), "{mirrored} {one}");
    assert!((3.3..4.3).contains(&(four / one)), "{four} {one}");
}

#[test]
fn an_ssd_reads_small_blocks_many_times_faster_than_a_disk_and_large_ones_twice() {
    let (disk, ssd) = (small("1h"), small("1s"));
    let times = |workload: &str| speed(&ssd, workload) / speed(&disk, workload);
    let ratios = ["read-4KiB", "read-64KiB", "read-512KiB", "read-4MiB"].map(times);
    assert!(ratios[0] > 35.0 && ratios.windows(2).all(|pair| pair[0] > pair[1]), "{ratios:?}");
    assert!((1.7..2.7).contains(&ratios[3]), "{ratios:?}");
}

#[test]
fn an_ssd_that_always_has_a_request_is_always_busy() {
    let with = |threads: u32| {
        let mut ssd = small("1s");
        let workload = ssd.workloads.get_mut("read-4KiB").unwrap();
        let manometer_cache::tier::workload::TierWorkloadKind::Random(random) = &mut workload.kind else {
            panic!("it is random")
        };
        random.threads = threads;
        under(&ssd, "read-4KiB")
    };
    let saturated = with(64);
    // Four channels, each 90 us for a page and 15.2 us, in whole nanoseconds, for its transfer at 270 MB/s.
    let limit = 4e6 / (90.0 + 4096.0 / 270.0);
    assert!((0.98 * limit..1.001 * limit).contains(&saturated.requests_per_s), "{}", saturated.requests_per_s);
    assert!(saturated.origin_busy > 0.999, "{}", saturated.origin_busy);
    let alone = with(1);
    // One thread uses one channel of four, and one of its requests is always in service.
    let of_limit = alone.requests_per_s / limit;
    assert!(of_limit < 0.3 && alone.origin_busy > 0.999, "{of_limit} {}", alone.origin_busy);
}

#[test]
fn an_ssd_writes_slower_the_wider_it_is_written() {
    let ssd = small("1s");
    let over = |working_set: &str| {
        let mut ssd = ssd.clone();
        let workload = ssd.workloads.get_mut("write-4KiB").unwrap();
        let manometer_cache::tier::workload::TierWorkloadKind::Random(random) = &mut workload.kind else {
            panic!("it is random")
        };
        (random.working_set, random.loops) = (working_set.parse().unwrap(), Some(40));
        speed(&ssd, "write-4KiB") * 1e6 / 4096.0
    };
    let ratios = ["5GB", "20GB", "80GB", "149GB"].map(over);
    // One after the other, each waits for the 60 us that the device takes to accept it.
    assert!((16_000.0..=16_700.0).contains(&ratios[0]), "{ratios:?}");
    assert!((550.0..900.0).contains(&ratios[3]), "{ratios:?}");
    assert!(ratios.windows(2).all(|pair| pair[0] > 1.3 * pair[1]), "{ratios:?}");
}

#[test]
fn little_spare_flash_amplifies_writes_and_wears_it_off() {
    let of = |spare: f64| {
        let mut ssd = small("1s");
        let manometer_cache::tier::device::DeviceSettings::Ssd(settings) = ssd.devices.get_mut("ssd").unwrap() else {
            panic!("it is an SSD")
        };
        (settings.spare, settings.capacity) = (spare, "151GB".parse::<ByteSize>().unwrap());
        let workload = ssd.workloads.get_mut("write-4KiB").unwrap();
        let manometer_cache::tier::workload::TierWorkloadKind::Random(random) = &mut workload.kind else {
            panic!("it is random")
        };
        random.working_set = "149GB".parse().unwrap();
        under(&ssd, "write-4KiB")
    };
    let (little, much) = (of(0.07), of(0.5));
    assert!(little.write_amplification.unwrap() > 1.5 * much.write_amplification.unwrap());
    assert!(little.wear.unwrap() > much.wear.unwrap() && little.mb_per_s < much.mb_per_s);
    let times = little.ssd_bytes_written.unwrap() as f64 / little.flows.file.origin_written as f64;
    // What was requested before the measurement may end within it.
    assert!((times / little.write_amplification.unwrap() - 1.0).abs() < 0.01, "{times}");
}

#[test]
fn flash_writes_count_from_the_warm_up_on_and_only_on_ssds() {
    let of = |warmup: &str| {
        let mut ssd = small("1s");
        let workload = ssd.workloads.get_mut("write-64KiB").unwrap();
        workload.warmup = warmup.parse().unwrap();
        let manometer_cache::tier::workload::TierWorkloadKind::Random(random) = &mut workload.kind else {
            panic!("it is random")
        };
        random.loops = Some(1);
        under(&ssd, "write-64KiB")
    };
    for outcome in [of("0s"), of("60m")] {
        let (flash, host) = (outcome.ssd_bytes_written.unwrap(), outcome.requests * 65536);
        // A span that leaves this much room free is hardly amplified, and one write may be under way.
        assert!((host - 65536..host + host / 4).contains(&flash), "{flash} {host}");
    }
    let disk = under(&small("1h"), "write-64KiB");
    assert_eq!((disk.ssd_bytes_written, disk.write_amplification, disk.bypassed), (None, None, None));
    let read = under(&small("1s"), "read-64KiB");
    assert_eq!((read.ssd_bytes_written, read.write_amplification), (Some(0), None));
}

#[test]
fn raid_5_pays_for_small_writes_with_reads() {
    let of = |raid: &str, count: u64| {
        let mut array = small("4h0");
        array.origin.raid = serde_json::from_value(raid.into()).unwrap();
        array.origin.count = count;
        under(&array, "write-4KiB").mb_per_s
    };
    let (five, zero, mirrors) = (of("raid5", 4), of("raid0", 4), of("raid1", 4));
    assert!(five < 0.6 * zero, "{five} {zero}");
    assert!(mirrors < 0.4 * zero, "{mirrors} {zero}");
}
