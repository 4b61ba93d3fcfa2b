use super::findings::findings;
use super::*;

fn replay(engine: &str, load: &str, cache: f64, repeat: u32, missing: u64, read_us: f64) -> CacheReplay {
    CacheReplay {
        engine: engine.to_owned(),
        load: load.to_owned(),
        cache,
        cache_bytes: (cache * 1e6) as u64,
        repeat,
        requests: 1000,
        errors: 0,
        reads: 1000,
        missing,
        read_us: Some(read_us),
        write_us: Some(2.0 * read_us),
        ops_per_s: Some(1e6 / read_us),
        error: None,
    }
}

fn load(name: &str, keys: u64) -> ComparedLoad {
    ComparedLoad { name: name.to_owned(), requests: 1000, keys, drawn_from: None, exponent: None }
}

/// Two repeats on one engine: the trace misses 300 and 100 of 1000, Zipf 500 and 90, uniform 800 and 100.
fn replays(engine: &str) -> Vec<CacheReplay> {
    let of = |load, small, large, slow| {
        (1..=2).flat_map(move |repeat| {
            [replay(engine, load, 0.1, repeat, small, slow), replay(engine, load, 1.0, repeat, large, 10.0)]
        })
    };
    of(TRACE, 300, 100, 20.0).chain(of("uniform", 800, 100, 40.0)).chain(of(ZIPF, 500, 90, 23.0)).collect()
}

#[test]
fn differences_between_curves_are_ranked() {
    let loads = [load(TRACE, 100), load("uniform", 100), load(ZIPF, 100)];
    let result = engine_result("redis", "7", 1_000_000, &[0.1, 1.0], &loads, &replays("redis"));
    let [zipf, uniform] = &result.differences[..] else { panic!("{:?}", result.differences) };
    assert_eq!((zipf.load.as_str(), uniform.load.as_str()), (ZIPF, "uniform"));
    let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-12, "{one} {other}");
    near(zipf.max_abs, 0.2);
    near(zipf.mean_abs, 0.105);
    near(zipf.rmse, ((0.04_f64 + 0.0001) / 2.0).sqrt());
    near(zipf.max_at, 0.1);
    near(zipf.speed_up.mean.unwrap(), 2.3 / 2.0 - 1.0);
    near(zipf.speed_up.ci_low.unwrap(), 2.3 / 2.0 - 1.0);
    near(result.curves[0].speed_up.mean.unwrap(), 2.0);
    let headline = headline(&[result]);
    let wanted =
        "The best-fitting Zipf load is off by up to 20.0 points of miss ratio on redis (speed-up 15.0 % too high).";
    assert_eq!(headline, wanted);
}

#[test]
fn an_unmeasured_point_is_a_gap() {
    let loads = [load(TRACE, 100), load(ZIPF, 100)];
    let mut some = replays("redis");
    some.retain(|replay| replay.load == TRACE && replay.repeat == 1);
    some[0].reads = 0;
    let result = engine_result("redis", "7", 1, &[0.1, 1.0], &loads, &some);
    assert!(result.differences.is_empty() && result.curves[1].points.is_empty());
    let gap = &result.curves[0].points[0].miss_ratio;
    assert_eq!((gap.mean, gap.reason), (None, Some("nothing was measured")));
    let alone = &result.curves[0].points[1].miss_ratio;
    assert_eq!((alone.mean, alone.ci_low, alone.reason), (Some(0.1), None, Some("an interval needs two repeats")));
    assert!(result.curves[1].speed_up.mean.is_none() && result.curves[1].speed_up.reason.is_some());
    assert!(headline(&[result]).contains("too little was measured"));
}

#[test]
fn engines_are_compared_where_all_were_measured() {
    let loads = [load(TRACE, 100), load(ZIPF, 100)];
    let mut all = replays("redis");
    all.extend(replays("memcached").into_iter().map(|replay| CacheReplay { missing: replay.missing + 50, ..replay }));
    let engines = ["redis", "memcached"].map(|engine| engine_result(engine, "1", 1, &[0.1, 1.0], &loads, &all));
    let between = engine_spreads(&engines);
    assert_eq!(between.iter().map(|one| one.load.as_str()).collect::<Vec<_>>(), [TRACE, ZIPF]);
    assert!(between.iter().all(|one| (one.max - 0.05).abs() < 1e-12 && (one.mean - 0.05).abs() < 1e-12));
    assert!(engine_spreads(&engines[..1]).is_empty());
}

#[test]
fn nodes_share_the_slots_and_only_whole_seconds_count() {
    // Ten slots on two nodes: the first second goes to the first node alone, the second to both, the third is cut.
    let slots = [0, 1, 2, 3, 0, 9, 0, 9, 9];
    let results = node_load(TRACE, &slots, 10, 2, 4);
    let requests = results.requests.unwrap();
    assert_eq!((requests.min, requests.median, requests.max, requests.samples), (0.0, 2.0, 4.0, 4));
    assert_eq!((requests.range, results.hottest), (4.0, vec![4, 2]));
    assert_eq!(node_load(TRACE, &slots, 10, 2, 100).requests, None);
}

#[test]
fn slab_results_come_from_their_replays() {
    let all = [replay("memcached", SPREAD_SIZES, 0.5, 1, 200, 10.0), replay("memcached", ONE_SIZE, 0.5, 1, 300, 20.0)];
    let [spread, fixed] = &slab_results(&all)[..] else { panic!() };
    assert_eq!((spread.write_us.mean, fixed.write_us.mean), (Some(20.0), Some(40.0)));
    assert_eq!((spread.miss_ratio.mean, fixed.miss_ratio.mean), (Some(0.2), Some(0.3)));
}

#[test]
fn doubtful_numbers_are_findings() {
    let loads = [load(TRACE, 1000), load(ZIPF, 900), load("uniform", 1010)];
    let mut all = replays("redis");
    all[0].errors = 3;
    all[0].error = Some("too large".to_owned());
    all[2].missing = 900;
    let engines = [engine_result("redis", "7", 1, &[0.1, 1.0], &loads, &all)];
    let results = findings(&engines, &loads, &all);
    let ids: Vec<&str> = results.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["requests-failed", "keys-not-matched", "too-few-repeats"]);
    all[0].read_us = Some(90.0);
    let engines = [engine_result("redis", "7", 1, &[0.1, 1.0], &loads, &all)];
    assert!(findings(&engines, &loads, &all).iter().any(|finding| finding.id == "speed-up-unsure"));
    assert!(!headline(&engines).contains("speed-up"), "an insignificant error is no headline");
    assert!(results[0].text.contains("3 of 1000: too large"), "{}", results[0].text);
    assert!(results[1].text.contains("zipf requests 900 keys"), "{}", results[1].text);
}

#[test]
fn without_the_largest_cache_there_is_no_speed_up() {
    let loads = [load(TRACE, 300), load(ZIPF, 300)];
    let mut some = replays("redis");
    some.retain(|replay| !(replay.load == ZIPF && replay.cache == 1.0));
    let result = engine_result("redis", "7", 1, &[0.1, 0.5, 1.0], &loads, &some);
    assert!(result.curves[0].speed_up.mean.is_some() && result.curves[1].speed_up.mean.is_none());
    assert_eq!(result.differences[0].speed_up.mean, None);
}
