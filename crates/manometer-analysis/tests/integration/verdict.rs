//! Verdicts and headlines of synthetic recordings, each with the fault and narrowly without it.

use std::path::Path;

use manometer_analysis::summarise;
use manometer_analysis::summary::Summary;
use manometer_analysis::verdict::{Grade, JudgedRun, forecast, judge_runs};
use manometer_measure::Column;
use manometer_measure::event::{Event, RunStatus};
use manometer_measure::plan::{Goal, Phase, PhaseKind, Plan};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::synthetic::{Run, at, open, phase, plan};

const SECONDS: u64 = 60;
const GIB: f64 = (1_u64 << 30) as f64;

/// The row of each second of a series.
type Row = fn(f64) -> Vec<f64>;

/// A recording of `w0`, three phases with neighbours, and `w0` again.
struct Case {
    /// The primary's throughput in each phase.
    levels: [f64; 5],
    /// The length of each phase in seconds.
    seconds: u64,
    goal: Option<f64>,
    environment: Value,
    sweep: Option<(&'static str, Value)>,
    series: Vec<(&'static str, &'static [&'static str], Row)>,
    /// The bytes that a foreign process reads in each phase.
    foreign_bytes: [u64; 5],
    seed: u64,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            levels: [1_000.0, 900.0, 600.0, 310.0, 1_000.0],
            seconds: SECONDS,
            goal: None,
            environment: json!({"host": {}}),
            sweep: None,
            series: Vec::new(),
            foreign_bytes: [0; 5],
            seed: 1,
        }
    }
}

impl Case {
    fn plan(&self) -> Plan {
        let closing = Phase { id: "closing".into(), ..phase("w4", PhaseKind::Baseline, self.seconds, 1) };
        let mut plan = plan(vec![
            phase("w0", PhaseKind::Baseline, self.seconds, 1),
            phase("w1", PhaseKind::Pressure, self.seconds, 1),
            phase("w2", PhaseKind::Pressure, self.seconds, 16),
            phase("w3", PhaseKind::Pressure, self.seconds, 64),
            closing,
        ]);
        plan.goal = self.goal.map(|pressure| Goal { pressure });
        plan.sweep = self.sweep.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        plan
    }

    fn record(&self, dir: &Path) -> Summary {
        let plan = self.plan();
        let mut run = Run::seeded(dir, &plan, self.seed, &self.environment);
        for ((phase, level), bytes) in plan.phases.iter().zip(self.levels).zip(self.foreign_bytes) {
            let process =
                Event::ForeignProcess { pid: 7, command: "backup".into(), read_bytes: bytes, written_bytes: 0 };
            let last = if bytes > 0 { vec![process] } else { Vec::new() };
            run.phase_with(phase, level, 100, 50.0, last);
        }
        for (source, columns, row) in &self.series {
            let columns: Vec<Column> = columns.iter().map(|name| Column::new(*name, "")).collect();
            run.writer.begin_series(source, &columns).unwrap();
            for second in 0..=5 * self.seconds {
                let row: Vec<Option<f64>> = row(second as f64).into_iter().map(Some).collect();
                run.writer.sample(source, at(second), &row).unwrap();
            }
        }
        run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
        summarise(&open(dir))
    }

    fn summary(&self) -> Summary {
        self.record(tempfile::tempdir().unwrap().path())
    }
}

#[track_caller]
fn expect(case: &Case, grade: Grade, beginning: &str, words: &[&str]) {
    let summary = case.summary();
    let said = format!("{} {:?}", summary.headline, summary.verdict);
    assert_eq!(summary.verdict.grade, grade, "{said}");
    assert!(summary.headline.starts_with(beginning), "{said}");
    words.iter().for_each(|word| assert!(summary.headline.contains(word), "`{word}` is not in: {said}"));
}

const CPU: &[&str] = &["user", "system", "iowait", "interrupts", "steal", "idle"];

fn busy(share: f64) -> Vec<f64> {
    vec![share, 0.0, 0.0, 0.0, 0.0, 1.0 - share]
}

#[test]
fn a_recording_without_faults_is_sound() {
    let costs = "A writer at queue depth 64 costs RocksDB 6";
    expect(&Case::default(), Grade::Sound, costs, &["% of its throughput (95 % interval "]);
    let summary = Case::default().summary();
    assert!(summary.verdict.reasons.is_empty() && summary.verdict.decisive().is_none());
    assert_eq!(summary.verdict.sentence(), "Verdict: sound.");
}

#[test]
fn saturated_processors_leave_no_result_about_storage() {
    let case = |row: Row| Case { series: vec![("cpu", CPU, row)], ..Case::default() };
    let lead = "Not a storage result: the processors were saturated";
    expect(&case(|_| busy(0.95)), Grade::Void, lead, &["in 5 phases. A writer at queue depth 64 costs RocksDB 6"]);
    expect(&case(|_| busy(0.89)), Grade::Sound, "A writer at queue depth 64", &[]);
    let in_w0 = |second: f64| busy(if second <= 60.0 { 0.95 } else { 0.5 });
    expect(&case(in_w0), Grade::Void, lead, &["in w0"]);
    // The other phases can still be compared with `w0`.
    let in_w3 = |second: f64| busy(if second > 180.0 && second <= 240.0 { 0.95 } else { 0.5 });
    let words =
        ["queue depth 16 costs RocksDB", "but the processors were saturated in w3. Nothing can be concluded from w3."];
    expect(&case(in_w3), Grade::Indicative, "Indicative: a writer at queue depth 16", &words);
    let in_all_pressures = |second: f64| busy(if second > 60.0 && second <= 240.0 { 0.95 } else { 0.5 });
    expect(&case(in_all_pressures), Grade::Void, lead, &["in w1, w2, w3"]);
}

#[test]
fn a_drift_as_large_as_the_effect_makes_the_result_void() {
    let drifted = |levels: [f64; 5]| Case { levels, ..Case::default() };
    let void = "Void: the primary drifted. Measured, and not to be relied on: a writer at queue depth 64 costs RocksDB";
    expect(&drifted([1_000.0, 900.0, 800.0, 700.0, 580.0]), Grade::Void, void, &[]);
    let lead = "Indicative: a writer at queue depth 64 costs RocksDB";
    expect(&drifted([1_000.0, 900.0, 600.0, 310.0, 580.0]), Grade::Indicative, lead, &["but the primary drifted."]);
    expect(&drifted([1_000.0, 900.0, 600.0, 310.0, 970.0]), Grade::Sound, "A writer at queue depth 64", &[]);
}

#[test]
fn foreign_processes_weigh_as_much_as_their_traffic() {
    // The device does 1 GiB/s in all.
    let device: (&str, &[&str], Row) = ("device", &["read_bytes", "write_bytes"], |_| vec![GIB, 0.0]);
    let case = |share: f64, phases: [u64; 5]| {
        let bytes = (share * GIB) as u64 * SECONDS;
        Case { series: vec![device], foreign_bytes: phases.map(|there| there * bytes), ..Case::default() }
    };
    expect(&case(0.35, [1; 5]), Grade::Void, "Void: foreign processes used storage in 5 phases. Measured", &[]);
    expect(&case(0.30, [1; 5]), Grade::Indicative, "Indicative: a writer", &["but foreign processes used storage"]);
    expect(&case(0.09, [1; 5]), Grade::Sound, "A writer at queue depth 64", &[]);
    let words = ["but foreign processes used storage in w3.", "Nothing can be concluded from w3."];
    expect(&case(0.35, [0, 0, 0, 1, 0]), Grade::Indicative, "Indicative: a writer at queue depth 16", &words);
    let summary = case(0.35, [0, 0, 0, 1, 0]).summary();
    assert!(summary.verdict.reasons[0].text.contains("they did 35 % of the device's I/O"), "{:?}", summary.verdict);
}

#[test]
fn a_state_that_moved_is_indicative_and_reasons_are_ranked() {
    let columns: &[&str] = &["utilisation", "temperature"];
    let health = |row: Row| ("health", columns, row);
    let moved = Case { series: vec![health(|second| vec![(100.0 + second / 10.0) * GIB, 40.0])], ..Case::default() };
    expect(&moved, Grade::Indicative, "Indicative:", &["but the state of engine, host or device changed."]);
    let still = Case { series: vec![health(|second| vec![(100.0 + second / 400.0) * GIB, 40.0])], ..Case::default() };
    expect(&still, Grade::Sound, "A writer", &[]);
    let virtual_disk = json!({"host": {}, "device": {"name": "vda", "virtual": true}});
    let both = Case { environment: virtual_disk, ..moved };
    let summary = both.summary();
    let ids: Vec<&str> = summary.verdict.reasons.iter().map(|reason| reason.id.as_str()).collect();
    assert_eq!(ids, ["state-moved", "virtual-disk"], "what threatens nothing is no reason");
    let ids: Vec<&str> = summary.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["state-moved", "virtual-disk", "single-device"]);
}

#[test]
fn a_goal_needs_the_whole_interval_of_every_phase() {
    let goal = |pressure: f64, seconds: u64| {
        let case =
            Case { goal: Some(pressure), seconds, levels: [1_000.0, 970.0, 950.0, 900.0, 1_000.0], ..Case::default() };
        case.summary().goal.unwrap()
    };
    let met = |pressure| goal(pressure, SECONDS).met;
    assert_eq!((met(0.15), met(0.05)), (Some(true), Some(false)));
    let close = goal(0.10, SECONDS);
    assert_eq!(close.met, None, "{close:?}");
    let w3 = &close.phases[2];
    assert!(w3.met.is_none() && w3.needed_s.is_some_and(|seconds| seconds > SECONDS as f64), "{w3:?}");
    assert!(close.reason.as_ref().is_some_and(|reason| reason.starts_with("w3: the interval")), "{close:?}");
    let short = goal(0.15, 6);
    assert!(short.met.is_none() && short.phases.iter().any(|phase| phase.needed_s.is_some()), "{short:?}");
    assert!(Case::default().summary().goal.is_none());
    let saturated = Case { goal: Some(0.9), series: vec![("cpu", CPU, |_| busy(0.95))], ..Case::default() };
    let void = saturated.summary().goal.unwrap();
    assert!(void.met.is_none() && void.reason.as_ref().is_some_and(|reason| reason.contains("void")), "{void:?}");
}

#[test]
fn pressures_of_throughput_and_latency_stand_side_by_side() {
    let summary = Case::default().summary();
    let w3 = summary.phases.iter().find(|phase| phase.id == "w3").unwrap();
    let metrics: Vec<&str> = w3.pressures.keys().map(String::as_str).collect();
    assert_eq!(metrics, ["latency.read.p99", "throughput"]);
    assert_eq!(w3.pressures["throughput"], w3.pressure);
    assert!(w3.pressures["latency.read.p99"].value.is_some_and(|value| value.abs() < 0.05), "it stays at 100 µs");
}

#[test]
fn several_runs_have_a_headline_of_their_own() {
    let run = |size: &str, worst: f64, seed: u64| {
        let levels = [1_000.0, 950.0, 900.0, worst, 1_000.0];
        Case { levels, sweep: Some(("writer.block_size", json!(size))), seed, ..Case::default() }
    };
    let together = |cases: &[Case]| {
        let dirs: Vec<TempDir> = cases.iter().map(|_| tempfile::tempdir().unwrap()).collect();
        let summaries: Vec<Summary> = cases.iter().zip(&dirs).map(|(case, dir)| case.record(dir.path())).collect();
        let recordings: Vec<_> = dirs.iter().map(|dir| open(dir.path())).collect();
        let runs: Vec<JudgedRun<'_>> =
            recordings.iter().zip(&summaries).map(|(recording, summary)| JudgedRun { recording, summary }).collect();
        judge_runs(&runs, &[])
    };
    let apart = together(&[run("4KiB", 800.0, 1), run("512KiB", 200.0, 2), run("64KiB", 500.0, 3)]);
    let expected = "512 KiB blocks hurt most: a writer at queue depth 64 costs RocksDB 8";
    assert!(apart.headline.starts_with(expected), "{apart:?}");
    assert!(apart.headline.contains("; 4 KiB blocks the least: pressure 0.2"), "{apart:?}");
    assert_eq!(apart.verdict.grade, Grade::Sound);
    let close = together(&[run("4KiB", 800.0, 1), run("512KiB", 300.0, 2), run("64KiB", 301.0, 3)]);
    let expected = "hurt most and cannot be told apart: with ";
    assert!(close.headline.contains(expected) && close.headline.contains("512 KiB blocks and"), "{close:?}");
    let equal = together(&[run("4KiB", 301.0, 1), run("512KiB", 300.0, 2)]);
    assert!(equal.headline.starts_with("No run can be told apart from the others; with "), "{equal:?}");
    let mut saturated = run("512KiB", 200.0, 2);
    saturated.series = vec![("cpu", CPU, |_| busy(0.95))];
    let one_void = together(&[run("4KiB", 800.0, 1), saturated]);
    assert_eq!(one_void.verdict.grade, Grade::Indicative);
    assert!(one_void.headline.contains("but the processors were saturated in 1 of 2 runs."), "{one_void:?}");
    let on = |kernel: &str, worst: f64, seed: u64| {
        let environment = json!({"host": {"kernel": kernel}, "device": {"model": "970 EVO Plus"}});
        Case { levels: [1_000.0, 950.0, 900.0, worst, 1_000.0], environment, seed, ..Case::default() }
    };
    let kernels = together(&[on("5.4", 200.0, 1), on("5.8", 800.0, 2)]);
    assert!(
        kernels.headline.starts_with("Kernel 5.4 hurts most: ") && !kernels.headline.contains("970"),
        "{kernels:?}"
    );
}

#[test]
fn an_earlier_recording_says_how_wide_intervals_will_be() {
    let dir = tempfile::tempdir().unwrap();
    let summary = Case::default().record(dir.path());
    let recording = open(dir.path());
    let same = forecast(&recording, SECONDS as f64);
    let w3 = summary.phases.iter().find(|phase| phase.id == "w3").unwrap();
    let width = w3.pressure.ci_high.unwrap() - w3.pressure.ci_low.unwrap();
    assert!((same.phases[2].width.unwrap() - width).abs() < 1e-9, "{same:?}");
    let longer = forecast(&recording, 4.0 * SECONDS as f64);
    assert!((longer.phases[2].width.unwrap() - width / 2.0).abs() < 1e-9, "{longer:?}");
    let shorter = forecast(&recording, 1.0);
    assert!(shorter.phases.iter().all(|phase| phase.width.is_none()), "no interval in a second: {shorter:?}");
    assert!(shorter.needed_s.is_some_and(|seconds| seconds > 1.0), "{shorter:?}");
}
