//! Why a synthetic load differs from the trace: each step from the trace to the load changes one property.

use manometer_measure::Grade;
use serde::Serialize;

use super::curves::EngineResult;
use super::estimate::Estimate;
use super::load_names::{SHUFFLED, SHUFFLED_OPERATIONS, TRACE, ZIPF, one_size};
use super::misses::{SimulatedCache, miss_difference};
use super::replays::CacheReplay;

/// What the exact simulation is called among the engines.
pub const EXACT: &str = "exact LRU";

/// A property of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Property {
    /// When requests arrive.
    Arrivals,
    /// Which requests follow which.
    Locality,
    /// The sizes of values.
    Sizes,
    /// Which operations which keys get.
    Operations,
    /// How many requests each key gets.
    Popularity,
}

impl Property {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrivals => "arrivals",
            Self::Locality => "locality",
            Self::Sizes => "sizes",
            Self::Operations => "operations",
            Self::Popularity => "popularity",
        }
    }
}

/// What the lack of one property changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PropertyEffect {
    /// The property that the synthetic load lacks.
    pub property: Property,
    /// How much the result changes.
    #[serde(flatten)]
    pub change: Estimate,
}

/// The result that is decomposed, and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedResult {
    /// The missed share of the reads; changes are differences.
    MissRatio,
    /// The read time of the smallest cache divided by that of the largest; changes are relative.
    SpeedUp,
    /// The most requests of a node in a second; changes are relative to the mean of a node.
    HotSpots,
    /// The latency of writes on memcached; changes are relative.
    SlabWrites,
}

/// The difference of a synthetic load from the trace, and what each property adds to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decomposition {
    /// The compared result.
    pub result: ComparedResult,
    /// The engine, or the exact simulation.
    pub on: String,
    /// The size of the cache, where the result has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<f64>,
    /// The synthetic load.
    pub load: String,
    /// The whole difference.
    pub difference: Estimate,
    /// Its parts, in the order in which properties are taken from the trace.
    pub effects: Vec<PropertyEffect>,
    /// What the difference may be used for.
    pub grade: Grade,
}

impl Decomposition {
    fn new(
        result: ComparedResult,
        on: &str,
        cache: Option<f64>,
        steps: &[(Property, String)],
        change: impl Fn(&str, &str) -> Estimate,
    ) -> Option<Self> {
        let (_, load) = steps.last()?;
        let before = std::iter::once(TRACE).chain(steps.iter().map(|(_, load)| load.as_str()));
        let effects = steps
            .iter()
            .zip(before)
            .map(|((property, load), before)| PropertyEffect { property: *property, change: change(before, load) });
        let effects = effects.collect();
        let difference = change(TRACE, load);
        let grade = grade(&difference);
        Some(Self { result, on: on.to_owned(), cache, load: load.clone(), difference, effects, grade })
    }

    /// A decomposition of hot spots, whose changes are computed by the caller. It is never sound: the most popular keys of a
    /// synthetic load fall on one node or another by a single chance, which is in no interval over time.
    pub(super) fn of_hot_spots(on: &str, load: &str, difference: Estimate, effects: Vec<PropertyEffect>) -> Self {
        let grade = grade(&difference).max(Grade::Indicative);
        let (result, on, load) = (ComparedResult::HotSpots, on.to_owned(), load.to_owned());
        Self { result, on, cache: None, load, difference, effects, grade }
    }
}

/// Sound where the interval excludes 0, void without a value.
fn grade(difference: &Estimate) -> Grade {
    match difference {
        Estimate { mean: None, .. } => Grade::Void,
        difference if difference.is_significant() => Grade::Sound,
        _ => Grade::Indicative,
    }
}

/// The loads between the trace and the Zipf load, each with the property that it lacks and the one before has. Without
/// `sizes_differ` all values have one size, without `operations_differ` all requests have one operation, and no step takes
/// that from the trace.
pub fn steps_to_zipf(sizes_differ: bool, operations_differ: bool) -> Vec<(Property, String)> {
    let sized = |load: &str| if sizes_differ { one_size(load) } else { load.to_owned() };
    let mut steps = vec![(Property::Locality, SHUFFLED.to_owned())];
    steps.extend(sizes_differ.then(|| (Property::Sizes, one_size(SHUFFLED))));
    steps.extend(operations_differ.then(|| (Property::Operations, sized(SHUFFLED_OPERATIONS))));
    steps.push((Property::Popularity, sized(ZIPF)));
    steps
}

/// The decomposition of the miss ratio of each exactly simulated cache.
pub fn simulated_decompositions(
    simulated: &[SimulatedCache],
    caches: &[f64],
    steps: &[(Property, String)],
) -> Vec<Decomposition> {
    let of_cache = |cache: f64| {
        let find = |load: &str| simulated.iter().find(|one| one.load == load && one.cache == cache);
        let change = |before: &str, after: &str| match find(before).zip(find(after)) {
            Some((before, after)) => miss_difference(before, after, caches.len()),
            None => Estimate { reason: Some("it was not simulated"), ..Estimate::default() },
        };
        Decomposition::new(ComparedResult::MissRatio, EXACT, Some(cache), steps, change)
    };
    caches.iter().filter_map(|cache| of_cache(*cache)).collect()
}

/// The decompositions of the miss ratio of each cache, and of the speed-up, on `engine`, paired by repeat.
pub fn engine_decompositions(
    engine: &EngineResult,
    replays: &[CacheReplay],
    caches: &[f64],
    steps: &[(Property, String)],
) -> Vec<Decomposition> {
    let of_cache = |cache: f64| {
        let miss_ratio = |load: &str, repeat: u32| {
            let is_own = |one: &&CacheReplay| one.engine == engine.engine && one.load == load && one.cache == cache;
            replays.iter().filter(is_own).find(|one| one.repeat == repeat).and_then(CacheReplay::miss_ratio)
        };
        let last = replays.iter().map(|one| one.repeat).max().unwrap_or(0);
        let change = |before: &str, after: &str| {
            let both = |repeat| Some(miss_ratio(after, repeat)? - miss_ratio(before, repeat)?);
            Estimate::of_several(&(1..=last).filter_map(both).collect::<Vec<_>>(), caches.len())
        };
        Decomposition::new(ComparedResult::MissRatio, &engine.engine, Some(cache), steps, change)
    };
    let speed_up = |before: &str, after: &str| {
        let find = |load: &str| engine.curves.iter().find(|curve| curve.load == load);
        let ratios = find(before).zip(find(after)).map(|(before, after)| after.speed_up_ratios(before));
        Estimate::of_ratios(&ratios.unwrap_or_default()).map(|ratio| ratio - 1.0)
    };
    let of_speed_up = Decomposition::new(ComparedResult::SpeedUp, &engine.engine, None, steps, speed_up);
    let all = caches.iter().filter_map(|cache| of_cache(*cache)).chain(of_speed_up);
    all.filter(|one| one.difference.mean.is_some()).collect()
}

/// The effect of the sizes of values on the write latency and the miss ratio of memcached: one size instead of sizes spread
/// over the slab classes.
pub fn slab_decompositions(engine: &str, replays: &[CacheReplay], spread: &str, one: &str) -> Vec<Decomposition> {
    let steps = [(Property::Sizes, one.to_owned())];
    let paired = |value: fn(&CacheReplay) -> Option<f64>, change: fn(f64, f64) -> f64| {
        let of = |load: &str| replays.iter().filter(|replay| replay.load == load).collect::<Vec<_>>();
        let (before, after) = (of(spread), of(one));
        let both = |after: &&CacheReplay| {
            let before = before.iter().find(|before| before.repeat == after.repeat)?;
            Some(change(value(before)?, value(after)?))
        };
        after.iter().filter_map(both).collect::<Vec<f64>>()
    };
    let writes = paired(|replay| replay.write_us, |before, after| after / before);
    let writes = Estimate::of_ratios(&writes).map(|ratio| ratio - 1.0);
    let misses = Estimate::of(&paired(CacheReplay::miss_ratio, |before, after| after - before));
    let results = [(ComparedResult::SlabWrites, writes), (ComparedResult::MissRatio, misses)];
    let decompose = |(result, change): (ComparedResult, Estimate)| {
        let cache = replays.iter().find(|replay| replay.load == spread)?.cache;
        let name = format!("{engine}, {spread}");
        Decomposition::new(result, &name, Some(cache), &steps, |_, _| change.clone())
    };
    results.into_iter().filter_map(decompose).filter(|one| one.difference.mean.is_some()).collect()
}
