//! The state of each key: its number of requests, and when it was requested last.
//!
//! Exact up to a maximum number of keys. Above it, half of the keys are dropped by their hashes (SHARDS with a fixed
//! size, Waldspurger and others, FAST 2015). The remaining keys are known from their first request on, and each
//! represents several.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::head::Head;
use super::positions::Positions;
use crate::key::IdHasher;
use crate::transform::sample::SpatialFilter;

/// The initial number of positions.
const PLACES_MIN: usize = 1 << 12;

/// The keys of a trace.
#[derive(Debug)]
pub struct Keys {
    keys_max: usize,
    filter: SpatialFilter,
    states: HashMap<u64, State, IdHasher>,
    /// Counts of all keys, once keys are sampled.
    head: Option<Head>,
    positions: Positions,
    /// The key at each position.
    owners: Vec<u64>,
}

/// The state of a key.
#[derive(Debug, Clone, Copy)]
struct State {
    requests: u64,
    last: RequestTime,
    place: u32,
}

/// The time of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTime {
    /// The time, if known.
    pub time_ns: Option<u64>,
    /// Its window of the working set.
    pub window: u64,
}

/// A request for a tracked key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// The number of requests that it represents.
    pub weight: f64,
    /// The previous request for the key.
    pub reuse: Option<Reuse>,
}

/// A request for a key that was requested before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reuse {
    /// The number of different keys requested since then, including this one.
    pub distance: u64,
    /// The time of the previous request.
    pub last: RequestTime,
}

impl Keys {
    /// Tracks at most `keys_max` keys at a time.
    pub fn new(keys_max: usize) -> Self {
        let keys_max = keys_max.clamp(1, 1 << 30);
        Self {
            keys_max,
            filter: SpatialFilter::ALL,
            states: HashMap::default(),
            head: None,
            positions: Positions::with_room(PLACES_MIN, 0),
            owners: vec![0; PLACES_MIN],
        }
    }

    /// The share of the keys that is tracked.
    pub fn rate(&self) -> f64 {
        self.filter.rate()
    }

    /// The number of keys; an estimate if they are sampled.
    pub fn count(&self) -> f64 {
        self.states.len() as f64 / self.rate()
    }

    /// The requests of each tracked key.
    pub fn requests(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.states.iter().map(|(key, state)| (*key, state.requests))
    }

    /// The most requested keys with their counts, and the fewest requests of such a key. All keys if they are not
    /// sampled.
    pub fn most_requested(&self) -> (Vec<(u64, u64)>, u64) {
        match &self.head {
            None => (self.requests().collect(), 1),
            Some(head) => (head.keys().collect(), head.least()),
        }
    }

    /// Counts a request; `None` if its key is not in the sample.
    pub fn request(&mut self, key: u64, time: RequestTime) -> Option<Reference> {
        if let Some(head) = &mut self.head {
            head.add(key);
        }
        if !self.filter.keeps(key) {
            return None;
        }
        if !self.positions.has_room() {
            self.compact();
        }
        let weight = 1.0 / self.rate();
        let place = self.positions.take_next();
        self.owners[place] = key;
        let place = place as u32;
        let reuse = match self.states.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(State { requests: 1, last: time, place });
                None
            }
            Entry::Occupied(mut entry) => {
                let state = entry.get_mut();
                // The position just taken is later, and stands for the key itself.
                let between = self.positions.taken_after(state.place as usize) - 1;
                self.positions.free(state.place as usize);
                let reuse = Reuse { distance: 1 + (between as f64 * weight).round() as u64, last: state.last };
                *state = State { requests: state.requests + 1, last: time, place };
                Some(reuse)
            }
        };
        if self.states.len() > self.keys_max {
            self.drop_half();
        }
        Some(Reference { weight, reuse })
    }

    /// Drops about half of the keys.
    fn drop_half(&mut self) {
        if self.head.is_none() {
            self.head = Some(Head::new(self.requests(), self.keys_max));
        }
        self.filter = self.filter.halved();
        let filter = self.filter;
        self.states.retain(|key, _| filter.keeps(*key));
        self.compact();
    }

    /// Moves the tracked keys to the first positions, in order.
    fn compact(&mut self) {
        let places: Vec<usize> = self.positions.iter().collect();
        let mut kept = 0;
        for place in places {
            let key = self.owners[place];
            if let Some(state) = self.states.get_mut(&key) {
                state.place = kept as u32;
                self.owners[kept] = key;
                kept += 1;
            }
        }
        let room = PLACES_MIN.max(2 * kept);
        self.owners.resize(room.next_multiple_of(64), 0);
        self.positions = Positions::with_room(room, kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(number: usize) -> RequestTime {
        RequestTime { time_ns: Some(number as u64 * 10), window: number as u64 }
    }

    proptest! {
        #[test]
        fn distances_are_those_of_a_stack(requests in prop::collection::vec(0_u64..30, 0..400)) {
            let (mut keys, mut stack) = (Keys::new(1000), Vec::new());
            for (number, key) in requests.iter().enumerate() {
                let depth = stack.iter().rposition(|other| other == key).map(|at| {
                    let depth = stack.len() - at;
                    stack.remove(at);
                    depth as u64
                });
                stack.push(*key);
                let reference = keys.request(*key, time(number)).unwrap();
                prop_assert_eq!(reference.reuse.map(|reuse| reuse.distance), depth);
                let before = requests[..number].iter().rposition(|other| other == key);
                prop_assert_eq!(reference.reuse.map(|reuse| reuse.last), before.map(time));
            }
            for (key, count) in keys.requests() {
                prop_assert_eq!(count, requests.iter().filter(|other| **other == key).count() as u64);
            }
        }
    }

    #[test]
    fn places_that_run_out_are_made_again() {
        let mut keys = Keys::new(1 << 20);
        for number in 0..100_000_usize {
            let reference = keys.request(number as u64 % 3000, time(number)).unwrap();
            assert_eq!(reference.reuse.map(|reuse| reuse.distance), (number >= 3000).then_some(3000));
        }
    }

    #[test]
    fn above_the_bound_keys_are_a_sample() {
        let mut keys = Keys::new(4000);
        let (mut weight, mut first, mut distances) = (0.0, 0.0, Vec::new());
        for number in 0..400_000_usize {
            if let Some(reference) = keys.request(number as u64 % 40_000, time(number)) {
                weight += reference.weight;
                first += if reference.reuse.is_none() { reference.weight } else { 0.0 };
                distances.extend(reference.reuse.map(|reuse| reuse.distance));
            }
        }
        assert_eq!(keys.rate(), 1.0 / 16.0);
        assert!((keys.count() / 40_000.0 - 1.0).abs() < 0.05, "{}", keys.count());
        assert!((weight / 400_000.0 - 1.0).abs() < 0.05 && (first / 40_000.0 - 1.0).abs() < 0.1, "{weight} {first}");
        assert!(distances.iter().all(|distance| (*distance as f64 / 40_000.0 - 1.0).abs() < 0.05));
        assert!(keys.requests().all(|(_, requests)| requests == 10));
    }
}
