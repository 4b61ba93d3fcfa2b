//! `manometer run` of a file of the kind `real-vs-synthetic`.

use manometer_testing::installed;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Scene, wait_for};

const FILE: &str = r#"
kind = "real-vs-synthetic"
name = "a small one"
directory = "data"
trace = "trace.txt"
time_unit = "ms"
caches = [0.2, 1.0]
repeats = 2
threads = 2
nodes = 3
[slabs]
memory = "2MiB"
chunk_max = "4KiB"
"#;

/// A folder with `file.toml` and its trace: keys that are asked for five times each soon one after the other, and some
/// that are asked for again and again.
fn scene() -> Scene {
    let scene = Scene::new();
    let key = |number: u64| if number.is_multiple_of(3) { number / 3 % 40 } else { 1000 + number / 7 };
    let line = |number: u64| format!("read,{},{number},1000\n", key(number));
    scene.write("trace.txt", &(0..12_000).map(line).collect::<String>());
    scene.write("file.toml", FILE);
    scene
}

fn numbers(object: &Value, names: &[&str]) {
    names.iter().for_each(|name| assert!(object[name].is_number(), "{name}: {object}"));
}

#[test]
fn one_command_makes_one_report() {
    if !installed("redis-server") || !installed("memcached") {
        return;
    }
    let scene = scene();
    let document = scene.run("run file.toml --out out --format json").status(0).json();
    assert_eq!((&document["status"], &document["experiment"]), (&json!("complete"), &json!("a small one")));
    let loads: Vec<&Value> = document["loads"].as_array().unwrap().iter().map(|load| &load["name"]).collect();
    let shuffled = ["shuffled-within-100", "shuffled-within-1000", "shuffled"];
    assert_eq!(loads, [&["trace"][..], &shuffled, &["zipf", "zipf-curve", "uniform", "latest"]].concat());
    assert_eq!(document["replays"].as_array().unwrap().len(), 2 * (2 * 2 * 6 + 2));
    for engine in document["engines"].as_array().unwrap() {
        numbers(engine, &["footprint_bytes"]);
        let ranked: Vec<f64> =
            engine["differences"].as_array().unwrap().iter().map(|one| one["rmse"].as_f64().unwrap()).collect();
        assert!(ranked.len() == 5 && ranked.is_sorted(), "{ranked:?}");
        let curve = &engine["curves"][0];
        assert_eq!(curve["load"], "trace");
        let [small, large] = [0, 1].map(|at| curve["points"][at]["miss_ratio"]["mean"].as_f64().unwrap());
        // Each key is missed once at least, and no more often where there is room for all.
        let keys = document["loads"][0]["keys"].as_f64().unwrap();
        assert!(large >= keys / 12_000.0 && large < keys / 12_000.0 + 0.02, "{engine}");
        // Two threads that miss a key at the same time miss it twice.
        assert!(small > large - 0.01, "{small} {large}");
        numbers(&curve["speed_up"], &["mean", "ci_low", "ci_high"]);
    }
    let redis = &document["engines"][0]["curves"][0];
    assert!(redis["points"][0]["cache_bytes"].as_u64() < redis["points"][1]["cache_bytes"].as_u64());
    assert_eq!(document["between_engines"].as_array().unwrap().len(), 6);
    let spots = &document["hot_spots"];
    assert_eq!((&spots["nodes"], &spots["reason"], &spots["requests_per_s"]), (&json!(3), &Value::Null, &json!(1000)));
    let results: Vec<(&str, &str)> = document["decompositions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["result"].as_str().unwrap(), one["on"].as_str().unwrap()))
        .collect();
    for expected in [
        ("miss_ratio", "exact LRU"),
        ("miss_ratio", "redis"),
        ("speed_up", "memcached"),
        ("hot_spots", "computed"),
        ("slab_writes", "memcached, spread sizes"),
    ] {
        assert!(results.contains(&expected), "{expected:?}: {results:?}");
    }
    numbers(&document["engines"][0]["curves"][0]["points"][0]["above_exact"], &["mean", "ci_low", "ci_high"]);
    assert_eq!(document["slabs"]["loads"].as_array().unwrap().len(), 2);
    numbers(&document["slabs"], &["classes", "value_bytes_mean", "cache_bytes"]);
    let ids: Vec<&str> =
        document["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert!(
        ids.contains(&"caches-too-small") || document["engines"][1]["footprint_bytes"].as_u64() > Some(4 << 20),
        "{ids:?}"
    );
    assert_eq!(scene.json("out/real-vs-synthetic.json"), document);
    assert!(scene.read("out/report.html").contains("data-chart=\"miss-ratio-curves\""));
    assert!(scene.read("out/experiment.toml").contains("repeats = 2"));
    let left = std::fs::read_dir(scene.path("data")).unwrap().count();
    assert_eq!(left, 0, "nothing of servers and loads is left");
}

#[test]
fn people_get_a_table_for_each_engine() {
    if !installed("redis-server") {
        return;
    }
    let scene = scene();
    scene.write("one.toml", FILE.split("[slabs]").next().unwrap());
    let flags = "--set engines=[\"redis\"] --set caches=[1.0] --set repeats=1 --set requests=4000";
    let words =
        ["Zipf-distributed keys", "Verdict: ", "locality", "largest error", "uniform", "Report: out/report.html"];
    scene.run(&format!("run one.toml --out out {flags}")).status(0).out_has(&words).err_has(&[
        "4000 requests for",
        "1/6: trace on redis",
        "simulating shuffled",
    ]);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_started() {
    let scene = scene();
    scene.write("one.txt", "read,a,1,10\nread,a,2,10\n");
    scene.write("puts.txt", "update,a,1,10\nupdate,b,2,10\n");
    scene.write("empty.txt", "");
    std::fs::create_dir(scene.path("full")).unwrap();
    scene.write("full/file", "");
    let refused = [
        ("run file.toml --set trace=absent.txt --out out", "absent.txt"),
        ("run file.toml --set trace=one.txt --out out", "its 2 requests are for one key"),
        ("run file.toml --set trace=puts.txt --out out", "none of its requests is a read"),
        ("run file.toml --set trace=empty.txt --out out", "empty.txt"),
        ("run file.toml --set cluster.speed=100 --out out", "no times that span more than a second at this speed"),
        ("run file.toml --set repeats=0", "write a number from 1 to 1000"),
        ("run file.toml --out out --resume", "it cannot be resumed"),
        ("run file.toml file.toml", "run it separately"),
        ("run file.toml --reuse", "leave --reuse out"),
        ("run file.toml --out full", "is not empty"),
    ];
    for (words, says) in refused {
        scene.run(words).status(2).err_has(&[says]);
        assert!(!scene.path("out").exists() && !scene.path("manometer-runs").exists(), "{words}");
    }
    scene.run("run file.toml --set trace=one.txt --out new/er/out").status(2);
    assert!(!scene.path("new").exists());
    // An empty folder of the user's stays.
    std::fs::create_dir(scene.path("own")).unwrap();
    scene.run("run file.toml --set trace=one.txt --out own").status(2);
    assert!(scene.path("own").exists());
}

#[test]
fn a_dry_run_says_how_many_replays_there_would_be() {
    let scene = scene();
    scene.run("run file.toml --dry-run").status(0).out_has(&["at most 68 replays", "chunk_max = \"4KiB\""]);
    let document = scene.run("run file.toml --dry-run --format json").status(0).json();
    assert_eq!((&document["replays"], &document["experiment"]["repeats"]), (&json!(68), &json!(2)));
    assert!(!scene.path("data").exists());
}

#[test]
fn an_interrupted_run_reports_what_was_measured() {
    if !installed("redis-server") {
        return;
    }
    let scene = scene();
    scene.write("one.toml", FILE.split("[slabs]").next().unwrap());
    let running = scene.start("run one.toml --out out --set engines=[\"redis\"] --set repeats=1000 --format json");
    // Each replay recreates the server's data, and writes when.
    let marker = || {
        let folder = std::fs::read_dir(scene.path("data")).ok()?.next()?.ok()?.path();
        std::fs::read_to_string(folder.join("server/manometer.json")).ok().filter(|text| text.ends_with('}'))
    };
    let made_at =
        |text: String| serde_json::from_str::<Value>(&text).ok().map(|marker| marker["made_at_unix_ns"].clone());
    let first = wait_for("the first replay to begin", || made_at(marker()?));
    wait_for("the second replay to begin", || made_at(marker()?).filter(|later| *later != first));
    running.signal(Signal::INT);
    assert_eq!(running.end().status(1).json()["status"], "interrupted");
    assert!(scene.read("out/report.html").contains("interrupted"));
}

#[test]
fn simulation_alone_needs_no_engine() {
    let scene = scene();
    scene.write("one.toml", FILE.split("[slabs]").next().unwrap());
    let document = scene.run("run one.toml --out out --set engines=[] --format json").status(0).json();
    assert_eq!((&document["status"], &document["engines"]), (&json!("complete"), &json!([])));
    let point = |load: &str, cache: f64| {
        let is_it = |one: &&Value| one["load"] == load && one["cache"] == cache;
        document["simulated"].as_array().unwrap().iter().find(is_it).unwrap()["miss_ratio"].as_f64().unwrap()
    };
    let keys = document["loads"][0]["keys"].as_f64().unwrap();
    assert!((point("trace", 1.0) - keys / 12_000.0).abs() < 1e-12, "each key is missed once");
    assert!(point("trace", 0.2) < point("shuffled", 0.2) - 0.1, "its keys are asked for soon again");
    assert!(point("shuffled-within-1000", 0.2) < point("shuffled", 0.2), "locality over longer distances stays");
    let small = &document["decompositions"][0];
    assert_eq!(
        (&small["result"], &small["on"], &small["cache"]),
        (&json!("miss_ratio"), &json!("exact LRU"), &json!(0.2))
    );
    let sum: f64 = small["effects"].as_array().unwrap().iter().map(|effect| effect["mean"].as_f64().unwrap()).sum();
    assert!((sum - small["difference"]["mean"].as_f64().unwrap()).abs() < 1e-9);
    assert!(document["headline"].as_str().unwrap().contains("locality"), "{}", document["headline"]);
    assert!(scene.read("out/report.html").contains("Exact simulation"));
}

#[test]
fn a_short_trace_is_no_sound_evidence_and_whole_seconds_say_nothing_of_bursts() {
    let scene = scene();
    scene.write("one.toml", FILE.split("[slabs]").next().unwrap());
    scene.write("few.txt", "read,a,1000,10\nread,b,2000,20\nread,a,9000,10\n");
    let document =
        scene.run("run one.toml --out out --set engines=[] --set trace=few.txt --format json").status(0).json();
    assert_eq!(document["grade"], "indicative");
    assert!(document["headline"].as_str().unwrap().contains("other requests may differ"), "{}", document["headline"]);
    let ids: Vec<&str> =
        document["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"zipf-fit-poor") && ids.contains(&"clock-of-seconds"), "{ids:?}");
}

#[test]
fn hot_spots_and_throughput_are_measured_on_servers() {
    if !installed("redis-server") {
        return;
    }
    let scene = scene();
    let without = FILE.split("[slabs]").next().unwrap();
    scene.write("one.toml", &format!("{without}[cluster]\nspeed = 2\n[throughput]\nthreads = [2]\n"));
    let document = scene.run("run one.toml --out out --set engines=[] --format json").status(0).json();
    assert_eq!(document["status"], "complete");
    let spots = &document["hot_spots"];
    let names: Vec<(&str, &str)> = spots["measured"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["load"].as_str().unwrap(), one["arrivals"].as_str().unwrap()))
        .collect();
    let expected = [("trace", "recorded"), ("trace", "constant"), ("trace", "poisson"), ("shuffled", "constant")];
    assert_eq!((&names[..4], names[4]), (&expected[..], ("zipf", "constant")));
    for one in spots["measured"].as_array().unwrap() {
        // A constant and a Poisson rate end with the last of five complete seconds.
        let sent = if one["arrivals"] == "recorded" { 12_000 } else { 10_000 };
        assert_eq!((&one["sent"], &one["errors"]), (&json!(sent), &json!(0)), "{one}");
        // The first report of a server only begins its count, and every server begins at once.
        assert!(one["hottest"].as_array().unwrap().len() > 1, "{one}");
        numbers(&one["requests"], &["min", "median", "max"]);
    }
    assert_eq!(spots["speed"], 2.0);
    let throughput = &document["throughput"];
    assert_eq!((&throughput["read_share"], &throughput["value_bytes"]), (&json!(1.0), &json!(1000)));
    assert_eq!(throughput["runs"].as_array().unwrap().len(), 4);
    numbers(&throughput["results"][0]["ratio"], &["mean", "ci_low", "ci_high"]);
    let page = scene.read("out/report.html");
    assert!(page.contains("trace, measured") && page.contains("Throughput next to a stationary load"));
    assert_eq!(std::fs::read_dir(scene.path("data")).unwrap().count(), 0, "nothing of servers and loads is left");
}
