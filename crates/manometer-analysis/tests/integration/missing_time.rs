//! Time of a phase in which the primary was not measured: values that are null or impossible, samples that are absent or
//! there twice, phases that are shorter than planned.

use std::path::Path;

use manometer_analysis::summarise;
use manometer_analysis::summary::RunSummary;
use manometer_analysis::verdict::Grade;
use manometer_measure::Samples;
use manometer_measure::event::{Finding, RunStatus, ThreatStrength};
use manometer_measure::plan::{PhaseKind, Plan};
use manometer_testing::remove_checksums;
use tempfile::TempDir;

use crate::synthetic::{Run, find, open, phase, plan};

const PHASE_S: usize = 60;

fn two_phases() -> Plan {
    plan(vec![phase("w0", PhaseKind::Baseline, 60, 1), phase("w1", PhaseKind::Pressure, 60, 16)])
}

/// A recording of `plan` in which `w0` has 1,000 reads per second and `w1` `under_pressure`, its samples changed by `change`.
fn recorded(plan: &Plan, under_pressure: f64, change: impl Fn(&mut Samples)) -> (TempDir, RunSummary) {
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::begin(dir.path(), plan);
    for (phase, level) in plan.phases.iter().zip([1_000.0, under_pressure]) {
        run.phase(phase, level, 100, if phase.kind == PhaseKind::Baseline { 0.0 } else { 80.0 });
    }
    let end_ns = crate::synthetic::at(run.second);
    run.writer.finish(end_ns, RunStatus::Complete).unwrap();
    change_samples(dir.path(), change);
    let summary = summarise(&open(dir.path()));
    (dir, summary)
}

fn change_samples(dir: &Path, change: impl Fn(&mut Samples)) {
    let path = dir.join("samples/db.parquet");
    let mut samples = Samples::read_parquet(std::fs::File::open(&path).unwrap()).unwrap();
    change(&mut samples);
    samples.write_parquet(std::fs::File::create(&path).unwrap()).unwrap();
    remove_checksums(dir);
}

fn column<'a>(samples: &'a mut Samples, name: &str) -> &'a mut Vec<Option<f64>> {
    let index = samples.columns.iter().position(|column| column.name == name).unwrap();
    &mut samples.values[index]
}

fn finding<'a>(summary: &'a RunSummary, id: &str) -> &'a Finding {
    summary.findings.iter().find(|finding| finding.id == id).unwrap_or_else(|| panic!("{id}: {:?}", summary.findings))
}

#[test]
fn an_interval_without_a_count_is_missing_time() {
    for value in [None, Some(f64::NAN), Some(f64::INFINITY), Some(-100.0)] {
        let (_dir, summary) = recorded(&two_phases(), 910.0, |samples| {
            column(samples, "read.requests")[PHASE_S..PHASE_S + 48].fill(value);
        });
        let missing = finding(&summary, "samples-missing");
        assert!(missing.text.contains("w1 12 of 60 s"), "{}", missing.text);
        assert_eq!((missing.phase.as_deref(), missing.threat.unwrap().strength), (Some("w1"), ThreatStrength::Fatal));
        assert_eq!(summary.verdict.grade, Grade::Void, "{value:?}: {}", summary.headline);
    }
}

#[test]
fn an_operation_without_a_count_is_no_operation_without_requests() {
    let (_dir, summary) = recorded(&two_phases(), 1_000.0, |samples| {
        let updates = column(samples, "update.requests");
        updates.fill(Some(500.0));
        updates[..PHASE_S].iter_mut().skip(1).step_by(2).for_each(|updates| *updates = None);
    });
    let mean = find(&summary, "w0").performance.mean.unwrap();
    assert!((mean / 1_500.0 - 1.0).abs() < 0.02, "{mean}");
    assert!(finding(&summary, "samples-missing").text.contains("w0 30 of 60 s"));
}

#[test]
fn a_phase_without_any_count_was_not_measured() {
    let (_dir, summary) =
        recorded(&two_phases(), 900.0, |samples| column(samples, "read.requests")[PHASE_S..].fill(None));
    let gap = finding(&summary, "phase-gap");
    assert!(gap.text.contains("Not measured: w1"), "{}", gap.text);
    assert_ne!(summary.verdict.grade, Grade::Sound);
}

#[test]
fn a_series_without_samples_is_damage() {
    let (_dir, summary) = recorded(&two_phases(), 900.0, |samples| *samples = samples.rows(&[]));
    assert!(finding(&summary, "damaged").text.contains("the samples of `db` are missing"));
    assert!(finding(&summary, "phase-gap").text.contains("w0, w1"));
    let (dir, _) = recorded(&two_phases(), 900.0, |_| {});
    std::fs::remove_file(dir.path().join("samples/db.parquet")).unwrap();
    assert!(finding(&summarise(&open(dir.path())), "damaged").text.contains("the samples of `db` are missing"));
}

#[test]
fn rows_in_any_order_are_the_same_and_rows_that_are_there_twice_count_once() {
    let (_dir, whole) = recorded(&two_phases(), 900.0, |_| {});
    let (_dir, shuffled) = recorded(&two_phases(), 900.0, |samples| {
        let order: Vec<usize> = (0..2 * PHASE_S).map(|row| row * 7 % (2 * PHASE_S)).collect();
        *samples = samples.rows(&order);
    });
    assert_eq!(whole, shuffled);
    let (_dir, twice) = recorded(&two_phases(), 900.0, |samples| {
        let rows: Vec<usize> = (0..4 * PHASE_S).map(|row| row / 2).collect();
        *samples = samples.rows(&rows);
    });
    assert_eq!(find(&whole, "w1").performance, find(&twice, "w1").performance);
    let damaged = finding(&twice, "damaged");
    assert!(damaged.text.contains("samples/db: 120 of 240 samples are left out"), "{}", damaged.text);
    let (_dir, long) = recorded(&two_phases(), 900.0, |samples| column(samples, "length").fill(Some(5.0)));
    assert!(finding(&long, "damaged").text.contains("overlap"));
    assert_ne!(long.verdict.grade, Grade::Sound);
}

#[test]
fn a_phase_that_ended_long_before_its_planned_end_is_reported() {
    let measured = two_phases();
    let mut planned = measured.clone();
    planned.phases[1].duration_s = 3_600.0;
    let (dir, _) = recorded(&measured, 900.0, |_| {});
    let path = dir.path().join("plan.json");
    let plan = std::fs::read_to_string(&path).unwrap();
    let (w0, w1) = plan.split_at(plan.find("\"w1\"").unwrap());
    std::fs::write(&path, format!("{w0}{}", w1.replacen("60.0", "3600.0", 1))).unwrap();
    let recording = open(dir.path());
    assert_eq!(recording.plan, planned);
    let cut = finding(&summarise(&recording), "phase-cut").clone();
    assert!(cut.text.contains("w1 was measured for 60 s of 3600 s: it ended early"), "{}", cut.text);
}

#[test]
fn without_a_primary_the_neighbours_samples_are_counted() {
    let mut plan = plan(vec![phase("w1", PhaseKind::Solo, 60, 1), phase("w2", PhaseKind::Solo, 60, 16)]);
    plan.workloads.retain(|workload| workload.name == "writer");
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::begin(dir.path(), &plan);
    plan.phases.iter().for_each(|phase| run.phase(phase, 1.0, 100, 80.0));
    run.writer.finish(crate::synthetic::at(run.second), RunStatus::Complete).unwrap();
    let path = dir.path().join("samples/writer.parquet");
    let mut samples = Samples::read_parquet(std::fs::File::open(&path).unwrap()).unwrap();
    column(&mut samples, "write.bytes")[PHASE_S..PHASE_S + 48].fill(None);
    samples.write_parquet(std::fs::File::create(&path).unwrap()).unwrap();
    remove_checksums(dir.path());
    let summary = summarise(&open(dir.path()));
    let missing = finding(&summary, "samples-missing");
    assert!(missing.text.contains("w2 12 of 60 s"), "{}", missing.text);
}
