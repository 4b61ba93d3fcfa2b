//! Open loops of an experiment through the real binary: a constant rate, curves, timetables, drops.
//!
//! Nothing here depends on how fast anything was: what is asserted are counts, events and phases.

use manometer_measure::{Recording, Samples};
use serde_json::{Value, json};

use crate::support::Scene;

/// The primary alone on an engine that keeps nothing.
const PACED: &str = r#"
name = "paced"
interval = "50ms"
[device]
directory = "data"
[primary]
engine = "null"
workload = "ycsb-c"
records = 1000
RATE
[plan]
phase = "300ms"
"#;

/// Runs `PACED` with `rate` and returns the summary and the primary's samples.
fn paced(scene: &Scene, rate: &str) -> (Value, Samples) {
    scene.write("paced.toml", &PACED.replace("RATE", rate));
    let summary = scene.run("run paced.toml --out rec --format json").status(0).json();
    (summary, Recording::open(&scene.path("rec")).unwrap().samples("primary").unwrap())
}

fn sum(samples: &Samples, column: &str) -> f64 {
    samples.column(column).unwrap().iter().flatten().sum()
}

/// The settings that the events tell of, in order.
fn setting_changes(scene: &Scene) -> Vec<Value> {
    let events = scene.read("rec/events.jsonl");
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["event"] == "setting").map(|event| event["settings"].clone()).collect()
}

fn finding_ids(summary: &Value) -> Vec<&str> {
    summary["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

#[test]
fn a_constant_rate_is_never_exceeded_and_both_latencies_are_recorded() {
    let scene = Scene::new();
    let (summary, samples) = paced(&scene, "rate = 2000");
    let (requests, length_s) = (sum(&samples, "read.requests"), sum(&samples, "length"));
    assert!(
        requests > 0.0 && requests + sum(&samples, "dropped") <= 2000.0 * length_s + 1.0,
        "{requests}, {length_s} s"
    );
    let w0 = &summary["phases"][0];
    for latency in ["latency_us", "response_us"] {
        assert!(w0[latency]["read"]["samples"].as_u64().unwrap() > 0, "{w0}");
    }
    assert!(scene.read("rec/latency/primary.hlog").contains("Tag=read.response"));
    assert_eq!(scene.json("rec/environment.json")["workloads"]["primary"]["loop"], "open");
    assert!(scene.read("rec/report.html").contains("response time, from when they were due"));
}

#[test]
fn what_finds_no_place_in_the_queue_is_counted_as_dropped() {
    let scene = Scene::new();
    let (summary, samples) = paced(&scene, "rate = 5000000\nqueue = 1");
    let (dropped, requests) = (sum(&samples, "dropped"), sum(&samples, "read.requests"));
    assert!(dropped > 0.0 && requests > 0.0, "{dropped} dropped, {requests} answered");
    assert!(requests + dropped <= 5e6 * sum(&samples, "length") + 2.0, "nothing is counted twice");
    assert!(finding_ids(&summary).contains(&"requests-dropped"), "{summary}");
}

#[test]
fn a_curve_of_steps_or_of_a_table_is_one_setting() {
    let scene = Scene::new();
    scene.write("rates.csv", "t_s,ops\n0,1000\n0.1,500\n");
    for rate in ["0s: 1000, 100ms: 500", "csv:rates.csv#ops"] {
        let (summary, samples) = paced(&scene, &format!("rate = \"{rate}\""));
        let (requests, length_s) = (sum(&samples, "read.requests"), sum(&samples, "length"));
        // 100 in the first tenth of a second.
        assert!(requests > 0.0 && requests <= 100.0 + 500.0 * (length_s - 0.1) + 1.0, "{requests}, {length_s} s");
        let phases: Vec<&Value> = summary["phases"].as_array().unwrap().iter().map(|phase| &phase["id"]).collect();
        assert_eq!(phases, ["w0"]);
        std::fs::remove_dir_all(scene.path("rec")).unwrap();
    }
    scene.write("rates.csv", "t_s,other\n0,1000\n");
    scene.run("run paced.toml --out rec").status(2).err_has(&["paced.toml:10", "rates.csv", "ops"]);
}

#[test]
fn every_change_of_a_timetable_opens_a_phase_and_is_recorded() {
    let scene = Scene::new();
    let script = "rate = 1000\nscript = \"200ms: rate = 3000; 400ms: rate = 500; 600ms: update_proportion = 1\"";
    let (summary, samples) = paced(&scene, script);
    let in_force = |setting: &str| -> Vec<&Value> {
        summary["phases"].as_array().unwrap().iter().map(|phase| &phase["settings"][setting]).collect()
    };
    let rates: Vec<f64> = in_force("primary.rate").into_iter().map(|rate| rate.as_f64().unwrap()).collect();
    // The timetable begins behind the baseline, with everything as it was.
    assert_eq!(rates, [1000.0, 1000.0, 3000.0, 500.0, 500.0]);
    let shares = in_force("primary.update_proportion");
    assert!(shares[..4].iter().all(|share| share.is_null()) && *shares[4] == 1.0, "{shares:?}");
    let recorded = setting_changes(&scene);
    let changes = [json!({"rate": 3000.0}), json!({"rate": 500.0}), json!({"update_proportion": 1.0})];
    assert!(recorded.ends_with(&changes), "{recorded:?}");
    // What a later phase brings has its column from the start; before that nothing was updated.
    let w4 = |column: &str| &summary["phases"][4]["latency_us"][column]["samples"];
    assert!(w4("update").as_u64().unwrap() > 0 && w4("read").as_u64().unwrap() > 0);
    assert!(summary["phases"][3]["latency_us"]["update"].is_null());
    assert!(sum(&samples, "update.requests") > 0.0);
}

#[test]
fn a_search_for_the_highest_rate_leaves_a_page_with_its_chart() {
    let scene = Scene::new();
    let words = "kv --engine map --records 100 --interval 20ms --seconds 0.1 --find-max --goal p99<=30s";
    scene.run(&format!("{words} --out nowhere/rates.html")).status(2).err_has(&["nowhere/rates.html", "exists"]);
    scene.run("kv --engine null --out rates.html").status(2).err_has(&["--find-max"]);
    let output = scene.run(&format!("{words} --out rates.html --format json"));
    let found = &output.json()["find_max"];
    // Which rate it is, and whether there is one, is this machine's affair.
    let page = scene.read("rates.html");
    assert!(page.contains("data-chart=\"latency-against-rate\"") && page.contains("100 records of 1000 B"));
    let body = page.split_once("<tbody").unwrap().1.split_once("</tbody>").unwrap().0;
    assert_eq!(body.matches("<tr").count(), found["points"].as_array().unwrap().len());
    // Without a rate that is shown to meet the goal the answer is no, or open.
    let status = output.code();
    assert!(if found["rate"].is_null() { [3, 4].contains(&status) } else { status == 0 }, "{status}: {found}");
}
