//! `manometer rlsm`, and the engine from the command line.

use std::fs;
use std::path::PathBuf;

use manometer_testing::repository_file;
use serde_json::Value;

use crate::support::Scene;

const FILL: &str = "kv --engine rlsm --workload fillrandom --records 5000 --key-size 16 --value-size 100 \
    --memtable 64KiB --dir d --keep --option sync=never --format json";

/// A folder with a database in `d/kv/db`.
fn filled() -> Scene {
    let scene = Scene::new();
    let document = scene.run(FILL).status(0).json();
    assert!(document["throughput"]["mean"].as_f64().unwrap() > 0.0, "{document}");
    scene
}

fn database(scene: &Scene) -> PathBuf {
    let found: Vec<PathBuf> = fs::read_dir(scene.path("d")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let holds = |path: &&PathBuf| path.join("db/LOCK").exists();
    found.iter().find(holds).unwrap_or_else(|| panic!("no database in {found:?}")).join("db")
}

fn file(scene: &Scene, kind: &str) -> PathBuf {
    let named = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(kind);
    let mut files: Vec<PathBuf> = fs::read_dir(database(scene)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(named);
    files.sort();
    files.pop().unwrap()
}

fn flip_in_the_middle(path: &PathBuf) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].iter_mut().for_each(|byte| *byte ^= 1);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_database_is_described_and_verified() {
    let scene = filled();
    let folder = database(&scene).display().to_string();
    let verified = scene.run(&format!("rlsm verify {folder} --format json")).status(0).json();
    assert_eq!((&verified["sound"], &verified["problems"]), (&Value::Bool(true), &Value::Array(Vec::new())));
    scene.run(&format!("rlsm verify {folder}")).status(0).out_has(&["the database is undamaged"]);
    let stats = scene.run(&format!("rlsm stats {folder} --format json")).status(0).json();
    assert!(stats["ranges"].as_u64().unwrap() > 0 && stats["range_runs_mean"].as_f64().unwrap() >= 1.0, "{stats}");
    scene.run(&format!("rlsm stats {folder}")).status(0).out_has(&["level 0", "ranges", "in memory"]);
    let runs = scene.run(&format!("rlsm dump {folder} --runs --format json")).status(0).json();
    assert!(runs["ranges"][0]["runs"][0]["file"].as_str().unwrap().starts_with("data-"), "{runs}");
    scene.run(&format!("rlsm dump {folder} --runs")).status(0).out_has(&["range 1", "data-"]);
    let repair = scene.run(&format!("rlsm repair {folder} --format json")).status(0).json();
    assert_eq!(repair["needed"], false);
}

#[test]
fn keys_are_dumped_in_order_within_bounds() {
    let scene = filled();
    let folder = database(&scene).display().to_string();
    let all = scene.run(&format!("rlsm dump {folder} --keys-only --format json")).status(0).json();
    let key = |entry: &Value| entry["key"].as_str().unwrap().to_owned();
    let keys: Vec<String> = all["entries"].as_array().unwrap().iter().map(key).collect();
    assert!(keys.len() > 1000 && keys.len() <= 5000, "{}", keys.len());
    let some = scene.run(&format!("rlsm dump {folder} --limit 3 --from {} --format json", keys[10])).status(0).json();
    let some = some["entries"].as_array().unwrap();
    assert_eq!(some.iter().map(key).collect::<Vec<_>>(), keys[10..13]);
    assert!(!some[0]["value"].as_str().unwrap().is_empty());
    let output = scene.run(&format!("rlsm dump {folder} --keys-only --to {}", keys[2])).status(0);
    assert_eq!(output.out().lines().collect::<Vec<_>>(), keys[..2]);
    let one = scene.run(&format!("rlsm dump {folder} --prefix {}", keys[5])).status(0);
    assert!(one.out().starts_with(&format!("{} => ", keys[5])), "{}", one.out());
    scene.run(&format!("rlsm dump {folder} --from \\q")).status(2).err_has(&["\\xNN"]);
}

#[test]
fn damage_is_reported_and_repaired() {
    let scene = filled();
    let folder = database(&scene).display().to_string();
    flip_in_the_middle(&file(&scene, "data-"));
    fs::remove_file(file(&scene, "manifest-")).unwrap();
    let verified = scene.run(&format!("rlsm verify {folder} --format json")).status(3).json();
    assert!(verified["problems"].as_array().unwrap().len() > 1, "{verified}");
    scene.run(&format!("rlsm verify {folder}")).status(3).out_has(&["data-", "at byte", "rlsm repair"]);
    scene.run(&format!("rlsm stats {folder}")).status(1).err_has(&["manifest", "repair"]);
    let repair = scene.run(&format!("rlsm repair {folder} --format json")).status(3).json();
    assert!(repair["entries"].as_u64().unwrap() > 1000 && !repair["lost"].as_array().unwrap().is_empty(), "{repair}");
    assert!(repair["moved_aside"][0].as_str().unwrap().ends_with(".aside1"));
    scene.run(&format!("rlsm verify {folder}")).status(0);
    scene.run(&format!("rlsm repair {folder}")).status(0).out_has(&["nothing was changed"]);
}

#[test]
fn a_folder_without_a_database_is_a_wrong_request() {
    let scene = Scene::new();
    for verb in ["dump", "stats", "verify", "repair"] {
        scene.run(&format!("rlsm {verb} .")).status(2).err_has(&["no database"]);
        scene.run(&format!("rlsm {verb} nowhere")).status(2).err_has(&["nowhere"]);
    }
    assert_eq!(fs::read_dir(scene.path(".")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn the_experiment_about_pressure_can_be_planned() {
    let scene = Scene::new();
    let folder = repository_file("experiments").display().to_string();
    let files = format!("{folder}/rlsm-pressure.toml {folder}/rlsm-pressure-rocksdb.toml");
    let document = scene.run(&format!("run {files} --dry-run --format json")).status(0).json();
    let runs = document["runs"].as_array().unwrap().iter();
    let primaries = runs.map(|run| &run["experiment"]["primary"]);
    let engines: Vec<_> =
        primaries.map(|it| (it["engine"].as_str(), it["options"]["feel_pressure"].as_bool())).collect();
    assert_eq!(engines, [(Some("rlsm"), Some(false)), (Some("rlsm"), Some(true)), (Some("rocksdb"), None)]);
}

#[test]
fn the_memtable_is_sized_under_the_name_that_each_engine_has_for_it() {
    let scene = Scene::new();
    let fill = "kv --workload fillseq --records 100 --dir d --memtable 1MiB --format json";
    for engine in ["rlsm", "rocksdb", "fjall"] {
        scene.run(&format!("{fill} --engine {engine}")).status(0);
    }
    scene.run(&format!("{fill} --engine redb")).status(2).err_has(&["redb has no memtable option", "rlsm"]);
    let twice = "--engine rlsm --option memtable_bytes=2MiB";
    scene.run(&format!("{fill} {twice}")).status(2).err_has(&["leave one out"]);
}
