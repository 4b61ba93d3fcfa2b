use super::*;
use crate::replay::ReplaySettings;

/// The plan of replaying the trace `text` on the null engine, with settings changed by `change`.
fn planned(text: &str, change: impl FnOnce(&mut ReplaySettings)) -> Result<ReplayPlan, ReplayError> {
    let dir = tempfile::tempdir().unwrap();
    let file = TraceFile { trace: dir.path().join("trace.txt"), ..TraceFile::default() };
    std::fs::write(&file.trace, text).unwrap();
    let mut settings = ReplaySettings { engine: "null".to_owned(), file, ..ReplaySettings::default() };
    change(&mut settings);
    ReplayPlan::new(&settings)
}

#[track_caller]
fn refused(text: &str, change: impl FnOnce(&mut ReplaySettings), wanted: &str) {
    let error = planned(text, change).unwrap_err();
    assert!(error.to_string().contains(wanted), "{error}");
    assert!(error.is_wrong_request());
}

#[test]
fn a_plan_has_the_keys_that_the_trace_requires() {
    let plan = planned("read,a,1000,\ninsert,b,1500,20\nread,b,2000,\n", |settings| {
        settings.on_miss = MissAction::Put;
        settings.value_size = Some(7);
    })
    .unwrap();
    assert_eq!((plan.requests, plan.threads, plan.factor), (3, 1, 1.0));
    assert_eq!(plan.operations, [KvOperation::Read, KvOperation::Insert, KvOperation::Fill]);
    assert_eq!((plan.value_bytes(Some(20)), plan.value_bytes(None)), (7, 7));
    assert_eq!(plan.resolution.span_ns, 1_000_000_000);
}

#[test]
fn a_scaled_schedule_is_shorter() {
    let plan = planned("read,a,1000,\nread,b,2000,\n", |settings| {
        (settings.time, settings.factor) = (Timing::Scaled, Some(2.0));
    });
    assert_eq!(plan.unwrap().resolution.span_ns, 500_000_000);
}

#[test]
fn a_trace_without_times_has_no_original_ones() {
    let text = "read,a,,\nread,b,,\n";
    refused(text, |_| {}, "it has no times, which `time = original` needs");
    let full = |settings: &mut ReplaySettings| {
        (settings.model, settings.time) = (ReplayModel::ClosedConservative, Timing::Full);
    };
    assert_eq!(planned(text, full).unwrap().requests, 2);
}

#[test]
fn times_may_go_back_a_little() {
    let plan = planned("read,a,1000.5,\nread,b,900,\nread,c,1000.5,\n", |_| {}).unwrap();
    assert!(plan.notes.iter().any(|note| note.contains("1 times are earlier")), "{:?}", plan.notes);
    refused("read,a,5000.5,\nread,b,1000,\n", |_| {}, "at request 2 its time goes back by 4.000 s");
}

#[test]
fn equal_times_are_noted_with_the_step_of_the_clock() {
    let plan = planned("read,a,1000,\nread,b,1000,\nread,c,3000,\n", |_| {}).unwrap();
    assert!(plan.notes.iter().any(|note| note.contains("steps of 1000 ms")), "{:?}", plan.notes);
    assert_eq!(plan.resolution.late_ns, 1_000_000_000);
}

#[test]
fn missing_sizes_are_refused_where_they_are_needed() {
    refused("insert,a,1,\n", |_| {}, "1 of its writes have no size: set the bytes of a value");
    refused("read,a,1,\n", |settings| settings.on_miss = MissAction::Put, "to put after a miss");
    refused("read,a,1,\n", |settings| settings.load = true, "keys to load have no size");
    assert!(planned("read,a,1,\n", |_| {}).is_ok(), "a read needs none");
    assert!(planned("insert,a,1,\n", |settings| settings.value_size = Some(5)).is_ok());
}

#[test]
fn values_of_many_threads_take_no_memory_without_end() {
    let sized = |threads| {
        move |settings: &mut ReplaySettings| (settings.threads, settings.value_size) = (Some(threads), Some(64 << 20))
    };
    assert!(planned("read,a,1,\n", sized(63)).is_ok());
    refused("read,a,1,\n", sized(64), "4160 MiB of memory");
}

#[test]
fn clients_and_order_are_required_where_they_matter() {
    let per_client = |settings: &mut ReplaySettings| settings.model = ReplayModel::ClosedPerClient;
    refused("read,a,1,\n", per_client, "it records no clients");
    refused("scan,a,1,\n", |settings| settings.engine = "map".to_owned(), "keeps no order of keys");
}

/// The plan for `engine` with a key of `key_bytes` bytes.
fn planned_on(engine: &str, key_bytes: u32) -> Result<ReplayPlan, ReplayError> {
    planned(&format!("1,a,3,7,5,get,0\n2,b,{key_bytes},7,5,get,0\n"), |settings| {
        settings.engine = engine.to_owned();
        settings.file.form.input_format = Some("twitter".to_owned());
    })
}

#[test]
fn a_key_that_is_too_long_for_memcached_is_refused() {
    assert!(planned_on("memcached", 250).is_ok());
    let refused = planned_on("memcached", 251).unwrap_err();
    assert!(refused.is_wrong_request());
    let wanted = "its longest key has 251 bytes, and memcached takes 250 at most: choose another engine";
    assert!(refused.to_string().ends_with(wanted), "{refused}");
}

#[test]
fn a_key_that_is_too_long_for_lmdb_is_refused() {
    assert!(planned_on("lmdb", 511).is_ok());
    assert!(planned_on("lmdb", 512).unwrap_err().to_string().contains("takes 511 at most"));
}

#[test]
fn an_engine_without_a_limit_takes_any_key() {
    assert!(planned_on("map", 60_000).is_ok());
}

#[test]
fn other_files_than_traces_are_refused() {
    refused("", |_| {}, "it is empty");
    refused("read,a,1,\n", |settings| settings.file.form.input_format = Some("lcs".to_owned()), "lcs");
    let missing = ReplaySettings { engine: "null".to_owned(), ..ReplaySettings::default() };
    assert!(ReplayPlan::new(&missing).unwrap_err().is_wrong_request());
}

#[test]
fn a_delimiter_of_no_columns_is_refused() {
    let separated = |columns: Option<&'static str>| {
        move |settings: &mut ReplaySettings| {
            (settings.file.form.delimiter, settings.file.form.columns) = (Some(','), columns.map(str::to_owned));
        }
    };
    refused("read,a,1,\n", separated(None), "name them with `columns`");
    assert!(planned("read,a,1,\n", separated(Some("op=0,key=1,time_ms=2"))).is_ok());
    let settings = ReplaySettings { engine: "null".to_owned(), ..ReplaySettings::default() };
    let mut separated_alone = settings;
    separated(None)(&mut separated_alone);
    assert!(separated_alone.validate().unwrap_err().to_string().contains("`columns`"));
}

#[test]
fn several_processes_need_one_server() {
    let several = |settings: &mut ReplaySettings| {
        settings.engine = "map".to_owned();
        settings.share = Some(ClientShare { part: 0, of: 2 });
    };
    refused("read,a,1,\n", several, "several processes need one server");
}
