//! Tests on real traces, where they are available.

use std::path::{Path, PathBuf};

use manometer_testing::real_data;
use manometer_trace::summary::Totals;
use manometer_trace::{ReadOptions, Record, TraceOperation, TraceSummary, open};

fn file(name: &str) -> Option<PathBuf> {
    real_data(&format!("traces/{name}"))
}

/// The recognised format, the totals and the first record of a trace.
fn read(file: &Path) -> (&'static str, Totals, Record) {
    let mut trace = open(file, &ReadOptions::default()).unwrap();
    let (mut summary, mut batch, mut first) = (TraceSummary::default(), Vec::new(), None);
    while trace.reader.read(&mut batch).unwrap() > 0 {
        first = first.or(batch.first().copied());
        summary.add(&batch);
    }
    (trace.format.name, summary.totals(), first.unwrap())
}

fn counts(name: &str, format: &str, requests: u64) -> Option<(Totals, Record)> {
    let (found, totals, first) = read(&file(name)?);
    assert_eq!((found, totals.requests), (format, requests), "{name}");
    Some((totals, first))
}

#[test]
fn one_block_trace_is_the_same_in_its_formats() {
    let Some((oracle, first)) = counts("cloudPhysicsIO.oracleGeneral.bin", "oracle-general", 113_872) else { return };
    assert_eq!((first.key, first.value_size), (42_932_745, Some(512)));
    let (csv, first) = counts("cloudPhysicsIO.csv", "csv", 113_872).unwrap();
    assert_eq!((first.key, first.operation), (42_932_745, TraceOperation::Write));
    assert_eq!(csv.keys, oracle.keys);
    assert_eq!(csv.span_s, oracle.span_s);
    assert_eq!((csv.operations["write"], csv.operations["read"]), (66_898, 46_974));
}

#[test]
fn a_million_requests_to_a_cache() {
    let Some((totals, first)) = counts("twitter_cluster52_1m.csv.zst", "csv", 1_000_000) else { return };
    assert_eq!((first.key, first.value_size, first.time_ns), (13_053_225_291_711_363_978, Some(737), Some(0)));
    assert!(totals.footprint_bytes.is_some() && totals.keys > 1000);
}

#[test]
fn key_value_samples_in_both_orders_of_columns() {
    let Some((totals, first)) = counts("cachelib_samples/kv_traces_1.csv", "meta-kv", 691) else { return };
    assert_eq!((first.time_ns, first.key_size), (Some(604_038_471_000_000_000), Some(48)));
    assert!(totals.operations.contains_key("delete"));
    counts("cachelib_samples/kv_traces_2.csv", "meta-kv", 433);
}

#[test]
fn block_traces_in_binary_and_as_numbers() {
    let Some((totals, first)) = counts("cloudPhysicsIO.vscsi", "vscsi1", 113_872) else { return };
    assert_eq!((totals.operations["write"], totals.operations["read"]), (66_898, 46_974));
    assert_eq!(first.offset, Some(42_932_745 * 512));
    let (numbers, _) = counts("cloudPhysicsIO.txt", "lirs", 113_872).unwrap();
    assert_eq!(numbers.keys, totals.keys);
}

#[test]
fn the_traces_of_the_arc_paper() {
    let Some((totals, _)) = counts("arc_traces/OLTP.lis.zst", "arc", 914_145) else { return };
    assert_eq!(totals.keys, 186_880);
    let (totals, _) = counts("arc_traces/P3.lis.zst", "arc", 3_912_296).unwrap();
    assert_eq!(totals.keys, 762_543);
    let (totals, _) = counts("arc_traces/P2.lis.zst", "arc", 12_729_495).unwrap();
    assert_eq!(totals.keys, 913_347);
}

#[test]
fn the_traces_of_the_lirs_paper() {
    for (name, requests) in [
        ("2_pools", 100_000),
        ("backf", 9_000),
        ("cpp", 9_047),
        ("cs", 6_781),
        ("gli", 6_015),
        ("loop", 505_500),
        ("multi1", 15_858),
        ("multi2", 26_311),
        ("scan", 50_025),
        ("zigzag", 52_001),
    ] {
        counts(&format!("lirs_traces/{name}.trace.gz"), "lirs", requests);
    }
}

#[test]
fn traces_with_nanosecond_times() {
    let Some((totals, first)) = counts("blkreplay_loads/linux-mysql.load.gz", "blkreplay", 80_794) else { return };
    assert_eq!((first.time_ns, first.key), (Some(0), 37_766_853));
    assert!((totals.span_s.unwrap() - 3_599.890_074_831).abs() < 1e-9);
    counts("blkreplay_loads/linux-webserver-2.load.gz", "blkreplay", 269_007);
    counts("blkreplay_loads/windows-shared-server.load.gz", "blkreplay", 1_371);
}

#[test]
fn the_traces_of_cache2k() {
    counts("caffeine_traces/cache2k_orm-busy.trace.xz", "cache2k", 5_000_000);
    counts("caffeine_traces/cache2k_orm-night.trace.xz", "cache2k", 5_000_000);
    counts("caffeine_traces/cache2k_web07.trace.xz", "cache2k", 76_118);
}

#[test]
fn the_blocks_of_a_file_system() {
    let Some((totals, first)) = counts("cachelib_samples/block_traces_1.csv", "meta-block", 1023) else { return };
    assert_eq!((first.value_size, first.client), (Some(8_388_608), Some(518_845_025)));
    assert_eq!(totals.operations.keys().copied().collect::<Vec<_>>(), ["get", "put"]);
    counts("cachelib_samples/block_traces_2.csv", "meta-block", 1016);
}

#[test]
fn accesses_to_memory_and_to_a_content_network() {
    counts("caffeine_traces/adapt_size_request.trace.xz", "adapt-size", 66_987);
    let Some((totals, _)) = counts("caffeine_traces/address_gcc.trace.gz", "address", 515_683) else { return };
    assert_eq!((totals.operations["read"], totals.operations["write"]), (318_197, 197_486));
}
