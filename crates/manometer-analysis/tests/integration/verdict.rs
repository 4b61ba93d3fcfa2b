//! Verdicts and headlines of synthetic recordings, each with the fault and narrowly without it.

use std::path::Path;

use manometer_analysis::forecast::{PlannedExperiment, PlannedLength, forecast};
use manometer_analysis::runs_verdict::{RunWithSummary, RunsVerdict, judge_runs};
use manometer_analysis::summarise;
use manometer_analysis::summary::RunSummary;
use manometer_analysis::verdict::{Conclusion, Grade};
use manometer_measure::event::{Event, RunStatus, ThreatStrength};
use manometer_measure::plan::{Phase, PhaseKind, Plan, PlanGoal};
use manometer_measure::{Column, Recording};
use manometer_testing::remove_checksums;
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
    /// The rate to which the primary is held back.
    rate: Option<&'static str>,
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
            rate: None,
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
        plan.goal = self.goal.map(|pressure| PlanGoal { pressure });
        plan.sweep = self.sweep.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        plan
    }

    fn record(&self, dir: &Path) -> RunSummary {
        let plan = self.plan();
        let mut run = Run::seeded(dir, &plan, self.seed, &self.environment);
        if let Some(rate) = self.rate {
            let facts = [("rate".to_owned(), json!(rate)), ("engine".to_owned(), json!("rocksdb"))];
            run.event(Event::Ready { workload: "db".into(), facts: facts.into_iter().collect() });
        }
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

    fn summary(&self) -> RunSummary {
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
    expect(
        &case(|_| busy(0.95)),
        Grade::Void,
        lead,
        &["in 5 phases. On this host, a writer at queue depth 64 costs RocksDB 6"],
    );
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
    let void = "Void: the primary drifted. Nothing can be concluded from this run.";
    let explained = drifted([1_000.0, 900.0, 800.0, 700.0, 580.0]);
    expect(&explained, Grade::Void, void, &[]);
    assert_eq!(explained.summary().claim_phase, None, "nothing is claimed of any phase");
    // Less than 5 %, and more than any neighbour cost.
    expect(&drifted([1_000.0, 990.0, 985.0, 980.0, 960.0]), Grade::Void, "Void: the primary drifted", &[]);
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
    let void = "Void: foreign processes used storage in 5 phases. Nothing can be concluded from this run.";
    expect(&case(0.35, [1; 5]), Grade::Void, void, &[]);
    let mut saturated = case(0.35, [1; 5]);
    saturated.series.push(("cpu", CPU, |_| busy(0.95)));
    expect(&saturated, Grade::Void, void, &[]);
    assert!(!saturated.summary().verdict.is_void_for_storage(), "its numbers do not hold for this host either");
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
    let on_host = void.phases[0].reason.as_deref().unwrap_or_default();
    assert!(on_host.starts_with("this is no storage result: on this host the pressure is 0."), "{void:?}");
    assert!(on_host.ends_with("), within the goal") && void.phases[0].met.is_none(), "{void:?}");
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

/// A run of a sweep over block sizes, whose worst phase reaches `worst`.
fn with_blocks(size: &str, worst: f64, seed: u64) -> Case {
    let levels = [1_000.0, 950.0, 900.0, worst, 1_000.0];
    Case { levels, sweep: Some(("writer.block_size", json!(size))), seed, ..Case::default() }
}

/// The verdict on the runs of a folder.
fn together(cases: &[Case]) -> RunsVerdict {
    together_with(cases, |_, _| ())
}

/// The same; `edit` gets the recordings with their numbers.
fn together_with(cases: &[Case], edit: impl Fn(usize, &mut Recording)) -> RunsVerdict {
    let dirs: Vec<TempDir> = cases.iter().map(|_| tempfile::tempdir().unwrap()).collect();
    let summaries: Vec<RunSummary> = cases.iter().zip(&dirs).map(|(case, dir)| case.record(dir.path())).collect();
    let mut recordings: Vec<_> = dirs.iter().map(|dir| open(dir.path())).collect();
    recordings.iter_mut().enumerate().for_each(|(number, recording)| edit(number, recording));
    let runs: Vec<RunWithSummary<'_>> =
        recordings.iter().zip(&summaries).map(|(recording, summary)| RunWithSummary { recording, summary }).collect();
    judge_runs(&runs, &[])
}

#[test]
fn several_runs_have_a_headline_of_their_own() {
    let run = with_blocks;
    let apart = together(&[run("4KiB", 800.0, 1), run("512KiB", 200.0, 2), run("64KiB", 500.0, 3)]);
    let expected = "512 KiB blocks hurt most: a writer at queue depth 64 costs RocksDB 8";
    assert!(apart.headline.starts_with(expected), "{apart:?}");
    assert!(apart.headline.contains("; 4 KiB blocks the least: pressure 0.2"), "{apart:?}");
    assert_eq!(apart.verdict.grade, Grade::Sound);
    let close = together(&[run("4KiB", 800.0, 1), run("512KiB", 300.0, 2), run("64KiB", 301.0, 3)]);
    let (most, rest) = close.headline.split_once(" blocks hurt most: ").unwrap();
    let other = if most == "512 KiB" { "64 KiB" } else { "512 KiB" };
    assert!(
        rest.contains(&format!("; {other} blocks cannot be distinguished from them; 4 KiB blocks the least: ")),
        "{close:?}"
    );
    let equal = together(&[run("4KiB", 301.0, 1), run("512KiB", 300.0, 2)]);
    assert!(equal.headline.starts_with("No run can be distinguished from the others; with "), "{equal:?}");
    let mut saturated = run("512KiB", 200.0, 2);
    saturated.series = vec![("cpu", CPU, |_| busy(0.95))];
    let one_void = together(&[run("4KiB", 800.0, 1), saturated]);
    assert_eq!(one_void.verdict.grade, Grade::Indicative);
    assert!(
        one_void.headline.contains("but the processors were saturated in 1 of 2 runs (512 KiB blocks)."),
        "{one_void:?}"
    );
    let text = &one_void.verdict.reasons[0].text;
    assert!(text.starts_with("With 512 KiB blocks: The processors were saturated in w0"), "{text}");
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

/// The verdict on runs of these block sizes, the pressure of whose `w3` is set, with its interval; the last run has no interval in
/// `w2` where it is given, and this value.
fn of_pressures(runs: &[(&str, f64, f64, f64)], untested: Option<f64>) -> RunsVerdict {
    let dirs: Vec<TempDir> = runs.iter().map(|_| tempfile::tempdir().unwrap()).collect();
    let mut summaries: Vec<RunSummary> =
        runs.iter().zip(&dirs).map(|(run, dir)| with_blocks(run.0, 500.0, 1).record(dir.path())).collect();
    for (summary, (_, value, low, high)) in summaries.iter_mut().zip(runs) {
        let pressure = &mut summary.phases.iter_mut().find(|phase| phase.id == "w3").unwrap().pressure;
        (pressure.value, pressure.ci_low, pressure.ci_high) = (Some(*value), Some(*low), Some(*high));
    }
    if let Some(value) = untested {
        let last = summaries.last_mut().unwrap();
        let pressure = &mut last.phases.iter_mut().find(|phase| phase.id == "w2").unwrap().pressure;
        (pressure.value, pressure.ci_low, pressure.ci_high) = (Some(value), None, None);
    }
    let recordings: Vec<_> = dirs.iter().map(|dir| open(dir.path())).collect();
    let runs: Vec<RunWithSummary<'_>> =
        recordings.iter().zip(&summaries).map(|(recording, summary)| RunWithSummary { recording, summary }).collect();
    judge_runs(&runs, &[])
}

#[test]
fn runs_that_cannot_be_told_from_the_worst_are_not_said_to_be_alike() {
    let wide = ("512KiB", 0.965, 0.950, 0.980);
    let (high, low) = (("128KiB", 0.9627, 0.9616, 0.9638), ("4KiB", 0.9533, 0.9520, 0.9545));
    let all = of_pressures(&[wide, high, low, ("8KiB", 0.40, 0.39, 0.41)], None).headline;
    assert!(all.starts_with("512 KiB blocks hurt most: "), "{all}");
    assert!(
        all.contains("; 128 KiB blocks and 4 KiB blocks cannot be distinguished from them; 8 KiB blocks the least: "),
        "{all}"
    );
    // The two others are told apart from each other, though neither is from the first.
    let close = of_pressures(&[wide, high, low], None).headline;
    assert!(close.starts_with("With 512 KiB blocks, ") && !close.contains("least"), "{close}");
    assert!(close.contains("; 128 KiB blocks and 4 KiB blocks cannot be distinguished from them."), "{close}");
}

#[test]
fn the_headline_of_many_runs_names_a_few() {
    let sizes = ["1KiB", "2KiB", "4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "128KiB"];
    let alike: Vec<_> = sizes.iter().map(|size| (*size, 0.90, 0.88, 0.92)).collect();
    let all =
        of_pressures(&[&[("512KiB", 0.905, 0.885, 0.925)], &alike[..], &[("256KiB", 0.4, 0.39, 0.41)]].concat(), None);
    let close = "; 1 KiB blocks, 2 KiB blocks, 4 KiB blocks and 5 more cannot be distinguished from them; 256 KiB blocks the least: ";
    assert!(all.headline.contains(close), "{}", all.headline);
    let void = |size: &'static str, seed| Case {
        series: vec![("cpu", CPU, |_| busy(0.95))],
        ..with_blocks(size, 200.0, seed)
    };
    let mut cases = vec![with_blocks("256KiB", 800.0, 1), with_blocks("512KiB", 500.0, 2)];
    cases.extend(sizes.iter().zip(3..).map(|(size, seed)| void(size, seed)));
    let left_out = together(&cases).headline;
    let words = " Left out, because void: 1 KiB blocks, 2 KiB blocks, 4 KiB blocks and 5 more.";
    assert!(left_out.ends_with(words), "{left_out}");
}

#[test]
fn the_least_is_told_from_the_next_and_has_no_untested_phase() {
    let (most, next) = (("512KiB", 0.90, 0.89, 0.91), ("64KiB", 0.955, 0.945, 0.965));
    let close = of_pressures(&[most, ("64KiB", 0.52, 0.50, 0.54), ("4KiB", 0.50, 0.48, 0.52)], None).headline;
    assert!(close.starts_with("512 KiB blocks hurt most: ") && !close.contains("the least"), "{close}");
    let least = ("4KiB", 0.50, 0.49, 0.51);
    let apart = of_pressures(&[most, next, least], None).headline;
    assert!(apart.starts_with("64 KiB blocks hurt most") && apart.contains("; 4 KiB blocks the least: "), "{apart}");
    let open = of_pressures(&[most, next, least], Some(0.6)).headline;
    assert!(open.starts_with("64 KiB blocks hurt most") && !open.contains("the least"), "{open}");
    let above = of_pressures(&[most, next, least], Some(0.99)).headline;
    assert!(above.starts_with("Of what was tested, 64 KiB blocks hurt most"), "{above}");
}

#[test]
fn void_runs_are_left_out_unless_all_are_void() {
    let saturated = |size: &str, worst: f64, seed: u64| Case {
        series: vec![("cpu", CPU, |_| busy(0.95))],
        ..with_blocks(size, worst, seed)
    };
    let one = together(&[with_blocks("4KiB", 800.0, 1), saturated("512KiB", 200.0, 2), with_blocks("64KiB", 500.0, 3)]);
    assert!(one.headline.starts_with("Indicative: 64 KiB blocks hurt most: "), "{one:?}");
    assert!(one.headline.ends_with(" runs (512 KiB blocks). Left out, because void: 512 KiB blocks."), "{one:?}");
    let rest = together(&[with_blocks("4KiB", 800.0, 1), saturated("512KiB", 200.0, 2)]);
    assert!(rest.headline.starts_with("Indicative: with 4 KiB blocks, a writer at queue depth 64 costs"), "{rest:?}");
    let all = together(&[saturated("4KiB", 800.0, 1), saturated("512KiB", 200.0, 2)]);
    assert_eq!(all.verdict.grade, Grade::Void);
    let lead = "Not a storage result: the processors were saturated in every run. 512 KiB blocks hurt most: ";
    assert!(all.headline.starts_with(lead), "{all:?}");
    let mut drifted = with_blocks("64KiB", 700.0, 3);
    drifted.levels[4] = 580.0;
    let mixed = together(&[saturated("4KiB", 800.0, 1), drifted]);
    assert_eq!(mixed.verdict.grade, Grade::Void, "void for different reasons");
    assert!(mixed.headline.starts_with("Void: every run is void. Measured, and not to be relied on: "), "{mixed:?}");
}

#[test]
fn runs_that_help_or_have_other_criteria_do_not_hurt_most() {
    let helped = |size: &str, level: f64, seed: u64| Case {
        levels: [1_000.0, level, level, level, 1_000.0],
        ..with_blocks(size, level, seed)
    };
    let helpful = together(&[helped("4KiB", 1_100.0, 1), helped("512KiB", 1_500.0, 2)]);
    assert!(helpful.headline.starts_with("With 4 KiB blocks, no neighbour harms RocksDB: "), "{helpful:?}");
    let paced = Case { rate: Some("1000/s"), levels: [1_000.0; 5], ..with_blocks("512KiB", 1_000.0, 2) };
    let other = together(&[with_blocks("4KiB", 800.0, 1), paced]);
    let lead = "The runs are judged by different criteria (latency.read.p99 and throughput) and cannot be compared";
    assert!(other.headline.starts_with(lead), "{other:?}");
}

#[test]
fn a_primary_that_is_held_back_is_judged_by_its_latency() {
    let case = |rate, levels| Case { rate, levels, ..Case::default() }.summary();
    let kept = case(Some("1000/s"), [1_000.0; 5]);
    assert_eq!(kept.criterion.metric, "latency.read.p99");
    let finding = kept.findings.iter().find(|finding| finding.id == "paced-throughput").unwrap();
    assert!(finding.text.starts_with("The primary has a rate of 1000/s and kept it in w0: "), "{}", finding.text);
    // It does not reach its rate: how much it reaches is a result.
    assert_eq!(case(Some("2000/s"), [1_000.0; 5]).criterion.metric, "throughput");
    assert_eq!(case(None, [1_000.0; 5]).criterion.metric, "throughput");
}

#[test]
fn a_program_that_paces_itself_without_latencies_is_indicative_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let plan = Case::default().plan();
    let mut run = Run::begin(dir.path(), &plan);
    let facts = [("paced_by".to_owned(), json!("-target 500"))].into_iter().collect();
    run.event(Event::Ready { workload: "db".into(), facts });
    plan.phases.iter().for_each(|phase| run.phase(phase, 500.0, 100, 50.0));
    run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
    // It reports no latencies.
    std::fs::remove_dir_all(dir.path().join("latency")).unwrap();
    remove_checksums(dir.path());
    let summary = summarise(&open(dir.path()));
    assert_eq!((summary.criterion.metric.as_str(), summary.verdict.grade), ("throughput", Grade::Indicative));
    let said = format!("{} {:?}", summary.headline, summary.verdict);
    assert!(summary.headline.contains("but the primary paces itself, so that its throughput is its rate"), "{said}");
    assert!(summary.verdict.reasons[0].text.contains("(`-target 500`)"), "{said}");
}

#[test]
fn a_recording_without_a_pressure_says_what_it_answers() {
    let record = |phases: Vec<Phase>, measured: &[usize], has_primary: bool| {
        let dir = tempfile::tempdir().unwrap();
        let mut plan = plan(phases);
        if !has_primary {
            plan.workloads.remove(0);
        }
        let mut run = Run::begin(dir.path(), &plan);
        measured.iter().for_each(|index| run.phase(&plan.phases[*index], 1_000.0, 100, 50.0 + 10.0 * *index as f64));
        run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
        summarise(&open(dir.path()))
    };
    let w0 = || phase("w0", PhaseKind::Baseline, 60, 1);
    let w1 = || phase("w1", PhaseKind::Pressure, 60, 1);
    let check = |summary: &RunSummary, about: Conclusion, title: &str, beginning: &str, words: &[&str]| {
        let said = format!("{} {:?}", summary.headline, summary.verdict);
        assert_eq!((summary.verdict.about, summary.verdict.title().as_str()), (about, title), "{said}");
        assert!(summary.headline.starts_with(beginning), "{said}");
        words.iter().for_each(|word| assert!(summary.headline.contains(word), "`{word}` is not in: {said}"));
    };
    let alone = "Verdict on the performance alone: sound";
    let only_w0 = record(vec![w0()], &[0], true);
    let words =
        [" ops/s (95 % interval ", ") without neighbours; its plan has no phase with neighbours, and so no pressure."];
    check(&only_w0, Conclusion::Performance, alone, "RocksDB reaches ", &words);
    let no_w0 = record(vec![w1()], &[0], true);
    let words = ["with a writer at queue depth 1, RocksDB reaches ", "(95 % interval ", "Measure w0 in the same run."];
    check(&no_w0, Conclusion::Performance, alone, "The pressure on RocksDB is unknown, because w0", &words);
    let solo = |id: &str, depth| phase(id, PhaseKind::Solo, 60, depth);
    let no_primary = record(vec![solo("s0", 1), solo("s1", 64)], &[0, 1], false);
    let words = [" MiB/s (95 % interval ", "), the most of 2 phases; there is no primary, and so no pressure."];
    check(&no_primary, Conclusion::Performance, alone, "A writer at queue depth 64 reaches 60", &words);
    assert_eq!(no_primary.claim_phase.as_deref(), Some("s1"));
    let nothing = record(vec![w0(), w1()], &[], true);
    let title = "No verdict: nothing was measured";
    check(&nothing, Conclusion::Nothing, title, "Void: ", &["Nothing was measured"]);
    assert_eq!(nothing.verdict.grade, Grade::Void);
    // Part of the plan: no phase with neighbours was reached.
    let cut = record(vec![w0(), w1()], &[0], true);
    let title = "Verdict on the performance alone: indicative";
    check(
        &cut,
        Conclusion::Performance,
        title,
        "Indicative: RocksDB reaches ",
        &["no phase with neighbours was measured"],
    );
}

/// A recording of two neighbours alone, in phases of which each has its seconds and the neighbours' MiB/s.
fn neighbours_alone(phases: &[(u64, f64)]) -> RunSummary {
    let dir = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (1..=phases.len()).map(|index| format!("s{index}")).collect();
    let solo = |(id, (seconds, _)): (&String, &(u64, f64))| phase(id, PhaseKind::Solo, *seconds, 1);
    let mut plan = plan(ids.iter().zip(phases).map(solo).collect());
    plan.workloads.remove(0);
    let mut run = Run::begin(dir.path(), &plan);
    plan.phases.iter().zip(phases).for_each(|(phase, (_, level))| run.phase(phase, 1_000.0, 100, *level));
    run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
    summarise(&open(dir.path()))
}

#[test]
fn a_result_without_an_interval_is_indicative_at_best() {
    let sound = neighbours_alone(&[(60, 50.0), (60, 80.0)]);
    assert_eq!(sound.verdict.grade, Grade::Sound, "{sound:?}");
    // The fastest phase has four samples: it is left out, and the result is indicative.
    let short = neighbours_alone(&[(60, 50.0), (60, 80.0), (4, 900.0)]);
    assert_eq!((short.verdict.grade, short.claim_phase.as_deref()), (Grade::Indicative, Some("s2")));
    let left_out = " 1 of 3 phases have no confidence interval and are left out.";
    assert!(short.headline.ends_with(left_out), "{}", short.headline);
    assert_eq!(short.verdict.reasons[0].id, "phase-too-short");
    let all = neighbours_alone(&[(4, 900.0)]);
    assert_eq!(all.verdict.grade, Grade::Indicative);
    assert!(all.headline.contains("(without a confidence interval)"), "{}", all.headline);
    assert!(all.headline.contains("but phases were too short for a confidence interval in s1"), "{}", all.headline);
    let close = neighbours_alone(&[(60, 50.0), (60, 50.0)]);
    let words = ", the largest mean of 2 phases, with an interval that overlaps that of s";
    assert!(close.headline.contains(words), "{}", close.headline);
}

#[test]
fn no_shown_harm_is_worded_without_a_cost() {
    let case = Case { seconds: 12, levels: [1_000.0, 990.0, 985.0, 980.0, 1_000.0], ..Case::default() };
    let summary = case.summary();
    assert!(summary.claim.starts_with("no harm to RocksDB was shown: with a writer at queue depth "), "{summary:?}");
    assert!(!summary.claim.contains("cost") && summary.claim.ends_with(" that of w0 (95 % interval)"), "{summary:?}");
    // The headline and the table name the same length for the same width.
    let (phase, needed) = summary.longest_needed().unwrap();
    let length = needed.reason.split_once(" run ").unwrap().1;
    let advice = format!(" To tell a loss of 5 % run {length}; {phase} needs most.");
    assert!(length.ends_with(", which is enough in four of five runs"), "{needed:?}");
    assert!(needed.width == Some(0.1) && summary.headline.ends_with(&advice), "{advice} {}", summary.headline);
}

#[test]
fn harm_needs_the_corrected_test_in_headline_scale_and_goal() {
    let mut shown = 0;
    for seed in 1..20 {
        let levels = [1_000.0, 990.0, 985.0, 970.0, 1_000.0];
        let summary = Case { seconds: 24, levels, goal: Some(0.001), seed, ..Case::default() }.summary();
        let w0 = |id: &str| {
            let test = summary.scale_tests.iter().find(|test| test.a == "w0" && test.b == id);
            test.is_some_and(|test| test.differ)
        };
        let goal = summary.goal.as_ref().unwrap();
        let is_missed = |id: &str| goal.phases.iter().any(|phase| phase.id == id && phase.met == Some(false));
        let is_harm = summary.claim.contains("costs");
        assert_eq!(is_harm, ["w1", "w2", "w3"].iter().any(|id| w0(id)), "{summary:?}");
        assert!(["w1", "w2", "w3"].iter().all(|id| !is_missed(id) || w0(id)), "{summary:?}");
        shown += usize::from(is_harm);
    }
    println!("{shown} of 19 runs show harm");
}

#[test]
fn missing_samples_weigh_as_much_as_there_are() {
    // The last phase loses its samples between two seconds.
    let grade = |missing: u64| {
        let dir = tempfile::tempdir().unwrap();
        let plan = Case::default().plan();
        let mut run = Run::begin(dir.path(), &plan);
        let (last, others) = plan.phases[..4].split_last().unwrap();
        others.iter().for_each(|phase| run.phase(phase, 1_000.0, 100, 50.0));
        run.event(Event::PhaseStarted { phase: last.id.clone() });
        run.seconds(20, 300.0, 100, 50.0);
        run.second += missing;
        run.seconds(40 - missing, 300.0, 100, 50.0);
        run.event(Event::PhaseEnded { phase: last.id.clone() });
        run.phase(&plan.phases[4], 1_000.0, 100, 0.0);
        run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
        let summary = summarise(&open(dir.path()));
        let reason = summary.verdict.reasons.iter().find(|reason| reason.id == "samples-missing").cloned();
        (summary.verdict.grade, reason.map(|reason| reason.threat.strength), summary.claim_phase)
    };
    let w3 = Some("w3".to_owned());
    assert_eq!(grade(3), (Grade::Sound, None, w3.clone()));
    assert_eq!(grade(12), (Grade::Sound, Some(ThreatStrength::Minor), w3.clone()));
    assert_eq!(grade(24), (Grade::Indicative, Some(ThreatStrength::Serious), w3));
    let (grade, strength, phase) = grade(35);
    assert_eq!((grade, strength), (Grade::Indicative, Some(ThreatStrength::Fatal)));
    assert_ne!(phase.as_deref(), Some("w3"), "nothing can be concluded from it");
}

#[test]
fn an_earlier_recording_says_how_wide_intervals_will_be() {
    let dir = tempfile::tempdir().unwrap();
    let summary = Case::default().record(dir.path());
    let recording = open(dir.path());
    let of_plan = |plan: &Plan, length: PlannedLength| {
        forecast(&recording, PlannedExperiment { length, plan, file: &recording.experiment })
    };
    let of_phases = |phase_s: f64| of_plan(&recording.plan, PlannedLength::Phases { phase_s });
    let same = of_phases(SECONDS as f64);
    let w3 = summary.phases.iter().find(|phase| phase.id == "w3").unwrap();
    let width = w3.pressure.ci_high.unwrap() - w3.pressure.ci_low.unwrap();
    assert!((same.phases[2].width.unwrap() - width).abs() < 1e-9, "{same:?}");
    let longer = of_phases(4.0 * SECONDS as f64).phases[2].width.unwrap();
    assert!(longer < 0.55 * width && longer > 0.4 * width, "{longer} {width}");
    assert!(same.phases.iter().all(|phase| phase.needed_width == 0.10), "{same:?}");
    let faster = tempfile::tempdir().unwrap();
    let summary = Case { levels: [100.0, 90.0, 60.0, 800.0, 100.0], ..Case::default() }.record(faster.path());
    let eightfold = open(faster.path());
    let (length, plan) = (PlannedLength::Phases { phase_s: 1.0 }, &eightfold.plan);
    let eightfold = forecast(&eightfold, PlannedExperiment { length, plan, file: &eightfold.experiment });
    let pressure = summary.phases.iter().find(|phase| phase.id == "w3").unwrap().pressure.value.unwrap();
    let width = eightfold.phases[2].needed_width;
    assert!((width - 0.10 * (1.0 - pressure)).abs() < 1e-9 && width > 0.7, "a tenth of the larger: {width} {pressure}");
    let shorter = of_phases(1.0);
    assert!(shorter.phases.iter().all(|phase| phase.width.is_none()), "no interval in a second: {shorter:?}");
    assert!(shorter.needed_s.is_some_and(|seconds| seconds > 1.0), "{shorter:?}");
    assert!(same.differences.is_empty() && same.missing.is_empty(), "{same:?}");
    let mut fewer = recording.plan.clone();
    fewer.phases.retain(|phase| phase.id != "w1");
    fewer.phases.iter_mut().find(|phase| phase.id == "w3").unwrap().label = "another".to_owned();
    fewer.interval_s = 0.2;
    fewer.sweep.insert("writer.block_size".to_owned(), json!("4KiB"));
    let some = of_plan(&fewer, PlannedLength::Phases { phase_s: 1.0 });
    let ids: Vec<&str> = some.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!((ids, &some.missing), (vec!["w2"], &vec!["w3".to_owned()]), "only phases of the plan");
    let expected = [
        "`writer.block_size` is 4KiB in the plan and not set in the earlier recording",
        "the sample interval is 0.2 s in the plan and 1 s in the earlier recording",
    ];
    assert_eq!(some.differences, expected);
    let other = of_plan(&recording.plan, PlannedLength::Rounds { rounds: 20, block_s: 1.0 });
    assert!(other.phases.is_empty() && other.needed_s.is_none(), "{other:?}");
    assert!(
        other
            .reason
            .is_some_and(|reason| reason.starts_with("the plan is interleaved and the earlier recording a ladder"))
    );
}

/// A recording of `w0`, a writer, and a step that stops it again.
fn with_a_stopped_step(levels: [f64; 3]) -> RunSummary {
    let (w0, w1) = (phase("w0", PhaseKind::Baseline, SECONDS, 1), phase("w1", PhaseKind::Pressure, SECONDS, 16));
    let stopped = Phase { kind: PhaseKind::Pressure, ..phase("w2", PhaseKind::Baseline, SECONDS, 16) };
    let plan = plan(vec![w0, w1, stopped]);
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::begin(dir.path(), &plan);
    for (phase, level) in plan.phases.iter().zip(levels) {
        let mib = if phase.running.len() > 1 { 50.0 } else { 0.0 };
        run.phase(phase, level, 100, mib);
    }
    run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
    summarise(&open(dir.path()))
}

#[test]
fn a_step_without_neighbours_costs_nothing_and_shows_a_drift() {
    let still = with_a_stopped_step([1_000.0, 700.0, 1_000.0]);
    assert!(still.headline.starts_with("A writer at queue depth 16 costs RocksDB 3"), "{}", still.headline);
    let drifted = with_a_stopped_step([1_000.0, 700.0, 500.0]);
    assert_eq!((drifted.verdict.grade, drifted.verdict.reasons[0].id.as_str()), (Grade::Void, "drift"), "{drifted:?}");
    assert!(!drifted.claim.contains("w2"), "{}", drifted.headline);
}

#[test]
fn a_primary_that_did_nothing_in_w0_has_no_pressure_and_its_reason() {
    let case = Case { levels: [0.0, 900.0, 600.0, 310.0, 0.0], ..Case::default() };
    let summary = case.summary();
    assert!(summary.headline.contains("no pressure is known, because the baseline is 0"), "{}", summary.headline);
}

#[test]
fn runs_that_differ_in_more_than_a_sentence_holds_go_by_their_names() {
    let cases = [with_blocks("4KiB", 800.0, 1), with_blocks("512KiB", 200.0, 2)];
    let swept = together_with(&cases, |number, recording| {
        recording.dir = format!("runs/00{number}").into();
        let settings = ["direct", "dsync", "iodepth", "threads"].map(|name| (format!("writer.{name}"), json!(number)));
        recording.plan.sweep.extend(settings);
    });
    let expected = "The pressure is greatest in run 001: a writer at queue depth 64 costs RocksDB 8";
    assert!(swept.headline.starts_with(expected) && swept.headline.contains("; run 000 the least: "), "{swept:?}");
}

#[test]
fn a_workload_of_the_primary_is_not_said_to_hurt() {
    let run = |workload: &str, worst, seed| Case {
        sweep: Some(("db.workload", json!(workload))),
        ..with_blocks("", worst, seed)
    };
    let swept = together(&[run("ycsb-a", 800.0, 1), run("ycsb-b", 200.0, 2)]);
    assert!(
        swept.headline.starts_with("The pressure is greatest with ycsb-b: a writer at queue depth 64 costs"),
        "{swept:?}"
    );
}

#[test]
fn runs_that_are_void_for_more_than_storage_have_nothing_to_conclude() {
    let drifted = |seed| Case { levels: [1_000.0, 950.0, 900.0, 700.0, 300.0], ..with_blocks("4KiB", 700.0, seed) };
    let all = together(&[drifted(1), drifted(2)]);
    assert_eq!(all.headline, "Void: the primary drifted in every run. Nothing can be concluded from these 2 runs.");
}
