//! One life of a machine: it is started, works for a while, and crashes.

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

use rlsm::storage::Storage as _;
use rlsm::storage::simulated::Simulated;
use rlsm::{Database, Error, Maintenance, Options, Snapshot, Sync};

use crate::history::History;
use crate::small;
use crate::support::{Model, all, batch, collect};
use crate::work::{Step, Work};

/// Ranges that were scanned so often are sorted.
const SCANS: u32 = 3;

/// How many steps a life has at most.
const STEPS_MAX: u32 = 300;

/// When the machine is to crash, if it lives so long.
#[derive(Debug, Clone, Copy)]
pub enum When<'a> {
    /// At an operation after it has begun to open the database.
    Operation(u64),
    /// At a named point's arrival of this number.
    Point(&'a str, u64),
}

/// Why a life ended early.
#[derive(Debug)]
pub enum Problem {
    /// The database has answered with an error.
    Refused(Error),
    /// It has answered wrongly.
    Wrong(String),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// A machine over its lives.
pub struct Machine {
    pub chance: Xoshiro256PlusPlus,
    maintenance: Maintenance,
    pub storage: Simulated,
    pub history: History,
    work: Work,
}

impl Machine {
    pub fn new(seed: u64, maintenance: Maintenance) -> Self {
        Self {
            chance: Xoshiro256PlusPlus::seed_from_u64(seed),
            maintenance,
            storage: Simulated::new(seed),
            history: History::default(),
            work: Work::new(),
        }
    }

    /// Lives once, until the crash or for a number of steps, after which it crashes too; starts again, checks what is
    /// there, and says whether the crash came when it was to come.
    pub fn live(&mut self, when: When<'_>) -> Result<bool, String> {
        match when {
            When::Operation(number) => self.storage.crash_at_operation(number),
            When::Point(name, nth) => self.storage.crash_at_point(name, nth),
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

    /// Does a random step and takes note of what the database promises.
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
                look(&all(database)?, &self.history.newest())?;
                for (snapshot, model) in snapshots {
                    look(&collect(database.range_at(.., snapshot)?)?, model)?;
                }
            }
        }
        Ok(())
    }

    /// Opens the database, with machines that crash while they do, and checks what is in it.
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
        // What was asked of this machine counts for no other life.
        self.storage = self.storage.reboot();
        Ok(())
    }
}

fn look(found: &Model, expected: &Model) -> Result<(), Problem> {
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
