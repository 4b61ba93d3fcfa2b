//! `manometer trace info`, `head` and `convert`.

use serde_json::{Value, json};

use crate::support::Scene;

const TRACE: &str = "read,user1,1000,\nupdate,user2,1500.5,200\nread,user1,3000,\ninsert,user3,4000,50\n";

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("trace.txt", TRACE);
    scene
}

#[test]
fn machines_learn_what_a_trace_holds() {
    let document = scene().run("trace info trace.txt --format json").status(0).json();
    assert_eq!((&document["requests"], &document["keys"]), (&json!(4), &json!(3)));
    assert_eq!((&document["span_s"], &document["footprint_bytes"]), (&json!(3.0), &json!(260)));
    assert_eq!(document["operations"], json!({"get": 2, "insert": 1, "update": 1}));
    assert_eq!(
        (&document["format"], &document["damage"], &document["clients"]),
        (&json!("kv-replay"), &Value::Null, &Value::Null)
    );
}

#[test]
fn people_get_a_few_lines() {
    let words = ["kv-replay, 4 requests for 3 keys", "span        3.000000 s", "get 50.00 % (2)", "mean 125.0 B"];
    scene().run("trace info trace.txt").status(0).out_has(&words);
}

#[test]
fn a_damaged_trace_is_read_to_its_last_good_record() {
    let scene = scene();
    scene.write("cut.txt", &(TRACE.to_owned() + "insert,us,40x0,5\n"));
    let output =
        scene.run("trace info cut.txt --format json").status(1).err_has(&["at byte 79 (line 5)", "4 requests"]);
    assert_eq!((&output.json()["requests"], &output.json()["damage"]["offset"]), (&json!(4), &json!(79)));
}

#[test]
fn the_first_requests_are_shown_as_understood() {
    let scene = scene();
    scene.run("trace head trace.txt -n 2").status(0).out_has(&["user2", "1.500500000", "update"]);
    let document = scene.run("trace head trace.txt --requests 1 --format json").status(0).json();
    assert_eq!(document["requests"].as_array().unwrap().len(), 1);
    assert_eq!(document["requests"][0]["key_text"], json!("user1"));
    let document = scene.run("trace head trace.txt --input-format keys -n 1 --format json").status(0).json();
    assert_eq!(document["requests"][0]["key_text"], json!("read,user1,1000,"));
}

#[test]
fn a_trace_goes_through_every_format_that_holds_it() {
    let scene = scene();
    scene.run("trace convert trace.txt a.parquet").status(0).out_has(&["4 requests, parquet"]);
    scene.run("trace convert a.parquet b.csv").status(0);
    scene.run("trace convert b.csv c.kv-replay").status(0);
    assert_eq!(scene.read("c.kv-replay"), TRACE.replace(",\n", "\n"));
    let output = scene.run("trace convert b.csv d.oracleGeneral --format json").status(0).err_has(&["operation"]);
    assert_eq!(output.json()["losses"]["no size, written as 1"], json!(2));
    let document = scene.run("trace info d.oracleGeneral --format json").status(0).json();
    assert_eq!((&document["requests"], &document["keys"], &document["span_s"]), (&json!(4), &json!(3), &json!(3.0)));
}

#[test]
fn wrong_requests_say_what_would_be_right() {
    let scene = scene();
    scene.write("empty", "");
    scene.write("letter", "Dear Sir or Madam,\n\nno trace\n");
    for (words, expected) in [
        ("trace info nowhere", "nowhere: No such file"),
        ("trace info .", "is a directory"),
        ("trace info empty", "empty: it is empty"),
        ("trace info letter", "--input-format"),
        ("trace info trace.txt --input-format nonsense", "write one of parquet"),
        ("trace info trace.txt --columns key", "has no `=`"),
        ("trace info trace.txt --time-unit h", "write s, ms, us or ns"),
        ("trace convert trace.txt out", "add --output-format"),
        ("trace convert trace.txt out.iolog", "holds requests to devices"),
        ("trace convert trace.txt trace.txt --output-format csv", "File exists"),
    ] {
        scene.run(words).status(2).err_has(&[expected]);
    }
    assert_eq!(scene.read("trace.txt"), TRACE);
    assert!(!scene.path("out.iolog").exists());
}
