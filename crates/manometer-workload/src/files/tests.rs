//! Tests of parts; `manometer-session` tests whole runs.

use std::fs;

use manometer_measure::{ByteSize, MonotonicClock};
use manometer_testing::{Cause, memory_file_system, skip};
use manometer_trace::synthesis::paths::FileSizes;

use super::file_tree::FileTree;
use super::oltp::Database;
use super::{FilesPlan, FilesSettings, Personality};

/// A database of two files of two mebibytes and a log.
fn small() -> FilesSettings {
    let settings = FilesSettings { threads: Some(4), ..FilesSettings::of(Personality::Oltp) };
    FilesSettings { files: Some(2), mean_file_size: Some(ByteSize(2 << 20)), ..settings }
}

#[test]
fn files_have_the_sizes_that_the_seed_draws() {
    const MEAN_BYTES: u64 = 8 << 10;
    let settings = FilesSettings {
        files: Some(50),
        mean_file_size: Some(ByteSize(MEAN_BYTES)),
        ..FilesSettings::of(Personality::Varmail)
    };
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let plan = FilesPlan::new(&settings).unwrap();
    let mut progress = |_, _| std::ops::ControlFlow::Continue(());
    let data_seed = manometer_measure::Clock::now_ns(&MonotonicClock);
    FileTree::new(&plan, 1, dir.path()).create(&plan, data_seed, &mut progress).unwrap();
    let sizes = FileSizes::new(MEAN_BYTES, 1);
    let created: Vec<_> = fs::read_dir(dir.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(created.len(), 40);
    for file in created {
        let taken_file: u64 = file.file_name().to_str().unwrap().parse().unwrap();
        assert_eq!(file.metadata().unwrap().len(), sizes.of(taken_file), "{}", file.path().display());
    }
}

/// Linux's memory file system takes direct I/O from 6.6 on; without it the error says how to go on.
#[test]
fn a_file_system_without_direct_io_is_refused() {
    let Some(memory) = memory_file_system() else { return };
    let dir = tempfile::tempdir_in(memory).unwrap();
    let plan = FilesPlan::new(&small()).unwrap();
    (0..2).for_each(|number| fs::write(dir.path().join(format!("{number}.data")), vec![0; 2 << 20]).unwrap());
    fs::write(dir.path().join("log"), vec![0; 10 << 20]).unwrap();
    match Database::open(&plan, dir.path()) {
        Ok(_) => skip(Cause::DirectIo, "/dev/shm takes direct I/O"),
        Err(error) => assert!(error.to_string().contains("set direct=false"), "{error}"),
    }
    let cached = FilesPlan::new(&FilesSettings { direct: Some(false), ..small() }).unwrap();
    Database::open(&cached, dir.path()).map(drop).unwrap();
}
