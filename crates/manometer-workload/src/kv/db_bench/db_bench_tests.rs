use super::*;
use crate::kv::distribution::{Random, stream};
use crate::kv::operation_mix::OperationMix;
use crate::kv::plan::{KvPlan, Presence};
use crate::kv::population::Population;
use crate::kv::request::KvRequest;
use crate::kv::{KeyDistribution, KvError, KvSettings, PacePlan};

fn settings(workload: &str, pairs: &[(&str, &str)]) -> KvSettings {
    let properties = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    KvSettings { engine: "null".to_owned(), workload: workload.to_owned(), properties, ..KvSettings::default() }
}

fn plan(workload: &str, pairs: &[(&str, &str)]) -> KvPlan {
    KvPlan::new(&settings(workload, pairs)).unwrap()
}

fn bench(plan: &KvPlan) -> &DbBench {
    let OperationMix::DbBench(bench) = &plan.spec.mix else { panic!("{:?}", plan.spec.mix) };
    bench
}

/// The first `count` requests of thread `thread` of `plan`.
fn requests(plan: &KvPlan, thread: u32, count: usize, random: &mut Random) -> Vec<KvRequest> {
    let population = Population::new(plan.spec.record_range());
    let mut generator = crate::kv::generator::generator(plan, 1, thread, &population);
    (0..count).map(|_| generator.next(random)).collect()
}

#[test]
fn defaults_are_db_benchs() {
    for benchmark in BENCHMARKS {
        let plan = plan(benchmark.name, &[]);
        assert_eq!((plan.spec.records, plan.spec.keys), (1_000_000, KeyForm::DbBench { key_bytes: 16 }));
        let longest = if benchmark.name == "mixgraph" { 1024 } else { 100 };
        assert_eq!((plan.value_bytes(), plan.spec.values.compressible_to), (longest, 0.5));
        let fills = benchmark.name.starts_with("fill");
        assert_eq!(plan.spec.loaded, if fills { 0 } else { 1_000_000 });
        let deletes = benchmark.name.starts_with("delete");
        assert_eq!(plan.spec.unstable().is_some(), fills || deletes, "{}", benchmark.name);
        let round = fills || benchmark.name == "deleteseq";
        assert_eq!(plan.spec.round(), round.then_some(1_000_000));
        assert!(plan.operations.is_none() && plan.notes.is_empty());
    }
    assert_eq!(BENCHMARKS.len(), 20);
}

#[test]
fn the_distribution_is_described_correctly() {
    let ranges = [("keyrange_num", "30"), ("keyrange_dist_a", "14.18")];
    let power = [("key_dist_a", "0.002312"), ("key_dist_b", "0.3467")];
    for (name, pairs, expected) in [
        ("fillseq", &[][..], "sequential"),
        ("deleteseq", &[], "sequential"),
        ("readreverse", &[], "sequential"),
        ("fillrandom", &[], "uniform"),
        ("readrandom", &[], "uniform"),
        ("readrandom", &[("read_random_exp_range", "15")], "read_random_exp_range 15"),
        ("readhot", &[], "uniform over the first 10000 record numbers"),
        ("mergerandom", &[("merge_keys", "5")], "uniform over the first 5 record numbers"),
        ("readrandommergerandom", &[], "uniform"),
        ("readrandomwriterandom", &[], "uniform"),
        ("mixgraph", &[], "uniform"),
        ("mixgraph", &power, "power law 0.002312·x^0.3467"),
        (
            "mixgraph",
            &[power, ranges].concat(),
            "key ranges by a two-term exponential, within them a power law 0.002312·x^0.3467",
        ),
    ] {
        assert_eq!(plan(name, pairs).spec.describe_distribution(), expected, "{name}");
    }
}

#[test]
fn what_is_asked_is_what_the_name_says() {
    for (name, operations) in [
        ("fillseq", vec!["insert"]),
        ("fillrandom", vec!["insert"]),
        ("overwrite", vec!["update"]),
        ("updaterandom", vec!["read_modify_write"]),
        ("readseq", vec!["next"]),
        ("readreverse", vec!["next"]),
        ("readrandom", vec!["read"]),
        ("readmissing", vec!["read"]),
        ("readhot", vec!["read"]),
        ("multireadrandom", vec!["multi_read"]),
        ("seekrandom", vec!["scan"]),
        ("readwhilewriting", vec!["read", "background_update"]),
        ("readwhilemerging", vec!["read", "background_merge"]),
        ("readwhilescanning", vec!["read", "background_scan"]),
        ("readrandomwriterandom", vec!["read", "update"]),
        ("readrandommergerandom", vec!["read", "merge"]),
        ("mergerandom", vec!["merge"]),
        ("deleteseq", vec!["delete"]),
        ("deleterandom", vec!["delete"]),
        ("mixgraph", vec!["read"]),
    ] {
        let names: Vec<&str> = plan(name, &[]).spec.operations().into_iter().map(KvOperation::name).collect();
        assert_eq!(names, operations, "{name}");
    }
    let mix = plan("mixgraph", &[("mix_get_ratio", "0.8"), ("mix_put_ratio", "0.1"), ("mix_seek_ratio", "0.1")]);
    assert_eq!(mix.spec.operations(), [KvOperation::Read, KvOperation::Update, KvOperation::Scan]);
}

#[test]
fn reads_and_writes_take_turns_in_hundreds() {
    let plan = plan("readrandomwriterandom", &[("readwritepercent", "70"), ("num", "50")]);
    let asked = requests(&plan, 0, 250, &mut stream(1, 0));
    for (place, request) in asked.iter().enumerate() {
        let wanted = if place % 100 < 70 { KvOperation::Read } else { KvOperation::Update };
        assert_eq!(request.operation, wanted, "request {place}");
        assert!(request.record < 50);
    }
    assert!(bench(&plan).unstable.is_none());
}

#[test]
fn merges_come_by_chance() {
    let plan = plan("readrandommergerandom", &[("mergereadpercent", "30"), ("merge_keys", "10")]);
    let asked = requests(&plan, 0, 20_000, &mut stream(1, 0));
    let merges = asked.iter().filter(|request| request.operation == KvOperation::Merge).count();
    // Six standard deviations of a binomial count.
    assert!((merges as f64 - 6000.0).abs() < 390.0, "{merges}");
    assert!(asked.iter().all(|request| request.record < 10));
}

#[test]
fn the_hot_records_are_a_hundredth() {
    let asked = requests(&plan("readhot", &[("num", "1050")]), 0, 5000, &mut stream(1, 0));
    let records: std::collections::BTreeSet<u64> = asked.iter().map(|request| request.record).collect();
    assert_eq!(records.into_iter().collect::<Vec<_>>(), (0..11).collect::<Vec<_>>());
}

#[test]
fn a_seek_takes_its_record_and_the_nexts() {
    let plan = plan("seekrandom", &[("seek_nexts", "10"), ("reverse_iterator", "true")]);
    let asked = requests(&plan, 0, 100, &mut stream(1, 0));
    assert!(asked.iter().all(|request| request.length == 11 && request.backward));
}

#[test]
fn requests_can_be_repeated_from_the_seed() {
    for benchmark in BENCHMARKS {
        let plan = plan(benchmark.name, &[("num", "1000")]);
        for thread in 0..plan.all_threads() {
            let asked = || requests(&plan, thread, 100, &mut stream(9, thread));
            assert_eq!(asked(), asked(), "{}", benchmark.name);
        }
    }
}

#[test]
fn the_background_has_a_thread_of_its_own() {
    let pairs = [("num", "100"), ("bgwriter_num", "300"), ("benchmark_write_rate_limit", "116000")];
    let plan =
        KvPlan::new(&KvSettings { threads: Some(3), operations: Some(30), ..settings("readwhilewriting", &pairs) });
    let plan = plan.unwrap();
    assert_eq!((plan.all_threads(), plan.operations_of(0), plan.operations_of(3)), (4, 10, u64::MAX));
    assert!(plan.background_of(2).is_none());
    let background = plan.background_of(3).unwrap();
    assert_eq!((background.below, background.per_second), (300, Some(1000.0)));
    assert!(requests(&plan, 3, 50, &mut stream(1, 3)).iter().all(|one| one.operation == KvOperation::BackgroundUpdate));
    assert!(plan.spec.unstable().unwrap().contains("background"));
}

#[test]
fn missing_keys_are_longer_by_a_byte_and_expected_nowhere() {
    let plan = plan("readmissing", &[]);
    assert_eq!(plan.spec.request_keys(), KeyForm::DbBench { key_bytes: 17 });
    assert_eq!(plan.spec.expect, Presence::Maybe, "the null engine finds everything");
    let settings = KvSettings { engine: "rocksdb".to_owned(), ..settings("readmissing", &[]) };
    assert_eq!(KvPlan::new(&settings).unwrap().spec.expect, Presence::Absent);
}

#[test]
fn sizes_are_settings_or_parameters_and_the_setting_wins() {
    let pairs = [("key_size", "20"), ("value_size", "300"), ("num", "5")];
    let named = plan("overwrite", &pairs);
    assert_eq!((named.spec.keys, named.value_bytes()), (KeyForm::DbBench { key_bytes: 20 }, 300));
    let set = KvSettings { key_size: Some(8), value_size: Some(7), records: Some(9), ..settings("overwrite", &pairs) };
    let set = KvPlan::new(&set).unwrap();
    assert_eq!((set.spec.keys, set.value_bytes(), set.spec.records), (KeyForm::DbBench { key_bytes: 8 }, 7, 9));
    let ycsb = KvSettings { value_size: Some(64), ..settings("ycsb-a", &[]) };
    assert_eq!(KvPlan::new(&ycsb).unwrap().value_bytes(), 64);
    let uniform = [("value_size_distribution_type", "uniform"), ("value_size_min", "5"), ("value_size_max", "9")];
    assert_eq!(plan("overwrite", &uniform).value_bytes(), 9);
}

#[test]
fn databases_of_another_form_have_another_name() {
    let form = |workload, pairs: &[(&str, &str)]| plan(workload, pairs).spec.form();
    assert_eq!(form("ycsb-a", &[]), "ycsb-hashed-2");
    assert_eq!(form("readrandom", &[]), "db_bench-1 of 16 bytes, compressible to 0.5");
    assert_eq!(form("readrandom", &[("compression_ratio", "1"), ("key_size", "24")]), "db_bench-1 of 24 bytes");
    assert_eq!(form("readmissing", &[]), form("overwrite", &[]));
    assert_eq!(form("mixgraph", &[]), "db_bench-1 of 16 bytes, pareto 0 0.2615 25.45 to 1024, compressible to 0.5");
    let normal = [("value_size_distribution_type", "normal"), ("value_size_max", "300")];
    assert_eq!(form("overwrite", &normal), "db_bench-1 of 16 bytes, normal 100 to 300, compressible to 0.5");
}

#[test]
fn an_end_is_a_number_of_requests() {
    for (workload, name) in [
        ("readrandom", "reads"),
        ("fillrandom", "writes"),
        ("overwrite", "writes"),
        ("deleterandom", "deletes"),
        ("deleteseq", "deletes"),
        ("readrandomwriterandom", "reads"),
        ("readrandomwriterandom", "writes"),
        ("mixgraph", "reads"),
    ] {
        assert_eq!(plan(workload, &[(name, "77")]).operations, Some(77), "{workload}");
        assert_eq!(plan(workload, &[(name, "-1")]).operations, None, "{workload}");
    }
}

#[test]
fn an_empty_start_is_reported() {
    let pairs = [("use_existing_db", "false")];
    for (workload, unstable) in
        [("overwrite", true), ("readrandom", false), ("mergerandom", true), ("readrandomwriterandom", true)]
    {
        let plan = plan(workload, &pairs);
        assert_eq!((plan.spec.loaded, plan.spec.expect), (0, Presence::Maybe));
        assert_eq!(plan.spec.unstable().is_some(), unstable, "{workload}");
    }
}

#[test]
fn a_sine_is_the_pace_of_an_open_loop() {
    let pairs =
        [("sine_mix_rate", "1"), ("sine_a", "1000"), ("sine_b", "0.000073"), ("sine_c", "0.5"), ("sine_d", "4500")];
    let PacePlan::Open(open) = plan("mixgraph", &pairs).pace else { panic!() };
    assert!((open.curve.rate_at(0.0) - 4_979.425_538_604_203).abs() < 1e-6);
    assert!((open.curve.rate_at(10_000.0) - 5_442.488_801_931_698).abs() < 1e-6);
    assert_eq!(plan("mixgraph", &[]).pace, PacePlan::Closed);
    let refused = |name, value| KvPlan::new(&settings("mixgraph", &[("sine_mix_rate", "1"), (name, value)])).is_err();
    assert!(refused("sine_d", "0.5") && refused("sine_b", "0") && refused("sine_mix_rate_noise", "0.1"));
}

#[test]
fn what_has_no_effect_is_noted() {
    let notes = plan("readrandom", &[("seek_nexts", "10"), ("mix_accesses", "-1")]).notes;
    assert_eq!(notes, ["`seek_nexts` has no effect on readrandom"]);
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    for (workload, name, value, named) in [
        ("readrandom", "seek_next", "10", "`seek_nexts`"),
        ("readrandom", "threads", "4", "--threads"),
        ("readrandom", "num", "0", "from 1"),
        ("readrandom", "reads", "0", "from 1"),
        ("readrandom", "read_random_exp_range", "-1", "from 0"),
        ("readrandom", "use_existing_db", "perhaps", "true or false"),
        ("readrandom", "key_size", "2", "key_size"),
        ("readrandom", "compression_ratio", "1.5", "from 0 to 1"),
        ("readrandom", "same_value_percentage", "50", "only `0`"),
        ("overwrite", "value_size_distribution_type", "zipf", "fixed, uniform or normal"),
        ("overwrite", "value_size_max", "5", "from 100"),
        ("overwrite", "value_size", "99999999999", "64 MiB"),
        ("readhot", "readhot_fraction", "2", "from 0 to 1"),
        ("multireadrandom", "batch_size", "0", "from 1"),
        ("multireadrandom", "multiread_stride", "2000000", "at most"),
        ("seekrandom", "seek_nexts", "-1", "from 0"),
        ("readwhilewriting", "bgwriter_num", "x", "from 0"),
        ("readrandomwriterandom", "readwritepercent", "101", "0 to 100"),
        ("readrandommergerandom", "mergereadpercent", "101", "0 to 100"),
        ("mergerandom", "merge_keys", "0", "from 1"),
        ("deleterandom", "deletes", "0", "from 1"),
        ("mixgraph", "mix_get_ratio", "0", "above 0"),
        ("mixgraph", "mix_max_scan_len", "0", "from 1"),
        ("mixgraph", "mix_max_value_size", "9", "from 10"),
        ("mixgraph", "keyrange_num", "0", "from 1"),
        ("mixgraph", "value_size", "100", "distribution"),
        ("mixgraph", "value_sigma", "inf", "number"),
    ] {
        let error = KvPlan::new(&settings(workload, &[(name, value)])).unwrap_err();
        assert!(error.to_string().contains(named), "{workload} {name}={value}: {error}");
    }
    let ranges = [("key_dist_a", "1"), ("key_dist_b", "1"), ("keyrange_dist_a", "-1")];
    let error = KvPlan::new(&settings("mixgraph", &ranges)).unwrap_err().to_string();
    assert!(error.contains("no range of keys"), "{error}");
}

#[test]
fn settings_of_the_other_family_are_refused() {
    let base = settings("readrandom", &[]);
    for (refused, named) in [
        (KvSettings { field_count: Some(3), ..base.clone() }, "value_size"),
        (KvSettings { field_length: Some(3), ..base.clone() }, "value_size"),
        (KvSettings { exponent: Some(1.2), ..base.clone() }, "draw uniformly"),
        (KvSettings { insert_proportion: Some(0.1), ..base.clone() }, "readwritepercent"),
        (KvSettings { distribution: Some(KeyDistribution::Zipfian), ..base }, "read_random_exp_range"),
        (KvSettings { key_size: Some(16), ..settings("ycsb-a", &[]) }, "db_bench"),
    ] {
        let error = KvPlan::new(&refused).unwrap_err();
        assert!(matches!(error, KvError::BadSetting { .. }) && error.to_string().contains(named), "{error}");
    }
}

#[test]
fn an_iteration_has_no_pace() {
    for paced in [
        KvSettings { rate: Some("100".parse().unwrap()), ..settings("readseq", &[]) },
        KvSettings { think: Some("5ms".parse().unwrap()), ..settings("readreverse", &[]) },
    ] {
        let error = KvPlan::new(&paced).unwrap_err().to_string();
        assert!(error.contains("at the engine's speed"), "{error}");
    }
}

#[test]
fn nothing_is_described_that_is_not_drawn_by_a_distribution_of_ycsb() {
    for workload in ["fillrandom", "mixgraph", "readhot"] {
        let error = crate::kv::describe(&plan(workload, &[])).unwrap_err().to_string();
        assert!(error.contains(workload), "{error}");
    }
}

#[test]
fn no_records_are_refused_before_anything_is_reckoned_with_them() {
    let none = KvSettings { records: Some(0), ..settings("readhot", &[]) };
    assert_eq!(KvPlan::new(&none).unwrap_err().setting(), "records");
}

#[test]
fn a_fill_shrinks_and_stays_a_fill() {
    let fill = KvSettings { records: Some(1000), ..settings("fillrandom", &[]) };
    let shrunk = KvPlan::new(&fill.shrunk(0.5)).unwrap();
    assert_eq!((shrunk.spec.records, shrunk.spec.loaded), (500, 0));
    assert_eq!(shrunk.fill_bytes(), 500 * (16 + 100));
}
