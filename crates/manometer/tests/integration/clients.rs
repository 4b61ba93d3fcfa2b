//! Workloads of an experiment that several clients share.

use manometer_measure::Recording;
use rustix::process::Signal;

use crate::support::{SHORT, Scene, signal_process, wait_for, wait_for_event};

/// An experiment whose primary has four clients.
fn shared() -> String {
    SHORT
        .replace("records = 1000", "records = 1000\nrate = 4000\nclients = 4")
        .replace("vary = { \"writer.iodepth\" = [1, 4] }", "")
}

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("shared.toml", &shared());
    scene
}

/// The requests of a workload, by its samples.
fn requests(recording: &Recording, workload: &str, operations: &[&str]) -> f64 {
    let samples = recording.samples(workload).unwrap();
    let of = |operation: &&str| samples.column(&format!("{operation}.requests")).unwrap().iter().flatten().sum::<f64>();
    operations.iter().map(of).sum()
}

fn notes(scene: &Scene) -> String {
    scene.read("out/events.jsonl")
}

#[test]
fn clients_share_the_rate_and_their_counts_and_histograms_add_up() {
    let scene = scene();
    scene.run("run shared.toml --out out").status(0);
    let recording = Recording::open(&scene.path("out")).unwrap();
    let environment = scene.json("out/environment.json");
    let clients = environment["workloads"]["primary"]["clients"].as_array().unwrap();
    assert_eq!(clients.len(), 4);
    assert!(notes(&scene).contains("its 4 clients began within"), "{}", notes(&scene));
    let log = recording.latency("primary").unwrap();
    let counted = ["read", "update"].map(|operation| log.between(operation, 0.0, 1e9).len());
    assert_eq!(counted.iter().sum::<u64>() as f64, requests(&recording, "primary", &["read", "update"]));
    // Each has a quarter of the rate: undivided they would send four times as much. A slow host only sends less.
    let seconds: f64 = recording.samples("primary").unwrap().column("length").unwrap().iter().flatten().sum();
    let sent = requests(&recording, "primary", &["read", "update"]);
    assert!(sent > 0.0 && sent < 1.5 * 4000.0 * seconds, "{sent} requests in {seconds} s");
}

#[test]
fn a_lost_client_fails_the_run_or_its_load_goes_on_as_the_file_says() {
    for (on_lost, signal, status, said) in [
        ("stop", Signal::KILL, 1, "client 1 of 4 was lost"),
        ("continue", Signal::KILL, 0, "from here on the load is that of 3 clients"),
        ("continue", Signal::STOP, 0, "sent no sample for"),
    ] {
        let scene = scene();
        let run = format!("run shared.toml --out out --set plan.phase=8s --set primary.on_lost={on_lost}");
        let running = scene.start(&run);
        wait_for_event(&scene.path("out"), "phase_started");
        let of_workers = || running.workers().into_iter().map(children).find(|all| all.len() == 4);
        let clients = wait_for("the clients", of_workers);
        signal_process(clients[0], signal);
        let output = running.end().status(status);
        assert!(notes(&scene).contains(said), "{on_lost}: {}", notes(&scene));
        assert_eq!(output.out().contains("The load of `primary` fell"), on_lost == "continue", "{}", output.out());
        wait_for("the clients' end", || clients.iter().all(|pid| !is_running(*pid)).then_some(()));
    }
}

/// The processes that `pid` started.
fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let mut all: Vec<u32> = list.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    all.sort_unstable();
    all
}

fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

#[test]
fn a_rate_that_phases_change_is_divided_as_well() {
    let scene = scene();
    scene.write("vary.toml", &shared().replace("[plan]", "[plan]\nvary = { \"primary.rate\" = [400, 2000] }"));
    scene.run("run vary.toml --out out").status(0);
    let summary = scene.read("out/events.jsonl");
    assert!(summary.contains(r#""rate":2000"#), "{summary}");
}

#[test]
fn a_trace_is_replayed_once_by_all_clients_together() {
    let scene = scene();
    let lines: String = (0..2000).map(|number| format!("{number},key-{},get,10\n", number * 7 % 100)).collect();
    scene.write("trace.csv", &format!("time_ms,key,op,value_size\n{lines}"));
    let replay = shared()
        .replace("workload = \"ycsb-b\"\nrecords = 1000\nrate = 4000", "kind = \"replay\"\ntrace = \"trace.csv\"");
    scene.write("replay.toml", &replay);
    scene.run("run replay.toml --out out --set plan.phase=3s").status(0);
    let events = notes(&scene);
    assert!(events.contains(r#""sent":2000"#), "{events}");
}

#[test]
fn what_clients_cannot_share_is_refused_with_what_would_be_right() {
    let scene = scene();
    let refused =
        |changes: &str, words: &[&str]| drop(scene.run(&format!("run shared.toml {changes}")).status(2).err_has(words));
    refused("--set primary.engine=rocksdb", &["`address`"]);
    refused("--set primary.workload=ycsb-d", &["it inserts records"]);
    refused("--set primary.clients=0", &["from 1 to 64"]);
    refused("--set primary.hosts=['']", &["empty command"]);
    scene.write("io.toml", &shared().replace("file_size = \"4MiB\"", "file_size = \"4MiB\"\nclients = 2"));
    scene.run("run io.toml").status(2).err_has(&["`io` has one client"]);
    scene.write("hosts.toml", &shared().replace("clients = 4", "hosts = [\"local\"]"));
    scene.run("run hosts.toml").status(2).err_has(&["are for several clients"]);
    scene.write("wrong.toml", &shared().replace("clients = 4", "clients = 2\non_lost = \"panic\""));
    scene.run("run wrong.toml").status(2).err_has(&["on_lost"]);
}

#[test]
fn clients_on_other_hosts_are_reached_by_a_command() {
    let scene = scene();
    let program = manometer_testing::binary("manometer");
    let on = format!("env HOST=other {}", program.display());
    scene.write("hosts.toml", &shared().replace("clients = 4", &format!("clients = 2\nhosts = [\"local\", \"{on}\"]")));
    scene.run("run hosts.toml --out out").status(0);
    let environment = scene.json("out/environment.json");
    assert_eq!(environment["workloads"]["primary"]["clients"][1]["on"], on.as_str());
    assert_eq!(environment["workloads"]["primary"]["clients"][1]["clock_within_us"], 0.0, "one machine, one clock");
    scene.write("away.toml", &shared().replace("clients = 4", "clients = 2\nhosts = [\"no-such-command\"]"));
    scene.run("run away.toml --out away").status(1).err_has(&["process 1"]);
}
