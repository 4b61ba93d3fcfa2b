//! An engine that writes until a fault.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use manometer_experiment::definition::FileSystem;
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_target::engine::{self, Engine, EngineError, EngineOptions, OpenRequest};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::acknowledged::{AcknowledgedVersions, KEYS, key_bytes, mixed, value};
use super::disks::FaultyDisks;
use super::{DATABASE, ENGINES, Fault, FaultTrial, MOUNT};
use crate::array::{self, ArraySpec};
use crate::{LabError, program};

/// The number of threads that write, each its own keys.
const WRITERS: u64 = 4;

/// How often to look how far they are.
const INTERVAL_NS: u64 = 2_000_000;

/// How long writers may get no answer before the fault, and after it.
const PATIENCE_BEFORE_NS: u64 = 120_000_000_000;
const PATIENCE_AFTER_NS: u64 = 15_000_000_000;

/// md says that an array is clean when nothing was written for 200 ms.
const IDLE_NS: u64 = 1_000_000_000;

/// After a disk has failed, so many writes more, as a part of those before, are waited for.
const WRITES_AFTER_PART: u64 = 4;

/// What was written until the kernel crashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenUntilFault {
    /// The number of acknowledged writes when the fault struck.
    pub acknowledged_before: u64,
    /// The number acknowledged afterwards, on what was left.
    pub acknowledged_after: u64,
    /// Whether these are all that were to be written on after a failure.
    pub went_on: bool,
    /// The first error of the engine after the fault.
    pub error: Option<String>,
}

/// The writers' progress.
#[derive(Default)]
struct Progress {
    acknowledged: AtomicU64,
    has_ended: AtomicBool,
    error: Mutex<Option<String>>,
}

/// Builds the array of `trial` of `disks`, those of the origin first, then the cache's, then the logs of all; has the
/// engine write there, and strikes.
///
/// # Errors
/// The array could not be built, or the engine failed before the fault.
pub fn write_until_fault(trial: &FaultTrial, mut disks: Vec<PathBuf>) -> Result<WrittenUntilFault, LabError> {
    let arrangement = trial.array.load()?;
    let origins = arrangement.origin.count as usize;
    let logs = disks.split_off(array::device_sizes(&arrangement)?.len().min(disks.len()));
    let disks = FaultyDisks::create(disks, &logs)?;
    let mount = Some((FileSystem::Ext4, MOUNT.into()));
    let spec = ArraySpec::of_guest(arrangement, disks.paths(), mount);
    array::create(&spec, &Arc::default())?;
    let engine: Arc<dyn Engine> = Arc::from(open(trial)?);
    let progress = Arc::<Progress>::default();
    for writer in 0..WRITERS {
        let (engine, progress, trial) = (Arc::clone(&engine), Arc::clone(&progress), trial.clone());
        let versions = AcknowledgedVersions::open(&trial.acknowledged)?;
        // A thread may never return from a device that answers no more.
        thread::spawn(move || progress.write(&*engine, &trial, &versions, writer));
    }
    let acknowledged = progress.wait_for(trial.writes, PATIENCE_BEFORE_NS);
    if acknowledged < trial.writes {
        let error = progress.error().unwrap_or_else(|| "the engine has stopped".to_owned());
        return Err(LabError::Guest(format!("before the fault, after {acknowledged} writes: {error}")));
    }
    match trial.fault {
        Fault::Crash => {}
        Fault::PowerCut => disks.freeze()?,
        Fault::DiskFailure => disks.fail(0)?,
        Fault::CacheLoss => disks.fail(origins)?,
    }
    let acknowledged_before = progress.acknowledged.load(Ordering::Relaxed);
    let more = match trial.fault {
        Fault::Crash | Fault::PowerCut => 0,
        Fault::DiskFailure | Fault::CacheLoss => trial.writes.div_ceil(WRITES_AFTER_PART),
    };
    let acknowledged = progress.wait_for(acknowledged_before + more, PATIENCE_AFTER_NS);
    let acknowledged_after = acknowledged.saturating_sub(acknowledged_before);
    if more > 0 {
        progress.has_ended.store(true, Ordering::Relaxed);
        close(engine);
    }
    let went_on = more > 0 && acknowledged_after >= more;
    Ok(WrittenUntilFault { acknowledged_before, acknowledged_after, went_on, error: progress.error() })
}

/// Closes the engine, unmounts the file system and leaves the array idle, as far as what has failed lets it.
fn close(engine: Arc<dyn Engine>) {
    let (sender, receiver) = mpsc::channel();
    // A thread may never return from a device that answers no more.
    thread::spawn(move || {
        drop(engine);
        let end_ns = MonotonicClock.now_ns() + PATIENCE_AFTER_NS;
        while program::run("umount", &[MOUNT]).is_err() && MonotonicClock.now_ns() < end_ns {
            MonotonicClock.sleep(INTERVAL_NS);
        }
        let _ = sender.send(());
    });
    let _ = receiver.recv_timeout(Duration::from_nanos(PATIENCE_AFTER_NS));
    MonotonicClock.sleep(IDLE_NS);
}

/// Opens the engine.
pub(super) fn open(trial: &FaultTrial) -> Result<Box<dyn Engine>, LabError> {
    let failed = |error: EngineError| LabError::Guest(error.to_string());
    let info = engine::find(&trial.engine).map_err(failed)?;
    let known = ENGINES.iter().find(|(name, _)| *name == trial.engine);
    let option = known.map(|(_, [synced, unsynced])| if trial.sync { synced } else { unsynced });
    let options = option.map(|value| ("sync".to_owned(), json!(value))).into_iter().collect();
    let request =
        OpenRequest { directory: Path::new(DATABASE), options: &EngineOptions::Table(options), value_bytes: 0 };
    (info.open)(&request).map_err(failed)
}

impl Progress {
    /// Writes until the engine fails.
    fn write(&self, engine: &dyn Engine, trial: &FaultTrial, acknowledged: &AcknowledgedVersions, writer: u64) {
        let mut session = engine.session();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(mixed(&[trial.seed, writer]));
        let mut versions = vec![0_u64; KEYS as usize];
        let error = loop {
            if self.has_ended.load(Ordering::Relaxed) {
                return;
            }
            let key = random.random_range(0..KEYS / WRITERS) * WRITERS + writer;
            let version = versions[key as usize] + 1;
            if let Err(error) = session.put(&key_bytes(key), &value(trial.seed, key, version)) {
                break error.to_string();
            }
            if let Err(error) = acknowledged.acknowledge(key, version) {
                break error.to_string();
            }
            versions[key as usize] = version;
            self.acknowledged.fetch_add(1, Ordering::Relaxed);
        };
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Waits until so many writes are acknowledged, a writer has ended, or time is up. Returns how many are.
    fn wait_for(&self, writes: u64, patience_ns: u64) -> u64 {
        let end_ns = MonotonicClock.now_ns() + patience_ns;
        loop {
            let acknowledged = self.acknowledged.load(Ordering::Relaxed);
            let is_over = self.has_ended.load(Ordering::Relaxed) || MonotonicClock.now_ns() >= end_ns;
            if acknowledged >= writes || is_over {
                return acknowledged;
            }
            MonotonicClock.sleep(INTERVAL_NS);
        }
    }

    fn error(&self) -> Option<String> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
