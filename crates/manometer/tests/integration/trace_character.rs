//! `manometer trace characterise` and `synthesise`.

use std::fmt::Write as _;

use manometer_workload::kv::distribution::{ScatteredZipf, stream};
use serde_json::{Value, json};

use crate::support::Scene;

/// Requests of twenty clients for fifty keys over two hundred seconds, in sessions of four.
fn trace() -> String {
    let mut text = "time_ms,op,key,client,value_size\n".to_owned();
    for number in 0..4000_u64 {
        let key = (number * number) % 50;
        let op = if number % 4 == 0 { "update" } else { "get" };
        writeln!(text, "{},{op},user{key},{},{}", number * 50 + number % 6 * 10, number / 4 % 20, 100 + key).unwrap();
    }
    text
}

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("web.csv", &trace());
    scene
}

#[test]
fn machines_learn_what_a_trace_is_like() {
    let output =
        scene().run("trace characterise web.csv --session-gap 2s --latency 1ms --taken-at proxy --format json");
    let document = output.status(0).json();
    assert_eq!(
        (&document["requests"], &document["key_sample"]["method"], &document["format"]),
        (&json!(4000), &json!("exact"), &json!("csv"))
    );
    assert_eq!(document["operations"]["update"]["share"], json!(0.25));
    assert_eq!(document["sessions"]["requests_per_session"]["mean"], json!(4.0));
    assert_eq!(
        (&document["replay_model"]["model"], &document["replay_model"]["unknown"]),
        (&json!("open"), &Value::Null)
    );
    assert!(
        document["burstiness"]["hurst_dfa"]["value"].is_number()
            && document["popularity"]["hot_keys"][0]["requests"].is_number()
    );
    assert!(document["diurnal"].is_null() && document["diurnal_reason"].as_str().unwrap().contains("24"));
    assert!(document["device"].is_null() && document["damage"].is_null());
}

#[test]
fn what_our_own_generator_draws_is_known_again() {
    for (number, exponent, records) in [(1, 0.5, 20_000), (2, 0.8, 100_000), (3, 0.99, 100_000), (4, 1.2, 50_000)] {
        let (zipf, mut random) = (ScatteredZipf::new(records, exponent, number), stream(number, 0));
        let mut text = "op,key\n".to_owned();
        (0..300_000).for_each(|_| writeln!(text, "get,user{}", zipf.draw(&mut random)).unwrap());
        let scene = Scene::new();
        scene.write("zipf.csv", &text);
        let document = scene.run("trace characterise zipf.csv --format json").status(0).json();
        let fitted = &document["popularity"]["zipf"];
        let (found, error) = (fitted["exponent"].as_f64().unwrap(), fitted["standard_error"].as_f64().unwrap());
        assert!((found - exponent).abs() < 4.0 * error && error < 0.03, "{exponent}: {fitted}");
        assert_ne!(fitted["verdict"], json!("not-zipf"), "{exponent}: {fitted}");
    }
}

#[test]
fn people_get_a_line_for_each_side() {
    let words = [
        "4 000 requests for",
        "mix           get 75.00 %",
        "popularity",
        "one-hit",
        "reuse",
        "Hurst",
        "sessions",
        "--taken-at",
    ];
    scene().run("trace characterise web.csv").status(0).out_has(&words);
    let scene = Scene::new();
    scene
        .write("disk.load", "start ; sector; length ; op ; x ; y\n0.5 ; 8 ; 8 ; W ; 0 ; 0\n1.5 ; 16 ; 8 ; R ; 0 ; 0\n");
    let words = ["read 50.00 % of the requests, 50.00 % of the bytes", "sequential    100.00 %", "4 KiB 100.00 %"];
    scene.run("trace characterise disk.load").status(0).out_has(&words);
    scene.write("keys", "a\nb\na\n");
    let words = ["unknown: the trace has no times", "none: the trace has no times", "replay        open"];
    scene.run("trace characterise keys").status(0).out_has(&words);
}

#[test]
fn a_damaged_trace_has_the_character_of_its_good_records() {
    let scene = scene();
    scene.write("cut.csv", &(trace() + "x,y,z\n"));
    let document = scene.run("trace characterise cut.csv --format json").status(1).err_has(&["4000 requests"]).json();
    assert_eq!((&document["requests"], document["damage"]["offset"].is_number()), (&json!(4000), true));
    scene.write("empty", "");
    scene.run("trace characterise empty").status(2).err_has(&["it is empty"]);
    scene.run("trace characterise web.csv --session-gap soon").status(2).err_has(&["10s"]);
}

#[test]
fn a_model_makes_more_of_a_trace() {
    let scene = scene();
    let output = scene
        .run("trace synthesise web.csv made.csv --model web.json --format json")
        .status(0)
        .err_has(&["fit: error of the LRU miss ratio"]);
    let document = output.json();
    assert_eq!(document["requests"], json!(4000));
    assert!(document["fit_error"]["miss_ratio_max"].as_f64().unwrap() < 0.2, "{document}");
    let model = scene.json("web.json");
    assert_eq!((&model["manometer_trace_model"], &model["fit_error"]), (&json!(1), &document["fit_error"]));
    assert!(!scene.read("web.json").contains("user"));
    // The model alone makes the same, and more.
    scene.run("trace synthesise web.json again.csv").status(0);
    assert_eq!(scene.read("again.csv"), scene.read("made.csv"));
    let document =
        scene.run("trace synthesise web.json more.csv --requests 10000 --seed 7 --format json").status(0).json();
    assert_eq!(document["requests"], json!(10000));
    let info = scene.run("trace info more.csv --format json").status(0).json();
    assert_eq!((&info["requests"], &info["times_backward"]), (&json!(10000), &json!(0)));
}

#[test]
fn accesses_to_a_tree_are_a_trace_like_any_other() {
    let scene = Scene::new();
    let words = "trace synthesise --paths paths.csv --files 500 --depth 3-4 --mean-file-size 4KiB --requests 5000";
    let document = scene.run(&format!("{words} --format json")).status(0).json();
    assert_eq!((&document["requests"], &document["files"], &document["seed"]), (&json!(5000), &json!(500), &json!(1)));
    let info = scene.run("trace info paths.csv --format json").status(0).json();
    assert_eq!((&info["requests"], &info["keys"]), (&json!(5000), &document["files_accessed"]));
    assert_eq!(info["operations"], json!({ "get": 5000 }));
    let lines = scene.read("paths.csv");
    let paths: Vec<&str> = lines.lines().skip(1).map(|line| line.split(',').nth(3).unwrap()).collect();
    assert!(
        paths.iter().all(|path| path.starts_with("/d") && [3, 4].contains(&path.matches('/').count())),
        "{}",
        paths[0]
    );
    // The same seed generates the same trace in any format, and another seed another one.
    scene.run(&words.replace("paths.csv", "paths.parquet")).status(0);
    scene.run("trace convert paths.parquet again.csv").status(0);
    assert_eq!(scene.read("again.csv"), lines);
    scene.run(&format!("{} --seed 2", words.replace("paths.csv", "other.csv"))).status(0);
    assert_ne!(scene.read("other.csv"), lines);
    scene.run(&format!("{} --no-key-texts", words.replace("paths.csv", "ids.csv"))).status(0);
    assert!(!scene.read("ids.csv").contains("/d"));
    scene.run("cache simulate paths.csv --policy lru --capacity 100").status(0);
}

#[test]
fn what_is_no_tree_is_refused() {
    let scene = scene();
    for (words, expected) in [
        ("--paths o.csv --files 0", "`files`: got 0"),
        ("--paths o.csv --depth 2", "at least 4 deep"),
        ("--paths o.csv --depth deep", "such as 8"),
        ("--paths o.csv --locality 1", "below 1"),
        ("--paths o.csv --exponent nan", "`exponent`"),
        ("--paths web.csv o.csv", "name the new file only"),
        ("--paths o.csv --model m.json", "--model"),
        ("web.csv o.csv --depth 9", "--paths"),
        ("o.csv", "or add --paths"),
        ("--paths o.unknown", "--output-format"),
    ] {
        scene.run(&format!("trace synthesise {words}")).status(2).err_has(&[expected]);
        assert!(!scene.path("o.csv").exists(), "{words}");
    }
}

#[test]
fn what_cannot_be_modelled_is_refused() {
    let scene = scene();
    scene
        .write("disk.load", "start ; sector; length ; op ; x ; y\n0.5 ; 8 ; 8 ; W ; 0 ; 0\n1.5 ; 16 ; 8 ; R ; 0 ; 0\n");
    scene.write("broken.json", "{\"manometer_trace_model\": 1}");
    scene.write("model.json", "{}");
    scene.run("trace synthesise web.csv fitted.csv --model fitted.json").status(0);
    for (words, expected) in [
        ("synthesise disk.load o.csv", "places on devices"),
        ("synthesise broken.json o.csv", "not a model: missing field"),
        ("synthesise web.csv o.csv --model model.json", "the file exists"),
        ("synthesise fitted.json o.csv --model other.json", "leave --model out"),
        ("synthesise - o.csv", "name a file"),
        ("synthesise nowhere o.csv", "nowhere"),
    ] {
        scene.run(&format!("trace {words}")).status(2).err_has(&[expected]);
        assert!(!scene.path("o.csv").exists(), "{words}");
    }
}

/// The lines of [`trace`] in three files; one of them holds a single request.
fn write_parts(scene: &Scene) -> String {
    let text = trace();
    let (head, lines) = text.split_once('\n').unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    for (number, lines) in [&lines[..1500], &lines[1500..1501], &lines[1501..]].into_iter().enumerate() {
        scene.write(&format!("part-{number}.csv"), &format!("{head}\n{}\n", lines.join("\n")));
    }
    "part-0.csv part-1.csv part-2.csv".to_owned()
}

#[test]
fn parts_are_read_as_one_trace() {
    let scene = scene();
    let parts = write_parts(&scene);
    for verb in [
        "trace characterise",
        "cache curve --policy lru,arc --working-set",
        "cache simulate --policy lru,lecar --capacity 5,20,40",
        "cache simulate --policy gdsf --capacity 1KiB --size-aware",
    ] {
        let one = scene.run(&format!("{verb} web.csv --format json")).status(0).out();
        assert_eq!(scene.run(&format!("{verb} {parts} --format json")).status(0).out(), one, "{verb}");
    }
    scene.run(&format!("trace characterise {parts}")).status(0).out_has(&["part-0.csv and 2 more: csv"]);
    scene.run(&format!("cache curve {parts} --name web")).status(0).out_has(&["web: "]);
}

#[test]
fn parts_that_are_missing_damaged_or_of_another_format_are_named() {
    let scene = scene();
    write_parts(&scene);
    scene.run("trace characterise part-0.csv nowhere.csv").status(2).err_has(&["nowhere.csv is no file"]);
    scene.write("damaged.csv", "time_ms,op,key,client,value_size\n1,get,a,1,7\nx,get,a,1,7\n");
    let output = scene.run("trace characterise part-0.csv damaged.csv part-2.csv --format json").status(1);
    let output = output.err_has(&["(line 3)", "in damaged.csv", "the 1501 requests before it were read"]);
    assert_eq!(output.json()["requests"], 1501);
    scene.run("trace convert part-2.csv part-2.parquet").status(0);
    scene
        .run("cache curve part-0.csv part-2.parquet")
        .status(1)
        .err_has(&["part-2.parquet is a trace of the format parquet"]);
}
