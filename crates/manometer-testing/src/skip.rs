//! Skipped tests: each names a cause of `docs/testing.md`, and `make test` counts them at its end.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::Location;
use std::thread;

/// The environment variable that names the file in which skipped tests are listed.
pub const SKIPPED_TESTS: &str = "MANOMETER_SKIPPED_TESTS";

/// Why a test, or a part of it, does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The tests' directory is on no block device that the kernel shows.
    BlockDevice,
    /// No writable control group of version 1 can limit I/O.
    CgroupV1,
    /// No control group of version 2 can be created.
    CgroupV2,
    /// No Chromium.
    Chromium,
    /// No process can have its own clocks.
    Clock,
    /// No `db_bench` of this RocksDB.
    DbBench,
    /// The memory file system supports direct I/O.
    DirectIo,
    /// The build leaves an engine out.
    Engine,
    /// The file system cannot punch holes.
    HolePunching,
    /// The kernel lacks an I/O interface.
    IoInterface,
    /// The processor is not x86-64.
    Processor,
    /// A program is not installed.
    Program,
    /// No real-time scheduling.
    RealTime,
    /// The real traces and logs are not available.
    RealData,
    /// No loop device or file system can be set up.
    Root,
    /// The disk has no sectors of 512 bytes.
    Sectors,
    /// No memory file system at `/dev/shm`.
    Tmpfs,
    /// The kernel's tracing is not available.
    Tracing,
}

impl Cause {
    /// Its name in `docs/testing.md`.
    pub fn id(self) -> &'static str {
        match self {
            Self::BlockDevice => "block-device",
            Self::CgroupV1 => "cgroup-v1",
            Self::CgroupV2 => "cgroup-v2",
            Self::Chromium => "chromium",
            Self::Clock => "clock",
            Self::DbBench => "db-bench",
            Self::DirectIo => "direct-io",
            Self::Engine => "engine",
            Self::HolePunching => "hole-punching",
            Self::IoInterface => "io-interface",
            Self::Processor => "processor",
            Self::Program => "program",
            Self::RealTime => "real-time",
            Self::RealData => "real-data",
            Self::Root => "root",
            Self::Sectors => "sectors",
            Self::Tmpfs => "tmpfs",
            Self::Tracing => "tracing",
        }
    }
}

/// Records that the calling test, or a part of it, is skipped; the test should then return.
#[track_caller]
pub fn skip(cause: Cause, detail: impl Display) {
    let detail = detail.to_string().replace(['\n', '\t'], " ");
    println!("skipped ({}): {detail}", cause.id());
    let Some(file) = std::env::var_os(SKIPPED_TESTS) else { return };
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let line = format!("{}\t{package}::{}\t{detail}\n", cause.id(), test_name(Location::caller()));
    OpenOptions::new().create(true).append(true).open(file).unwrap().write_all(line.as_bytes()).unwrap();
}

/// The test runner names a test's thread after it; elsewhere the caller's location is used.
fn test_name(caller: &Location) -> String {
    match thread::current().name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => format!("{}:{}", caller.file(), caller.line()),
    }
}
