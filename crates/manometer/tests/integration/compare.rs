//! `manometer compare`: verdicts, exit status, JUnit, and what cannot be compared.

use std::path::Path;

use manometer_measure::clock::WallAnchor;
use manometer_measure::event::{Event, RunStatus};
use manometer_measure::plan::{BetterDirection, Criterion, Phase, PhaseKind, Plan, PlannedWorkload, Role};
use manometer_measure::{Column, RecordingWriter};
use serde_json::json;

use crate::support::{SHORT, Scene};

const SECOND: u64 = 1_000_000_000;
const SAMPLES: u64 = 60;

fn plan(unit: &str, seconds: u64) -> Plan {
    let phase = |id: &str, kind| Phase {
        id: id.into(),
        label: "as <written>".into(),
        kind,
        duration_s: seconds as f64,
        settle_s: 0.0,
        running: if kind == PhaseKind::Pressure { vec!["db".into(), "writer".into()] } else { vec!["db".into()] },
        settings: Default::default(),
    };
    Plan {
        experiment: "made up".into(),
        criterion: Criterion { metric: "throughput".into(), unit: unit.into(), better: BetterDirection::Higher },
        interval_s: 1.0,
        seed: 1,
        sweep: Default::default(),
        reference: false,
        goal: None,
        interleaved: None,
        workloads: vec![
            PlannedWorkload { name: "db".into(), role: Role::Primary, kind: "kv".into(), unit: unit.into() },
            PlannedWorkload { name: "writer".into(), role: Role::Neighbour, kind: "io".into(), unit: "MiB/s".into() },
        ],
        phases: vec![phase("w0", PhaseKind::Baseline), phase("w1", PhaseKind::Pressure)],
    }
}

/// A recording whose `w0` and `w1` lie around these levels.
fn record(dir: &Path, levels: [f64; 2], unit: &str, shift: u64) {
    record_part(dir, levels, unit, shift, (SAMPLES, SAMPLES));
}

/// The same with phases of so many seconds, and only the first samples of `w0`.
fn record_part(dir: &Path, levels: [f64; 2], unit: &str, shift: u64, (seconds, samples_of_w0): (u64, u64)) {
    let plan = plan(unit, seconds);
    let start = WallAnchor { monotonic_ns: 0, unix_ns: 1_700_000_000 * SECOND };
    let mut writer = RecordingWriter::create(dir, start, "", &plan, &json!({"host": {}})).unwrap();
    let columns = [("length", "s"), ("read.requests", ""), ("read.bytes", "B")];
    writer.begin_series("db", &columns.map(|(name, unit)| Column::new(name, unit))).unwrap();
    let mut second = 0;
    for (phase, level) in plan.phases.iter().zip(levels) {
        writer.event(second * SECOND, Event::PhaseStarted { phase: phase.id.clone() }).unwrap();
        for sample in 0..seconds {
            second += 1;
            if phase.id == "w0" && sample >= samples_of_w0 {
                continue;
            }
            let noise = ((second + shift) * 7919 % 13) as f64 / 6.0 - 1.0;
            let reached = level * (1.0 + 0.03 * noise);
            writer.sample("db", second * SECOND, &[Some(1.0), Some(reached), Some(reached)]).unwrap();
        }
        writer.event(second * SECOND, Event::PhaseEnded { phase: phase.id.clone() }).unwrap();
    }
    writer.finish(second * SECOND, RunStatus::Complete).unwrap();
}

fn scene(recordings: &[(&str, [f64; 2])]) -> Scene {
    let scene = Scene::new();
    for (shift, (name, levels)) in recordings.iter().enumerate() {
        record(&scene.path(name), *levels, "ops/s", shift as u64);
    }
    scene
}

#[test]
fn equal_runs_are_reported_as_the_same() {
    let scene = scene(&[("a", [1000.0, 500.0]), ("b", [1000.0, 501.0])]);
    let document = scene.run("compare a b --format json").status(0).json();
    for phase in document["phases"].as_array().unwrap() {
        assert_eq!(phase["verdict"], "same", "{phase}");
        let number = |key: &str| phase[key].as_f64().unwrap();
        assert!(number("ci_low") < number("ratio") && number("ratio") < number("ci_high"));
    }
    assert_eq!(document["phases"][1]["id"], "w1");
    scene.run("compare a b").status(0).out_has(&["A: a", "B: b", "w1", "same", "1.00"]);
}

#[test]
fn a_regression_ends_with_status_three_and_fails_its_test() {
    let scene = scene(&[("a", [1000.0, 500.0]), ("b", [1000.0, 400.0])]);
    scene.run("compare a b --junit out.xml").status(3).out_has(&["WORSE", "0.80"]);
    let xml = scene.read("out.xml");
    for part in
        ["<failure", "type=\"regression\"", "tests=\"3\"", "failures=\"1\"", "errors=\"0\"", "w1: as &lt;written&gt;"]
    {
        assert!(xml.contains(part), "`{part}` is not in: {xml}");
    }
    scene.run("compare b a").status(0).out_has(&["better"]);
    scene.run("compare a b --bound 50%").status(0).out_has(&["same"]);
    let document = scene.run("compare a b --format json").status(3).json();
    assert_eq!(document["phases"][1]["direction"], "worse");
    assert_eq!((&document["phases"][0]["gate"], &document["phases"][1]["gate"]), (&json!("no_worse"), &json!("worse")));
}

#[test]
fn what_cannot_be_decided_ends_with_status_four() {
    // 4.6 % less with an interval of about 1 %: the whole of it is on neither side of 5 %.
    let scene = scene(&[("a", [1000.0, 500.0]), ("b", [1000.0, 477.0])]);
    let said = scene.run("compare a b --bound 5% --junit out.xml").status(4);
    said.out_has(&["Undecided:", "undecided; needs phases of about "]);
    let xml = scene.read("out.xml");
    for part in ["<error", "undecided", "errors=\"1\"", "failures=\"0\""] {
        assert!(xml.contains(part), "`{part}` is not in: {xml}");
    }
    let document = scene.run("compare a b --format json").status(4).json();
    assert!(document["phases"][1]["needed_s"].as_f64().unwrap() > 60.0, "{document}");
    scene.run("compare a b --allow-undecided --junit out.xml").status(0);
    assert!(scene.read("out.xml").contains("<skipped"));
    scene.run("compare a b --bound 10%").status(0).out_has(&["No worse: no phase loses more than 10 %."]);
    scene.run("compare a b --bound 1%").status(3).out_has(&["Worse: at least one phase loses more than 1 %."]);
}

#[test]
fn a_recording_is_not_compared_with_itself() {
    let scene = scene(&[("a", [1000.0, 500.0]), ("b", [1000.0, 500.0])]);
    scene.run("compare a ./a").status(2).err_has(&["a and ./a are the same recording"]);
    scene.run("compare a b a").status(2).err_has(&["are the same recording"]);
    let copied = std::process::Command::new("cp").args(["-r", "a", "copy"]).current_dir(scene.path("")).status();
    assert!(copied.unwrap().success());
    scene.run("compare a copy").status(2).err_has(&["a and copy are the same recording", "run the experiment again"]);
    scene.run("compare b copy").status(0);
}

#[test]
fn a_void_result_decides_nothing() {
    let scene = scene(&[("a", [1000.0, 500.0]), ("b", [1000.0, 500.0])]);
    let finding = json!({
        "t_ns": 1, "event": "finding", "id": "isolation-lost", "severity": "error", "text": "`writer` was moved."
    });
    scene.without_checksums("b");
    let events = format!("{finding}\n{}", scene.read("b/events.jsonl"));
    scene.write("b/events.jsonl", &events);
    let reason = "B (b) is void, because a workload lost its isolation";
    let undecided = format!("Undecided: the result is void: {reason}.");
    scene.run("compare a b").status(4).out_has(&[&undecided, "Verdict: void."]);
    scene.run("compare a b --junit out.xml").status(4);
    assert!(scene.read("out.xml").contains(&format!("Verdict: void. {reason}.")), "{}", scene.read("out.xml"));
}

#[test]
fn samples_missing_in_w0_of_one_side_decide_nothing() {
    let scene = scene(&[("a", [1000.0, 500.0])]);
    record_part(&scene.path("b"), [1000.0, 500.0], "ops/s", 1, (SAMPLES, SAMPLES / 3));
    for (sides, name) in [("a b", "B"), ("b a", "A")] {
        let said = scene.run(&format!("compare {sides} --junit out.xml")).status(4);
        let reason = format!("{name} (b) is void, because samples are missing in w0");
        said.out_has(&[&format!("Undecided: the result is void: {reason}")]);
        assert!(scene.read("out.xml").contains("<error") && scene.read("out.xml").contains(&reason));
    }
}

#[test]
fn a_row_names_the_settings_of_both_sides_and_the_rest_is_in_the_json() {
    let scene = scene(&[("a", [1000.0, 500.0]), ("b", [1000.0, 501.0])]);
    for (name, size) in [("a", "4KiB"), ("b", "512KiB")] {
        let mut plan: serde_json::Value = serde_json::from_str(&scene.read(&format!("{name}/plan.json"))).unwrap();
        plan["sweep"] = json!({"writer.block_size": size});
        scene.write(&format!("{name}/plan.json"), &plan.to_string());
        scene.without_checksums(name);
    }
    let said = scene.run("compare a b --junit out.xml").status(0);
    let row = "as <written>, writer.block_size = 4KiB in A, 512KiB in B";
    let finding = "The neighbours differ: `writer.block_size` is 4KiB in a and 512KiB in b.";
    said.out_has(&[row, finding, "Verdict: sound."]);
    assert!(scene.read("out.xml").contains("writer.block_size = 4KiB in A, 512KiB in B"));
    let document = scene.run("compare a b --format json").status(0).json();
    assert_eq!(document["phases"][0]["settings_b"], json!({"writer.block_size": "512KiB"}));
}

#[test]
fn three_and_more_are_a_series() {
    let names: Vec<String> = (0..14).map(|index| format!("r{index:02}")).collect();
    let levels = |index: usize| [1000.0 + (index * 5 % 7) as f64, if index < 8 { 500.0 } else { 400.0 }];
    let recordings: Vec<(&str, [f64; 2])> =
        names.iter().enumerate().map(|(index, name)| (name.as_str(), levels(index))).collect();
    let scene = scene(&recordings);
    let document = scene.run(&format!("compare {} --format json", names.join(" "))).status(3).json();
    assert_eq!(document["phases"][1]["changes"][0]["recording"], "r08");
    assert_eq!(document["phases"][0]["verdict"], "unknown");
    let output = scene.run(&format!("compare {} --junit out.xml", names.join(" "))).status(3);
    output.out_has(&["r08", "WORSE", "no change found"]);
    assert!(scene.read("out.xml").contains("since r08"));
    let said = scene.run(&format!("compare {}", names[..8].join(" "))).status(0);
    said.out_has(&["The last recording, w1: as <written>: same", "No worse:"]);
    let document = scene.run(&format!("compare {} --format json", names[..8].join(" "))).status(0).json();
    assert_eq!(document["phases"][1]["latest"]["gate"], "no_worse");
}

#[test]
fn a_series_that_is_back_is_no_regression_and_one_that_is_half_back_is() {
    let names: Vec<String> = (0..24).map(|index| format!("r{index:02}")).collect();
    for (last, status, expected) in [(500.0, 0, "worse, recovered at r18"), (430.0, 3, "WORSE")] {
        let level = |index: usize| [500.0, 500.0, 350.0, last][index / 6] + (index * 5 % 7) as f64 / 2.0;
        let recordings: Vec<(&str, [f64; 2])> =
            names.iter().enumerate().map(|(index, name)| (name.as_str(), [1000.0, level(index)])).collect();
        let scene = scene(&recordings);
        let text = scene.run(&format!("compare {} --junit out.xml", names.join(" "))).status(status);
        text.out_has(&["r12", expected, "better"]);
        assert_eq!(scene.read("out.xml").contains("WORSE since r12"), status == 3, "{}", scene.read("out.xml"));
    }
}

#[test]
fn what_only_one_side_has_is_reported_as_not_compared() {
    let scene = scene(&[
        ("a/runs/001", [1000.0, 500.0]),
        ("a/runs/002", [900.0, 300.0]),
        ("b", [1000.0, 500.0]),
        ("c", [1000.0, 501.0]),
    ]);
    let mut plan: serde_json::Value = serde_json::from_str(&scene.read("a/runs/002/plan.json")).unwrap();
    plan["sweep"] = json!({"writer.block_size": "1MiB"});
    scene.write("a/runs/002/plan.json", &plan.to_string());
    scene.without_checksums("a/runs/002");
    let alone = "A writer.block_size = 1MiB (w0, w1)";
    // What B does not have is not shown to be no worse.
    scene.run("compare a b").status(4).out_has(&["not compared", alone]);
    assert_eq!(scene.run("compare a b --format json").status(4).json()["not_compared"], json!([alone]));
    scene.run("compare b a").status(0).out_has(&["not compared", "B writer.block_size = 1MiB (w0, w1)"]);
    scene.run("compare a c b").status(0).out_has(&["not compared", "w1 (as <written>, writer.block_size = 1MiB)"]);
}

#[test]
fn what_cannot_be_compared_is_refused_with_status_two() {
    let scene = scene(&[("a", [1000.0, 500.0]), ("b", [1000.0, 500.0])]);
    record(&scene.path("other"), [1000.0, 500.0], "MiB/s", 0);
    scene.run("compare a").status(2);
    scene.run("compare a nowhere").status(2).err_has(&["nowhere", "neither a recording nor a directory"]);
    scene.run("compare a other").status(2).err_has(&["different criteria", "ops/s", "MiB/s"]);
    scene.run("compare a a --bound 5").status(2).err_has(&["5%"]);
    scene.run("compare a b --junit no/such/folder.xml").status(1).err_has(&["no/such"]);
}

#[test]
fn runs_too_short_for_an_interval_cannot_be_compared() {
    let scene = Scene::new();
    for (shift, name) in ["one", "again"].into_iter().enumerate() {
        record_part(&scene.path(name), [1000.0, 500.0], "ops/s", shift as u64, (6, 6));
    }
    let document = scene.run("compare one again --format json --junit out.xml").status(4).json();
    assert!(document["phases"][0]["ratio"].is_number());
    assert_eq!(document["phases"][0]["verdict"], "unknown");
    let reason = document["phases"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("too short"), "{reason}");
    assert!(scene.read("out.xml").contains("<error"));
}

#[test]
fn unlike_kernels_are_reported_where_runs_are_joined() {
    let scene = scene(&[("a", [1000.0, 500.0]), ("b", [1000.0, 500.0])]);
    for (name, kernel) in [("a", "6.1"), ("b", "6.18")] {
        scene.write(&format!("{name}/environment.json"), &json!({"host": {"kernel": kernel}}).to_string());
        scene.without_checksums(name);
    }
    for verb in ["compare", "report"] {
        let document = scene.run(&format!("{verb} a b --format json")).status(0).json();
        let ids: Vec<&str> =
            document["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["unlike-kernel"], "{verb}");
        scene.run(&format!("{verb} a b")).status(0).out_has(&["1. The kernel differs: `6.1` in a"]);
    }
}

/// The shell commands of each `run: |` of a GitHub Actions job.
fn scripts(job: &str) -> Vec<String> {
    let mut scripts = Vec::new();
    let mut lines = job.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim_start() != "run: |" {
            continue;
        }
        let indent = |line: &str| line.len() - line.trim_start().len();
        let own = indent(line);
        let mut script = String::new();
        while let Some(next) = lines.next_if(|next| indent(next) > own) {
            script += next.trim_start();
            script.push('\n');
        }
        scripts.push(script);
    }
    scripts
}

#[test]
fn the_job_for_github_actions_measures_both_sides_and_compares_them() {
    let job = std::fs::read_to_string(manometer_testing::repository_file("docs/github-actions.yml")).unwrap();
    let [measure, compare] = <[String; 2]>::try_from(scripts(&job)).unwrap();
    let shell = |scene: &Scene, script: &str| {
        let programs = manometer_testing::binary("manometer").parent().unwrap().to_owned();
        let path = std::env::join_paths(
            [programs].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let mut shell = std::process::Command::new("bash");
        // As GitHub runs it.
        shell.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(scene.path(""));
        shell.env("PATH", path.unwrap()).env("MANOMETER_LOCK_DIRECTORY", scene.path(""));
        let output = shell.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let measured = Scene::new();
    for side in ["before", "after"] {
        std::fs::create_dir(measured.path(side)).unwrap();
        measured.write(&format!("{side}/pressure.toml"), &SHORT.replace("600ms", "200ms"));
    }
    assert_eq!(shell(&measured, &measure).0, 0);
    for recording in ["before/1", "before/3", "after/1", "after/3"] {
        assert!(measured.path(&format!("results/{recording}/summary.json")).exists(), "{recording}");
    }
    for (after, status, word) in [([1000.0, 500.0], 0, "No worse"), ([1000.0, 400.0], 3, "Worse")] {
        let names = [1, 2, 3].map(|round| (format!("results/before/{round}"), format!("results/after/{round}")));
        let sides = names.iter().flat_map(|(a, b)| [(a.as_str(), [1000.0, 500.0]), (b.as_str(), after)]);
        let recorded = scene(&sides.collect::<Vec<_>>());
        let (code, said) = shell(&recorded, &compare);
        assert_eq!(code, status, "{said}");
        assert!(said.contains(word), "{said}");
        assert!(recorded.read("pressure.xml").contains("testsuite"));
    }
}
