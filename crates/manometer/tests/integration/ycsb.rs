//! YCSB's workloads and properties through the real binary.

use serde_json::Value;

use crate::support::Scene;

/// A workload as YCSB's own files are written.
const WORKLOAD: &str = "\
# Yahoo! Cloud System Benchmark
recordcount=1000
operationcount=3000
workload=site.ycsb.workloads.CoreWorkload
readallfields=true
readproportion=0.5
updateproportion=0.3
scanproportion=0.1
insertproportion=0.1
requestdistribution=zipfian
maxscanlength=20
scanlengthdistribution=uniform
";

fn document(scene: &Scene, words: &str) -> Value {
    let output = scene.run(&format!("kv --engine null --format json {words}")).status(0);
    serde_json::from_str(&output.out()).unwrap()
}

fn requests(document: &Value) -> u64 {
    document["operations"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
}

#[test]
fn a_file_of_properties_says_what_is_asked_and_how_often() {
    let scene = Scene::new();
    scene.write("mine", WORKLOAD);
    let json = document(&scene, "-P mine");
    assert_eq!(requests(&json), 3000);
    let kinds: Vec<&String> = json["operations"].as_object().unwrap().keys().collect();
    assert_eq!(kinds, ["insert", "read", "scan", "update"]);
    assert_eq!(requests(&document(&scene, "-P mine -p operationcount=500 -p insertproportion=0")), 500);
    assert_eq!(requests(&document(&scene, "-P mine --operations 700")), 700);
}

#[test]
fn a_flag_goes_before_the_file_and_what_is_typed_stays() {
    let scene = Scene::new();
    scene.write("mine", WORKLOAD);
    assert!(requests(&document(&scene, "-P mine --seconds 0.5")) > 10_000, "the file's count cut the run short");
    assert_eq!(requests(&document(&scene, "-P mine -p operationcount=500 --seconds 5")), 500);
    let threads =
        |flags: &str| document(&scene, &format!("-P mine -p threadcount=2 {flags}"))["facts"]["threads"].clone();
    assert_eq!([threads(""), threads("--threads 1")], [2, 1]);
    let timed = document(&scene, "--workload ycsb-c -p maxexecutiontime=1");
    assert!((0.9..2.0).contains(&timed["seconds"].as_f64().unwrap()), "{timed}");
}

#[test]
fn of_several_files_the_last_word_holds_and_what_is_typed_goes_before_all() {
    let scene = Scene::new();
    scene.write("mine", WORKLOAD);
    scene.write("small", "recordcount=50\noperationcount=40\nscanproportion=0\n");
    scene.write("smaller", "operationcount=20\n");
    let json = document(&scene, "-P mine -P small -P smaller");
    assert_eq!(requests(&json), 20);
    assert_eq!(json["facts"]["records"], 50);
    assert_eq!(requests(&document(&scene, "-P mine -P smaller -P small")), 40);
    assert_eq!(requests(&document(&scene, "-P workloadc -P small -P smaller -p operationcount=30")), 30);
    scene.run("kv --engine null -P mine -P nowhere").status(2).err_has(&["nowhere"]);
    scene.run("kv --engine null -P fillrandom -P small").status(2).err_has(&["properties_files", "YCSB"]);
}

#[test]
fn what_is_wrong_is_named_and_nothing_runs() {
    let scene = Scene::new();
    scene.write("mine", "recordcount=1000\nreadproportoin=0.5\n");
    scene.run("kv --engine null -P mine").status(2).err_has(&["mine:2", "`readproportion`"]);
    scene.run("kv --engine null -p requestdistribution=zipf").status(2).err_has(&["hotspot", "ycsb-zipfian"]);
    scene.run("kv --engine null --distribution uniform --exponent 1").status(2).err_has(&["zipfian and latest"]);
}

#[test]
fn popularity_is_described_without_a_run() {
    let scene = Scene::new();
    let words = "kv --engine null --records 1000000 --describe --distribution";
    let shares = |words: String| {
        let document: Value = serde_json::from_str(&scene.run(&words).status(0).out()).unwrap();
        let top = document["top"].as_array().unwrap().iter().find(|top| top["records"] == 10_000).unwrap();
        100.0 * top["share_of_requests"].as_f64().unwrap()
    };
    assert!((shares(format!("{words} zipfian --format json")) - 66.4).abs() < 0.1);
    assert!((shares(format!("{words} ycsb-zipfian --format json")) - 39.9).abs() < 0.1);
    scene.run(&format!("{words} zipfian")).status(0).out_has(&["exponent 0.99", "1 %", "66.4", "█", "970 records"]);
    assert!(!scene.path("manometer-data").exists());
}
