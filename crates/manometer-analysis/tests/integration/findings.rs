//! The findings of synthetic recordings.

use manometer_analysis::summarise;
use manometer_analysis::summary::RunSummary;
use manometer_measure::Column;
use manometer_measure::event::{Event, Finding, RunStatus, ThreatStrength};
use manometer_measure::plan::{Phase, PhaseKind};
use serde_json::{Value, json};

use crate::synthetic::{Run, at, phase, plan};

const GIB: f64 = (1_u64 << 30) as f64;
const SECONDS: u64 = 60;

/// Rows continue this long after the last phase.
const LATE_S: u64 = 5;

/// The row of each second; an empty one is skipped.
type Rows<'a> = Box<dyn Fn(f64) -> Vec<f64> + 'a>;

/// What is special about a recording of `w0`, `w1` and `w0` again, each of a minute.
#[derive(Default)]
struct Case<'a> {
    environment: Value,
    facts: Value,
    /// Source, columns, rows.
    series: Vec<(&'a str, &'a [&'a str], Rows<'a>)>,
    /// Foreign processes in `w1`: id, command, bytes read, bytes written.
    foreign_processes: Vec<(u32, &'a str, u64, u64)>,
    /// Settings that the primary applies before the first phase.
    changed: Vec<(&'a str, Value)>,
    /// Whether the primary's operations are updates.
    updates: bool,
    /// The primary's kind, if not `kv`.
    kind: Option<&'a str>,
    /// The primary's throughput in the last phase, without neighbours again.
    again: Option<f64>,
    /// The length of that phase, if not a minute.
    again_s: Option<u64>,
    /// The neighbour's kind, if not `io`, and what it reported when it was ready.
    neighbour: Option<(&'a str, Value)>,
    /// The seconds at the start of `w1` in which no request of the neighbour ends.
    idle_s: u64,
}

fn summary(case: &Case<'_>) -> RunSummary {
    let again_s = case.again_s.unwrap_or(SECONDS);
    let again = Phase { id: "w2".into(), running: vec!["db".into()], ..phase("w2", PhaseKind::Baseline, again_s, 1) };
    let mut plan =
        plan(vec![phase("w0", PhaseKind::Baseline, SECONDS, 1), phase("w1", PhaseKind::Pressure, SECONDS, 16), again]);
    if let Some(kind) = case.kind {
        plan.workloads[0].kind = kind.to_owned();
    }
    if let Some((kind, _)) = &case.neighbour {
        plan.workloads[1].kind = (*kind).to_owned();
    }
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::seeded(dir.path(), &plan, 1, &case.environment);
    if let Some((_, Value::Object(facts))) = &case.neighbour {
        run.event(Event::Ready { workload: "writer".into(), facts: facts.clone() });
    }
    if let Some(facts) = case.facts.as_object() {
        run.event(Event::Ready { workload: "db".into(), facts: facts.clone() });
    }
    if !case.changed.is_empty() {
        let settings = case.changed.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        run.event(Event::Setting { workload: "db".into(), settings });
    }
    run.updates = case.updates;
    for (phase, level) in plan.phases.iter().zip([1_000.0, 500.0, case.again.unwrap_or(1_000.0)]) {
        let processes = if phase.id == "w1" { case.foreign_processes.as_slice() } else { &[] };
        let event = |(pid, command, read_bytes, written_bytes): &(u32, &str, u64, u64)| Event::ForeignProcess {
            pid: *pid,
            command: (*command).to_owned(),
            read_bytes: *read_bytes,
            written_bytes: *written_bytes,
        };
        let idle_s = if phase.id == "w1" { case.idle_s } else { 0 };
        run.phase_with_idle(phase, level, 100, (50.0, idle_s), processes.iter().map(event).collect());
    }
    for (source, columns, row) in &case.series {
        let columns: Vec<Column> = columns.iter().map(|name| Column::new(*name, "")).collect();
        run.writer.begin_series(source, &columns).unwrap();
        for second in 0..=3 * SECONDS + LATE_S {
            let row: Vec<Option<f64>> = row(second as f64).into_iter().map(Some).collect();
            if !row.is_empty() {
                run.writer.sample(source, at(second), &row).unwrap();
            }
        }
    }
    run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
    summarise(&manometer_measure::Recording::open(dir.path()).unwrap())
}

fn found(case: &Case<'_>) -> Vec<Finding> {
    summary(case).findings
}

#[track_caller]
fn only(case: &Case<'_>) -> Finding {
    let mut found = found(case);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[track_caller]
fn has(finding: &Finding, id: &str, words: &[&str]) {
    assert_eq!(finding.id, id, "{finding:?}");
    words.iter().for_each(|word| assert!(finding.text.contains(word), "`{word}` is not in: {}", finding.text));
}

fn with_series<'a>(source: &'a str, columns: &'a [&'a str], row: impl Fn(f64) -> Vec<f64> + 'a) -> Case<'a> {
    Case { series: vec![(source, columns, Box::new(row))], ..Case::default() }
}

/// Whether a second belongs to `w1`.
fn under_pressure(second: f64) -> bool {
    second > SECONDS as f64 && second <= 2.0 * SECONDS as f64
}

#[test]
fn an_ordinary_recording_has_no_findings() {
    assert_eq!(found(&Case::default()), []);
}

#[test]
fn a_neighbour_that_does_nothing_is_reported_by_how_freely_it_runs() {
    let program = |idle_s, facts: Value| Case { neighbour: Some(("command", facts)), idle_s, ..Case::default() };
    let idle = only(&program(54, json!({})));
    has(&idle, "neighbour-idle", &["`writer` ended in 54 of 60 s of w1", "`prepare`", "`plan.settle`"]);
    assert_eq!(idle.threat.map(|threat| threat.strength), Some(ThreatStrength::Fatal));
    let some = only(&program(8, json!({})));
    assert_eq!(some.threat.map(|threat| threat.strength), Some(ThreatStrength::Serious));
    // Narrowly not: a program that had begun almost at once, one with a rate, and a workload that has requests at all.
    assert_eq!(found(&program(7, json!({}))), []);
    assert_eq!(found(&program(54, json!({ "paced_by": "--rate_iops 1" }))), []);
    assert_eq!(found(&Case { idle_s: 59, ..Case::default() }), []);
    has(&only(&Case { idle_s: 60, ..Case::default() }), "neighbour-idle", &["60 of 60 s of w1"]);
}

#[test]
fn a_replay_without_outcome_is_reported() {
    let without_outcome = Case { kind: Some("replay"), facts: json!({}), ..Case::default() };
    has(&only(&without_outcome), "replay-unverified", &["`db` did not report the outcome of its replay"]);
}

#[test]
fn drift_is_tested_on_a_later_phase_without_neighbours() {
    has(&only(&Case { again: Some(880.0), ..Case::default() }), "drift", &["w2", "-12", "w0", "Settle"]);
    assert_eq!(found(&Case { again: Some(970.0), ..Case::default() }), [], "3 % do not matter");
}

#[test]
fn untested_drift_is_reported_as_such() {
    for (again, words) in [(700.0, "-29.8 %"), (1_000.0, " % against")] {
        let findings = found(&Case { again: Some(again), again_s: Some(6), ..Case::default() });
        assert_eq!(ids(&findings), ["drift-untested", "phase-too-short"], "{again}");
        has(&findings[0], "drift-untested", &["w2", words, "w0", "cannot be tested", "longer"]);
    }
}

const CPU: [&str; 6] = ["user", "system", "iowait", "interrupts", "steal", "idle"];

#[test]
fn saturated_processors_are_reported() {
    let case = with_series("cpu", &CPU, |second| match under_pressure(second) {
        true => vec![2.5, 1.2, 0.0, 0.1, 0.1, 0.1],
        false => vec![1.0, 0.5, 2.0, 0.0, 0.0, 0.5],
    });
    let finding = only(&case);
    has(&finding, "cpu-saturated", &["w1", "98 %", "does not measure storage"]);
    assert_eq!(finding.phase.as_deref(), Some("w1"));
    let waiting = with_series("cpu", &CPU, |_| vec![0.5, 0.5, 2.9, 0.0, 0.0, 0.1]);
    assert_eq!(found(&waiting), [], "waiting for I/O is not being busy");
}

#[test]
fn a_single_saturated_core_is_named() {
    let columns = ["core0.user", "core0.system", "core0.idle", "core1.user", "core1.system", "core1.idle"];
    let cores = |busy: f64| {
        with_series("cpu.cores", &columns, move |second| {
            let busy = if under_pressure(second) { busy } else { 0.3 };
            vec![0.2, 0.1, 0.7, busy - 0.1, 0.1, 1.0 - busy]
        })
    };
    let finding = only(&cores(0.97));
    has(
        &finding,
        "cpu-saturated",
        &["single core", "in w1: core1 had a utilisation of 97 % in w1", "may not measure storage"],
    );
    assert_eq!(finding.phase.as_deref(), Some("w1"));
    assert_eq!(found(&cores(0.85)), []);
    let both = with_series("cpu.cores", &columns, |_| vec![0.9, 0.05, 0.05, 0.9, 0.09, 0.01]);
    has(&only(&both), "cpu-saturated", &["in w0, w1, w2: core1 had a utilisation of 99 %", "and 1 more"]);
    // With all processors saturated, single cores are not named.
    let mut all = with_series("cpu", &CPU, |_| vec![3.9, 0.0, 0.0, 0.0, 0.0, 0.1]);
    all.series.extend(both.series);
    has(&only(&all), "cpu-saturated", &["The processors were saturated"]);
}

#[test]
fn thermal_throttling_is_reported_from_its_time_or_a_warning() {
    let columns = ["throttle_time", "critical_warning", "temperature"];
    let throttled = with_series("health", &columns, |second| vec![7.0 + second / 10.0, 0.0, 84.0]);
    has(&only(&throttled), "thermal-throttling", &["18 s", "84 °C"]);
    let warned = with_series("health", &columns, |_| vec![7.0, 2.0, 90.0]);
    has(&only(&warned), "thermal-throttling", &["warned", "90 °C"]);
    assert_eq!(found(&with_series("health", &columns, |_| vec![7.0, 1.0, 50.0])), [], "another warning is not heat");
}

/// The seconds of the readings that a slow tool was asked for at the boundaries of the three phases.
fn is_reading(second: f64) -> bool {
    [2.0, 63.0, 123.0, 184.0].contains(&second)
}

#[test]
fn a_late_reading_counts_as_the_state_at_the_end() {
    let late = |row: fn(f64) -> Vec<f64>| move |second| if is_reading(second) { row(second) } else { Vec::new() };
    let throttled = with_series("health", &["throttle_time"], late(|second| vec![second.clamp(120.0, 140.0)]));
    has(&only(&throttled), "thermal-throttling", &["20 s"]);
    let warmer = with_series("health", &["temperature"], late(|second| vec![if second > 180.0 { 60.0 } else { 40.0 }]));
    has(&only(&warmer), "state-moved", &["from 40 °C to 60 °C"]);
    let counters = late(|second| vec![second * GIB, (second + (second - 65.0).clamp(0.0, 50.0)) * GIB]);
    let counters = with_series("health", &["host_bytes_written", "nand_bytes_written"], counters);
    let findings = found(&Case { environment: prepared(4e12), ..counters });
    assert_eq!(ids(&findings), ["write-amplification-changes", "single-device"]);
    assert!(findings[0].text.contains("1.00") && findings[0].text.contains("1.83 in w1"), "{findings:?}");
}

#[test]
fn thermal_throttling_is_reported_from_counters_that_grew() {
    let columns = ["heavy_throttles", "warning_time", "temperature_sensor2"];
    let some = with_series("health", &columns, |second| vec![40.0 + (second / 60.0).floor(), 600.0, 91.0]);
    has(&only(&some), "thermal-throttling", &["was throttled 3 times", "91 °C"]);
    let above = with_series("health", &columns, |second| vec![40.0, 600.0 + 60.0 * (second / 60.0).floor(), 70.0]);
    has(&only(&above), "thermal-throttling", &["spent 180 s above its warning temperature"]);
    let before = with_series("health", &columns, |_| vec![40.0, 600.0, 60.0]);
    assert_eq!(found(&before), [], "counts from before the run do not matter");
    let sata = with_series("health", &["over_limit_time"], |second| vec![if second > 90.0 { 60.0 } else { 0.0 }]);
    has(&only(&sata), "thermal-throttling", &["spent 60 s above its specified temperature"]);
}

#[test]
fn throttled_processors_are_named_with_the_phase() {
    let columns = ["core0.user", "core0.throttles", "core1.throttles", "package0.throttles"];
    let hot = with_series("cpu.cores", &columns, |second| match under_pressure(second) {
        true => vec![1.0, 0.05, 0.2, 0.1],
        false => vec![1.0, 0.0, 0.0, 0.0],
    });
    let finding = only(&hot);
    has(&finding, "processors-throttled", &["w1", "core1", "12 times"]);
    assert_eq!(finding.phase.as_deref(), Some("w1"));
    assert_eq!(found(&with_series("cpu.cores", &columns, |_| vec![1.0, 0.0, 0.0, 0.0])), []);
}

#[test]
fn growing_swap_is_reported_and_constant_swap_is_not() {
    let grown = with_series("memory", &["swap_used"], |second| vec![GIB + second * GIB / 180.0]);
    has(&only(&grown), "swap-used", &["GiB"]);
    assert_eq!(found(&with_series("memory", &["swap_used"], |_| vec![GIB])), []);
}

#[test]
fn swapped_pages_are_reported_at_constant_swap() {
    let columns = ["pswpin", "pswpout"];
    let moving = |rate: f64| {
        with_series("vmstat", &columns, move |second| match under_pressure(second) {
            true => vec![rate, 2.0 * rate],
            false => vec![0.0, 0.0],
        })
    };
    let mut case = moving(100.0);
    case.series.extend(with_series("memory", &["swap_used"], |_| vec![GIB]).series);
    let finding = only(&case);
    has(&finding, "swap-used", &["12000 pages were swapped out and 6000 in during w1"]);
    assert_eq!(finding.phase.as_deref(), Some("w1"));
    assert_eq!(found(&moving(10.0)), [], "1800 pages are the host's housekeeping");
    let mut unseen = moving(0.0);
    unseen.series.extend(with_series("memory", &["swap_used"], |second| vec![second * GIB]).series);
    has(&only(&unseen), "swap-used", &["GiB of pages were swapped out"]);
}

#[test]
fn foreign_processes_are_named_where_they_matter() {
    let device = |rate: f64| with_series("device", &["read_bytes", "write_bytes"], move |_| vec![rate, rate]);
    let foreign_processes = vec![(7, "journald", 0, 2 << 20), (9, "backup", 3 << 30, 0)];
    let case = Case { foreign_processes: foreign_processes.clone(), ..device(GIB / 10.0) };
    let finding = only(&case);
    has(&finding, "foreign-processes", &["`backup` (process 9) read 3 GiB and wrote 0 B; `journald`", "w1"]);
    assert_eq!(finding.phase.as_deref(), Some("w1"));
    assert_eq!(
        found(&Case { foreign_processes: foreign_processes.clone(), ..device(10.0 * GIB) }),
        [],
        "0.3 % of what the device did"
    );
    has(&only(&Case { foreign_processes, ..Case::default() }), "foreign-processes", &["backup"]);
}

#[test]
fn discards_are_reported() {
    let case = with_series("device", &["discard_bytes"], |second| vec![if under_pressure(second) { GIB } else { 0.0 }]);
    has(&only(&case), "discard-during-run", &["60 GiB", "w1", "fstrim"]);
}

#[test]
fn clock_steps_and_dropped_samples_are_reported() {
    let columns = ["samples_late", "samples_dropped", "clock_step"];
    let jumped = with_series("conductor", &columns, |second| vec![0.0, 0.0, if second > 70.0 { -3600.0 } else { 0.0 }]);
    has(&only(&jumped), "clock-stepped", &["once", "-3600.0 s"]);
    let slewed = with_series("conductor", &columns, |second| vec![0.0, 0.0, second * 0.0005]);
    assert_eq!(found(&slewed), [], "a disciplined clock does not jump");
    let missed = |count| {
        only(&with_series("conductor", &columns, |second| vec![1.0, if second == 80.0 { count } else { 0.0 }, 0.0]))
    };
    let few = missed(3.0);
    has(&few, "samples-dropped", &["3 samples"]);
    assert!(!few.text.contains("did not run"), "{}", few.text);
    has(&missed(12.0), "samples-dropped", &["12 samples", "For about 12.0 s the command itself did not run"]);
}

const LEVELS: [&str; 3] = ["level0_bytes", "level1_bytes", "level6_bytes"];

#[test]
fn unsettled_levels_are_reported() {
    let moving = with_series("db.engine", &LEVELS, |second| {
        let moved = (second.min(60.0) - 10.0).max(0.0) * 0.02 * GIB;
        vec![GIB - moved, GIB, GIB + moved]
    });
    let findings = found(&moving);
    assert_eq!(ids(&findings), ["state-moved", "levels-moving"]);
    has(&findings[1], "levels-moving", &["w0", "% of all levels"]);
    let saw = |second: f64| vec![GIB * (second % 7.0) / 20.0, GIB, 3.0 * GIB];
    assert_eq!(found(&with_series("db.engine", &LEVELS, saw)), [], "compaction's saw-tooth is not a trend");
}

#[test]
fn a_change_since_the_preparation_is_reported() {
    let prepared_with = |gib: f64| {
        let environment = json!({"device_state": {"copies": {"after": {"utilisation_bytes": gib * GIB}}}});
        Case { environment, ..with_series("health", &["utilisation"], |_| vec![100.0 * GIB]) }
    };
    assert_eq!(found(&prepared_with(99.5)), []);
    has(&only(&prepared_with(80.0)), "state-since-preparation", &["+25.0 %"]);
}

#[test]
fn a_changed_state_is_reported_with_what_changed() {
    // Constant within each phase and different between phases: no phase drifts, but the run does.
    let step = |second: f64| (second / 61.0).floor();
    let levels = with_series("db.engine", &LEVELS, move |second| vec![GIB, GIB, (3.0 + 0.2 * step(second)) * GIB]);
    has(&only(&levels), "state-moved", &["level 6 from 3 GiB to 3.4 GiB, +8 % of", "snapshot"]);
    let device = with_series("health", &["utilisation", "temperature"], |second| {
        vec![(100.0 + second / 10.0) * GIB, 40.0 + second / 10.0]
    });
    has(&only(&device), "state-moved", &["+18.0 %", "from 40 °C to 58 °C"]);
    let memory = with_series("memory", &["dirty"], |second| vec![second / 60.0 * GIB]);
    let host = json!({"host": {"memory_bytes": 64.0 * GIB}});
    has(&only(&Case { environment: host.clone(), ..memory }), "state-moved", &["+4.5 % of memory"]);
    let still = with_series("memory", &["dirty"], |second| vec![second * 1e6]);
    assert_eq!(found(&Case { environment: host, ..still }), []);
}

#[test]
fn a_small_tree_and_space_amplification_are_reported() {
    let tree = |gib: f64, facts: Value| {
        let case = with_series("db.engine", &LEVELS, move |_| vec![0.0, 0.0, gib * GIB]);
        Case { facts, ..case }
    };
    has(&only(&tree(0.1, json!({"engine": "rocksdb"}))), "smaller-than-a-level", &["102 MiB", "256 MiB"]);
    let larger = json!({"engine": "rocksdb", "options": {"max_bytes_for_level_base": "4294967296"}});
    has(&only(&tree(2.0, larger)), "smaller-than-a-level", &["4 GiB"]);
    let loaded = json!({"engine": "rocksdb", "loaded": 1_048_576, "value_bytes": 1024});
    has(&only(&tree(2.0, loaded.clone())), "space-amplification", &["2.0 times the 1 GiB of its records"]);
    assert_eq!(found(&tree(1.1, loaded)), []);
    let with_keys = json!({"loaded": 1_048_576, "value_bytes": 1024, "record_bytes": 2048.0});
    assert_eq!(found(&tree(2.0, with_keys)), []);
}

#[test]
fn space_amplification_is_reported_for_every_engine_with_a_size() {
    let facts = |more: Value| {
        let mut facts = json!({"loaded": 1_048_576, "record_bytes": 1024.0});
        facts.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        facts
    };
    let pages = 2.0 * GIB / 4096.0;
    for (columns, row, facts) in [
        (vec!["tables_bytes", "memtable_bytes"], vec![2.0 * GIB, GIB], facts(json!({}))),
        (vec!["file_bytes", "entries"], vec![2.0 * GIB, 1e6], facts(json!({}))),
        (vec!["file_pages", "leaf_pages"], vec![pages, pages], facts(json!({"page_bytes": 4096}))),
        (
            vec!["page_count", "freelist_count", "wal_bytes"],
            vec![pages - 262_144.0, 10.0, GIB],
            facts(json!({"options": {"page_size": "4KiB"}})),
        ),
        (vec!["level6_bytes", "blob_bytes", "block_cache_bytes"], vec![GIB, GIB, GIB], facts(json!({}))),
    ] {
        let case = with_series("db.engine", &columns, |_| row.clone());
        has(&only(&Case { facts, ..case }), "space-amplification", &["takes 2 GiB, 2.0 times the 1 GiB"]);
    }
    let in_memory = with_series("db.engine", &["used_memory"], |_| vec![9.0 * GIB]);
    assert_eq!(found(&Case { facts: facts(json!({})), ..in_memory }), []);
    let unknown = with_series("db.engine", &["file_pages"], |_| vec![pages]);
    assert_eq!(found(&Case { facts: facts(json!({})), ..unknown }), [], "the size of its pages is unknown");
}

#[test]
fn records_created_since_the_load_count_for_space_amplification() {
    // The primary updates 500 to 1,000 records of 1 MiB a second.
    let growing = |facts: Value| {
        let case = with_series("db.engine", &["tables_bytes"], |second| vec![(1.0 + second * 0.4) * GIB]);
        Case { facts, updates: true, ..case }
    };
    let fills = json!({"loaded": 1024, "record_bytes": 1_048_576.0, "unstable": "it fills"});
    let ids_of =
        |facts: &Value| ids(&found(&growing(facts.clone()))).into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(ids_of(&fills), ["primary-not-stable"]);
    let stays = json!({"loaded": 1024, "record_bytes": 1_048_576.0});
    assert_eq!(ids_of(&stays), ["space-amplification"]);
    let small_records = json!({"loaded": 1024, "record_bytes": 1024.0, "unstable": "it fills"});
    let findings = found(&growing(small_records));
    has(findings.last().unwrap(), "space-amplification", &["at least", "that its records can have at most"]);
    let longer = Case { changed: vec![("value_size", json!(4096))], ..growing(stays) };
    assert_eq!(found(&longer), [], "the length of its values is unknown");
}

fn ids(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.id.as_str()).collect()
}

fn on_flash(state: Value) -> Value {
    json!({
        "host": {},
        "device": {"name": "nvme0n1", "model": "Fast 1", "rotational": false, "virtual": false, "size_bytes": 1e12},
        "device_state": state,
    })
}

#[test]
fn an_unknown_state_of_a_flash_device_is_reported() {
    let unknown = Case { environment: on_flash(Value::Null), ..Case::default() };
    let expected =
        ["device-state-unknown", "write-amplification-unknown", "over-provisioning-unrecorded", "single-device"];
    let findings = found(&unknown);
    assert_eq!(ids(&findings), expected);
    assert!(findings[3].text.contains("Fast 1"), "{findings:?}");
    let rotating = json!({"device": {"name": "sda", "rotational": true, "virtual": false}});
    assert_eq!(ids(&found(&Case { environment: rotating, ..Case::default() })), ["single-device"]);
    let virtual_disk = json!({"device": {"name": "vda", "rotational": true, "virtual": true}});
    let findings = found(&Case { environment: virtual_disk, ..Case::default() });
    assert_eq!(ids(&findings), ["virtual-disk", "single-device"]);
}

fn prepared(written: f64) -> Value {
    on_flash(json!({
        "written_since_precondition_bytes": written,
        "precondition": {"kind": "random", "bytes": 1e12, "at_unix_s": 1},
        "over_provisioning": {"share": 0.3, "how": "a partition of 70 %"},
    }))
}

#[test]
fn a_device_written_less_than_three_times_is_reported() {
    let case = Case { environment: prepared(1e12), ..Case::default() };
    let findings = found(&case);
    assert_eq!(ids(&findings), ["too-short-for-device", "write-amplification-unknown", "single-device"]);
    assert!(findings[0].text.contains("1.0 times its 931 GiB"), "{}", findings[0].text);
    let enough = found(&Case { environment: prepared(3.1e12), ..Case::default() });
    assert_eq!(ids(&enough), ["write-amplification-unknown", "single-device"]);
    // What the run writes itself counts: 180 s of 11 GiB/s are more than the missing 2 TB.
    let writing = with_series("device", &["write_bytes"], |_| vec![11.0 * GIB]);
    let during = found(&Case { environment: prepared(1e12), ..writing });
    assert_eq!(ids(&during), ["write-amplification-unknown", "single-device"]);
}

#[test]
fn changing_write_amplification_is_reported_with_both_values() {
    let columns = ["host_bytes_written", "nand_bytes_written"];
    let nand = |second: f64, amplification: f64| {
        second.min(60.0) + (second - 60.0).clamp(0.0, 60.0) * amplification + (second - 120.0).max(0.0)
    };
    for (amplification, expected) in
        [(2.0, vec!["write-amplification-changes", "single-device"]), (1.02, vec!["single-device"])]
    {
        let counters = with_series("health", &columns, |second| vec![second * GIB, nand(second, amplification) * GIB]);
        let findings = found(&Case { environment: prepared(4e12), ..counters });
        assert_eq!(ids(&findings), expected, "{amplification}");
        if amplification == 2.0 {
            assert!(findings[0].text.contains("1.00") && findings[0].text.contains("2.00 in w1"), "{findings:?}");
        }
    }
}

#[test]
fn a_few_counter_steps_give_no_write_amplification() {
    let columns = ["host_bytes_written", "nand_bytes_written", "host_step", "nand_step"];
    let case = |rate: f64, step: f64| {
        // The flash's counter moves by whole steps, so that a phase seems to write more or less than it did.
        let counted = move |bytes: f64| (bytes / step).floor() * step;
        let row = move |second: f64| vec![second * rate, counted(second * rate * 1.5), 512.0, step];
        Case { environment: prepared(4e12), ..with_series("health", &columns, row) }
    };
    let findings = found(&case(GIB / 30.0, GIB));
    assert_eq!(ids(&findings), ["write-amplification-unknown", "single-device"]);
    assert!(findings[0].text.contains("too little was written in each phase"), "{}", findings[0].text);
    assert!(findings[0].text.contains("20 GiB"), "{}", findings[0].text);
    assert_eq!(ids(&found(&case(GIB, GIB))), ["single-device"], "90 steps a phase");
    let fine = found(&case(GIB / 1024.0, 1.0));
    assert_eq!(ids(&fine), ["write-amplification-unknown", "single-device"], "60 MiB a phase");
    assert!(fine[0].text.contains("256 MiB"), "{}", fine[0].text);
    assert_eq!(ids(&found(&case(0.0, GIB))), ["single-device"], "nothing was written");
}

#[test]
fn missing_series_make_no_finding() {
    let nothing = with_series("cpu", &["user"], |_| vec![4.0]);
    assert_eq!(found(&nothing), [], "columns are missing");
    let odd = json!({"device": {"name": 7, "rotational": "no", "size_bytes": "big"}, "device_state": [1]});
    let odd = Case { environment: odd, ..Case::default() };
    assert!(found(&odd).iter().all(|finding| !finding.text.is_empty()));
    assert_eq!(found(&with_series("conductor", &["samples_dropped"], |_| vec![f64::NAN])), []);
}
