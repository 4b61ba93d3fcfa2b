//! A load in memory: the trace, its requests in another order, or its operations with newly drawn keys.

use manometer_analysis::real_vs_synthetic::{self as results, ComparedLoad};
use manometer_workload::kv::distribution::stream;
use rand::seq::SliceRandom as _;

use super::recorded_trace::{Key, KeyRequest, RecordedTrace};
use super::synthetic::{SyntheticKeys, draw, key_of};

/// The lengths of the windows within which requests are shuffled.
const WINDOWS: [usize; 4] = [100, 1000, 10_000, 100_000];

/// Which requests a load consists of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LoadKind {
    /// Those of the trace.
    Trace,
    /// Those of the trace in random order: the same requests for each key, without locality.
    Shuffled,
    /// Those of the trace in random order within each window of this many requests.
    ShuffledWithin(usize),
    /// Its keys in random order, its operations in theirs: which operations a key gets is left to chance.
    ShuffledOperations,
    /// The operations of the trace with newly drawn keys.
    Drawn(SyntheticKeys),
}

/// A kind of load, with the recorded sizes of values or with one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LoadChoice {
    pub(super) kind: LoadKind,
    pub(super) one_size: bool,
}

/// The exponents of the fitted Zipf distributions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Exponents {
    pub(super) all_keys: f64,
    pub(super) curve: f64,
}

impl Exponents {
    /// The loads with newly drawn keys.
    pub(super) fn drawn(self) -> [LoadKind; 4] {
        [
            SyntheticKeys::Zipf(self.all_keys),
            SyntheticKeys::ZipfCurve(self.curve),
            SyntheticKeys::Uniform,
            SyntheticKeys::Latest(self.all_keys),
        ]
        .map(LoadKind::Drawn)
    }
}

/// Every simulated load of `recorded`: each kind with the recorded sizes and, if they differ, with one size. Windows as long
/// as half of the trace would shuffle all of it.
pub(super) fn simulated_loads(recorded: &RecordedTrace, exponents: Exponents) -> Vec<LoadChoice> {
    let windows = WINDOWS.into_iter().filter(|window| 2 * window < recorded.requests.len());
    let shuffled = windows.map(LoadKind::ShuffledWithin).chain([LoadKind::Shuffled]);
    let operations = recorded.operations_differ().then_some(LoadKind::ShuffledOperations);
    let kinds = [LoadKind::Trace].into_iter().chain(shuffled).chain(operations).chain(exponents.drawn());
    let sizes: &[bool] = if recorded.sizes_differ() { &[false, true] } else { &[false] };
    kinds.flat_map(|kind| sizes.iter().map(move |one_size| LoadChoice { kind, one_size: *one_size })).collect()
}

/// The loads that are replayed on engines: those between the trace and the Zipf load, each without one more property, and
/// other synthetic loads, with values of one size as YCSB has.
pub(super) fn replayed_loads(recorded: &RecordedTrace, exponents: Exponents) -> Vec<LoadChoice> {
    let one_size = recorded.sizes_differ();
    let as_recorded = [LoadKind::Trace, LoadKind::Shuffled].map(|kind| LoadChoice { kind, one_size: false });
    let shuffled = one_size.then_some(LoadChoice { kind: LoadKind::Shuffled, one_size });
    let operations = recorded.operations_differ().then_some(LoadKind::ShuffledOperations);
    let others = operations.into_iter().chain(exponents.drawn()).map(|kind| LoadChoice { kind, one_size });
    as_recorded.into_iter().chain(shuffled).chain(others).collect()
}

/// The loads that were made, one at a time: the next choice of the same kind uses it again.
pub(super) struct LoadMaker<M> {
    make: M,
    last: Option<Load>,
}

impl<M: FnMut(LoadKind) -> Load> LoadMaker<M> {
    /// Makes loads by `make`.
    pub(super) fn new(make: M) -> Self {
        Self { make, last: None }
    }

    /// The load of this kind.
    pub(super) fn load(&mut self, kind: LoadKind) -> &Load {
        let last = self.last.take().filter(|load| load.kind == kind);
        let make = &mut self.make;
        self.last.insert(last.unwrap_or_else(|| make(kind)))
    }
}

impl LoadChoice {
    /// Its name.
    pub(super) fn name(self) -> String {
        let name = self.kind.name();
        if self.one_size { results::one_size(&name) } else { name }
    }
}

impl LoadKind {
    /// The name with the recorded sizes.
    pub(super) fn name(self) -> String {
        match self {
            Self::Trace => results::TRACE.to_owned(),
            Self::Shuffled => results::SHUFFLED.to_owned(),
            Self::ShuffledWithin(requests) => results::shuffled_within(requests),
            Self::ShuffledOperations => results::SHUFFLED_OPERATIONS.to_owned(),
            Self::Drawn(keys) => keys.name().to_owned(),
        }
    }

    /// Makes the load.
    pub(super) fn make(self, recorded: &RecordedTrace, seed: u64) -> Load {
        let of_trace = |requests| Load { kind: self, requests, keys: recorded.keys.len() as u64, drawn_from: None };
        match self {
            Self::Trace => of_trace(recorded.requests.clone()),
            Self::Shuffled => of_trace(shuffled(&recorded.requests, recorded.requests.len(), seed)),
            Self::ShuffledWithin(window) => of_trace(shuffled(&recorded.requests, window, seed)),
            Self::ShuffledOperations => {
                let keys = shuffled(&recorded.requests, recorded.requests.len(), seed);
                of_trace(with_operations_of(&recorded.requests, keys.iter().map(|one| one.key)))
            }
            Self::Drawn(distribution) => {
                let drawn = draw(distribution, recorded, seed);
                let requests = with_operations_of(&recorded.requests, drawn.picks);
                Load { kind: self, requests, keys: drawn.keys, drawn_from: Some(drawn.drawn_from) }
            }
        }
    }
}

/// The operations of `requests`, in their order, for `keys`.
fn with_operations_of(requests: &[KeyRequest], keys: impl IntoIterator<Item = u32>) -> Vec<KeyRequest> {
    let request = |(one, key): (&KeyRequest, u32)| KeyRequest { key, operation: one.operation };
    requests.iter().zip(keys).map(request).collect()
}

fn shuffled(requests: &[KeyRequest], window: usize, seed: u64) -> Vec<KeyRequest> {
    let mut random = stream(seed, 1);
    let mut shuffled = requests.to_vec();
    shuffled.chunks_mut(window.max(1)).for_each(|chunk| chunk.shuffle(&mut random));
    shuffled
}

/// The requests of a load. Their keys are places in the trace's keys, or drawn numbers.
#[derive(Debug)]
pub(super) struct Load {
    kind: LoadKind,
    pub(super) requests: Vec<KeyRequest>,
    /// The number of requested keys.
    keys: u64,
    /// The size of the key space, where keys are drawn.
    drawn_from: Option<u64>,
}

impl Load {
    /// The key that a request is for.
    pub(super) fn key(&self, place: u32, recorded: &RecordedTrace) -> Key {
        if self.drawn_from.is_some() { key_of(place, recorded) } else { recorded.keys[place as usize] }
    }

    /// What results say of it, with recorded sizes or with one.
    pub(super) fn describe(&self, one_size: bool) -> ComparedLoad {
        ComparedLoad {
            name: LoadChoice { kind: self.kind, one_size }.name(),
            requests: self.requests.len() as u64,
            keys: self.keys,
            one_size,
            drawn_from: self.drawn_from,
            exponent: match self.kind {
                LoadKind::Drawn(keys) => keys.exponent(),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use manometer_trace::TraceOperation;

    use super::*;

    fn recorded(sizes: impl Fn(u64) -> u64) -> RecordedTrace {
        let key = |id| Key { id, key_bytes: 11, value_bytes: sizes(id) };
        let operation = |number| if number % 3 == 0 { TraceOperation::Put } else { TraceOperation::Get };
        let requests = (0..3000).map(|number| KeyRequest { key: number / 10, operation: operation(number) }).collect();
        RecordedTrace { keys: (0..300).map(key).collect(), requests, times_ns: None, resized: 0, damage: Vec::new() }
    }

    fn sorted(mut requests: Vec<KeyRequest>) -> Vec<(u32, TraceOperation)> {
        requests.sort_by_key(|one| (one.key, one.operation));
        requests.iter().map(|one| (one.key, one.operation)).collect()
    }

    #[test]
    fn shuffled_loads_have_the_same_requests_in_another_order() {
        let recorded = recorded(|_| 5);
        for kind in [LoadKind::Shuffled, LoadKind::ShuffledWithin(100)] {
            let load = kind.make(&recorded, 3);
            assert_ne!(load.requests, recorded.requests);
            assert_eq!(sorted(load.requests.clone()), sorted(recorded.requests.clone()));
            assert_eq!(load.requests, kind.make(&recorded, 3).requests, "a seed makes the same load");
            assert_ne!(load.requests, kind.make(&recorded, 4).requests);
        }
        let within = LoadKind::ShuffledWithin(100).make(&recorded, 3);
        for (number, (own, window)) in within.requests.chunks(100).zip(recorded.requests.chunks(100)).enumerate() {
            assert_eq!(sorted(own.to_vec()), sorted(window.to_vec()), "window {number}");
        }
    }

    #[test]
    fn shuffled_operations_leave_what_a_key_gets_to_chance() {
        let recorded = recorded(|_| 5);
        let shuffled = LoadKind::Shuffled.make(&recorded, 3);
        let load = LoadKind::ShuffledOperations.make(&recorded, 3);
        let keys = |requests: &[KeyRequest]| requests.iter().map(|one| one.key).collect::<Vec<_>>();
        let operations = |requests: &[KeyRequest]| requests.iter().map(|one| one.operation).collect::<Vec<_>>();
        assert_eq!(keys(&load.requests), keys(&shuffled.requests));
        assert_eq!(operations(&load.requests), operations(&recorded.requests));
        assert_ne!(load.requests, shuffled.requests);
    }

    #[test]
    fn each_kind_of_load_is_made_once() {
        let (recorded, exponents) = (recorded(|id| id), Exponents { all_keys: 0.9, curve: 1.1 });
        for choices in [simulated_loads(&recorded, exponents), replayed_loads(&recorded, exponents)] {
            let mut made = Vec::new();
            let mut loads = LoadMaker::new(|kind: LoadKind| {
                made.push(kind.name());
                kind.make(&recorded, 3)
            });
            for choice in &choices {
                assert_eq!(loads.load(choice.kind).requests, choice.kind.make(&recorded, 3).requests);
            }
            let mut kinds: Vec<String> = choices.iter().map(|choice| choice.kind.name()).collect();
            kinds.dedup();
            assert_eq!(made, kinds);
        }
    }

    #[test]
    fn loads_with_one_size_exist_where_sizes_differ() {
        let exponents = Exponents { all_keys: 0.9, curve: 1.1 };
        let names = |loads: Vec<LoadChoice>| loads.iter().map(|one| one.name()).collect::<Vec<_>>();
        let equal = names(simulated_loads(&recorded(|_| 5), exponents));
        let shuffled = ["shuffled-within-100", "shuffled-within-1000", "shuffled"];
        assert_eq!(equal[..4], [&["trace"][..], &shuffled[..]].concat());
        assert_eq!(equal[4..], ["shuffled-operations", "zipf", "zipf-curve", "uniform", "latest"]);
        let differ = recorded(|id| id);
        assert_eq!(simulated_loads(&differ, exponents).len(), 18);
        let replayed = names(replayed_loads(&differ, exponents));
        assert_eq!(replayed[..4], ["trace", "shuffled", "shuffled, one size", "shuffled-operations, one size"]);
        assert_eq!(names(replayed_loads(&recorded(|_| 5), exponents)).len(), 7);
    }
}
