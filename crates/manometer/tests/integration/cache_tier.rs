//! `manometer cache tier`.

use std::fs;

use manometer_testing::repository_file;
use serde_json::{Value, json};

use crate::support::Scene;

/// A scene with the arrangements that ship.
fn scene() -> Scene {
    let scene = Scene::new();
    let folder = repository_file("arrangements");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        scene.write(path.file_name().unwrap().to_str().unwrap(), &fs::read_to_string(&path).unwrap());
    }
    scene
}

#[test]
fn arrangements_stand_side_by_side_and_cost_reads_them() {
    let scene = scene();
    let run = scene.run("cache tier 1h.toml bcache-1s-1h.toml --workload oltp --scale 256 --format json").status(0);
    let document = run.json();
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!((&results[0]["arrangement"], &results[0]["cache"]), (&json!("1h"), &Value::Null));
    let cache = &results[1]["cache"];
    assert_eq!((&cache["device"], &cache["bytes"]), (&json!("ssd"), &json!(30_000_000_000_u64)));
    assert!(results[1]["mb_per_s"].as_f64().unwrap() > results[0]["mb_per_s"].as_f64().unwrap());
    scene.write("results.json", &document.to_string());
    scene.run("cache cost results.json --prices prices-2015.toml").status(0).out_has(&["bcache-1s-1h"]);
    let output = scene.run("cache tier 1h.toml bcache-1s-1h.toml --workload oltp --scale 256").status(0);
    output.out_has(&["MB/s", "bcache-1s-1h", "five flows"]);
}

#[test]
fn caches_are_swept_and_compared_with_disks() {
    let scene = scene();
    let arrangement = fs::read_to_string(scene.path("dmcache-1s-4h0.toml")).unwrap();
    let more = "\n[sweep]\ncache_to_origin = [0.1, 0.4]\n\n[equal]\nraid = \"raid0\"\ncount_max = 3\n";
    scene.write("swept.toml", &(arrangement + more));
    let document = scene.run("cache tier swept.toml --workload fileserver --scale 512 --format json").status(0).json();
    let results = document["results"].as_array().unwrap();
    let caches: Vec<&Value> = results.iter().map(|result| &result["cache"]["bytes"]).collect();
    assert_eq!(caches, [30_000_000_000_u64, 15_000_000_000, 60_000_000_000]);
    for result in results {
        let expected = json!({ "raid": "raid0", "count_max": 3, "by": "mb_per_s", "count": null });
        assert_eq!(result["disks_equal"], expected, "{}", result["arrangement"]);
    }
    let trace: String = (0..40).map(|at| format!("{at},{},4096,get\n", at * 7 % 20)).collect();
    scene.write("open.csv", &format!("time,key,size,op\n{trace}"));
    let open = scene.run("cache tier swept.toml --trace open.csv --format json").status(0).json();
    assert_eq!(open["results"][0]["disks_equal"]["by"], json!("latency_mean_us"));
    let output = scene.run("cache tier swept.toml --workload fileserver --scale 512").status(0);
    output.out_has(&["3 × hdd without a cache are not as fast", "swept at 0.4"]);
}

#[test]
fn rows_that_contradict_the_cache_thesis_say_so() {
    let scene = scene();
    let accuracy: Value =
        serde_json::from_str(&fs::read_to_string(repository_file("arrangements/ratios.json")).unwrap()).unwrap();
    let is_wrong = |ratio: &&Value| {
        let side = |field: &str| ratio[field].as_f64().unwrap() > 1.0;
        side("thesis") != side("model")
    };
    let wrong = accuracy["ratios"].as_array().unwrap().iter().find(is_wrong).unwrap();
    let text = |field: &str| wrong[field].as_str().unwrap().to_owned();
    let (arrangement, workload) = (text("of"), text("workload"));
    let command = format!("cache tier {arrangement}.toml --workload {workload} --scale 512");
    let pair = format!("the model puts {arrangement} ");
    scene.run(&command).status(0).out_has(&["Not to be concluded", &pair, "the cache thesis measured it"]);
    let document = scene.run(&format!("{command} --format json")).status(0).json();
    let notes = document["results"][0]["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().starts_with(&pair)), "{notes:?}");
    scene.write("mine.toml", &fs::read_to_string(scene.path(&format!("{arrangement}.toml"))).unwrap());
    let mine = scene.run(&format!("cache tier mine.toml --workload {workload} --scale 512 --format json"));
    assert_eq!(mine.status(0).json()["results"][0]["notes"], json!([]));
}

#[test]
fn a_trace_is_replayed_and_a_damaged_one_reported() {
    let scene = scene();
    scene.write("trace.csv", "time,key,size,op\n0,a,4096,get\n1,b,4096,put\n2,a,4096,get\n");
    let document = scene.run("cache tier 1h.toml --trace trace.csv --threads 1 --format json").status(0).json();
    assert_eq!(
        (&document["results"][0]["requests"], &document["results"][0]["workload"]),
        (&json!(3), &json!("trace.csv"))
    );
    scene.write("broken.csv", "time,key,size,op\n0,a,4096,get\n1,b,x,put\n2,a,4096,get\n");
    let broken = scene.run("cache tier 1h.toml --trace broken.csv --threads 1").status(1);
    broken.err_has(&["broken.csv", "the 1 requests before it were read"]);
    scene.write("long.csv", "time,key,size,op\n0,a,2000000000,get\n1,b,10,get\n2,b,10000,get\n");
    let long = scene.run("cache tier 1h.toml --trace long.csv --threads 1 --format json").status(0);
    let long = long
        .err_has(&["1 of 3 requests were for more than 1 GiB each", "1 of 3 requests were for objects that had grown"]);
    assert_eq!(long.json()["cut"], json!({ "too_long": 1, "outgrown": 1 }));
    scene.write("empty.csv", "time,key,size,op\n");
    scene.run("cache tier 1h.toml --trace empty.csv").status(2).err_has(&["no requests"]);
}

#[test]
fn the_course_is_drawn_and_written_to_new_files() {
    let scene = scene();
    let words = "cache tier 1h.toml dmcache-1s-1h.toml --workload read-64KiB,oltp --scale 256 --series course.parquet \
                 --chart course.html";
    scene.run(words).status(0).out_has(&["steady from"]);
    let page = scene.read("course.html");
    for expected in ["tier-series", "request-mix", "seeks-and-sizes", "arrangement-bars", "oltp on 1h: reads are"] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(fs::read(scene.path("course.parquet")).unwrap().starts_with(b"PAR1"));
    scene.run(words).status(2).err_has(&["cannot be created", "exists"]);
    scene.run("cache tier 1h.toml --workload oltp --chart course.svg").status(2).err_has(&["ends in .html"]);
}

#[test]
fn missing_inputs_are_reported() {
    let scene = scene();
    scene.run("cache tier 1h.toml --workload mail").status(2).err_has(&["no workload `mail`", "`varmail`"]);
    let small = scene.run("cache tier dmcache-1s-1h.toml --workload oltp --scale 1000000").status(2);
    small.err_has(&["dmcache-1s-1h, oltp: a cache of 30000 bytes"]);
    scene.run("cache tier none.toml").status(2).err_has(&["none.toml", "cannot be read"]);
    scene.write("tape.toml", &fs::read_to_string(scene.path("1h.toml")).unwrap().replace("\"hdd\"", "\"tape\""));
    scene.run("cache tier tape.toml").status(2).err_has(&["there is no device `tape`"]);
}
