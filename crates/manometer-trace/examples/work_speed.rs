//! Records per second of working on traces: `cargo run --release -p manometer-trace --example work_speed [TRACE …]`.
//!
//! Each figure includes reading. Without a trace it generates one in memory: oracleGeneral with a Zipf distribution.

#![allow(clippy::print_stdout, reason = "the result is the output")]

use std::io::Cursor;
use std::path::Path;

use manometer_trace::character::{Character, CharacterOptions};
use manometer_trace::synthesis::Generator;
use manometer_trace::synthesis::fit::FirstPass;
use manometer_trace::transform::Input;
use manometer_trace::transform::anonymise::{Anonymise, Secret};
use manometer_trace::transform::complete::MissingInserts;
use manometer_trace::transform::copies::Copies;
use manometer_trace::transform::intensify::intensify;
use manometer_trace::transform::merge::Merge;
use manometer_trace::transform::sample::{SampledTrace, SpatialFilter};
use manometer_trace::transform::scale::Scale;
use manometer_trace::transform::slice::{Slice, SliceRange};
use manometer_trace::transform::span::TraceSpan;
use manometer_trace::transform::subtrace::{Division, Subtrace};
use manometer_trace::{Format, ReadOptions, TraceError, TraceReader, open, open_stream};
use rand_distr::{Distribution as _, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

const RECORDS: u64 = 8_000_000;
const KEYS: f64 = 1_000_000.0;

fn main() -> Result<(), TraceError> {
    let traces: Vec<String> = std::env::args().skip(1).collect();
    for trace in &traces {
        measure_all(trace, &|| Ok(open(Path::new(trace), &ReadOptions::default())?.reader))?;
    }
    if traces.is_empty() {
        let bytes: &[u8] = oracle_general().leak();
        let options = ReadOptions { format: Some(Format::find("oracle-general")?), ..ReadOptions::default() };
        measure_all("zipf", &|| Ok(open_stream(Box::new(Cursor::new(bytes)), &options)?.reader))?;
    }
    Ok(())
}

fn measure_all(name: &str, open: &dyn Fn() -> Result<Input, TraceError>) -> Result<(), TraceError> {
    println!("{name}:");
    let count = measure("read", || drain(open()?.as_mut()))?;
    measure("slice", || {
        drain(&mut Slice::new(open()?, SliceRange { requests: Some(count), ..SliceRange::default() }))
    })?;
    measure("scale", || drain(&mut Scale::new(open()?, 2.0)?))?;
    measure("sample 0.01", || drain(&mut SampledTrace::new(open()?, SpatialFilter::of_rate(0.01)?)).map(|_| count))?;
    let span = TraceSpan::read(open()?.as_mut())?;
    measure("subtrace", || drain(&mut Subtrace::new(open()?, "1/2".parse()?, Division::Time(span))?).map(|_| count))?;
    measure("clone 3", || drain(&mut Copies::new(open()?, 3)?))?;
    measure("merge", || drain(&mut Merge::new(vec![open()?, open()?])))?;
    measure("intensify 4", || drain(&mut intensify(open, span, 4)?))?;
    measure("anonymise", || drain(&mut Anonymise::new(open()?, Secret::new([7; 16]))))?;
    measure("complete", || {
        let inserts = MissingInserts::read(open()?)?;
        drain(&mut inserts.into_trace(open()?, 1_000_000)?).map(|_| count)
    })?;
    measure("characterise", || {
        let mut character = Character::new(CharacterOptions::default());
        let read = each(open()?.as_mut(), |batch| character.add(batch))?;
        character.report();
        Ok(read)
    })?;
    let mut model = None;
    measure("fit a model", || {
        let mut character = Character::new(CharacterOptions::default());
        let first = FirstPass::read(open()?.as_mut(), &mut character)?;
        model = Some(first.fit(open()?.as_mut(), &character)?);
        Ok(count)
    })?;
    let Some(model) = model else { return Ok(()) };
    measure("synthesise", || drain(&mut Generator::new(&model, count, 1)?)).map(|_| ())
}

fn drain(reader: &mut dyn TraceReader) -> Result<u64, TraceError> {
    each(reader, |_| ())
}

fn each(reader: &mut dyn TraceReader, mut work: impl FnMut(&[manometer_trace::Record])) -> Result<u64, TraceError> {
    let (mut batch, mut records) = (Vec::new(), 0);
    loop {
        let read = reader.read(&mut batch)?;
        if read == 0 {
            return Ok(records);
        }
        work(&batch);
        records += read as u64;
    }
}

fn measure(what: &str, mut work: impl FnMut() -> Result<u64, TraceError>) -> Result<u64, TraceError> {
    let begin = cpu_time_ns();
    let records = work()?;
    let took = cpu_time_ns() - begin;
    println!("  {what:<14}{:8.1} million records a second of one core", records as f64 * 1e3 / took as f64);
    Ok(records)
}

/// The processor time of this process in nanoseconds.
fn cpu_time_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn oracle_general() -> Vec<u8> {
    let (mut random, mut bytes) = (Xoshiro256PlusPlus::seed_from_u64(1), Vec::new());
    let Ok(zipf) = Zipf::new(KEYS, 0.9) else { return bytes };
    for number in 0..RECORDS {
        let key = zipf.sample(&mut random) as u64;
        bytes.extend_from_slice(&((number / 10_000) as u32).to_le_bytes());
        bytes.extend_from_slice(&key.to_le_bytes());
        bytes.extend_from_slice(&(100 + (key % 1000) as u32).to_le_bytes());
        bytes.extend_from_slice(&(-1_i64).to_le_bytes());
    }
    bytes
}
