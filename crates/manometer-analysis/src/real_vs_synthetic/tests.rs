use manometer_measure::Grade;
use manometer_trace::character::zipf;

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
    ComparedLoad { name: name.to_owned(), requests: 1000, keys, one_size: false, drawn_from: None, exponent: None }
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
    let result = engine_result("redis", "7", 1_000_000, &[0.1, 1.0], &loads, &replays("redis"), &[]);
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
}

#[test]
fn an_unmeasured_point_is_a_gap() {
    let loads = [load(TRACE, 100), load(ZIPF, 100)];
    let mut some = replays("redis");
    some.retain(|replay| replay.load == TRACE && replay.repeat == 1);
    some[0].reads = 0;
    let result = engine_result("redis", "7", 1, &[0.1, 1.0], &loads, &some, &[]);
    assert!(result.differences.is_empty() && result.curves[1].points.is_empty());
    let gap = &result.curves[0].points[0].miss_ratio;
    assert_eq!((gap.mean, gap.reason), (None, Some("nothing was measured")));
    let alone = &result.curves[0].points[1].miss_ratio;
    assert_eq!((alone.mean, alone.ci_low, alone.reason), (Some(0.1), None, Some("an interval needs two repeats")));
    assert!(result.curves[1].speed_up.mean.is_none() && result.curves[1].speed_up.reason.is_some());
}

#[test]
fn engines_are_compared_where_all_were_measured() {
    let loads = [load(TRACE, 100), load(ZIPF, 100)];
    let mut all = replays("redis");
    all.extend(replays("memcached").into_iter().map(|replay| CacheReplay { missing: replay.missing + 50, ..replay }));
    let engines = ["redis", "memcached"].map(|engine| engine_result(engine, "1", 1, &[0.1, 1.0], &loads, &all, &[]));
    let between = engine_spreads(&engines);
    assert_eq!(between.iter().map(|one| one.load.as_str()).collect::<Vec<_>>(), [TRACE, ZIPF]);
    assert!(between.iter().all(|one| (one.max - 0.05).abs() < 1e-12 && (one.mean - 0.05).abs() < 1e-12));
    assert!(engine_spreads(&engines[..1]).is_empty());
}

#[test]
fn nodes_share_the_slots_and_only_whole_seconds_count() {
    // Ten slots on two nodes: the first second goes to the first node alone, the second to both, the third is cut.
    let slots = [0, 1, 2, 3, 0, 9, 0, 9, 9];
    let arrivals = [0, 0, 0, 0, 1, 1, 1, 1, 2];
    let seconds = node_seconds(&slots, arrivals.into_iter(), 10, 2, 2);
    let results = NodeLoad::new(TRACE, Arrivals::Recorded, &seconds);
    let requests = results.requests.unwrap();
    assert_eq!((requests.min, requests.median, requests.max, requests.samples), (0.0, 2.0, 4.0, 4));
    assert_eq!((requests.range, results.hottest), (4.0, vec![4, 2]));
    assert_eq!(NodeLoad::new(TRACE, Arrivals::Recorded, &[]).requests, None);
    // As Redis Cluster's own tool divides them: three nodes begin at 0, 5461 and 10922.
    let own = node_seconds(&[5460, 5461, 10_921, 10_922, 16_383], [0; 5].into_iter(), 16_384, 3, 1);
    assert_eq!(own, [vec![1, 2, 2]]);
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
    let engines = [engine_result("redis", "7", 1, &[0.1, 1.0], &loads, &all, &[])];
    let results = findings(&engines, &loads, &all, &good_fits());
    let ids: Vec<&str> = results.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["requests-failed", "keys-not-matched", "too-few-repeats"]);
    all[0].read_us = Some(90.0);
    let engines = [engine_result("redis", "7", 1, &[0.1, 1.0], &loads, &all, &[])];
    assert!(findings(&engines, &loads, &all, &good_fits()).iter().any(|finding| finding.id == "speed-up-unsure"));
    assert!(results[0].text.contains("3 of 1000: too large"), "{}", results[0].text);
    assert!(results[1].text.contains("zipf requests 900 keys"), "{}", results[1].text);
}

#[test]
fn without_the_largest_cache_there_is_no_speed_up() {
    let loads = [load(TRACE, 300), load(ZIPF, 300)];
    let mut some = replays("redis");
    some.retain(|replay| !(replay.load == ZIPF && replay.cache == 1.0));
    let result = engine_result("redis", "7", 1, &[0.1, 0.5, 1.0], &loads, &some, &[]);
    assert!(result.curves[0].speed_up.mean.is_some() && result.curves[1].speed_up.mean.is_none());
    assert_eq!(result.differences[0].speed_up.mean, None);
}

fn good_fits() -> ZipfFits {
    ZipfFits {
        all_keys_exponent: 0.9,
        all_keys_distance: 0.01,
        curve_exponent: 1.0,
        curve_rmse: 0.01,
        head: zipf::fit(&(1..200_u64).map(|rank| 20_000 / rank).collect::<Vec<_>>()),
    }
}

#[test]
fn poor_fits_are_findings() {
    let ids = |fits: &ZipfFits| findings(&[], &[], &[], fits).iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    assert!(ids(&good_fits()).is_empty(), "{:?}", good_fits().weaknesses());
    for poor in [
        ZipfFits { all_keys_distance: 0.06, ..good_fits() },
        ZipfFits { all_keys_exponent: 0.01, all_keys_distance: 0.06, ..good_fits() },
        ZipfFits { head: None, ..good_fits() },
        ZipfFits { head: None, all_keys_exponent: 0.02, ..good_fits() },
        ZipfFits { head: good_fits().head.map(|head| zipf::ZipfFit { requests_share: 0.3, ..head }), ..good_fits() },
        ZipfFits {
            head: good_fits().head.map(|head| zipf::ZipfFit { verdict: zipf::ZipfFitQuality::NearlyZipf, ..head }),
            ..good_fits()
        },
    ] {
        assert_eq!(ids(&poor), ["zipf-fit-poor"], "{poor:?}");
    }
}

#[test]
fn a_flat_popularity_is_no_poor_fit() {
    let flat = ZipfFits { all_keys_exponent: 0.02, curve_exponent: 0.0, ..good_fits() };
    let found = findings(&[], &[], &[], &flat);
    assert_eq!(found.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["popularity-flat"]);
    assert!(found[0].text.contains("nearly equally popular: a Zipf exponent of 0.02"), "{found:?}");
}

/// A cache that misses `ratio` of 20 reads in each bin, in turn one more and one less.
fn simulated(load: &str, cache: f64, ratio: f64, exchange: f64) -> SimulatedCache {
    let mut bins = BinnedMisses::default();
    for (bin, (reads, misses)) in bins.reads.iter_mut().zip(&mut bins.misses).enumerate() {
        *reads = 20;
        *misses = (20.0 * ratio) as u64 + [0, 2, 1, 1][(bin * bin / 3) % 4];
    }
    let miss_ratio = bins.miss_ratio();
    let difference = Estimate::default();
    SimulatedCache { load: load.to_owned(), cache, cache_bytes: 1, miss_ratio, difference, bins, exchange }
}

fn three(cache: f64, ratios: [f64; 3], exchange: f64) -> Vec<SimulatedCache> {
    [TRACE, SHUFFLED, ZIPF]
        .into_iter()
        .zip(ratios)
        .map(|(load, ratio)| simulated(load, cache, ratio, exchange))
        .collect()
}

#[test]
fn parts_sum_to_the_difference() {
    let caches = [0.1, 0.5];
    let mut all = three(0.1, [0.3, 0.5, 0.45], 0.01);
    all.extend(three(0.5, [0.1, 0.1, 0.2], 0.01));
    let found = simulated_decompositions(&all, &caches, &steps_to_zipf(false, false));
    assert_eq!(found.len(), 2);
    for one in &found {
        let sum: f64 = one.effects.iter().map(|effect| effect.change.mean.unwrap()).sum();
        assert!((sum - one.difference.mean.unwrap()).abs() < 1e-12, "{one:?}");
        assert_eq!(
            one.effects.iter().map(|one| one.property).collect::<Vec<_>>(),
            [Property::Locality, Property::Popularity]
        );
    }
    let headline = headline(&found);
    assert_eq!(headline.grade, Grade::Sound);
    let wanted = "Zipf-distributed keys miss 15.0 points more (15.0 to 15.0) than the trace on an LRU cache of 10 % of all \
                  data, of which locality +20.0 (+20.0 to +20.0), popularity -5.0 (-5.0 to -5.0).";
    assert_eq!(headline.text, wanted);
}

#[test]
fn a_sentence_claims_no_more_than_its_interval() {
    let short = simulated_decompositions(&three(0.3, [0.5, 0.4, 0.4], 0.3), &[0.3], &steps_to_zipf(false, false));
    let none = headline(&short);
    assert_eq!(none.grade, Grade::Indicative);
    assert!(
        none.text.contains("than these requests of the trace") && none.text.contains("10.0 points less"),
        "{}",
        none.text
    );
    let equal = headline(&simulated_decompositions(&three(0.3, [0.5; 3], 0.01), &[0.3], &steps_to_zipf(false, false)));
    assert_eq!(equal.grade, Grade::Indicative);
    assert!(equal.text.contains("not shown to differ"), "{}", equal.text);
    let threatened = simulated_decompositions(&three(0.3, [0.5, 0.4, 0.4], 0.01), &[0.3], &steps_to_zipf(false, false));
    let threatened: Vec<Decomposition> =
        threatened.into_iter().map(|one| Decomposition { grade: Grade::Indicative, ..one }).collect();
    let threatened = headline(&threatened);
    assert_eq!(threatened.grade, Grade::Indicative);
    assert!(threatened.text.ends_with("As an indication only."), "{}", threatened.text);
    assert_eq!(headline(&[]).grade, Grade::Void);
}

#[test]
fn sizes_are_a_step_where_they_differ() {
    let steps = steps_to_zipf(true, true);
    let loads: Vec<&str> = steps.iter().map(|(_, load)| load.as_str()).collect();
    assert_eq!(loads, ["shuffled", "shuffled, one size", "shuffled-operations, one size", "zipf, one size"]);
    assert_eq!((steps[1].0, steps[2].0), (Property::Sizes, Property::Operations));
}

#[test]
fn engines_are_decomposed_by_repeat() {
    let mut all = replays("redis");
    all.extend((1..=2).flat_map(|repeat| {
        [(0.1, 400 + u64::from(repeat), 22.0), (1.0, 100, 10.0)]
            .map(|(cache, missing, read_us)| replay("redis", SHUFFLED, cache, repeat, missing, read_us))
    }));
    let loads = [load(TRACE, 100), load(SHUFFLED, 100), load(ZIPF, 100)];
    let exact = three(0.1, [0.3, 0.4, 0.5], 0.01);
    let result = engine_result("redis", "7", 1, &[0.1, 1.0], &loads, &all, &exact);
    let above = &result.curves[0].points[0].above_exact;
    assert!((above.mean.unwrap() - (0.3 - exact[0].miss_ratio.unwrap())).abs() < 1e-12);
    assert_eq!(result.curves[0].points[1].above_exact.mean, None, "not simulated");
    let found = engine_decompositions(&result, &all, &[0.1, 1.0], &steps_to_zipf(false, false));
    let [small, large, speed_up] = &found[..] else { panic!("{found:?}") };
    let near = |one: Option<f64>, other: f64| assert!((one.unwrap() - other).abs() < 1e-9, "{one:?} {other}");
    near(small.difference.mean, 0.2);
    near(small.effects[0].change.mean, 0.1015);
    near(large.difference.mean, -0.01);
    assert_eq!((small.grade, speed_up.result), (Grade::Sound, ComparedResult::SpeedUp));
    near(speed_up.difference.mean, 2.3 / 2.0 - 1.0);
    near(speed_up.effects[0].change.mean, 2.2 / 2.0 - 1.0);
    near(speed_up.effects[1].change.mean, 2.3 / 2.2 - 1.0);
}

#[test]
fn hot_spots_are_decomposed_by_block() {
    // Ten seconds of two nodes; the mean of a node is 10.
    let seconds = |peak: u64| (0..10).map(|_| vec![peak, 20 - peak]).collect::<Vec<_>>();
    let load = |name, arrivals, peak| NodeLoad::new(name, arrivals, &seconds(peak));
    let loads = [
        load(TRACE, Arrivals::Recorded, 18),
        load(TRACE, Arrivals::Constant, 17),
        load(SHUFFLED, Arrivals::Constant, 13),
        load(ZIPF, Arrivals::Constant, 14),
    ];
    let loads: Vec<&NodeLoad> = loads.iter().collect();
    let found = hot_spot_decomposition(&loads, "computed", &steps_to_zipf(false, false)).unwrap();
    let changes: Vec<(Property, f64)> =
        found.effects.iter().map(|one| (one.property, (10.0 * one.change.mean.unwrap()).round())).collect();
    assert_eq!(changes, [(Property::Arrivals, -1.0), (Property::Locality, -4.0), (Property::Popularity, 1.0)]);
    assert!((found.difference.mean.unwrap() + 0.4).abs() < 1e-12);
    let few = NodeLoad::new(TRACE, Arrivals::Recorded, &seconds(18)[..3]);
    assert_eq!((few.peak.mean, few.peak.ci_low), (Some(1.8), None));
    assert_eq!(hot_spot_decomposition(&[], "computed", &steps_to_zipf(false, false)), None);
}

#[test]
fn slabs_are_decomposed_into_sizes() {
    let of =
        |load, slow| (1..=3).map(move |repeat| replay("memcached", load, 0.5, repeat, 200, slow)).collect::<Vec<_>>();
    let all = [of(SPREAD_SIZES, 10.0), of(ONE_SIZE, 20.0)].concat();
    let found = slab_decompositions("memcached", &all, SPREAD_SIZES, ONE_SIZE);
    let [writes, misses] = &found[..] else { panic!("{found:?}") };
    assert_eq!((writes.result, writes.effects[0].property), (ComparedResult::SlabWrites, Property::Sizes));
    assert!((writes.difference.mean.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!((misses.difference.mean, misses.grade), (Some(0.0), Grade::Indicative));
    assert!(slab_decompositions("memcached", &[], SPREAD_SIZES, ONE_SIZE).is_empty());
}
