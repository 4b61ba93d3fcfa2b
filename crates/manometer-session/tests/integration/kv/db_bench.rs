//! Tests of every benchmark of db_bench.

use std::collections::BTreeMap;

use manometer_target::engine::OpenRequest;
use manometer_testing::{Cause, skip};
use manometer_workload::kv::KvPlan;
use manometer_workload::kv::db_bench::BENCHMARKS;

use super::*;

/// Requests and missing records of each operation.
fn counts(received: &[Message]) -> BTreeMap<String, (u64, u64)> {
    let mut counts = BTreeMap::new();
    for (name, done) in samples(received).iter().flat_map(|sample| &sample.operations) {
        let (requests, missing): &mut (u64, u64) = counts.entry(name.clone()).or_default();
        *requests += done.requests;
        *missing += done.missing;
    }
    counts
}

fn with(settings: KvSettings, pairs: &[(&str, &str)]) -> KvSettings {
    let properties = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    KvSettings { properties, ..settings }
}

/// Parameters that make a workload use all of its operations.
fn lively(workload: &str) -> &'static [(&'static str, &'static str)] {
    match workload {
        "multireadrandom" => &[("batch_size", "8"), ("multiread_stride", "3")],
        "seekrandom" => &[("seek_nexts", "10")],
        "readwhilewriting" => &[("benchmark_write_rate_limit", "1000000")],
        "mixgraph" => &[
            ("mix_get_ratio", "0.8"),
            ("mix_put_ratio", "0.1"),
            ("mix_seek_ratio", "0.1"),
            ("key_dist_a", "0.002312"),
            ("key_dist_b", "0.3467"),
            ("keyrange_dist_a", "14.18"),
            ("keyrange_dist_b", "-2.917"),
            ("keyrange_dist_c", "0.0164"),
            ("keyrange_dist_d", "-0.08082"),
            ("keyrange_num", "5"),
            ("mix_max_scan_len", "20"),
        ],
        _ => &[],
    }
}

#[test]
fn every_benchmark_runs_on_null() {
    for benchmark in BENCHMARKS {
        let dir = disk();
        let settings = KvSettings { records: Some(1000), threads: Some(2), ..null(benchmark.name) };
        let settings = with(settings, lively(benchmark.name));
        let (result, received) = drive(&job(&dir, &settings), go_for(3));
        result.unwrap_or_else(|error| panic!("{}: {error}", benchmark.name));
        for (operation, (requests, _)) in counts(&received) {
            assert!(requests > 0, "{}: no {operation}", benchmark.name);
        }
    }
}

#[test]
fn a_number_of_requests_ends_a_fill_and_leaves_the_background_aside() {
    let dir = disk();
    for (workload, operation) in [("fillseq", "insert"), ("readwhilewriting", "read"), ("deleteseq", "delete")] {
        let settings = KvSettings { records: Some(1000), threads: Some(2), operations: Some(5001), ..null(workload) };
        let (result, received) = drive(&job(&dir, &settings), go_for(usize::MAX));
        result.unwrap();
        assert_eq!(counts(&received)[operation].0, 5001, "{workload}");
    }
}

#[test]
fn a_walk_continues_after_a_pause_and_stops_on_request() {
    let dir = disk();
    let settings = KvSettings { records: Some(1000), ..null("readseq") };
    let (mut seen, mut walked) = (0, false);
    let (result, _) = drive(&job(&dir, &settings), |message, controls| match message {
        Message::Ready { .. } => controls.send(Control::Go).unwrap(),
        Message::Sample(sample) => {
            seen += 1;
            // The third sample and later ones contain nothing from before the pause.
            walked |= seen > 2 && sample.operations["next"].requests > 0;
            let next: &[Control] = match seen {
                1 => &[Control::Wait, Control::Go],
                3.. if walked || seen == 100 => &[Control::Stop],
                _ => &[],
            };
            next.iter().for_each(|control| controls.send(control.clone()).unwrap());
        }
        _ => {}
    });
    result.unwrap();
    assert!(walked);
}

mod on_rocksdb {
    use super::*;

    const RECORDS: u64 = 3000;

    fn rocksdb(workload: &str) -> KvSettings {
        let settings = KvSettings { engine: "rocksdb".to_owned(), records: Some(RECORDS), ..null(workload) };
        with(settings, lively(workload))
    }

    #[test]
    fn every_benchmark_runs_verified() {
        for benchmark in BENCHMARKS {
            let dir = disk();
            let settings = KvSettings { threads: Some(2), ..rocksdb(benchmark.name) };
            let (result, received) = drive(&job(&dir, &settings), go_until_all_are_seen());
            result.unwrap_or_else(|error| panic!("{}: {error}", benchmark.name));
            let counts = counts(&received);
            for (operation, (requests, missing)) in &counts {
                assert!(*requests > 0, "{}: no {operation}", benchmark.name);
                let all_missing = benchmark.name == "readmissing";
                // A read may be counted as missing and not yet as a request.
                assert!(
                    missing.abs_diff(if all_missing { *requests } else { 0 }) <= 2,
                    "{} {operation}",
                    benchmark.name
                );
            }
        }
    }

    /// Runs `workload` for `requests` requests on a new or an existing database.
    fn run_for(dir: &tempfile::TempDir, settings: &KvSettings, requests: u64) -> (Vec<Message>, WorkloadData) {
        let settings = KvSettings { operations: Some(requests), ..settings.clone() };
        let (result, received) = drive(&job(dir, &settings), go_for(usize::MAX));
        (received, result.unwrap())
    }

    /// The keys and value lengths in the database that `finished` left.
    fn content(settings: &KvSettings, finished: &WorkloadData) -> Vec<(Vec<u8>, usize)> {
        let plan = KvPlan::new(settings).unwrap();
        let folder = finished.database.as_ref().unwrap().database();
        let request = OpenRequest { directory: &folder, options: &plan.options, value_bytes: plan.value_bytes() };
        let engine = (plan.engine.open)(&request).unwrap();
        let mut records = Vec::new();
        let scanned =
            engine.session().scan(None, manometer_target::engine::ScanDirection::Forward, &mut |key, value| {
                manometer_target::engine::value::verify(key, value).unwrap();
                records.push((key.to_vec(), value.len()));
                std::ops::ControlFlow::Continue(())
            });
        scanned.unwrap();
        records
    }

    #[test]
    fn fillseq_writes_every_key_once_and_deleteseq_leaves_none() {
        let dir = disk();
        let settings = KvSettings { threads: Some(2), ..rocksdb("fillseq") };
        let (_, finished) = run_for(&dir, &settings, RECORDS);
        let content_filled = content(&settings, &finished);
        let wanted = |record: u64| [record.to_be_bytes().as_slice(), b"00000000"].concat();
        assert!(content_filled.iter().map(|(key, _)| key.clone()).eq((0..RECORDS).map(wanted)));
        assert!(content_filled.iter().all(|(_, bytes)| *bytes == 100));
        drop(finished);
        let dir = disk();
        let settings = rocksdb("deleteseq");
        let (_, finished) = run_for(&dir, &settings, RECORDS);
        assert!(content(&settings, &finished).is_empty());
    }

    #[test]
    fn fillrandom_leaves_about_two_keys_of_three() {
        let dir = disk();
        let settings = rocksdb("fillrandom");
        let (_, finished) = run_for(&dir, &settings, RECORDS);
        let share = content(&settings, &finished).len() as f64 / RECORDS as f64;
        assert!((share - 0.632).abs() < 0.04, "{share}");
    }

    #[test]
    fn a_walk_takes_every_record_once_in_either_direction() {
        for workload in ["readseq", "readreverse"] {
            let dir = disk();
            let (received, _) = run_for(&dir, &rocksdb(workload), 2 * RECORDS);
            assert_eq!(counts(&received)["next"].0, 2 * RECORDS);
            let bytes: u64 = samples(&received).iter().map(|sample| sample.operations["next"].bytes).sum();
            assert_eq!(bytes, 2 * RECORDS * 116, "{workload}");
        }
    }

    #[test]
    fn bytes_tell_how_much_a_scan_and_a_multi_read_took() {
        let bytes = |received: &[Message], operation: &str| -> u64 {
            samples(received).iter().map(|sample| sample.operations[operation].bytes).sum()
        };
        let (received, _) = run_for(&disk(), &rocksdb("multireadrandom"), 100);
        assert_eq!(bytes(&received, "multi_read"), 100 * 8 * 116);
        let (received, _) = run_for(&disk(), &rocksdb("seekrandom"), 100);
        let most = 100 * 11 * 116;
        let taken = bytes(&received, "scan");
        assert!((most - 10 * 116 * 3..=most).contains(&taken), "{taken} of {most}");
    }

    #[test]
    fn an_empty_database_is_asked_and_what_is_missing_counted() {
        let settings = with(rocksdb("readrandom"), &[("use_existing_db", "false")]);
        let (received, _) = run_for(&disk(), &settings, 500);
        assert_eq!(counts(&received)["read"], (500, 500));
    }

    /// db_bench finds every key of a fill: the key format is its own.
    #[test]
    fn db_bench_finds_our_keys() {
        let program = std::env::var("ROCKSDB_LIB_DIR").map(|dir| std::path::Path::new(&dir).join("db_bench"));
        let Some(program) = program.ok().filter(|program| program.exists()) else {
            skip(Cause::DbBench, "no db_bench next to the RocksDB library");
            return;
        };
        let dir = disk();
        let settings = rocksdb("fillseq");
        let (_, finished) = run_for(&dir, &settings, RECORDS);
        let mut command = std::process::Command::new(program);
        let folder = finished.database.as_ref().unwrap().database();
        command.arg(format!("--db={}", folder.display()));
        command.args(["--benchmarks=readrandom", "--use_existing_db", "--num=3000", "--reads=2000"]);
        let output = command.args(["--key_size=16", "--value_size=100", "--compression_type=none"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("(2000 of 2000 found)"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    }
}
