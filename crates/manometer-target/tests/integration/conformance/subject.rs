//! One engine under test, with its own directory on a disk.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use manometer_target::engine::{
    Capability, ENGINES, Engine, EngineError, EngineInfo, EngineOptions, EngineSession, OpenRequest, SortedRecords,
    StorageKind,
};
use manometer_testing::{Cause, skip};

pub(crate) struct Subject {
    pub(crate) info: &'static EngineInfo,
    folder: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl Subject {
    fn new(info: &'static EngineInfo) -> Self {
        let temporary = tempfile::tempdir_in("/var/tmp").unwrap();
        let folder = temporary.path().to_owned();
        Self { _temporary: Some(temporary), ..Self::within(info, &folder) }
    }

    /// An engine whose directory `folder` the caller removes.
    pub(crate) fn within(info: &'static EngineInfo, folder: &Path) -> Self {
        let subject = Self { info, folder: folder.to_owned(), _temporary: None };
        for folder in [subject.database(), folder.join("load")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        subject
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("db")
    }

    pub(crate) fn open_with(&self, options: &EngineOptions) -> Result<Box<dyn Engine>, EngineError> {
        (self.info.open)(&OpenRequest { directory: &self.database(), options, value_bytes: 100 })
    }

    pub(crate) fn open(&self) -> Box<dyn Engine> {
        self.open_with(&EngineOptions::default()).unwrap_or_else(|error| panic!("{}: {error}", self.info.name))
    }

    /// Whether this host lacks a program that the engine needs. An engine that fails is not missing.
    fn is_missing(&self) -> bool {
        let Err(error) = self.open_with(&EngineOptions::default()) else { return false };
        let broke_down = matches!(
            error,
            EngineError::Failed { .. }
                | EngineError::NoSpace { .. }
                | EngineError::Locked(_)
                | EngineError::NotWritable { .. }
                | EngineError::NotReadable { .. }
        );
        assert!(!broke_down, "{}: {error}", self.info.name);
        skip(Cause::Program, error);
        true
    }

    pub(crate) fn can(&self, capability: Capability) -> bool {
        can(self.info, capability)
    }
}

/// Whether a test applies to an engine.
type Concerns = fn(&EngineInfo) -> bool;

/// The engines that a test applies to, by the name of the function that runs it.
pub(crate) const GROUPS: [(&str, Concerns); 8] = [
    ("every_engine", |_| true),
    ("every_engine_with_memory", |info| info.storage != StorageKind::Nothing),
    ("every_engine_on_disk", |info| info.storage == StorageKind::Disk),
    // Servers, which alone pipeline, have tests of their options.
    ("every_engine_with_options_on_disk", |info| {
        info.storage == StorageKind::Disk && !info.options.is_empty() && !can(info, Capability::Pipeline)
    }),
    ("every_ordered_engine", |info| info.storage != StorageKind::Nothing && can(info, Capability::Scan)),
    ("every_ordered_engine_on_disk", |info| info.storage == StorageKind::Disk && can(info, Capability::Scan)),
    ("every_engine_without_order", |info| !can(info, Capability::Scan)),
    ("every_engine_without_options_file", |info| !can(info, Capability::OptionsFile)),
];

fn can(info: &EngineInfo, capability: Capability) -> bool {
    info.capabilities.contains(&capability)
}

/// Runs `test` on every engine of the group `name` that this host can run.
fn of_group(name: &str, test: impl Fn(&Subject)) {
    let (_, concerns) = GROUPS.iter().find(|(other, _)| *other == name).unwrap();
    engines_of_this_host().filter(|info| concerns(info)).for_each(|info| test(&Subject::new(info)));
}

/// Runs `test` on every engine that this host can run.
pub(crate) fn every_engine(test: impl Fn(&Subject)) {
    of_group("every_engine", test);
}

/// Runs `test` on every engine that stores what was put.
pub(crate) fn every_engine_with_memory(test: impl Fn(&Subject)) {
    of_group("every_engine_with_memory", test);
}

/// Runs `test` on every engine that keeps its data when it is closed.
pub(crate) fn every_engine_on_disk(test: impl Fn(&Subject)) {
    of_group("every_engine_on_disk", test);
}

/// Runs `test` on every engine that keeps its data and has options of its own; those of servers are tested with them.
pub(crate) fn every_engine_with_options_on_disk(test: impl Fn(&Subject)) {
    of_group("every_engine_with_options_on_disk", test);
}

/// Runs `test` on every engine with key order.
pub(crate) fn every_ordered_engine(test: impl Fn(&Subject)) {
    of_group("every_ordered_engine", test);
}

/// Runs `test` on every engine with key order that keeps its data when it is closed.
pub(crate) fn every_ordered_engine_on_disk(test: impl Fn(&Subject)) {
    of_group("every_ordered_engine_on_disk", test);
}

/// Runs `test` on every engine without key order.
pub(crate) fn every_engine_without_order(test: impl Fn(&Subject)) {
    of_group("every_engine_without_order", test);
}

/// Runs `test` on every engine that reads no options file.
pub(crate) fn every_engine_without_options_file(test: impl Fn(&Subject)) {
    of_group("every_engine_without_options_file", test);
}

/// Runs `test` on the engines `names` of this host, for features that only they have.
pub(crate) fn engines_named(names: &[&str], test: impl Fn(&Subject)) {
    engines_of_this_host().filter(|info| names.contains(&info.name)).for_each(|info| test(&Subject::new(info)));
}

/// Every engine that this host can run.
pub(crate) fn engines_of_this_host() -> impl Iterator<Item = &'static EngineInfo> {
    ENGINES.iter().inspect(|info| println!("engine {}", info.name)).filter(|info| !Subject::new(info).is_missing())
}

/// The value of `key`, copied.
pub(crate) fn get(session: &mut dyn EngineSession, key: &[u8]) -> Option<Vec<u8>> {
    session.get(key).unwrap().map(<[u8]>::to_vec)
}

/// Keys from `000000` on with values derived from them; may stop early.
pub(crate) struct Counted {
    pub(crate) next: u32,
    pub(crate) end: u32,
    pub(crate) keep_going: ControlFlow<()>,
    pub(crate) value_bytes: usize,
    pub(crate) record: (Vec<u8>, Vec<u8>),
}

impl Counted {
    pub(crate) fn up_to(end: u32) -> Self {
        let keep_going = ControlFlow::Continue(());
        Self { next: 0, end, keep_going, value_bytes: 100, record: (Vec::new(), Vec::new()) }
    }
}

/// The record of `number`; its value does not compress.
pub(crate) fn record(number: u32, value_bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let mut state = u64::from(number) + 1;
    let mut next = || {
        // A linear congruential generator; its upper bits are random enough.
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (state >> 56) as u8
    };
    (format!("{number:06}").into_bytes(), (0..value_bytes).map(|_| next()).collect())
}

impl SortedRecords for Counted {
    fn next(&mut self) -> Option<(&[u8], &[u8])> {
        if self.next == self.end {
            return None;
        }
        self.record = record(self.next, self.value_bytes);
        self.next += 1;
        Some((&self.record.0, &self.record.1))
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        self.keep_going
    }
}
