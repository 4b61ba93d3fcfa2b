//! `manometer prepare`, and runs that need it: whole, cut, over budget, on a full disk.

use std::fs;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use manometer_testing::{LoopDevice, SmallDisk};
use rustix::fs::OFlags;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Running, Scene, is_alive, signal_process_if_alive, wait_for, wait_for_event};

const MIB: u64 = 1 << 20;

/// A small RocksDB with a small file as its neighbour. `interval` lets three seconds be enough to settle.
const PREPARED: &str = r#"
name = "prepared"
interval = "50ms"
[device]
directory = "data"
[prepare]
[primary]
engine = "rocksdb"
workload = "ycsb-b"
records = 2000
[[neighbour]]
name = "writer"
kind = "io"
file_size = "4MiB"
write_ratio = 1.0
[plan]
phase = "300ms"
vary = { "writer.iodepth" = [1, 4] }
"#;

fn scene(prepare: &str) -> Scene {
    let scene = Scene::new();
    scene.write("p.toml", &PREPARED.replace("[prepare]", &format!("[prepare]\n{prepare}")));
    scene
}

/// A scene whose sweep is `sweep`.
fn swept(prepare: &str, sweep: &str) -> Scene {
    scene(&format!("{prepare}\n[sweep]\n{sweep}"))
}

/// A scene whose primary has a RocksDB options file, `o.options`.
fn with_options(prepare: &str) -> Scene {
    let scene = scene(prepare);
    write_options(&scene, 1);
    scene.write("p.toml", &scene.read("p.toml").replace("records = 2000", "records = 2000\noptions = \"o.options\""));
    scene
}

fn write_options(scene: &Scene, mib: u64) {
    scene.write("o.options", &format!("[CFOptions \"default\"]\n  write_buffer_size={}\n", mib * MIB));
}

/// How often the primary settled, as the ledger says: one line each where nothing was cut.
fn settlings(scene: &Scene) -> usize {
    let lines = ledger(scene);
    let ids: std::collections::BTreeSet<String> =
        lines.iter().filter(|line| line["what"] == "settle").map(|line| line["id"].to_string()).collect();
    ids.len()
}

fn steps(document: &Value) -> Vec<&str> {
    document["steps"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect()
}

fn ledger(scene: &Scene) -> Vec<Value> {
    let text = fs::read_to_string(scene.path("data/.manometer-ledger.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The bytes that the ledger counts: the last line of each id.
fn counted(scene: &Scene) -> u64 {
    let lines = ledger(scene);
    let written: std::collections::BTreeMap<&str, u64> = lines
        .iter()
        .filter(|line| line["entry"] == "written")
        .map(|line| (line["id"].as_str().unwrap(), line["bytes"].as_u64().unwrap()))
        .collect();
    written.values().sum()
}

/// Ends a program as a power cut would, its workers too.
fn cut(running: Running) {
    let workers = running.workers();
    running.signal(Signal::KILL);
    running.end();
    workers.iter().for_each(|pid| signal_process_if_alive(*pid, Signal::KILL));
    wait_for("the workers to be gone", || workers.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

fn reused(recording: &Path) -> Value {
    let environment: Value = serde_json::from_slice(&fs::read(recording.join("environment.json")).unwrap()).unwrap();
    environment["workloads"]["primary"]["reused"].clone()
}

#[test]
fn what_was_prepared_is_what_runs_begin_from() {
    let scene = scene("settle = \"3s\"\nsnapshot = true\nrewrite_files = true");
    scene.run("run p.toml --dry-run").status(0).out_has(&[
        "settle for at most 3 s",
        "create a snapshot of the database",
        "rewrite",
    ]);
    assert!(!scene.path("data").exists(), "a dry run touches nothing");
    let document = scene.run("prepare p.toml --format json").status(0).json();
    assert_eq!(steps(&document), ["data", "data", "snapshot"]);
    assert_eq!(document["device_state"]["snapshot"], "primary-1");
    assert!(document["device_state"]["settled"]["seconds"].as_f64().unwrap() >= 1.0);
    assert_eq!(document["device_state"]["settled"]["under"]["settings"]["workload"], "ycsb-b");
    scene.run("prepare p.toml").status(0).out_has(&["restore the database"]);
    for name in ["one", "two"] {
        scene.run(&format!("run p.toml --out {name}")).status(0);
        assert_eq!(reused(&scene.path(name)), true);
        let environment = scene.json(&format!("{name}/environment.json"));
        assert_eq!(environment["device_state"]["snapshot"], "primary-1");
        assert!(environment["device_state"]["written_bytes"].as_u64().unwrap() >= 8 * MIB);
        assert!(!scene.read(&format!("{name}/events.jsonl")).contains("not-as-prepared"));
    }
    let kinds: Vec<Value> = ledger(&scene).iter().map(|line| line["what"].clone()).collect();
    for what in ["load", "settle", "snapshot", "run"] {
        assert!(kinds.iter().any(|kind| kind == what), "{what} is not in {kinds:?}");
    }
}

#[test]
fn a_preparation_that_is_cut_is_done_anew_and_counted_once() {
    let scene = scene("settle = \"60s\"\nsnapshot = true");
    let running = scene.start("prepare p.toml");
    wait_for("settling", || ledger(&scene).iter().any(|line| line["what"] == "settle").then_some(()));
    cut(running);
    let half = ledger(&scene)
        .iter()
        .any(|line| line["entry"] == "prepared" && line["ended"] == true && line["workload"] == "primary");
    assert!(!half, "what did not settle is not prepared");
    // As if a snapshot had been cut as well.
    fs::create_dir_all(scene.path("data/.manometer-snapshots/primary-1.new/data")).unwrap();
    let before = counted(&scene);
    let document = scene.run("prepare p.toml --set prepare.settle=3s --format json").status(0).json();
    assert_eq!(steps(&document), ["data", "snapshot"], "the neighbour's file was whole");
    assert!(!scene.path("data/.manometer-snapshots/primary-1.new").exists());
    assert!(scene.path("data/.manometer-snapshots/primary-1/snapshot.json").is_file());
    assert!(counted(&scene) >= before);
    assert_eq!(document["device_state"]["written_bytes"], counted(&scene));
}

#[test]
fn a_snapshot_that_is_cut_is_never_used() {
    // Copied byte by byte: LMDB changes its file in place.
    let scene = scene("snapshot = true");
    let changes = "--set primary.engine=lmdb --set primary.records=40000";
    let running = scene.start(&format!("prepare p.toml {changes}"));
    let folder = scene.path("data/.manometer-snapshots");
    wait_for("the snapshot", || folder.exists().then_some(()));
    cut(running);
    // Had it been whole already, it would be put back instead.
    let whole = folder.join("primary-1/snapshot.json").is_file();
    let document = scene.run(&format!("prepare p.toml {changes} --format json")).status(0).json();
    let expected: &[&str] = if whole { &["restore"] } else { &["data", "snapshot"] };
    assert_eq!(steps(&document), expected);
    assert_eq!(document["device_state"]["snapshot"], "primary-1");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    scene.run(&format!("run p.toml --out rec {changes}")).status(0);
    assert_eq!(reused(&scene.path("rec")), true);
}

#[test]
fn every_run_of_a_sweep_begins_from_the_same_state() {
    let scene = scene("snapshot = true\n[sweep]\n\"primary.workload\" = [\"ycsb-a\", \"ycsb-b\"]");
    let dry = scene.run("run p.toml --dry-run --format json").status(0).json();
    assert_eq!(
        steps(&dry["preparations"][0]),
        ["data", "snapshot", "restore", "restore"],
        "made once, put back for each run"
    );
    scene.run("run p.toml --out all").status(0);
    for run in ["001", "002"] {
        let dir = format!("all/runs/{run}");
        assert_eq!(reused(&scene.path(&dir)), true);
        assert_eq!(scene.json(&format!("{dir}/environment.json"))["device_state"]["snapshot"], "primary-1");
    }
}

#[test]
fn edited_options_are_other_data_and_what_was_prepared_before_is_not_used() {
    for prepare in ["", "snapshot = true"] {
        let scene = with_options(prepare);
        scene.run("prepare p.toml").status(0);
        write_options(&scene, 2);
        let output = scene.run("run p.toml --out refused").status(1);
        assert!((output.out() + &output.err()).contains("options"), "{}{}", output.out(), output.err());
        fs::remove_dir_all(scene.path("data/primary")).unwrap();
        scene.run("run p.toml --out rec").status(0);
        let expected = if prepare.is_empty() { Value::Null } else { "primary-2".into() };
        assert_eq!(scene.json("rec/environment.json")["device_state"]["snapshot"], expected);
        // Back to what was prepared first: that snapshot is still its.
        write_options(&scene, 1);
        let document = scene.run("prepare p.toml --dry-run --format json").status(0).json();
        let first = if prepare.is_empty() { "data" } else { "restore" };
        assert_eq!(steps(&document), [first], "{document}");
    }
}

#[test]
fn reused_data_are_what_they_are_and_not_what_was_asked_for() {
    let scene = with_options("snapshot = true");
    scene.run("prepare p.toml --set prepare.snapshot=false").status(0);
    write_options(&scene, 2);
    scene.run("run p.toml --out rec --reuse").status(0);
    let options = |line: &Value| line["marker"]["options"].to_string();
    let prepared =
        ledger(&scene).into_iter().rfind(|line| line["entry"] == "prepared" && line["workload"] == "primary");
    assert!(options(&prepared.unwrap()).contains(&MIB.to_string()));
    assert_eq!(scene.json("rec/environment.json")["device_state"]["snapshot"], "primary-1");
    // With `--reuse` again the same snapshot serves; without, neither it nor the database does.
    scene.run("run p.toml --out again --reuse").status(0);
    assert_eq!(scene.json("again/environment.json")["device_state"]["snapshot"], "primary-1");
    scene.run("run p.toml --out refused").status(1).err_has(&["options"]);
}

#[test]
fn data_that_a_run_has_changed_are_prepared_anew() {
    let scene = scene("settle = \"3s\"");
    let ladder = "\"primary.insert_proportion\" = [0.0, 0.1]";
    scene.write("p.toml", &scene.read("p.toml").replace("\"writer.iodepth\" = [1, 4]", ladder));
    scene.run("prepare p.toml").status(0);
    scene.run("run p.toml --out one").status(0);
    assert_eq!((settlings(&scene), reused(&scene.path("one"))), (1, true.into()));
    scene.run("run p.toml --out two").status(0);
    assert_eq!((settlings(&scene), reused(&scene.path("two"))), (2, true.into()));
    assert!(!scene.read("two/events.jsonl").contains("not-as-prepared"));
}

#[test]
fn a_sweep_over_data_goes_on_from_what_was_prepared_for_its_first_run() {
    let scene = swept("", "\"primary.records\" = [2000, 3000, 2000]");
    scene.run("prepare p.toml").status(0);
    scene.run("run p.toml --out all").status(0);
    assert_eq!(reused(&scene.path("all/runs/001")), true);
    for (run, records) in [("001", 2000), ("002", 3000), ("003", 2000)] {
        let environment = scene.json(&format!("all/runs/{run}/environment.json"));
        assert_eq!(environment["workloads"]["primary"]["records"], records);
    }
}

#[test]
fn a_refused_run_forgets_nothing_of_what_settled() {
    let scene = scene("settle = \"3s\"");
    scene.run("prepare p.toml").status(0);
    scene.run("run p.toml --out refused --set primary.records=3000").status(1).err_has(&["records 2000, wanted 3000"]);
    let dry = scene.run("prepare p.toml --dry-run --format json").status(0).json();
    assert!(steps(&dry).is_empty(), "{dry}");
    // What the run makes itself is no longer what settled.
    scene.run("run p.toml --out other --set primary.workload=ycsb-a --set prepare.settle=4s").status(0);
    let dry = scene.run("prepare p.toml --dry-run --format json").status(0).json();
    assert_eq!(steps(&dry), ["data"], "it settled under another workload since");
}

#[test]
fn a_worker_that_outlives_its_run_is_waited_for() {
    let scene = scene("snapshot = true");
    let running = scene.start("run p.toml --out one --set plan.phase=60s");
    wait_for_event(&scene.path("one"), "\"phase\":\"w0\"");
    // Its workers learn of its death from the kernel, later than the signal.
    running.signal(Signal::KILL);
    running.end();
    scene.run("run p.toml --out two").status(0);
    assert_eq!(reused(&scene.path("two")), true);
}

#[test]
fn a_restore_that_is_cut_is_done_anew() {
    // Copied byte by byte: LMDB changes its file in place.
    let scene = scene("snapshot = true");
    let changes = "--set primary.engine=lmdb --set primary.records=40000";
    scene.run(&format!("prepare p.toml {changes}")).status(0);
    let running = scene.start(&format!("run p.toml --out one {changes}"));
    let copy = scene.path("data/.manometer-snapshots/restored.new");
    wait_for("the restore", || copy.exists().then_some(()));
    cut(running);
    scene.run(&format!("run p.toml --out two {changes}")).status(0);
    assert_eq!(reused(&scene.path("two")), true);
    assert_eq!(scene.json("two/environment.json")["device_state"]["snapshot"], "primary-1");
    assert_eq!(fs::read_dir(scene.path("data/.manometer-snapshots")).unwrap().count(), 1);
}

/// That every line of the ledger counts once, and that the next run began from all of them.
fn counts_once(scene: &Scene, last: &str) {
    let begin = scene.json(&format!("{last}/environment.json"))["device_state"]["written_bytes"].as_u64().unwrap();
    let all = counted(scene);
    assert!(begin <= all, "{begin} {all}");
}

#[test]
fn a_prepared_sweep_that_is_cut_goes_on_from_the_same_state() {
    let scene = swept("snapshot = true", "\"writer.block_size\" = [\"4KiB\", \"8KiB\"]");
    let running = scene.start("run p.toml --out all");
    wait_for_event(&scene.path("all/runs/002"), "phase_started\",\"phase\":\"w0");
    cut(running);
    let before = counted(&scene);
    scene.run("run p.toml --out all --resume").status(0);
    for run in ["001", "002"] {
        let environment = scene.json(&format!("all/runs/{run}/environment.json"));
        assert_eq!(environment["device_state"]["snapshot"], "primary-1");
        assert!(!scene.read(&format!("all/runs/{run}/events.jsonl")).contains("not-as-prepared"));
    }
    assert_eq!(fs::read_dir(scene.path("data/.manometer-snapshots")).unwrap().count(), 1);
    assert!(counted(&scene) > before);
    counts_once(&scene, "all/runs/002");
}

#[test]
fn a_sweep_over_data_that_is_cut_while_it_settles_goes_on() {
    let scene = swept("settle = \"3s\"", "\"primary.records\" = [2000, 3000]");
    let running = scene.start("run p.toml --out all");
    wait_for("the second run to settle", || (settlings(&scene) == 2).then_some(()));
    cut(running);
    scene.run("run p.toml --out all --resume").status(0);
    for (run, records) in [("001", 2000), ("002", 3000)] {
        let environment = scene.json(&format!("all/runs/{run}/environment.json"));
        assert_eq!(environment["workloads"]["primary"]["records"], records);
        assert!(environment["device_state"]["settled"]["seconds"].as_f64().unwrap() >= 1.0);
        assert_eq!(environment["device_state"]["settled"]["under"]["settings"]["records"], records);
    }
    assert_eq!(settlings(&scene), 3, "the one that was interrupted is done again");
    counts_once(&scene, "all/runs/002");
}

#[test]
fn a_damaged_snapshot_is_reported() {
    let scene = scene("snapshot = true");
    scene.run("prepare p.toml").status(0);
    scene.run("prepare p.toml --dry-run").status(0).out_has(&["Snapshots: 1"]);
    let database = scene.path("data/.manometer-snapshots/primary-1/data/db");
    fs::remove_file(database.join("CURRENT")).unwrap();
    let document = scene.run("prepare p.toml --format json").status(0).json();
    assert_eq!(document["findings"][0]["id"], "snapshot-damaged", "{document}");
    assert_eq!(document["device_state"]["snapshot"], "primary-2");
}

#[test]
fn a_run_that_is_cut_counts_once_beside_the_next() {
    let scene = scene("");
    let running = scene.start("run p.toml --out one --set plan.phase=60s");
    wait_for_event(&scene.path("one"), "\"phase\":\"w0\"");
    cut(running);
    let before =
        scene.run("run p.toml --dry-run --format json").status(0).json()["preparations"][0]["written_bytes"].clone();
    assert_eq!(before, counted(&scene));
    scene.run("run p.toml --out two").status(0);
    // What the first left in memory is booked by now.
    let begin = scene.json("two/environment.json")["device_state"]["written_bytes"].as_u64().unwrap();
    assert!(begin >= before.as_u64().unwrap(), "{begin} {before}");
    let runs: std::collections::BTreeMap<String, Value> = ledger(&scene)
        .iter()
        .filter(|line| line["what"] == "run")
        .map(|line| (line["id"].to_string(), line["ended"].clone()))
        .collect();
    assert_eq!(runs.into_values().collect::<Vec<_>>(), [false, true]);
}

#[test]
fn what_passes_the_budget_for_sure_is_refused_before_anything_is_written() {
    let scene = scene("");
    for verb in ["run", "prepare"] {
        let output = scene.run(&format!("{verb} p.toml --set device.write_budget=1MiB"));
        output.status(2).err_has(&["write budget of 1MiB", "device.write_budget"]);
    }
    assert!(!scene.path("data/writer").exists() && !scene.path("data/primary").exists());
    scene.run("prepare p.toml --dry-run --set device.write_budget=1GiB").status(0).out_has(&["1 GiB are left"]);
}

#[test]
fn wrong_preparations_are_reported_with_their_line() {
    for (prepare, words) in [
        ("precondition = \"some\"", ["sequential", "precondition"]),
        ("over_provisioning = 1.5", ["over_provisioning", "0.3"]),
        ("settle = \"1s\"", ["settle", "3s"]),
        ("settel = \"1m\"", ["settel", "settle"]),
        ("snapshot = true\n[sweep]\n\"primary.workload\" = [\"ycsb-d\"]", ["snapshot", "again"]),
    ] {
        scene(prepare).run("prepare p.toml").status(2).err_has(&words);
    }
}

/// A scene whose device directory is a disk of its own, to be unmounted before the scene goes; nothing where this host
/// lets us mount none.
fn on_small_disk(prepare: &str) -> Option<(Scene, SmallDisk)> {
    let scene = scene(prepare);
    let disk = SmallDisk::at(&scene.path("data"), 96 * MIB)?;
    Some((scene, disk))
}

#[test]
fn a_run_stops_before_it_passes_its_budget_and_its_recording_is_whole() {
    let Some((scene, _disk)) = on_small_disk("") else { return };
    // So slow that it does not matter when somebody looks.
    let changes = "--set device.write_budget=48MiB --set plan.phase=60s --set plan.baseline=300ms \
                   --set writer.rate=4MiB/s --set primary.rate=1000";
    scene.run(&format!("run p.toml --out rec {changes}")).status(1).err_has(&["write budget", "device.write_budget"]);
    let summary = scene.json("rec/summary.json");
    let findings = summary["findings"].to_string();
    assert!(findings.contains("write-budget-spent"), "{findings}");
    let events = scene.read("rec/events.jsonl");
    assert!(events.contains("phase_gap") && events.contains("\"status\":\"failed\""), "{events}");
    assert!(!findings.contains("write-budget-passed"), "{findings}");
    assert!(counted(&scene) <= 64 * MIB, "{} bytes beyond it were written", counted(&scene) - 64 * MIB);
    // What is left is too little for another. How much that is depends on what other programs had in the page cache.
    let again = scene.run("run p.toml --out again --set device.write_budget=4MiB").status(2);
    again.err_has(&["preparing writes at least", "of the write budget of 4MiB are left"]);
}

#[test]
fn free_space_is_filled_once_and_the_scratch_file_is_gone() {
    let Some((scene, _disk)) = on_small_disk("precondition = \"random\"\nover_provisioning = 0.3") else { return };
    scene.run("prepare p.toml --dry-run").status(0).out_has(&["random writes"]);
    let document = scene.run("prepare p.toml --format json").status(0).json();
    assert_eq!(steps(&document)[0], "precondition");
    let state = &document["device_state"];
    assert_eq!(state["precondition"]["kind"], "random");
    assert!(state["precondition"]["bytes"].as_u64().unwrap() > 2 * 40 * MIB, "{state}");
    assert!(state["written_since_precondition_bytes"].as_u64().unwrap() < state["written_bytes"].as_u64().unwrap());
    assert!(state["over_provisioning"]["how"].as_str().unwrap().contains("kept free"));
    assert!(!scene.path("data/.manometer-scratch").exists());
    scene.run("prepare p.toml").status(0).out_has(&["prepared already"]);
    // The other kind writes in order.
    let document = scene.run("prepare p.toml --set prepare.precondition=sequential --format json").status(0).json();
    assert_eq!(document["device_state"]["precondition"]["kind"], "sequential");
}

#[test]
fn a_filling_that_is_cut_holds_for_nothing_and_is_done_anew() {
    let Some((scene, _disk)) = on_small_disk("precondition = \"random\"") else { return };
    let running = scene.start("prepare p.toml");
    wait_for("the scratch file", || scene.path("data/.manometer-scratch").exists().then_some(()));
    cut(running);
    let dry = scene.run("prepare p.toml --dry-run --format json").status(0).json();
    assert_eq!(steps(&dry)[0], "precondition", "it is not taken for done");
    let document = scene.run("prepare p.toml --format json").status(0).json();
    assert_eq!(steps(&document)[0], "precondition");
    assert_eq!(document["device_state"]["precondition"]["kind"], "random");
    assert_eq!(document["device_state"]["written_bytes"], counted(&scene));
    assert!(!scene.path("data/.manometer-scratch").exists());
}

#[test]
fn a_disk_that_is_too_small_or_fills_is_reported_and_nothing_half_done_is_left() {
    let Some((scene, _disk)) = on_small_disk("") else { return };
    scene.run("prepare p.toml --set writer.file_size=128MiB").status(2).err_has(&["free", "reduce the data"]);
    // What an engine writes in addition to its records does not fit.
    let changes = "--set primary.load=puts --set primary.records=60000";
    let output = scene.run(&format!("prepare p.toml {changes}")).status(1);
    output.err_has(&["`primary` could not be prepared", "space"]);
    let prepared = |line: &Value| line["entry"] == "prepared" && line["workload"] == "primary" && line["ended"] == true;
    assert!(!ledger(&scene).iter().any(prepared));
    assert!(!scene.path("data/primary/db").exists(), "what was loaded by halves is gone");
    scene.run(&format!("run p.toml --out rec {changes}")).status(1);
}

#[test]
fn what_is_to_stay_free_is_looked_at_even_where_nothing_is_to_be_made() {
    let Some((scene, _disk)) = on_small_disk("over_provisioning = 0.5") else { return };
    scene.run("prepare p.toml").status(0);
    fs::write(scene.path("data/other"), vec![1; 50 << 20]).unwrap();
    scene.run("prepare p.toml").status(2).err_has(&["reserves", "over_provisioning"]);
    scene.run("run p.toml --out rec").status(2).err_has(&["over_provisioning"]);
}

#[test]
fn a_full_disk_says_so_and_what_was_left_on_it_goes_first() {
    let Some((scene, _disk)) = on_small_disk("") else { return };
    fs::create_dir_all(scene.path("data/.manometer-scratch")).unwrap();
    // Whatever a cut filling left, to the last block.
    let filled = fs::File::create(scene.path("data/.manometer-scratch/0.data")).unwrap();
    let chunk = vec![1; 1 << 16];
    while std::io::Write::write_all(&mut &filled, &chunk).is_ok() {}
    drop(filled);
    scene.run("prepare p.toml").status(0);
    assert!(!scene.path("data/.manometer-scratch").exists());
}

#[test]
fn a_disk_is_unchanged_where_a_program_is_missing_or_it_holds_unknown_data() {
    let Some(device) = LoopDevice::new(128 * MIB) else { return };
    let scene = scene("over_provisioning = 0.3");
    let erase = format!("prepare p.toml --set prepare.precondition=none --erase {}", device.path.display());
    let disk = || fs::read(&device.path).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&device.path).unwrap();
    file.write_all_at(b"precious", 100 * MIB).unwrap();
    file.sync_all().unwrap();
    let before = disk();
    for missing in ["blkid", "sfdisk", "blkdiscard"] {
        let programs = scene.path(missing);
        fs::create_dir(&programs).unwrap();
        let others = ["blkid", "sfdisk", "blkdiscard"].into_iter().filter(|program| *program != missing);
        for program in others {
            let found = scene.shell(&format!("command -v {program}")).status(0).out().trim().to_owned();
            std::os::unix::fs::symlink(found, programs.join(program)).unwrap();
        }
        let line = format!("manometer=$(command -v manometer); PATH={missing} $manometer {erase}");
        scene.shell(&line).status(1).err_has(&[missing]);
        assert!(disk() == before, "without {missing}");
    }
    file.write_all_at(b"precious", 128 * MIB - 4096).unwrap();
    file.sync_all().unwrap();
    let before = disk();
    scene.run(&erase).status(2).err_has(&["without a known signature", "--erase-unknown-data"]);
    assert!(disk() == before);
    scene.run(&format!("{erase} --erase-unknown-data")).status(0).out_has(&["discarded"]);
}

#[test]
fn a_whole_disk_is_divided_and_never_when_anything_is_on_it() {
    let Some(device) = LoopDevice::new(128 * MIB) else { return };
    let scene = scene("over_provisioning = 0.3");
    let erase = format!("prepare p.toml --erase {}", device.path.display());
    scene.run(&format!("{erase} --set prepare.precondition=none")).status(0).out_has(&["mkfs.ext4", "p1", "discarded"]);
    assert!(device.run("sfdisk", &["--verify"]), "the table is whole");
    scene.run(&erase).status(2).err_has(&["is not erased", "partition table"]);
    assert!(device.run("wipefs", &["--all", "--quiet"]));
    assert!(device.run("mkfs.ext4", &["-qF"]));
    scene.run(&erase).status(2).err_has(&["ext4", "wipefs"]);
    let place = scene.path("mounted");
    fs::create_dir(&place).unwrap();
    let place = place.to_str().unwrap();
    assert!(std::process::Command::new("mount").arg(&device.path).arg(place).status().unwrap().success());
    scene.run(&erase).status(2).err_has(&["is mounted"]);
    assert!(std::process::Command::new("umount").arg(place).status().unwrap().success());
    assert!(device.run("wipefs", &["--all", "--quiet"]));
    let alone = i32::try_from(OFlags::EXCL.bits()).unwrap();
    let held = fs::OpenOptions::new().read(true).custom_flags(alone).open(&device.path).unwrap();
    scene.run(&erase).status(2).err_has(&["cannot be opened exclusively"]);
    drop(held);
    scene.run("prepare p.toml --erase p.toml").status(2).err_has(&["not a block device"]);
    assert!(!scene.path("data").exists(), "nothing else is done");
}
