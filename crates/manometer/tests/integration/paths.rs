//! `kind = "paths"` in experiments: as primary, as neighbour, prepared, scaled to the disk, and with mistakes.

use manometer_testing::SmallDisk;
use serde_json::Value;

use crate::support::Scene;

const MIB: u64 = 1 << 20;

/// A small tree.
const TREE: &str = "files = 60\ndepth = \"3-4\"\ndirectory_width = 5\nmean_file_size = \"4KiB\"";

/// A primary of `settings` beside an `io` neighbour.
fn primary(settings: &str) -> String {
    format!(
        r#"
name = "paths first"
interval = "100ms"
[device]
directory = "data"
[primary]
kind = "paths"
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

/// A neighbour of `settings` beside an `io` primary, with a `plan`.
fn beside(settings: &str, plan: &str) -> String {
    format!(
        r#"
name = "paths beside"
interval = "100ms"
[device]
directory = "data"
[primary]
kind = "io"
file_size = "4MiB"
[[neighbour]]
name = "storm"
kind = "paths"
{TREE}
{settings}
[plan]
phase = "500ms"
{plan}
"#
    )
}

fn phase<'a>(summary: &'a Value, id: &str) -> &'a Value {
    summary["phases"].as_array().unwrap().iter().find(|phase| phase["id"] == id).unwrap()
}

#[test]
fn it_is_a_primary_judged_in_operations_or_by_a_latency() {
    let scene = Scene::new();
    scene.write("e.toml", &primary(&format!("{TREE}\nthreads = 2")));
    let summary = scene.run("run e.toml --out rec --format json").status(0).json();
    assert_eq!(summary["criterion"]["unit"], "ops/s");
    for id in ["w0", "w1"] {
        let phase = phase(&summary, id);
        assert!(phase["performance"]["mean"].is_number() && phase["latency_us"].is_object(), "{phase}");
    }
    assert!(scene.read("rec/latency/primary.hlog").contains("Tag=stat"));
    let facts = &scene.json("rec/environment.json")["workloads"]["primary"];
    assert_eq!((&facts["files"], &facts["depth"]), (&60.into(), &"3-4".into()));
    assert!(!summary["findings"].to_string().contains("primary-not-stable"), "it only reads");
    scene.run("report rec").status(0);
    assert!(scene.path("rec/report.html").is_file());
    let judged = primary(TREE).replace("interval", "criterion = \"latency.stat.p99\"\ninterval");
    scene.write("latency.toml", &judged);
    let summary = scene.run("run latency.toml --out latency --format json").status(0).json();
    assert_eq!(summary["criterion"]["better"], "lower");
}

#[test]
fn it_is_a_neighbour_whose_threads_rate_mix_and_locality_change() {
    let scene = Scene::new();
    let plan = "vary = { \"storm.threads\" = [1, 4], \"storm.list_proportion\" = [0, 1], \"storm.locality\" = [0.0] }";
    scene.write("e.toml", &beside("rate = \"5000/s\"", plan));
    let summary = scene.run("run e.toml --out rec --format json").status(0).json();
    for id in ["w1", "w2", "w3", "w4"] {
        let performance = &phase(&summary, id)["neighbours"]["storm"]["performance"];
        assert!(performance["mean"].is_number(), "{performance}");
        assert_eq!(performance["unit"], "ops/s");
    }
    assert_eq!(phase(&summary, "w4")["settings"]["storm.threads"], 4);
    assert_eq!(phase(&summary, "w4")["settings"]["storm.list_proportion"], 1.0);
    assert!(scene.read("rec/latency/storm.hlog").contains("stat"));
    assert!(scene.path("rec/samples/storm.parquet").is_file());
}

#[test]
fn its_timetable_makes_the_phases() {
    let scene = Scene::new();
    let script = "script = \"500ms: threads = 4; 1s: locality = 0\"";
    scene.write("e.toml", &beside(script, ""));
    let summary = scene.run("run e.toml --out rec --format json").status(0).json();
    let labels: Vec<&str> =
        summary["phases"].as_array().unwrap().iter().map(|phase| phase["label"].as_str().unwrap()).collect();
    assert_eq!(labels.len(), 4, "{labels:?}");
    assert!(labels[2].contains("storm.threads = 4") && labels[3].contains("storm.locality = 0"), "{labels:?}");
}

#[test]
fn several_instances_have_a_tree_each() {
    let scene = Scene::new();
    scene.write("e.toml", &beside("instances = 2", ""));
    scene.run("run e.toml --out rec").status(0);
    for name in ["storm1", "storm2"] {
        assert!(scene.path(&format!("data/{name}/db")).is_dir());
        assert!(scene.path(&format!("data/{name}/manometer.json")).is_file());
    }
}

#[test]
fn a_prepared_tree_serves_every_run_of_a_set() {
    let scene = Scene::new();
    scene.write("e.toml", &format!("{}[sweep]\n\"primary.threads\" = [1, 2]\n", primary(TREE)));
    scene.run("prepare e.toml").status(0);
    let marker = scene.json("data/primary/manometer.json");
    assert_eq!((&marker["engine"], &marker["loaded"]), (&"paths".into(), &true.into()));
    scene.run("run e.toml --out set").status(0);
    for run in ["001", "002"] {
        let environment = scene.json(&format!("set/runs/{run}/environment.json"));
        assert_eq!(environment["workloads"]["primary"]["reused"], true);
    }
    assert_eq!(scene.json("data/primary/manometer.json")["made_at_unix_ns"], marker["made_at_unix_ns"]);
}

#[test]
fn files_of_somebody_else_stay() {
    let scene = Scene::new();
    scene.write("e.toml", &primary(TREE));
    std::fs::create_dir_all(scene.path("data/primary")).unwrap();
    scene.write("data/primary/precious", "mine");
    scene.run("run e.toml --out rec").status(1).err_has(&["precious"]);
    assert_eq!(scene.read("data/primary/precious"), "mine");
}

#[test]
fn a_tree_without_a_number_of_files_fills_half_of_a_small_disk() {
    let scene = Scene::new();
    let Some(_disk) = SmallDisk::at(&scene.path("data"), 96 * MIB) else { return };
    scene.write("e.toml", &primary("directory_width = 100"));
    let summary = scene.run("run e.toml --out rec --format json").status(0).json();
    assert!(summary["findings"].to_string().contains("scaled-down"), "{}", summary["findings"]);
    let facts = &scene.json("rec/environment.json")["workloads"]["primary"];
    let bytes = facts["data_bytes"].as_u64().unwrap();
    assert!((20 * MIB..=48 * MIB).contains(&bytes), "{bytes}");
}

#[test]
fn a_tree_that_does_not_fit_is_refused() {
    let scene = Scene::new();
    let Some(_disk) = SmallDisk::at(&scene.path("data"), 32 * MIB) else { return };
    scene.write("e.toml", &primary("files = 1000\nmean_file_size = \"1MiB\"\ndepth = 4"));
    scene.run("run e.toml --out rec").status(2).err_has(&["of free space", "reduce the data"]);
}

#[test]
fn mistakes_in_a_file_are_shown_where_they_are() {
    for (settings, wanted) in [
        ("depth = 0", ["depth", "such as 8"]),
        ("depth = \"deep\"", ["depth", "8-10"]),
        ("depth = 2", ["depth", "at least 4 deep"]),
        ("files = 0", ["files", "from 1"]),
        ("threads = 0", ["threads", "1 to 512"]),
        ("locality = 1", ["locality", "below 1"]),
        ("exponent = -1", ["exponent", "from 0"]),
        ("stat_proportion = -1", ["stat_proportion", "from 0"]),
        ("rate = \"1MiB/s\"", ["rate", "1000/s"]),
        ("thread = 2", ["thread", "threads"]),
        ("script = \"1m: depth = 9\"", ["script", "start"]),
        ("personality = \"varmail\"", ["unknown key", "personality"]),
    ] {
        let scene = Scene::new();
        let text = format!(
            "name = \"x\"\n[device]\ndirectory = \"data\"\n[primary]\nkind = \"paths\"\n{settings}\n[plan]\nphase = \"1s\"\n"
        );
        scene.write("e.toml", &text);
        scene.run("run e.toml --dry-run").status(2).err_has(&wanted);
    }
    let scene = Scene::new();
    scene.write("e.toml", &beside("", "vary = { \"storm.depth\" = [3, 4] }"));
    scene.run("run e.toml --dry-run").status(2).err_has(&["`depth` cannot change while `storm` runs", "[sweep]"]);
}
