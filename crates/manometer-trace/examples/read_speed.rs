//! Reading speed of traces: `cargo run --release -p manometer-trace --example read_speed TRACE …`.
//!
//! Prints a line of JSON for each trace: its format, its records, the seconds taken, and the peak memory of the process
//! so far.

#![allow(clippy::print_stdout, reason = "the result is the output")]

use std::path::Path;

use manometer_trace::{ReadOptions, TraceError, open};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

fn main() -> Result<(), TraceError> {
    std::env::args().skip(1).try_for_each(|trace| measure(&trace))
}

fn measure(path: &str) -> Result<(), TraceError> {
    let clocks = [ClockId::Monotonic, ClockId::ProcessCPUTime];
    let begin_s = clocks.map(now_s);
    let mut trace = open(Path::new(path), &ReadOptions::default())?;
    let (mut batch, mut records, mut sum) = (Vec::new(), 0, 0_u64);
    loop {
        let read = trace.reader.read(&mut batch)?;
        if read == 0 {
            break;
        }
        records += read as u64;
        // Uses every record, so that the compiler removes nothing.
        sum = batch.iter().fold(sum, |sum, record| sum.wrapping_add(record.key));
    }
    let end_s = clocks.map(now_s);
    let line = json!({
        "trace": path, "format": trace.format.name, "records": records, "seconds": end_s[0] - begin_s[0],
        "processor_s": end_s[1] - begin_s[1], "peak_bytes": peak_bytes(), "sum_of_keys": sum,
    });
    println!("{line}");
    Ok(())
}

fn now_s(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The peak memory of this process in bytes, if the system reports it.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}
