//! `manometer replay`.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use manometer_testing::{Cause, binary, skip};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::servers::Redis;
use crate::support::{Scene, group_of, is_alive, signal_process, wait_for, wait_for_event};

/// A folder with `trace.txt`: `requests` reads of a few keys, `gap_us` apart.
fn scene(requests: u64, gap_us: u64) -> Scene {
    let scene = Scene::new();
    let line = |number: u64| format!("read,{},{},100\n", number % 10, number * gap_us);
    scene.write("trace.txt", &(0..requests).map(line).collect::<String>());
    scene
}

const REPLAY: &str = "replay trace.txt --time-unit us --engine null";

#[test]
fn machines_learn_how_faithful_it_was() {
    let document =
        scene(400, 1_000).run(&format!("{REPLAY} --model open --time original --format json")).status(0).json();
    assert_eq!((&document["requests"], &document["throughput"]["unit"]), (&json!(400), &json!("ops/s")));
    let fidelity = &document["fidelity"];
    for number in ["late", "dropped", "order_violations", "span_ratio", "ks"] {
        assert!(fidelity[number].is_number(), "{number}: {fidelity}");
    }
    for quantile in ["p50", "p90", "p99", "max"] {
        assert!(fidelity["error_us"][quantile].is_number(), "{quantile}: {fidelity}");
    }
    assert_eq!(fidelity["hurst"]["trace"], Value::Null, "a trace without any variance has none");
    assert!(fidelity["reason"].as_str().unwrap().contains("Hurst"), "{fidelity}");
    assert_eq!((&fidelity["dropped"], &fidelity["order_violations"]), (&json!(0), &json!(0)));
    assert_eq!(document["operations"], json!({"read": 400}));
    assert!(document["latency_us"]["read"]["p50"].is_number() && document["response_us"]["read"]["p99"].is_number());
    let rate = document["throughput"]["mean"].as_f64().unwrap();
    assert!(rate > 0.0 && rate <= 1_010.0, "{rate}");
}

#[test]
fn people_get_a_table_and_a_few_lines() {
    let words = ["read", "sent late by", "Kolmogorov-Smirnov distance", "0 not sent, 0 out of order, 0 failed"];
    scene(100, 500).run(REPLAY).status(0).out_has(&words).err_has(&["100 requests, open, original", "scheduling"]);
}

#[test]
fn full_speed_says_why_it_has_no_schedule() {
    let scene = scene(20_000, 1_000_000);
    for model in ["closed-conservative", "closed-unordered --threads 2"] {
        let document = scene.run(&format!("{REPLAY} --model {model} --time full --format json")).status(0).json();
        assert_eq!((&document["requests"], &document["fidelity"]["error_us"]), (&json!(20_000), &Value::Null));
        assert_eq!(document["fidelity"]["reason"], json!("a replay at full speed has no schedule"));
    }
}

#[test]
fn a_factor_shortens_the_span() {
    let document =
        scene(200, 10_000).run(&format!("{REPLAY} --time scaled --factor 20 --format json")).status(0).json();
    let seconds = document["seconds"].as_f64().unwrap();
    assert!(seconds >= 0.0995, "2 s became {seconds} s");
    assert_eq!(document["facts"]["span_s"], json!(0.0995));
}

#[test]
fn what_cannot_be_replayed_is_refused_with_a_sentence() {
    let scene = scene(10, 1_000);
    scene.write("untimed.txt", "read,a\nread,b\n");
    scene.write("unsized.txt", "insert,a,1\n");
    scene.write("back.txt", "read,a,9000\nread,b,1\n");
    scene.write("empty.txt", "");
    let refused = [
        ("replay trace.txt --engine null --time full", "would send all of them at once"),
        ("replay trace.txt --engine null --time scaled", "2 halves the span"),
        ("replay trace.txt --engine null --factor 2", "only `scaled` time has a factor"),
        ("replay trace.txt --engine null --model closed-unordered", "Write `full`"),
        ("replay trace.txt --engine null --model closed-conservative --threads 2", "requires exactly one thread"),
        ("replay trace.txt --engine null --model closed-per-client", "it records no clients"),
        ("replay trace.txt --engine null --processes 0", "from 1 to 64"),
        ("replay trace.txt --engine map --processes 2", "several processes need one server"),
        ("replay untimed.txt --engine null", "it has no times"),
        ("replay unsized.txt --engine null", "--value-size"),
        ("replay back.txt --engine null", "at request 2 its time goes back by 8.999 s"),
        ("replay empty.txt --engine null", "it is empty"),
        ("replay missing.txt --engine null", "missing.txt"),
        ("replay trace.txt --engine nul", "there is no engine `nul`"),
        ("replay trace.txt --engine null --input-format lcs", "lcs"),
        ("replay - --engine null", "name a file"),
    ];
    for (words, wanted) in refused {
        scene.run(words).status(2).err_has(&[wanted]);
    }
}

#[test]
fn an_unfaithful_replay_is_reported_first_and_fails_where_fidelity_is_required() {
    let scene = Scene::new();
    // Nobody sends a request each nanosecond.
    scene.write("trace.txt", &(0..30_000).map(|number| format!("read,{},{number},\n", number % 9)).collect::<String>());
    let words = "replay trace.txt --time-unit ns --engine null --format json";
    let document = scene.run(&format!("{words} --require-fidelity")).status(3).json();
    assert_eq!(
        (&document["fidelity"]["faithful"], &document["findings"][0]["id"]),
        (&json!(false), &json!("replay-not-faithful"))
    );
    assert!(document["fidelity"]["late"].as_u64().unwrap() > 0);
    scene.run(words).status(0);
}

#[test]
fn a_damaged_trace_is_replayed_to_its_last_good_record() {
    let scene = Scene::new();
    scene.write("trace.txt", "read,a,0,\nread,b,1,\nread,c,2,\nread,d,3,\nread,e,4,\nnonsense");
    let words = "replay trace.txt --engine null --format json";
    let output = scene.run(words).status(0).err_has(&["5 requests before it"]);
    let document = output.json();
    assert_eq!((&document["requests"], &document["fidelity"]["verdict"]), (&json!(5), &json!("not-faithful")));
    let finding = &document["findings"][0];
    assert_eq!(finding["id"], "replay-not-faithful");
    assert!(finding["text"].as_str().unwrap().contains("the trace is damaged"), "{finding}");
    scene.run(&format!("{words} --require-fidelity")).status(3);
}

/// A folder with `second.csv`: ten requests at each full second of three.
fn coarse_scene() -> Scene {
    let scene = Scene::new();
    let line = |number: u64| format!("{},key{number},{},10,7,get,0\n", number / 10, format!("key{number}").len());
    scene.write("second.csv", &(0..30).map(line).collect::<String>());
    scene
}

const COARSE: &str = "replay second.csv --engine null --time scaled --factor 20 --format json --require-fidelity";

#[test]
fn bursts_of_a_clock_of_one_second_are_faithful_to_its_step_and_the_advice_is_to_spread_them() {
    let document = coarse_scene().run(COARSE).status(0).json();
    let fidelity = &document["fidelity"];
    assert_eq!((&fidelity["verdict"], &fidelity["faithful"]), (&json!("faithful-to-clock-step"), &json!(false)));
    assert_eq!(fidelity["clock_step_us"], json!(50_000.0));
    let finding = &document["findings"][0];
    assert_eq!(finding["id"], "replay-in-bursts");
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("27 of 30 requests share their time") && text.contains("--spread poisson"), "{text}");
}

#[test]
fn spread_requests_leave_within_their_step_at_times_that_the_seed_decides() {
    let scene = coarse_scene();
    let interarrivals = |more: &str| {
        let document = scene.run(&format!("{COARSE} {more}")).json();
        assert!(
            document["findings"].as_array().unwrap().iter().all(|one| one["id"] != "replay-in-bursts"),
            "{document}"
        );
        let fidelity = &document["fidelity"];
        assert!(fidelity["why"].as_array().is_some_and(|why| !why.is_empty()), "{document}");
        fidelity["interarrival_us"]["trace"].clone()
    };
    let uniform = interarrivals("--spread uniform");
    assert!(uniform.as_array().unwrap().iter().all(|gap| *gap == json!(5_000.0)), "ten in 50 ms: {uniform}");
    let poisson = interarrivals("--spread poisson --seed 3");
    assert!(poisson != uniform && poisson == interarrivals("--spread poisson --seed 3"), "{poisson}");
    assert_ne!(poisson, interarrivals("--spread poisson --seed 4"));
    assert_eq!(poisson, interarrivals("--spread poisson --seed 3 --threads 1"));
}

#[test]
fn spreading_is_refused_where_there_is_nothing_to_spread() {
    let scene = coarse_scene();
    scene.write("fine.txt", "read,a,0.001\nread,b,0.003\n");
    let refused = [
        ("replay fine.txt --engine null --spread uniform", "its clock goes in steps of 1 µs"),
        ("replay second.csv --engine null --spread odd", "unknown variant `odd`"),
        (
            "replay second.csv --engine null --model closed-conservative --time full --spread uniform",
            "have no times to spread",
        ),
    ];
    for (words, wanted) in refused {
        scene.run(words).status(2).err_has(&[wanted]);
    }
}

#[test]
fn an_experiment_spreads_requests_as_well() {
    let scene = coarse_scene();
    with_workload(
        &scene,
        true,
        "workload = { trace = \"second.csv\", time = \"scaled\", factor = 2.0, spread = \"poisson\" }\nengine = \"null\"",
    );
    let document = scene.run("run unfit.toml --out out --format json").json();
    let fidelity = &document["replays"]["primary"];
    assert_eq!(
        (&fidelity["clock_step_us"], &fidelity["late_after_us"]),
        (&json!(500_000.0), &json!(100.0)),
        "{document}"
    );
    assert!(fidelity["interarrival_us"]["trace"][0].as_f64().unwrap() > 0.0, "no two share a time: {document}");
    with_workload(&scene, true, "workload = { trace = \"second.csv\", spread = \"odd\" }\nengine = \"null\"");
    scene.run("run unfit.toml --dry-run").status(2).err_has(&["odd"]);
}

#[test]
fn several_processes_share_a_trace_and_begin_together() {
    let words = format!("{REPLAY} --processes 3 --format json");
    let document = scene(900, 500).run(&words).status(0).json();
    assert_eq!(
        (&document["requests"], &document["processes"], &document["complete"]),
        (&json!(900), &json!(3), &json!(true))
    );
    assert_eq!(
        (&document["fidelity"]["dropped"], &document["fidelity"]["error_us"]["samples"]),
        (&json!(0), &json!(900))
    );
}

#[test]
fn when_a_process_is_killed_the_others_end() {
    let scene = scene(60_000, 1_000);
    let running = scene.start(&format!("{REPLAY} --processes 2 --format json"));
    let workers = wait_for("both processes", || Some(running.workers()).filter(|workers| workers.len() == 2));
    signal_process(workers[1], Signal::KILL);
    running.end().status(1).err_has(&["process 2 of the replay was lost"]);
    wait_for("the other process to end", || (!is_alive(workers[0])).then_some(()));
}

#[test]
fn the_others_go_on_where_the_command_says_so_and_the_result_tells_who_was_lost() {
    let scene = scene(3_000, 1_000);
    let program = binary("manometer").display().to_string();
    scene.write("near", &format!("exec {program} \"$@\"\n"));
    // Ends after its second sample, as a host that dies.
    let dies = r#"sed -u '/"sample"/{x;s/^/x/;/xx/{x;q};x}'"#;
    scene.write("dying", &format!("{program} \"$@\" | {dies}\n"));
    let on = "--on sh${IFS}./near --on sh${IFS}./dying --on sh${IFS}./near";
    let output = scene.run(&format!("{REPLAY} --interval 100ms {on} --on-lost continue --format json")).status(1);
    let document = output.err_has(&["process 2 of the replay was lost", "the others go on"]).json();
    let clients = document["clients"].as_array().unwrap();
    assert!(clients[1]["lost"].is_string() && clients[1]["sent"].is_null(), "{document}");
    for client in [&clients[0], &clients[2]] {
        assert_eq!((&client["lost"], &client["sent"]), (&Value::Null, &client["requests"]), "{document}");
    }
    let finding = &document["findings"][0];
    assert_eq!((&finding["id"], &document["complete"]), (&json!("replay-incomplete"), &json!(false)));
    assert!(
        finding["text"].as_str().unwrap().contains("went on; the numbers are those of 2 of 3 processes"),
        "{finding}"
    );
}

#[test]
fn processes_on_one_clock_begin_together_however_they_are_reached() {
    let scene = scene(900, 500);
    scene.write("near", &format!("exec {} \"$@\"\n", binary("manometer").display()));
    let words = format!("{REPLAY} --format json --on local --on sh${{IFS}}./near --on sh${{IFS}}./near");
    let document = scene.run(&words).status(0).err_has(&["the same clock"]).json();
    let clocks = document["clocks"].as_array().unwrap();
    assert_eq!(clocks.len(), 2, "{document}");
    for clock in clocks {
        assert_eq!(
            (&clock["source"], &clock["within_us"], &clock["offset_after_us"]),
            (&json!("same-clock"), &json!(0.0), &json!(0.0))
        );
    }
    assert_eq!(document["start_skew_us"]["within"], json!(0.0));
    assert!(document["start_skew_us"]["value"].as_f64().is_some());
    assert_eq!(document["clients"].as_array().unwrap().len(), 3);
}

#[test]
fn a_replay_that_is_killed_ends_its_neighbour_and_marks_the_recording() {
    let scene = scene(60_000, 1_000);
    scene.write(
        "killed.toml",
        r#"
name = "killed"
interval = "100ms"
[device]
directory = "data"
[primary]
engine = "null"
workload = { trace = "trace.txt", time_unit = "us" }
[[neighbour]]
name = "other"
kind = "replay"
engine = "null"
trace = "trace.txt"
time_unit = "us"
[plan]
phase = "5s"
[[plan.step]]
start = ["other"]
"#,
    );
    for index in [0, 1] {
        let running = scene.start(&format!("run killed.toml --out out{index}"));
        wait_for_event(&scene.path(&format!("out{index}")), "phase_started\",\"phase\":\"w0");
        let workers = running.workers();
        signal_process(workers[index], Signal::KILL);
        running.end().status(1);
        assert!(workers.iter().all(|worker| !is_alive(*worker)));
        let summary = scene.json(&format!("out{index}/summary.json"));
        assert_eq!(summary["status"], "failed", "{summary}");
    }
}

/// A command that leads to this program on a clock that is seven seconds ahead, with a calendar that is years ahead;
/// nothing where the kernel does not give processes separate clocks.
fn other_host(scene: &Scene) -> Option<&'static str> {
    let ahead = ["--time", "--monotonic", "7", "--fork"];
    let can = Command::new("unshare").args(ahead).arg("true").stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        return None;
    }
    let program = binary("manometer").display().to_string();
    let calendar = r#"sed -u 's/"unix_ns":1/"unix_ns":2/'"#;
    scene.write("far", &format!("unshare {} {program} \"$@\" | {calendar}\n", ahead.join(" ")));
    scene.write("near", &format!("exec {program} \"$@\"\n"));
    Some("--on here --on ./far")
}

#[test]
fn hosts_whose_clocks_differ_by_seconds_begin_at_the_same_time() {
    let scene = scene(900, 500);
    let Some(on) = other_host(&scene) else {
        skip(Cause::Clock, "no process can have separate clocks here (unshare --time)");
        return;
    };
    let words = format!("{REPLAY} --format json {}", on.replace("./far", "sh${IFS}./far"));
    let output = scene.run(&words).status(0).err_has(&["process 2 on", "by round trips"]);
    let document = output.json();
    assert_eq!(
        (&document["requests"], &document["processes"], &document["complete"]),
        (&json!(900), &json!(2), &json!(true))
    );
    let clocks = document["clocks"].as_array().unwrap();
    assert_eq!((clocks.len(), &clocks[0]["process"]), (1, &json!(2)), "{document}");
    let [offset_us, within_us] = ["offset_us", "within_us"].map(|name| clocks[0][name].as_f64().unwrap());
    assert!((offset_us - 7e6).abs() <= within_us + 1.0, "{offset_us} within {within_us}");
    let longest_us = document["fidelity"]["error_us"]["max"].as_f64().unwrap();
    assert!(longest_us < 5e6, "a start that was not moved with the clock would be seven seconds late: {longest_us}");
    assert!(
        document["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == "clocks-apart"),
        "{document}"
    );
}

#[test]
fn a_host_that_cannot_be_reached_is_named() {
    let scene = scene(10, 500);
    scene.run(&format!("{REPLAY} --on no-such-command")).status(1).err_has(&["process 1 of the replay was lost"]);
}

#[test]
fn equal_times_are_sent_one_after_the_other() {
    let scene = Scene::new();
    scene.write("equal.txt", &"read,a,5,\n".repeat(500));
    let document = scene.run("replay equal.txt --engine null --format json").status(0).json();
    let fidelity = &document["fidelity"];
    assert_eq!((&document["requests"], &fidelity["dropped"]), (&json!(500), &json!(0)));
    assert_eq!((&fidelity["order_violations"], &fidelity["span_ratio"]), (&json!(0), &Value::Null));
    assert_eq!(fidelity["reason"], json!("all requests have the same timestamp"));
}

#[test]
fn one_process_loads_what_all_need() {
    let scene = scene(300, 500);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(_server) = Redis::start(&scene, port) else {
        skip(Cause::Program, "redis-server is not installed");
        return;
    };
    let words = "replay trace.txt --time-unit us --engine redis --load --processes 3 --format json";
    let document = scene.run(&format!("{words} --option address=127.0.0.1:{port}")).status(0).json();
    assert_eq!((&document["operations"]["read"], &document["missing"]["read"]), (&json!(300), &json!(0)), "{document}");
    assert_eq!(document["facts"]["records"], json!(10));
}

#[test]
fn what_several_processes_loaded_is_removed_when_all_have_ended_unless_it_is_to_stay() {
    let scene = scene(300, 500);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(server) = Redis::start(&scene, port) else {
        skip(Cause::Program, "redis-server is not installed");
        return;
    };
    let words = format!(
        "replay trace.txt --time-unit us --engine redis --load --processes 3 --format json \
         --option address=127.0.0.1:{port} --option flush=true"
    );
    let document = scene.run(&words).status(0).json();
    assert_eq!((&document["complete"], &document["missing"]["read"]), (&json!(true), &json!(0)), "{document}");
    assert_eq!(server.keys(), 0);
    scene.run(&format!("{words} --keep")).status(0);
    assert_eq!(server.keys(), 11, "ten keys and the marker");
    let reused = scene.run(&format!("{words} --reuse")).status(0).json();
    assert_eq!((&reused["facts"]["reused"], server.keys()), (&json!(true), 11), "{reused}");
}

#[test]
fn several_processes_that_are_interrupted_end_in_order_and_leave_nothing() {
    let scene = scene(60_000, 1_000);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(server) = Redis::start(&scene, port) else {
        skip(Cause::Program, "redis-server is not installed");
        return;
    };
    let running = scene.start(&format!(
        "replay trace.txt --time-unit us --engine redis --load --processes 2 --format json \
         --option address=127.0.0.1:{port} --option flush=true"
    ));
    wait_for("requests to be answered", || server.answered().filter(|answered| *answered > 100));
    let workers = running.workers();
    assert!(workers.iter().all(|worker| group_of(*worker) == Some(*worker)), "Ctrl-C does not reach them");
    running.signal(Signal::INT);
    let document = running.end().status(1).json();
    assert_eq!((&document["complete"], &document["processes"]), (&json!(false), &json!(2)), "{document}");
    assert_eq!(document["fidelity"]["verdict"], json!("not-faithful"));
    assert!(document["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == "replay-cut"), "{document}");
    assert_eq!(server.keys(), 0);
}

#[test]
fn engines_tell_the_longest_key_that_they_take() {
    let document = Scene::new().run("engines --format json").status(0).json();
    let longest = |name: &str| {
        let engines = document["engines"].as_array().unwrap();
        engines.iter().find(|engine| engine["name"] == name).map(|engine| engine["key_bytes_max"].clone())
    };
    assert_eq!(longest("null"), Some(Value::Null));
    for (name, bytes) in [("memcached", 250), ("lmdb", 511), ("redis", 512 << 20)] {
        assert!(longest(name).is_none_or(|longest| longest == json!(bytes)), "{name}: {document}");
    }
}

#[test]
fn when_a_process_is_killed_the_first_removes_what_it_loaded() {
    let scene = scene(60_000, 1_000);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(server) = Redis::start(&scene, port) else {
        skip(Cause::Program, "redis-server is not installed");
        return;
    };
    let running = scene.start(&format!(
        "replay trace.txt --time-unit us --engine redis --load --processes 3 --format json \
         --option address=127.0.0.1:{port} --option flush=true"
    ));
    let workers = wait_for("all processes", || Some(running.workers()).filter(|workers| workers.len() == 3));
    signal_process(workers[2], Signal::KILL);
    running.end().status(1).err_has(&["process 3 of the replay was lost"]);
    assert_eq!(server.keys(), 0);
}

#[test]
fn a_server_that_is_lost_in_mid_replay_is_found_again_and_the_schedule_kept() {
    // Longer than any of what follows takes: it is stopped when all has been seen.
    let scene = scene(600_000, 1_000);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(server) = Redis::start(&scene, port) else {
        skip(Cause::Program, "redis-server is not installed");
        return;
    };
    let words = format!(
        "replay trace.txt --time-unit us --engine redis --option address=127.0.0.1:{port} --load --format json"
    );
    let running = scene.start(&words);
    wait_for("requests to be answered", || server.answered().filter(|answered| *answered > 300));
    drop(server);
    // Who stands in for it takes one connection and answers nothing: a request is sent and fails.
    let stand_in = wait_for("the port to be free", || TcpListener::bind(("127.0.0.1", port)).ok());
    drop(stand_in.accept().unwrap());
    drop(stand_in);
    let again = Redis::start(&scene, port).unwrap();
    wait_for("the server to be asked again", || again.answered().filter(|answered| *answered > 300));
    running.signal(Signal::INT);
    let document = running.end().status(1).json();
    assert!(document["fidelity"]["errors"].as_u64().unwrap() > 0, "{document}");
    assert!(
        document["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == "requests-failed"),
        "{document}"
    );
    assert_eq!(
        document["fidelity"]["error_us"]["samples"], document["requests"],
        "what failed was on the schedule as well"
    );
}

#[test]
fn a_trace_is_the_primary_of_an_experiment() {
    let scene = Scene::new();
    let line = |number: u64| format!("read,{},{number},100\n", number % 10);
    scene.write("trace.txt", &(0..60_000).map(line).collect::<String>());
    scene.write(
        "replay.toml",
        r#"
name = "replayed"
interval = "100ms"
criterion = "latency.read.p99"
[device]
directory = "data"
[primary]
engine = "null"
workload = { trace = "trace.txt", model = "open", time = "scaled", factor = 2.0 }
[[neighbour]]
name = "writer"
kind = "io"
file_size = "4MiB"
[plan]
phase = "500ms"
vary = { "writer.iodepth" = [1] }
"#,
    );
    let document = scene.run("run replay.toml --out out --format json").status(0).json();
    let reads = |phase: usize| document["phases"][phase]["latency_us"]["read"]["samples"].as_u64().unwrap_or(0);
    assert!(reads(0) > 0 && reads(1) > 0, "{document}");
    let events = scene.read("out/events.jsonl");
    let event = events.lines().find(|line| line.contains("\"event\":\"replayed\"")).unwrap();
    let sent = serde_json::from_str::<Value>(event).unwrap()["replayed"]["sent"].as_u64().unwrap();
    assert!(reads(0) + reads(1) <= sent && sent < 60_000, "{sent} were sent: {document}");
    assert!(document["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == "replay-cut"), "{document}");
    let fidelity = &document["replays"]["primary"];
    assert!(fidelity["error_us"]["p99"].is_number() && fidelity["faithful"].is_boolean(), "{document}");
}

/// Writes a block trace of `requests` reads and writes, 1 ms apart.
fn write_block_trace(scene: &Scene, requests: u64) {
    let line = |at: u64| {
        let op = if at.is_multiple_of(2) { 'R' } else { 'W' };
        format!("{}.{:09} ; {} ; 8 ; {op} ; 0.0 ; 0.0\n", at / 1_000, at % 1_000 * 1_000_000, at * 8)
    };
    let head = "Copyright nobody\n\nstart ; sector; length ; op ;  replay_delay ; replay_duration\n";
    scene.write("block.load", &(head.to_owned() + &(0..requests).map(line).collect::<String>()));
}

#[test]
fn a_block_trace_is_replayed_on_a_file() {
    let scene = Scene::new();
    write_block_trace(&scene, 300);
    let words = "io --file data --file-size 1MiB --iodepth 8 --no-direct --trace block.load --format json";
    let document = scene.run(words).status(0).json();
    assert_eq!((&document["requests"], &document["fidelity"]["dropped"]), (&json!(300), &json!(0)));
    assert_eq!(document["fidelity"]["error_us"]["samples"], json!(300));
    scene.run(&words.replace("--format json", "")).status(0).out_has(&["sent late by", "0 not sent"]);
    scene.run(&words.replace("8 --no", "8 --rate 1/s --no")).status(2).err_has(&["leave it out"]);
    scene.run("io --file data --factor 2").status(2).err_has(&["--trace"]);
}

#[test]
fn a_recorded_neighbour_stands_beside_a_primary() {
    let scene = Scene::new();
    write_block_trace(&scene, 60_000);
    scene.write(
        "beside.toml",
        r#"
name = "recorded neighbour"
interval = "100ms"
[device]
directory = "data"
[primary]
engine = "null"
records = 1000
[[neighbour]]
name = "recorded"
kind = "io"
workload = { trace = "block.load", time = "scaled", factor = 1.0 }
file_size = "4MiB"
iodepth = 16
direct = false
[plan]
phase = "500ms"
vary = { "recorded.factor" = [1.0, 4.0] }
"#,
    );
    let document = scene.run("run beside.toml --out out --format json").status(0).json();
    let rate =
        |phase: usize| document["phases"][phase]["neighbours"]["recorded"]["performance"]["mean"].as_f64().unwrap();
    assert!(rate(1) > 0.0 && rate(2) > 0.0, "{document}");
    let factor = |phase: usize| &document["phases"][phase]["settings"]["recorded.factor"];
    assert_eq!((factor(1), factor(2)), (&json!(1.0), &json!(4.0)), "{document}");
    assert!(scene.read("out/events.jsonl").contains("\"settings\":{\"factor\":4.0}"));
    assert!(document["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == "replay-cut"), "{document}");
}

/// An experiment whose primary or neighbour is `workload`; the other workload needs nothing.
fn with_workload(scene: &Scene, is_primary: bool, workload: &str) {
    let own = "[primary]\nengine = \"null\"\nrecords = 1000\n";
    let workloads = if is_primary {
        format!("[primary]\n{workload}\n[[neighbour]]\nname = \"other\"\nkind = \"io\"\nfile_size = \"4MiB\"\n")
    } else {
        format!("{own}[[neighbour]]\nname = \"other\"\n{workload}\n")
    };
    let text = format!(
        "name = \"x\"\n[device]\ndirectory = \"data\"\n{workloads}[plan]\nphase = \"1s\"\n[[plan.step]]\nstart = \
         [\"other\"]\n"
    );
    scene.write("unfit.toml", &text);
}

#[test]
fn an_unfit_trace_is_refused_when_an_experiment_is_checked() {
    let scene = scene(10, 1_000);
    scene.write("untimed.txt", "read,a\nread,b\n");
    scene.write("unsized.txt", "insert,a,1\n");
    scene.write("back.txt", "read,a,9000\nread,b,1\n");
    scene.write("empty.csv", "# nothing\n");
    scene.write("long.csv", "1,a,300,7,5,get,0\n");
    write_block_trace(&scene, 10);
    let replay = |trace: &str, engine: &str| format!("kind = \"replay\"\nengine = \"{engine}\"\ntrace = \"{trace}\"");
    let io = |trace: &str| format!("kind = \"io\"\nfile_size = \"4MiB\"\ntrace = \"{trace}\"");
    let twitter = format!("{}\ninput_format = \"twitter\"", replay("long.csv", "memcached"));
    let cases = [
        (replay("untimed.txt", "null"), "it has no times, which `time = original` needs"),
        (replay("unsized.txt", "null"), "1 of its writes have no size"),
        (replay("back.txt", "null"), "its time goes back by 8.999 s"),
        (replay("empty.csv", "null"), "empty.csv"),
        (twitter, "its longest key has 300 bytes, and memcached takes 250 at most"),
        (replay("trace.txt", "null") + "\nmodel = \"closed-per-client\"", "it records no clients"),
    ];
    for (workload, wanted) in &cases {
        for is_primary in [true, false] {
            with_workload(&scene, is_primary, workload);
            scene.run("run unfit.toml --dry-run").status(2).err_has(&[wanted]);
        }
        scene.run("run unfit.toml --out out").status(2).err_has(&[wanted]);
    }
    for (workload, wanted) in [
        (io("trace.txt"), "10 of its requests are for keys"),
        (io("block.load").replace("4MiB", "4KiB"), "the trace's longest request takes"),
    ] {
        with_workload(&scene, false, &workload);
        scene.run("run unfit.toml --dry-run").status(2).err_has(&[wanted]);
    }
    with_workload(&scene, true, &replay("trace.txt", "null"));
    scene.run("run unfit.toml --dry-run").status(0);
    assert!(!scene.path("out").exists() && !scene.path("data").exists());
}

#[test]
fn which_share_of_a_trace_is_replayed_is_no_setting_of_an_experiment() {
    let scene = scene(10, 1_000);
    with_workload(
        &scene,
        true,
        "kind = \"replay\"\nengine = \"null\"\ntrace = \"trace.txt\"\nshare = { part = 0, of = 2 }",
    );
    scene.run("run unfit.toml --dry-run").status(2).err_has(&["`share`"]);
    scene.run("run unfit.toml --dry-run --set primary.share.part=0").status(2).err_has(&["share"]);
}

#[test]
fn several_processes_are_refused_in_an_experiment() {
    let scene = scene(10, 1_000);
    let workload = "workload = { trace = \"trace.txt\", processes = 2 }\nengine = \"null\"";
    with_workload(&scene, true, workload);
    let wanted = ["`processes` is an option of `manometer replay` only", "write `clients`"];
    scene.run("run unfit.toml --dry-run").status(2).err_has(&wanted);
}

#[test]
fn an_experiment_refuses_a_trace_that_is_not_there() {
    let scene = Scene::new();
    scene.write(
        "replay.toml",
        "name = \"x\"\n[device]\ndirectory = \"data\"\n[primary]\nkind = \"replay\"\nengine = \"null\"\ntrace = \
         \"no.txt\"\n[plan]\nphase = \"1s\"\n",
    );
    scene.run("run replay.toml --out out").status(2).err_has(&["no.txt"]);
}

#[test]
fn a_trace_that_ends_before_the_plan_leaves_gaps_and_says_why() {
    let scene = scene(500, 1_000);
    scene.write(
        "short.toml",
        r#"
name = "short"
interval = "100ms"
[device]
directory = "data"
[primary]
engine = "null"
workload = { trace = "trace.txt", time_unit = "us" }
[[neighbour]]
name = "writer"
kind = "io"
file_size = "4MiB"
direct = false
[plan]
phase = "2s"
vary = { "writer.iodepth" = [1] }
"#,
    );
    let document = scene.run("run short.toml --out out --format json").status(0).json();
    let events = scene.read("out/events.jsonl");
    assert!(events.contains("`primary` has ended: its trace ended after 500 requests"), "{events}");
    assert!(!events.contains("\"event\":\"error\""), "{events}");
    assert_eq!(
        (&document["status"], &document["phases"][1]["performance"]["mean"]),
        (&json!("complete"), &Value::Null)
    );
    let finding =
        document["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == "trace-ended").unwrap();
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("after 500 requests") && text.contains("2 of its phases") && text.contains("w0"), "{text}");
}

#[test]
fn a_neighbour_whose_trace_ends_leaves_the_phases_without_it() {
    let scene = scene(50, 1_000);
    scene.write(
        "short.toml",
        r#"
name = "short neighbour"
interval = "100ms"
[device]
directory = "data"
[primary]
engine = "null"
records = 1000
[[neighbour]]
name = "recorded"
kind = "replay"
engine = "null"
trace = "trace.txt"
time_unit = "us"
[plan]
phase = "500ms"
closing = true
[[plan.step]]
start = ["recorded"]
[[plan.step]]
label = "still there"
"#,
    );
    let document = scene.run("run short.toml --out out --format json").status(0).json();
    let means: Vec<bool> =
        document["phases"].as_array().unwrap().iter().map(|phase| phase["performance"]["mean"].is_number()).collect();
    assert_eq!(means, [true, false, false, true], "{document}");
    let findings = document["findings"].as_array().unwrap();
    let ended = findings.iter().find(|finding| finding["id"] == "trace-ended").unwrap();
    assert!(ended["text"].as_str().unwrap().starts_with("The trace of `recorded` ended after 50 requests"), "{ended}");
}
