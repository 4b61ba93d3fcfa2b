//! External programs as workloads of a real run.

use manometer_measure::{Clock as _, MonotonicClock, Recording};
use manometer_testing::installed;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Running, SHORT, Scene, is_alive, signal_process, wait_for, wait_for_event};

fn phase<'a>(summary: &'a Value, id: &str) -> &'a Value {
    summary["phases"].as_array().unwrap().iter().find(|phase| phase["id"] == id).unwrap()
}

/// `SHORT` with `table` in place of its neighbour.
fn beside(table: &str) -> String {
    let (head, rest) = SHORT.split_once("[[neighbour]]").unwrap();
    let (_, plan) = rest.split_once("[plan]").unwrap();
    let plan: String = plan.lines().filter(|line| !line.starts_with("vary")).map(|line| format!("{line}\n")).collect();
    format!("{head}[[neighbour]]\nname = \"other\"\nkind = \"command\"\n{table}\n[plan]{plan}")
}

/// A shell script that says `5 ops` again and again, and starts another program.
const TALKER: &str = r#"
command = ["sh", "-c", "sleep 600 & echo $! > child; while :; do echo 5 ops; sleep 0.05; done"]
parser = "regex"
patterns = { op = "^(?<count>[0-9]+) ops" }
"#;

#[test]
fn fio_is_a_neighbour_with_latencies() {
    if !installed("fio") {
        return;
    }
    let scene = Scene::new();
    let fio = "parser = \"fio\"\ncommand = \"fio --output-format=json+ --status-interval={interval_ms}ms --name=j \
        --directory={directory} --size=1M --rw=randrw --bs=4k --ioengine=psync --rate_iops=500 --time_based --runtime=1h\"";
    scene.write("fio.toml", &beside(fio));
    // How long fio takes to start and to report is the machine's affair: where its reports miss the phase, a longer one
    // follows.
    let run = |phase_s: u32| {
        let set = format!("--set plan.phase={phase_s}s --set plan.settle={phase_s}s");
        let out = format!("rec-{phase_s}");
        (scene.run(&format!("run fio.toml --out {out} --format json {set}")).status(0).json(), out)
    };
    let other = |summary: &Value| phase(summary, "w1")["neighbours"]["other"]["performance"].clone();
    let is_measured = |(summary, _): &(Value, String)| other(summary)["mean"].is_number();
    let (summary, rec) = [2, 8, 32].into_iter().map(run).find(is_measured).expect("fio reports within half a minute");
    let other = other(&summary);
    assert_eq!(other["unit"], "MiB/s");
    assert!(other["mean"].as_f64().unwrap() > 0.0, "{other}");
    assert!(phase(&summary, "w1")["performance"]["mean"].as_f64().unwrap() > 0.0);
    assert!(scene.read(&format!("{rec}/latency/other.hlog")).contains("Tag=read"));
    let facts = &scene.json(&format!("{rec}/environment.json"))["workloads"]["other"];
    assert!(facts["version"].as_str().unwrap().starts_with("fio-"), "{facts}");
    assert!(facts["command"][4].as_str().unwrap().ends_with("/data/other/db"), "{facts}");
    assert!(scene.read(&format!("{rec}/events.jsonl")).contains("was started"));
}

#[test]
fn db_bench_is_the_primary() {
    if !installed("db_bench") {
        return;
    }
    let scene = Scene::new();
    let table = "kind = \"command\"\nparser = \"db_bench\"\n\
        prepare = \"db_bench --db={directory} --benchmarks=fillseq --num=1000\"\n\
        command = \"db_bench --db={directory} --use_existing_db=1 --benchmarks=readrandom --num=1000 --threads=2 \
        --seed={seed} --stats_interval_seconds=1 --duration=3600\"\n";
    let text = SHORT.replace("engine = \"null\"\nworkload = \"ycsb-b\"\nrecords = 1000\n", table);
    scene.write("bench.toml", &text);
    let set = "--set plan.phase=4s --set plan.warmup=1s";
    let summary = scene.run(&format!("run bench.toml --out rec --format json {set}")).status(0).json();
    assert_eq!(summary["criterion"]["unit"], "ops/s");
    for id in ["w0", "w1"] {
        assert!(phase(&summary, id)["performance"]["mean"].as_f64().unwrap() > 0.0, "{summary}");
    }
    let samples = Recording::open(&scene.path("rec")).unwrap().samples("primary").unwrap();
    assert!(samples.column("read.requests").unwrap().iter().any(Option::is_some));
    assert!(samples.column("read.bytes").unwrap().iter().all(Option::is_none), "db_bench reports no bytes: a gap");
}

/// Starts a run with `TALKER` as a neighbour and waits for what it has started.
fn with_talker(scene: &Scene) -> (Running, u32) {
    scene.write("talker.toml", &beside(TALKER));
    let running = scene.start("run talker.toml --out rec --set plan.phase=60s --set plan.baseline=200ms");
    wait_for_event(&scene.path("rec"), "was started");
    let child = scene.path("data/other/db/child");
    let pid = wait_for("the child", || std::fs::read_to_string(&child).ok()?.trim().parse().ok());
    (running, pid)
}

#[track_caller]
fn is_gone_in_time(pid: u32) {
    let killed_ns = MonotonicClock.now_ns();
    wait_for("the program to end", || (!is_alive(pid)).then_some(()));
    let took_s = (MonotonicClock.now_ns() - killed_ns) as f64 / 1e9;
    assert!(took_s < 2.0, "it took {took_s} s");
}

#[test]
fn a_killed_worker_leaves_no_program_behind() {
    let scene = Scene::new();
    let (running, pid) = with_talker(&scene);
    signal_process(running.worker(1), Signal::KILL);
    is_gone_in_time(pid);
    running.end().status(1).err_has(&["failed"]);
}

#[test]
fn a_killed_conductor_leaves_no_program_behind() {
    let scene = Scene::new();
    let (running, pid) = with_talker(&scene);
    running.signal(Signal::KILL);
    is_gone_in_time(pid);
}

#[test]
fn a_program_that_fails_at_once_leaves_a_gap_that_quotes_it() {
    let scene = Scene::new();
    scene.write("fails.toml", &beside(&TALKER.replace("sleep 600 &", "echo no such device; exit 3;")));
    scene.run("run fails.toml --out rec").status(1).err_has(&["exit status: 3", "no such device"]);
    let summary = scene.json("rec/summary.json");
    assert!(phase(&summary, "w0")["performance"]["mean"].is_number());
    assert!(phase(&summary, "w1")["performance"]["mean"].is_null());
}

#[test]
fn output_that_the_parser_does_not_know_is_an_error() {
    let scene = Scene::new();
    let table = format!("{}patience = \"200ms\"\n", TALKER.replace("echo 5 ops", "echo 5 apples"));
    scene.write("apples.toml", &beside(&table));
    scene.run("run apples.toml --out rec --set plan.phase=2s").status(1).err_has(&["5 apples", "not understood"]);
}

#[test]
fn a_program_that_is_not_installed_is_refused_before_anything_starts() {
    let scene = Scene::new();
    scene.write("none.toml", &beside("command = \"no-such-program\"\nparser = \"ycsb\""));
    scene.run("run none.toml --out rec").status(2).err_has(&["none.toml:", "no-such-program", "not installed"]);
    assert!(!scene.path("data").exists() && !scene.path("rec").exists());
}
