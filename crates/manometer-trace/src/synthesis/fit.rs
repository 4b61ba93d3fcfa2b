//! From a trace to its model, in two readings: how often each key is requested decides what is counted of it.

use std::collections::{BTreeMap, HashMap};

use super::model::{Arrivals, Buckets, Class, Life, Model, Octave, SEGMENTS, VERSION, WINDOWS_MAX};
use crate::character::Character;
use crate::character::counts::Counts;
use crate::error::TraceError;
use crate::key::IdHasher;
use crate::reader::TraceReader;
use crate::record::{Operation, Record};
use crate::transform::sample::SpatialFilter;

/// The most keys that are known at a time; above that, half of them are dropped by their hashes.
const KEYS_MAX: usize = 1 << 23;

/// What the first reading finds.
pub struct First {
    requests: u64,
    keys_max: usize,
    filter: SpatialFilter,
    keys: HashMap<u64, Key, IdHasher>,
    counts: Counts,
    times_absent: u64,
    damage: Option<TraceError>,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    requests: u64,
    first: u64,
    last: u64,
}

impl Default for First {
    fn default() -> Self {
        Self {
            requests: 0,
            keys_max: KEYS_MAX,
            filter: SpatialFilter::ALL,
            keys: HashMap::default(),
            counts: Counts::default(),
            times_absent: 0,
            damage: None,
        }
    }
}

impl First {
    /// Reads a trace, and characterises it on the way.
    ///
    /// # Errors
    /// It cannot be read, or it is one of requests to devices, whose places the model does not hold.
    pub fn read(trace: &mut dyn TraceReader, character: &mut Character) -> Result<Self, TraceError> {
        let mut first = Self::default();
        let damage = read_all(trace, |batch| {
            character.add(batch);
            batch.iter().try_for_each(|record| first.add(record))
        })?;
        first.damage = damage;
        match first.requests {
            0 => Err(TraceError::Wrong("a trace without requests has no model".to_owned())),
            _ => Ok(first),
        }
    }

    /// What ended the trace before its end.
    pub fn take_damage(&mut self) -> Option<TraceError> {
        self.damage.take()
    }

    fn add(&mut self, record: &Record) -> Result<(), TraceError> {
        if record.operation.is_block() {
            let what = "a model holds keys, and no places on devices: convert the trace to oracleGeneral to model its blocks \
                        as keys";
            return Err(TraceError::Wrong(what.to_owned()));
        }
        let number = self.requests;
        self.requests += 1;
        match record.time_ns {
            Some(time) => self.counts.add(time),
            None => self.times_absent += 1,
        }
        if !self.filter.keeps(record.key) {
            return Ok(());
        }
        let key = self.keys.entry(record.key).or_insert(Key { requests: 0, first: number, last: number });
        key.requests += 1;
        key.last = number;
        if self.keys.len() > self.keys_max {
            self.filter = self.filter.halved();
            let filter = self.filter;
            self.keys.retain(|key, _| filter.keeps(*key));
        }
        Ok(())
    }

    /// Reads the same trace again, and makes its model.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn fit(self, again: &mut dyn TraceReader, character: &Character) -> Result<Model, TraceError> {
        let arrivals = (self.times_absent == 0).then(|| windows(&self.counts));
        let mut second = Second {
            seen: HashMap::default(),
            classes: BTreeMap::new(),
            number: 0,
            gaps: Buckets::default(),
            previous_ns: None,
        };
        self.count_lives(&mut second.classes);
        read_all(again, |batch| {
            batch.iter().for_each(|record| second.add(record, &self, arrivals.as_ref()));
            Ok(())
        })?;
        Ok(Model {
            manometer_trace_model: VERSION,
            requests: self.requests,
            keys: (self.keys.len() as f64 / self.filter.rate()).round() as u64,
            arrivals: arrivals.map(|arrivals| Arrivals { gaps: second.gaps.finish(), ..arrivals }),
            classes: second.classes.values().map(ClassCounter::finish).collect(),
            reuse_distances: reuse_distances(character),
            fit_error: None,
        })
    }

    fn count_lives(&self, classes: &mut BTreeMap<u32, ClassCounter>) {
        let part = |number: u64| (u128::from(number) * u128::from(SEGMENTS) / u128::from(self.requests)) as u32;
        let weight = 1.0 / self.filter.rate();
        for key in self.keys.values() {
            let class = classes.entry(class_of(key.requests)).or_default();
            class.keys += weight;
            class.requests += key.requests as f64 * weight;
            *class.lives.entry((part(key.first), part(key.last))).or_default() += weight;
        }
    }
}

fn reuse_distances(character: &Character) -> Vec<Octave> {
    let octave = |(from, below, requests): (u64, u128, f64)| Octave {
        from,
        below: u64::try_from(below).unwrap_or(u64::MAX),
        requests,
    };
    character.reuse_octaves().into_iter().map(octave).collect()
}

/// Reads to the end, or to the damage, which is given back: what came before is a trace too.
fn read_all(
    trace: &mut dyn TraceReader,
    mut add: impl FnMut(&[Record]) -> Result<(), TraceError>,
) -> Result<Option<TraceError>, TraceError> {
    let mut batch = Vec::new();
    loop {
        match trace.read(&mut batch) {
            Ok(0) => return Ok(None),
            Err(damage @ TraceError::Damaged { .. }) => return Ok(Some(damage)),
            Ok(_) => add(&batch)?,
            Err(error) => return Err(error),
        }
    }
}

/// The class of keys with so many requests: four to the octave.
fn class_of(requests: u64) -> u32 {
    let shift = requests.max(1).ilog2().saturating_sub(2);
    (shift << 2) + (requests >> shift) as u32
}

/// The requests of at most [`WINDOWS_MAX`] windows.
fn windows(counts: &Counts) -> Arrivals {
    let mut requests: Vec<u64> = counts.all().map(u64::from).collect();
    let mut window_ns = counts.window_ns();
    while requests.len() > WINDOWS_MAX {
        requests = requests.chunks(2).map(|pair| pair.iter().sum()).collect();
        window_ns *= 2;
    }
    Arrivals { window_ns, requests, gaps: Vec::new() }
}

/// The second reading.
struct Second {
    /// Of each key the number of its last request.
    seen: HashMap<u64, u64, IdHasher>,
    classes: BTreeMap<u32, ClassCounter>,
    number: u64,
    gaps: Buckets,
    previous_ns: Option<u64>,
}

#[derive(Debug, Clone, Default)]
struct ClassCounter {
    keys: f64,
    requests: f64,
    lives: BTreeMap<(u32, u32), f64>,
    gaps: Buckets,
    value_sizes: Buckets,
    key_sizes: Buckets,
    first_operations: [f64; Operation::ALL.len()],
    operations: [f64; Operation::ALL.len()],
}

impl Second {
    fn add(&mut self, record: &Record, first: &First, arrivals: Option<&Arrivals>) {
        if let (Some(time), Some(arrivals)) = (record.time_ns, arrivals) {
            self.add_time(time, first.counts.begin_ns(), arrivals);
        }
        let number = self.number;
        self.number += 1;
        let Some(key) = first.keys.get(&record.key) else { return };
        let class = self.classes.entry(class_of(key.requests)).or_default();
        match self.seen.insert(record.key, number) {
            Some(before) => {
                class.gaps.add(number - before, 1.0);
                class.operations[record.operation as usize] += 1.0;
            }
            None => {
                class.first_operations[record.operation as usize] += 1.0;
                record.value_size.into_iter().for_each(|size| class.value_sizes.add(size, 1.0));
                record.key_size.into_iter().for_each(|size| class.key_sizes.add(size.into(), 1.0));
            }
        }
    }

    /// The time since the request before, in the window's mean.
    fn add_time(&mut self, time_ns: u64, begin_ns: i128, arrivals: &Arrivals) {
        let window = (i128::from(time_ns) - begin_ns) / i128::from(arrivals.window_ns);
        let requests = arrivals.requests.get(window as usize).copied().unwrap_or(1).max(1);
        if let Some(gap) = self.previous_ns.and_then(|previous| time_ns.checked_sub(previous)) {
            let relative = gap as f64 * requests as f64 / arrivals.window_ns as f64;
            self.gaps.add((relative * 1024.0).round() as u64, 1.0);
        }
        self.previous_ns = Some(time_ns);
    }
}

impl ClassCounter {
    fn finish(&self) -> Class {
        let life = |((first, last), keys): (&(u32, u32), &f64)| Life {
            first: *first,
            last: *last,
            keys: keys.round().max(1.0) as u64,
        };
        Class {
            requests_per_key: self.requests / self.keys,
            lives: self.lives.iter().map(life).collect(),
            gaps: self.gaps.finish(),
            value_sizes: self.value_sizes.finish(),
            key_sizes: self.key_sizes.finish(),
            first_operations: shares(&self.first_operations),
            operations: shares(&self.operations),
        }
    }
}

fn shares(counts: &[f64]) -> BTreeMap<String, f64> {
    let all: f64 = counts.iter().sum();
    let asked = Operation::ALL.iter().zip(counts).filter(|(_, count)| **count > 0.0);
    asked.map(|(operation, count)| (operation.name().to_owned(), count / all)).collect()
}
