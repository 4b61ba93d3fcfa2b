//! `manometer cache simulate` and `curve`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::Scene;

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
    let said =
        scene().run("cache simulate references.txt --policy opt,lru,fifo --capacity 3,100 --format json").status(0);
    let said = said.json();
    let misses: Vec<&Value> = said["results"].as_array().unwrap().iter().map(|result| &result["misses"]).collect();
    assert_eq!(misses, [9, 6, 12, 6, 15, 6]);
    let first = &said["results"][0];
    assert_eq!((&first["policy"], &first["capacity"], &first["requests"]), (&json!("opt"), &json!(3), &json!(20)));
    assert_eq!(first["miss_ratio"], json!(0.45));
    scene().run("cache simulate references.txt --policy opt,lru --capacity 3").status(0).out_has(&["0.4500", "0.6000"]);
}

#[test]
fn sizes_count_where_they_are_to() {
    let scene = scene();
    let said = scene
        .run("cache simulate sized.csv --policy lru --capacity 50,1KiB --size-aware --format json")
        .status(0)
        .json();
    // a, b and c miss; c is larger than the cache; the delete is none of its business.
    let first = json!({
        "policy": "lru", "capacity": 50, "requests": 5, "misses": 3, "miss_ratio": 0.6, "bypassed": 1,
        "byte_miss_ratio": 5030.0 / 5080.0, "requests_per_second": null,
    });
    assert_eq!(said["results"][0], first);
    assert_eq!(said["left_out"]["deletes"], json!(1));
    let told = scene.run("cache simulate sized.csv --policy lru --capacity 50 --size-aware").status(0);
    told.out_has(&["1 deletes", "1 requests were for objects larger than the cache"]);
}

#[test]
fn what_tells_the_seconds_is_said() {
    let scene = scene();
    let command = "cache simulate references.txt --policy dm-cache-mq,dm-cache-smq:rate=5,lru --capacity 3";
    let said = scene.run(&format!("{command} --format json")).status(0).json();
    let rates: Vec<&Value> =
        said["results"].as_array().unwrap().iter().map(|result| &result["requests_per_second"]).collect();
    assert_eq!(rates, [&json!(1000), &json!(5), &Value::Null]);
    scene.run(command).status(0).out_has(&[
        "dm-cache-mq: the trace has no times; 1000 requests were taken for a second",
        "dm-cache-smq:rate=5: the trace has no times; 5 requests were taken for a second",
    ]);
    let timed = "cache simulate sized.csv --policy dm-cache-mq --capacity 3";
    scene.run(timed).status(0).out_has(&["dm-cache-mq: seconds are those of the trace"]);
    let said = scene.run(&format!("{timed} --format json")).status(0).json();
    assert_eq!(said["results"][0]["requests_per_second"], Value::Null);
}

#[test]
fn lru_has_its_curve_from_one_walk() {
    let scene = scene();
    let said = scene.run("cache curve references.txt --format json").status(0).json();
    let ratio = |capacity: u64| {
        let points = said["points"].as_array().unwrap();
        points.iter().find(|point| point["capacity"] == json!(capacity)).unwrap()["miss_ratio"].as_f64().unwrap()
    };
    assert_eq!((ratio(3), ratio(6)), (0.6, 0.3));
    assert_eq!(said["points"].as_array().unwrap().len(), 6);
    assert_eq!((&said["policy"], &said["rate"], &said["unit"]), (&json!("lru"), &json!(1.0), &json!("objects")));
    let simulated = scene.run("cache curve references.txt --policy opt --capacity 3 --format json").status(0).json();
    assert_eq!(simulated["points"], json!([{ "capacity": 3, "miss_ratio": 0.45 }]));
    scene.run("cache curve references.txt --knee").status(0).out_has(&["capacity", "0.6000", "knees"]);
}

#[test]
fn curves_count_bytes_as_well() {
    let said = scene().run("cache curve sized.csv --size-aware --capacity 30,50,5050 --format json").status(0).json();
    // The second request for a reaches over b and itself with its new size, that for b over a and c too: 50 and 5050.
    let ratios: Vec<f64> =
        said["points"].as_array().unwrap().iter().map(|point| point["miss_ratio"].as_f64().unwrap()).collect();
    assert_eq!(ratios, [1.0, 0.8, 0.6]);
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
    let said =
        scene.run("cache simulate one.txt --policy opt,lru,fifo,arc,mru --capacity 1 --format json").status(0).json();
    assert!(said["results"].as_array().unwrap().iter().all(|result| result["misses"] == json!(1)));
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
    scene.run("cache curve cut.csv").status(1).err_has(&["cut.csv"]);
}
