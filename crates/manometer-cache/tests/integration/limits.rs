//! Every policy at the limits: no room, all the room there is, no requests, one key, objects that do not fit.

use manometer_cache::PolicySpec;
use manometer_cache::admission::ADMISSIONS;
use manometer_cache::curve::{CurveOptions, curves};
use manometer_cache::policy::POLICIES;
use manometer_cache::request::RequestFields;
use manometer_cache::{CacheCounters, CacheError, RequestSequence, Sampling};
use manometer_trace::{ReadOptions, open_stream};

fn choices() -> Vec<PolicySpec> {
    let plain = POLICIES.iter().map(|kind| kind.name.to_owned());
    let admitted = ADMISSIONS.iter().map(|admission| match admission.name {
        // Without chance, so that the misses are known.
        "probability" => "lru+probability:p=1".to_owned(),
        name => format!("lru+{name}"),
    });
    plain.chain(admitted).map(|text| text.parse().unwrap()).collect()
}

fn device_counters(requests: &RequestSequence, by_size: bool, capacity: u64) -> Vec<(PolicySpec, CacheCounters)> {
    let run = |choice: &PolicySpec| choice.create(capacity, requests, by_size, 1).run(requests);
    choices().into_iter().map(|choice| (choice.clone(), run(&choice))).collect()
}

#[test]
fn without_requests_there_are_no_misses() {
    for capacity in [0, 1, 1000, u64::MAX] {
        for (choice, counters) in device_counters(&RequestSequence::from_keys([]).unwrap(), false, capacity) {
            assert_eq!(counters, CacheCounters::default(), "{choice}");
            assert_eq!(counters.miss_ratio(), None, "{choice}");
        }
    }
}

#[test]
fn without_room_everything_passes_by() {
    let by_key = RequestSequence::from_keys([1, 2, 1, 1]).unwrap();
    let by_size = RequestSequence::from_objects(&[(1, 0), (2, 7), (1, 0), (1, 1)]).unwrap();
    for (choice, counters) in device_counters(&by_key, false, 0).into_iter().chain(device_counters(&by_size, true, 0)) {
        assert_eq!((counters.misses, counters.bypassed), (4, 4), "{choice}");
    }
}

#[test]
fn an_empty_object_takes_as_much_as_one_of_a_byte() {
    let sized =
        |size| RequestSequence::from_objects(&(0..3000).map(|at| (at * at % 97, size)).collect::<Vec<_>>()).unwrap();
    let of_a_byte = device_counters(&sized(1), true, 20);
    for ((choice, empty), (_, byte)) in device_counters(&sized(0), true, 20).into_iter().zip(of_a_byte) {
        assert_eq!((empty.misses, empty.bypassed), (byte.misses, 0), "{choice}");
        assert_eq!((empty.bytes, byte.bytes), (0, 3000), "{choice}");
    }
}

#[test]
fn what_admits_everything_fills_up() {
    let requests = RequestSequence::from_keys(0..1000).unwrap();
    let partitioned =
        ["bcache:buckets=7", "bcache-fifo:buckets=7", "bcache-random:buckets=7"].map(|text| text.parse().unwrap());
    let admit_late = ["dm-cache-mq", "dm-cache-smq", "lru+tinylfu"];
    for choice in
        choices().into_iter().chain(partitioned).filter(|choice| !admit_late.contains(&choice.to_string().as_str()))
    {
        let mut cache = choice.create(100, &requests, false, 1);
        let used: Vec<u64> = (0..1000)
            .map(|at| {
                cache.request(&requests.at(at));
                cache.used()
            })
            .collect();
        assert!(used.contains(&100), "{choice}: {}", cache.used());
        assert!(used.iter().all(|used| *used <= 100), "{choice}");
    }
}

#[test]
fn objects_larger_than_the_cache_pass_by_and_harm_nothing() {
    let objects = [(1, 4), (2, 11), (1, 4), (2, u64::MAX), (1, 12), (1, 4), (3, 0), (3, 0)];
    for (choice, counters) in device_counters(&RequestSequence::from_objects(&objects).unwrap(), true, 10) {
        assert_eq!(counters.bypassed, 3, "{choice}");
        let misses = match choice.to_string().as_str() {
            "dm-cache-mq" | "dm-cache-smq" => 8,
            "lru+tinylfu" => 7,
            // A bucket is smaller than the larger object.
            "bcache" | "bcache-fifo" | "bcache-random" => 7,
            _ => 5,
        };
        assert_eq!(counters.misses, misses, "{choice}");
    }
}

#[test]
fn with_all_the_room_there_is_only_the_first_request_of_a_key_misses() {
    for capacity in [1 << 20, 1 << 63, u64::MAX] {
        for by_size in [false, true] {
            let objects: Vec<(u64, u64)> = (0..3000).map(|at| (at * at % 50, 9)).collect();
            let keys = objects.iter().map(|(key, _)| *key);
            let requests =
                if by_size { RequestSequence::from_objects(&objects) } else { RequestSequence::from_keys(keys) }
                    .unwrap();
            for (choice, counters) in device_counters(&requests, by_size, capacity) {
                let keys = requests.keys() as u64;
                let misses = match choice.to_string().as_str() {
                    // Of the hits of a second, one counts: in three seconds nothing earns its promotion.
                    "dm-cache-mq" => 3000,
                    // What is promoted is known after the first second.
                    "dm-cache-smq" => 1000 + keys,
                    "lru+tinylfu" => 2 * keys,
                    _ => keys,
                };
                assert_eq!(counters.misses, misses, "{choice} of {capacity}");
            }
        }
    }
}

#[test]
fn one_key_misses_once() {
    let requests = RequestSequence::from_keys([7; 100]).unwrap();
    for (choice, counters) in device_counters(&requests, false, 1) {
        let misses = match choice.to_string().as_str() {
            // All within the first second, in which nothing is promoted.
            "dm-cache-mq" => 100,
            // A miss raises it by four levels, and the lowest that is promoted is 48.
            "dm-cache-smq" => 13,
            "lru+tinylfu" => 2,
            _ => 1,
        };
        assert_eq!(counters.misses, misses, "{choice}");
    }
}

#[test]
fn chance_is_the_seeds() {
    let requests = RequestSequence::from_keys((0..20_000).map(|at| at * at % 997 % 300)).unwrap();
    for text in ["random", "lecar", "hyperbolic", "bcache-random", "lru+probability"] {
        let choice: PolicySpec = text.parse().unwrap();
        let misses = |seed| choice.create(50, &requests, false, seed).run(&requests).misses;
        assert_eq!(misses(1), misses(1), "{text}");
        assert!((2..9).any(|seed| misses(seed) != misses(1)), "{text} does not depend on the seed");
    }
}

#[test]
fn sizes_without_a_sum_are_refused() {
    let text = format!("time,key,size,op\n0,1,{0},get\n1,2,8,get\n2,3,{0},get\n3,1,{0},get\n", 1_u64 << 60);
    let opens = || {
        let source = Box::new(std::io::Cursor::new(text.clone().into_bytes()));
        open_stream(source, &ReadOptions::default()).unwrap().reader
    };
    let refused = |error: CacheError| {
        let text = error.to_string();
        assert!(text.contains("request 3 has an object of 1152921504606846976 bytes"), "{text}");
        assert!(text.contains("up to 2305843009213693952 bytes (2 EiB)"), "{text}");
    };
    let sizes = RequestFields { sizes: true, ..RequestFields::NONE };
    refused(RequestSequence::read(&mut *opens(), sizes).unwrap_err());
    for sampling in [Sampling::Full, Sampling::Rate(0.5), Sampling::Keys(100)] {
        let wanted =
            CurveOptions { by_size: true, capacities: Vec::new(), sampling: Some(sampling), windows: None, seed: 1 };
        refused(curves(&mut *opens(), &["lru".parse().unwrap(), "arc".parse().unwrap()], &wanted).unwrap_err());
    }
    let by_count = CurveOptions { by_size: false, capacities: Vec::new(), sampling: None, windows: None, seed: 1 };
    assert_eq!(curves(&mut *opens(), &["lru".parse().unwrap()], &by_count).unwrap().requests, 4, "sizes do not matter");
}

#[test]
fn the_largest_sizes_are_simulated_in_every_way() {
    let text = format!("time,key,size,op\n0,1,{0},get\n1,2,{0},get\n2,1,{0},get\n3,3,3,get\n", (1_u64 << 61) / 3);
    let opens = || open_stream(Box::new(std::io::Cursor::new(text.clone().into_bytes())), &ReadOptions::default());
    let all: Vec<PolicySpec> = choices();
    for sampling in [Sampling::Full, Sampling::Rate(0.5), Sampling::Keys(100)] {
        let wanted =
            CurveOptions { by_size: true, capacities: Vec::new(), sampling: Some(sampling), windows: None, seed: 1 };
        assert!(curves(&mut *opens().unwrap().reader, &all, &wanted).is_err(), "two bytes too many");
        let text = text.replace("3,3,3,get\n", "");
        let reader = open_stream(Box::new(std::io::Cursor::new(text.into_bytes())), &ReadOptions::default());
        let drawn = curves(&mut *reader.unwrap().reader, &all, &wanted).unwrap();
        assert_eq!(drawn.curves.len(), all.len());
    }
}
