use super::*;
use crate::kv::KeyDistribution;
use crate::kv::settings::KvSettings;
use std::io::Write as _;

fn null(workload: &str) -> KvSettings {
    KvSettings { engine: "null".to_owned(), workload: workload.to_owned(), ..KvSettings::default() }
}

fn with(pairs: &[(&str, &str)]) -> KvSettings {
    let properties = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    KvSettings { properties, ..null("ycsb-a") }
}

#[test]
fn the_core_workloads_are_ycsbs() {
    for (name, shares, distribution, unstable) in [
        ("ycsb-a", [0.5, 0.5, 0.0, 0.0, 0.0], PopularityDistribution::ZIPFIAN, false),
        ("workloadb", [0.95, 0.05, 0.0, 0.0, 0.0], PopularityDistribution::ZIPFIAN, false),
        ("ycsb-c", [1.0, 0.0, 0.0, 0.0, 0.0], PopularityDistribution::ZIPFIAN, false),
        ("workloadd", [0.95, 0.0, 0.05, 0.0, 0.0], PopularityDistribution::Latest { exponent: 0.99 }, true),
        ("ycsb-e", [0.0, 0.0, 0.05, 0.95, 0.0], PopularityDistribution::ZIPFIAN, true),
        ("ycsb-f", [0.5, 0.0, 0.0, 0.0, 0.5], PopularityDistribution::ZIPFIAN, false),
    ] {
        let plan = KvPlan::new(&null(name)).unwrap();
        let OperationMix::Ycsb(mix) = &plan.spec.mix else { panic!("{:?}", plan.spec.mix) };
        assert_eq!(mix.shares, shares, "{name}");
        assert_eq!((plan.spec.records, plan.value_bytes(), plan.threads), (1000, 1000, 1));
        assert_eq!(plan.spec.distribution, distribution, "{name}");
        assert_eq!(plan.spec.update, UpdateMode::Record);
        assert_eq!(plan.spec.unstable().is_some(), unstable, "{name}");
        assert_eq!(mix.scan_lengths.bounds(), (1, if name == "ycsb-e" { 100 } else { 1000 }));
        assert_eq!(plan.notes, Vec::<String>::new());
    }
}

/// An engine that keeps no order.
const HASHED: EngineInfo = EngineInfo {
    name: "hashed",
    about: "",
    version: String::new,
    capabilities: &[Capability::MultiGet],
    durability: "",
    storage: engine::StorageKind::Memory,
    key_bytes_max: None,
    memtable_option: None,
    options: &[],
    state: &[],
    immutable_files: &[],
    open: |_| Err(engine::EngineError::Unsupported { engine: "hashed", what: "open" }),
    check_options: |_| Ok(()),
};

#[test]
fn scans_need_an_engine_with_an_order() {
    let spec = |name| KvPlan::new(&null(name)).unwrap().spec;
    let engines = || [HASHED, EngineInfo { name: "sorted", capabilities: &[Capability::Scan], ..HASHED }];
    assert!(check_order(&spec("ycsb-d"), "ycsb-d", &HASHED, &engines()).is_ok());
    assert!(check_order(&spec("ycsb-e"), "ycsb-e", &engines()[1], &engines()).is_ok());
    let error = check_order(&spec("ycsb-e"), "ycsb-e", &HASHED, &engines()).unwrap_err().to_string();
    assert_eq!(error, "ycsb-e scans, but hashed keeps no order of keys; choose sorted");
    let error = check_order(&spec("ycsb-e"), "ycsb-e", &HASHED, &[HASHED]).unwrap_err().to_string();
    assert!(error.ends_with("no engine of this build does"), "{error}");
}

#[test]
fn a_properties_file_is_read_and_the_nearer_setting_wins() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let text = "# ours\nrecordcount=5000\nworkload=site.ycsb.workloads.CoreWorkload\nreadproportion = 0.2\n\
                updateproportion \\\n   0.2\nrequestdistribution=latest\nthreadcount=3\nfieldlength=50\nrocksdb.dir=/x\n";
    file.write_all(text.as_bytes()).unwrap();
    let mut settings = null(file.path().to_str().unwrap());
    settings.properties.insert("fieldcount".to_owned(), "4".to_owned());
    settings.field_length = Some(20);
    let plan = KvPlan::new(&settings).unwrap();
    assert_eq!((plan.spec.records, plan.threads, plan.value_bytes()), (5000, 3, 80));
    let of_threads = |threads| KvPlan::new(&KvSettings { threads, ..settings.clone() }).unwrap().threads;
    assert_eq!([of_threads(Some(1)), of_threads(Some(2))], [1, 2], "one thread that is asked for is one");
    assert_eq!(plan.spec.distribution, PopularityDistribution::Latest { exponent: 0.99 });
    let OperationMix::Ycsb(mix) = plan.spec.mix else { panic!("{:?}", plan.spec.mix) };
    assert_eq!((mix.share(KvOperation::Read), mix.share(KvOperation::Update)), (0.5, 0.5));
    let notes = plan.notes.join("\n");
    assert!(notes.contains("add up to 0.4") && notes.contains("rocksdb.dir") && notes.contains(":3"), "{notes}");
}

#[test]
fn what_makes_no_sense_is_named() {
    for (pairs, named) in [
        (vec![("recordcuont", "5")], "`recordcount`"),
        (vec![("recordcount", "many")], "at least 1"),
        (vec![("recordcount", "0")], "from 1"),
        (vec![("readproportion", "-1")], "from 0 to 1"),
        (vec![("readproportion", "0"), ("updateproportion", "0")], "above 0"),
        (vec![("requestdistribution", "zipf")], "hotspot"),
        (vec![("requestdistribution", "hotspot"), ("hotspotdatafraction", "1.5")], "hotspotdatafraction"),
        (vec![("requestdistribution", "hotspot"), ("hotspotopnfraction", "-0.1")], "hotspotopnfraction"),
        (vec![("requestdistribution", "hotspot"), ("hotspotdatafraction", "0.0001")], "larger share"),
        (vec![("requestdistribution", "hotspot"), ("hotspotdatafraction", "1")], "smaller share"),
        (vec![("requestdistribution", "exponential"), ("exponential.percentile", "100")], "below 100"),
        (vec![("requestdistribution", "exponential"), ("exponential.frac", "0")], "exponential.frac"),
        (vec![("exponential.percentil", "95")], "`exponential.percentile`"),
        (vec![("insertorder", "sorted")], "ordered"),
        (vec![("zeropadding", "-1")], "digits"),
        (vec![("zeropadding", "5000")], "1000"),
        (vec![("fieldcount", "ten")], "at least 1"),
        (vec![("fieldlength", "-1")], "from 0"),
        (vec![("fieldlengthdistribution", "normal")], "histogram"),
        (vec![("fieldlengthdistribution", "uniform"), ("minfieldlength", "101")], "`fieldlength`"),
        (vec![("fieldlengthdistribution", "histogram"), ("fieldlengthhistogram", "/nowhere")], "/nowhere"),
        (vec![("fieldlengthdistribution", "uniform"), ("dataintegrity", "true")], "constant"),
        (vec![("dataintegrity", "maybe")], "true or false"),
        (vec![("readallfields", "1")], "true or false"),
        (vec![("writeallfields", "yes")], "true or false"),
        (vec![("minscanlength", "0")], "maxscanlength"),
        (vec![("minscanlength", "20"), ("maxscanlength", "10")], "maxscanlength"),
        (vec![("maxscanlength", "5000000000")], "4294967295"),
        (vec![("scanlengthdistribution", "constant")], "zipfian"),
        (vec![("insertproportion", "half")], "from 0 to 1"),
        (vec![("scanproportion", "NaN")], "from 0 to 1"),
        (vec![("insertstart", "1000")], "below"),
        (vec![("insertstart", "500"), ("insertcount", "501")], "insertcount"),
        (vec![("insertcount", "0")], "insertcount"),
        (vec![("target", "-5")], "per second"),
        (vec![("maxexecutiontime", "soon")], "maxexecutiontime"),
        (vec![("operationcount", "1e6")], "operationcount"),
        (vec![("threadcount", "two")], "threads"),
        (vec![("fieldlength", "999999999")], "64 MiB"),
        (vec![("threadcount", "0")], "1024"),
        (vec![("fieldcount", "0")], "at least 1"),
    ] {
        let error = KvPlan::new(&with(&pairs)).unwrap_err().to_string();
        assert!(error.contains(named), "{pairs:?}: {error}");
    }
    assert!(matches!(KvPlan::new(&null("nothing.properties")), Err(KvError::UnknownWorkload { .. })));
}

#[test]
fn an_update_of_one_field_is_asked_for_by_name() {
    let plan = KvPlan::new(&with(&[("writeallfields", "false")])).unwrap();
    assert_eq!(plan.spec.update, UpdateMode::Field);
}

#[test]
fn what_cannot_be_sent_together_is_refused() {
    let settings = |workload: &str, pipeline| KvSettings { pipeline, ..null(workload) };
    assert_eq!(KvPlan::new(&settings("ycsb-a", 16)).unwrap().pipeline, 16);
    for (workload, pipeline) in [("ycsb-f", 16), ("ycsb-c", 0), ("ycsb-c", 5000)] {
        let error = KvPlan::new(&settings(workload, pipeline)).unwrap_err();
        assert_eq!(error.setting(), "pipeline", "{error}");
    }
}

#[test]
fn a_part_of_the_records_is_loaded_and_asked_for() {
    let plan = KvPlan::new(&with(&[("insertstart", "200"), ("insertcount", "300")])).unwrap();
    assert_eq!(plan.spec.record_range(), RecordRange { first: 200, loaded: 300, next: 1000 });
    let rest = KvPlan::new(&with(&[("insertstart", "200")])).unwrap();
    assert_eq!(rest.spec.record_range(), RecordRange { first: 200, loaded: 800, next: 1000 });
    assert_ne!(plan.spec.form(), KvPlan::new(&null("ycsb-a")).unwrap().spec.form());
    let half = KvPlan::new(&with(&[("insertstart", "200"), ("insertcount", "300")]).shrunk(0.5)).unwrap();
    assert_eq!(half.spec.record_range(), RecordRange { first: 100, loaded: 150, next: 500 });
}

#[test]
fn keys_and_lengths_are_as_the_properties_say() {
    let plan = KvPlan::new(&with(&[
        ("insertorder", "ordered"),
        ("zeropadding", "12"),
        ("fieldlengthdistribution", "zipfian"),
        ("minfieldlength", "10"),
    ]))
    .unwrap();
    assert_eq!(plan.spec.keys, KeyForm::Ycsb { hashed: false, zero_padding: 12 });
    assert_eq!(plan.value_bytes(), 1000);
    let mean = plan.spec.values.lengths.mean();
    assert!((100.0..500.0).contains(&mean), "{mean}");
    assert_eq!(plan.spec.form(), "ycsb-ordered-2 of 12 digits, 10 fields of zipfian 10 to 100 bytes");
}

#[test]
fn what_the_properties_say_of_length_and_speed_is_kept_and_noted() {
    let limits = [("target", "5000"), ("maxexecutiontime", "60"), ("operationcount", "100")];
    let mut settings = with(&limits);
    let plan = KvPlan::new(&settings).unwrap();
    let wanted = RunProperties { target: Some(5000.0), max_execution_s: Some(60), operation_count: Some(100) };
    assert_eq!((plan.run_properties, plan.operations), (wanted, None));
    assert_eq!(plan.notes.len(), 2, "{:?}", plan.notes);
    settings.operations = Some(100);
    assert_eq!(KvPlan::new(&settings).unwrap().notes.len(), 1);
    let zero = KvPlan::new(&with(&limits.map(|(name, _)| (name, "0")))).unwrap();
    assert_eq!(zero.run_properties, RunProperties::default());
}

#[test]
fn an_exponent_goes_with_the_distributions_that_have_one() {
    let of = |distribution, exponent| KvSettings { distribution: Some(distribution), exponent, ..null("ycsb-c") };
    let plan = KvPlan::new(&of(KeyDistribution::Latest, Some(1.2))).unwrap();
    assert_eq!(plan.spec.distribution, PopularityDistribution::Latest { exponent: 1.2 });
    for kind in [KeyDistribution::Uniform, KeyDistribution::YcsbZipfian, KeyDistribution::Hotspot] {
        let error = KvPlan::new(&of(kind, Some(1.2))).unwrap_err().to_string();
        assert!(error.contains("zipfian and latest"), "{error}");
    }
    for exponent in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(KvPlan::new(&of(KeyDistribution::Zipfian, Some(exponent))).is_err(), "{exponent}");
    }
}

#[test]
fn zipfian_over_a_database_that_grows_reckons_with_the_inserts_to_come() {
    let plan = |pairs: &[(&str, &str)]| KvPlan::new(&with(pairs)).unwrap();
    let inserts = ("insertproportion", "1");
    assert_eq!(plan(&[inserts]).expected_records(), 1000);
    assert_eq!(plan(&[inserts, ("operationcount", "300")]).expected_records(), 1300);
}

#[test]
fn a_property_without_effect_is_reported() {
    let notes = |value: &str| {
        let properties = [("readallfields".to_owned(), value.to_owned()), ("recordcount".to_owned(), "9".to_owned())];
        KvPlan::new(&KvSettings { properties: properties.into(), ..null("ycsb-c") }).unwrap().notes
    };
    assert!(notes("true").is_empty());
    assert!(notes("false").iter().any(|note| note.contains("readallfields")), "{:?}", notes("false"));
}
