//! The experiments that come with Manometer: found by their names from any directory.

use manometer_experiment::shipped::EXPERIMENTS;
use serde_json::Value;

use crate::support::{SHORT, Scene};

#[test]
fn every_shipped_experiment_is_listed_printed_and_found_by_its_name() {
    let scene = Scene::new();
    let list = scene.run("experiments").status(0);
    let documents = scene.run("experiments --format json").status(0).json();
    assert_eq!(documents["experiments"].as_array().unwrap().len(), EXPERIMENTS.len());
    for experiment in EXPERIMENTS {
        assert!(list.out().contains(experiment.name), "{}", experiment.name);
        let printed = scene.run(&format!("experiments {}", experiment.name)).status(0);
        assert_eq!(printed.out().trim_end(), experiment.text.trim_end());
        // What a host lacks (a scheduler, control groups, the trace) is refused after the file was read.
        let resolved = scene.run(&format!("run {} --dry-run --elsewhere --format json", experiment.name));
        let name = experiment.name;
        match resolved.code() {
            0 => assert!(resolved.json().is_object(), "{name}"),
            _ if name.starts_with("real-vs-synthetic") => {}
            _ => assert!(resolved.err().contains("not installed"), "{name}: {}", resolved.err()),
        }
    }
}

#[test]
fn a_shipped_experiment_runs_with_changes_and_what_it_extends_and_names() {
    let scene = Scene::new();
    let sets = "--set primary.engine=null --set primary.options={} --set primary.records=1000 --set plan.rounds=5 \
        --set writer.file_size=1MiB --set plan.warmup=0s";
    scene.run(&format!("run quick --out rec {sets}")).status(0);
    assert_eq!(scene.json("rec/plan.json")["experiment"], "a reader with a mixed neighbour");
    let extending = scene.run("run rlsm-pressure-rocksdb --dry-run --format json");
    if extending.code() == 0 {
        assert_eq!(extending.json()["runs"][0]["experiment"]["primary"]["engine"], "rocksdb");
    }
    // The thesis's options of RocksDB are inside the program too.
    let thesis = scene.run("run thesis --dry-run --elsewhere --format json").status(0).json();
    let options = &thesis["runs"][0]["experiment"]["primary"]["options"];
    assert_eq!(*options, Value::from("rocksdb-thesis.options"), "{options}");
}

#[test]
fn a_file_wins_over_a_shipped_experiment_and_can_extend_one() {
    let scene = Scene::new();
    scene.write("quick", SHORT);
    let own = scene.run("run quick --dry-run --format json").status(0).json();
    assert_eq!(own["runs"][0]["experiment"]["name"], "short");
    scene.write("mine.toml", "name = \"mine\"\nextends = \"quick.toml\"\n[plan]\nrounds = 8\n");
    let mine = scene.run("run mine.toml --dry-run --format json").status(0).json();
    assert_eq!(mine["runs"][0]["experiment"]["plan"]["rounds"], 8);
    assert_eq!(mine["runs"][0]["experiment"]["primary"]["engine"], "rocksdb");
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest_one() {
    let scene = Scene::new();
    scene.run("run quik").status(2).err_has(&["there is no file `quik`", "did you mean `quick`?"]);
    scene.run("experiments quik").status(2).err_has(&["did you mean `quick`?"]);
    scene.run("run no/such/quick").status(2).err_has(&["no/such/quick", "No such file"]);
}
