//! db_bench's benchmarks through the real binary.

use crate::support::Scene;

#[test]
fn a_fill_ends_when_every_record_has_been_asked_for() {
    let scene = Scene::new();
    let flags = "--threads 2 --records 5000 --key-size 16 --value-size 100 --dir D --format json";
    let result = scene.run(&format!("kv --engine null --workload fillrandom {flags}")).status(0).json();
    assert_eq!(result["operations"]["insert"], 5000);
    assert_eq!(result["missing"]["insert"], 0);
}

#[test]
fn a_fill_lasts_as_long_as_set() {
    let flags = "--records 10 --seconds 0.3 --format json";
    let result = Scene::new().run(&format!("kv --engine null --workload fillseq {flags}")).status(0).json();
    assert!(result["operations"]["insert"].as_u64().unwrap() > 10, "{result}");
}

#[test]
fn background_operations_are_reported_and_not_added() {
    let flags = "--records 1000 --seconds 0.5 --format json -p benchmark_write_rate_limit=116000";
    let result = Scene::new().run(&format!("kv --engine null --workload readwhilewriting {flags}")).status(0).json();
    let count = |operation: &str| result["operations"][operation].as_f64().unwrap();
    // 1000 a second, and a tenth of a second's worth at once.
    assert!((1.0..=700.0).contains(&count("background_update")), "{result}");
    let asked = result["throughput"]["mean"].as_f64().unwrap() * result["seconds"].as_f64().unwrap();
    assert!((asked - count("read")).abs() < 1.0, "{result}");
    assert!(result["latency_us"]["background_update"]["p99"].is_number());
}

#[test]
fn what_makes_no_sense_is_a_wrong_request() {
    let scene = Scene::new();
    scene.run("kv --engine null --workload seekrandom -p seek_next=3").status(2).err_has(&["`seek_nexts`"]);
    scene.run("kv --engine null --workload ycsb-a --key-size 8").status(2).err_has(&["key_size", "db_bench"]);
    scene.run("kv --engine null --workload readrandm").status(2).err_has(&["db_bench such as readrandom"]);
}

#[test]
fn an_experiment_may_have_such_a_primary() {
    let scene = Scene::new();
    let text = "name = \"mixed\"\n[device]\ndirectory = \"data\"\n[primary]\nengine = \"null\"\n\
                workload = \"readrandomwriterandom\"\nrecords = 1000\nkey_size = 20\nvalue_size = 64\n\
                properties = { readwritepercent = \"80\" }\n[plan]\nwarmup = \"200ms\"\nphase = \"1s\"\n";
    scene.write("mixed.toml", text);
    scene.run("run mixed.toml --dry-run").status(0);
}
