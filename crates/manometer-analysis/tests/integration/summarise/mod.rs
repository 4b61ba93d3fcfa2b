//! The summary of recordings with known results.

mod pace;

use manometer_analysis::summarise;
use manometer_analysis::summary::{RunSummary, ScaleState};
use manometer_analysis::verdict::Grade;
use manometer_measure::event::{Event, Finding, RunStatus, Severity};
use manometer_measure::plan::{BetterDirection, Criterion, Phase, PhaseKind, Plan, Role};
use tempfile::TempDir;

use crate::synthetic::{Run, at, find, open, phase, plan};

fn near(value: Option<f64>, expected: f64, tolerance: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() <= tolerance)
}

fn findings<'a>(summary: &'a RunSummary, id: &str) -> Vec<&'a Finding> {
    summary.findings.iter().filter(|finding| finding.id == id).collect()
}

fn ladder(seconds: u64) -> Vec<Phase> {
    vec![
        phase("s1", PhaseKind::Solo, seconds, 16),
        phase("warmup", PhaseKind::Warmup, 5, 1),
        phase("w0", PhaseKind::Baseline, seconds, 1),
        phase("w1", PhaseKind::Pressure, seconds, 1),
        phase("w2", PhaseKind::Pressure, seconds, 16),
        phase("w3", PhaseKind::Pressure, seconds, 64),
    ]
}

/// Reads per second, microseconds and MiB/s of each phase of the ladder.
const LEVELS: [(f64, u64, f64); 6] = [
    (0.0, 1, 400.0),
    (500.0, 100, 0.0),
    (1_000.0, 100, 0.0),
    (999.0, 101, 50.0),
    (500.0, 200, 200.0),
    (310.0, 400, 300.0),
];

fn run(plan: &Plan, levels: &[(f64, u64, f64)], status: RunStatus) -> (TempDir, RunSummary) {
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::begin(dir.path(), plan);
    for (phase, (reads, latency_us, mib)) in plan.phases.iter().zip(levels) {
        run.phase(phase, *reads, *latency_us, *mib);
    }
    run.writer.finish(at(run.second), status).unwrap();
    let summary = summarise(&open(dir.path()));
    (dir, summary)
}

#[test]
fn a_complete_run_has_pressures_and_a_scale() {
    let (_dir, summary) = run(&plan(ladder(60)), &LEVELS, RunStatus::Complete);
    assert_eq!(summary.status, "complete");
    let ids: Vec<&str> = summary.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, ["s1", "w0", "w1", "w2", "w3"], "the warm-up is left out");
    let worst = find(&summary, "w3");
    assert_eq!((worst.performance.samples, worst.performance.unit.as_str()), (60, "ops/s"));
    assert!(near(worst.performance.mean, 310.0, 3.0), "{worst:?}");
    assert!(near(worst.pressure.value, 0.69, 0.005), "{worst:?}");
    assert!(worst.pressure.ci_low < worst.pressure.value && worst.pressure.value < worst.pressure.ci_high);
    assert!(worst.performance.quantiles.is_none() && worst.performance.reason.is_none());
    assert_eq!(worst.steady, Some(true));
    assert_eq!((worst.start_s, worst.end_s), (Some(245.0), Some(305.0)));
    let w0 = find(&summary, "w0");
    assert_eq!((w0.pressure.value, w0.pressure.ci_low, w0.pressure.ci_high), (Some(0.0), Some(0.0), Some(0.0)));
    assert_eq!(summary.scale, [vec!["w0", "w1"], vec!["w2"], vec!["w3"]]);
    let headline = &summary.headline;
    assert!(
        headline.starts_with("A writer at queue depth 64 costs RocksDB 69.1 % of its throughput (95 % interval 68."),
        "{headline}"
    );
    assert_eq!(summary.verdict.grade, Grade::Sound);
    assert!(summary.findings.is_empty(), "{:?}", summary.findings);
}

#[test]
fn latencies_cover_all_requests_of_the_phase() {
    let (_dir, summary) = run(&plan(ladder(60)), &LEVELS, RunStatus::Complete);
    let read = &find(&summary, "w2").latency_us["read"];
    assert_eq!(read.samples, 6_000);
    assert!(near(read.p50, 200.0, 3.0) && near(read.max, 209.0, 10.0), "{read:?}");
    assert!(!find(&summary, "w2").latency_us.contains_key("update"), "an operation without requests has no latency");
}

#[test]
fn a_neighbour_measured_alone_has_a_pressure_of_its_own() {
    let (_dir, summary) = run(&plan(ladder(60)), &LEVELS, RunStatus::Complete);
    let solo = find(&summary, "s1");
    assert!(solo.performance.mean.is_none() && solo.performance.reason.is_some() && solo.latency_us.is_empty());
    assert!(solo.pressure.value.is_none() && solo.pressure.reason.is_some());
    assert!(near(solo.neighbours["writer"].performance.mean, 400.0, 3.0));
    assert_eq!(solo.neighbours["writer"].pressure.value, Some(0.0));
    let shared = &find(&summary, "w2").neighbours["writer"];
    assert_eq!(shared.performance.unit, "MiB/s");
    assert!(near(shared.pressure.value, 0.5, 0.01) && shared.pressure.ci_low.is_some(), "{shared:?}");
    let fairness = find(&summary, "w2").fairness.as_ref().unwrap();
    assert!(near(fairness.slowdown["db"], 2.0, 0.02) && near(fairness.slowdown["writer"], 2.0, 0.02), "{fairness:?}");
    assert!(near(fairness.jain_index, 1.0, 0.001), "both have half their speed");
    assert!(find(&summary, "w3").fairness.is_none(), "it was not measured alone at that depth");
    let other_depth = &find(&summary, "w3").neighbours["writer"];
    assert!(other_depth.pressure.value.is_none() && other_depth.pressure.reason.is_some());
    assert!(find(&summary, "w0").neighbours.is_empty());
}

#[test]
fn for_a_latency_lower_is_better() {
    let criterion = Criterion { metric: "latency.read.p99".into(), unit: "us".into(), better: BetterDirection::Lower };
    let (_dir, summary) = run(&Plan { criterion, ..plan(ladder(60)) }, &LEVELS, RunStatus::Complete);
    let worst = find(&summary, "w3");
    assert!(near(worst.performance.mean, 400.0, 4.0) && worst.performance.unit == "us", "{worst:?}");
    assert!(near(worst.pressure.value, 3.0, 0.05) && worst.pressure.ci_low < worst.pressure.ci_high);
    assert_eq!(summary.scale.last().unwrap(), &["w3"]);
    let expected =
        "A writer at queue depth 64 multiplies the 99th percentile of RocksDB's read latency by 4.0 (95 % interval ";
    assert!(summary.headline.starts_with(expected), "{}", summary.headline);
}

#[test]
fn an_io_primary_has_its_own_unit() {
    let mut plan = plan(ladder(60));
    plan.workloads.swap(0, 1);
    plan.workloads[0].role = Role::Primary;
    plan.workloads[1].role = Role::Neighbour;
    plan.criterion.unit = "MiB/s".into();
    let (_dir, summary) = run(&plan, &LEVELS, RunStatus::Complete);
    assert!(near(find(&summary, "w3").performance.mean, 300.0, 3.0));
    assert_eq!(find(&summary, "w3").performance.unit, "MiB/s");
    assert!(near(find(&summary, "w3").neighbours["db"].performance.mean, 310.0, 3.0));
}

#[test]
fn a_significant_gain_is_no_harm() {
    let levels = [LEVELS[0], LEVELS[1], LEVELS[2], (1_420.0, 80, 50.0)];
    let (_dir, summary) = run(&plan(ladder(60)[..4].to_vec()), &levels, RunStatus::Complete);
    assert!(near(find(&summary, "w1").pressure.value, -0.42, 0.01));
    assert_eq!(summary.scale, [["w1"], ["w0"]]);
    let expected = "No neighbour harms RocksDB: a writer at queue depth 1 raises the throughput of RocksDB by 4";
    assert!(summary.headline.starts_with(expected), "{}", summary.headline);
}

#[test]
fn an_insignificant_difference_is_not_claimed_as_harm() {
    let levels = [LEVELS[0], LEVELS[1], LEVELS[2], (998.0, 100, 50.0)];
    let (_dir, summary) = run(&plan(ladder(60)[..4].to_vec()), &levels, RunStatus::Complete);
    assert_eq!(summary.scale, [["w0", "w1"]]);
    let expected = "No neighbour costs RocksDB more than ";
    assert!(summary.headline.starts_with(expected), "{}", summary.headline);
    let expected = "(upper end of the 95 % interval, with a writer at queue depth 1).";
    assert!(summary.headline.ends_with(expected), "{}", summary.headline);
}

#[test]
fn short_phases_have_quantiles_and_no_claim() {
    let (_dir, summary) = run(&plan(ladder(10)), &LEVELS, RunStatus::Complete);
    let worst = find(&summary, "w3");
    assert!(worst.performance.mean.is_some() && worst.performance.ci_low.is_none());
    assert!(worst.performance.quantiles.is_some() && worst.performance.reason.is_some() && worst.steady.is_none());
    assert!(near(worst.pressure.value, 0.69, 0.02) && worst.pressure.ci_low.is_none());
    assert_eq!(findings(&summary, "phase-too-short").len(), 1);
    assert!(summary.scale.is_empty() && summary.scale_tests.is_empty(), "untested phases are on no step");
    assert_eq!(summary.untested.len(), 4);
    assert_eq!(worst.scale_state, Some(ScaleState::Untested));
    let needed = worst.performance.needed.as_ref().unwrap();
    assert!(needed.phase_s > 10.0 && needed.width.is_none() && needed.reason.contains("run each phase"), "{needed:?}");
    assert!(worst.pressure.needed.as_ref().unwrap().phase_s >= needed.phase_s);
    let headline = &summary.headline;
    let unknown = "Indicative: harm to RocksDB is neither shown nor ruled out: with a writer at queue depth 64 the throughput of \
         RocksDB was about ";
    assert!(headline.starts_with(unknown), "{headline}");
    let advice =
        "% below that of w0, without a confidence interval. For a confidence interval run each phase for about ";
    assert!(headline.contains(advice) && headline.ends_with(" needs most."), "{headline}");
    let text = &findings(&summary, "phase-too-short")[0].text;
    assert!(text.contains("An interval needs about ") && text.ends_with("Run longer phases."), "{text}");
}

#[test]
fn a_failed_neighbour_makes_a_gap() {
    let plan = plan(ladder(60));
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::begin(dir.path(), &plan);
    run.phase(&plan.phases[2], 1_000.0, 100, 0.0);
    run.event(Event::PhaseStarted { phase: "w1".into() });
    run.seconds(30, 900.0, 100, 50.0);
    run.event(Event::Error { workload: "writer".into(), text: "killed by signal 9".into() });
    run.event(Event::PhaseGap { phase: "w1".into(), reason: "`writer` died".into() });
    run.event(Event::Finding(Finding::new(
        "own-disk",
        Severity::Warning,
        "The recording lies on the measured device.",
    )));
    run.writer.finish(at(run.second), RunStatus::Failed).unwrap();
    let summary = summarise(&open(dir.path()));
    let gap = find(&summary, "w1");
    assert_eq!((gap.performance.mean, gap.performance.reason.as_deref()), (None, Some("`writer` died")));
    assert!(gap.pressure.value.is_none() && gap.start_s.is_none() && gap.latency_us.is_empty() && gap.steady.is_none());
    assert!(gap.neighbours["writer"].performance.mean.is_none());
    assert_eq!(summary.scale, [["w0"]]);
    assert!(findings(&summary, "worker-failed")[0].text.contains("signal 9"));
    assert_eq!(findings(&summary, "own-disk").len(), 1);
    let gaps = findings(&summary, "phase-gap");
    assert_eq!(gaps.len(), 1, "one line for all: {:?}", summary.findings);
    assert_eq!(gaps[0].phase_ids().collect::<Vec<_>>(), ["s1", "w1", "w2", "w3"]);
    assert!(gaps[0].text.contains("w1 (`writer` died)"), "{}", gaps[0].text);
    assert_eq!(summary.status, "failed");
}

#[test]
fn a_truncated_recording_is_read_to_its_last_sample() {
    let plan = plan(ladder(60));
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::begin(dir.path(), &plan);
    run.phase(&plan.phases[2], 1_000.0, 100, 0.0);
    run.event(Event::PhaseStarted { phase: "w1".into() });
    run.seconds(30, 500.0, 200, 50.0);
    std::mem::forget(run.writer);
    let summary = summarise(&open(dir.path()));
    assert_eq!(summary.status, "cut");
    let partly = find(&summary, "w1");
    assert_eq!((partly.performance.samples, partly.end_s), (30, Some(90.0)));
    assert!(near(partly.pressure.value, 0.5, 0.01));
    assert_eq!(findings(&summary, "cut-short").len(), 1);
    assert!(findings(&summary, "phase-cut")[0].text.contains("30 s of 60 s"));
    assert!(findings(&summary, "damaged").is_empty(), "an open stream is no damage: {:?}", summary.findings);
    let missed = find(&summary, "w3");
    assert!(
        missed.performance.mean.is_none()
            && missed.performance.reason.as_deref().unwrap().contains("ends before this phase")
    );
}

#[test]
fn an_interrupted_run_keeps_its_phases() {
    let plan = plan(ladder(60));
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::begin(dir.path(), &plan);
    run.phase(&plan.phases[2], 1_000.0, 100, 0.0);
    run.writer.finish(at(run.second), RunStatus::Interrupted).unwrap();
    let summary = summarise(&open(dir.path()));
    assert_eq!((summary.status.as_str(), findings(&summary, "interrupted").len()), ("interrupted", 1));
    assert!(find(&summary, "w0").performance.ci_low.is_some());
    assert!(summary.headline.contains("no phase with neighbours was measured"), "{}", summary.headline);
}

#[test]
fn missing_samples_are_reported() {
    let plan = plan(ladder(60));
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::begin(dir.path(), &plan);
    run.event(Event::PhaseStarted { phase: "w0".into() });
    run.seconds(20, 1_000.0, 100, 0.0);
    run.second += 20;
    run.seconds(20, 1_000.0, 100, 0.0);
    run.event(Event::PhaseEnded { phase: "w0".into() });
    run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
    let summary = summarise(&open(dir.path()));
    assert_eq!(find(&summary, "w0").performance.samples, 40);
    assert_eq!(findings(&summary, "samples-missing").len(), 1);
}

#[test]
fn a_phase_that_is_not_steady_is_reported() {
    let plan = plan(ladder(60));
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::begin(dir.path(), &plan);
    run.event(Event::PhaseStarted { phase: "w0".into() });
    run.seconds(15, 200.0, 100, 0.0);
    run.seconds(45, 1_000.0, 100, 0.0);
    run.event(Event::PhaseEnded { phase: "w0".into() });
    run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
    let summary = summarise(&open(dir.path()));
    assert_eq!(find(&summary, "w0").steady, Some(false));
    assert_eq!(findings(&summary, "not-steady").len(), 1);
    assert_eq!(findings(&summary, "warm-up-visible").len(), 1);
    assert_eq!(find(&summary, "w0").performance.samples, 60, "nothing is left out");
}

#[test]
fn a_growing_data_set_is_reported() {
    let (_dir, steady) = run(&plan(ladder(20)), &LEVELS, RunStatus::Complete);
    assert!(findings(&steady, "primary-not-stable").is_empty());
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(ladder(20));
    let mut run = Run::begin(dir.path(), &plan);
    let facts = serde_json::json!({"engine": "rocksdb", "loaded": 1000, "unstable": "it inserts records"});
    let facts = facts.as_object().unwrap().clone().into_iter().collect();
    run.event(Event::Ready { workload: "db".into(), facts });
    run.phase(&plan.phases[2], 1_000.0, 100, 0.0);
    run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
    let summary = summarise(&open(dir.path()));
    let found = findings(&summary, "primary-not-stable");
    assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
    assert!(found[0].text.contains("it inserts records"), "{}", found[0].text);
}

#[test]
fn without_primary_or_w0_there_is_no_pressure() {
    let mut nobody = plan(ladder(60));
    nobody.workloads[0].role = Role::Neighbour;
    let (_dir, summary) = run(&nobody, &LEVELS, RunStatus::Complete);
    assert!(summary.scale.is_empty() && summary.phases.iter().all(|phase| phase.pressure.value.is_none()));
    assert!(summary.headline.contains("no primary"), "{}", summary.headline);
    let (_dir, summary) = run(&plan(ladder(60)[3..].to_vec()), &LEVELS[3..], RunStatus::Complete);
    assert!(summary.scale.is_empty() && find(&summary, "w3").performance.mean.is_some());
    assert!(find(&summary, "w3").pressure.reason.is_some());
    assert!(summary.headline.contains("he pressure on RocksDB is unknown, because w0"), "{}", summary.headline);
}

#[test]
fn an_unknown_criterion_measures_nothing() {
    let criterion = Criterion { metric: "joy".into(), unit: "smiles".into(), better: BetterDirection::Higher };
    let (_dir, summary) = run(&Plan { criterion, ..plan(ladder(20)) }, &LEVELS, RunStatus::Complete);
    assert!(find(&summary, "w0").performance.reason.as_deref().unwrap().contains("unknown criterion"));
}

#[test]
fn a_summary_round_trips_through_json() {
    let (_dir, summary) = run(&plan(ladder(60)), &LEVELS, RunStatus::Complete);
    let text = serde_json::to_string(&summary).unwrap();
    let read: RunSummary = serde_json::from_str(&text).unwrap();
    assert_eq!(read.headline, summary.headline);
    assert_eq!(read.phases.len(), summary.phases.len());
}
