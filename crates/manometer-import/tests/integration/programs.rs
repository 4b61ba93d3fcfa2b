//! Tests that recorded outputs of YCSB, `db_bench` and fio become recordings with the same numbers.

use std::path::PathBuf;

use manometer_analysis::summary::RunSummary;
use manometer_import::{ImportedRun, find_format};
use manometer_measure::Recording;
use manometer_testing::repository_file;

use crate::formats::read;

fn sample(name: &str) -> PathBuf {
    repository_file("crates/manometer-workload/src/command/parser/samples").join(name)
}

fn recorded(imported: &ImportedRun) -> (tempfile::TempDir, Recording, RunSummary) {
    let dir = tempfile::tempdir().unwrap();
    imported.write(dir.path()).unwrap();
    let recording = Recording::open(dir.path()).unwrap();
    let summary = manometer_analysis::summarise(&recording);
    (dir, recording, summary)
}

fn ids(imported: &ImportedRun) -> Vec<&str> {
    imported.findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn status_lines_of_ycsb_keep_their_time_and_their_rate() {
    let imported = read("ycsb", &[sample("ycsb-java.txt")]).unwrap();
    assert!(imported.findings.is_empty(), "{:?}", imported.findings);
    let (_dir, recording, summary) = recorded(&imported);
    let [phase] = summary.phases.as_slice() else { panic!("{:?}", summary.phases) };
    // 79,946 operations in 4 s; the program's own overall mean is 19,9…
    let mean = phase.performance.mean.unwrap();
    assert!((mean / 20_000.0 - 1.0).abs() < 0.02, "{mean}");
    let engine = recording.samples("primary.engine").unwrap();
    assert!(engine.column("read_p99_us").is_some() && engine.column("insert_mean_us").is_some());
}

#[test]
fn a_cut_file_is_a_finding() {
    let whole = std::fs::read_to_string(sample("ycsb-java.txt")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.txt");
    std::fs::write(&path, &whole[..whole.find("[OVERALL]").unwrap()]).unwrap();
    assert_eq!(ids(&read("ycsb", std::slice::from_ref(&path)).unwrap()), ["import-cut-short"]);
    std::fs::write(&path, "Loading workload...\n").unwrap();
    let error = read("ycsb", &[path]).err().unwrap().to_string();
    assert!(error.contains("`-s`"), "{error}");
}

#[test]
fn a_clock_that_goes_back_is_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.txt");
    let line = |second: u32, elapsed: u32, count: u32| {
        format!(
            "2020-06-03 11:21:{second:02}:000 {elapsed} sec: {count} operations; 100 current ops/sec; \
             [READ: Count=100, Max=9, Min=6, Avg=8.02, 90=3, 99=6, 99.9=7, 99.99=9]\n"
        )
    };
    let lines = [line(10, 1, 100), line(11, 2, 200), line(9, 3, 300), line(13, 4, 400)].concat();
    std::fs::write(&path, lines + "[OVERALL], RunTime(ms), 4000\n").unwrap();
    let imported = read("ycsb", &[path]).unwrap();
    assert_eq!(ids(&imported), ["import-clock-stepped"]);
    recorded(&imported);
}

#[test]
fn each_benchmark_of_db_bench_is_a_phase() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bench.txt");
    let line = |ops: u32, seconds: f64| {
        format!(
            "2026/11/22-00:05:07  ... thread 0: (1,{ops}) ops and (1.0,1.0) ops/second in (1.0,{seconds}) seconds\n"
        )
    };
    let text = [
        "Keys:       16 bytes each\n".to_owned(),
        line(1000, 1.0),
        line(3000, 2.0),
        "fillrandom   :       2.5 micros/op 1500 ops/sec 2.0 seconds 3000 operations;    5.0 MB/s\n".to_owned(),
        line(500, 1.0),
        line(1000, 2.0),
        line(1500, 3.0),
        "readrandom   :       2.5 micros/op 500 ops/sec 3.0 seconds 1500 operations;\n".to_owned(),
    ];
    std::fs::write(&path, text.concat()).unwrap();
    let imported = read("db_bench", &[path]).unwrap();
    assert!(imported.findings.is_empty());
    let (_dir, _, summary) = recorded(&imported);
    let means: Vec<_> = summary.phases.iter().map(|phase| (phase.label.as_str(), phase.performance.mean)).collect();
    assert_eq!(means, [("fillrandom", Some(1500.0)), ("readrandom", Some(500.0))]);
}

#[test]
fn clocks_beyond_all_bounds_are_no_trouble() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("far.txt");
    let line = |time: &str, second: u64| {
        format!(
            "{time} {second} sec: 100 operations; 50 current ops/sec; [READ: Count=100, Max=9, Min=1, Avg=2, 90=3, 99=4, 99.9=5, 99.99=6]\n"
        )
    };
    let text = line("2026-11-22 10:00:02:000", 9_000_000_000_000_000) + &line("9999-12-31 23:59:59:000", 4);
    std::fs::write(&path, text).unwrap();
    let imported = read("ycsb", &[path]).unwrap();
    imported.write(&dir.path().join("far")).unwrap();
}

#[test]
fn documents_of_fio_have_their_latencies() {
    let imported = read("fio", &[sample("fio.txt")]).unwrap();
    let (_dir, recording, summary) = recorded(&imported);
    assert!(summary.phases[0].performance.mean.is_some());
    let log = recording.latency("primary").unwrap();
    assert!(log.operations().contains(&"read".to_owned()));
}

#[test]
fn logs_of_fio_are_averages_or_requests() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let bandwidth = write("job_bw.1.log", "1000, 1024, 0, 0, 0\n2001, 3072, 0, 0, 0\n");
    let second = write("job_bw.2.log", "1001, 1024, 0, 0, 0\n2000, 3072, 0, 0, 0\n");
    let latency = write("job_clat.1.log", "1000, 80000, 0, 0, 0\n2001, 90000, 0, 0, 0\n");
    let imported_runs = find_format("fio").unwrap().read(&[bandwidth, second, latency]).unwrap();
    let [imported] = imported_runs.as_slice() else { panic!("{} runs", imported_runs.len()) };
    let (_dir, recording, summary) = recorded(imported);
    let mean = summary.phases[0].performance.mean.unwrap();
    assert!((mean - 4.0).abs() < 0.01, "{mean} MiB/s");
    let engine = recording.samples("primary.engine").unwrap();
    assert!(engine.column("read_completion_mean_us").is_some());
    let single = write("one_lat.1.log", "5, 80000, 1, 4096, 0\n700, 90000, 1, 4096, 4096\n1200, 100000, 1, 4096, 0\n");
    let imported = read("fio", &[single]).unwrap();
    let (_dir, recording, _) = recorded(&imported);
    assert_eq!(recording.latency("primary").unwrap().between("write", 0.0, 9.0).len(), 3);
    let refuse = |path: PathBuf, word: &str| {
        let error = read("fio", &[path]).err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    };
    refuse(write("x_bw.1.log", ""), "empty");
    refuse(write("y_bw.1.log", "1000, 1024, 7, 0, 0\n"), "line 1");
    refuse(write("z_bw.1.log", "1000, 1024, 0, 0, 0\n18446744073709551615, 1024, 0, 0, 0\n"), "line 2");
}
