//! `manometer init`: what it writes can run, whatever was answered.

use std::fs;

use manometer_testing::repository_file;
use serde_json::Value;

use crate::support::Scene;

const NEIGHBOURS: [&str; 8] = ["reader", "writer", "mixed", "backup", "log", "store", "fio", "none"];

fn engines(scene: &Scene) -> Vec<String> {
    let document = scene.run("engines --format json").status(0).json();
    document["engines"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn assert_can_run(scene: &Scene, name: &str, flags: &str) -> Value {
    scene.run(&format!("init {name}.toml {flags}")).status(0).out_has(&["manometer run", "--dry-run"]);
    scene.run(&format!("run {name}.toml --dry-run --format json")).status(0).json()
}

#[test]
fn the_file_can_run_for_every_engine_and_neighbour() {
    let scene = Scene::new();
    for engine in engines(&scene) {
        for neighbour in NEIGHBOURS {
            if neighbour == "fio" && !manometer_testing::installed("fio") {
                continue;
            }
            let name = format!("{engine}-{neighbour}");
            let document = assert_can_run(&scene, &name, &format!("--engine {engine} --neighbour {neighbour}"));
            assert_eq!(document["runs"][0]["experiment"]["primary"]["engine"], engine.as_str(), "{name}");
            let seconds = document["duration_s"].as_f64().unwrap();
            assert!((60.0..=121.0).contains(&seconds), "{name}: {seconds} s");
        }
    }
}

#[test]
fn the_file_can_run_for_every_workload_size_and_time() {
    let scene = Scene::new();
    let others = [
        "--workload ycsb-a",
        "--workload ycsb-c",
        "--workload ycsb-e",
        "--workload ycsb-f",
        "--data 10MiB",
        "--time 1m",
        "--time 1h",
        "--directory some/where",
    ];
    for (number, flags) in others.into_iter().enumerate() {
        assert_can_run(&scene, &number.to_string(), flags);
    }
}

#[test]
fn what_was_written_measures() {
    let scene = Scene::new();
    scene.run("init --engine null --data 1MiB --time 40s --directory data").status(0);
    let file = scene.read("experiment.toml");
    assert!(file.starts_with("#:schema ./experiment.schema.json\n# What does null lose to"), "{file}");
    let schema = scene.json("experiment.schema.json");
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(repository_file("docs/experiment.schema.json")).unwrap()).unwrap();
    assert!(schema == kept && schema["$id"] == "urn:manometer:experiment");
    scene.run("run experiment.toml --out rec --set mixed.file_size=1MiB --set plan.rounds=5").status(0);
}

#[test]
fn nothing_is_overwritten_and_what_cannot_run_is_not_written() {
    let scene = Scene::new();
    scene.write("experiment.toml", "mine");
    scene.run("init").status(2).err_has(&["experiment.toml exists", "choose another name"]);
    assert_eq!(scene.read("experiment.toml"), "mine");
    scene.run("init other.toml --engine rocksbd").status(2).err_has(&["rocksbd"]);
    scene.run("init other.toml --engine memcached --workload ycsb-e").status(2).err_has(&["other.toml:"]);
    scene.run("init other.toml --time 5s").status(2).err_has(&["--time 5s", "at least"]);
    scene.run("init other.toml --neighbour nobody").status(2);
    assert!(!scene.path("other.toml").exists());
    scene.write("experiment.schema.json", "{}");
    scene.run("init other.toml").status(2).err_has(&["experiment.schema.json", "not Manometer's"]);
    assert_eq!(scene.read("experiment.schema.json"), "{}");
}
