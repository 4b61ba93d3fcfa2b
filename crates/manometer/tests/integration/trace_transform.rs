//! `manometer trace scale`, `clone`, `slice` and all that make a trace of another.

use serde_json::{Value, json};

use crate::support::Scene;

const TRACE: &str =
    "time_ms,op,key,client,value_size\n0,get,a,1,10\n1000,insert,b,2,20\n3000,get,b,2,20\n4000,update,a,1,30\n";

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("t.csv", TRACE);
    scene
}

/// What the verb says, and the first requests of what it wrote.
fn made(scene: &Scene, words: &str, out: &str) -> (Value, Vec<Value>) {
    let document = scene.run(&format!("trace {words} --format json")).status(0).json();
    let head = scene.run(&format!("trace head {out} --format json")).status(0).json();
    (document, head["requests"].as_array().unwrap().clone())
}

fn column(requests: &[Value], name: &str) -> Vec<Value> {
    requests.iter().map(|request| request[name].clone()).collect()
}

#[test]
fn a_slice_is_cut_by_seconds_or_requests() {
    let scene = scene();
    let (summary, requests) = made(&scene, "slice t.csv a.csv --seconds 2", "a.csv");
    assert_eq!((&summary["requests"], requests.len()), (&json!(2), 2));
    let (summary, requests) = made(&scene, "slice t.csv b.parquet --from 1 --requests 2", "b.parquet");
    assert_eq!(summary["requests"], json!(2));
    assert_eq!(column(&requests, "key_text"), [json!("b"), json!("b")]);
}

#[test]
fn time_is_scaled_by_a_factor_or_to_a_rate() {
    let scene = scene();
    let (_, requests) = made(&scene, "scale t.csv fast.csv --time 2", "fast.csv");
    assert_eq!(column(&requests, "time_ns"), [0_u64, 500_000_000, 1_500_000_000, 2_000_000_000].map(|ns| json!(ns)));
    let (summary, requests) = made(&scene, "scale t.csv slow.csv --rate 0.5", "slow.csv");
    assert_eq!((&summary["factor"], &requests[3]["time_ns"]), (&json!(0.5), &json!(8_000_000_000_u64)));
}

#[test]
fn clones_and_parts_have_keys_of_their_own() {
    let scene = scene();
    let (summary, _) = made(&scene, "clone t.csv three.parquet 3", "three.parquet");
    assert_eq!(summary["requests"], json!(12));
    let info = scene.run("trace info three.parquet --format json").status(0).json();
    assert_eq!((&info["keys"], &info["clients"], &info["span_s"]), (&json!(6), &json!(6), &json!(4.0)));
    let (_, requests) = made(&scene, "intensify t.csv heavy.csv 2", "heavy.csv");
    assert_eq!(column(&requests, "operation"), ["get", "get", "insert", "update"].map(|name| json!(name)));
    assert_eq!(requests[3]["time_ns"], json!(1_999_999_999_u64));
    let info = scene.run("trace info heavy.csv --format json").status(0).json();
    assert_eq!(info["keys"], json!(4));
}

#[test]
fn parts_and_samples_are_taken() {
    let scene = scene();
    let count = |words: &str, out: &str| made(&scene, words, out).0["requests"].as_u64().unwrap();
    assert_eq!(count("subtrace t.csv a.csv 1/2 --by time", "a.csv"), 2);
    assert_eq!(count("subtrace t.csv b.csv 1-2/2 --by client", "b.csv"), 4);
    assert_eq!(count("sample t.csv c.csv --rate 1", "c.csv"), 4);
    scene.run("trace sample t.csv tenth.csv --rate 0.1").status(0).out_has(&["requests, csv, rate 0.1\n"]);
    assert_eq!(count("merge a.csv t.csv d.csv", "d.csv"), 6);
}

#[test]
fn missing_inserts_are_listed_or_put_in() {
    let scene = scene();
    let (summary, requests) = made(&scene, "complete t.csv load.csv --load", "load.csv");
    assert_eq!((&summary["missing"], &summary["requests"]), (&json!(1), &json!(1)));
    let insert = &requests[0];
    assert_eq!(
        (&insert["operation"], &insert["key_text"], &insert["value_size"]),
        (&json!("insert"), &json!("a"), &json!(10))
    );
    assert_eq!(insert["time_ns"], Value::Null);
    scene.run("trace complete t.csv again.csv --load").status(0).out_has(&["again.csv: 1 requests, csv, missing 1"]);
    let (summary, requests) = made(&scene, "complete t.csv whole.csv --before-ms 10", "whole.csv");
    assert_eq!((&summary["requests"], &requests[0]["operation"]), (&json!(5), &json!("insert")));
}

#[test]
fn names_are_hidden_with_a_secret() {
    let scene = scene();
    scene.write("secret", "000102030405060708090a0b0c0d0e0f\n");
    let (_, one) = made(&scene, "anonymise t.csv one.csv --secret secret", "one.csv");
    let (_, two) = made(&scene, "anonymise t.csv two.csv --secret secret", "two.csv");
    let (_, random) = made(&scene, "anonymise t.csv three.csv", "three.csv");
    assert_eq!(one, two);
    assert!(one[0]["key"] == one[3]["key"] && one[0]["key"] != one[1]["key"] && one[0]["key"] != random[0]["key"]);
    assert!(!scene.read("one.csv").contains(",a,"));
    scene
        .write("disk.load", "start ; sector; length ; op ; x ; y\n0.5 ; 8 ; 8 ; W ; 0 ; 0\n1.5 ; 16 ; 8 ; R ; 0 ; 0\n");
    scene.run("trace anonymise disk.load disk.csv").status(0).err_has(&["2 requests to devices keep their offsets"]);
}

#[test]
fn what_a_verb_cannot_carry_is_counted_and_said() {
    let scene = Scene::new();
    scene.write("m.log", "1.0 [0 127.0.0.1:5] \"hset\" \"h\" \"f\" \"v\"\n2.0 [0 127.0.0.1:5] \"get\" \"a\"\n");
    let dropped = |words: &str, out: &str| made(&scene, words, out).0["dropped"].clone();
    assert_eq!(dropped("merge m.log m.log a.parquet", "a.parquet"), json!({}));
    let clones = json!({ "recorded command": 1, "text of a key": 2 });
    assert_eq!(dropped("clone m.log b.parquet 2", "b.parquet"), clones);
    assert_eq!(dropped("clone m.log c.parquet 2 --no-key-texts", "c.parquet"), json!({}));
    assert_eq!(dropped("anonymise m.log d.parquet", "d.parquet"), json!({ "recorded command": 1 }));
    assert_eq!(dropped("intensify m.log e.parquet 2", "e.parquet"), clones);
    let note = "note: the new trace lacks this field of 1 requests: recorded command";
    scene.run("trace anonymise m.log f.parquet").status(0).err_has(&[note]);
    // The merged trace still has its commands: a format without them loses them.
    scene
        .run("trace convert a.parquet a.csv")
        .status(0)
        .err_has(&["csv cannot hold this field of 2 requests: recorded"]);
    scene
        .run("trace complete m.log g.csv --load")
        .status(0)
        .err_has(&["perhaps no string", "size of an inserted value"]);
}

#[test]
fn what_cannot_be_done_leaves_nothing_behind() {
    let scene = scene();
    scene.write("keys", "x\ny\n");
    scene.write("empty", "");
    scene.write("secret", "abc");
    for (words, expected) in [
        ("slice t.csv o.csv", "needs --seconds"),
        ("slice t.csv o.csv --seconds -1", "0 or more"),
        ("slice keys o.csv --seconds 1", "no time"),
        ("slice empty o.csv --seconds 1", "empty"),
        ("scale t.csv o.csv", "--time"),
        ("scale t.csv o.csv --time 0", "above 0"),
        ("scale keys o.csv --time 2", "no times"),
        ("scale keys o.csv --rate 2", "have none"),
        ("scale - o.csv --rate 2", "name a file"),
        ("clone t.csv o.csv 0", "0"),
        ("subtrace t.csv o.csv 3/2 --by time", "names no parts"),
        ("subtrace t.csv o.csv 1/2", "--by"),
        ("subtrace keys o.csv 1/2 --by client", "by time"),
        ("intensify keys o.csv 2", "have none"),
        ("intensify t.csv o.csv 1000", "1000"),
        ("complete t.csv o.csv", "--load"),
        ("complete keys o.csv --before-ms 5", "no time"),
        ("complete t.csv o.csv --before-ms -5", "0 or more"),
        ("sample t.csv o.csv --rate 2", "share of the keys"),
        ("merge t.csv keys o.csv", "trace 2 has no time"),
        ("anonymise t.csv o.csv --secret secret", "openssl"),
        ("anonymise t.csv o.csv --secret nowhere", "nowhere"),
    ] {
        scene.run(&format!("trace {words}")).status(2).err_has(&[expected]);
        assert!(!scene.path("o.csv").exists(), "{words}");
    }
}

#[test]
fn a_damaged_trace_is_transformed_to_its_last_good_record() {
    let scene = scene();
    scene.write("cut.csv", &(TRACE.to_owned() + "5000,get,a,1,1x\n"));
    for words in ["clone cut.csv a.csv 2", "intensify cut.csv b.csv 2", "complete cut.csv c.csv --before-ms 5"] {
        scene.run(&format!("trace {words}")).status(1).err_has(&["(line 6)"]);
    }
    scene.run("trace merge t.csv cut.csv m.csv").status(1).err_has(&["warning: cut.csv: damaged"]);
    assert_eq!(scene.run("trace info a.csv --format json").status(0).json()["requests"], json!(8));
    assert_eq!(scene.run("trace info b.csv --format json").status(0).json()["requests"], json!(4));
}

#[test]
fn an_empty_file_is_reported_by_every_verb() {
    let scene = scene();
    scene.write("empty", "");
    for words in [
        "info empty",
        "head empty",
        "characterise empty",
        "convert empty o.csv",
        "slice empty o.csv --seconds 1",
        "scale empty o.csv --time 2",
        "scale empty o.csv --rate 2",
        "clone empty o.csv 2",
        "subtrace empty o.csv 1/2 --by client",
        "subtrace empty o.csv 1/2 --by time",
        "intensify empty o.csv 2",
        "complete empty o.csv --load",
        "complete empty o.csv --before-ms 1",
        "sample empty o.csv --rate 0.5",
        "merge t.csv empty o.csv",
        "anonymise empty o.csv",
        "synthesise empty o.csv",
    ] {
        scene.run(&format!("trace {words}")).status(2).err_has(&["empty"]);
        assert!(!scene.path("o.csv").exists(), "{words}");
    }
}

#[test]
fn odd_times_absent_sizes_and_the_largest_keys_go_through_every_verb() {
    let scene = Scene::new();
    let key = u64::MAX;
    // Equal times, a time that goes back, no sizes; the most keys there can be.
    scene.write(
        "odd.csv",
        &format!("time_ms,op,key,client\n50,get,{key},1\n50,get,0,1\n50,update,1,2\n20,get,{key},2\n"),
    );
    for (words, requests) in [
        ("slice odd.csv a.csv --seconds 1", 4),
        ("scale odd.csv b.csv --time 2", 4),
        ("scale odd.csv c.csv --rate 1000", 4),
        ("clone odd.csv d.csv 5", 20),
        ("subtrace odd.csv e.csv 1-2/2 --by time", 4),
        ("intensify odd.csv f.csv 3", 4),
        ("complete odd.csv g.csv --load", 3),
        ("complete odd.csv h.csv --before-ms 30", 7),
        ("sample odd.csv i.csv --rate 1", 4),
        ("merge odd.csv a.csv j.csv", 8),
        ("anonymise odd.csv k.csv", 4),
        ("synthesise odd.csv l.csv", 4),
    ] {
        let out = words.split(' ').find(|word| word.ends_with(".csv") && *word != "odd.csv" && *word != "a.csv");
        let (summary, _) = made(&scene, words, out.unwrap_or("a.csv"));
        assert_eq!(summary["requests"], json!(requests), "{words}");
    }
    let clones = scene.run("trace info d.csv --format json").status(0).json();
    assert_eq!((&clones["keys"], &clones["times_backward"]), (&json!(15), &json!(1)));
    let document = scene.run("trace characterise odd.csv --format json").status(0).json();
    assert_eq!((&document["times"]["equal"], &document["times"]["backward"]), (&json!(2), &json!(1)));
    assert!(document["value_size_bytes"].is_null() && document["keys"] == json!(3.0));
}
