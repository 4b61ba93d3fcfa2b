//! Measures the throughput of the memtable per second of processor time, and its memory per entry, through the engine's
//! interface: `memtable RECORDS [VALUE_BYTES]`. Keys have 16 bytes; nothing is flushed.

#![allow(clippy::print_stdout, reason = "an example program prints its result")]

use std::hint::black_box;

use rlsm::storage::simulated::SimulatedStorage;
use rlsm::{Batch, Database, Maintenance, Options, Sync};
use rustix::time::{ClockId, clock_gettime};

/// Puts per batch: enough that the WAL's share of the cost is small.
const BATCH: u64 = 1000;

fn key(number: u64) -> [u8; 16] {
    let mut key = [b'0'; 16];
    key[8..].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key
}

/// Prints the throughput of `work` by the thread's processor time, without that of other processes.
fn timed(description: &str, times: u64, work: impl FnOnce() -> rlsm::Result<()>) -> rlsm::Result<()> {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let start = now();
    work()?;
    println!("{description:28} {:8.2} million/s", times as f64 / (now() - start) / 1e6);
    Ok(())
}

fn put_all(database: &Database, records: u64, value: &[u8]) -> rlsm::Result<()> {
    for first in (0..records).step_by(BATCH as usize) {
        let mut batch = Batch::new();
        for number in first..records.min(first + BATCH) {
            batch.put(&key(number), value)?;
        }
        database.write(batch)?;
    }
    Ok(())
}

fn get_all(database: &Database, numbers: impl Iterator<Item = u64>) -> rlsm::Result<()> {
    for number in numbers {
        black_box(database.get(&key(number))?);
    }
    Ok(())
}

fn main() -> rlsm::Result<()> {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let Some(&records) = arguments.first() else {
        println!("memtable RECORDS [VALUE_BYTES]");
        return Ok(());
    };
    let value = vec![7; arguments.get(1).copied().unwrap_or(100) as usize];
    // The memtable must not become full.
    let memtable_bytes = records * (16 + value.len() as u64) * 2;
    let options = Options::new().memtable_bytes(memtable_bytes).sync(Sync::Never).maintenance(Maintenance::Inline);
    let database = options.open_on(std::sync::Arc::new(SimulatedStorage::new(1)))?;
    let empty = database.stats()?.memtable_bytes;
    timed("put", records, || put_all(&database, records, &value))?;
    let stats = database.stats()?;
    println!("memory per entry             {:8.1} bytes", stats.memtable_bytes as f64 / stats.memtable_entries as f64);
    println!("without the empty table      {:8.1} bytes", (stats.memtable_bytes - empty) as f64 / records as f64);
    timed("get, as put", records, || get_all(&database, 0..records))?;
    timed("get, at random", records, || get_all(&database, (0..records).map(|number| number * 7_919 % records)))?;
    timed("get, absent", records, || get_all(&database, records..2 * records))?;
    timed("put again", records, || put_all(&database, records, &value))?;
    timed("scan, with ordering first", records, || {
        let mut iter = database.range(..)?;
        iter.seek_to_first()?;
        while black_box(iter.entry()).is_some() {
            iter.forward()?;
        }
        Ok(())
    })?;
    timed("scan", records, || {
        let mut iter = database.range(..)?;
        iter.seek_to_first()?;
        while black_box(iter.entry()).is_some() {
            iter.forward()?;
        }
        Ok(())
    })
}
