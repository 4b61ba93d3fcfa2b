//! `manometer run` and `report`: from a file to a page, and everything that can go wrong on the way.

use manometer_measure::{Clock as _, MonotonicClock};
use manometer_testing::{Cause, memory_file_system, skip};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{SHORT, Scene, is_alive, signal_process, wait_for, wait_for_event};

fn phase<'a>(summary: &'a Value, id: &str) -> &'a Value {
    summary["phases"].as_array().unwrap().iter().find(|phase| phase["id"] == id).unwrap()
}

fn finding_ids(summary: &Value) -> Vec<&str> {
    summary["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

#[test]
fn a_run_leaves_a_whole_recording_with_its_report() {
    let scene = Scene::short();
    let summary = scene.run("run short.toml --out rec --format json").status(0).json();
    assert_eq!(summary, scene.json("rec/summary.json"));
    assert_eq!(summary["criterion"]["metric"], "throughput");
    let ids: Vec<_> = summary["phases"].as_array().unwrap().iter().map(|phase| phase["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["w0", "w1", "w2"]);
    for id in ids {
        let phase = phase(&summary, id);
        assert!(phase["performance"]["mean"].as_f64().unwrap() > 0.0, "{phase}");
        assert!((1..=6).contains(&phase["performance"]["samples"].as_u64().unwrap()), "{phase}");
        assert!(phase["latency_us"]["read"]["p99"].as_f64().unwrap() > 0.0);
    }
    let writer = &phase(&summary, "w2")["neighbours"]["writer"]["performance"];
    assert!(writer["mean"].as_f64().unwrap() > 0.0);
    assert_eq!(writer["unit"], "MiB/s");
    assert_eq!(phase(&summary, "w2")["settings"]["writer.iodepth"], 4);
    let files = [
        "experiment.toml",
        "environment.json",
        "plan.json",
        "events.jsonl",
        "samples/primary.parquet",
        "samples/writer.parquet",
        "samples/cpu.parquet",
        "samples/memory.parquet",
        "samples/process.primary.parquet",
        "samples/process.conductor.parquet",
        "samples/cpu.cores.parquet",
        "samples/vmstat.parquet",
        "samples/interrupts.parquet",
        "samples/filesystem.parquet",
        "samples/foreign_processes.parquet",
        "samples/conductor.parquet",
        "latency/primary.hlog",
        "latency/writer.hlog",
        "report.html",
    ];
    files.iter().for_each(|file| assert!(scene.path(&format!("rec/{file}")).is_file(), "{file}"));
    let environment = scene.json("rec/environment.json");
    assert_eq!(environment["workloads"]["primary"]["engine"], "null");
    if environment["device"].is_object() {
        assert_eq!(environment["device"]["chain"][0]["name"], environment["device"]["name"]);
        let health = &environment["device"]["health"];
        assert!(health["write_amplification"].is_number() || health["write_amplification_reason"].is_string());
    }
    scene.run("report rec --format json").status(0);
    assert_eq!(scene.json("rec/summary.json"), summary, "the analysis is the same the second time");
}

#[test]
fn progress_is_one_json_line_per_event() {
    let scene = Scene::short();
    let text = scene.run("run short.toml --out rec --progress json").status(0).err();
    let events: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |kind: &str| events.iter().filter(|event| event["event"] == kind).collect::<Vec<_>>();
    let begun = of("run");
    assert_eq!((&begun[0]["run"], &begun[0]["runs"], &begun[0]["path"]), (&1.into(), &1.into(), &"rec".into()));
    assert!(begun[0]["seconds"].as_f64().unwrap() > 0.0, "{text}");
    let phases: Vec<&str> = of("phase").iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert!(phases.ends_with(&["w0", "w1", "w2"]), "{phases:?}");
    assert!(of("rate").iter().any(|event| event["workload"] == "primary" && event["rate"].as_f64().unwrap() > 0.0));
    assert!(of("beat").iter().all(|event| event["run_left_s"].is_number()));
}

#[test]
fn people_read_a_headline_a_table_and_where_the_report_is() {
    let scene = Scene::short();
    scene.run("run short.toml --out rec").status(0).out_has(&[
        "w1",
        "pressure",
        "writer.iodepth = 4",
        "rec/report.html",
    ]);
}

#[test]
fn a_dry_run_tells_phases_time_and_bytes_and_touches_nothing() {
    let scene = Scene::short();
    scene.run("run short.toml --dry-run").status(0).out_has(&["writer.iodepth = 4", "per phase", "4 MiB"]);
    let document = scene.run("run short.toml --dry-run --format json").status(0).json();
    assert!((document["duration_s"].as_f64().unwrap() - 2.1).abs() < 1e-9);
    assert!(!scene.path("data").exists());
}

#[test]
fn a_wrong_file_is_refused_with_its_line_and_status_two() {
    let scene = Scene::new();
    scene.write("wrong.toml", &SHORT.replace("write_ratio", "write_ration"));
    scene.run("run wrong.toml --out rec").status(2).err_has(&[
        "wrong.toml:14",
        "write_ration",
        "did you mean `write_ratio`",
    ]);
    assert!(!scene.path("data").exists() && !scene.path("rec").exists(), "nothing was started");
    scene.run("run nowhere.toml").status(2).err_has(&["nowhere.toml"]);
}

#[test]
fn a_sweep_leaves_a_recording_for_each_run() {
    let scene = Scene::new();
    scene.write("sweep.toml", &format!("{SHORT}[sweep]\n\"writer.dsync\" = [false, true]\n"));
    let document = scene.run("run sweep.toml --out all --format json").status(0).json();
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[1]["settings"]["writer.dsync"], true);
    assert!(runs[1]["dir"].as_str().unwrap().ends_with("all/runs/002"));
    assert_eq!(scene.json("all/runs/002/summary.json"), runs[1]["summary"]);
    assert!(scene.read("all/runs/002/experiment.toml").contains("dsync = true"));
}

/// `SHORT` with RocksDB on a small database as its primary.
fn on_rocksdb() -> String {
    SHORT.replace("engine = \"null\"", "engine = \"rocksdb\"").replace("interval = \"100ms\"", "interval = \"50ms\"")
}

#[test]
fn rocksdb_tells_its_own_state() {
    let scene = Scene::new();
    scene.write("rocks.toml", &on_rocksdb());
    scene.run("run rocks.toml --out rec").status(0);
    let recording = manometer_measure::Recording::open(&scene.path("rec")).unwrap();
    let state = recording.samples("primary.engine").unwrap();
    for column in ["level0_bytes", "level6_files", "pending_compaction_bytes", "write_amplification"] {
        assert!(state.column(column).unwrap().iter().any(Option::is_some), "{column}");
    }
}

#[test]
fn a_database_that_another_experiment_made_is_refused_unless_it_serves() {
    let scene = Scene::new();
    scene.write("rocks.toml", &on_rocksdb());
    scene.run("run rocks.toml --out one").status(0);
    scene
        .run("run rocks.toml --out two --set primary.records=2000")
        .status(1)
        .err_has(&["created by another experiment"]);
    scene.run("run rocks.toml --out three --set seed=2").status(1).err_has(&["--reuse"]);
    scene.run("run rocks.toml --out four --set seed=2 --reuse").status(0);
    scene.run("run rocks.toml --out five").status(0);
}

#[test]
fn a_rocksdb_option_that_does_not_exist_is_refused_at_its_line() {
    let scene = Scene::new();
    scene.write("rocks.toml", &on_rocksdb().replace("records", "options = { write_bufer_size = 1048576 }\nrecords"));
    scene.run("run rocks.toml").status(2).err_has(&["rocks.toml:9", "write_bufer_size", "write_buffer_size"]);
}

#[test]
fn a_sweep_makes_the_database_anew_where_it_depends_on_what_is_swept() {
    let scene = Scene::new();
    scene.write("rocks.toml", &format!("{}[sweep]\n\"primary.records\" = [500, 1000]\n", on_rocksdb()));
    let document = scene.run("run rocks.toml --out all --format json").status(0).json();
    assert_eq!(document["runs"].as_array().unwrap().len(), 2);
    assert_eq!(scene.json("all/runs/002/environment.json")["workloads"]["primary"]["records"], 1000);
}

#[test]
fn an_io_workload_can_be_the_primary() {
    let scene = Scene::new();
    let text = SHORT
        .replace("engine = \"null\"\nworkload = \"ycsb-b\"\nrecords = 1000", "kind = \"io\"\nfile_size = \"4MiB\"");
    scene.write("io.toml", &text);
    let summary = scene.run("run io.toml --out rec --format json").status(0).json();
    assert_eq!(summary["criterion"]["unit"], "MiB/s");
    assert!(phase(&summary, "w1")["pressure"]["value"].is_number());
}

#[test]
fn neighbours_measured_alone_know_their_own_loss() {
    let scene = Scene::new();
    scene.write("solo.toml", &SHORT.replace("warmup", "solo = true\nwarmup"));
    let summary = scene.run("run solo.toml --out rec --format json").status(0).json();
    assert!(phase(&summary, "s1")["performance"]["mean"].is_null());
    assert!(phase(&summary, "w1")["neighbours"]["writer"]["pressure"]["value"].is_number());
    let tested = summary["scale"].as_array().unwrap().iter().flat_map(|step| step.as_array().unwrap()).count();
    assert_eq!(
        tested + summary["untested"].as_array().unwrap().len(),
        3,
        "the phase of the neighbour alone is on no scale"
    );
}

#[test]
fn without_a_primary_there_is_no_pressure() {
    let scene = Scene::new();
    let text = SHORT.replace("[primary]\nengine = \"null\"\nworkload = \"ycsb-b\"\nrecords = 1000\n", "");
    scene.write("none.toml", &text);
    let summary = scene.run("run none.toml --out rec --format json").status(0).json();
    assert!(summary["scale"].as_array().unwrap().is_empty());
    assert!(phase(&summary, "w1")["pressure"]["value"].is_null());
}

#[test]
fn an_interrupted_run_is_reported_as_interrupted() {
    let scene = Scene::short();
    let running = scene.start("run short.toml --out rec --set plan.phase=60s");
    wait_for_event(&scene.path("rec"), "phase_started\",\"phase\":\"w0");
    running.signal(Signal::INT);
    running.end().status(1);
    let summary = scene.json("rec/summary.json");
    assert_eq!(summary["status"], "interrupted");
    assert!(phase(&summary, "w1")["performance"]["mean"].is_null());
    assert!(scene.path("rec/report.html").is_file());
    assert!(scene.path("rec/samples/primary.parquet").is_file(), "the recording is finished");
}

#[test]
fn a_process_that_is_not_ours_and_writes_is_named_and_ours_are_not() {
    let scene = Scene::short();
    let running = scene.start("run short.toml --out rec");
    let ours = [running.pid(), running.worker(0), running.worker(1)];
    // This test is the foreign process, all through the run.
    while is_alive(running.pid()) {
        std::fs::write(scene.path("strange"), vec![7; 4 << 20]).unwrap();
        MonotonicClock.sleep(20_000_000);
    }
    running.end().status(0);
    if scene.json("rec/environment.json")["device"].is_null() {
        skip(Cause::BlockDevice, "what is written here reaches no device");
        return;
    }
    let events = scene.read("rec/events.jsonl");
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let foreign: Vec<&Value> = events.iter().filter(|event| event["event"] == "foreign_process").collect();
    let own = foreign.iter().find(|event| event["pid"] == std::process::id()).expect("this process was not named");
    assert!(own["written_bytes"].as_u64().unwrap() > 1 << 20, "{own}");
    assert!(!foreign.iter().any(|event| ours.iter().any(|pid| event["pid"] == *pid)), "{ours:?}: {foreign:?}");
}

/// A Redis server that nobody of ours started; ended when dropped.
struct Server {
    child: std::process::Child,
    address: String,
}

impl Server {
    /// Nothing where none is installed.
    fn start(scene: &Scene) -> Option<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = std::process::Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"]);
        let child = command.arg("--dir").arg(scene.path(".")).stdout(std::process::Stdio::null()).spawn().ok()?;
        let address = format!("127.0.0.1:{port}");
        wait_for("the server", || std::net::TcpStream::connect(&address).ok());
        Some(Self { child, address })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_that_a_workload_drives_is_not_a_foreign_process() {
    let scene = Scene::new();
    let Some(server) = Server::start(&scene) else {
        skip(Cause::Program, "redis-server is not installed");
        return;
    };
    let options = format!("options = {{ address = \"{}\" }}", server.address);
    let driven = SHORT.replace("engine = \"null\"", &format!("engine = \"redis\"\n{options}"));
    scene.write("server.toml", &driven.replace("ycsb-b", "ycsb-a"));
    scene.run("run server.toml --out rec").status(0);
    let events = scene.read("rec/events.jsonl");
    let about = format!("(process {})", server.child.id());
    let note = events.lines().find(|line| line.contains("\"note\"") && line.contains(&about));
    assert!(note.is_some_and(|note| note.contains("`redis-server`")), "{events}");
    let pid = format!("\"pid\":{},", server.child.id());
    assert!(!events.lines().any(|line| line.contains("\"foreign_process\"") && line.contains(&pid)), "{events}");
}

#[test]
fn workers_end_within_two_seconds_of_a_killed_conductor_and_what_is_left_can_be_read() {
    let scene = Scene::short();
    let running = scene.start("run short.toml --out rec --set plan.phase=60s");
    wait_for_event(&scene.path("rec"), "phase_started\",\"phase\":\"w0");
    let workers = running.workers();
    assert_eq!(workers.len(), 2);
    running.signal(Signal::KILL);
    let killed_ns = MonotonicClock.now_ns();
    wait_for("the workers to end", || workers.iter().all(|pid| !is_alive(*pid)).then_some(()));
    let took_s = (MonotonicClock.now_ns() - killed_ns) as f64 / 1e9;
    assert!(took_s < 2.0, "the workers took {took_s} s to end");
    let summary = scene.run("report rec --format json").status(0).json();
    assert_eq!(summary["status"], "cut");
    assert!(finding_ids(&summary).contains(&"cut-short"), "{:?}", finding_ids(&summary));
}

/// Kills the worker `index` once the events hold `when`; returns the summary.
fn kill_worker(index: usize, when: &str) -> Value {
    let scene = Scene::short();
    let running = scene.start("run short.toml --out rec --set plan.phase=2s --set plan.warmup=2s");
    if when.is_empty() {
        // While the worker prepares, or before it has begun to.
        signal_process(running.worker(index), Signal::KILL);
    } else {
        wait_for_event(&scene.path("rec"), when);
        signal_process(running.worker(index), Signal::KILL);
    }
    running.end().status(1).err_has(&["failed"]);
    scene.json("rec/summary.json")
}

#[test]
fn a_worker_killed_while_it_prepares_leaves_only_gaps() {
    let summary = kill_worker(0, "");
    assert_eq!(summary["status"], "failed");
    assert!(summary["phases"].as_array().unwrap().iter().all(|phase| phase["performance"]["mean"].is_null()));
}

#[test]
fn a_neighbour_killed_while_it_prepares_leaves_only_gaps() {
    let summary = kill_worker(1, "");
    let measured = |phase: &Value| phase["performance"]["mean"].is_number();
    assert!(!phase(&summary, "w1")["performance"]["mean"].is_number() && !measured(phase(&summary, "w2")));
}

#[test]
fn several_files_do_not_touch_what_others_made() {
    let scene = Scene::new();
    scene.write("one.toml", &on_rocksdb());
    scene.write("two.toml", &on_rocksdb().replace("records = 1000", "records = 500").replace("\"data\"", "\"other\""));
    scene.run("run two.toml --set primary.records=700 --out before").status(0);
    scene.run("run one.toml two.toml --out both").status(1).err_has(&["created by another experiment"]);
    assert_eq!(scene.json("both/runs/001/summary.json")["status"], "complete");
}

#[test]
fn ctrl_c_at_the_terminal_ends_the_workers_in_order() {
    let scene = Scene::short();
    let running = scene.start("run short.toml --out rec --set plan.phase=60s");
    wait_for_event(&scene.path("rec"), "phase_started\",\"phase\":\"w0");
    // A terminal signals the whole foreground group; the workers must not be in it.
    let group = std::fs::read_to_string(format!("/proc/{}/stat", running.worker(0))).unwrap();
    let group = group.rsplit_once(") ").unwrap().1.split(' ').nth(2).unwrap().to_owned();
    assert_eq!(group, running.worker(0).to_string());
}

#[test]
fn a_primary_killed_in_the_warm_up_leaves_only_gaps() {
    let summary = kill_worker(0, "phase_started\",\"phase\":\"warmup");
    assert!(phase(&summary, "w0")["performance"]["mean"].is_null());
    assert!(phase(&summary, "w0")["performance"]["reason"].as_str().unwrap().contains("primary"));
}

#[test]
fn a_primary_killed_in_the_baseline_makes_it_a_gap() {
    let summary = kill_worker(0, "phase_started\",\"phase\":\"w0");
    assert!(phase(&summary, "w0")["performance"]["mean"].is_null());
    assert!(phase(&summary, "w1")["pressure"]["value"].is_null());
}

#[test]
fn a_neighbour_killed_in_its_phase_makes_it_a_gap_and_leaves_the_baseline() {
    let summary = kill_worker(1, "phase_started\",\"phase\":\"w1");
    assert!(phase(&summary, "w0")["performance"]["mean"].is_number());
    assert!(phase(&summary, "w1")["performance"]["mean"].is_null());
    assert!(phase(&summary, "w2")["performance"]["mean"].is_null());
    assert!(finding_ids(&summary).contains(&"worker-failed"));
}

#[test]
fn a_directory_that_another_run_holds_is_refused() {
    let scene = Scene::short();
    let first = scene.start("run short.toml --out one --set plan.phase=60s");
    wait_for_event(&scene.path("one"), "started");
    let pid = first.pid().to_string();
    scene.run("run short.toml --out two").status(2).err_has(&["in use by another run", &pid]);
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let scene = Scene::short();
    scene.run("run short.toml --out new/rec --set device.directory=/proc/none").status(2).err_has(&["/proc/none"]);
    assert!(!scene.path("new").exists(), "what is refused leaves no folder");
}

#[test]
fn a_directory_in_memory_is_refused() {
    if memory_file_system().is_none() {
        return;
    }
    let scene = Scene::short();
    scene.run("run short.toml --set device.directory=/dev/shm/manometer").status(2).err_has(&["memory", "--set"]);
}

#[test]
fn a_folder_that_holds_something_is_no_place_for_a_recording() {
    let scene = Scene::short();
    std::fs::create_dir(scene.path("rec")).unwrap();
    scene.write("rec/thesis.txt", "years of work");
    scene.run("run short.toml --out rec").status(2).err_has(&["rec exists and is not empty"]);
    assert!(!scene.path("data/.manometer-ledger.jsonl").exists(), "the refusal comes before anything is prepared");
    scene.run("run short.toml --out rec --resume --dry-run").status(2).err_has(&["--resume", "--dry-run"]);
    assert_eq!(scene.read("rec/thesis.txt"), "years of work");
}

#[test]
fn what_is_no_recording_is_named() {
    let scene = Scene::new();
    scene.run("report nowhere").status(2).err_has(&["nowhere is not a recording"]);
}

/// Every file below `dir`.
fn files(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_recording_with_any_file_cut_is_reported_as_far_as_it_is_whole() {
    let scene = Scene::short();
    scene.run("run short.toml --out rec").status(0);
    let results = ["report.html", "summary.json"].map(|name| scene.path(&format!("rec/{name}")));
    for path in files(&scene.path("rec")).into_iter().filter(|path| !results.contains(path)) {
        let whole = std::fs::read(&path).unwrap();
        for share in [0, 1, 2] {
            std::fs::write(&path, &whole[..whole.len() * share / 3]).unwrap();
            let output = scene.run("report rec --format json");
            if path.ends_with("plan.json") {
                // Without its plan nothing in a recording has a meaning.
                output.status(2).err_has(&["plan.json"]);
            } else {
                let summary = output.json();
                let findings = summary["findings"].as_array().unwrap();
                let is_damaged = findings.iter().any(|finding| finding["id"] == "damaged");
                assert!(output.status(i32::from(is_damaged)).json()["phases"].is_array(), "{}", path.display());
                let is_needed = ["events.jsonl", "samples/primary.parquet"].iter().any(|name| path.ends_with(name));
                assert!(is_damaged || !is_needed, "{} was cut", path.display());
            }
        }
        std::fs::write(&path, whole).unwrap();
    }
}

#[test]
fn every_verb_has_help_with_an_example() {
    let scene = Scene::new();
    let help = scene.run("--help").status(0).out();
    for verb in ["run", "report", "io", "kv", "engines", "schema", "complete"] {
        assert!(help.contains(verb), "{verb}");
        scene.run(&format!("{verb} --help")).status(0).out_has(&["Example"]);
    }
}

#[test]
fn the_device_directory_is_no_place_for_recordings() {
    let scene = Scene::short();
    scene.write("set.toml", &format!("{SHORT}[sweep]\nrepeats = 2\n"));
    for words in ["run short.toml --out data", "run set.toml --out ./data/", "run set.toml --out data --resume"] {
        scene.run(words).status(2).err_has(&["is the device directory", "another directory"]);
    }
    assert!(!scene.path("data").exists());
    scene.write("notes", "");
    std::os::unix::fs::symlink("nothing", scene.path("dangling")).unwrap();
    for out in ["notes", "dangling", "/dev/full"] {
        scene.run(&format!("run short.toml --out {out}")).status(2).err_has(&[out, "is not a directory"]);
    }
}

#[test]
fn a_goal_that_short_phases_cannot_decide_ends_with_status_four() {
    let scene = Scene::short();
    scene.write("goal.toml", &format!("{SHORT}[goal]\npressure = \"10%\"\n"));
    let said = scene.run("run goal.toml --out rec --junit goal.xml").status(4);
    said.out_has(&["Goal undecided: a pressure of at most 0.10 in every phase; ", "Verdict: "]);
    let xml = scene.read("goal.xml");
    for part in ["<error", "w1: writer.iodepth = 1 (a pressure of at most 0.10)", "failures=\"0\""] {
        assert!(xml.contains(part), "`{part}` is not in: {xml}");
    }
    let summary = scene.json("rec/summary.json");
    assert!(summary["goal"]["met"].is_null() && summary["goal"]["reason"].is_string(), "{}", summary["goal"]);
    assert_eq!(summary["goal"]["phases"][0]["id"], "w1");
    scene.run("run goal.toml --out rec --resume --allow-undecided").status(0);
    scene.run("run short.toml --junit goal.xml").status(2).err_has(&["short.toml has no [goal] to test"]);
    scene.write("wrong.toml", &format!("{SHORT}[goal]\npressure = 5\n"));
    scene.run("run wrong.toml --dry-run").status(2).err_has(&["wrong.toml", "pressure", "5%"]);
    let latency = SHORT.replace("name = \"short\"", "name = \"short\"\ncriterion = \"latency.read.p99\"");
    scene.write("double.toml", &format!("{latency}[goal]\npressure = 1\n"));
    scene.run("run double.toml --dry-run").status(0);
    scene.write("wrong.toml", &format!("{SHORT}[goal]\npresure = \"5%\"\n"));
    scene.run("run wrong.toml --dry-run").status(2).err_has(&["did you mean `pressure`"]);
}

#[test]
fn a_dry_run_estimates_intervals_from_an_earlier_recording() {
    let scene = Scene::short();
    scene.run("run short.toml --out rec").status(0);
    let said = scene.run("run short.toml --dry-run --earlier rec").status(0);
    said.out_has(&[
        "If the noise is as in the earlier recording, phases of 1s are too short for a confidence interval in",
    ]);
    let document = scene.run("run short.toml --dry-run --earlier rec --format json").status(0).json();
    assert!(document["forecast"]["needed_s"].as_f64().unwrap() > 0.6, "{}", document["forecast"]);
    assert!(document["forecast"]["phases"][0]["width"].is_null());
    assert!(document["forecast"]["differences"].is_null(), "{}", document["forecast"]);
    scene.write("other.toml", &SHORT.replace("records = 1000", "records = 2000"));
    scene.run("run other.toml --dry-run --earlier rec").status(0).out_has(&[
        "warning: the earlier recording differs from the plan",
        "`primary.records` is 2000 in the plan and 1000 in the earlier recording",
    ]);
    scene.run("run short.toml --dry-run --earlier nowhere").status(2).err_has(&["nowhere"]);
    scene.run("run short.toml --earlier rec").status(2).err_has(&["--dry-run"]);
}

#[test]
fn a_paced_primary_is_judged_by_its_response_time() {
    let scene = Scene::new();
    let paced = SHORT.replace("records = 1000", "records = 1000\nrate = 2000");
    scene.write("paced.toml", &paced);
    let summary = scene.run("run paced.toml --out rec --format json").status(0).json();
    assert_eq!(summary["criterion"]["metric"], "response.read.p99");
    assert!(phase(&summary, "w1")["pressures"]["throughput"]["value"].is_number(), "{summary}");
    assert!(!finding_ids(&summary).contains(&"paced-throughput"), "nobody asked for the throughput");
    // Explicit throughput is replaced where the primary kept its rate, with a finding.
    scene.write("paced.toml", &paced.replace("name = \"short\"", "name = \"short\"\ncriterion = \"throughput\""));
    let summary = scene.run("run paced.toml --out other --format json").status(0).json();
    assert_eq!(summary["criterion"]["metric"], "response.read.p99");
    assert!(finding_ids(&summary).contains(&"paced-throughput"), "{summary}");
    scene.run("report other").status(0).out_has(&["pressure (throughput)", "p99 read (ms)", "p99 read response (ms)"]);
}

#[test]
fn metrics_follow_a_run_and_hold_its_results() {
    let scene = Scene::short();
    let running =
        scene.start("run short.toml --out rec --metrics live.prom --set plan.phase=60s --set plan.baseline=300ms");
    let text = wait_for("the metrics of w1", || {
        let text = std::fs::read_to_string(scene.path("live.prom")).ok()?;
        (text.contains("phase=\"w1\"") && text.contains("manometer_rate{")).then_some(text)
    });
    assert!(text.starts_with("# TYPE manometer_") && text.ends_with("# EOF\n"), "{text}");
    assert!(text.contains("manometer_rate{experiment=\"short\",workload="), "{text}");
    running.signal(Signal::INT);
    running.end();
    let results = scene.read("live.prom");
    assert!(results.contains("status=\"interrupted\"") && results.contains("bound=\"mean\"} "), "{results}");
    scene.run("report rec --metrics again.prom").status(0);
    assert_eq!(scene.read("again.prom"), results);
    scene.run("report rec --metrics nowhere/again.prom").status(1).err_has(&["nowhere/again.prom"]);
}
