//! Tests of YCSB and db_bench on real engines.

mod db_bench;

use std::collections::BTreeSet;
use std::sync::mpsc::{Sender, channel};

use manometer_measure::plan::Settings;
use manometer_measure::{Clock as _, LatencyHistogram, MonotonicClock};
use manometer_session::control::Controls;
use manometer_session::protocol::{Control, DatabaseReuse, Job, Message};
use manometer_session::worker_loop;
use manometer_target::engine::{EngineOptions, OpenRequest};
use manometer_testing::{Cause, SmallDisk, skip};
use manometer_workload::interface::WorkloadData;
use manometer_workload::kv::{KvError, KvSettings, LoadMethod};
use manometer_workload::sample::Sample;
use manometer_workload::settings::WorkloadSettings;
use serde_json::json;

use crate::support::kind_error;

/// A directory on a disk.
fn disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn job(dir: &tempfile::TempDir, settings: &KvSettings) -> Job {
    Job {
        name: "primary".to_owned(),
        directory: dir.path().to_owned(),
        existing: DatabaseReuse::Remake,
        interval_ms: 20,
        seed: 1,
        removes: false,
        waits: false,
        clients: None,
        share: None,
        workload: WorkloadSettings::Kv(settings.clone()),
    }
}

/// The same place for another workload.
fn on(job: &Job, settings: &KvSettings) -> Job {
    Job { workload: WorkloadSettings::Kv(settings.clone()), ..job.clone() }
}

fn null(workload: &str) -> KvSettings {
    KvSettings { engine: "null".to_owned(), workload: workload.to_owned(), ..KvSettings::default() }
}

/// Runs a job; `react` answers each message with control lines.
fn drive(
    job: &Job,
    mut react: impl FnMut(&Message, &Sender<Control>) + Send,
) -> (Result<WorkloadData, KvError>, Vec<Message>) {
    let (sender, receiver) = channel();
    let mut received = Vec::new();
    let mut sink = |message: Message| {
        react(&message, &sender);
        received.push(message);
        Ok(())
    };
    let result = worker_loop::run(job, &Controls::new(receiver), &mut sink, &MonotonicClock);
    (result.map_err(kind_error), received)
}

/// Sends `go` when ready, and stops after `count` samples with requests.
fn go_for(count: usize) -> impl FnMut(&Message, &Sender<Control>) + Send {
    let mut samples = 0;
    move |message, controls| match message {
        Message::Ready { .. } => controls.send(Control::Go).unwrap(),
        Message::Sample(sample) if sample.operations.values().any(|operation| operation.requests > 0) => {
            samples += 1;
            if samples == count {
                controls.send(Control::Stop).unwrap();
            }
        }
        _ => {}
    }
}

/// As [`go_for`], until each operation was seen.
fn go_until_all_are_seen() -> impl FnMut(&Message, &Sender<Control>) + Send {
    let (mut seen, mut is_stopped) = (BTreeSet::new(), false);
    move |message, controls| match message {
        Message::Ready { .. } => controls.send(Control::Go).unwrap(),
        Message::Sample(sample) => {
            let done = sample.operations.iter().filter(|(_, operation)| operation.requests > 0);
            seen.extend(done.map(|(name, _)| name.clone()));
            if sample.operations.keys().all(|name| seen.contains(name)) && !std::mem::replace(&mut is_stopped, true) {
                controls.send(Control::Stop).unwrap();
            }
        }
        _ => {}
    }
}

fn samples(received: &[Message]) -> Vec<&Sample> {
    received
        .iter()
        .filter_map(|message| if let Message::Sample(sample) = message { Some(sample) } else { None })
        .collect()
}

fn facts_of(received: &[Message]) -> &Settings {
    received.iter().find_map(|message| if let Message::Ready { facts } = message { Some(facts) } else { None }).unwrap()
}

#[test]
fn samples_follow_one_another_and_count_every_request() {
    let dir = disk();
    let settings = KvSettings { threads: Some(2), ..null("ycsb-a") };
    let (result, received) = drive(&job(&dir, &settings), go_for(3));
    result.unwrap();
    let samples = samples(&received);
    assert!(samples.len() >= 3);
    for pair in samples.windows(2) {
        assert_eq!(pair[1].t_ns - pair[1].length_ns, pair[0].t_ns);
    }
    for sample in &samples {
        assert_eq!(sample.operations.keys().collect::<Vec<_>>(), ["read", "update"]);
        for operation in sample.operations.values().filter(|operation| operation.requests > 0) {
            assert_eq!(LatencyHistogram::from_base64(&operation.latency).unwrap().len(), operation.requests);
        }
    }
    let operations = || samples.iter().flat_map(|sample| sample.operations.values());
    let requests: u64 = operations().map(|operation| operation.requests).sum();
    let bytes: u64 = operations().map(|operation| operation.bytes).sum();
    // Each thread may have counted a request but not yet its bytes.
    assert!(bytes > (requests - 2) * 1000, "{bytes} bytes of {requests} requests");
    assert_eq!(dir.path().read_dir().unwrap().count(), 0, "the null engine leaves nothing behind");
}

#[test]
fn a_setting_is_refused_and_the_run_goes_on() {
    let dir = disk();
    let settings = null("ycsb-c");
    let (result, received) = drive(&job(&dir, &settings), |message, controls| match message {
        Message::Ready { .. } => controls.send("set threads=4".parse().unwrap()).unwrap(),
        Message::Refused { .. } => controls.send(Control::Go).unwrap(),
        Message::Sample(_) => controls.send(Control::Stop).unwrap(),
        _ => {}
    });
    result.unwrap();
    assert!(!samples(&received).is_empty());
}

#[test]
fn settings_change_while_requests_are_sent() {
    let dir = disk();
    let settings = KvSettings { threads: Some(2), ..null("ycsb-c") };
    let mut changed = false;
    let (result, received) = drive(&job(&dir, &settings), |message, controls| match message {
        Message::Ready { .. } => controls.send(Control::Go).unwrap(),
        Message::Sample(sample) if !changed => {
            assert_eq!(sample.operations.keys().collect::<Vec<_>>(), ["read"]);
            changed = true;
            controls.send("set read_proportion=0 update_proportion=1 distribution=uniform".parse().unwrap()).unwrap();
        }
        Message::Sample(sample) if sample.operations.get("update").is_some_and(|update| update.requests > 0) => {
            controls.send(Control::Stop).unwrap();
        }
        _ => {}
    });
    result.unwrap();
    let place = received.iter().position(|message| matches!(message, Message::Setting { .. })).unwrap();
    let Message::Setting { t_ns, settings } = &received[place] else { unreachable!() };
    assert_eq!((&settings["update_proportion"], &settings["distribution"]), (&1.0.into(), &"uniform".into()));
    let (before, after) = (samples(&received[..place]), samples(&received[place..]));
    assert!(before.iter().all(|sample| sample.t_ns <= *t_ns && !sample.operations.contains_key("update")));
    for sample in after {
        assert!(sample.t_ns - sample.length_ns <= *t_ns || sample.operations["read"].requests == 0, "{sample:?}");
    }
    for pair in samples(&received).windows(2) {
        assert_eq!(pair[1].t_ns - pair[1].length_ns, pair[0].t_ns, "a change leaves no gap");
    }
}

#[test]
fn a_timetable_changes_settings_of_itself() {
    let dir = disk();
    let script = Some("1ms: rate = 1000; 2ms: rate = null".to_owned());
    let settings = KvSettings { script, ..null("ycsb-c") };
    let mut changes = 0;
    let (result, received) = drive(&job(&dir, &settings), |message, controls| match message {
        Message::Ready { .. } => controls.send(Control::Go).unwrap(),
        Message::Setting { .. } => {
            changes += 1;
            if changes == 2 {
                controls.send(Control::Stop).unwrap();
            }
        }
        _ => {}
    });
    result.unwrap();
    assert_eq!(facts_of(&received)["loop"], "closed");
}

#[test]
fn an_open_loop_sends_no_more_than_arrives_and_tells_both_times() {
    let dir = disk();
    let settings = KvSettings { rate: Some("2000".parse().unwrap()), threads: Some(2), ..null("ycsb-c") };
    let begin_ns = MonotonicClock.now_ns();
    let (result, received) = drive(&job(&dir, &settings), go_for(4));
    let length_ns = MonotonicClock.now_ns() - begin_ns;
    result.unwrap();
    assert_eq!(facts_of(&received)["loop"], "open");
    let samples = samples(&received);
    let requests: u64 = samples.iter().map(|sample| sample.operations["read"].requests + sample.dropped).sum();
    assert!(requests <= length_ns / 500_000 + 1, "{requests} in {length_ns} ns");
    let mut counted = [0; 2];
    for read in samples.iter().map(|sample| &sample.operations["read"]).filter(|read| !read.response.is_empty()) {
        let [service, response] = [&read.latency, &read.response].map(|text| match text.as_str() {
            "" => LatencyHistogram::new(),
            text => LatencyHistogram::from_base64(text).unwrap(),
        });
        counted = [counted[0] + service.len(), counted[1] + response.len()];
        assert!(service.is_empty() || response.max_ns() >= service.quantile_ns(0.0));
    }
    // A request in flight at the last sample may be counted as one of both.
    assert!(counted[0].abs_diff(counted[1]) <= 2, "{counted:?}");
}

#[test]
fn nothing_is_sampled_while_waiting() {
    let dir = disk();
    let settings = null("ycsb-c");
    let mut waited = false;
    let (result, received) = drive(&job(&dir, &settings), |message, controls| match message {
        Message::Ready { .. } => controls.send(Control::Go).unwrap(),
        Message::Sample(_) if !waited => {
            waited = true;
            for control in [Control::Wait, Control::Wait, Control::Go, Control::Stop] {
                controls.send(control).unwrap();
            }
        }
        _ => {}
    });
    result.unwrap();
    let samples = samples(&received);
    let gaps = samples.windows(2).filter(|pair| pair[1].t_ns - pair[1].length_ns > pair[0].t_ns).count();
    assert!(samples.len() >= 3 && gaps == 1, "{samples:?}");
}

mod on_rocksdb {
    use super::*;

    fn small(workload: &str, load: LoadMethod) -> KvSettings {
        let table = serde_json::json!({"write_buffer_size": 1 << 20, "target_file_size_base": 1 << 18});
        let serde_json::Value::Object(table) = table else { unreachable!() };
        KvSettings {
            engine: "rocksdb".to_owned(),
            options: Some(EngineOptions::Table(table)),
            records: Some(3000),
            load,
            threads: Some(2),
            ..null(workload)
        }
    }

    #[test]
    fn every_core_workload_runs_verified_after_either_load() {
        for (workload, load) in [
            ("ycsb-a", LoadMethod::Bulk),
            ("ycsb-b", LoadMethod::Puts),
            ("ycsb-c", LoadMethod::Bulk),
            ("ycsb-d", LoadMethod::Puts),
            ("ycsb-e", LoadMethod::Bulk),
            ("ycsb-f", LoadMethod::Puts),
        ] {
            let dir = disk();
            let settings = small(workload, load);
            let (result, received) = drive(&job(&dir, &settings), go_for(3));
            result.unwrap();
            let facts = facts_of(&received);
            assert_eq!((&facts["engine"], &facts["records"]), (&"rocksdb".into(), &3000.into()));
            assert_eq!(facts["state_units"]["level0_bytes"], "B");
            let all: u64 =
                samples(&received).iter().flat_map(|sample| sample.operations.values()).map(|op| op.requests).sum();
            assert!(all > 0, "{workload}");
            assert!(samples(&received).iter().any(|sample| sample.state.contains_key("level6_bytes")));
        }
    }

    #[test]
    fn a_database_is_reused_on_request_and_refused_when_foreign() {
        let dir = disk();
        let settings = small("ycsb-c", LoadMethod::Bulk);
        let mut job = job(&dir, &settings);
        drive(&job, go_for(1)).0.unwrap();
        job.existing = DatabaseReuse::Reuse;
        let (result, received) = drive(&job, go_for(1));
        assert!(result.unwrap().database.unwrap().is_reused());
        assert_eq!(facts_of(&received)["reused"], true);
        assert!(!received.iter().any(|message| matches!(message, Message::Progress { .. })));
        let larger = KvSettings { records: Some(4000), ..settings };
        let error = drive(&on(&job, &larger), go_for(1)).0.unwrap_err().to_string();
        assert!(error.contains("records 3000, wanted 4000"), "{error}");
    }

    #[test]
    fn a_database_that_grew_is_not_taken_for_the_one_that_was_loaded() {
        let dir = disk();
        let settings = small("ycsb-d", LoadMethod::Bulk);
        let mut job = job(&dir, &settings);
        let (result, received) = drive(&job, go_for(1));
        result.unwrap();
        assert_eq!(facts_of(&received)["unstable"], "it inserts records");
        job.existing = DatabaseReuse::Reuse;
        for workload in ["ycsb-d", "ycsb-c"] {
            let again = KvSettings { workload: workload.to_owned(), ..settings.clone() };
            let error = drive(&on(&job, &again), go_for(1)).0.unwrap_err().to_string();
            assert!(error.contains("it was changed by a run that inserts or deletes"), "{error}");
        }
        job.existing = DatabaseReuse::Remake;
        drive(&job, go_for(1)).0.unwrap();
    }

    #[test]
    fn a_change_that_inserts_marks_the_database_as_well() {
        let dir = disk();
        let settings = small("ycsb-c", LoadMethod::Bulk);
        let mut job = job(&dir, &settings);
        let (result, received) = drive(&job, |message, controls| match message {
            Message::Ready { .. } => controls.send("set insert_proportion=0.5".parse().unwrap()).unwrap(),
            Message::Setting { .. } => controls.send(Control::Stop).unwrap(),
            _ => {}
        });
        result.unwrap();
        assert!(!facts_of(&received).contains_key("unstable"));
        job.existing = DatabaseReuse::Reuse;
        let error = drive(&job, go_for(1)).0.unwrap_err().to_string();
        assert!(error.contains("it was changed by a run"), "{error}");
    }

    #[test]
    fn a_part_of_the_records_is_loaded_in_order_and_read() {
        for load in [LoadMethod::Bulk, LoadMethod::Puts] {
            let dir = disk();
            let mut settings = small("ycsb-a", load);
            for (name, value) in [("insertstart", "1000"), ("insertcount", "500"), ("insertorder", "ordered")] {
                settings.properties.insert(name.to_owned(), value.to_owned());
            }
            let (result, received) = drive(&job(&dir, &settings), go_for(2));
            result.unwrap();
            let facts = facts_of(&received);
            assert_eq!((&facts["records"], &facts["loaded"]), (&3000.into(), &500.into()));
            let number = |name: &str| facts[name].as_f64().unwrap();
            assert!(number("record_bytes") > number("value_bytes"), "keys count too: {facts:?}");
        }
    }

    #[test]
    fn a_stop_while_loading_leaves_no_database_that_passes_for_loaded() {
        let dir = disk();
        let settings = KvSettings { records: Some(200_000), ..small("ycsb-c", LoadMethod::Bulk) };
        let mut job = job(&dir, &settings);
        let stop = |message: &Message, controls: &Sender<Control>| {
            if matches!(message, Message::Progress { .. }) {
                let _ = controls.send(Control::Stop);
            }
        };
        let (result, received) = drive(&job, stop);
        result.unwrap();
        assert!(!received.iter().any(|message| matches!(message, Message::Ready { .. })));
        job.existing = DatabaseReuse::Reuse;
        let few = KvSettings { records: Some(200_000), ..settings };
        let (result, received) = drive(&on(&job, &few), stop);
        assert!(!result.unwrap().database.unwrap().is_reused());
        assert!(received.iter().any(|message| matches!(message, Message::Progress { .. })));
    }

    #[test]
    fn a_record_that_is_gone_ends_the_run() {
        let dir = disk();
        let settings = KvSettings { threads: Some(1), ..small("ycsb-c", LoadMethod::Bulk) };
        let mut job = job(&dir, &settings);
        let finished = drive(&job, go_for(1)).0.unwrap();
        let folder = finished.database.as_ref().unwrap().database();
        drop(finished);
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::create_dir(&folder).unwrap();
        job.existing = DatabaseReuse::Reuse;
        let error = drive(&job, go_for(usize::MAX)).0.unwrap_err();
        assert!(matches!(error, KvError::Lost { .. }), "{error}");
    }

    #[test]
    fn a_disk_that_fills_while_loading_is_named_and_nothing_passes_for_loaded() {
        let place = disk();
        let Some(_small) = SmallDisk::at(place.path(), 48 << 20) else { return };
        for load in [LoadMethod::Bulk, LoadMethod::Puts] {
            let settings = KvSettings { records: Some(200_000), ..small("ycsb-c", load) };
            let mut job = Job { ..job(&place, &settings) };
            job.name = if load == LoadMethod::Bulk { "bulk" } else { "puts" }.to_owned();
            let error = drive(&job, go_for(1)).0.unwrap_err();
            assert!(error.to_string().contains("no space left"), "{load:?}: {error}");
            let fewer = KvSettings { records: Some(100), ..settings };
            job.existing = DatabaseReuse::Reuse;
            assert!(drive(&on(&job, &fewer), go_for(1)).0.is_err(), "half a database was taken for a whole one");
            std::fs::remove_dir_all(place.path().join(&job.name)).unwrap();
        }
    }
}

/// A short run on an engine that is a server.
fn on_server(engine: &str, options: serde_json::Value) -> KvSettings {
    let serde_json::Value::Object(table) = options else { panic!("{options}") };
    KvSettings {
        engine: engine.to_owned(),
        options: Some(EngineOptions::Table(table)),
        records: Some(500),
        threads: Some(2),
        ..null("ycsb-a")
    }
}

#[test]
fn a_foreign_server_is_emptied_only_on_request() {
    for name in ["redis", "memcached"] {
        let info = manometer_target::engine::find(name).unwrap();
        if (info.version)() == "not installed" {
            skip(Cause::Program, format_args!("{name} is not installed"));
            continue;
        }
        let theirs_dir = disk();
        let theirs = (info.open)(&OpenRequest {
            directory: &theirs_dir.path().join("db"),
            options: &manometer_target::engine::EngineOptions::default(),
            value_bytes: 0,
        })
        .unwrap();
        let address = theirs.facts()["address"].clone();
        let run_there = |options: serde_json::Value, existing| {
            let dir = disk();
            let settings = on_server(name, options);
            let job = Job { existing, ..job(&dir, &settings) };
            drive(&job, go_for(1))
        };

        let (result, received) = run_there(json!({ "address": address }), DatabaseReuse::Remake);
        let finished = result.unwrap();
        assert!(finished.database.is_none() && finished.external.is_none());
        let note = facts_of(&received)["notes"].to_string();
        assert!(note.contains("the records stay"), "{note}");
        assert_eq!(facts_of(&received)["own_server"], false);

        let (result, received) = run_there(json!({ "address": address }), DatabaseReuse::Reuse);
        result.unwrap();
        assert_eq!(facts_of(&received)["reused"], true, "{name}");

        theirs.session().put(b"precious", b"1").unwrap();
        let (result, _) = run_there(json!({ "address": address }), DatabaseReuse::Remake);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("flush = true"), "{error}");
        assert!(theirs.session().get(b"precious").unwrap().is_some());

        let (result, _) = run_there(json!({ "address": address, "flush": true }), DatabaseReuse::Remake);
        let left = result.unwrap().external.unwrap();
        assert!(theirs.session().get(b"precious").unwrap().is_none());
        assert!(theirs.session().get(b"manometer:marker").unwrap().is_some());
        left.remove().unwrap();
        assert!(theirs.session().get(b"manometer:marker").unwrap().is_none(), "{name}");
    }
}

#[test]
fn a_server_of_our_own_is_measured_and_says_what_a_put_survives() {
    if (manometer_target::engine::find("redis").unwrap().version)() == "not installed" {
        return skip(Cause::Program, "redis-server is not installed");
    }
    let dir = disk();
    let settings = on_server("redis", json!({"appendonly": true}));
    let (result, received) = drive(&job(&dir, &settings), go_for(2));
    assert!(result.unwrap().database.is_some());
    let facts = facts_of(&received);
    assert!(facts["durability"].as_str().unwrap().starts_with("append-only file"), "{facts:?}");
    assert!(samples(&received).iter().any(|sample| sample.operations["update"].requests > 0));
}

#[test]
fn samples_keep_coming_while_a_server_hangs_with_a_gap_for_its_state() {
    use rustix::process::{Pid, Signal, kill_process};
    if (manometer_target::engine::find("redis").unwrap().version)() == "not installed" {
        return skip(Cause::Program, "redis-server is not installed");
    }
    let dir = disk();
    let settings = on_server("redis", json!({}));
    let (mut server, mut hung, mut is_stopped, mut goes_on) = (None, 0, false, false);
    let (result, _) = drive(&job(&dir, &settings), |message, controls| match message {
        Message::Ready { facts } => {
            server = Pid::from_raw(i32::try_from(facts["pid"].as_u64().unwrap()).unwrap());
            controls.send(Control::Go).unwrap();
        }
        Message::Sample(sample) => {
            let answers = sample.state.contains_key("used_memory");
            if answers && !is_stopped {
                is_stopped = true;
                kill_process(server.unwrap(), Signal::STOP).unwrap();
            } else if is_stopped && !answers {
                hung += 1;
                if hung == 3 {
                    kill_process(server.unwrap(), Signal::CONT).unwrap();
                }
            } else if hung >= 3 && !goes_on {
                goes_on = true;
                controls.send(Control::Stop).unwrap();
            }
        }
        _ => {}
    });
    result.unwrap();
    assert!(goes_on && hung >= 3);
}
