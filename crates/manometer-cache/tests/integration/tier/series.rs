//! The course of a simulation, and its load on the devices.

use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, RecordBatch};
use manometer_cache::tier::{
    ArrangementLoads, Flows, INTERVALS_MAX, SimulationProgress, TierInterval, TierLoad, TierOutcome, run_with_progress,
    series_columns, simulate_all, workload_loads, write_series,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::small;

fn outcome(name: &str, workload: &str) -> TierOutcome {
    let arrangement = small(name);
    let load = TierLoad::Workload(arrangement.workloads[workload].clone());
    let run = run_with_progress(&arrangement, &load, &mut |_| {}).unwrap();
    let [load] = workload_loads(&arrangement, &[workload.to_owned()]).unwrap().try_into().unwrap();
    let (result, series, block_requests) = (run.result, run.series, run.block_requests);
    TierOutcome { arrangement, load, result, series, block_requests, comparison: None }
}

#[test]
fn the_intervals_add_up_to_the_result() {
    for (name, workload) in [("dmcache-1s-1h", "fileserver"), ("bcache-1s-1h", "write-64KiB"), ("1h", "oltp")] {
        let outcome = outcome(name, workload);
        let (result, series) = (&outcome.result, &outcome.series);
        assert!((INTERVALS_MAX / 2..=INTERVALS_MAX).contains(&series.len()), "{name}: {} intervals", series.len());
        assert!(series.windows(2).all(|pair| pair[0].end_s == pair[1].begin_s), "{name}: a gap");
        let requests = |interval: &TierInterval| interval.counts.requests;
        assert_eq!(series.iter().map(requests).sum::<u64>(), result.simulated, "{name}");
        let measured: Vec<&TierInterval> = series.iter().filter(|interval| !interval.is_warm_up).collect();
        let seconds: f64 = measured.iter().map(|interval| interval.end_s - interval.begin_s).sum();
        let bytes: u64 = measured.iter().map(|interval| interval.counts.bytes).sum();
        // The warm-up ends within an interval.
        let mb_per_s = bytes as f64 / 1e6 / seconds;
        assert!((mb_per_s / result.mb_per_s - 1.0).abs() < 0.02, "{name}: {mb_per_s} and {}", result.mb_per_s);
        let flows = measured.iter().fold(Flows::default(), |sum, interval| sum.plus(&interval.counts.flows));
        let [near, of_result] = [flows, result.flows].map(|flows| flows.all().map(|flow| flow.cache_written));
        for (near, of_result) in near.into_iter().zip(of_result) {
            assert!(near.abs_diff(of_result) <= of_result / 50 + (4 << 20), "{name}: {near} and {of_result}");
        }
    }
}

#[test]
fn a_cache_fills_before_it_hits() {
    let outcome = outcome("bcache-1s-1h", "read-64KiB");
    let [first, .., last] = &outcome.series[..] else { panic!("no series") };
    assert!(first.is_warm_up && !last.is_warm_up);
    assert!(first.hit_ratio().unwrap() < 0.05 && last.hit_ratio().unwrap() > 0.3);
    assert_eq!(first.ram_hit_ratio(), None, "it bypasses the page cache");
    assert!(first.latency_mean_us().unwrap() > last.latency_mean_us().unwrap());
}

#[test]
fn the_requests_at_the_devices_are_those_of_the_load() {
    let reads = outcome("1h", "read-64KiB");
    let requests = &reads.block_requests;
    assert_eq!((requests.writes, requests.written_bytes), (0, 0));
    assert_eq!(requests.read_bytes, requests.reads * 65536);
    assert!(requests.reads.abs_diff(reads.result.requests) <= 1, "one was sent before the measurement began");
    assert!(requests.sequential * 1000 < requests.reads, "{} of {}", requests.sequential, requests.reads);
    assert_eq!(requests.sizes().len(), 1);
    let counted: u64 = requests.distances().iter().map(|class| class.requests).sum();
    assert_eq!(counted + requests.in_place + 1, requests.reads, "the first has none before it");
    let mail = outcome("1h", "varmail").block_requests;
    assert!(mail.writes > 3 * mail.reads, "memory answers most reads: {} and {}", mail.reads, mail.writes);
}

#[test]
fn the_parquet_file_has_the_columns_of_the_manual_and_their_units() {
    let outcomes = [outcome("1h", "read-64KiB"), outcome("dmcache-1s-1h", "read-64KiB")];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("series.parquet");
    write_series(File::create(&path).unwrap(), &outcomes).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    let (columns, schema) = (series_columns(), batches[0].schema());
    assert_eq!(columns.len(), schema.fields().len());
    for (column, field) in columns.iter().zip(schema.fields()) {
        assert_eq!((&column.name, &column.unit), (field.name(), &field.metadata()["unit"]));
        assert_eq!(column.meaning, field.metadata()["meaning"]);
    }
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, outcomes.iter().map(|outcome| outcome.series.len()).sum::<usize>());
    let value = |name: &str| batches[0].column_by_name(name).unwrap().as_primitive::<Float64Type>().value(0);
    let first = &outcomes[0].series[0];
    assert_eq!((value("throughput"), value("end")), (first.mb_per_s(), first.end_s));
    assert_eq!(value("file.origin_read"), first.rate(first.counts.flows.file.origin_read));
    assert!(batches[0].column_by_name("hit_ratio").unwrap().is_null(0), "there is no SSD");
}

struct Silent;

impl SimulationProgress for Silent {
    fn add_steps(&self, _steps: u64) {}
    fn advance(&self, _steps: u64) {}
}

#[test]
fn simulations_in_parallel_have_the_same_course() {
    let alone = outcome("dmcache-1s-1h", "oltp");
    let loads = workload_loads(&alone.arrangement, &["oltp".to_owned()]).unwrap();
    let all = simulate_all(&[ArrangementLoads { arrangement: alone.arrangement.clone(), loads }], &Silent).unwrap();
    assert_eq!((&all[0].series, &all[0].block_requests), (&alone.series, &alone.block_requests));
}
