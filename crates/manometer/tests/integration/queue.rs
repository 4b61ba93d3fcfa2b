//! `manometer run` of a sweep: the queue, what a crash leaves, `--resume`, and runs that stop early.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use manometer_testing::{Cause, SmallDisk, repository_file, skip};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Running, SHORT, Scene, signal_process, wait_for, wait_for_event};

const MIB: u64 = 1 << 20;

/// Three short runs.
fn swept(words: &str) -> Scene {
    let scene = Scene::new();
    scene.write(
        "set.toml",
        &format!("{SHORT}[sweep]\n\"writer.block_size\" = [\"4KiB\", \"8KiB\", \"16KiB\"]\n{words}\n"),
    );
    scene
}

/// Every file below `dir` with its bytes.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| {
        if path.is_dir() { contents(&path) } else { BTreeMap::from([(path.clone(), std::fs::read(&path).unwrap())]) }
    };
    entries.flat_map(of).collect()
}

/// The states that `run` went through, as the queue says.
fn states(scene: &Scene, run: &str) -> Vec<String> {
    let text = scene.read("all/queue.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_run = lines.filter(|line| line["line"] == "state" && line["run"] == run);
    of_run.map(|line| line["state"].as_str().unwrap().to_owned()).collect()
}

fn settings(document: &Value) -> Vec<String> {
    let runs = document["runs"].as_array().unwrap().iter();
    runs.map(|run| run["settings"]["writer.block_size"].as_str().unwrap_or("reference").to_owned()).collect()
}

fn findings(document: &Value) -> Vec<&str> {
    document["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

#[test]
fn a_set_cut_off_in_its_second_run_goes_on_with_it() {
    let scene = swept("");
    let running = scene.start("run set.toml --out all");
    wait_for_event(&scene.path("all/runs/002"), "phase_started\",\"phase\":\"w0");
    running.kill_everything();
    let first = contents(&scene.path("all/runs/001"));
    let document = scene.run("run set.toml --out all --resume --format json").status(0).json();
    assert_eq!(contents(&scene.path("all/runs/001")), first, "the first run is untouched");
    assert_eq!(settings(&document), ["4KiB", "8KiB", "16KiB"]);
    let status = |run: &Value| run["summary"]["status"].as_str().unwrap().to_owned();
    assert!(document["runs"].as_array().unwrap().iter().all(|run| status(run) == "complete"));
    assert_eq!(states(&scene, "001"), ["running", "done"]);
    assert_eq!(states(&scene, "002"), ["running", "running", "done"]);
    assert!(scene.path("all/set-aside/002.interrupted-1/events.jsonl").is_file());
    assert_eq!(std::fs::read_dir(scene.path("all/runs")).unwrap().count(), 3, "what was cut off is not counted");
    let queue = scene.read("all/queue.jsonl");
    let again = scene.run("run set.toml --out all --resume --format json").status(0).json();
    assert_eq!(again["runs"], document["runs"], "a set that is done has nothing left");
    assert_eq!(scene.read("all/queue.jsonl"), queue);
}

#[test]
fn a_set_with_repeats_cut_off_again_and_again_counts_every_run_once() {
    let scene = swept("order = \"interleaved\"\nrepeats = 2\nreference_every = 4");
    for (run, words) in [("003", ""), ("005", "--resume")] {
        let running = scene.start(&format!("run set.toml --out all {words}"));
        wait_for_event(&scene.path(&format!("all/runs/{run}")), "phase_started\",\"phase\":\"w1");
        running.kill_everything();
    }
    let done = ["001", "002", "003", "004"].map(|run| contents(&scene.path(&format!("all/runs/{run}"))));
    let document = scene.run("run set.toml --out all --resume --format json").status(0).json();
    assert_eq!(["001", "002", "003", "004"].map(|run| contents(&scene.path(&format!("all/runs/{run}")))), done);
    let expected = ["reference", "4KiB", "8KiB", "16KiB", "reference", "4KiB", "8KiB", "16KiB", "reference"];
    assert_eq!(settings(&document), expected);
    assert!(document["runs"].as_array().unwrap().iter().all(|run| run["summary"]["status"] == "complete"));
    let kinds = document["runs"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|run| (run["reference"] == true, run["repeat"].as_u64().unwrap())).collect();
    let (reference, run) = (true, false);
    let first = [(reference, 1), (run, 1), (run, 1), (run, 1)];
    assert_eq!(kinds[..4], first);
    assert_eq!(kinds[4..], [(reference, 2), (run, 2), (run, 2), (run, 2), (reference, 3)]);
    for run in 1..=9 {
        let states = states(&scene, &format!("{run:03}"));
        let begun = if [3, 5].contains(&run) { 2 } else { 1 };
        assert_eq!(states.len(), begun + 1, "{run}: {states:?}");
    }
    let mut aside: Vec<_> =
        std::fs::read_dir(scene.path("all/set-aside")).unwrap().map(|one| one.unwrap().file_name()).collect();
    aside.sort();
    assert_eq!(aside, ["003.interrupted-1", "005.interrupted-1"]);
    let reference = |run: &str| scene.json(&format!("all/runs/{run}/plan.json"))["reference"].clone();
    assert_eq!((reference("001"), reference("002")), (true.into(), Value::Null));
}

#[test]
fn a_database_cut_off_while_it_is_made_anew_is_made_again() {
    let scene = Scene::new();
    let text = SHORT.replace("engine = \"null\"", "engine = \"rocksdb\"");
    scene.write("set.toml", &format!("{text}[sweep]\n\"primary.records\" = [500, 400000, 700]\n"));
    let running = scene.start("run set.toml --out all");
    let marker = scene.path("data/primary/manometer.json");
    wait_for("the second database to be begun", || {
        let text = std::fs::read_to_string(&marker).ok()?;
        text.contains("400000").then_some(())
    });
    running.kill_everything();
    let document = scene.run("run set.toml --out all --resume --format json").status(0).json();
    assert_eq!(document["runs"].as_array().unwrap().len(), 3);
    assert_eq!(scene.json("all/runs/002/environment.json")["workloads"]["primary"]["records"], 400_000);
    assert_eq!(scene.json("all/runs/003/environment.json")["workloads"]["primary"]["records"], 700);
}

#[test]
fn a_whole_recording_that_the_queue_did_not_hear_of_is_counted() {
    let scene = swept("");
    scene.run("run set.toml --out all").status(0);
    let queue = scene.read("all/queue.jsonl");
    // As after a crash between the end of the last recording and the queue's line.
    let cut = queue.trim_end().rfind('\n').unwrap() + 5;
    scene.write("all/queue.jsonl", &queue[..cut]);
    let last = contents(&scene.path("all/runs/003"));
    scene.run("run set.toml --out all --resume").status(0);
    assert_eq!(contents(&scene.path("all/runs/003")), last);
    assert_eq!(states(&scene, "003"), ["running", "done"]);
}

#[test]
fn a_failed_run_is_tried_once_more_and_then_the_set_goes_on_without_it() {
    let scene = swept("");
    let fail_first = |running: &Running| {
        wait_for_event(&scene.path("all/runs/001"), "phase_started\",\"phase\":\"w0");
        signal_process(running.worker(1), Signal::KILL);
    };
    let running = scene.start("run set.toml --out all");
    fail_first(&running);
    wait_for("the second attempt", || scene.path("all/set-aside/001.failed-1").exists().then_some(()));
    fail_first(&running);
    running.end().status(1).err_has(&["runs-failed", "1 of 3 runs failed", "001"]);
    assert_eq!(states(&scene, "001"), ["running", "failed", "running", "failed"]);
    assert_eq!((states(&scene, "002"), states(&scene, "003")), (done(), done()));
    let document = scene.run("run set.toml --out all --resume --format json").status(0).json();
    assert_eq!(settings(&document).len(), 3);
    assert_eq!(scene.json("all/runs/001/summary.json")["status"], "complete");
    assert!(scene.path("all/set-aside/001.failed-2/events.jsonl").is_file());
}

#[test]
fn an_interrupted_set_goes_on_with_its_run() {
    let scene = swept("");
    let running = scene.start("run set.toml --out all");
    wait_for_event(&scene.path("all/runs/001"), "phase_started\",\"phase\":\"w0");
    running.signal(Signal::INT);
    running.end().status(1).err_has(&["interrupted: 3 of 3 runs are left; `--resume --out all` runs them"]);
    assert_eq!(states(&scene, "001"), ["running", "interrupted"]);
    let document = scene.run("run set.toml --out all --resume --format json").status(0).json();
    assert_eq!(settings(&document).len(), 3);
    assert!(scene.path("all/set-aside/001.interrupted-1").is_dir());
}

#[test]
fn a_queue_of_another_set_is_refused_with_what_differs() {
    let scene = swept("");
    scene.run("run set.toml --out all").status(0);
    let queue = scene.read("all/queue.jsonl");
    let resume = |words: &str| scene.run(&format!("run set.toml --out all --resume {words}")).status(2);
    resume("--set plan.phase=700ms").err_has(&["another set", "`plan.phase` was \"600ms\" and is \"700ms\""]);
    resume("set.toml").err_has(&["another set", "requested is set.toml, set.toml"]);
    scene.run("run set.toml --out all").status(2).err_has(&["already holds runs", "--resume"]);
    scene.run("run set.toml --out elsewhere --resume").status(2).err_has(&["holds no queue"]);
    scene.run("run set.toml --resume").status(2).err_has(&["--out"]);
    assert_eq!(scene.read("all/queue.jsonl"), queue, "nothing was written");
}

#[test]
fn a_queue_with_a_damaged_line_is_rebuilt_from_the_others_and_the_recordings() {
    let scene = swept("");
    scene.run("run set.toml --out all").status(0);
    let queue = scene.read("all/queue.jsonl");
    let runs = contents(&scene.path("all/runs"));
    for (line, text) in queue.lines().enumerate().skip(1) {
        let damaged = format!("{}\u{0}{}", &text[..text.len() / 2], &text[text.len() / 2 + 1..]);
        scene.write("all/queue.jsonl", &queue.replacen(text, &damaged, 1));
        let resumed = scene.run("run set.toml --out all --resume").status(0);
        resumed.err_has(&[
            "3 of 3 runs are done",
            "queue.jsonl was rebuilt",
            &format!("line {} was damaged", line + 1),
        ]);
        assert_eq!(scene.read("all/queue.jsonl.damaged").lines().count(), queue.lines().count());
        assert_eq!(contents(&scene.path("all/runs")).len(), runs.len(), "no run was repeated: {text}");
        let again = scene.run("run set.toml --out all --resume").status(0);
        assert!(!again.err().contains("rebuilt"), "{}", again.err());
    }
    scene.write("all/queue.jsonl", &queue.replacen("\"line\":\"set\"", "\"line\":\"get\"", 1));
    scene.run("run set.toml --out all --resume").status(2).err_has(&["queue.jsonl, line 1", "checksum"]);
}

#[test]
fn what_was_damaged_or_lost_after_its_end_is_measured_again() {
    let scene = swept("");
    scene.run("run set.toml --out all").status(0);
    fs::remove_dir_all(scene.path("all/runs/003")).unwrap();
    scene.run("report all").status(1).err_has(&["all/runs/003 is missing", "`run --resume` measures it again"]);
    let kept = contents(&scene.path("all/runs/001"));
    let samples = scene.path("all/runs/002/samples/primary.parquet");
    let mut bytes = fs::read(&samples).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&samples, bytes).unwrap();
    let resumed = scene.run("run set.toml --out all --resume").status(0);
    resumed.err_has(&["1 of 3 runs are done", "their runs are repeated: 002 (samples/primary.parquet was", "; 003 ("]);
    assert!(scene.path("all/set-aside/002.damaged-1/samples").is_dir());
    assert_eq!(contents(&scene.path("all/runs/001")), kept);
    for run in ["002", "003"] {
        assert_eq!(states(&scene, run), ["running", "done", "waiting", "running", "done"]);
    }
    scene.run("run set.toml --out all --resume").status(0).err_has(&["3 of 3 runs are done"]);
    // Another run's recording is none of this one.
    fs::remove_dir_all(scene.path("all/runs/002")).unwrap();
    fs::rename(scene.path("all/runs/003"), scene.path("all/runs/002")).unwrap();
    std::os::unix::fs::symlink("/nonexistent", scene.path("all/runs/003")).unwrap();
    let resumed = scene.run("run set.toml --out all --resume").status(0);
    resumed.err_has(&["1 of 3 runs are done", "002 (it is of another run); 003 (it is a symbolic link"]);
    // Also one that leads to a whole recording.
    fs::rename(scene.path("all/runs/003"), scene.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(scene.path("elsewhere"), scene.path("all/runs/003")).unwrap();
    let kept = contents(&scene.path("elsewhere"));
    let resumed = scene.run("run set.toml --out all --resume").status(0);
    resumed.err_has(&["2 of 3 runs are done", "003 (it is a symbolic link"]);
    assert_eq!(contents(&scene.path("elsewhere")), kept);
}

#[test]
fn a_queue_whose_lines_of_runs_are_lost_doubled_or_exchanged_is_rebuilt() {
    let scene = swept("");
    scene.run("run set.toml --out all").status(0);
    let queue = scene.read("all/queue.jsonl");
    let lines: Vec<&str> = queue.split_inclusive('\n').collect();
    for order in [&[0, 2, 3][..], &[0, 1, 1, 2, 3], &[0, 2, 1, 3], &[0, 3]] {
        let rest = lines[4..].iter().copied();
        let changed: String = order.iter().map(|at| lines[*at]).chain(rest).collect();
        scene.write("all/queue.jsonl", &changed);
        let resumed = scene.run("run set.toml --out all --resume").status(0);
        resumed.err_has(&["3 of 3 runs are done", "queue.jsonl was rebuilt", "lines of runs were lost, doubled or"]);
        assert_eq!(
            scene.read("all/queue.jsonl").lines().take(4).collect::<Vec<_>>(),
            queue.lines().take(4).collect::<Vec<_>>()
        );
    }
}

#[test]
fn two_runs_at_once_on_one_disk_are_refused_whatever_the_directory() {
    let scene = Scene::short();
    if manometer_measure::host::device_of(&scene.path("")).is_none() {
        skip(Cause::BlockDevice, "no block device holds the tests' directory");
        return;
    }
    let first = scene.start("run short.toml --out one --set plan.phase=60s");
    wait_for_event(&scene.path("one"), "started");
    let pid = first.pid().to_string();
    let second = scene.run("run short.toml --out two --set device.directory=other").status(2);
    second.err_has(&["the disk", "in use by another run", &pid]);
    assert!(!scene.path("two").exists() && !scene.path("other").exists());
    first.signal(Signal::INT);
    first.end().status(1);
    scene.run("run short.toml --out two --set device.directory=other").status(0);
}

#[test]
fn a_set_that_runs_is_not_taken_up_by_another() {
    let scene = swept("");
    let first = scene.start("run set.toml --out all");
    wait_for_event(&scene.path("all/runs/001"), "started");
    let pid = first.pid().to_string();
    scene.run("run set.toml --out all --resume").status(2).err_has(&["in use by another run", &pid]);
    first.end().status(0);
}

#[test]
fn runs_come_in_the_order_asked_for_with_their_reference() {
    let scene = swept("order = \"interleaved\"\nrepeats = 2\nreference_every = 4");
    let document = scene.run("run set.toml --out all --format json").status(0).json();
    let expected = ["reference", "4KiB", "8KiB", "16KiB", "reference", "4KiB", "8KiB", "16KiB", "reference"];
    assert_eq!(settings(&document), expected);
    assert!(document["runs"][8]["dir"].as_str().unwrap().ends_with("all/runs/009"));
    let queue: Vec<Value> =
        scene.read("all/queue.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&queue[6]["repeat"], &queue[5]["reference"]), (&2.into(), &true.into()));
    assert_eq!(queue[1]["hash"], queue[5]["hash"]);
    assert_ne!(queue[1]["hash"], queue[2]["hash"]);
}

#[test]
fn a_single_run_cut_off_is_done_anew() {
    let scene = Scene::short();
    let running = scene.start("run short.toml --out rec");
    wait_for_event(&scene.path("rec"), "phase_started\",\"phase\":\"w0");
    running.kill_everything();
    scene
        .run("run short.toml --out rec --resume --set plan.phase=1s")
        .status(2)
        .err_has(&["another experiment", "`plan.phase`"]);
    let summary = scene.run("run short.toml --out rec --resume --format json").status(0).json();
    assert_eq!(summary["status"], "complete");
    assert!(scene.path("rec.interrupted-1/events.jsonl").is_file());
    scene.run("run short.toml --out rec --resume").status(0).err_has(&["nothing to do"]);
    assert!(!scene.path("rec.interrupted-2").exists());
}

/// A scene whose device directory is a disk of its own; nothing where this host lets us mount none.
fn on_small_disk() -> Option<(Scene, SmallDisk)> {
    let scene = Scene::new();
    let disk = SmallDisk::at(&scene.path("data"), 512 * MIB)?;
    Some((scene, disk))
}

#[test]
fn a_set_whose_budget_was_passed_goes_on_with_a_higher_one() {
    let Some((scene, _disk)) = on_small_disk() else { return };
    let text = SHORT.replace("write_ratio = 0.5", "write_ratio = 0.0");
    scene.write("set.toml", &format!("{text}[sweep]\n\"writer.file_size\" = [\"4MiB\", \"200MiB\"]\n"));
    scene.run("run set.toml --out all --set device.write_budget=202MiB").err_has(&["device.write_budget"]);
    assert_eq!((states(&scene, "001"), states(&scene, "002")), (done(), vec!["running".into(), "failed".into()]));
    let first = contents(&scene.path("all/runs/001"));
    scene.run("run set.toml --out all --resume --set device.write_budget=1TiB").status(0);
    assert_eq!(contents(&scene.path("all/runs/001")), first);
    let queue = scene.read("all/queue.jsonl");
    let resumed = queue.lines().filter(|line| line.contains("\"line\":\"resumed\"")).collect::<Vec<_>>();
    assert!(resumed.len() == 1 && resumed[0].contains("[\"1TiB\"]"), "{queue}");
    scene.run("run set.toml --out all --resume --set device.write_budget=1TiB").status(0);
    assert_eq!(scene.read("all/queue.jsonl"), queue, "the same again is no news");
}

fn done() -> Vec<String> {
    vec!["running".to_owned(), "done".to_owned()]
}

#[test]
fn a_single_run_whose_budget_was_passed_goes_on_with_a_higher_one() {
    let Some((scene, _disk)) = on_small_disk() else { return };
    scene.write("short.toml", &SHORT.replace("write_ratio = 0.5", "write_ratio = 1.0\nblock_size = \"64KiB\""));
    scene.run("run short.toml --out rec --set device.write_budget=5MiB").status(1);
    assert!(scene.read("rec/events.jsonl").contains("write-budget-spent"));
    let summary = scene.run("run short.toml --out rec --resume --set device.write_budget=1TiB --format json");
    assert_eq!(summary.status(0).json()["status"], "complete");
}

#[test]
fn what_a_named_file_says_is_a_part_of_the_set() {
    let scene = Scene::new();
    let text = SHORT.replace("ycsb-b", "own.properties");
    scene.write("own.properties", "readproportion=1.0\nupdateproportion=0.0\n");
    scene.write("one.toml", &text);
    scene.write("set.toml", &format!("{text}[sweep]\nrepeats = 2\n"));
    scene.run("run one.toml --out rec").status(0);
    scene.run("run set.toml --out all").status(0);
    scene.run("run set.toml --out all --resume").status(0);
    scene.write("own.properties", "readproportion=0.5\nupdateproportion=0.5\n");
    let words = ["own.properties has changed"];
    scene.run("run set.toml --out all --resume").status(2).err_has(&words);
    scene.run("run one.toml --out rec --resume").status(2).err_has(&words);
}

#[test]
fn a_set_of_another_version_goes_on_and_says_so() {
    let scene = swept("");
    scene.run("run set.toml --out all").status(0);
    let version = format!("\"manometer\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let queue = scene.read("all/queue.jsonl");
    assert!(queue.contains(&version));
    let (set, runs) = queue.split_once('\n').unwrap();
    // That version had no checksums.
    let set = set.split_once(",\"crc32c\"").unwrap().0.replacen(&version, "\"manometer\":\"0.0.1\"", 1);
    scene.write("all/queue.jsonl", &format!("{set}}}\n{runs}"));
    scene
        .run("run set.toml --out all --resume")
        .status(0)
        .err_has(&["this set was started by version 0.0.1 of Manometer"]);
    assert!(scene.read("all/queue.jsonl").lines().last().unwrap().contains("\"write_budgets\":[null]"));
}

#[test]
fn a_set_interrupted_while_it_prepares_says_so_and_what_it_made() {
    let scene = Scene::new();
    let text = SHORT.replace("engine = \"null\"", "engine = \"rocksdb\"");
    let text = text.replace("[primary]", "[prepare]\nrewrite_files = true\nsettle = \"60s\"\n[primary]");
    scene.write("set.toml", &format!("{text}[sweep]\n\"writer.file_size\" = [\"4MiB\", \"8MiB\"]\n"));
    let running = scene.start("run set.toml --out all");
    let ledger = scene.path("data/.manometer-ledger.jsonl");
    wait_for("settling", || std::fs::read_to_string(&ledger).ok()?.contains("\"what\":\"settle\"").then_some(()));
    running.signal(Signal::INT);
    running.end().status(1).err_has(&["interrupted while preparing"]);
    assert_eq!(states(&scene, "001"), ["running", "interrupted"]);
    let last: Value = serde_json::from_str(scene.read("all/queue.jsonl").lines().last().unwrap()).unwrap();
    assert!(last["created"][0].as_str().unwrap().ends_with("data/writer"), "{last}");
}

/// `SHORT` with a primary whose pace is steady, and more samples.
fn steady() -> String {
    SHORT.replace("records = 1000", "records = 1000\nrate = 2000").replace("\"100ms\"", "\"50ms\"")
}

fn phase<'a>(summary: &'a Value, id: &str) -> &'a Value {
    summary["phases"].as_array().unwrap().iter().find(|phase| phase["id"] == id).unwrap()
}

#[test]
fn a_phase_lasts_until_its_interval_is_narrow() {
    let scene = Scene::new();
    let stop = "phase = \"500ms\"\nstop = { interval = \"60%\", at_most = \"60s\" }";
    let text = steady().replace("phase = \"600ms\"", stop).replace("rate = 2000", "think = \"500us\"");
    scene.write("stop.toml", &text);
    let summary = scene.run("run stop.toml --out rec --format json").status(0).json();
    for id in ["w0", "w1", "w2"] {
        let phase = phase(&summary, id);
        let length_s = phase["end_s"].as_f64().unwrap() - phase["start_s"].as_f64().unwrap();
        // Ten samples are too few for an interval: twelve at least.
        assert!((0.6..60.0).contains(&length_s), "{id}: {length_s}");
        assert!(phase["performance"]["ci_low"].is_number(), "{phase}");
    }
    let is_reported =
        summary["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == "interval-too-wide");
    assert!(!is_reported, "{}", summary["findings"]);
    let events = scene.read("rec/events.jsonl");
    assert!(events.contains("\"phase_prolonged\",\"phase\":\"w0\",\"by_s\":0.5,\"width\":null"), "{events}");
}

#[test]
fn a_phase_that_does_not_become_narrow_ends_at_its_limit_and_says_so() {
    let scene = Scene::new();
    let stop = "phase = \"600ms\"\nstop = { interval = \"0.0001%\", at_most = \"1500ms\" }";
    scene.write("stop.toml", &SHORT.replace("phase = \"600ms\"", stop));
    let summary = scene.run("run stop.toml --out rec --format json").status(0).json();
    let w1 = phase(&summary, "w1");
    let length_s = w1["end_s"].as_f64().unwrap() - w1["start_s"].as_f64().unwrap();
    assert!((length_s - 1.5).abs() < 0.05, "{length_s}");
    let findings: Vec<&Value> = summary["findings"].as_array().unwrap().iter().collect();
    for id in ["w0", "w1", "w2"] {
        let names = |finding: &Value| {
            finding["phase"] == id || finding["phases"].as_array().is_some_and(|all| all.contains(&id.into()))
        };
        assert!(
            findings.iter().any(|finding| finding["id"] == "interval-too-wide" && names(finding)),
            "{id}: {findings:?}"
        );
    }
    assert_eq!(scene.read("rec/events.jsonl").matches("phase_prolonged").count(), 6);
}

/// The widest 95 % interval over the `runs` of the pressure in a phase.
fn widest(scene: &Scene, runs: std::ops::Range<usize>) -> f64 {
    // Student's t at 97.5 % for 2, 3 and 4 degrees of freedom.
    let t = [4.302_653, 3.182_446, 2.776_445][runs.len() - 3];
    let summaries: Vec<Value> = runs.map(|run| scene.json(&format!("all/runs/{run:03}/summary.json"))).collect();
    let width = |id: &str| {
        let mean = |summary: &Value, id: &str| phase(summary, id)["performance"]["mean"].as_f64().unwrap();
        let pressure: Vec<f64> = summaries.iter().map(|run| 1.0 - mean(run, id) / mean(run, "w0")).collect();
        let count = pressure.len() as f64;
        let centre = pressure.iter().sum::<f64>() / count;
        let squares: f64 = pressure.iter().map(|pressure| (pressure - centre).powi(2)).sum();
        2.0 * t * (squares / (count - 1.0) / count).sqrt()
    };
    width("w1").max(width("w2"))
}

#[test]
fn a_combination_runs_until_its_repeats_agree() {
    let scene = Scene::new();
    let sweep = "[sweep]\n\"writer.dsync\" = [false, true]\nstop = { interval = \"90%\", at_most = 5 }\n";
    scene.write("set.toml", &format!("{}{sweep}", steady()));
    let document = scene.run("run set.toml --out all --format json").status(0).json();
    let runs = document["runs"].as_array().unwrap();
    for (is_synced, first) in [(false, 1), (true, 6)] {
        let repeats = runs.iter().filter(|run| run["settings"]["writer.dsync"] == is_synced).count();
        assert!((3..=5).contains(&repeats), "{repeats}");
        // How many it takes is up to the machine: what they are is checked against what they measured.
        let widths: Vec<f64> = (3..=repeats).map(|count| widest(&scene, first..first + count)).collect();
        let (last, before) = widths.split_last().unwrap();
        assert!(before.iter().all(|width| *width > 0.9) && (*last <= 0.9 || repeats == 5), "{widths:?}");
        for run in first..first + 5 {
            let expected = if run < first + repeats { done() } else { vec!["not_needed".to_owned()] };
            assert_eq!(states(&scene, &format!("{run:03}")), expected, "{run}");
        }
    }
    let queue = scene.read("all/queue.jsonl");
    scene.run("run set.toml --out all --resume").status(0);
    assert_eq!(scene.read("all/queue.jsonl"), queue);
}

#[test]
fn references_between_runs_that_were_not_needed_are_not_either() {
    let scene = Scene::new();
    let sweep = "[sweep]\n\"writer.block_size\" = [\"4KiB\", \"8KiB\"]\nreference_every = 3\n\
                 stop = { interval = \"90%\", at_most = 5 }\n";
    scene.write("set.toml", &format!("{}{sweep}", steady()));
    let document = scene.run("run set.toml --out all --format json").status(0).json();
    // How many repeats it takes is up to the machine; what follows from that is not: references first and last, none
    // after another, and no three runs without one.
    let ran = settings(&document);
    let mut runs = ran.split(|setting| setting == "reference");
    assert_eq!((runs.next().map(<[_]>::len), runs.next_back().map(<[_]>::len)), (Some(0), Some(0)), "{ran:?}");
    assert!(runs.all(|between| (1..=2).contains(&between.len())), "{ran:?}");
    for size in ["4KiB", "8KiB"] {
        assert!((3..=5).contains(&ran.iter().filter(|setting| *setting == size).count()), "{ran:?}");
    }
    // Six references and twice five runs were planned.
    let all: Vec<Vec<String>> = (1..=16).map(|run| states(&scene, &format!("{run:03}"))).collect();
    assert_eq!(all.iter().filter(|states| **states == done()).count(), ran.len(), "{all:?}");
    assert_eq!(all.iter().filter(|states| **states == ["not_needed"]).count(), 16 - ran.len(), "{all:?}");
    let queue = scene.read("all/queue.jsonl");
    scene.run("run set.toml --out all --resume").status(0);
    assert_eq!(scene.read("all/queue.jsonl"), queue);
    let dry = scene.run("run set.toml --dry-run --format json").status(0).json();
    // Ten runs of 0.3 s and three phases of 0.6 s; sixteen at most.
    let time = |key: &str| dry[key].as_f64().unwrap();
    assert!((time("duration_s") - 21.0).abs() < 1e-9 && (time("duration_s_at_most") - 33.6).abs() < 1e-9);
}

#[test]
fn repeats_that_do_not_agree_end_at_their_limit_and_say_so() {
    let scene = Scene::new();
    scene.write("set.toml", &format!("{SHORT}[sweep]\nstop = {{ interval = \"0.0001%\", at_most = 4 }}\n"));
    let document = scene.run("run set.toml --out all --format json").status(0).json();
    assert_eq!(document["runs"].as_array().unwrap().len(), 4);
    assert!(findings(&document).contains(&"repeats-too-wide"), "{}", document["findings"]);
}

#[test]
fn a_dry_run_of_a_set_says_what_it_costs() {
    let scene = Scene::new();
    let thesis = repository_file("experiments/thesis.toml").display().to_string();
    let dry = |words: &str| scene.run(&format!("run {thesis} --dry-run --elsewhere {words}")).status(0);
    dry("").out_has(&["56.7 h", "in 20 runs", "GiB", "without bound for", "--write-speed"]);
    dry("--write-speed 500MiB/s").out_has(&["at most", "TiB", "500 MiB/s"]);
    let document = dry("--format json").json();
    assert_eq!(document["runs"].as_array().unwrap().len(), 20);
    assert!(document["bytes_written_at_most"].is_null() && document["reason"].as_str().unwrap().contains("rate"));
    scene.run(&format!("run {thesis} --dry-run --write-speed 5/s")).status(2).err_has(&["bytes per second"]);
}

#[test]
fn a_dry_run_knows_what_bounded_workloads_write() {
    let scene = Scene::new();
    let bounded = SHORT.replace("write_ratio = 0.5", "write_ratio = 0.5\nrate = \"8MiB/s\"");
    scene.write("bounded.toml", &bounded);
    let document = scene.run("run bounded.toml --dry-run --format json").status(0).json();
    // 4 MiB/s in the two phases of 0.6 s in which it runs.
    let bytes = document["bytes_written_at_most"].as_f64().unwrap();
    assert!((bytes - 4.8 * f64::from(1 << 20)).abs() < 1.0, "{bytes}");
    let stop = "[sweep]\nrepeats = 4\nstop = { interval = \"5%\" }\n";
    scene.write("stop.toml", &format!("{bounded}{stop}"));
    let document = scene.run("run stop.toml --dry-run --format json").status(0).json();
    let time = |key: &str| document[key].as_f64().unwrap();
    assert!((time("duration_s") - 8.4).abs() < 1e-9 && (time("duration_s_at_most") - 21.0).abs() < 1e-9);
}

#[test]
fn a_dry_run_counts_all_that_preparing_writes_and_says_when_it_passes_the_budget() {
    let scene = Scene::new();
    let text = SHORT.replace("engine = \"null\"", "engine = \"lmdb\"");
    let text = text.replace("[primary]", "[prepare]\nsettle = \"10s\"\nsnapshot = true\n[primary]");
    scene.write("set.toml", &format!("{text}[sweep]\nrepeats = 3\n"));
    let dry = |words: &str| scene.run(&format!("run set.toml --dry-run {words}")).status(0);
    let document = dry("--format json").json();
    let prepared = &document["preparations"][0];
    let steps = prepared["steps"].as_array().unwrap();
    let kinds: Vec<&str> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["data", "snapshot", "restore", "restore", "restore"]);
    assert_eq!(prepared["bytes_by_runs"], 4 * MIB, "the neighbour's file, once");
    let all = prepared["bytes"].as_u64().unwrap() + 4 * MIB;
    assert!(all > 4 * MIB);
    assert_eq!((document["bytes_to_prepare"].as_u64(), document["settle_s_at_most"].as_f64()), (Some(all), Some(10.0)));
    assert!(findings(&document).is_empty(), "{}", document["findings"]);
    dry("").out_has(&["and at most 10s of settling", "4 MiB of it by the runs themselves"]);
    let budget = format!("--set device.write_budget={}", all - 1);
    let passed = dry(&format!("{budget} --format json")).json();
    assert_eq!(findings(&passed), ["write-budget-too-small"]);
    dry(&budget).out_has(&["exceeds its write budget", "in run 3 of 3"]);
    let speed = "--set device.write_budget=1GiB --write-speed";
    dry(&format!("{speed} 1GiB/s")).out_has(&["may exceed its write budget of 1GiB"]);
    assert!(!dry(&format!("{speed} 1MiB/s")).out().contains("write budget of"));
}

#[test]
fn a_dry_run_shows_every_file_and_every_budget() {
    let scene = Scene::new();
    scene.write("one.toml", &SHORT.replace("interval", "seed = 11\ninterval"));
    let budget = "directory = \"data\"\nwrite_budget = \"3GiB\"";
    scene.write("two.toml", &SHORT.replace("interval", "seed = 22\ninterval").replace("directory = \"data\"", budget));
    let output = scene.run("run one.toml two.toml --dry-run").status(0);
    output.out_has(&["seed = 11", "seed = 22", "of the budget of 3 GiB, 3 GiB are left"]);
}

#[test]
fn runs_in_another_order_without_settling_between_are_reported() {
    let scene = Scene::new();
    let sweep = "[sweep]\norder = \"interleaved\"\n\"writer.block_size\" = [\"4KiB\", \"8KiB\"]\n";
    scene.write("set.toml", &format!("{SHORT}{sweep}"));
    scene.write("cold.toml", &format!("{}{sweep}", SHORT.replace("warmup = \"300ms\"\n", "")));
    let dry = |file: &str| scene.run(&format!("run {file} --dry-run --format json")).status(0).json();
    assert!(findings(&dry("set.toml")).is_empty());
    assert_eq!(findings(&dry("cold.toml")), ["unlike-states-between-runs"]);
    scene.run("run cold.toml --dry-run").status(0).out_has(&["warning: ", "`plan.warmup`"]);
    let output =
        scene.run("run cold.toml --out all --format json").status(0).err_has(&["interleaved", "`plan.warmup`"]);
    assert!(findings(&output.json()).contains(&"unlike-states-between-runs"));
}

#[test]
fn what_was_shrunk_to_be_prepared_is_what_a_run_finds() {
    let Some((scene, _disk)) = on_small_disk() else { return };
    let fit = "directory = \"data\"\nfit = true";
    let large = SHORT.replace("4MiB", "1GiB").replace("directory = \"data\"", fit);
    scene.write("fit.toml", &large);
    scene.run("run fit.toml --dry-run").status(0).out_has(&["of those in the file"]);
    scene.run("prepare fit.toml").status(0);
    let size = |path: &str| std::fs::metadata(scene.path(path)).unwrap().len();
    let prepared = size("data/writer/0.data");
    assert!((100 * MIB..256 * MIB).contains(&prepared), "{prepared}");
    scene.run("run fit.toml --out rec").status(0);
    assert_eq!(size("data/writer/0.data"), prepared);
    let environment = scene.json("rec/environment.json");
    assert_eq!(environment["workloads"]["writer"]["made"], serde_json::json!([]), "nothing was created again");
    assert_eq!(environment["fit"]["required_bytes"], 1024 * MIB);
    scene.run("run fit.toml --out rec --resume").status(0).err_has(&["nothing to do"]);
    scene
        .run("run fit.toml --out rec --resume --set writer.file_size=2GiB")
        .status(2)
        .err_has(&["`neighbour[0].file_size`"]);
    scene.write("fixed.toml", &SHORT.replace("short", "fixed").replace("4MiB", "64KiB"));
    let dry = scene.run("run fit.toml fixed.toml --dry-run --format json").status(0).json();
    assert_eq!(dry["runs"][1]["experiment"]["neighbour"][0]["file_size"], "64KiB");
}
