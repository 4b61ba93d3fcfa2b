use std::sync::mpsc::{Sender, channel};

use manometer_measure::{LatencyHistogram, MonotonicClock};

use super::*;
use crate::kv::{EngineOptions, LoadMethod};
use crate::protocol::{Control, Existing, Sample};
use crate::settings::WorkloadSettings;

#[path = "run_db_bench_tests.rs"]
mod db_bench;

/// A folder on a disk.
fn disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn job(dir: &tempfile::TempDir, settings: &KvSettings) -> Job {
    Job {
        name: "primary".to_owned(),
        directory: dir.path().to_owned(),
        existing: Existing::Remake,
        interval_ms: 20,
        seed: 1,
        removes: false,
        workload: WorkloadSettings::Kv(settings.clone()),
    }
}

fn null(workload: &str) -> KvSettings {
    KvSettings { engine: "null".to_owned(), workload: workload.to_owned(), ..KvSettings::default() }
}

/// Runs a job; `react` answers each message with control lines.
fn drive(
    job: &Job,
    settings: &KvSettings,
    mut react: impl FnMut(&Message, &Sender<Control>) + Send,
) -> (Result<Finished, KvError>, Vec<Message>) {
    let (sender, receiver) = channel();
    let mut heard = Vec::new();
    let mut sink = |message: Message| {
        react(&message, &sender);
        heard.push(message);
        Ok(())
    };
    let result = run(job, settings, &Controls::new(receiver), &mut sink, &MonotonicClock);
    (result, heard)
}

/// Goes when ready and stops after `count` samples in which something happened.
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

fn samples(heard: &[Message]) -> Vec<&Sample> {
    heard.iter().filter_map(|message| if let Message::Sample(sample) = message { Some(sample) } else { None }).collect()
}

fn facts_of(heard: &[Message]) -> &Settings {
    heard.iter().find_map(|message| if let Message::Ready { facts } = message { Some(facts) } else { None }).unwrap()
}

#[test]
fn samples_follow_one_another_and_count_every_request() {
    let dir = disk();
    let settings = KvSettings { threads: Some(2), ..null("ycsb-a") };
    let (result, heard) = drive(&job(&dir, &settings), &settings, go_for(3));
    result.unwrap();
    let samples = samples(&heard);
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
    // Each thread may have counted a request whose bytes it had not yet.
    assert!(bytes > (requests - 2) * 1000, "{bytes} bytes of {requests} requests");
    assert_eq!(dir.path().read_dir().unwrap().count(), 0, "the null engine leaves nothing behind");
}

#[test]
fn a_setting_is_refused_and_the_run_goes_on() {
    let dir = disk();
    let settings = null("ycsb-c");
    let (result, heard) = drive(&job(&dir, &settings), &settings, |message, controls| match message {
        Message::Ready { .. } => controls.send("set threads=4".parse().unwrap()).unwrap(),
        Message::Refused { .. } => controls.send(Control::Go).unwrap(),
        Message::Sample(_) => controls.send(Control::Stop).unwrap(),
        _ => {}
    });
    result.unwrap();
    assert!(!samples(&heard).is_empty());
}

#[test]
fn settings_change_while_requests_are_sent() {
    let dir = disk();
    let settings = KvSettings { threads: Some(2), ..null("ycsb-c") };
    let mut changed = false;
    let (result, heard) = drive(&job(&dir, &settings), &settings, |message, controls| match message {
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
    let place = heard.iter().position(|message| matches!(message, Message::Setting { .. })).unwrap();
    let Message::Setting { t_ns, settings } = &heard[place] else { unreachable!() };
    assert_eq!((&settings["update_proportion"], &settings["distribution"]), (&1.0.into(), &"uniform".into()));
    let (before, after) = (samples(&heard[..place]), samples(&heard[place..]));
    assert!(before.iter().all(|sample| sample.t_ns <= *t_ns && !sample.operations.contains_key("update")));
    for sample in after {
        assert!(sample.t_ns - sample.length_ns <= *t_ns || sample.operations["read"].requests == 0, "{sample:?}");
    }
    for pair in samples(&heard).windows(2) {
        assert_eq!(pair[1].t_ns - pair[1].length_ns, pair[0].t_ns, "a change leaves no gap");
    }
}

#[test]
fn a_timetable_changes_settings_of_itself() {
    let dir = disk();
    let script = Some("1ms: rate = 1000; 2ms: rate = null".to_owned());
    let settings = KvSettings { script, ..null("ycsb-c") };
    let mut changes = 0;
    let (result, heard) = drive(&job(&dir, &settings), &settings, |message, controls| match message {
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
    assert_eq!(facts_of(&heard)["loop"], "closed");
}

#[test]
fn an_open_loop_sends_no_more_than_arrives_and_tells_both_times() {
    let dir = disk();
    let settings = KvSettings { rate: Some("2000".parse().unwrap()), threads: Some(2), ..null("ycsb-c") };
    let begin_ns = MonotonicClock.now_ns();
    let (result, heard) = drive(&job(&dir, &settings), &settings, go_for(4));
    let length_ns = MonotonicClock.now_ns() - begin_ns;
    result.unwrap();
    assert_eq!(facts_of(&heard)["loop"], "open");
    let samples = samples(&heard);
    let requests: u64 = samples.iter().map(|sample| sample.operations["read"].requests + sample.dropped).sum();
    assert!(requests <= length_ns / 500_000 + 1, "{requests} in {length_ns} ns");
    for read in samples.iter().map(|sample| &sample.operations["read"]).filter(|read| read.requests > 0) {
        let [service, response] =
            [&read.latency, &read.response].map(|text| LatencyHistogram::from_base64(text).unwrap());
        // Each thread may have counted one of both and not yet the other.
        assert!(service.len().abs_diff(response.len()) <= 2);
        assert!(response.max_ns() >= service.quantile_ns(0.0));
    }
}

#[test]
fn nothing_is_sampled_while_waiting() {
    let dir = disk();
    let settings = null("ycsb-c");
    let mut waited = false;
    let (result, heard) = drive(&job(&dir, &settings), &settings, |message, controls| match message {
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
    let samples = samples(&heard);
    let gaps = samples.windows(2).filter(|pair| pair[1].t_ns - pair[1].length_ns > pair[0].t_ns).count();
    assert!(samples.len() >= 3 && gaps == 1, "{samples:?}");
}

#[cfg(feature = "rocksdb")]
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
            let (result, heard) = drive(&job(&dir, &settings), &settings, go_for(3));
            result.unwrap();
            let facts = facts_of(&heard);
            assert_eq!((&facts["engine"], &facts["records"]), (&"rocksdb".into(), &3000.into()));
            assert_eq!(facts["state_units"]["level0_bytes"], "B");
            let all: u64 =
                samples(&heard).iter().flat_map(|sample| sample.operations.values()).map(|op| op.requests).sum();
            assert!(all > 0, "{workload}");
            assert!(samples(&heard).iter().any(|sample| sample.state.contains_key("level6_bytes")));
        }
    }

    #[test]
    fn a_database_is_reused_when_told_and_refused_when_it_is_anothers() {
        let dir = disk();
        let settings = small("ycsb-c", LoadMethod::Bulk);
        let mut job = job(&dir, &settings);
        drive(&job, &settings, go_for(1)).0.unwrap();
        job.existing = Existing::Reuse;
        let (result, heard) = drive(&job, &settings, go_for(1));
        assert!(result.unwrap().database.unwrap().is_reused());
        assert_eq!(facts_of(&heard)["reused"], true);
        assert!(!heard.iter().any(|message| matches!(message, Message::Progress { .. })));
        let larger = KvSettings { records: Some(4000), ..settings };
        let error = drive(&job, &larger, go_for(1)).0.unwrap_err().to_string();
        assert!(error.contains("records 3000, wanted 4000"), "{error}");
    }

    #[test]
    fn a_database_that_grew_is_not_taken_for_the_one_that_was_loaded() {
        let dir = disk();
        let settings = small("ycsb-d", LoadMethod::Bulk);
        let mut job = job(&dir, &settings);
        let (result, heard) = drive(&job, &settings, go_for(1));
        result.unwrap();
        assert_eq!(facts_of(&heard)["unstable"], "it inserts records");
        job.existing = Existing::Reuse;
        for workload in ["ycsb-d", "ycsb-c"] {
            let again = KvSettings { workload: workload.to_owned(), ..settings.clone() };
            let error = drive(&job, &again, go_for(1)).0.unwrap_err().to_string();
            assert!(error.contains("it was changed by a run that inserts or deletes"), "{error}");
        }
        job.existing = Existing::Remake;
        drive(&job, &settings, go_for(1)).0.unwrap();
    }

    #[test]
    fn a_change_that_inserts_marks_the_database_as_well() {
        let dir = disk();
        let settings = small("ycsb-c", LoadMethod::Bulk);
        let mut job = job(&dir, &settings);
        let (result, heard) = drive(&job, &settings, |message, controls| match message {
            Message::Ready { .. } => controls.send("set insert_proportion=0.5".parse().unwrap()).unwrap(),
            Message::Setting { .. } => controls.send(Control::Stop).unwrap(),
            _ => {}
        });
        result.unwrap();
        assert!(!facts_of(&heard).contains_key("unstable"));
        job.existing = Existing::Reuse;
        let error = drive(&job, &settings, go_for(1)).0.unwrap_err().to_string();
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
            let (result, heard) = drive(&job(&dir, &settings), &settings, go_for(2));
            result.unwrap();
            let facts = facts_of(&heard);
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
        let (result, heard) = drive(&job, &settings, stop);
        result.unwrap();
        assert!(!heard.iter().any(|message| matches!(message, Message::Ready { .. })));
        job.existing = Existing::Reuse;
        let few = KvSettings { records: Some(200_000), ..settings };
        let (result, heard) = drive(&job, &few, stop);
        assert!(!result.unwrap().database.unwrap().is_reused());
        assert!(heard.iter().any(|message| matches!(message, Message::Progress { .. })));
    }

    #[test]
    fn a_record_that_is_gone_ends_the_run() {
        let dir = disk();
        let settings = KvSettings { threads: Some(1), ..small("ycsb-c", LoadMethod::Bulk) };
        let mut job = job(&dir, &settings);
        let finished = drive(&job, &settings, go_for(1)).0.unwrap();
        let folder = finished.database.as_ref().unwrap().database();
        drop(finished);
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::create_dir(&folder).unwrap();
        job.existing = Existing::Reuse;
        let error = drive(&job, &settings, go_for(usize::MAX)).0.unwrap_err();
        assert!(matches!(error, KvError::Lost { .. }), "{error}");
    }

    /// A small file system in a file, mounted while this lives.
    struct SmallDisk(tempfile::TempDir);

    impl SmallDisk {
        fn new() -> Option<Self> {
            let disk = Self(disk());
            let (image, place) = (disk.0.path().join("image"), disk.place());
            std::fs::File::create(&image).unwrap().set_len(48 << 20).unwrap();
            std::fs::create_dir(&place).unwrap();
            let command = |name: &str| std::process::Command::new(name);
            let made = command("mkfs.ext4").arg("-qF").arg(&image).output().is_ok_and(|output| output.status.success());
            let mounted = || command("mount").args(["-o", "loop"]).arg(&image).arg(&place).output();
            (made && mounted().is_ok_and(|output| output.status.success())).then_some(disk)
        }

        fn place(&self) -> std::path::PathBuf {
            self.0.path().join("mounted")
        }
    }

    impl Drop for SmallDisk {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg(self.place()).output();
        }
    }

    #[test]
    fn a_disk_that_fills_while_loading_is_named_and_nothing_passes_for_loaded() {
        let Some(small_disk) = SmallDisk::new() else {
            println!("skipped: mounting a small file system needs root and loop devices");
            return;
        };
        for load in [LoadMethod::Bulk, LoadMethod::Puts] {
            let settings = KvSettings { records: Some(200_000), ..small("ycsb-c", load) };
            let mut job = Job { directory: small_disk.place(), ..job(&small_disk.0, &settings) };
            job.name = if load == LoadMethod::Bulk { "bulk" } else { "puts" }.to_owned();
            let error = drive(&job, &settings, go_for(1)).0.unwrap_err();
            assert!(error.to_string().contains("no space left"), "{load:?}: {error}");
            let fewer = KvSettings { records: Some(100), ..settings };
            job.existing = Existing::Reuse;
            assert!(drive(&job, &fewer, go_for(1)).0.is_err(), "half a database was taken for a whole one");
            std::fs::remove_dir_all(small_disk.place().join(&job.name)).unwrap();
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

#[cfg(all(feature = "memcached", feature = "redis"))]
#[test]
fn a_server_that_is_not_ours_is_emptied_only_when_told() {
    for name in ["redis", "memcached"] {
        let info = manometer_target::engine::find(name).unwrap();
        if (info.version)() == "not installed" {
            eprintln!("skipped: {name} is not installed");
            continue;
        }
        let theirs_dir = disk();
        let theirs = (info.open)(&OpenRequest {
            directory: &theirs_dir.path().join("db"),
            options: &manometer_target::engine::Options::Defaults,
            value_bytes: 0,
        })
        .unwrap();
        let address = theirs.facts()["address"].clone();
        let run_there = |options: serde_json::Value, existing| {
            let dir = disk();
            let settings = on_server(name, options);
            let job = Job { existing, ..job(&dir, &settings) };
            drive(&job, &settings, go_for(1))
        };

        let (result, heard) = run_there(json!({ "address": address }), Existing::Remake);
        let finished = result.unwrap();
        assert!(finished.database.is_none() && finished.elsewhere.is_none());
        let note = facts_of(&heard)["notes"].to_string();
        assert!(note.contains("the records stay"), "{note}");
        assert_eq!(facts_of(&heard)["own_server"], false);

        let (result, heard) = run_there(json!({ "address": address }), Existing::Reuse);
        result.unwrap();
        assert_eq!(facts_of(&heard)["reused"], true, "{name}");

        theirs.session().put(b"precious", b"1").unwrap();
        let (result, _) = run_there(json!({ "address": address }), Existing::Remake);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("flush = true"), "{error}");
        assert!(theirs.session().get(b"precious").unwrap().is_some());

        let (result, _) = run_there(json!({ "address": address, "flush": true }), Existing::Remake);
        let left = result.unwrap().elsewhere.unwrap();
        assert!(theirs.session().get(b"precious").unwrap().is_none());
        assert!(theirs.session().get(b"manometer:marker").unwrap().is_some());
        left.remove().unwrap();
        assert!(theirs.session().get(b"manometer:marker").unwrap().is_none(), "{name}");
    }
}

#[cfg(feature = "redis")]
#[test]
fn a_server_of_our_own_is_measured_and_says_what_a_put_survives() {
    if (manometer_target::engine::find("redis").unwrap().version)() == "not installed" {
        return eprintln!("skipped: redis is not installed");
    }
    let dir = disk();
    let settings = on_server("redis", json!({"appendonly": true}));
    let (result, heard) = drive(&job(&dir, &settings), &settings, go_for(2));
    assert!(result.unwrap().database.is_some());
    let facts = facts_of(&heard);
    assert!(facts["durability"].as_str().unwrap().starts_with("append-only file"), "{facts:?}");
    assert!(samples(&heard).iter().any(|sample| sample.operations["update"].requests > 0));
}

#[cfg(feature = "redis")]
#[test]
fn samples_keep_coming_while_a_server_hangs_with_a_gap_for_its_state() {
    use rustix::process::{Pid, Signal, kill_process};
    if (manometer_target::engine::find("redis").unwrap().version)() == "not installed" {
        return eprintln!("skipped: redis is not installed");
    }
    let dir = disk();
    let settings = on_server("redis", json!({}));
    let (mut server, mut hung, mut told, mut goes_on) = (None, 0, false, false);
    let (result, _) = drive(&job(&dir, &settings), &settings, |message, controls| match message {
        Message::Ready { facts } => {
            server = Pid::from_raw(i32::try_from(facts["pid"].as_u64().unwrap()).unwrap());
            controls.send(Control::Go).unwrap();
        }
        Message::Sample(sample) => {
            let answers = sample.state.contains_key("used_memory");
            if answers && !told {
                told = true;
                kill_process(server.unwrap(), Signal::STOP).unwrap();
            } else if told && !answers {
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
