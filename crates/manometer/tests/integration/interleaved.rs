//! Interleaved plans through the program: the blocks that ran, the results over rounds, and what is refused.

use std::collections::BTreeMap;

use manometer_measure::Recording;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{SHORT, Scene, wait_for_event};

const LADDER: &str = "phase = \"600ms\"";

/// `SHORT` with a primary of a steady pace, in rounds of blocks.
fn interleaved(rounds: &str) -> String {
    let steady = SHORT.replace("records = 1000", "records = 1000\nthink = \"500us\"").replace("\"100ms\"", "\"50ms\"");
    let design = format!("design = \"interleaved\"\nblock = \"300ms\"\nwashout = \"100ms\"\n{rounds}");
    assert!(steady.contains(LADDER));
    steady.replace(LADDER, &design)
}

fn scene(rounds: &str) -> Scene {
    let scene = Scene::new();
    scene.write("blocks.toml", &interleaved(rounds));
    scene
}

fn phase<'a>(summary: &'a Value, id: &str) -> &'a Value {
    summary["phases"].as_array().unwrap().iter().find(|phase| phase["id"] == id).unwrap()
}

fn events(scene: &Scene) -> Vec<Value> {
    scene.read("rec/events.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The phases of the blocks that were measured, in order, by round.
fn measured(scene: &Scene) -> BTreeMap<u64, Vec<String>> {
    let mut rounds: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for event in events(scene).iter().filter(|event| event["event"] == "block_ended") {
        let phase = event["phase"].as_str().unwrap().to_owned();
        rounds.entry(event["round"].as_u64().unwrap()).or_default().push(phase);
    }
    rounds
}

#[test]
fn every_phase_runs_once_in_every_round_and_has_a_pressure_with_its_interval() {
    // On a busy host a block may be without a sample: five of these rounds are enough.
    let scene = scene("rounds = 12");
    let summary = scene.run("run blocks.toml --out rec --format json").status(0).json();
    let plan = scene.json("rec/plan.json");
    assert_eq!((&plan["format"], plan["interleaved"]["orders"].as_array().unwrap().len()), (&2.into(), 12));
    let ran = measured(&scene);
    assert_eq!(ran.len(), 12);
    for (round, phases) in &ran {
        let planned = &plan["interleaved"]["orders"][*round as usize - 1];
        assert_eq!(planned, &serde_json::json!(phases), "round {round}");
    }
    let ids: Vec<&str> =
        summary["phases"].as_array().unwrap().iter().map(|phase| phase["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["w0", "w1", "w2"], "one row each");
    for id in ["w1", "w2"] {
        let pressure = &phase(&summary, id)["pressure"];
        assert!(pressure["ci_low"].as_f64().unwrap() < pressure["ci_high"].as_f64().unwrap(), "{pressure}");
    }
    let w1 = phase(&summary, "w1");
    let blocks = w1["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 12);
    assert!(blocks.iter().all(|block| block["start_s"].as_f64() < block["end_s"].as_f64()), "{w1}");
    assert_eq!(summary["interleaved"]["rounds"], 12);
    scene.run("report rec --format json").status(0);
    assert_eq!(scene.json("rec/summary.json"), summary, "the analysis is the same the second time");
    assert!(scene.read("rec/report.html").contains("data-chart=\"blocks\""));
}

#[test]
fn settings_change_with_every_block_and_the_neighbour_pauses_in_w0() {
    let scene = scene("rounds = 6");
    let summary = scene.run("run blocks.toml --out rec --format json").status(0).json();
    assert!(phase(&summary, "w0")["neighbours"].as_object().unwrap().is_empty());
    let (one, four) = (phase(&summary, "w1"), phase(&summary, "w2"));
    assert_eq!((&one["settings"]["writer.iodepth"], &four["settings"]["writer.iodepth"]), (&1.into(), &4.into()));
    assert!(four["neighbours"]["writer"]["performance"]["mean"].as_f64().unwrap() > 0.0);
    let depths = events(&scene);
    let changes = depths.iter().filter(|event| event["event"] == "setting" && event["workload"] == "writer").count();
    assert!(changes >= 6, "{changes} changes in 18 blocks");
}

/// The blocks that were measured: their phase, and their first and last moment in nanoseconds.
fn blocks(scene: &Scene) -> Vec<(String, u64, u64)> {
    let events = events(scene);
    let of_blocks: Vec<&Value> =
        events.iter().filter(|event| event["event"].as_str().is_some_and(|name| name.starts_with("block_"))).collect();
    let (pairs, rest) = of_blocks.as_chunks::<2>();
    assert!(rest.is_empty());
    let t_ns = |event: &Value| event["t_ns"].as_u64().unwrap();
    pairs.iter().map(|[from, to]| (from["phase"].as_str().unwrap().to_owned(), t_ns(from), t_ns(to))).collect()
}

#[test]
fn a_block_measures_as_many_intervals_as_planned() {
    const INTERVAL_NS: u64 = 50_000_000;
    const PLANNED: usize = 4; // 300 ms without 100 ms
    let scene = scene("rounds = 6");
    scene.run("run blocks.toml --out rec").status(0);
    let blocks = blocks(&scene);
    assert_eq!(blocks.len(), 18);
    let recording = Recording::open(&scene.path("rec")).unwrap();
    let samples = recording.samples("primary").unwrap();
    let lengths_s = samples.column("length").unwrap();
    let within = |from_ns: u64, to_ns: u64| {
        let ends = samples.t_ns.iter().zip(lengths_s);
        ends.filter(|(t_ns, length_s)| {
            let begin_ns = (**t_ns as f64 - length_s.unwrap() * 1e9).round() as u64;
            begin_ns >= from_ns && **t_ns <= to_ns
        })
        .count()
    };
    let counts: Vec<usize> = blocks.iter().map(|(_, from_ns, to_ns)| within(*from_ns, *to_ns)).collect();
    // On a busy host a sample may come late: no block has more than planned, and the best ones have all.
    assert_eq!(counts.iter().max(), Some(&PLANNED), "{counts:?}");
    for (phase, from_ns, to_ns) in &blocks {
        assert_eq!((to_ns - from_ns) / INTERVAL_NS, PLANNED as u64, "{phase}");
    }
    let planned = &scene.json("rec/plan.json")["phases"];
    let w1 = planned.as_array().unwrap().iter().find(|phase| phase["id"] == "w1").unwrap();
    assert!((w1["duration_s"].as_f64().unwrap() - 6.0 * PLANNED as f64 * 0.05).abs() < 1e-9, "{w1}");
}

#[test]
fn another_seed_draws_another_order_and_the_same_seed_the_same() {
    let scene = scene("rounds = 10");
    let orders = |seed: u32| {
        let set = format!("run blocks.toml --dry-run --format json --set seed={seed}");
        scene.run(&set).status(0).json()["runs"][0]["plan"]["interleaved"]["orders"].clone()
    };
    assert!(orders(3).is_array() && orders(3) == orders(3));
    assert_ne!(orders(3), orders(4));
}

#[test]
fn a_dry_run_counts_every_block_of_every_round() {
    let scene = scene("rounds = 10");
    let document = scene.run("run blocks.toml --dry-run --format json").status(0).json();
    assert!((document["duration_s"].as_f64().unwrap() - 9.3).abs() < 1e-9, "{}", document["duration_s"]);
    scene.run("run blocks.toml --dry-run").status(0).out_has(&["10 rounds", "300ms", "writer.iodepth = 4"]);
    scene.write("blocks.toml", &interleaved("rounds = 15"));
    // 15 × 100 ms of washout, 15 × 200 ms of measurement.
    scene.run("run blocks.toml --dry-run").status(0).out_has(&["1s 500ms", " 3s "]);
    scene.write("blocks.toml", &interleaved("rounds = 10\nstop = { interval = \"1%\", at_most = \"18s\" }"));
    let document = scene.run("run blocks.toml --dry-run --format json").status(0).json();
    let seconds = ["duration_s", "duration_s_at_most"].map(|key| document[key].as_f64().unwrap());
    assert!((seconds[0] - 9.3).abs() < 1e-9 && (seconds[1] - 18.3).abs() < 1e-9, "{seconds:?}");
}

#[test]
fn rounds_are_added_until_every_interval_is_narrow_or_none_is_allowed() {
    let wide = scene("rounds = 6\nstop = { interval = \"0.0001%\", at_most = \"8s\" }");
    let summary = wide.run("run blocks.toml --out rec --format json").status(0).json();
    // A round takes 0.9 s: eight fit into 8 s.
    assert_eq!((measured(&wide).len(), &summary["interleaved"]["rounds"]), (8, &8.into()));
    let ids = |summary: &Value| {
        summary["findings"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert!(ids(&summary).contains(&"interval-too-wide".into()), "{}", summary["findings"]);
    assert!(wide.read("rec/events.jsonl").contains("\"rounds_added\",\"rounds\":2"));
    let narrow = scene("rounds = 6\nstop = { interval = \"99%\", at_most = \"8s\" }");
    let summary = narrow.run("run blocks.toml --out rec --format json").status(0).json();
    assert_eq!(measured(&narrow).len(), 6);
    assert!(!ids(&summary).contains(&"interval-too-wide".into()), "{}", summary["findings"]);
}

#[test]
fn an_interrupted_run_keeps_its_whole_rounds() {
    let scene = scene("rounds = 1000");
    let running = scene.start("run blocks.toml --out rec");
    wait_for_event(&scene.path("rec"), "block_started\",\"phase\":\"w0\",\"round\":13");
    running.signal(Signal::INT);
    running.end().status(1);
    let summary = scene.json("rec/summary.json");
    assert_eq!(summary["status"], "interrupted");
    assert!(phase(&summary, "w1")["pressure"]["ci_low"].is_number(), "{}", phase(&summary, "w1"));
    let finding = summary["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == "phase-cut").unwrap();
    assert!(
        finding["text"].as_str().unwrap().contains("of 1000 rounds were measured: the run was interrupted"),
        "{finding}"
    );
}

#[test]
fn a_recording_that_was_killed_keeps_its_blocks() {
    let scene = scene("rounds = 1000");
    let running = scene.start("run blocks.toml --out rec");
    wait_for_event(&scene.path("rec"), "block_started\",\"phase\":\"w0\",\"round\":6");
    running.signal(Signal::KILL);
    running.end();
    let summary = scene.run("report rec --format json").status(0).json();
    assert_eq!(summary["status"], "cut");
    assert!(phase(&summary, "w1")["blocks"].as_array().unwrap().len() >= 5, "{}", phase(&summary, "w1"));
}

#[test]
fn what_an_interleaved_plan_cannot_do_is_refused_at_its_line() {
    let refused = |from: &str, to: &str, words: &[&str]| {
        let scene = Scene::new();
        let text = interleaved("rounds = 6");
        assert!(text.contains(from), "{from}");
        scene.write("blocks.toml", &text.replace(from, to));
        scene.run("run blocks.toml --out rec").status(2).err_has(words);
        assert!(!scene.path("rec").exists());
    };
    refused("rounds = 6", "rounds = 4", &["4 rounds are out of range", "5"]);
    refused("rounds = 6", "", &["`rounds` is missing"]);
    refused(
        "block = \"300ms\"",
        "block = \"310ms\"",
        &["`block = 310ms` is not a multiple of the sample interval", "50ms"],
    );
    refused("washout = \"100ms\"", "washout = \"10ms\"", &["`washout = 10ms`", "50ms"]);
    refused("washout = \"100ms\"", "washout = \"300ms\"", &["must be longer than its washout"]);
    refused("rounds = 6", "rounds = 6\nclosing = true", &["`closing` belongs to a ladder", "every round"]);
    refused("rounds = 6", "rounds = 6\nbaseline = \"9s\"", &["`baseline` belongs to a ladder"]);
    refused("rounds = 6", "rounds = 6\nsettle = \"9s\"", &["`settle` belongs to a ladder", "washout"]);
    refused("rounds = 6", "rounds = 6\nphase = \"9s\"", &["no `phase`", "`block`"]);
    refused("rounds = 6", "rounds = 6\nsolo = true", &["`solo` needs `phase`"]);
    refused("design = \"interleaved\"\n", "", &["`rounds` belongs to an interleaved plan", "design = \"interleaved\""]);
    refused("\"interleaved\"", "\"interlaced\"", &["interlaced", "interleaved"]);
    refused("rounds = 6", "rounds = 6\nstop = { interval = \"5%\", at_most = \"1s\" }", &["shorter than the rounds"]);
}

#[test]
fn neighbours_are_measured_alone_before_the_rounds() {
    let scene = scene("rounds = 5\nsolo = true\nphase = \"1s\"");
    let summary = scene.run("run blocks.toml --out rec --format json").status(0).json();
    assert!(phase(&summary, "s1")["neighbours"]["writer"]["performance"]["mean"].as_f64().unwrap() > 0.0);
    assert!(phase(&summary, "s1")["blocks"].is_null());
    assert!(phase(&summary, "w2")["fairness"]["slowdown"]["writer"].is_number(), "{}", phase(&summary, "w2"));
}
