//! How many records a second a reader gives: `cargo run --release -p manometer-trace --example read_speed [TRACE …]`.
//!
//! Without traces it makes two of its own, one of oracleGeneral and one of Twitter's CSV, in memory.

#![allow(clippy::print_stdout, reason = "the result is the output")]

use std::io::{Cursor, Read};
use std::path::Path;

use manometer_trace::{Format, ReadOptions, Trace, TraceError, open, open_stream};

const RECORDS: u64 = 4_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<(), TraceError> {
    let traces: Vec<String> = std::env::args().skip(1).collect();
    for trace in &traces {
        measure(trace, || open(Path::new(trace), &ReadOptions::default()))?;
    }
    if traces.is_empty() {
        let (oracle, twitter): (&[u8], &[u8]) = (oracle_general().leak(), twitter().leak());
        measure("oracle-general", || in_memory("oracle-general", oracle))?;
        measure("twitter", || in_memory("twitter", twitter))?;
    }
    Ok(())
}

fn in_memory(format: &str, bytes: &'static [u8]) -> Result<Trace, TraceError> {
    let options = ReadOptions { format: Some(Format::find(format)?), ..ReadOptions::default() };
    open_stream(Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>, &options)
}

/// The best of a few rounds, as others use the processor too.
fn measure(name: &str, open: impl Fn() -> Result<Trace, TraceError>) -> Result<(), TraceError> {
    let (mut best_ns, mut records, mut sum) = (u64::MAX, 0, 0_u64);
    for _ in 0..ROUNDS {
        let mut reader = open()?.reader;
        let begin = cpu_time_ns();
        let mut batch = Vec::new();
        records = 0;
        loop {
            let read = reader.read(&mut batch)?;
            if read == 0 {
                break;
            }
            records += read as u64;
            sum = batch.iter().fold(sum, |sum, record| sum.wrapping_add(record.key));
        }
        best_ns = best_ns.min(cpu_time_ns() - begin);
    }
    let rate = records as f64 * 1e3 / best_ns as f64;
    println!("{name}: {records} records, {rate:.1} million a second of one core (checksum {sum:x})");
    Ok(())
}

/// The processor time of this process.
fn cpu_time_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn oracle_general() -> Vec<u8> {
    let record = |number: u64| {
        let mut bytes = [0xff; 24];
        bytes[..4].copy_from_slice(&((number / 1000) as u32).to_le_bytes());
        bytes[4..12].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
        bytes[12..16].copy_from_slice(&100_u32.to_le_bytes());
        bytes
    };
    (0..RECORDS).flat_map(record).collect()
}

fn twitter() -> Vec<u8> {
    let line = |number: u64| {
        let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        format!("{},q:1:{key:016x},21,{},{},get,0\n", number / 1000, key % 900, key % 77).into_bytes()
    };
    (0..RECORDS).flat_map(line).collect()
}
