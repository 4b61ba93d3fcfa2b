//! Curves against simulations, and samples against the whole.

use std::path::{Path, PathBuf};

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt64Type};
use manometer_cache::PolicySpec;
use manometer_cache::RequestSequence;
use manometer_cache::curve::{CurveOptions, CurvePoint, MissRatioCurve, curves, write_parquet};
use manometer_cache::sampling::Sampling;
use manometer_testing::real_data;
use manometer_trace::{ReadOptions, Record, TraceError, TraceOperation, TraceReader, open};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;

/// Objects, in batches of seven.
struct Objects(Vec<(u64, u64)>, usize);

impl TraceReader for Objects {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        let to = (self.1 + 7).min(self.0.len());
        let record =
            |(key, size): &(u64, u64)| Record { value_size: Some(*size), ..Record::new(TraceOperation::Get, *key) };
        batch.extend(self.0[self.1..to].iter().map(record));
        self.1 = to;
        Ok(batch.len())
    }
}

fn wanted(capacities: &[u64], by_size: bool, sampling: Sampling) -> CurveOptions {
    CurveOptions { by_size, capacities: capacities.to_vec(), sampling: Some(sampling), windows: None, seed: 1 }
}

fn drawn(policy: &str, objects: &[(u64, u64)], wanted: &CurveOptions) -> MissRatioCurve {
    let mut drawn = curves(&mut Objects(objects.to_vec(), 0), &[policy.parse().unwrap()], wanted).unwrap();
    drawn.curves.remove(0)
}

proptest! {
    #[test]
    fn every_way_to_lrus_curve_is_its_simulation(
        keys in prop::collection::vec(0_u64..60, 1..800), capacities in prop::collection::btree_set(1_u64..80, 1..10),
    ) {
        let objects: Vec<(u64, u64)> = keys.iter().map(|key| (*key, 1 + key % 13)).collect();
        let requests = RequestSequence::from_keys(keys.iter().copied()).unwrap();
        let sized = RequestSequence::from_objects(&objects).unwrap();
        let capacities: Vec<u64> = capacities.into_iter().collect();
        let lru: PolicySpec = "lru".parse().unwrap();
        // What does not fit in is bypassed by a cache, and lies in the stack all the same.
        let large: Vec<u64> = capacities.iter().map(|capacity| capacity + 13).collect();
        for sampling in [Sampling::Full, Sampling::Rate(1.0), Sampling::Keys(100)] {
            for point in drawn("lru", &objects, &wanted(&capacities, false, sampling)).points {
                let counters = lru.create(point.capacity, &requests, false, 1).run(&requests);
                prop_assert_eq!(point, CurvePoint { miss_ratio: counters.miss_ratio().unwrap(), ..point });
                prop_assert_eq!(point.error, None);
            }
            for point in drawn("lru", &objects, &wanted(&large, true, sampling)).points {
                let counters = lru.create(point.capacity, &sized, true, 1).run(&sized);
                prop_assert_eq!(point.miss_ratio, counters.miss_ratio().unwrap());
            }
        }
    }

    #[test]
    fn other_policies_curves_are_their_simulations(keys in prop::collection::vec(0_u64..60, 1..400)) {
        let objects: Vec<(u64, u64)> = keys.iter().map(|key| (*key, 1)).collect();
        let requests = RequestSequence::from_keys(keys.iter().copied()).unwrap();
        for policy in ["arc", "opt", "s3-fifo"] {
            let choice: PolicySpec = policy.parse().unwrap();
            for point in drawn(policy, &objects, &wanted(&[], false, Sampling::Keys(1000))).points {
                let counters = choice.create(point.capacity, &requests, false, 1).run(&requests);
                prop_assert_eq!(point.miss_ratio, counters.miss_ratio().unwrap());
            }
        }
    }
}

#[test]
fn several_policies_share_a_reading_and_change_nothing_of_each_other() {
    let objects: Vec<(u64, u64)> = (0..60_000_u64).map(|at| (at * at % 9973 % (1 + at % 3000), 1 + at % 7)).collect();
    let policies: Vec<PolicySpec> =
        ["arc", "lru", "sieve", "lru+size:max=3"].iter().map(|text| text.parse().unwrap()).collect();
    for sampling in [None, Some(Sampling::Full), Some(Sampling::Rate(0.5)), Some(Sampling::Keys(500))] {
        let wanted = CurveOptions { by_size: true, capacities: Vec::new(), sampling, windows: None, seed: 1 };
        let together = curves(&mut Objects(objects.clone(), 0), &policies, &wanted).unwrap();
        assert_eq!((together.requests, together.curves.len()), (60_000, 4));
        for (policy, curve) in policies.iter().zip(together.curves) {
            let alone = drawn(&policy.to_string(), &objects, &wanted);
            assert_eq!((&curve.points, curve.footprint, curve.rate), (&alone.points, alone.footprint, alone.rate));
            assert!(!curve.points.is_empty());
        }
    }
}

#[test]
fn an_admission_has_a_curve_of_its_own() {
    let objects: Vec<(u64, u64)> = (0..1000).map(|at| (at % 10, 1 + at % 10)).collect();
    let wanted = CurveOptions { by_size: true, capacities: vec![100], sampling: None, windows: None, seed: 1 };
    let [all, small] = ["lru", "lru+size:max=5"].map(|policy| drawn(policy, &objects, &wanted).points[0].miss_ratio);
    assert_eq!((all, small), (0.01, 0.505));
}

#[test]
fn a_parquet_file_holds_every_point() {
    let objects: Vec<(u64, u64)> = (0..60_000_u64).map(|at| (at * at % 9973 % (1 + at % 3000), 1)).collect();
    let policies: [PolicySpec; 2] = ["lru", "arc"].map(|text| text.parse().unwrap());
    let wanted = CurveOptions { sampling: None, ..wanted(&[], false, Sampling::Full) };
    let lru = curves(&mut Objects(objects.clone(), 0), &policies[..1], &wanted).unwrap().curves.remove(0);
    let arc = drawn("arc", &objects, &CurveOptions { sampling: Some(Sampling::Keys(500)), ..wanted });
    let mut file = tempfile::tempfile().unwrap();
    write_parquet(&mut file, "objects", &[("lru".to_owned(), &lru), ("arc".to_owned(), &arc)]).unwrap();
    let mut rows = Vec::new();
    for batch in ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let text = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
        let number = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Float64Type>().clone();
        let capacity = batch.column_by_name("capacity").unwrap().as_primitive::<UInt64Type>();
        for row in 0..batch.num_rows() {
            assert_eq!(text("unit").value(row), "objects");
            let error = Some(number("error")).filter(|error| error.is_valid(row)).map(|error| error.value(row));
            let miss_ratio = number("miss_ratio").value(row);
            rows.push((
                text("policy").value(row).to_owned(),
                CurvePoint { capacity: capacity.value(row), miss_ratio, error },
            ));
        }
    }
    let of = |name: &str, curve: &MissRatioCurve| {
        curve.points.iter().map(|point| (name.to_owned(), *point)).collect::<Vec<_>>()
    };
    assert_eq!(rows, [of("lru", &lru), of("arc", &arc)].concat());
    assert!(rows.iter().any(|(_, point)| point.error.is_some()) && rows.iter().any(|(_, point)| point.error.is_none()));
}

/// The traces in place, those that count requests for objects.
fn traces() -> Vec<PathBuf> {
    let names = [
        "twitter_cluster52_1m.csv.zst",
        "cloudPhysicsIO.vscsi",
        "arc_traces/OLTP.lis.zst",
        "arc_traces/P3.lis.zst",
        "caffeine_traces/cache2k_orm-busy.trace.xz",
    ];
    names.iter().filter_map(|name| real_data(&format!("traces/{name}"))).collect()
}

fn of_trace(path: &Path, policy: &str, wanted: &CurveOptions) -> MissRatioCurve {
    let mut trace = open(path, &ReadOptions::default()).unwrap();
    curves(&mut *trace.reader, &[policy.parse().unwrap()], wanted).unwrap().curves.remove(0)
}

#[test]
fn samples_of_real_traces_say_how_far_they_are_off() {
    let samplings =
        [(0.5, f64::MAX), (0.1, f64::MAX), (0.01, f64::MAX)].map(|(rate, keys)| (Sampling::Rate(rate), keys));
    let (mut all_within, mut all) = (0, 0);
    for path in traces() {
        let exact = of_trace(&path, "lru", &wanted(&[], false, Sampling::Full));
        for (sampling, keys_max) in samplings.into_iter().chain([(Sampling::Keys(8192), 8192.0)]) {
            let sampled = of_trace(&path, "lru", &wanted(&[], false, sampling));
            assert!(sampled.footprint * sampled.rate <= 1.3 * keys_max, "{}: {}", path.display(), sampled.rate);
            let pairs = || sampled.points.iter().zip(&exact.points);
            let off = |(sampled, exact): (&CurvePoint, &CurvePoint)| (sampled.miss_ratio - exact.miss_ratio).abs();
            let is_within =
                |(sampled, exact): (&CurvePoint, &CurvePoint)| off((sampled, exact)) <= sampled.error.unwrap_or(1e-12);
            let within = pairs().filter(|pair| is_within(*pair)).count();
            let worst = pairs().map(off).fold(0.0, f64::max);
            println!("{}: rate {:.4}, worst {worst:.4}, {within} of {}", path.display(), sampled.rate, pairs().count());
            assert!(within * 10 >= pairs().count() * 8, "{}: {within} of {}", path.display(), pairs().count());
            let is_estimate = |pair: &(&CurvePoint, &CurvePoint)| pair.0.error.is_some();
            all += pairs().filter(is_estimate).count();
            all_within += pairs().filter(is_estimate).filter(|pair| is_within(*pair)).count();
        }
    }
    assert!(all_within * 100 >= all * 95, "{all_within} of {all} estimates lie in their 95 % intervals");
}

/// How many estimates of samples with different seeds lie in their intervals, and how many there are.
fn covered(path: &Path, policy: &str, sampling: Sampling, seeds: u64) -> (usize, usize) {
    let exact = of_trace(path, policy, &wanted(&[], false, Sampling::Full));
    let (mut within, mut all) = (0, 0);
    for seed in 1..=seeds {
        let sampled = of_trace(path, policy, &CurveOptions { seed, ..wanted(&[], false, sampling) });
        for point in &sampled.points {
            let Some(error) = point.error else { continue };
            // A sample may estimate a larger footprint than the trace's, from which on nothing changes.
            let exact = exact.points.iter().rfind(|exact| exact.capacity <= point.capacity).unwrap();
            within += usize::from((point.miss_ratio - exact.miss_ratio).abs() <= error);
            all += 1;
        }
    }
    (within, all)
}

#[test]
fn intervals_cover_over_many_samples() {
    // The points of one sample are off together: how often intervals cover shows over samples.
    let Some(path) = real_data("traces/cloudPhysicsIO.vscsi") else { return };
    let cases = [("lru", 0.5, 100), ("lru", 0.1, 40), ("arc", 0.5, 8), ("arc", 0.1, 8)];
    for (policy, rate, seeds) in cases {
        let (within, all) = covered(&path, policy, Sampling::Rate(rate), seeds);
        println!("{policy} at {rate}: {within} of {all}");
        assert!(within * 100 >= all * 93, "{policy} at {rate}: {within} of {all} estimates in their 95 % intervals");
    }
}

#[test]
fn an_estimate_is_never_as_certain_as_a_count() {
    // One key of a thousand is requested again, from below the head: most samples have none of them.
    let keys = 50_000_u64;
    let again = (0..keys).filter(|key| key % 1000 == 0);
    let objects: Vec<(u64, u64)> = (0..keys).chain(again).map(|key| (key * 0x9E37_79B9, 1)).collect();
    let capacities = [20_000, 30_000, 40_000];
    let exact = drawn("lru", &objects, &wanted(&capacities, false, Sampling::Full)).points;
    for rate in [0.001, 0.01, 0.5] {
        let (mut within, mut all) = (0, 0);
        for seed in 0..300 {
            let options = CurveOptions { seed, ..wanted(&capacities, false, Sampling::Rate(rate)) };
            for (point, exact) in drawn("lru", &objects, &options).points.iter().zip(&exact) {
                let error = point.error.expect("what is below the head is an estimate");
                assert!(error > 0.0, "at rate {rate}, seed {seed}: {point:?}");
                within += usize::from((point.miss_ratio - exact.miss_ratio).abs() <= error);
                all += 1;
            }
        }
        println!("at rate {rate}: {within} of {all}");
        assert!(all > 0 && within * 100 >= all * 93, "at rate {rate}: {within} of {all} within their intervals");
    }
}

#[test]
fn a_cliff_is_as_uncertain_as_its_place() {
    // Each key is requested again after all others: LRU hits from that capacity on, and a sample knows it by a count.
    let (keys, cliff) = (100_000_u64, 100_000);
    let objects: Vec<(u64, u64)> = (0..3 * keys).map(|at| (at % keys * 0x9E37_79B9, 1)).collect();
    let capacities: Vec<u64> = (98_000..102_000).step_by(50).collect();
    for rate in [0.5, 0.1, 0.01] {
        let curve = drawn("lru", &objects, &wanted(&capacities, false, Sampling::Rate(rate)));
        for point in &curve.points {
            let exact = if point.capacity < cliff { 1.0 } else { 1.0 / 3.0 };
            let error = point.error.unwrap_or(0.0);
            assert!((point.miss_ratio - exact).abs() <= error + 1e-9, "at rate {rate}: {point:?}");
        }
    }
}

#[test]
fn miniatures_of_real_traces_say_how_far_they_are_off() {
    let (mut all_within, mut all) = (0, 0);
    for path in traces() {
        for policy in ["arc", "s3-fifo"] {
            let exact = of_trace(&path, policy, &wanted(&[], false, Sampling::Full));
            let sampled = of_trace(&path, policy, &wanted(&[], false, Sampling::Keys(8192)));
            let at = |capacity| exact.points.iter().find(|exact| exact.capacity == capacity);
            let pairs = || sampled.points.iter().filter_map(|sampled| Some((sampled, at(sampled.capacity)?)));
            let off = |(sampled, exact): (&CurvePoint, &CurvePoint)| (sampled.miss_ratio - exact.miss_ratio).abs();
            let within = pairs().filter(|pair| off(*pair) <= pair.0.error.unwrap_or(0.0)).count();
            let worst = pairs().map(off).fold(0.0, f64::max);
            let widest = sampled.points.iter().filter_map(|point| point.error).fold(0.0, f64::max);
            let of = pairs().count();
            println!("{} {policy}: worst {worst:.4}, widest {widest:.4}, {within} of {of}", path.display());
            assert!(within * 10 >= of * 8 && of > 10, "{}: {policy}: {within} of {of}", path.display());
            assert!(worst < 0.025 && widest < 0.05, "{}: {policy} is {worst} off, {widest} claimed", path.display());
            (all_within, all) = (all_within + within, all + of);
        }
    }
    assert!(all_within * 100 >= all * 95, "{all_within} of {all} lie in their 95 % intervals");
}
