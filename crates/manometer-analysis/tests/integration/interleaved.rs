//! Interleaved plans: recordings of blocks whose pressures, carry-over and states are known.

use std::path::Path;

use manometer_analysis::compare::{ComparedRuns, DEFAULT_BOUND, GateResult, compare_pair};
use manometer_analysis::summarise;
use manometer_analysis::summary::RunSummary;
use manometer_analysis::verdict::Grade;
use manometer_measure::event::{Event, Finding, RunStatus};
use manometer_measure::plan::{InterleavedRounds, Phase, PhaseKind, Plan};
use manometer_measure::{Column, Samples};
use manometer_testing::remove_checksums;
use tempfile::TempDir;

use crate::synthetic::{Run, at, find, open, phase, plan};

const ROUNDS: u32 = 20;

/// The rows of a Williams design of four treatments.
const SQUARE: [[usize; 4]; 4] = [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]];

/// `w0` and three settings in blocks of three seconds, of which the first is the washout.
fn interleaved_plan() -> Plan {
    let settings =
        [(PhaseKind::Baseline, 1), (PhaseKind::Pressure, 1), (PhaseKind::Pressure, 16), (PhaseKind::Pressure, 64)];
    let phases: Vec<Phase> = settings
        .into_iter()
        .enumerate()
        .map(|(number, (kind, depth))| phase(&format!("w{number}"), kind, u64::from(ROUNDS) * 2, depth))
        .collect();
    // Another row each time, so that what comes before the first block of a round changes too.
    let order = |round: u32| SQUARE[(round * 7 + round / 4) as usize % 4].map(|index| format!("w{index}")).to_vec();
    let orders = (0..ROUNDS).map(order).collect();
    Plan {
        interleaved: Some(InterleavedRounds { rounds: ROUNDS, block_s: 3.0, washout_s: 1.0, orders }),
        ..plan(phases)
    }
}

/// What a recording of blocks is made of.
struct Case {
    /// The share of `w0` that each phase keeps.
    keeps: [f64; 4],
    /// The factor of a block after each phase.
    after: [f64; 4],
    /// The compaction debt at the start of a block after each phase, in MiB.
    debt_mib: [f64; 4],
    /// The rounds that run.
    rounds: u32,
    status: Option<RunStatus>,
}

const CASE: Case = Case {
    keeps: [1.0, 0.9, 0.5, 0.2],
    after: [1.0; 4],
    debt_mib: [0.0; 4],
    rounds: ROUNDS,
    status: Some(RunStatus::Complete),
};

fn index(id: &str) -> usize {
    id[1..].parse().unwrap()
}

/// The level of a round: it wanders over a factor of three.
fn level(round: u32) -> f64 {
    40_000.0 * (1.0 + 0.5 * f64::from(round).sin())
}

fn record(dir: &Path, plan: &Plan, case: &Case) {
    let rounds = plan.interleaved.as_ref().unwrap();
    let mut run = Run::begin(dir, plan);
    run.writer.begin_series("db.engine", &[Column::new("pending_compaction_bytes", "B")]).unwrap();
    run.event(Event::RoundsStarted);
    let mut before = 0;
    for round in 1..=case.rounds {
        for id in &rounds.orders[round as usize - 1] {
            let reads = level(round) * case.keeps[index(id)] * case.after[before];
            let mib = if index(id) == 0 { 0.0 } else { 100.0 };
            // The washout is far from what is measured, and must not count.
            run.seconds(1, 7.0, 100, mib);
            let debt = (case.debt_mib[before] + f64::from(round % 3)) * f64::from(1 << 20);
            run.writer.sample("db.engine", at(run.second), &[Some(debt)]).unwrap();
            run.event(Event::BlockStarted { phase: id.clone(), round });
            run.seconds(2, reads, 100, mib);
            run.event(Event::BlockEnded { phase: id.clone(), round });
            before = index(id);
        }
    }
    match case.status {
        Some(RunStatus::Complete) => run.event(Event::RoundsEnded),
        Some(_) => run.event(Event::BlockGap {
            phase: "w0".to_owned(),
            round: case.rounds + 1,
            reason: "the run was interrupted".to_owned(),
        }),
        None => {}
    }
    match case.status {
        Some(status) => run.writer.finish(at(run.second), status).unwrap(),
        None => std::mem::forget(run.writer),
    }
}

fn summary_of(case: &Case) -> (TempDir, RunSummary) {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), &interleaved_plan(), case);
    let summary = summarise(&open(dir.path()));
    (dir, summary)
}

fn finding<'a>(summary: &'a RunSummary, id: &str) -> Option<&'a Finding> {
    summary.findings.iter().find(|finding| finding.id == id)
}

#[test]
fn every_pressure_has_a_narrow_interval_however_the_host_wanders() {
    let (_dir, summary) = summary_of(&CASE);
    for (number, kept) in CASE.keeps.into_iter().enumerate().skip(1) {
        let pressure = &find(&summary, &format!("w{number}")).pressure;
        let (low, high) = (pressure.ci_low.unwrap(), pressure.ci_high.unwrap());
        assert!(low < 1.0 - kept && 1.0 - kept < high && high - low < 0.05, "w{number}: {pressure:?}");
    }
    let w0 = find(&summary, "w0");
    assert_eq!((w0.pressure.value, w0.steady), (Some(0.0), None));
    assert!(finding(&summary, "not-steady").is_none(), "{:?}", summary.findings);
    let rounds = summary.interleaved.as_ref().unwrap();
    assert_eq!((rounds.rounds, rounds.p_values.len()), (20, 3));
    assert!(rounds.p_values.values().all(|p_value| p_value.unwrap() < 0.001), "{:?}", rounds.p_values);
}

#[test]
fn a_phase_is_one_row_of_many_blocks_and_washouts_do_not_count() {
    let (_dir, summary) = summary_of(&CASE);
    let w2 = find(&summary, "w2");
    assert_eq!((w2.blocks.len(), w2.performance.samples), (20, 20));
    let first = &w2.blocks[0];
    assert_eq!((first.round, first.position, first.after.as_deref()), (1, Some(4), Some("w3")));
    assert_eq!((first.start_s, first.end_s), (10.0, 12.0));
    assert_eq!((w2.start_s, w2.end_s), (Some(10.0), w2.blocks.last().map(|block| block.end_s)));
    let expected: f64 = (1..=ROUNDS).map(|round| 0.5 * level(round)).sum::<f64>() / f64::from(ROUNDS);
    assert!((w2.performance.mean.unwrap() / expected - 1.0).abs() < 0.02, "{:?}", w2.performance);
    assert_eq!(w2.latency_us["read"].samples, 20 * 2 * 100, "the latencies of its blocks alone");
    assert_eq!(w2.stretches_s().len(), 20);
}

#[test]
fn carry_over_is_found_with_its_size_and_none_where_there_is_none() {
    let (_dir, without) = summary_of(&CASE);
    assert!(finding(&without, "carry-over").is_none(), "{:?}", without.findings);
    assert!(without.interleaved.as_ref().unwrap().carry_over.as_ref().unwrap().p_value > 0.05);
    let (_dir, with) = summary_of(&Case { after: [1.0, 1.0, 1.0, 0.8], ..CASE });
    let text = &finding(&with, "carry-over").unwrap().text;
    assert!(text.contains("after a block of w3 (writer.iodepth = 64)") && text.contains("`ladder`"), "{text}");
    let effect = &with.interleaved.as_ref().unwrap().carry_over.as_ref().unwrap().effects["w3"];
    assert!(effect.ci_low.unwrap() < -0.2 && -0.2 < effect.ci_high.unwrap(), "{effect:?}");
    assert!(text.contains(&format!("{:.1} % lower", -100.0 * effect.value.unwrap())), "{text}");
}

#[test]
fn carry_over_as_large_as_the_pressures_makes_the_result_void() {
    let grade = |keeps| {
        let (_dir, summary) = summary_of(&Case { keeps, after: [1.0, 1.0, 1.0, 0.8], ..CASE });
        assert!(finding(&summary, "carry-over").is_some(), "{:?}", summary.findings);
        summary.verdict.grade
    };
    assert_eq!(grade([1.0, 0.9, 0.7, 0.4]), Grade::Indicative);
    assert_eq!(grade([1.0, 1.0, 1.0, 1.0]), Grade::Void);
}

#[test]
fn states_at_the_begin_of_blocks_are_compared() {
    let (_dir, alike) = summary_of(&CASE);
    assert!(finding(&alike, "block-states-differ").is_none(), "{:?}", alike.findings);
    let (_dir, unlike) = summary_of(&Case { debt_mib: [0.0, 0.0, 5.0, 40.0], ..CASE });
    let text = &finding(&unlike, "block-states-differ").unwrap().text;
    assert!(text.contains("the compaction debt is") && text.contains("after w3"), "{text}");
    let state = &unlike.interleaved.as_ref().unwrap().block_states[0];
    assert_eq!(state.column, "pending_compaction_bytes");
    assert!(state.after["w3"].unwrap() > 35.0 * f64::from(1 << 20), "{state:?}");
}

#[test]
fn rounds_that_are_missing_are_told_and_too_few_have_no_interval() {
    let interrupted = Some(RunStatus::Interrupted);
    let (_dir, half) = summary_of(&Case { rounds: 9, status: interrupted, ..CASE });
    assert!(find(&half, "w1").pressure.ci_low.is_some());
    let text = &finding(&half, "phase-cut").unwrap().text;
    assert!(text.contains("9 of 20 rounds were measured: the run was interrupted"), "{text}");
    let (_dir, few) = summary_of(&Case { rounds: 3, status: None, ..CASE });
    let pressure = &find(&few, "w1").pressure;
    assert!(pressure.value.is_some() && pressure.ci_low.is_none());
    assert!(pressure.reason.as_deref().unwrap().contains("fewer than 5 rounds"), "{pressure:?}");
    assert!(finding(&few, "carry-over-untested").is_some() || few.interleaved.as_ref().unwrap().carry_over.is_some());
    assert!(finding(&few, "phase-cut").unwrap().text.contains("the recording ends within the rounds"));
    let (_dir, none) = summary_of(&Case { rounds: 0, status: interrupted, ..CASE });
    assert!(find(&none, "w1").performance.reason.as_deref().unwrap().contains("interrupted"));
    assert_eq!(none.interleaved, None);
}

#[test]
fn samples_that_are_missing_within_blocks_are_missing_time() {
    for are_null in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path(), &interleaved_plan(), &CASE);
        let summary = summarise(&open(dir.path()));
        let w1 = &find(&summary, "w1").blocks;
        let is_lost = |t_ns: u64| w1.iter().any(|block| t_ns == at(block.end_s as u64));
        let path = dir.path().join("samples/db.parquet");
        let mut samples = Samples::read_parquet(std::fs::File::open(&path).unwrap()).unwrap();
        if are_null {
            let requests = samples.columns.iter().position(|column| column.name == "read.requests").unwrap();
            let rows = samples.t_ns.iter().zip(&mut samples.values[requests]);
            rows.filter(|(t_ns, _)| is_lost(**t_ns)).for_each(|(_, requests)| *requests = None);
        } else {
            let kept: Vec<usize> = (0..samples.t_ns.len()).filter(|row| !is_lost(samples.t_ns[*row])).collect();
            samples = samples.rows(&kept);
        }
        samples.write_parquet(std::fs::File::create(&path).unwrap()).unwrap();
        remove_checksums(dir.path());
        let summary = summarise(&open(dir.path()));
        let missing = finding(&summary, "samples-missing").unwrap();
        assert!(missing.text.contains("Samples are missing: w1 20 of 40 s;"), "{}", missing.text);
        assert_ne!(summary.verdict.grade, Grade::Sound, "{}", summary.headline);
    }
}

#[test]
fn blocks_in_another_order_than_planned_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let plan = interleaved_plan();
    record(dir.path(), &plan, &CASE);
    let mut recording = open(dir.path());
    assert!(finding(&summarise(&recording), "block-order").is_none());
    recording.plan.interleaved.as_mut().unwrap().orders.iter_mut().for_each(|order| order.reverse());
    let summary = summarise(&recording);
    assert!(finding(&summary, "block-order").unwrap().text.contains("In round 1, the block of "));
    assert_ne!(summary.verdict.grade, Grade::Sound);
}

#[test]
fn a_comparison_of_few_rounds_says_how_many_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    record(&a, &interleaved_plan(), &Case { rounds: 6, ..CASE });
    record(&b, &interleaved_plan(), &Case { rounds: 7, ..CASE });
    let sides = [&a, &b].map(|path| ComparedRuns::read(path).unwrap());
    let comparison = compare_pair(&sides[0], &sides[1], DEFAULT_BOUND).unwrap();
    for phase in &comparison.phases {
        let rounds = phase.needed_rounds.unwrap();
        assert!(phase.ci_low.is_none() && phase.gate == GateResult::Undecided, "{phase:?}");
        assert!(rounds >= 8 && rounds.is_multiple_of(4), "whole squares: {phase:?}");
        assert!(phase.needed_s.unwrap() > 14.0, "longer than seven blocks of 2 s: {phase:?}");
    }
}

#[test]
fn pressures_of_rounds_are_compared_with_the_error_of_their_rounds() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    record(&a, &interleaved_plan(), &CASE);
    record(&b, &interleaved_plan(), &Case { keeps: [1.0, 0.9, 0.4, 0.2], ..CASE });
    let sides = [&a, &b].map(|path| ComparedRuns::read(path).unwrap());
    let comparison = compare_pair(&sides[0], &sides[1], DEFAULT_BOUND).unwrap();
    let phase = comparison.phases.iter().find(|phase| phase.id == "w2").unwrap();
    // Performances wander over a factor of three from round to round; within a round they do not.
    let difference = &phase.pressure.as_ref().unwrap().difference;
    let (low, high) = (difference.ci_low.unwrap(), difference.ci_high.unwrap());
    assert!(low < 0.1 && 0.1 < high && high - low < 0.05, "{phase:?}");
}
