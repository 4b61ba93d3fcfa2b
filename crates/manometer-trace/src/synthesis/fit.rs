//! Fits a model to a trace in two passes: the request counts of the first decide what the second counts of each key.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::model::{Arrivals, Buckets, Class, KeyLifetime, Octave, SEGMENTS, TraceModel, VERSION, WINDOWS_MAX};
use crate::character::Character;
use crate::character::counts::ArrivalCounts;
use crate::error::TraceError;
use crate::key::IdHasher;
use crate::reader::TraceReader;
use crate::record::{Record, TraceOperation};
use crate::transform::sample::SpatialFilter;

/// The most keys tracked at a time; above that, half of them are dropped by their hashes.
const KEYS_MAX: usize = 1 << 23;

/// The most popular keys that are tracked in addition to a sample.
const POPULAR_MAX: usize = 1 << 20;
/// The number of a request that has not come yet.
const NOT_YET: u64 = u64::MAX;

/// The result of the first pass.
pub struct FirstPass {
    requests: u64,
    keys_max: usize,
    filter: SpatialFilter,
    keys: HashMap<u64, Key, IdHasher>,
    counts: ArrivalCounts,
    times_absent: u64,
    damage: Option<TraceError>,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    requests: u64,
    /// Its class, by its request count in the first pass.
    class: u32,
    /// Its first and its last request so far in the second pass.
    first: u64,
    last: u64,
    /// Whether it is tracked for its popularity, and represents only itself.
    is_popular: bool,
}

impl Key {
    fn new(requests: u64, is_popular: bool) -> Self {
        Self { requests, class: 0, first: NOT_YET, last: NOT_YET, is_popular }
    }
}

impl Default for FirstPass {
    fn default() -> Self {
        Self {
            requests: 0,
            keys_max: KEYS_MAX,
            filter: SpatialFilter::ALL,
            keys: HashMap::default(),
            counts: ArrivalCounts::default(),
            times_absent: 0,
            damage: None,
        }
    }
}

impl FirstPass {
    /// Reads a trace, and characterises it at the same time.
    ///
    /// # Errors
    /// It cannot be read, or it consists of block requests, whose offsets the model does not hold.
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

    /// The damage that ended the trace, if any.
    pub fn take_damage(&mut self) -> Option<TraceError> {
        self.damage.take()
    }

    fn add(&mut self, record: &Record) -> Result<(), TraceError> {
        if record.operation.is_block() {
            let what = "a model holds keys, and no places on devices: convert the trace to oracleGeneral to model its \
                        blocks as keys";
            return Err(TraceError::Wrong(what.to_owned()));
        }
        self.requests += 1;
        match record.time_ns {
            Some(time) => self.counts.add(time),
            None => self.times_absent += 1,
        }
        if !self.filter.keeps(record.key) {
            return Ok(());
        }
        self.keys.entry(record.key).or_insert(Key::new(0, false)).requests += 1;
        if self.keys.len() > self.keys_max {
            self.filter = self.filter.halved();
            let filter = self.filter;
            self.keys.retain(|key, _| filter.keeps(*key));
        }
        Ok(())
    }

    /// Reads the same trace again and builds its model.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn fit(mut self, again: &mut dyn TraceReader, character: &Character) -> Result<TraceModel, TraceError> {
        let arrivals = (self.times_absent == 0).then(|| windows(&self.counts));
        let keys = (self.keys.len() as f64 / self.filter.rate()).round() as u64;
        self.learn_popular(character);
        for key in self.keys.values_mut() {
            (key.class, key.requests) = (class_of(key.requests), 0);
        }
        let mut second = SecondPass {
            keys: self.keys,
            weight: 1.0 / self.filter.rate(),
            classes: BTreeMap::new(),
            number: 0,
            gaps: Buckets::default(),
            previous_ns: None,
        };
        read_all(again, |batch| {
            batch.iter().for_each(|record| second.add(record, self.counts.begin_ns(), arrivals.as_ref()));
            Ok(())
        })?;
        second.count_lives(self.requests);
        Ok(TraceModel {
            manometer_trace_model: VERSION,
            requests: self.requests,
            keys,
            arrivals: arrivals.map(|arrivals| Arrivals { gaps: second.gaps.finish(), ..arrivals }),
            classes: second.classes.values().map(ClassCounter::finish).collect(),
            reuse_distances: reuse_distances(character),
            fit_error: None,
        })
    }

    /// Adds the most popular keys. A sample contains each of them or not, with all its requests: if keys are sampled,
    /// their counts come from the count of all keys, and the sample represents the others.
    fn learn_popular(&mut self, character: &Character) {
        if self.filter == SpatialFilter::ALL {
            return;
        }
        let (mut popular, _) = character.most_requested();
        popular.sort_unstable_by_key(|(_, requests)| Reverse(*requests));
        popular.truncate(POPULAR_MAX);
        self.keys.extend(popular.into_iter().map(|(key, requests)| (key, Key::new(requests, true))));
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

/// Reads to the end or to the damage, which is returned: the records before form a trace too.
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

/// The class of keys with `requests` requests: four classes per octave.
fn class_of(requests: u64) -> u32 {
    let shift = requests.max(1).ilog2().saturating_sub(2);
    (shift << 2) + (requests >> shift) as u32
}

/// The requests in at most [`WINDOWS_MAX`] windows.
fn windows(counts: &ArrivalCounts) -> Arrivals {
    let mut requests: Vec<u64> = counts.all().map(u64::from).collect();
    let mut window_ns = counts.window_ns();
    while requests.len() > WINDOWS_MAX {
        requests = requests.chunks(2).map(|pair| pair.iter().sum()).collect();
        window_ns *= 2;
    }
    Arrivals { window_ns, requests, gaps: Vec::new() }
}

/// The second pass.
struct SecondPass {
    keys: HashMap<u64, Key, IdHasher>,
    /// The number of keys that each unpopular one represents.
    weight: f64,
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
    first_operations: [f64; TraceOperation::ALL.len()],
    operations: [f64; TraceOperation::ALL.len()],
}

impl SecondPass {
    fn add(&mut self, record: &Record, begin_ns: i128, arrivals: Option<&Arrivals>) {
        if let (Some(time), Some(arrivals)) = (record.time_ns, arrivals) {
            self.add_time(time, begin_ns, arrivals);
        }
        let number = self.number;
        self.number += 1;
        let Some(key) = self.keys.get_mut(&record.key) else { return };
        let weight = if key.is_popular { 1.0 } else { self.weight };
        let class = self.classes.entry(key.class).or_default();
        key.requests += 1;
        if key.first == NOT_YET {
            key.first = number;
            class.first_operations[record.operation as usize] += weight;
            record.value_size.into_iter().for_each(|size| class.value_sizes.add(size, weight));
            record.key_size.into_iter().for_each(|size| class.key_sizes.add(size.into(), weight));
        } else {
            class.gaps.add(number - key.last, weight);
            class.operations[record.operation as usize] += weight;
        }
        key.last = number;
    }

    /// Counts for each key the parts of the trace in which it was first and last requested.
    fn count_lives(&mut self, requests: u64) {
        let part = |number: u64| (u128::from(number) * u128::from(SEGMENTS) / u128::from(requests)) as u32;
        for key in self.keys.values().filter(|key| key.first != NOT_YET) {
            let weight = if key.is_popular { 1.0 } else { self.weight };
            let class = self.classes.entry(key.class).or_default();
            class.keys += weight;
            class.requests += key.requests as f64 * weight;
            *class.lives.entry((part(key.first), part(key.last))).or_default() += weight;
        }
    }

    /// Counts the time since the previous request, relative to the window's mean.
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
        let life = |((first, last), keys): (&(u32, u32), &f64)| KeyLifetime {
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
    let requested = TraceOperation::ALL.iter().zip(counts).filter(|(_, count)| **count > 0.0);
    requested.map(|(operation, count)| (operation.name().to_owned(), count / all)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::CharacterOptions;
    use rand_distr::{Distribution as _, Zipf};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng as _;

    struct RecordChunks<'a>(std::slice::Chunks<'a, Record>);

    impl TraceReader for RecordChunks<'_> {
        fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
            batch.clear();
            batch.extend_from_slice(self.0.next().unwrap_or_default());
            Ok(batch.len())
        }
    }

    #[test]
    fn a_sample_of_the_keys_has_a_model_with_as_many_requests() {
        let (zipf, mut random) = (Zipf::new(50_000.0, 1.0).unwrap(), Xoshiro256PlusPlus::seed_from_u64(3));
        let records: Vec<Record> =
            (0..300_000).map(|_| Record::new(TraceOperation::Get, zipf.sample(&mut random) as u64 * 77)).collect();
        let requests_in = |keys_max: usize| {
            let mut character = Character::new(CharacterOptions { keys_max, ..CharacterOptions::default() });
            let mut first = FirstPass { keys_max: 2 * keys_max, ..FirstPass::default() };
            records.chunks(1000).for_each(|batch| {
                character.add(batch);
                batch.iter().for_each(|record| first.add(record).unwrap());
            });
            let model = first.fit(&mut RecordChunks(records.chunks(1000)), &character).unwrap();
            let keys = |class: &Class| class.lives.iter().map(|life| life.keys).sum::<u64>() as f64;
            let most = model.classes.iter().map(|class| class.requests_per_key).fold(0.0, f64::max);
            let requests: f64 = model.classes.iter().map(|class| class.requests_per_key * keys(class)).sum();
            (requests, most)
        };
        let (exact, sampled) = (requests_in(1 << 20), requests_in(4000));
        assert!((exact.0 - 300_000.0).abs() < 1.0 && (sampled.0 / 300_000.0 - 1.0).abs() < 0.05, "{sampled:?}");
        assert_eq!(exact.1, sampled.1);
    }
}
