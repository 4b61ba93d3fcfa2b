//! `manometer cache simulate` and `curve`.

use serde_json::{Value, json};

use crate::support::Scene;

/// The reference string of the cache thesis, a key a line.
const REFERENCES: &str = "7\n0\n1\n2\n0\n3\n0\n4\n2\n3\n0\n3\n2\n1\n2\n0\n1\n7\n0\n1\n";
/// Keys with sizes, of which one changes and one is larger than any cache here.
const SIZED: &str = "time,key,size,op\n0,a,10,get\n1,b,20,get\n2,a,30,put\n3,c,5000,get\n4,b,20,get\n5,a,30,delete\n";

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("references.txt", REFERENCES);
    scene.write("sized.csv", SIZED);
    scene.write("empty.txt", "");
    scene
}

#[test]
fn the_thesis_example_misses_as_often_as_it_says() {
    let output =
        scene().run("cache simulate references.txt --policy opt,lru,fifo --capacity 3,100 --format json").status(0);
    let document = output.json();
    let misses: Vec<&Value> = document["results"].as_array().unwrap().iter().map(|result| &result["misses"]).collect();
    assert_eq!(misses, [9, 6, 12, 6, 15, 6]);
    let first = &document["results"][0];
    assert_eq!((&first["policy"], &first["capacity"], &first["requests"]), (&json!("opt"), &json!(3), &json!(20)));
    assert_eq!(first["miss_ratio"], json!(0.45));
    scene().run("cache simulate references.txt --policy opt,lru --capacity 3").status(0).out_has(&["0.4500", "0.6000"]);
}

#[test]
fn evictions_have_the_five_rows_of_table_3_1_of_the_thesis() {
    let scene = scene();
    scene.write("table.txt", "A\nD\nB\nC\nB\nA\nD\nA\nE\n");
    let run =
        |more: &str| scene.run(&format!("cache simulate table.txt --policy lirs,lru --capacity 3 {more}")).status(0);
    let document = run("--evictions --format json").json();
    let evictions = &document["evictions"];
    let object = |key: &str, times: &[u64], recency: u64, irr: Option<u64>| json!({ "key": key, "times": times, "earlier": 0, "recency": recency, "irr": irr });
    let rows = [
        object("E", &[9], 0, None),
        object("A", &[1, 6, 8], 1, Some(1)),
        object("D", &[2, 7], 2, Some(3)),
        object("B", &[3, 5], 3, Some(1)),
        object("C", &[4], 4, None),
    ];
    assert_eq!((&evictions["objects"], &evictions["more_objects"]), (&json!(rows), &json!(0)));
    let evicted = |cache: usize| -> Vec<(u64, String)> {
        let requests = evictions["caches"][cache]["requests"].as_array().unwrap();
        requests.iter().map(|request| (request["time"].as_u64().unwrap(), request["evicted"][0].to_string())).collect()
    };
    let pairs =
        |pairs: &[(u64, &str)]| pairs.iter().map(|(time, key)| (*time, format!("\"{key}\""))).collect::<Vec<_>>();
    // The table's LIR set is A and B; C and D, of its HIR set, are not cached, and E is the resident HIR block.
    assert_eq!(evicted(0), pairs(&[(4, "D"), (7, "C"), (9, "D")]));
    assert_eq!(evictions["caches"][0]["cached"], json!(["E", "A", "B"]));
    assert_eq!(evicted(1), pairs(&[(4, "A"), (6, "D"), (7, "C"), (9, "B")]));
    run("--evictions").out_has(&["lirs at 3 evicted:", "lru at 3 evicted:", "requested at", "1 6 8", "inf", "cached"]);
    assert_eq!(run("--format json").json().get("evictions"), None);
}

#[test]
fn long_lists_of_evictions_end_with_how_many_more_there_are() {
    let scene = scene();
    let keys: String = (0..200).map(|key| format!("{key}\n")).collect();
    scene.write("many.txt", &keys);
    scene
        .run("cache simulate many.txt --policy fifo,opt --capacity 50 --evictions")
        .status(0)
        .out_has(&["50 more requests evicted objects", "180 more objects were requested before these"]);
    scene
        .run("cache simulate references.txt --policy lru --capacity 100 --evictions")
        .status(0)
        .out_has(&["lru at 100 evicted nothing"]);
}

#[test]
fn sizes_count_where_they_are_to() {
    let scene = scene();
    let document = scene
        .run("cache simulate sized.csv --policy lru --capacity 50,1KiB --size-aware --format json")
        .status(0)
        .json();
    // a, b and c miss; c is larger than the cache; the delete is none of its business.
    let first = json!({
        "policy": "lru", "capacity": 50, "requests": 5, "misses": 3, "miss_ratio": 0.6, "bypassed": 1,
        "byte_miss_ratio": 5030.0 / 5080.0, "requests_per_second": null,
    });
    assert_eq!(document["results"][0], first);
    assert_eq!(document["left_out"]["deletes"], json!(1));
    let output = scene.run("cache simulate sized.csv --policy lru --capacity 50 --size-aware").status(0);
    output.out_has(&["1 deletes", "1 requests were for objects larger than the cache"]);
}

#[test]
fn elapsed_time_is_reported_with_its_source() {
    let scene = scene();
    let command = "cache simulate references.txt --policy dm-cache-mq,dm-cache-smq:rate=5,lru --capacity 3";
    let document = scene.run(&format!("{command} --format json")).status(0).json();
    let rates: Vec<&Value> =
        document["results"].as_array().unwrap().iter().map(|result| &result["requests_per_second"]).collect();
    assert_eq!(rates, [&json!(1000), &json!(5), &Value::Null]);
    scene.run(command).status(0).out_has(&[
        "dm-cache-mq: the trace has no times; 1000 requests count as a second",
        "dm-cache-smq:rate=5: the trace has no times; 5 requests count as a second",
    ]);
    let timed = "cache simulate sized.csv --policy dm-cache-mq --capacity 3";
    scene.run(timed).status(0).out_has(&["dm-cache-mq: its clock is that of the trace"]);
    let document = scene.run(&format!("{timed} --format json")).status(0).json();
    assert_eq!(document["results"][0]["requests_per_second"], Value::Null);
}

#[test]
fn lru_has_its_curve_from_one_walk() {
    let scene = scene();
    let document = scene.run("cache curve references.txt --format json").status(0).json();
    let ratio = |capacity: u64| {
        let points = document["points"].as_array().unwrap();
        points.iter().find(|point| point["capacity"] == json!(capacity)).unwrap()["miss_ratio"].as_f64().unwrap()
    };
    assert_eq!((ratio(3), ratio(6)), (0.6, 0.3));
    assert_eq!(document["points"].as_array().unwrap().len(), 6);
    assert_eq!(
        (&document["policy"], &document["rate"], &document["unit"]),
        (&json!("lru"), &json!(1.0), &json!("objects"))
    );
    let simulated = scene.run("cache curve references.txt --policy opt --capacity 3 --format json").status(0).json();
    assert_eq!(simulated["points"], json!([{ "capacity": 3, "miss_ratio": 0.45 }]));
    scene.run("cache curve references.txt --knee").status(0).out_has(&["capacity", "0.6000", "knees"]);
}

#[test]
fn curves_count_bytes_as_well() {
    let document =
        scene().run("cache curve sized.csv --size-aware --capacity 30,50,5050 --format json").status(0).json();
    // The second request for a reaches over b and itself with its new size, that for b over a and c too: 50 and 5050.
    let ratios: Vec<f64> =
        document["points"].as_array().unwrap().iter().map(|point| point["miss_ratio"].as_f64().unwrap()).collect();
    assert_eq!(ratios, [1.0, 0.8, 0.6]);
    // In a cache, c passes by and leaves b where it is: 50 bytes hold a, then b, then both.
    let words = "cache curve sized.csv --size-aware --policy fifo --capacity 50,5050 --format json";
    let document = scene().run(words).status(0).json();
    let point = |capacity: u64, miss_ratio: f64| json!({ "capacity": capacity, "miss_ratio": miss_ratio });
    assert_eq!(document["points"], json!([point(50, 0.6), point(5050, 0.6)]));
}

#[test]
fn several_policies_have_their_curves_from_one_reading() {
    let scene = scene();
    let document =
        scene.run("cache curve references.txt --policy lru,opt,fifo --capacity 3,6 --format json").status(0).json();
    let names: Vec<&Value> = document["curves"].as_array().unwrap().iter().map(|curve| &curve["policy"]).collect();
    assert_eq!(names, ["lru", "opt", "fifo"]);
    let ratios = |at: usize| {
        let points = document["curves"][at]["points"].as_array().unwrap();
        points.iter().map(|point| point["miss_ratio"].as_f64().unwrap()).collect::<Vec<f64>>()
    };
    assert_eq!([ratios(0), ratios(1), ratios(2)], [[0.6, 0.3], [0.45, 0.3], [0.75, 0.3]]);
    assert_eq!((&document["requests"], &document["points"]), (&json!(20), &Value::Null));
    let output = scene.run("cache curve references.txt --policy lru,opt --knee").status(0);
    output.out_has(&["20 requests for 6 keys", "lru", "opt", "0.4500", "opt: knees"]);
}

#[test]
fn curves_are_drawn_and_written_to_new_files() {
    let scene = scene();
    let words =
        "cache curve references.txt --policy lru,opt --working-set --chart curves.html --parquet curves.parquet";
    scene.run(words).status(0).out_has(&["chart: curves.html"]);
    let page = scene.read("curves.html");
    for expected in ["Miss-ratio curves of references.txt", "cache-curves", "working-set", "opt"] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(std::fs::read(scene.path("curves.parquet")).unwrap().starts_with(b"PAR1"));
    // What is there stays, and what could be created next to it does not.
    scene.write("curves.html", "mine");
    scene.run(words).status(2).err_has(&["curves.html cannot be created", "exists"]);
    assert_eq!(scene.read("curves.html"), "mine");
    scene.run("cache curve references.txt --chart new.html --parquet curves.parquet").status(2).err_has(&["exists"]);
    assert!(!scene.path("new.html").exists());
    scene.run("cache curve references.txt --chart curves.svg").status(2).err_has(&["ends in .html"]);
}

#[test]
fn a_working_set_is_what_windows_ask_for() {
    let scene = scene();
    let words = "cache curve references.txt --working-set --window 1,20,21 --format json";
    let set = scene.run(words).status(0).json()["working_set"].take();
    assert_eq!(set["over_requests"], json!([{ "requests": 1, "keys": 1.0 }, { "requests": 20, "keys": 6.0 }]));
    assert_eq!(set["over_time"], Value::Null);
    let words = "cache curve sized.csv --size-aware --working-set --window 2,2s --format json";
    let set = scene.run(words).status(0).json()["working_set"].take();
    // 10 + 20, 20 + 30, 30 + 5000, 5000 + 20; from the second request on, as the first moment is in no window.
    assert_eq!(set["over_requests"], json!([{ "requests": 2, "keys": 2.0, "bytes": 2532.5 }]));
    assert_eq!(set["over_time"], json!([{ "seconds": 2.0, "keys": 2.0, "bytes": 2540.0 }]));
    scene.run("cache curve sized.csv --working-set --window 2,2s").status(0).out_has(&[
        "2 requests",
        "2s",
        "working set",
    ]);
    for window in ["0", "0s", "soon", "-1", "1e99s"] {
        let output = scene.run(&format!("cache curve sized.csv --working-set --window={window}"));
        output.status(2).err_has(&["is not a window", "10min"]);
    }
    scene.run("cache curve sized.csv --window 2").status(2).err_has(&["--working-set"]);
}

#[test]
fn requests_to_devices_are_taken_apart_into_blocks() {
    let scene = scene();
    // 8 KiB from half a block on touch three blocks, of which the second request is for one.
    let lines = "128166372003061629,hm,0,Read,2048,8192,413\n128166372016382155,hm,0,Write,4096,4096,5\n";
    scene.write("unaligned.csv", lines);
    let simulate = |more: &str| {
        let words = format!("cache simulate unaligned.csv --policy lru --capacity 9 --format json {more}");
        let document = scene.run(&words).status(0).json();
        ["requests", "misses"].map(|what| document["results"][0][what].as_u64().unwrap())
    };
    assert_eq!((simulate(""), simulate("--block-size 4KiB")), ([2, 2], [4, 3]));
    let document = scene.run("cache curve unaligned.csv --block-size 4KiB --size-aware --format json").status(0).json();
    assert_eq!((&document["footprint"], &document["block_size"]), (&json!(12288.0), &json!(4096)));
    scene.run("cache curve unaligned.csv --block-size 0").status(2).err_has(&["4KiB"]);
    scene.write("beyond.csv", &format!("{lines}128166372016382155,hm,0,Read,18446744073709551104,4096,5\n"));
    let output =
        scene.run("cache curve beyond.csv --block-size 4KiB --format json").status(1).err_has(&["beyond 2^64"]);
    assert_eq!((&output.json()["requests"], &output.json()["points"][2]["miss_ratio"]), (&json!(4), &json!(0.75)));
    scene.run("cache curve references.txt --block-size 4KiB").status(1).err_has(&["no offset"]);
}

#[test]
fn what_is_wrong_is_refused_with_what_would_be_right() {
    let scene = scene();
    let cases = [
        ("simulate references.txt --policy lru --capacity 0", "a number from 1 to 2^63"),
        ("simulate references.txt --policy lru --capacity 9223372036854775809", "a number from 1 to 2^63"),
        ("simulate references.txt --policy lru --capacity 1MiB", "bytes with --size-aware"),
        ("simulate references.txt --policy lru --capacity many --size-aware", "64MiB"),
        ("simulate references.txt --policy least --capacity 3", "take one of opt"),
        ("simulate references.txt --policy lru:k=2 --capacity 3", "no parameter `k`"),
        ("simulate nowhere.txt --policy lru --capacity 3", "nowhere.txt"),
        ("curve references.txt --rate 2", "a share of the keys"),
        ("curve references.txt --capacity 0", "a number from 1 to 2^63"),
        ("curve references.txt --capacity 9223372036854775809", "a number from 1 to 2^63"),
        ("curve references.txt --policy lru,least", "take one of opt"),
        ("curve nowhere.txt --chart here.html", "nowhere.txt"),
        ("curve references.txt --policy least", "take one of opt"),
    ];
    for (arguments, wanted) in cases {
        scene.run(&format!("cache {arguments}")).status(2).err_has(&[wanted]);
    }
}

#[test]
fn small_and_damaged_traces_are_no_trouble() {
    let scene = scene();
    scene.write("one.txt", "5\n5\n5\n");
    let document =
        scene.run("cache simulate one.txt --policy opt,lru,fifo,arc,mru --capacity 1 --format json").status(0).json();
    assert!(document["results"].as_array().unwrap().iter().all(|result| result["misses"] == json!(1)));
    let empty =
        scene.run("cache simulate empty.txt --input-format keys --policy opt,arc --capacity 9 --format json").status(0);
    assert_eq!(empty.json()["results"][1]["miss_ratio"], Value::Null);
    let empty = scene.run("cache curve empty.txt --input-format keys --knee --format json").status(0).json();
    assert_eq!((&empty["points"], &empty["knees"]), (&json!([]), &json!([])));
    scene.write("cut.csv", &(SIZED.to_owned() + "x,b,20,get\n"));
    let cut =
        scene.run("cache simulate cut.csv --policy lru --capacity 3 --format json").status(1).err_has(&["cut.csv"]);
    assert_eq!(cut.json()["results"][0]["requests"], json!(5));
    assert!(cut.json()["damage"]["offset"].is_number());
    for policies in ["lru", "lru,sieve"] {
        let words = format!("cache curve cut.csv --policy {policies} --capacity 9223372036854775808 --format json");
        let document = scene.run(&words).status(1).err_has(&["cut.csv", "5 requests"]).json();
        let curve = if policies == "lru" { &document } else { &document["curves"][1] };
        assert_eq!(curve["points"], json!([{ "capacity": 1_u64 << 63, "miss_ratio": 0.6 }]));
        assert!(document["damage"]["offset"].is_number());
    }
    for policy in ["lru", "s3-fifo"] {
        let document = scene.run(&format!("cache curve one.txt --policy {policy} --format json")).status(0).json();
        assert_eq!(document["points"], json!([{ "capacity": 1, "miss_ratio": 1.0 / 3.0 }]), "{policy}");
        let words =
            format!("cache curve empty.txt --input-format keys --policy {policy} --working-set --chart {policy}.html");
        scene.run(&words).status(0);
        assert!(scene.read(&format!("{policy}.html")).contains("No capacity gives a usable estimate"));
    }
}
