//! Every policy at the limits: no room, all the room there is, no requests, one key, objects that do not fit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use manometer_cache::admission::ADMISSIONS;
use manometer_cache::policy::{Choice, POLICIES};
use manometer_cache::{Requests, Tally};

fn choices() -> Vec<Choice> {
    let plain = POLICIES.iter().map(|kind| kind.name.to_owned());
    let admitted = ADMISSIONS.iter().map(|admission| format!("lru+{}", admission.name));
    plain.chain(admitted).map(|text| text.parse().unwrap()).collect()
}

fn tallies(requests: &Requests, by_size: bool, capacity: u64) -> Vec<(Choice, Tally)> {
    let run = |choice: &Choice| choice.make(capacity, requests, by_size, 1).run(requests);
    choices().into_iter().map(|choice| (choice.clone(), run(&choice))).collect()
}

#[test]
fn without_requests_there_are_no_misses() {
    for capacity in [0, 1, 1000, u64::MAX] {
        for (choice, tally) in tallies(&Requests::of_keys([]).unwrap(), false, capacity) {
            assert_eq!(tally, Tally::default(), "{choice}");
            assert_eq!(tally.miss_ratio(), None, "{choice}");
        }
    }
}

#[test]
fn without_room_everything_passes_by() {
    for (choice, tally) in tallies(&Requests::of_keys([1, 2, 1, 1]).unwrap(), false, 0) {
        assert_eq!((tally.misses, tally.bypassed), (4, 4), "{choice}");
    }
}

#[test]
fn objects_larger_than_the_cache_pass_by_and_harm_nothing() {
    let objects = [(1, 4), (2, 11), (1, 4), (2, u64::MAX), (1, 12), (1, 4), (3, 0), (3, 0)];
    for (choice, tally) in tallies(&Requests::of_objects(&objects).unwrap(), true, 10) {
        assert_eq!(tally.bypassed, 3, "{choice}");
        assert!((4..=8).contains(&tally.misses), "{choice}: {tally:?}");
    }
}

#[test]
fn with_all_the_room_there_is_only_the_first_request_of_a_key_misses() {
    // Those that let in later, or part the room before it is full, miss more.
    let others = ["dm-cache-mq", "dm-cache-smq", "lru+probability", "lru+tinylfu"];
    for capacity in [1 << 20, 1 << 63, u64::MAX] {
        for by_size in [false, true] {
            let objects: Vec<(u64, u64)> = (0..3000).map(|at| (at * at % 50, 9)).collect();
            let keys = objects.iter().map(|(key, _)| *key);
            let requests = if by_size { Requests::of_objects(&objects) } else { Requests::of_keys(keys) }.unwrap();
            for (choice, tally) in tallies(&requests, by_size, capacity) {
                if others.contains(&choice.to_string().as_str()) {
                    assert!(tally.misses >= requests.keys() as u64, "{choice}");
                } else {
                    assert_eq!(tally.misses, requests.keys() as u64, "{choice} of {capacity}");
                }
            }
        }
    }
}

#[test]
fn one_key_misses_once() {
    let requests = Requests::of_keys([7; 100]).unwrap();
    for (choice, tally) in tallies(&requests, false, 1) {
        let misses_once = !["dm-cache-mq", "dm-cache-smq", "lru+probability"].contains(&choice.to_string().as_str());
        if misses_once {
            assert!(tally.misses <= 2, "{choice}: {tally:?}");
        }
    }
}

#[test]
fn chance_is_the_seeds() {
    let requests = Requests::of_keys((0..20_000).map(|at| at * at % 997 % 300)).unwrap();
    for text in ["random", "lecar", "hyperbolic", "bcache-random", "lru+probability"] {
        let choice: Choice = text.parse().unwrap();
        let misses = |seed| choice.make(50, &requests, false, seed).run(&requests).misses;
        assert_eq!(misses(1), misses(1), "{text}");
        assert!((2..9).any(|seed| misses(seed) != misses(1)), "{text} does not depend on the seed");
    }
}
