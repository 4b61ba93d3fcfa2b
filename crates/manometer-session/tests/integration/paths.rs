//! Complete runs of `paths` on a real file system, and their failures.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use manometer_measure::{ByteSize, LatencyHistogram};
use manometer_session::protocol::{Control, DatabaseReuse, Job, Message};
use manometer_target::engine::EngineError;
use manometer_workload::files::FilesError;
use manometer_workload::paths::PathsSettings;
use manometer_workload::settings::WorkloadSettings;
use serde_json::{Value, json};

use crate::files_support::{Totals, disk, drive, facts_of, files_in, go_until, prepare, samples};

const FILES: u64 = 60;

fn small() -> PathsSettings {
    PathsSettings {
        files: Some(FILES),
        depth: "3-4".parse().unwrap(),
        directory_width: 5,
        mean_file_size: ByteSize(2 << 10),
        threads: 3,
        ..PathsSettings::default()
    }
}

fn job(directory: &Path, settings: &PathsSettings) -> Job {
    Job {
        name: "storm".to_owned(),
        directory: directory.to_owned(),
        existing: DatabaseReuse::Remake,
        interval_ms: 20,
        seed: 1,
        removes: false,
        waits: false,
        clients: None,
        share: None,
        workload: WorkloadSettings::Paths(settings.clone()),
    }
}

fn data(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("storm/db")
}

/// The time that `age` gives to all files: a write or a new file would show.
const LONG_AGO: SystemTime = SystemTime::UNIX_EPOCH;

fn age(root: &Path) {
    for path in files_in(root).keys() {
        fs::File::open(path).unwrap().set_modified(LONG_AGO).unwrap();
    }
}

fn is_untouched(root: &Path) -> bool {
    files_in(root).keys().all(|path| fs::metadata(path).unwrap().modified().unwrap() == LONG_AGO)
}

#[test]
fn it_does_all_four_operations_and_its_samples_tell_all_of_it() {
    let dir = disk();
    let (result, received) = drive(&job(dir.path(), &small()), go_until(|totals| totals.all_have(20)));
    result.unwrap();
    let samples = samples(&received);
    for pair in samples.windows(2) {
        assert_eq!(pair[1].t_ns - pair[1].length_ns, pair[0].t_ns, "nothing is missing or counted twice");
    }
    for sample in &samples {
        assert_eq!(sample.operations.keys().cloned().collect::<Vec<_>>().join(" "), "list open read stat");
        assert!(sample.state.is_empty() && sample.dropped == 0);
        for done in sample.operations.values().filter(|done| done.requests > 0) {
            assert_eq!(LatencyHistogram::from_base64(&done.latency).unwrap().len(), done.requests);
        }
    }
    let totals = Totals::of(&received);
    assert_eq!(totals.missing(), 0);
    assert_eq!([totals.bytes("list"), totals.bytes("open"), totals.bytes("stat")], [0; 3]);
    assert!(totals.bytes("read") >= totals.requests("read"));
    let files = files_in(&data(&dir));
    assert_eq!(files.len() as u64, FILES);
    let depth = |path: &Path| path.strip_prefix(data(&dir)).unwrap().components().count();
    assert!(files.keys().all(|path| (3..=4).contains(&depth(path))));
    let facts = facts_of(&received);
    assert_eq!(
        (&facts["files"], &facts["directories_with_files"], &facts["depth"]),
        (&json!(60), &json!(12), &json!("3-4"))
    );
    assert_eq!((&facts["reused"], &facts["mean_file_bytes"]), (&json!(false), &json!(2048)));
}

#[test]
fn what_is_read_are_whole_files() {
    let dir = disk();
    let settings = PathsSettings { files: Some(1), read_proportion: 1.0, ..mix_of_none() };
    let (result, received) = drive(&job(dir.path(), &settings), go_until(|totals| totals.requests("read") >= 10));
    result.unwrap();
    let (totals, length) = (Totals::of(&received), files_in(&data(&dir)).into_values().next().unwrap());
    assert_eq!(totals.bytes("read"), totals.requests("read") * length);
    assert_eq!([totals.requests("stat"), totals.requests("open"), totals.requests("list")], [0; 3]);
}

fn mix_of_none() -> PathsSettings {
    PathsSettings { stat_proportion: 0.0, open_proportion: 0.0, read_proportion: 0.0, list_proportion: 0.0, ..small() }
}

#[test]
fn a_tree_outlives_its_run_unchanged_and_serves_other_operations() {
    let dir = disk();
    let first = job(dir.path(), &small());
    drive(&first, go_until(|totals| totals.all_have(5))).0.unwrap();
    age(&data(&dir));
    let other = PathsSettings { threads: 1, locality: 0.0, exponent: 0.0, list_proportion: 0.0, ..small() };
    for existing in [DatabaseReuse::Renew, DatabaseReuse::Reuse] {
        let again = Job { existing, workload: WorkloadSettings::Paths(other.clone()), ..first.clone() };
        let (result, received) = drive(&again, go_until(|totals| totals.requests("stat") >= 5));
        result.unwrap();
        assert_eq!(facts_of(&received)["reused"], true);
        assert!(is_untouched(&data(&dir)), "it only reads");
    }
    prepare(&first).0.unwrap();
    assert!(!is_untouched(&data(&dir)), "without permission to use it, its own tree is created again");
}

#[test]
fn another_tree_is_refused_unless_it_is_the_experiments_own() {
    let dir = disk();
    prepare(&job(dir.path(), &small())).0.unwrap();
    for other in [
        PathsSettings { files: Some(61), ..small() },
        PathsSettings { depth: "4".parse().unwrap(), ..small() },
        PathsSettings { directory_width: 6, ..small() },
        PathsSettings { mean_file_size: ByteSize(1 << 10), ..small() },
    ] {
        for existing in [DatabaseReuse::Remake, DatabaseReuse::Reuse] {
            let error = prepare(&Job { existing, ..job(dir.path(), &other) }).0.unwrap_err();
            assert!(matches!(error, FilesError::Folder(EngineError::DatabaseMismatch { .. })), "{error}");
        }
    }
    let fewer = PathsSettings { files: Some(7), ..small() };
    prepare(&Job { existing: DatabaseReuse::Renew, ..job(dir.path(), &fewer) }).0.unwrap();
    assert_eq!(files_in(&data(&dir)).len(), 7);
}

#[test]
fn the_seed_decides_the_sizes() {
    let of = |seed| {
        let dir = disk();
        prepare(&Job { seed, ..job(dir.path(), &small()) }).0.unwrap();
        files_in(&data(&dir)).into_values().collect::<Vec<u64>>()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn threads_rate_mix_and_locality_change_while_it_runs_and_the_tree_does_not() {
    let dir = disk();
    let mut lines = [
        "set threads=6 rate=100000/s locality=0",
        "set files=9",
        "set stat_proportion=0 open_proportion=0 read_proportion=0",
        "set thread=3",
    ]
    .into_iter();
    let mut only_lists = false;
    let settings = PathsSettings { exponent: 0.0, ..small() };
    let (result, received) = drive(&job(dir.path(), &settings), |message, controls| match message {
        Message::Ready { .. } => controls.send(Control::Go).unwrap(),
        Message::Sample(sample) => {
            let of = |operation: &str| sample.operations[operation].requests;
            only_lists |= of("list") > 0 && of("stat") + of("open") + of("read") == 0;
            match lines.next() {
                Some(line) => controls.send(line.parse().unwrap()).unwrap(),
                // Operations of the old mix may still be counted in the sample after the change.
                None if only_lists => controls.send(Control::Stop).unwrap(),
                None => {}
            }
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
    let expected = [
        json!({ "threads": 6, "rate": "100000/s", "locality": 0.0 }),
        json!({ "stat_proportion": 0.0, "open_proportion": 0.0, "read_proportion": 0.0 }),
    ];
    assert_eq!(changes, expected);
    let refused: Vec<&str> = received
        .iter()
        .filter_map(|message| if let Message::Refused { reason, .. } = message { Some(reason.as_str()) } else { None })
        .collect();
    assert!(refused.len() == 2 && refused[0].contains("start") && refused[1].contains("`threads`"), "{refused:?}");
}

#[test]
fn a_timetable_takes_effect() {
    let dir = disk();
    let script = Some("40ms: threads = 2; 80ms: list_proportion = 0".to_owned());
    let mut changes = 0;
    let (result, received) =
        drive(&job(dir.path(), &PathsSettings { script, ..small() }), |message, controls| match message {
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
    let last = received.iter().rev().find_map(|message| match message {
        Message::Setting { settings, .. } => Some(json!(settings)),
        _ => None,
    });
    assert_eq!(last, Some(json!({ "list_proportion": 0.0 })));
}

#[test]
fn a_pause_ends() {
    let dir = disk();
    let (mut paused, mut quiet) = (false, false);
    let (result, received) = drive(&job(dir.path(), &small()), move |message, controls| match message {
        Message::Ready { .. } => controls.send(Control::Go).unwrap(),
        Message::Sample(sample) => {
            let requests: u64 = sample.operations.values().map(|done| done.requests).sum();
            match (paused, quiet, requests) {
                (false, _, 1..) => {
                    paused = true;
                    controls.send(Control::Wait).unwrap();
                }
                (true, false, 0) => {
                    quiet = true;
                    controls.send(Control::Go).unwrap();
                }
                (true, true, 1..) => controls.send(Control::Stop).unwrap(),
                _ => {}
            }
        }
        _ => {}
    });
    result.unwrap();
    assert!(samples(&received).len() >= 3);
}

#[test]
fn a_stop_while_the_tree_is_created_ends_it_and_the_rest_is_created_next_time() {
    let dir = disk();
    let job = job(dir.path(), &small());
    let (result, received) = drive(&job, |message, controls| {
        if matches!(message, Message::Progress { .. }) {
            controls.send(Control::Stop).unwrap();
        }
    });
    result.unwrap();
    assert!(received.iter().all(|message| matches!(message, Message::Progress { .. })), "{received:?}");
    let (result, received) = prepare(&Job { existing: DatabaseReuse::Reuse, ..job });
    result.unwrap();
    assert_eq!(facts_of(&received)["reused"], false, "half of a tree serves nobody");
    assert_eq!(files_in(&data(&dir)).len() as u64, FILES);
}

#[test]
fn files_that_somebody_removes_are_counted_as_missing() {
    let dir = disk();
    let root = data(&dir);
    let mut missing = go_until(|totals| totals.missing() > 0 && totals.requests("list") > 0);
    let (result, received) = drive(&job(dir.path(), &small()), move |message, controls| {
        if matches!(message, Message::Ready { .. }) {
            files_in(&root).keys().for_each(|path| fs::remove_file(path).unwrap());
        }
        missing(message, controls);
    });
    result.unwrap();
    let totals = Totals::of(&received);
    assert_eq!([totals.requests("stat"), totals.requests("open"), totals.requests("read")], [0; 3]);
}

#[test]
fn a_tree_that_somebody_removes_or_replaces_ends_the_run_and_is_named() {
    let error = |spoil: fn(&Path)| {
        let dir = disk();
        let root = data(&dir);
        let (result, _) = drive(&job(dir.path(), &small()), move |message, controls| {
            if matches!(message, Message::Ready { .. }) {
                spoil(&root);
                controls.send(Control::Go).unwrap();
            }
        });
        result.unwrap_err()
    };
    let gone = error(|root| fs::remove_dir_all(root).unwrap());
    assert!(matches!(gone, FilesError::DirectoryRemoved { .. }), "{gone}");
    assert!(gone.to_string().contains("storm/db/d"), "{gone}");
    let replaced = error(|root| {
        let top = root.join("d0");
        fs::remove_dir_all(&top).unwrap();
        fs::write(top, "").unwrap();
    });
    assert!(replaced.to_string().contains("Not a directory"), "{replaced}");
}

#[test]
fn a_tree_that_does_not_fit_is_refused_before_a_file_is_made() {
    let dir = disk();
    let large = PathsSettings { mean_file_size: ByteSize(1 << 45), ..small() };
    let error = prepare(&job(dir.path(), &large)).0.unwrap_err();
    assert!(error.to_string().contains("set `files` lower"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_place_in_memory_or_of_somebody_else_is_refused() {
    let of = |directory: &Path| prepare(&job(directory, &small())).0.unwrap_err();
    let error = of(Path::new("/dev/shm"));
    assert!(matches!(error, FilesError::Folder(EngineError::InMemoryFileSystem(_))), "{error}");
    let dir = disk();
    fs::create_dir_all(dir.path().join("storm/db")).unwrap();
    fs::write(dir.path().join("storm/db/precious"), "mine").unwrap();
    let error = of(dir.path());
    assert!(matches!(error, FilesError::Folder(EngineError::ForeignFiles { .. })), "{error}");
    assert_eq!(fs::read_to_string(dir.path().join("storm/db/precious")).unwrap(), "mine");
}

#[test]
fn wrong_settings_are_refused() {
    let dir = disk();
    for (settings, name) in [
        (PathsSettings { threads: 0, ..small() }, "threads"),
        (PathsSettings { depth: "1".parse().unwrap(), ..small() }, "depth"),
        (mix_of_none(), "stat_proportion"),
        (PathsSettings { script: Some("soon: threads = 2".to_owned()), ..small() }, "script"),
    ] {
        let error = prepare(&job(dir.path(), &settings)).0.unwrap_err();
        assert!(matches!(&error, FilesError::Setting(error) if error.name == name), "{error}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn its_data_are_removed_where_that_was_asked_for() {
    let dir = disk();
    let removes = Job { removes: true, ..job(dir.path(), &small()) };
    drive(&removes, |message, controls| {
        if matches!(message, Message::Ready { .. }) {
            controls.send(Control::Stop).unwrap();
        }
    })
    .0
    .unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
