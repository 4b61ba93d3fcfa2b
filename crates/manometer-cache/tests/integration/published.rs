//! What is known to be right: worked examples, hit ratios from papers, and the misses of independent simulators.

use std::collections::BTreeMap;

use manometer_cache::PolicySpec;
use manometer_cache::simulate::simulate;
use manometer_cache::{CacheRequest, RequestSequence};
use manometer_testing::real_data;
use manometer_trace::{ReadOptions, open};
use serde::Deserialize;

fn misses(policy: &str, capacity: u64, keys: &[u64]) -> u64 {
    let requests = RequestSequence::from_keys(keys.iter().copied()).unwrap();
    let choice: PolicySpec = policy.parse().unwrap();
    choice.create(capacity, &requests, false, 1).run(&requests).misses
}

/// The reference string of the cache thesis on three frames.
#[test]
fn the_reference_string_misses_as_often_as_the_thesis_says() {
    let keys = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1];
    assert_eq!(misses("opt", 3, &keys), 9);
    assert_eq!(misses("lru", 3, &keys), 12);
    assert_eq!(misses("fifo", 3, &keys), 15);
}

/// Table 3.1 of the cache thesis, which is table 1 of the LIRS paper: after ten moments A and B are the large set, and
/// D, which came again while it was in the stack, takes B's place when it is requested, where C, of which no request is
/// remembered, takes only a place of the queue. Here with two places for each set.
#[test]
fn lirs_keeps_what_table_3_1_says() {
    let [a, b, c, d, e] = [0, 1, 2, 3, 4];
    let table = [a, d, b, c, b, a, d, a, e];
    let held_after = |then: &[u64]| {
        let keys = [&[a, b][..], &table, then].concat();
        let requests = RequestSequence::from_keys([a, b, c, d, e].into_iter().chain(keys.iter().copied())).unwrap();
        let choice: PolicySpec = "lirs:queue=0.4".parse().unwrap();
        let mut cache = choice.create(4, &requests, false, 1);
        for (position, key) in keys.iter().enumerate() {
            let request = CacheRequest {
                id: *key as u32,
                position: position as u32,
                size: 1,
                is_write: false,
                is_whole: true,
                time_ns: 0,
            };
            cache.request(&request);
        }
        [a, b, c, d, e].into_iter().filter(|key| cache.holds(*key as u32)).collect::<Vec<_>>()
    };
    assert_eq!(held_after(&[]), [a, b, d, e]);
    assert_eq!(held_after(&[d]), [a, b, d, e]);
    assert_eq!(held_after(&[c]), [a, b, c, e]);
    assert_eq!(held_after(&[d, c]), [a, b, c, d]);
}

fn read<T: for<'a> Deserialize<'a>>(name: &str) -> Option<T> {
    Some(serde_json::from_slice(&std::fs::read(real_data(name)?).unwrap()).unwrap())
}

/// The keys of a trace by the name that the reference files give it.
fn keys(trace: &str) -> Option<Vec<u64>> {
    let file = match trace.split_once('/') {
        Some(("lirs", name)) => format!("lirs_traces/{name}.trace.gz"),
        Some(("arc", name)) => format!("arc_traces/{name}.lis.zst"),
        _ if trace.starts_with("twitter") => format!("{trace}.csv.zst"),
        _ => format!("{trace}.txt"),
    };
    let mut reader = open(&real_data(&format!("traces/{file}"))?, &ReadOptions::default()).unwrap().reader;
    let (mut keys, mut batch) = (Vec::new(), Vec::new());
    while reader.read(&mut batch).unwrap() > 0 {
        keys.extend(batch.iter().map(|record| record.key));
    }
    Some(keys)
}

#[derive(Deserialize)]
struct Reference {
    trace: String,
    algorithm: String,
    cache_size: u64,
    n_req: usize,
    n_miss: u64,
}

/// The LIRS authors' program drops a last line that does not end: its traces are as many requests long as it saw.
#[test]
fn misses_are_those_of_the_independent_simulators() {
    let Some(references) = read::<Vec<Reference>>("reference_misses.json") else { return };
    let mut runs: BTreeMap<(&str, usize), Vec<&Reference>> = BTreeMap::new();
    for reference in &references {
        runs.entry((&reference.trace, reference.n_req)).or_default().push(reference);
    }
    let mut wrong = Vec::new();
    for ((trace, len), references) in runs {
        let Some(keys) = keys(trace) else { continue };
        let requests = RequestSequence::from_keys(keys.into_iter().take(len)).unwrap();
        assert_eq!(requests.len(), len, "{trace}");
        for Reference { algorithm, cache_size, n_miss, .. } in references {
            let policy = match algorithm.as_str() {
                "lirs" => "lirs:skip-repeats=1",
                "lirs-noskip" => "lirs",
                same => same,
            };
            let choices = [policy.parse().unwrap()];
            let misses = simulate(&requests, &choices, &[*cache_size], false, 1)[0].counters.misses;
            if misses != *n_miss {
                wrong.push(format!("{trace}, {policy} of {cache_size}: {misses} misses, not {n_miss}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[derive(Deserialize)]
struct Published {
    paper: String,
    trace: String,
    policy: String,
    cache_pages: Option<u64>,
    hit_pct: f64,
    simulated_here: Option<f64>,
}

/// Where an independent simulation departs from what is remembered of the ARC paper.
const DEPARTURES: [(&str, &str, u64); 3] = [("P3", "ARC", 32_768), ("OLTP", "ARC", 1_000), ("OLTP", "LIRS", 5_000)];

#[test]
fn hit_ratios_are_those_of_the_arc_paper() {
    let Some(published) = read::<Vec<Published>>("published.json") else { return };
    for trace in ["OLTP", "P2", "P3"] {
        let Some(keys) = keys(&format!("arc/{trace}")) else { return };
        let requests = RequestSequence::from_keys(keys).unwrap();
        let points = published.iter().filter(|point| point.trace == trace && point.paper.starts_with("ARC"));
        for Published { policy, cache_pages, hit_pct, simulated_here, .. } in points {
            let capacity = cache_pages.unwrap();
            let choices = [policy.to_lowercase().parse().unwrap()];
            let counters = simulate(&requests, &choices, &[capacity], false, 1)[0].counters;
            let percent = 100.0 * (1.0 - counters.miss_ratio().unwrap());
            let what = format!("{trace}, {policy} of {capacity}: {percent:.3} %");
            let simulated = simulated_here.unwrap();
            assert!((percent - simulated).abs() < 0.0051, "{what}, not {simulated} %");
            let departs = DEPARTURES.contains(&(trace, policy, capacity));
            assert_eq!((percent - hit_pct).abs() > 0.0051, departs, "{what}; the paper has {hit_pct} %");
        }
    }
}
