//! `manometer cache advise`.

use manometer_testing::repository_file;
use serde_json::{Value, json};

use crate::support::Scene;

const DISK_ALONE: &str = "[[price]]\ndevice = \"hdd\"\nproduct = \"a disk\"\nkind = \"hdd\"\nprice_per_gb = 0.02\n\
                          currency = \"EUR\"\ndate = 2026\nsource = \"a shop\"\n";

/// Keys of a loop among others that come once in a while.
fn scene() -> Scene {
    let scene = Scene::new();
    let key = |request: u64| if request.is_multiple_of(3) { request % 300 } else { 1000 + request * request % 4003 };
    scene.write("keys.txt", &(0..6000).map(|request| format!("{}\n", key(request))).collect::<String>());
    let operation = |request: u64| if request.is_multiple_of(5) { "put" } else { "get" };
    let sized = (0..6000).map(|at| format!("{at},{},{},{}\n", key(at), 4096 + key(at) % 7 * 4096, operation(at)));
    scene.write("sized.csv", &format!("time,key,size,op\n{}", sized.collect::<String>()));
    scene
}

fn shipped(name: &str) -> String {
    repository_file("arrangements").join(name).display().to_string()
}

#[test]
fn a_trace_leads_to_a_page_for_people() {
    let scene = scene();
    let output = scene.run("cache advise keys.txt --goal 0.001MB/s --out page.html").status(0);
    let expected = [
        "keys.txt: recommendation, ",
        "  memory (",
        "  policy (",
        "  ssd (sound): No SSD tier is recommended: all that the trace touches, ",
        "Policies with the recommended memory, ",
        "The cheapest arrangement for trace ≥ 0.001 MB/s: ",
        " USD per GB of data).",
        "each object taken as 4 KiB",
        "span: unknown, the trace has no times",
        "simulated exactly on all keys; ± is half the 95 % interval",
        "16 at a time, caches cold at first",
        "prices of 2026-02, 2026-03",
        "in USD (prices-2026.toml), per GB",
        "dmcache-1s-4h0",
    ];
    output.out_has(&expected);
    let page = scene.read("page.html");
    for expected in ["<h2>What to do</h2>", "data-chart=\"policy-curves\"", "data-chart=\"advised-tiers\""] {
        assert!(page.contains(expected), "{expected}");
    }
}

#[test]
fn the_json_document_is_complete() {
    let document = scene().run("cache advise sized.csv --threads 4 --format json").status(0).json();
    let character = &document["character"];
    assert_eq!((&character["requests"], &character["reads_share"]), (&json!(6000), &json!(0.8)));
    assert_eq!((&document["basis"]["by_size"], &document["basis"]["rate"]), (&json!(true), &json!(1.0)));
    assert!(document["ranking"]["policies"].as_array().unwrap().len() >= 20);
    let curves = document["curves"].as_array().unwrap();
    assert!(curves.len() >= 6 && curves.last().unwrap()["policy"] == "opt");
    assert_eq!((&document["replay"]["requests"], &document["replay"]["threads"]), (&json!(6000), &json!(4)));
    assert_eq!((document["tiers"].as_array().unwrap().len(), &document["tiers"][0]["tier"]), (7, &json!("disks")));
    assert_eq!((&document["goal"], &document["damage"]), (&Value::Null, &Value::Null));
    let recommendation = &document["recommendation"];
    assert_eq!(recommendation["ssd"]["verdict"], "does-not-pay");
    assert!(recommendation["ssd"]["reason"].as_str().unwrap().contains("fits into 4 GiB"));
    assert!(
        recommendation["ssd"]["break_even_interval"][1].as_f64()
            > recommendation["ssd"]["break_even_interval"][0].as_f64()
    );
    assert!(["sound", "indicative"].contains(&recommendation["verdict"]["grade"].as_str().unwrap()));
    let sentences = recommendation["sentences"].as_array().unwrap();
    assert!(sentences.iter().all(|sentence| sentence["grade"].is_string() != (sentence["about"] == "caution")));
}

/// The sentence, the table, the chart and the machine form have the same figures: those that `cache simulate` counts.
#[test]
fn every_form_has_the_figures_of_an_exact_simulation_at_the_recommended_size() {
    let scene = scene();
    let document = scene.run("cache advise keys.txt --out page.html --format json").status(0).json();
    let size = document["ranking"]["capacities"][0].as_u64().unwrap();
    assert_eq!(document["memory"]["recommended"]["capacity"].as_u64(), Some(size));
    let simulated = |policy: &str| {
        let words = format!("cache simulate keys.txt --policy {policy} --capacity {size} --format json");
        scene.run(&words).status(0).json()["results"][0].clone()
    };
    let lru = simulated("lru")["misses"].as_f64().unwrap();
    for ranked in document["ranking"]["policies"].as_array().unwrap() {
        let own = simulated(ranked["policy"].as_str().unwrap());
        assert_eq!(own["misses"], ranked["misses"], "{ranked}");
        let relative = own["misses"].as_f64().unwrap() / lru - 1.0;
        assert!((ranked["relative"].as_f64().unwrap() - relative).abs() < 1e-12, "{ranked}");
    }
    for curve in document["curves"].as_array().unwrap() {
        let points = curve["points"].as_array().unwrap();
        let point = points.iter().find(|point| point["capacity"] == size).unwrap();
        assert_eq!(point["miss_ratio"], simulated(curve["policy"].as_str().unwrap())["miss_ratio"], "{curve}");
    }
    let text = scene.run("cache advise keys.txt").status(0);
    let own = simulated(document["memory"]["policy"].as_str().unwrap());
    let missed = format!("then misses {:.1} %", 100.0 * own["miss_ratio"].as_f64().unwrap());
    text.out_has(&[missed.as_str()]);
    assert!(scene.read("page.html").contains(&missed.replace(" %", "\u{a0}%")), "{missed}");
}

#[test]
fn small_and_odd_traces_are_advised_on() {
    let scene = scene();
    scene.write("one.txt", "7\n7\n7\n7\n");
    scene
        .run("cache advise one.txt --object-size 8KiB")
        .status(0)
        .out_has(&["Use 8 KiB", "Use LRU: with 8 KiB all objects fit"]);
    let writes: String = (0..300).map(|at| format!("{at},{},4096,put\n", at % 100)).collect();
    scene.write("writes.csv", &format!("time,key,size,op\n{writes}"));
    scene.run("cache advise writes.csv").status(0).out_has(&["The trace has no reads"]);
    scene.run("cache advise keys.txt --goal 1000000MB/s").status(3).out_has(&["No arrangement reaches"]);
}

#[test]
fn a_damaged_trace_is_advised_on_as_far_as_it_was_read() {
    let scene = scene();
    scene.write("damaged.csv", &(scene.read("sized.csv") + "6000,1,many,get\n"));
    let output = scene.run("cache advise damaged.csv --out page.html").status(1);
    output
        .out_has(&["6 000 requests", "ssd (indicative): No SSD tier ", "the trace is damaged"])
        .err_has(&["the 6000 requests before it were read"]);
    assert!(scene.read("page.html").contains("The trace is damaged"));
}

#[test]
fn of_a_damaged_trace_nothing_is_sound() {
    let scene = scene();
    scene.write("damaged.csv", &(scene.read("sized.csv") + "6000,1,many,get\n"));
    let document = scene.run("cache advise damaged.csv --format json").status(1).json();
    let sentences = document["recommendation"]["sentences"].as_array().unwrap();
    assert!(sentences.len() > 3 && sentences.iter().all(|sentence| sentence["grade"] != "sound"), "{sentences:?}");
}

/// Sizes that have no sum are refused by every verb that adds them.
#[test]
fn sizes_that_are_too_large_are_refused() {
    let scene = scene();
    let size = 1_u64 << 62;
    let huge: String = (0..8).map(|at| format!("{at},{},{},get\n", at % 4, size + at % 2 * (size / 2))).collect();
    scene.write("huge.csv", &format!("time,key,size,op\n{huge}"));
    scene.write("equal.csv", &format!("time,key,size,op\n0,1,{size},get\n1,2,{size},get\n2,1,{size},get\n"));
    let request = "request 1 has an object of 4611686018427387904 bytes";
    for (words, expected) in [
        ("cache advise huge.csv", request),
        ("cache curve huge.csv --size-aware", request),
        ("cache simulate huge.csv --size-aware --policy lru --capacity 1GiB", request),
        ("cache advise equal.csv", "2 objects of 4611686018427387904 bytes are too large together"),
        (
            "cache advise keys.txt --object-size 4611686018427387904",
            "objects of 4611686018427387904 bytes are too large",
        ),
    ] {
        scene.run(words).status(2).err_has(&[expected, "up to 2305843009213693952 bytes (2 EiB)"]);
    }
    scene.run("cache curve huge.csv").status(0);
    scene.run("trace characterise huge.csv").status(0);
}

#[test]
fn where_nothing_hits_no_memory_is_recommended() {
    let scene = scene();
    scene.write("unique.txt", &(0..5000).map(|key| format!("{key}\n")).collect::<String>());
    let document = scene.run("cache advise unique.txt --format json").status(0).json();
    assert_eq!(document["memory"]["reason"], json!({ "kind": "no-hits" }));
    assert_eq!(document["recommendation"]["memory_bytes"], 0);
    let output = scene.run("cache advise unique.txt").status(0);
    output.out_has(&[
        "No memory is recommended: no cache reduces misses",
        "No policy is advised",
        "Policies with 4 KiB",
    ]);
}

#[test]
fn old_prices_are_said_to_be_old() {
    let scene = scene();
    let words = format!("cache advise keys.txt --prices {}", shipped("prices-2015.toml"));
    scene.run(&words).status(0).out_has(&["prices of 2015, which are old, in USD"]);
}

#[test]
fn arrangements_of_ones_own_keep_their_sizes() {
    let scene = scene();
    let output =
        scene.run(&format!("cache advise keys.txt --arrangement {} --format json", shipped("dmcache-1s-1h.toml")));
    let document = output.status(0).json();
    let names: Vec<&Value> = document["tiers"].as_array().unwrap().iter().map(|tier| &tier["arrangement"]).collect();
    assert_eq!(names, ["dmcache-1s-1h", "dmcache-1s-1h without a cache on 1 × hdd"]);
    assert_eq!(document["replay"]["sizes"], Value::Null);
}

#[test]
fn what_is_wrong_is_refused_with_what_would_be_right() {
    let scene = scene();
    scene.write("empty.txt", "");
    scene.write("deletes.csv", "time,key,size,op\n0,a,10,delete\n");
    scene.write("disk.toml", DISK_ALONE);
    for (words, expected) in [
        ("cache advise empty.txt", "it is empty"),
        ("cache advise empty.txt --input-format keys", "the trace has no requests"),
        ("cache advise deletes.csv", "the trace has no request that a cache could answer"),
        ("cache advise nowhere.txt", "nowhere.txt"),
        ("cache advise -", "name a file, not a stream"),
        ("cache advise keys.txt --prices disk.toml", "`ssd` has no price; these have: hdd"),
        ("cache advise keys.txt --prices nowhere.toml", "nowhere.toml cannot be read"),
        ("cache advise keys.txt --goal mail>=3MB/s", "is not a goal: write the least throughput, such as 50MB/s"),
        ("cache advise keys.txt --object-size 0", "the object size is 0"),
        ("cache advise keys.txt --arrangement nowhere.toml", "nowhere.toml: cannot be read"),
    ] {
        scene.run(words).status(2).err_has(&[expected]);
    }
    let arrangement = std::fs::read_to_string(shipped("1h.toml")).unwrap();
    let small = arrangement.lines().map(|line| if line.starts_with("size") { "size = \"1MiB\"" } else { line });
    scene.write("small.toml", &small.collect::<Vec<_>>().join("\n"));
    for name in ["devices.toml", "workloads.toml"] {
        scene.write(name, &std::fs::read_to_string(shipped(name)).unwrap());
    }
    let output = scene.run("cache advise keys.txt --arrangement small.toml").status(2);
    output.err_has(&["the arrangement `small`: the trace is for ", "and the origin has 1048576"]);
}
