//! Tests of complete runs on a real file system, and of their failures.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use manometer_measure::{ByteSize, LatencyHistogram, MonotonicClock};
use manometer_target::engine::EngineError;
use manometer_target::file::FileError;
use serde_json::{Value, json};

use manometer_session::control::Controls;
use manometer_session::error::SessionError;
use manometer_session::protocol::{Control, DatabaseReuse, Job, Message};
use manometer_session::worker_loop;
use manometer_workload::files::{FilesError, FilesSettings, Personality};
use manometer_workload::settings::WorkloadSettings;

use crate::files_support::{Totals, disk, drive, facts_of, files_in, go_until, prepare, samples};

const FILES: u64 = 50;
const MEAN_BYTES: u64 = 8 << 10;

/// Small settings: a few hundred KiB of files or, for a database, 4 MiB and the log.
fn small(personality: Personality) -> FilesSettings {
    let settings = FilesSettings { threads: Some(4), ..FilesSettings::of(personality) };
    match personality {
        Personality::Oltp => FilesSettings { files: Some(2), mean_file_size: Some(ByteSize(2 << 20)), ..settings },
        Personality::Fileserver | Personality::Varmail => FilesSettings {
            files: Some(FILES),
            mean_file_size: Some(ByteSize(MEAN_BYTES)),
            mean_append_size: Some(ByteSize(1 << 10)),
            ..settings
        },
    }
}

fn job(directory: &Path, settings: &FilesSettings) -> Job {
    Job {
        name: "files".to_owned(),
        directory: directory.to_owned(),
        existing: DatabaseReuse::Remake,
        interval_ms: 20,
        seed: 1,
        removes: false,
        waits: false,
        clients: None,
        share: None,
        workload: WorkloadSettings::Files(settings.clone()),
    }
}

fn data(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("files/db")
}

#[test]
fn each_personality_does_all_it_does_and_its_samples_tell_all_of_it() {
    for (personality, operations) in [
        (Personality::Fileserver, "append create delete open read stat write"),
        (Personality::Varmail, "append create delete fsync open read"),
        (Personality::Oltp, "log read write"),
    ] {
        let dir = disk();
        let job = job(dir.path(), &small(personality));
        let (result, received) = drive(&job, go_until(|totals| totals.all_have(1) && totals.requests("read") >= 20));
        result.unwrap();
        let samples = samples(&received);
        for pair in samples.windows(2) {
            assert_eq!(pair[1].t_ns - pair[1].length_ns, pair[0].t_ns, "nothing is missing or counted twice");
        }
        for sample in &samples {
            assert_eq!(sample.operations.keys().cloned().collect::<Vec<_>>().join(" "), operations);
            for done in sample.operations.values().filter(|done| done.requests > 0) {
                assert_eq!(LatencyHistogram::from_base64(&done.latency).unwrap().len(), done.requests);
            }
        }
        assert_eq!(Totals::of(&received).missing(), 0);
        let facts = facts_of(&received);
        assert_eq!((&facts["personality"], &facts["reused"]), (&json!(personality.name()), &json!(false)));
        assert!(facts["scale"].as_f64().unwrap() < 0.01 && facts["notes"][0].is_string(), "{facts}");
    }
}

#[test]
fn what_is_made_first_is_four_fifths_of_the_files_with_sizes_that_the_seed_draws() {
    let (dir, again, other) = (disk(), disk(), disk());
    let settings = small(Personality::Fileserver);
    let of = |dir: &tempfile::TempDir, seed| {
        prepare(&Job { seed, ..job(dir.path(), &settings) }).0.unwrap();
        let root = data(dir);
        files_in(&root).into_iter().map(|(path, bytes)| (path.strip_prefix(&root).unwrap().to_owned(), bytes)).collect()
    };
    let made: BTreeMap<PathBuf, u64> = of(&dir, 1);
    assert_eq!(made.len() as u64, FILES * 4 / 5);
    assert!(made.keys().all(|path| path.components().count() == 2), "fifty files, twenty in a directory");
    assert_eq!(of(&again, 1), made);
    assert_ne!(of(&other, 2), made);
}

#[test]
fn what_is_there_at_the_end_is_what_was_counted() {
    for personality in [Personality::Fileserver, Personality::Varmail] {
        let dir = disk();
        let (result, received) = drive(&job(dir.path(), &small(personality)), go_until(|totals| totals.all_have(30)));
        result.unwrap();
        let totals = Totals::of(&received);
        let left = FILES * 4 / 5 + totals.requests("create") - totals.requests("delete");
        assert_eq!(files_in(&data(&dir)).len() as u64, left);
        assert!(totals.requests("append") <= totals.bytes("append"));
        assert!(totals.bytes("append") < totals.requests("append") * (2 << 10));
        assert_eq!([totals.bytes("create"), totals.bytes("delete"), totals.bytes("open")], [0; 3]);
    }
    let dir = disk();
    prepare(&job(dir.path(), &small(Personality::Varmail))).0.unwrap();
    assert!(files_in(&data(&dir)).keys().all(|path| path.parent() == Some(&data(&dir))), "mail lies in one directory");
}

#[test]
fn a_database_keeps_its_files_and_reads_and_writes_blocks() {
    let dir = disk();
    let settings = small(Personality::Oltp);
    let job = job(dir.path(), &settings);
    let (result, received) = drive(&job, go_until(|totals| totals.requests("read") >= 1000));
    result.unwrap();
    let (totals, facts) = (Totals::of(&received), facts_of(&received));
    let block = facts["request_bytes"].as_u64().unwrap();
    assert!(block >= 2048 && block.is_power_of_two());
    let noted = facts["notes"].to_string().contains("direct I/O takes whole blocks here");
    assert_eq!(noted, block != 2048, "{facts}");
    assert_eq!(totals.bytes("read"), totals.requests("read") * block);
    assert_eq!(totals.bytes("write"), totals.requests("write") * block);
    assert_eq!(totals.bytes("log"), totals.requests("log") * (256 << 10));
    assert_eq!(totals.requests("write") % 100, 0, "batches are written to their end");
    let lengths: Vec<u64> = files_in(&data(&dir)).into_values().collect();
    assert_eq!(lengths, [2 << 20, 2 << 20, 10 << 20]);
    let again = Job { existing: DatabaseReuse::Renew, ..job };
    let (result, received) = prepare(&again);
    result.unwrap();
    assert_eq!(facts_of(&received)["reused"], true, "another run finds what it wants");
    let cached = FilesSettings { direct: Some(false), ..settings };
    let cached = Job { workload: WorkloadSettings::Files(cached), ..again };
    let (result, received) = drive(&cached, go_until(|totals| totals.all_have(1)));
    result.unwrap();
    assert_eq!(facts_of(&received)["request_bytes"], 2048, "the page cache takes any");
}

#[test]
fn files_that_a_run_changed_are_made_anew_and_never_reused() {
    let dir = disk();
    let fresh = job(dir.path(), &small(Personality::Varmail));
    drive(&fresh, go_until(|totals| totals.all_have(1))).0.unwrap();
    let reuse = Job { existing: DatabaseReuse::Reuse, ..fresh.clone() };
    let error = prepare(&reuse).0.unwrap_err();
    assert!(matches!(&error, FilesError::Folder(EngineError::DatabaseMismatch { .. })), "{error}");
    let renew = Job { existing: DatabaseReuse::Renew, ..fresh.clone() };
    let (result, received) = prepare(&renew);
    result.unwrap();
    assert_eq!(facts_of(&received)["reused"], false);
    assert_eq!(files_in(&data(&dir)).len() as u64, FILES * 4 / 5);
    let other = FilesSettings { files: Some(20), ..small(Personality::Varmail) };
    let other = Job { workload: WorkloadSettings::Files(other), ..fresh };
    assert!(matches!(prepare(&other).0, Err(FilesError::Folder(EngineError::DatabaseMismatch { .. }))));
}

#[test]
fn threads_and_rate_change_while_it_runs_and_nothing_else_does() {
    let dir = disk();
    let mut changes = ["set threads=8 rate=100000/s", "set files=9", "set threads=1", "set thread=3"].into_iter();
    let (result, received) =
        drive(&job(dir.path(), &small(Personality::Fileserver)), |message, controls| match message {
            Message::Ready { .. } => controls.send(Control::Go).unwrap(),
            Message::Sample(sample) if sample.operations["stat"].requests > 0 => {
                controls.send(changes.next().map_or(Control::Stop, |line| line.parse().unwrap())).unwrap();
            }
            _ => {}
        });
    result.unwrap();
    let changes: Vec<Value> = received
        .iter()
        .filter_map(
            |message| if let Message::Setting { settings, .. } = message { Some(json!(settings)) } else { None },
        )
        .collect();
    assert_eq!(changes, [json!({ "threads": 8, "rate": "100000/s" }), json!({ "threads": 1 })]);
    let refused: Vec<&str> = received
        .iter()
        .filter_map(|message| if let Message::Refused { reason, .. } = message { Some(reason.as_str()) } else { None })
        .collect();
    assert!(refused.len() == 2 && refused[0].contains("start") && refused[1].contains("`threads`"), "{refused:?}");
}

#[test]
fn a_pause_ends_and_samples_come_all_the_while() {
    let dir = disk();
    let mut quiet = 0;
    let mut paused = false;
    let (result, received) =
        drive(&job(dir.path(), &small(Personality::Oltp)), move |message, controls| match message {
            Message::Ready { .. } => controls.send(Control::Go).unwrap(),
            Message::Sample(sample) => {
                let requests: u64 = sample.operations.values().map(|done| done.requests).sum();
                match (paused, requests) {
                    (false, 1..) => {
                        paused = true;
                        controls.send(Control::Wait).unwrap();
                    }
                    (true, 0) if quiet == 0 => {
                        quiet += 1;
                        controls.send(Control::Go).unwrap();
                    }
                    (true, 1..) if quiet > 0 => controls.send(Control::Stop).unwrap(),
                    _ => {}
                }
            }
            _ => {}
        });
    result.unwrap();
    assert!(samples(&received).len() >= 3);
}

#[test]
fn a_stop_while_files_are_made_ends_it_and_the_rest_is_made_next_time() {
    let dir = disk();
    let job = job(dir.path(), &small(Personality::Fileserver));
    let (result, received) = drive(&job, |message, controls| {
        if matches!(message, Message::Progress { .. }) {
            controls.send(Control::Stop).unwrap();
        }
    });
    result.unwrap();
    assert!(received.iter().all(|message| matches!(message, Message::Progress { .. })), "{received:?}");
    prepare(&job).0.unwrap();
    assert_eq!(files_in(&data(&dir)).len() as u64, FILES * 4 / 5);
}

#[test]
fn files_that_somebody_removes_are_counted_as_missing() {
    for personality in [Personality::Fileserver, Personality::Varmail] {
        let dir = disk();
        let root = data(&dir);
        let mut missing = go_until(|totals| totals.missing() > 0 && totals.requests("read") > 0);
        let (result, received) = drive(&job(dir.path(), &small(personality)), move |message, controls| {
            if matches!(message, Message::Ready { .. }) {
                files_in(&root).keys().for_each(|path| fs::remove_file(path).unwrap());
            }
            missing(message, controls);
        });
        result.unwrap();
        assert!(Totals::of(&received).requests("create") > 0);
    }
}

#[test]
fn a_directory_that_somebody_removes_ends_the_run_and_is_named() {
    for personality in [Personality::Fileserver, Personality::Varmail] {
        let dir = disk();
        let root = data(&dir);
        let (result, _) = drive(&job(dir.path(), &small(personality)), move |message, controls| {
            if matches!(message, Message::Ready { .. }) {
                fs::remove_dir_all(&root).unwrap();
                controls.send(Control::Go).unwrap();
            }
        });
        let error = result.unwrap_err();
        assert!(matches!(error, FilesError::DirectoryRemoved { .. }), "{error}");
        assert!(error.to_string().contains("files/db") && error.to_string().contains("its directory is gone"));
    }
}

#[test]
fn a_database_file_that_is_gone_or_cut_is_named() {
    let dir = disk();
    let fresh = job(dir.path(), &small(Personality::Oltp));
    prepare(&fresh).0.unwrap();
    let renew = Job { existing: DatabaseReuse::Renew, ..fresh };
    let cut = data(&dir).join("1.data");
    fs::OpenOptions::new().write(true).open(&cut).unwrap().set_len(0).unwrap();
    let error = prepare(&renew).0.unwrap_err();
    assert!(matches!(error, FilesError::Truncated(_)), "{error}");
    assert!(error.to_string().contains("1.data"), "{error}");
    fs::remove_file(&cut).unwrap();
    let error = prepare(&renew).0.unwrap_err();
    assert!(matches!(error, FilesError::File(FileError::System { .. })), "{error}");
    assert!(error.to_string().contains("1.data"), "{error}");
}

#[test]
fn a_database_file_that_is_cut_while_it_is_read_ends_the_run() {
    let dir = disk();
    let cut = data(&dir).join("1.data");
    let (result, _) = drive(&job(dir.path(), &small(Personality::Oltp)), move |message, controls| match message {
        Message::Ready { .. } => controls.send(Control::Go).unwrap(),
        // Writers extend it again: it is truncated until a reader finds it short.
        Message::Sample(_) => fs::OpenOptions::new().write(true).open(&cut).unwrap().set_len(0).unwrap(),
        _ => {}
    });
    let error = result.unwrap_err();
    assert!(matches!(error, FilesError::Truncated(_)), "{error}");
}

#[test]
fn files_that_do_not_fit_are_refused_before_one_is_made() {
    for personality in [Personality::Fileserver, Personality::Oltp] {
        let dir = disk();
        let large = FilesSettings { mean_file_size: Some(ByteSize(1 << 45)), ..small(personality) };
        let error = prepare(&job(dir.path(), &large)).0.unwrap_err();
        let FilesError::NoSpace { setting, .. } = &error else { panic!("{error}") };
        assert!(error.to_string().contains(&format!("set `{setting}` lower")), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
    }
}

#[test]
fn a_place_in_memory_or_of_somebody_else_or_that_cannot_be_is_refused() {
    let settings = small(Personality::Varmail);
    let of = |directory: &Path| prepare(&job(directory, &settings)).0.unwrap_err();
    let error = of(Path::new("/dev/shm"));
    assert!(matches!(error, FilesError::Folder(EngineError::InMemoryFileSystem(_))), "{error}");
    let dir = disk();
    fs::write(dir.path().join("plain"), "").unwrap();
    let error = of(&dir.path().join("plain"));
    assert!(error.to_string().contains("plain"), "{error}");
    fs::create_dir(dir.path().join("files")).unwrap();
    fs::write(dir.path().join("files/precious"), "mine").unwrap();
    let error = of(dir.path());
    assert!(matches!(error, FilesError::Folder(EngineError::ForeignFiles { .. })), "{error}");
    assert_eq!(fs::read_to_string(dir.path().join("files/precious")).unwrap(), "mine");
}

#[test]
fn wrong_settings_are_refused() {
    let dir = disk();
    let settings = FilesSettings { threads: Some(0), ..small(Personality::Oltp) };
    let error = prepare(&job(dir.path(), &settings)).0.unwrap_err();
    assert!(matches!(&error, FilesError::Setting(error) if error.name == "threads"), "{error}");
    let still = Job { interval_ms: 0, ..job(dir.path(), &small(Personality::Oltp)) };
    let (_sender, receiver) = channel();
    let refused = worker_loop::run(&still, &Controls::new(receiver), &mut |_| Ok(()), &MonotonicClock);
    assert!(matches!(refused, Err(SessionError::NoInterval)));
}

#[test]
fn nobody_listening_ends_the_run() {
    let dir = disk();
    let job = job(dir.path(), &small(Personality::Varmail));
    let (sender, receiver) = channel();
    sender.send(Control::Go).unwrap();
    let mut deaf = |message: Message| match message {
        Message::Sample(_) => Err(std::io::ErrorKind::BrokenPipe.into()),
        _ => Ok(()),
    };
    let controls = Controls::new(receiver);
    let result = worker_loop::run(&job, &controls, &mut deaf, &MonotonicClock);
    assert!(matches!(result, Err(SessionError::Disconnected(_))));
}
