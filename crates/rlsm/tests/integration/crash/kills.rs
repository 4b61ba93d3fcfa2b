//! Processes that are killed while they write to a real directory.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rlsm::{Batch, Database, Maintenance, Options, Sync};

use crate::support::{Model, READS, Write, all, batch};

const ROUNDS: u64 = 20;

/// The environment variable with the child's directory.
const DIRECTORY: &str = "RLSM_KILL_DIRECTORY";

/// The environment variable with the place of the child's way to read in [`READS`].
const READ: &str = "RLSM_KILL_READ";

/// The prefix of the number of each batch that the child acknowledges.
const KEPT: &str = "kept ";

/// The key that every batch sets to its own number.
const LAST: &[u8] = b"last";

fn options(read: usize) -> Options {
    Options::new()
        .memtable_bytes(65_536)
        .range_bytes(65_536)
        .manifest_bytes(2000)
        .compaction_bytes(30_000)
        .sync(Sync::Never)
        .maintenance(Maintenance::Background)
        .read(READS[read % READS.len()])
}

/// The writes of the batch with this number.
fn writes(number: u64) -> Vec<Write> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(number);
    let mut writes = vec![Write::Put(LAST.to_vec(), number.to_be_bytes().to_vec())];
    for _ in 0..chance.random_range(1..8) {
        let key = format!("key{:04}", chance.random_range(0..600)).into_bytes();
        writes.push(match chance.random_range(0..10) {
            0 => Write::Delete(key),
            1 => Write::DeleteRange(key.clone(), [&*key, b"~"].concat()),
            _ => Write::Put(key, vec![number as u8; chance.random_range(0..2000)]),
        });
    }
    writes
}

fn last(database: &Database) -> u64 {
    let value = database.get(LAST).unwrap();
    value.map_or(0, |value| u64::from_be_bytes(value.as_ref().try_into().unwrap()))
}

/// Not a test: the child process.
#[test]
#[ignore = "run by the tests below in a process of its own"]
fn child() {
    let directory = std::env::var_os(DIRECTORY).expect("it is started as a child");
    let read = std::env::var(READ).expect("it is told how to read");
    let database = options(read.parse().unwrap()).open(directory).unwrap();
    for number in last(&database) + 1.. {
        let batch: Batch = batch(&writes(number));
        database.write(batch).unwrap();
        writeln!(std::io::stdout().lock(), "\n{KEPT}{number}").unwrap();
    }
}

#[test]
fn a_killed_process_loses_nothing_that_it_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut model = Model::new();
    let mut written = 0;
    for round in 0..ROUNDS {
        let most = 10 << chance.random_range(0..7);
        let acknowledged = run_and_kill(directory.path(), round as usize, chance.random_range(1..=most)).max(written);
        let database = options(round as usize + 1).open(directory.path()).unwrap();
        let last = last(&database);
        assert!(last >= acknowledged, "round {round}: {acknowledged} was acknowledged, {last} is there");
        (written + 1..=last).flat_map(writes).for_each(|write| write.apply(&mut model));
        written = last;
        assert!(all(&database).unwrap() == model, "round {round}: the state after batch {last} is another one");
    }
}

/// Kills a child after this many acknowledgements. Returns the number of the last batch that it acknowledged.
fn run_and_kill(directory: &Path, read: usize, acknowledgements: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::kills::child", "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(READ, read.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut numbers = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix(KEPT)?.parse().ok());
    let mut last = 0;
    for _ in 0..acknowledgements {
        last = numbers.next().expect("the child writes until it is killed");
    }
    child.kill().unwrap();
    last = numbers.last().unwrap_or(last);
    child.wait().unwrap();
    last
}
