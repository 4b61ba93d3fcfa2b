//! `kind = "files"` in experiments: as primary, as neighbour, prepared, scaled to the disk, and on a disk that fills.

use std::fs;
use std::process::Command;

use manometer_testing::{SmallDisk, binary};
use serde_json::Value;

use crate::support::Scene;

const MIB: u64 = 1 << 20;

/// Each personality with what makes it small, and one of its operations.
const PERSONALITIES: [(&str, &str, &str); 3] = [
    ("fileserver", "files = 40\nmean_file_size = \"16KiB\"\nmean_append_size = \"4KiB\"", "append"),
    ("varmail", "files = 40\nmean_append_size = \"4KiB\"", "fsync"),
    ("oltp", "files = 2\nmean_file_size = \"2MiB\"", "log"),
];

/// A primary of `personality` with an `io` neighbour.
fn primary(personality: &str, settings: &str) -> String {
    format!(
        r#"
name = "files first"
interval = "100ms"
[device]
directory = "data"
[primary]
kind = "files"
personality = "{personality}"
threads = 4
{settings}
[[neighbour]]
name = "writer"
kind = "io"
file_size = "4MiB"
write_ratio = 0.5
[plan]
phase = "600ms"
"#
    )
}

fn phase<'a>(summary: &'a Value, id: &str) -> &'a Value {
    summary["phases"].as_array().unwrap().iter().find(|phase| phase["id"] == id).unwrap()
}

#[test]
fn each_personality_is_a_primary() {
    for (personality, expected, operation) in PERSONALITIES {
        let scene = Scene::new();
        scene.write("e.toml", &primary(personality, expected));
        let summary = scene.run("run e.toml --out rec --format json").status(0).json();
        assert_eq!(summary["criterion"]["unit"], "MiB/s");
        for id in ["w0", "w1"] {
            let phase = phase(&summary, id);
            assert!(phase["performance"]["mean"].as_f64().unwrap() > 0.0, "{phase}");
            assert!(phase["latency_us"]["read"]["p99"].as_f64().unwrap() > 0.0, "{phase}");
            assert!(phase["latency_us"][operation].is_object(), "{phase}");
        }
        assert!(phase(&summary, "w1")["pressure"]["value"].is_number());
        let environment = scene.json("rec/environment.json");
        let facts = &environment["workloads"]["primary"];
        assert_eq!(facts["personality"], personality);
        assert!(facts["scale"].as_f64().unwrap() < 1.0);
        let events = scene.read("rec/events.jsonl");
        assert!(events.contains(&format!("of those of {personality}")), "the event states the scale");
        let unstable = summary["findings"].to_string().contains("primary-not-stable");
        assert_eq!(unstable, personality != "oltp", "{}", summary["findings"]);
        scene.run("report rec").status(0);
        assert!(scene.path("rec/report.html").is_file());
    }
}

#[test]
fn each_personality_is_a_neighbour_whose_threads_and_rate_change() {
    for (personality, expected, operation) in PERSONALITIES {
        let scene = Scene::new();
        scene.write(
            "e.toml",
            &format!(
                r#"
name = "files beside"
interval = "100ms"
[device]
directory = "data"
[primary]
kind = "io"
file_size = "4MiB"
[[neighbour]]
name = "beside"
kind = "files"
personality = "{personality}"
{expected}
[plan]
phase = "500ms"
vary = {{ "beside.threads" = [1, 6], "beside.rate" = ["200/s"] }}
"#
            ),
        );
        let summary = scene.run("run e.toml --out rec --format json").status(0).json();
        let beside = |id: &str| phase(&summary, id)["neighbours"]["beside"]["performance"].clone();
        assert!(beside("w1")["mean"].as_f64().unwrap() > 0.0 && beside("w2")["mean"].as_f64().unwrap() > 0.0);
        assert_eq!(beside("w2")["unit"], "MiB/s");
        assert_eq!(phase(&summary, "w2")["settings"]["beside.threads"], 6);
        assert!(scene.read("rec/latency/beside.hlog").contains(operation));
        assert!(scene.path("rec/samples/beside.parquet").is_file());
    }
}

#[test]
fn a_set_makes_changed_files_anew_and_finds_a_database_as_it_was_prepared() {
    for (personality, expected, _) in PERSONALITIES {
        let scene = Scene::new();
        scene.write("e.toml", &format!("{}[sweep]\n\"primary.threads\" = [1, 2]\n", primary(personality, expected)));
        scene.run("prepare e.toml").status(0);
        let marker = scene.path("data/primary/manometer.json");
        assert_eq!(marker.is_file(), personality == "oltp", "what every run changes is not made ahead");
        scene.run("run e.toml --out set").status(0);
        let reused = |run: &str| {
            let environment = scene.json(&format!("set/runs/{run}/environment.json"));
            environment["workloads"]["primary"]["reused"].as_bool().unwrap()
        };
        assert_eq!([reused("001"), reused("002")], [personality == "oltp"; 2]);
    }
}

#[test]
fn an_experiment_without_a_size_is_scaled_to_the_disk_and_says_so() {
    for (personality, expected) in
        [("varmail", "mean_file_size = \"1GiB\""), ("fileserver", "mean_file_size = \"1GiB\"")]
    {
        let scene = Scene::new();
        scene.write("e.toml", &primary(personality, expected));
        let text = scene.run("run e.toml --dry-run").status(0);
        let all = format!("{}{}", text.out(), text.err());
        assert!(all.contains("files without an explicit number or size are"), "{all}");
    }
}

#[test]
fn a_personality_fills_half_of_a_small_disk() {
    let scene = Scene::new();
    let Some(_disk) = SmallDisk::at(&scene.path("data"), 96 * MIB) else { return };
    for (personality, least) in [("fileserver", 20 * MIB), ("oltp", 20 * MIB)] {
        // The neighbour's file is as large as it is.
        scene.write("e.toml", &primary(personality, ""));
        let summary = scene.run(&format!("run e.toml --out {personality} --format json")).status(0).json();
        assert!(summary["findings"].to_string().contains("scaled-down"), "{}", summary["findings"]);
        let facts = &scene.json(&format!("{personality}/environment.json"))["workloads"]["primary"];
        let bytes = facts["data_bytes"].as_u64().unwrap();
        assert!((least..=48 * MIB).contains(&bytes), "{personality}: {bytes}");
        fs::remove_dir_all(scene.path("data/primary")).unwrap();
    }
}

#[test]
fn a_disk_that_fills_ends_the_run_and_says_so() {
    let scene = Scene::new();
    let Some(_disk) = SmallDisk::at(&scene.path("data"), 32 * MIB) else { return };
    // Each append is longer than what is there is large.
    let settings = "files = 100\nmean_file_size = \"64KiB\"\nmean_append_size = \"1MiB\"";
    scene.write("e.toml", &primary("varmail", settings).replace("600ms", "60s"));
    scene.run("run e.toml --out rec").status(1).err_has(&["the file system is full", "use fewer files"]);
    assert_eq!(scene.json("rec/summary.json")["status"], "failed");
    assert!(scene.read("rec/events.jsonl").contains("the file system is full"));
    fs::remove_dir_all(scene.path("data/primary")).unwrap();
    let large = "files = 1000\nmean_file_size = \"1MiB\"";
    scene.write("e.toml", &primary("fileserver", large));
    scene.run("run e.toml --out large").status(2).err_has(&["of free space", "reduce the data"]);
}

#[test]
fn a_disk_that_may_only_be_read_is_refused() {
    let scene = Scene::new();
    let Some(_disk) = SmallDisk::at(&scene.path("data"), 32 * MIB) else { return };
    let read_only = Command::new("mount").args(["-o", "remount,ro"]).arg(scene.path("data")).output();
    assert!(read_only.unwrap().status.success());
    let job = r#"{"name":"mail","directory":"data","interval_ms":100,"seed":1,"kind":"files",
        "settings":{"personality":"varmail","files":10}}"#;
    scene.write("job.json", &job.replace('\n', ""));
    let mut worker = Command::new(binary("manometer"));
    let job = fs::File::open(scene.path("job.json")).unwrap();
    let output = worker.arg("worker").current_dir(scene.path("")).stdin(job).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("cannot be written") && text.contains("Read-only file system"), "{text}");
}

#[test]
fn mistakes_in_a_file_are_shown_where_they_are() {
    for (expected, wanted) in [
        ("personality = \"webserver\"", ["webserver", "varmail"]),
        ("", ["personality", "missing"]),
        ("personality = \"varmail\"\nthreads = 0", ["threads", "1 to 512"]),
        ("personality = \"varmail\"\ndirect = true", ["direct", "leave it out"]),
        ("personality = \"varmail\"\nthread = 2", ["thread", "threads"]),
        ("personality = \"varmail\"\nrate = \"1MiB/s\"", ["rate", "1000/s"]),
    ] {
        let scene = Scene::new();
        let text = format!(
            "name = \"x\"\n[device]\ndirectory = \"data\"\n[primary]\nkind = \"files\"\n{expected}\n[plan]\nphase = \"1s\"\n"
        );
        scene.write("e.toml", &text);
        scene.run("run e.toml --dry-run").status(2).err_has(&wanted);
    }
    let scene = Scene::new();
    let settle = primary("varmail", "files = 40").replace("[primary]", "[prepare]\nsettle = \"1m\"\n[primary]");
    scene.write("e.toml", &settle);
    scene.run("run e.toml --dry-run").status(2).err_has(&["`settle`", "plan.warmup"]);
}
