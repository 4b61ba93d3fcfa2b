//! Tests of complete runs on the disk, which end by the number of requests, not by time.

use std::path::Path;
use std::sync::mpsc::channel;

use manometer_measure::ByteSize;
use manometer_target::file::{FileError, MAGIC, SECTOR_BYTES};
use manometer_testing::{Cause, memory_file_system, skip};

use manometer_session::control::Controls;
use manometer_session::protocol::{Control, Message};
use manometer_workload::io::{FileReuse, IoEngine, IoError, IoJob, IoSettings};

use super::run_job;

const BLOCKS: u64 = 64;

fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn small(write_ratio: f64) -> IoSettings {
    IoSettings { file_size: ByteSize(BLOCKS * 4096), write_ratio, random_ratio: 0.0, ..IoSettings::default() }
}

/// Runs `job` until `enough` requests are done, after calling `at_ready`.
fn run_until(job: &IoJob, enough: u64, at_ready: &mut (dyn FnMut() + Send)) -> (Result<(), IoError>, Vec<Message>) {
    let (controls, receiver) = channel();
    let (mut messages, mut done) = (Vec::new(), 0);
    let mut sink = |message: Message| {
        match &message {
            Message::Ready { .. } => {
                at_ready();
                controls.send(Control::Go).unwrap();
            }
            Message::Sample(sample) => {
                done += sample.operations.values().map(|operation| operation.requests).sum::<u64>();
                if done >= enough {
                    controls.send(Control::Stop).unwrap();
                }
            }
            _ => {}
        }
        messages.push(message);
        Ok(())
    };
    let result = run_job(job, &Controls::new(receiver), &mut sink);
    (result, messages)
}

fn job(dir: &Path, settings: IoSettings) -> IoJob {
    IoJob::in_directory(dir, "neighbour", false, settings, 1)
}

fn facts(messages: &[Message]) -> manometer_measure::plan::Settings {
    let ready = |message: &Message| if let Message::Ready { facts } = message { Some(facts.clone()) } else { None };
    messages.iter().find_map(ready).unwrap()
}

#[test]
fn every_engine_writes_new_bytes_to_every_part_and_no_further() {
    for engine in IoEngine::ALL {
        if engine.probe().is_err() {
            skip(Cause::IoInterface, engine);
            continue;
        }
        let dir = on_disk();
        let iodepth = if engine.is_synchronous() { 1 } else { 8 };
        // Less memory than the files have, so that pages come and go.
        let memory = engine.has_memory().then_some(manometer_measure::ByteSize(32_768));
        let settings = IoSettings { io_engine: Some(engine), iodepth, memory, files: 2, ..small(1.0) };
        let job = job(dir.path(), settings);
        let mut before = Vec::new();
        let mut look = || before = job.paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
        let (result, messages) = run_until(&job, BLOCKS, &mut look);
        result.unwrap();
        assert_eq!(facts(&messages)["io_engine"], engine.name());
        let units = facts(&messages)["state_units"].as_object().unwrap().clone();
        assert!(engine.state().iter().all(|(name, unit, _)| units[*name] == *unit), "{engine}");
        for (path, before) in job.paths.iter().zip(&before) {
            let after = std::fs::read(path).unwrap();
            assert_eq!(after.len() as u64, BLOCKS / 2 * 4096, "{engine}");
            for (new, old) in after.chunks(SECTOR_BYTES).zip(before.chunks(SECTOR_BYTES)) {
                assert!(new[..8] == MAGIC && new[16..] != old[16..], "{engine}: a part was not written");
            }
        }
    }
}

#[test]
fn the_best_io_engine_is_chosen_and_reported() {
    let dir = on_disk();
    let (result, messages) = run_until(&job(dir.path(), small(0.5)), 10, &mut || {});
    result.unwrap();
    let facts = facts(&messages);
    assert_eq!(facts["io_engine"], manometer_target::file::best_available().name());
    assert_eq!(facts["made"].as_array().unwrap().len(), 1);
    assert!(matches!(messages[0], Message::Progress { total: 262_144, .. }), "{:?}", messages[0]);
}

#[test]
fn a_file_cut_beneath_us_is_a_named_error() {
    let dir = on_disk();
    let job = job(dir.path(), small(0.0));
    let path = job.paths[0].clone();
    let mut cut = || std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(8192).unwrap();
    let (result, _) = run_until(&job, u64::MAX, &mut cut);
    let error = result.unwrap_err();
    assert!(matches!(error, IoError::Short { offset: 8192, done: 0, .. }), "{error}");
    assert!(error.to_string().contains("0.data"), "{error}");
}

#[test]
fn equal_files_are_reused_on_request() {
    let dir = on_disk();
    let mut job = job(dir.path(), small(0.0));
    for (existing, made) in [(FileReuse::Reuse, 1), (FileReuse::Reuse, 0), (FileReuse::Remake, 1)] {
        job.existing = existing;
        let (result, messages) = run_until(&job, 1, &mut || {});
        result.unwrap();
        assert_eq!(facts(&messages)["made"].as_array().unwrap().len(), made);
    }
}

#[test]
fn a_file_of_others_is_only_read() {
    let dir = on_disk();
    let path = dir.path().join("precious");
    std::fs::write(&path, vec![7; BLOCKS as usize * 4096]).unwrap();
    std::fs::File::open(&path).unwrap().sync_all().unwrap();
    let writer = IoJob::on_file(&path, FileReuse::Reuse, small(1.0), 1);
    let (result, _) = run_until(&writer, 1, &mut || {});
    assert!(matches!(result, Err(IoError::File(FileError::ForeignFile(_)))));
    let reader = IoJob::on_file(&path, FileReuse::ReadOnly, small(0.0), 1);
    run_until(&reader, 1, &mut || {}).0.unwrap();
    let turncoat = IoJob { settings: small(0.5), ..reader };
    assert!(
        matches!(run_until(&turncoat, 1, &mut || {}).0, Err(IoError::Setting(error)) if error.name == "write_ratio")
    );
    assert!(std::fs::read(&path).unwrap().iter().all(|byte| *byte == 7));
}

#[test]
fn memory_is_refused() {
    let Some(shm) = memory_file_system() else { return };
    for direct in [true, false] {
        let job = job(shm, IoSettings { direct, ..small(0.0) });
        let (result, messages) = run_until(&job, 1, &mut || {});
        assert!(matches!(result, Err(IoError::Memory(_))));
        assert!(messages.is_empty() && !shm.join("neighbour").exists());
    }
}

#[test]
fn wrong_settings_are_refused_before_anything_is_made() {
    let dir = on_disk();
    let wrong = [
        IoSettings { io_engine: Some(IoEngine::Posix), iodepth: 2, ..small(0.0) },
        IoSettings { block_size: ByteSize(1000), ..small(0.0) },
        IoSettings { script: Some("1s: files = 2".to_owned()), ..small(0.0) },
    ];
    for settings in wrong {
        let (result, messages) = run_until(&job(dir.path(), settings), 1, &mut || {});
        assert!(matches!(result, Err(IoError::Setting(_) | IoError::Script(_))));
        assert!(messages.is_empty());
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_stop_while_files_are_made_leaves_nothing() {
    let dir = on_disk();
    let (controls, receiver) = channel();
    controls.send(Control::Stop).unwrap();
    let job = job(dir.path(), small(0.0));
    let mut messages = Vec::new();
    let mut sink = |message| {
        messages.push(message);
        Ok(())
    };
    run_job(&job, &Controls::new(receiver), &mut sink).unwrap();
    assert!(!messages.iter().any(|message| matches!(message, Message::Ready { .. })));
    assert_eq!(std::fs::read_dir(dir.path().join("neighbour")).unwrap().count(), 0);
}
