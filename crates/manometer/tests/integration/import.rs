//! `manometer import`: what becomes of other tools' files on the command line.

use std::process::Command;

use manometer_testing::{installed, real_data, repository_file};
use serde_json::{Value, json};

use crate::support::Scene;

/// A run of `db_bench` of two threads, which report every second.
pub fn db_bench(rate: u32) -> String {
    let report = |second: u32| {
        let line = |thread: u32| {
            format!(
                "2026/11/22-00:05:{second:02}  ... thread {thread}: ({rate},{}) ops and (1.0,1.0) ops/second in (1.0,{second}.0) seconds\n",
                rate * second
            )
        };
        line(0) + &line(1)
    };
    let reports: String = (1..=30).map(report).collect();
    format!("{reports}readrandom   :       2.5 micros/op 100 ops/sec 30.0 seconds 3000 operations;\n")
}

#[test]
fn one_file_becomes_a_recording_with_its_report() {
    let scene = Scene::new();
    scene.write("bench.txt", &db_bench(100));
    let document = scene.run("import db_bench bench.txt --out bench --format json").status(0).json();
    assert_eq!(document["phases"][0]["label"], "readrandom");
    assert_eq!(document["phases"][0]["performance"]["mean"], 200.0);
    assert_eq!(scene.json("bench/summary.json"), document);
    assert!(scene.path("bench/report.html").is_file() && scene.path("bench/samples/primary.parquet").is_file());
    // It is a recording as ours are.
    scene.run("report bench").status(0);
    scene.run("import db_bench bench.txt --out bench").status(2).err_has(&["exists and is not empty"]);
}

#[test]
fn several_files_become_runs_that_compare() {
    let scene = Scene::new();
    scene.write("slow.txt", &db_bench(100));
    scene.write("fast.txt", &db_bench(400));
    let document = scene.run("import db_bench slow.txt fast.txt --out both --format json").status(0).json();
    assert_eq!(document["runs"][1]["settings"]["import.file"], "fast");
    assert_eq!(document["runs"][1]["summary"]["phases"][0]["performance"]["mean"], 800.0);
    assert!(scene.path("both/report.html").is_file());
    let again = scene.run("report both --format json").status(0).json();
    assert_eq!(again["runs"], document["runs"]);
    let all = ["slow (both/runs/001):", "fast (both/runs/002):", "All 2 runs: ", "Verdict"];
    scene.run("report both/runs --out runs.html").status(0).out_has(&all);
    let said = scene.run("import db_bench slow.txt fast.txt --out again").status(0);
    said.out_has(&["(again/runs/001):", "(again/runs/002):", "All 2 runs: ", "Verdict"]);
    let compared = scene.run("compare both/runs/001 both/runs/002 --format json").json();
    assert_eq!(compared["phases"][0]["ratio"], 4.0);
}

#[test]
fn nothing_is_written_where_a_file_is_not_what_it_is_taken_for() {
    let scene = Scene::new();
    scene.write("bench.txt", &db_bench(100));
    scene.write("other.txt", "hello\n");
    scene
        .run("import db_bench bench.txt other.txt --out both")
        .status(2)
        .err_has(&["other.txt", "stats_interval_seconds"]);
    scene.run("import storiks other.txt --out both").status(2).err_has(&["`hello`", "storiks 0.1"]);
    scene.run("import fio other.txt --out both").status(2).err_has(&["other.txt"]);
    scene.run("import resctl-bench other.txt --out both").status(2).err_has(&["JSON"]);
    scene.run("import ycsb absent.txt --out both").status(2).err_has(&["absent.txt"]);
    assert!(!scene.path("both").exists(), "what is refused leaves no folder");
    assert_eq!(std::fs::read_dir(scene.path("both")).map_or(0, Iterator::count), 0);
}

#[test]
fn parameter_files_of_storiks_become_experiments_that_can_be_run() {
    let scene = Scene::new();
    scene.write("base.flags", "--num_ydbs=0\n--ydb_num_keys=1000\n--ydb_threads=4\n--at_params=--wait --random_ratio=1.0\n--at_block_size=4\n");
    scene.write(
        "run.flags",
        "--flagfile=base.flags\n--duration=15\n--warm_period=5\n--num_ydbs=1\n--ydb_workload=workloadb\n--num_at=2\n\
         --at_script=0:wait;0:write_ratio=0.5;8m:wait=false#0:wait;10m:wait=false\n",
    );
    scene.run("import flags run.flags --out run.toml").status(0);
    let document = scene.run("run run.toml --dry-run --format json").status(0).json();
    let phases = document["runs"][0]["plan"]["phases"].as_array().unwrap();
    let ids: Vec<&str> = phases.iter().map(|phase| phase["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["warmup", "w0", "w1", "w2"]);
    assert_eq!(phases[2]["settings"]["n1.write_ratio"], 0.5);
    scene.write("endless.flags", "--flagfile=endless.flags\n");
    scene.run("import flags endless.flags").status(2).err_has(&["name one another without end"]);
    scene.write("wrong.flags", "num_ydbs=1\n");
    scene.run("import flags wrong.flags").status(2).err_has(&["line 1", "--name=value"]);
    let Some(data) = real_data("storiks") else { return };
    let theirs = data.join("exp_01-ycsb_workloadb.flags");
    scene.run(&format!("import flags {} --out theirs.toml", theirs.display())).status(0);
    scene.run("run theirs.toml --dry-run").status(0);
}

#[test]
fn a_log_of_storiks_brings_its_pressures() {
    let Some(data) = real_data("storiks") else { return };
    let scene = Scene::new();
    let log = data.join("icpe2021/ycsb_wb,at3_bs512_directio.out.xz");
    let document = scene.run(&format!("import storiks {} --out slides --format json", log.display())).status(0).json();
    let pressure = |id: &str| {
        let phases = document["phases"].as_array().unwrap();
        phases.iter().find(|phase| phase["id"] == id).unwrap()["pressure"]["value"].as_f64().unwrap()
    };
    // Four neighbours that write hurt more than one that reads.
    assert!(pressure("w25") > pressure("w1"), "{} {}", pressure("w25"), pressure("w1"));
    assert_eq!(scene.json("slides/environment.json")["imported"]["program"], "rocksdb_test");
}

/// The performance of the only phase of a document.
fn performance(document: &Value) -> f64 {
    document["phases"][0]["performance"]["mean"].as_f64().unwrap()
}

#[track_caller]
fn assert_near(ours: f64, theirs: f64) {
    assert!((ours / theirs - 1.0).abs() < 0.01, "{ours} instead of {theirs}");
}

/// Its last report covers 4 ms and counts as much as that, not as the second of the others.
#[test]
fn the_performance_of_a_recorded_run_of_ycsb_is_its_own_throughput() {
    let scene = Scene::new();
    let recorded = repository_file("crates/manometer-workload/src/command/parser/samples/ycsb-java.txt");
    let text = std::fs::read_to_string(&recorded).unwrap();
    let document = scene.run(&format!("import ycsb {} --out ycsb --format json", recorded.display())).status(0).json();
    let throughput = text.lines().find_map(|line| line.strip_prefix("[OVERALL], Throughput(ops/sec), ")).unwrap();
    assert_near(performance(&document), throughput.parse().unwrap());
}

#[test]
fn a_second_in_which_fio_moved_nothing_counts() {
    let scene = Scene::new();
    let report = |second: u64, mib: u64| {
        let read = json!({ "io_bytes": mib << 20, "total_ios": mib * 256, "runtime": second * 1000 });
        format!("{:#}\n", json!({ "timestamp_ms": 1_700_000_000_000 + second * 1000, "jobs": [{ "read": read }] }))
    };
    scene.write("fio.json", &[report(1, 1), report(2, 1), report(3, 2)].concat());
    let document = scene.run("import fio fio.json --out fio --format json").status(0).json();
    assert_near(performance(&document), 2.0 / 3.0);
}

#[test]
fn a_clock_that_was_set_forward_while_fio_ran_leaves_a_gap() {
    let scene = Scene::new();
    let report = |second: u64| {
        let read = json!({ "io_bytes": (second * 15) << 20, "total_ios": second * 3840, "runtime": second * 1000 });
        let stepped_ms = if second > 10 { 3_600_000 } else { 0 };
        let t_ms = 1_700_000_000_000 + second * 1000 + stepped_ms;
        format!("{:#}\n", json!({ "timestamp_ms": t_ms, "jobs": [{ "read": read }] }))
    };
    scene.write("fio.json", &(1..=20).map(report).collect::<String>());
    let document = scene.run("import fio fio.json --out fio --format json").status(0).json();
    assert_near(performance(&document), 15.0);
    let ids: Vec<&str> =
        document["findings"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"import-damaged"), "{ids:?}");
}

/// fio ends between two reports: each of them counts as long as it is.
#[test]
fn the_performance_of_a_run_of_fio_is_its_own_bytes_in_the_time_of_its_reports() {
    if !installed("fio") {
        return;
    }
    let scene = Scene::new();
    // Two jobs at once, and two that begin later, one after a pause.
    let fio = Command::new("fio")
        .args(["--bs=4k", "--size=4m", "--rate_iops=400", "--time_based", "--runtime=1600ms", "--group_reporting"])
        .args(["--status-interval=1", "--output-format=json+"])
        .arg(format!("--directory={}", scene.path(".").display()))
        .args(["--name=mixed", "--rw=randrw", "--numjobs=2", "--name=next", "--stonewall", "--rw=randread"])
        .args(["--name=late", "--stonewall", "--startdelay=2", "--rw=randwrite"])
        .output()
        .unwrap();
    let text = String::from_utf8(fio.stdout).unwrap();
    scene.write("fio.json", &text);
    let document = scene.run("import fio fio.json --out fio --format json").status(0).json();
    let documents: Vec<Value> =
        text.split("\n}\n").filter_map(|one| serde_json::from_str(&format!("{one}}}")).ok()).collect();
    let numbers = |document: &Value, name: &str| -> Vec<f64> {
        let jobs = document["jobs"].as_array().unwrap().iter();
        jobs.flat_map(|job| ["read", "write"].map(|direction| job[direction][name].as_f64().unwrap())).collect()
    };
    let (first, last) = (documents.first().unwrap(), documents.last().unwrap());
    let time_s = |document: &Value| document["timestamp_ms"].as_f64().unwrap() / 1e3;
    let begin_s = time_s(first) - numbers(first, "runtime").into_iter().fold(0.0, f64::max) / 1e3;
    let bytes: f64 = numbers(last, "io_bytes").iter().sum();
    assert_near(performance(&document), bytes / (time_s(last) - begin_s) / f64::from(1 << 20));
}
