//! A machine that starts, works for a while, and crashes.

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

use rlsm::storage::Storage as _;
use rlsm::storage::simulated::SimulatedStorage;
use rlsm::{Database, Error, Maintenance, Options, Snapshot, Sync};

use super::small;
use crate::support::history::History;
use crate::support::work::{Step, Workload};
use crate::support::{Model, all, batch, collect};

/// After this many scans ranges are sorted.
const SCANS: u32 = 3;

/// The most steps between a start and a crash.
const STEPS_MAX: u32 = 300;

/// When the machine crashes, if it runs that long.
#[derive(Debug, Clone, Copy)]
pub enum CrashTime<'a> {
    /// At this operation after it has begun to open the database.
    Operation(u64),
    /// When it reaches a fail point for this many times.
    Point(&'a str, u64),
}

/// Why the machine stopped early.
#[derive(Debug)]
pub enum Problem {
    /// The database returned an error.
    Refused(Error),
    /// The database returned a wrong result.
    Wrong(String),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// A machine with its history over several crashes.
pub struct Machine {
    pub chance: Xoshiro256PlusPlus,
    maintenance: Maintenance,
    pub storage: SimulatedStorage,
    pub history: History,
    work: Workload,
}

impl Machine {
    pub fn new(seed: u64, maintenance: Maintenance) -> Self {
        Self {
            chance: Xoshiro256PlusPlus::seed_from_u64(seed),
            maintenance,
            storage: SimulatedStorage::new(seed),
            history: History::default(),
            work: Workload::new(),
        }
    }

    /// Runs until the crash or for a number of steps, and crashes then too. Restarts, checks the content, and returns
    /// whether the crash came as requested.
    pub fn run_until_crash(&mut self, when: CrashTime<'_>) -> Result<bool, String> {
        match when {
            CrashTime::Operation(number) => self.storage.crash_at_operation(number),
            CrashTime::Point(name, nth) => self.storage.crash_at_point(name, nth),
        }
        let (options, sync) = small(&mut self.chance, self.maintenance);
        let outcome = self.work_until_it_fails(options, sync == Sync::Always);
        let came = self.storage.crashed();
        match outcome {
            Err(Problem::Wrong(problem)) => return Err(problem),
            Err(Problem::Refused(error)) if !came => return Err(format!("without a crash: {error}")),
            _ => self.storage = self.storage.reboot(),
        }
        self.check().map(|()| came)
    }

    fn work_until_it_fails(&mut self, options: Options, is_kept_at_once: bool) -> Result<(), Problem> {
        let database = options.open_on(Arc::new(self.storage.clone()))?;
        let mut snapshots = Vec::new();
        for _ in 0..self.chance.random_range(1..=STEPS_MAX) {
            self.step(&database, is_kept_at_once, &mut snapshots)?;
        }
        Ok(())
    }

    /// Executes a random step, and records what the database acknowledges.
    pub fn step(
        &mut self,
        database: &Database,
        is_kept_at_once: bool,
        snapshots: &mut Vec<(Snapshot, Model)>,
    ) -> Result<(), Problem> {
        match self.work.step(&mut self.chance) {
            Step::Write(writes) => {
                let batch = batch(&writes);
                self.history.attempt(writes);
                database.write(batch)?;
                self.history.acknowledge_all();
                if is_kept_at_once {
                    self.history.keep_all();
                }
            }
            Step::Sync => {
                database.sync()?;
                self.history.keep_all();
            }
            Step::Flush => {
                database.flush()?;
                self.history.keep_all();
            }
            Step::Compact => {
                database.compact()?;
                self.history.keep_all();
            }
            Step::Settle => database.settle()?,
            Step::Snapshot => snapshots.push((database.snapshot(), self.history.newest())),
            Step::Release => drop((!snapshots.is_empty()).then(|| snapshots.swap_remove(0))),
            Step::Scan => {
                for _ in 0..SCANS {
                    database.range(..)?.try_for_each(|pair| pair.map(drop))?;
                }
            }
            Step::Look => {
                compare(&all(database)?, &self.history.newest())?;
                for (snapshot, model) in snapshots {
                    compare(&collect(database.range_at(.., snapshot)?)?, model)?;
                }
            }
        }
        Ok(())
    }

    /// Opens the database, with crashes meanwhile, and checks its content.
    pub fn check(&mut self) -> Result<(), String> {
        let options = small(&mut self.chance, Maintenance::Inline).0.sync(Sync::Always);
        while self.chance.random_ratio(1, 3) {
            self.storage.crash_at_operation(self.chance.random_range(1..60));
            let opened = options.open_on(Arc::new(self.storage.clone()));
            if let (Err(error), false) = (opened.map(drop), self.storage.crashed()) {
                return Err(format!("opening failed without a crash: {error}"));
            }
            self.storage = self.storage.reboot();
        }
        let opened = options.open_on(Arc::new(self.storage.clone()));
        let database = opened.map_err(|error| format!("it cannot be opened again: {error}"))?;
        let found = all(&database).map_err(|error| format!("it cannot be read: {error}"))?;
        self.history.settle(&found)?;
        for key in found.keys().step_by(7) {
            let got = database.get(key).map_err(|error| error.to_string())?;
            if got.as_deref() != found.get(key).map(|value| &**value) {
                return Err(format!("`{}` is found in order and otherwise by its name", key.escape_ascii()));
            }
        }
        let names = self.storage.list().unwrap();
        let of = |kind: &str| names.iter().filter(|name| name.starts_with(kind)).count();
        let stats = database.stats().map_err(|error| error.to_string())?;
        let runs = (stats.level0_runs + stats.level1_runs) as usize;
        if of("manifest") != 1 || of("wal") > 2 + runs || names.iter().any(|name| name.ends_with(".new")) {
            return Err(format!("files are left over: {names:?}"));
        }
        drop(database);
        // Removes the faults and crashes that are still scheduled.
        self.storage = self.storage.reboot();
        Ok(())
    }
}

fn compare(found: &Model, expected: &Model) -> Result<(), Problem> {
    if found == expected {
        return Ok(());
    }
    let of = |one: &Model, other: &Model| one.iter().filter(|(key, value)| other.get(*key) != Some(value)).count();
    Err(Problem::Wrong(format!(
        "{} entries are wrong or too many, {} missing",
        of(found, expected),
        of(expected, found)
    )))
}
