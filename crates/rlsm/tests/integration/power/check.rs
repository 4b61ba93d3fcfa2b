//! Checking the devices after power cuts: the host's part and the guest's.

use std::fmt;
use std::path::Path;

use manometer_testing::power::{self, Checked, Cut, Machine, Recording};
use rlsm::{Database, Maintenance, Sync};

use super::power_cycles::{self, PowerCycles};
use super::record::{CYCLES, DATABASE};
use super::settings::options;
use crate::support::work::Step;
use crate::support::{self, Model, batch};

/// The prefix of the guest's line for a device without problems.
const WHOLE: &str = "whole ";

/// The number of batches written to a database after a power cut.
const BATCHES_AFTER: u64 = 25;

/// What a sound device has after a power cut.
#[derive(Debug)]
pub struct Found {
    /// The number of the last batch.
    pub last: u64,
    /// Bytes at the end of a WAL that recovery dropped.
    pub torn_bytes: u64,
    /// Files that recovery removed.
    pub unfinished: u64,
}

/// What is wrong with a device after a power cut.
#[derive(Debug)]
pub enum Problem {
    /// Fewer batches than were acknowledged.
    Lost { acknowledged: u64, found: u64 },
    /// Another problem.
    Wrong(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { acknowledged, found } => {
                write!(formatter, "{acknowledged} batches were acknowledged, {found} are there")
            }
            Self::Wrong(problem) => formatter.write_str(problem),
        }
    }
}

/// Checks the device after each of the cuts, which are in order.
pub fn all(
    machine: &Machine,
    image: &[u8],
    recording: &Recording,
    cuts: &[Cut],
    cycles: &PowerCycles,
) -> Vec<Result<Found, Problem>> {
    let checked = power::check(machine, image, recording, (cuts, cycles.last()), &[(CYCLES, &cycles.to_word())]);
    checked.into_iter().map(judge).collect()
}

fn judge(Checked { acknowledged, line, file_system }: Checked) -> Result<Found, Problem> {
    let Some(numbers) = line.strip_prefix(WHOLE) else { return Err(Problem::Wrong(line)) };
    let [last, torn_bytes, unfinished] =
        numbers.split(' ').map(|number| number.parse().unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("`{line}` is not three numbers")
    };
    if last < acknowledged {
        return Err(Problem::Lost { acknowledged, found: last });
    }
    file_system.map_err(Problem::Wrong)?;
    Ok(Found { last, torn_bytes, unfinished })
}

/// The guest's part: returns a line per device.
pub fn run_in_guest(mount: &Path) -> String {
    let cycles = PowerCycles::from_word(&power::variable(CYCLES));
    power::look_at_devices(mount, |mount| {
        let found = check_database(&mount.join(DATABASE), &cycles)?;
        Ok(format!("{WHOLE}{} {} {}", found.last, found.torn_bytes, found.unfinished))
    })
}

/// Opens the database, checks its content, writes to it, and checks it again. Returns what was found at first.
fn check_database(directory: &Path, cycles: &PowerCycles) -> Result<Found, String> {
    let database = open(directory)?;
    let (torn_bytes, unfinished) = (database.recovery().torn_bytes, database.recovery().removed.len() as u64);
    let found = read(&database)?;
    let last = power_cycles::last(&database).map_err(|error| error.to_string())?;
    compare(&found, &cycles.model(last), last)?;
    let after = write_more(&database, cycles, last).map_err(|error| format!("it takes no more batches: {error}"))?;
    drop(database);
    let database = open(directory)?;
    compare(&read(&database)?, &after, last + BATCHES_AFTER)?;
    Ok(Found { last, torn_bytes, unfinished })
}

fn open(directory: &Path) -> Result<Database, String> {
    let options = options().sync(Sync::Never).maintenance(Maintenance::Inline);
    let database = options.open(directory).map_err(|error| format!("it cannot be opened: {error}"))?;
    let verification = database.verify();
    if verification.is_sound() { Ok(database) } else { Err(format!("it is not sound: {:?}", verification.problems)) }
}

fn read(database: &Database) -> Result<Model, String> {
    support::all(database).map_err(|error| format!("it cannot be read: {error}"))
}

fn compare(found: &Model, expected: &Model, last: u64) -> Result<(), String> {
    let of = |one: &Model, other: &Model| one.iter().filter(|(key, value)| other.get(*key) != Some(value)).count();
    match (of(found, expected), of(expected, found)) {
        (0, 0) => Ok(()),
        (more, fewer) => Err(format!("after batch {last} {more} entries are wrong or too many, {fewer} missing")),
    }
}

/// Writes batches, and returns the expected content.
fn write_more(database: &Database, cycles: &PowerCycles, last: u64) -> rlsm::Result<Model> {
    let mut cycles = cycles.left(last);
    cycles.begin(last);
    let mut steps = cycles.steps();
    while steps.number < last + BATCHES_AFTER {
        if let Step::Write(writes) = steps.next() {
            database.write(batch(&writes))?;
        }
    }
    database.compact()?;
    Ok(cycles.model(steps.number))
}
