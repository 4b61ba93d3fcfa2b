use super::*;
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
    for (name, read, update, read_modify_write) in [
        ("ycsb-a", 0.5, 0.5, 0.0),
        ("workloadb", 0.95, 0.05, 0.0),
        ("ycsb-c", 1.0, 0.0, 0.0),
        ("ycsb-f", 0.5, 0.0, 0.5),
    ] {
        let plan = KvPlan::new(&null(name)).unwrap();
        let shares = [read, update, 0.0, 0.0, read_modify_write];
        assert_eq!(plan.work.asks, Asks::Ycsb(YcsbMix { shares }), "{name}");
        assert_eq!((plan.work.records, plan.value_bytes(), plan.threads), (1000, 1000, 1));
        assert_eq!(plan.work.distribution, KeyDistribution::Zipfian);
        assert_eq!(plan.work.update, Update::Record);
    }
}

#[test]
fn workloads_that_grow_are_refused_with_the_reason() {
    for name in ["ycsb-d", "workloade"] {
        let error = KvPlan::new(&null(name)).unwrap_err().to_string();
        assert!(error.contains("WR1"), "{error}");
    }
    assert!(matches!(KvPlan::new(&with(&[("insertproportion", "0.1")])), Err(KvError::Grows(_))));
    assert!(matches!(KvPlan::new(&with(&[("scanproportion", "0.1")])), Err(KvError::Scans(_))));
}

#[test]
fn a_properties_file_is_read_and_the_nearer_setting_wins() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let text = "# ours\nrecordcount=5000\nworkload=site.ycsb.workloads.CoreWorkload\nreadproportion = 0.2\n\
                updateproportion: 0.2\nrequestdistribution=latest\nthreadcount=3\nfieldlength=50\nrocksdb.dir=/x\n";
    file.write_all(text.as_bytes()).unwrap();
    let mut settings = null(file.path().to_str().unwrap());
    settings.properties.insert("fieldcount".to_owned(), "4".to_owned());
    settings.field_length = Some(20);
    let plan = KvPlan::new(&settings).unwrap();
    assert_eq!((plan.work.records, plan.threads, plan.value_bytes()), (5000, 3, 80));
    assert_eq!(plan.work.distribution, KeyDistribution::Latest);
    let Asks::Ycsb(mix) = plan.work.asks;
    assert_eq!((mix.share(Operation::Read), mix.share(Operation::Update)), (0.5, 0.5));
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
        (vec![("requestdistribution", "hotspot")], "uniform"),
        (vec![("insertorder", "ordered")], "hashed"),
        (vec![("fieldlength", "999999999")], "64 MiB"),
        (vec![("threadcount", "0")], "1024"),
    ] {
        let error = KvPlan::new(&with(&pairs)).unwrap_err().to_string();
        assert!(error.contains(named), "{pairs:?}: {error}");
    }
    assert!(matches!(KvPlan::new(&null("nothing.properties")), Err(KvError::UnknownWorkload { .. })));
}

#[test]
fn an_update_of_one_field_is_asked_for_by_name() {
    let plan = KvPlan::new(&with(&[("writeallfields", "false")])).unwrap();
    assert_eq!(plan.work.update, Update::Field);
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
