//! Comparisons of recordings with known differences.

use std::path::{Path, PathBuf};

use manometer_analysis::compare::{
    ComparedRuns, Comparison, DEFAULT_BOUND, Direction, GateResult, PhaseComparison, PhaseVerdict, compare_pair,
    compare_series, condition_differences, reference_drift, repeat_numbers,
};
use manometer_analysis::verdict::Grade;
use manometer_measure::Column;
use manometer_measure::event::{Event, Finding, RunStatus, Severity, ThreatStrength};
use manometer_measure::plan::{BetterDirection, Criterion, PhaseKind, Plan, Role};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::synthetic::{Run, at, open, phase, plan};

/// A run: a factor on all its throughput, and on that of `w1` alone.
#[derive(Clone, Copy)]
struct Factors {
    seed: u64,
    all: f64,
    under_pressure: f64,
}

const BASE: Factors = Factors { seed: 1, all: 1.0, under_pressure: 1.0 };

fn two_phases(seconds: u64) -> Plan {
    plan(vec![phase("w0", PhaseKind::Baseline, seconds, 1), phase("w1", PhaseKind::Pressure, seconds, 16)])
}

fn record(dir: &Path, plan: &Plan, factors: Factors, environment: &Value) {
    let mut run = Run::seeded(dir, plan, factors.seed, environment);
    for phase in &plan.phases {
        let level = match phase.kind {
            PhaseKind::Pressure => 500.0 * factors.under_pressure,
            _ => 1_000.0,
        };
        run.phase(phase, level * factors.all, 100, 50.0);
    }
    run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
}

/// A folder with these runs as `runs/NNN`.
fn folder(under: &Path, name: &str, plan: &Plan, runs: &[Factors]) -> PathBuf {
    let dir = under.join(name);
    for (index, factors) in runs.iter().enumerate() {
        record(&dir.join(format!("runs/{:03}", index + 1)), plan, *factors, &json!({"host": {}}));
    }
    dir
}

fn repeats(factors: &[f64], under_pressure: f64, first_seed: u64) -> Vec<Factors> {
    let run = |(index, all): (usize, &f64)| Factors { seed: first_seed + index as u64, all: *all, under_pressure };
    factors.iter().enumerate().map(run).collect()
}

fn compared(a: &Path, b: &Path) -> Comparison {
    compare_pair(&ComparedRuns::read(a).unwrap(), &ComparedRuns::read(b).unwrap(), DEFAULT_BOUND).unwrap()
}

fn find<'a>(comparison: &'a Comparison, id: &str) -> &'a PhaseComparison {
    comparison.phases.iter().find(|phase| phase.id == id).unwrap()
}

fn recorded(factors: Factors) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), &two_phases(60), factors, &json!({"host": {}}));
    dir
}

#[test]
fn two_equal_recordings_are_the_same() {
    let (a, b) = (recorded(BASE), recorded(Factors { seed: 2, ..BASE }));
    let comparison = compared(a.path(), b.path());
    assert_eq!(comparison.phases.len(), 2);
    for phase in &comparison.phases {
        assert_eq!((phase.verdict, phase.direction), (PhaseVerdict::Same, None), "{phase:?}");
        let (low, high) = (phase.ci_low.unwrap(), phase.ci_high.unwrap());
        assert!(low < phase.ratio.unwrap() && phase.ratio.unwrap() < high && high - low < 0.06, "{phase:?}");
    }
    let pressure = find(&comparison, "w1").pressure.as_ref().unwrap();
    assert!((pressure.a.unwrap() - 0.5).abs() < 0.02 && pressure.difference.value.unwrap().abs() < 0.02);
    assert!(pressure.difference.ci_low.unwrap() < 0.0 && 0.0 < pressure.difference.ci_high.unwrap());
    assert!(pressure.ratio.ci_low.unwrap() < 1.0 && 1.0 < pressure.ratio.ci_high.unwrap());
    assert!(find(&comparison, "w0").pressure.is_none());
    assert_eq!(comparison.regressions().count(), 0);
}

#[test]
fn worse_is_a_regression_and_better_is_not() {
    let (a, b) = (recorded(BASE), recorded(Factors { seed: 2, all: 1.0, under_pressure: 0.8 }));
    let comparison = compared(a.path(), b.path());
    let worse = find(&comparison, "w1");
    assert_eq!((worse.verdict, worse.direction), (PhaseVerdict::Different, Some(Direction::Worse)));
    assert!((worse.ratio.unwrap() - 0.8).abs() < 0.02 && (worse.difference.value.unwrap() + 100.0).abs() < 10.0);
    let pressure = worse.pressure.as_ref().unwrap();
    assert!((pressure.difference.value.unwrap() - 0.1).abs() < 0.01 && pressure.difference.ci_low.unwrap() > 0.05);
    assert_eq!(find(&comparison, "w0").verdict, PhaseVerdict::Same);
    assert_eq!(comparison.regressions().count(), 1);
    let back = compared(b.path(), a.path());
    assert_eq!(find(&back, "w1").direction, Some(Direction::Better));
    assert_eq!(back.regressions().count(), 0);
}

#[test]
fn for_a_latency_higher_is_worse() {
    let dirs = [(100, 1), (150, 2)].map(|(latency_us, seed)| {
        let criterion =
            Criterion { metric: "latency.read.p99".into(), unit: "us".into(), better: BetterDirection::Lower };
        let plan = Plan { criterion, ..two_phases(60) };
        let dir = tempfile::tempdir().unwrap();
        let mut run = Run::seeded(dir.path(), &plan, seed, &json!({"host": {}}));
        plan.phases.iter().for_each(|phase| run.phase(phase, 1_000.0, latency_us, 50.0));
        run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
        dir
    });
    let comparison = compared(dirs[0].path(), dirs[1].path());
    let w0 = find(&comparison, "w0");
    assert!((w0.ratio.unwrap() - 1.5).abs() < 0.05 && w0.direction == Some(Direction::Worse), "{w0:?}");
}

#[test]
fn repeats_show_the_variance_between_runs() {
    let dir = tempfile::tempdir().unwrap();
    let plan = two_phases(60);
    let a = folder(dir.path(), "a", &plan, &repeats(&[0.92, 1.0, 1.08, 0.96, 1.04], 1.0, 1));
    let b = folder(dir.path(), "b", &plan, &repeats(&[0.93, 0.99, 1.07, 0.97, 1.04], 1.0, 11));
    let comparison = compared(&a, &b);
    let w1 = find(&comparison, "w1");
    assert_eq!((w1.a.runs, w1.b.runs), (5, 5));
    assert_eq!(w1.verdict, PhaseVerdict::Unknown, "runs differ by ±8 %: {w1:?}");
    assert!((1..200).contains(&w1.runs_needed.unwrap()), "{w1:?}");
    // Each run's pressure is against its own `w0`: what makes the whole run slower cancels out.
    let pressure = w1.pressure.as_ref().unwrap();
    assert!(pressure.difference.ci_high.unwrap() - pressure.difference.ci_low.unwrap() < 0.03, "{pressure:?}");
    let alone = compared(&a.join("runs/001"), &b.join("runs/001"));
    assert_eq!(find(&alone, "w1").verdict, PhaseVerdict::Same, "single runs do not show it");
}

#[test]
fn short_runs_need_repeats() {
    let dir = tempfile::tempdir().unwrap();
    let plan = two_phases(8);
    let a = folder(dir.path(), "a", &plan, &repeats(&[1.0; 4], 1.0, 1));
    let b = folder(dir.path(), "b", &plan, &repeats(&[1.0; 4], 1.0, 21));
    assert!(find(&compared(&a, &b), "w1").ci_low.is_some(), "four short runs have an interval from their means");
    let alone = compared(&a.join("runs/001"), &b.join("runs/001"));
    let w1 = find(&alone, "w1");
    assert!(
        w1.ratio.is_some() && w1.ci_low.is_none() && w1.verdict == PhaseVerdict::Unknown && w1.runs_needed.is_none()
    );
    assert!(w1.reason.as_deref().unwrap().contains("too short"), "{w1:?}");
}

#[test]
fn runs_of_a_sweep_are_compared_with_those_of_the_same_settings() {
    let dir = tempfile::tempdir().unwrap();
    let side = |name: &str, levels: &[(&str, f64)]| {
        for (index, (block_size, all)) in levels.iter().enumerate() {
            let mut plan = two_phases(60);
            plan.sweep.insert("writer.block_size".into(), json!(block_size));
            let factors = Factors { seed: index as u64 + 1, all: *all, under_pressure: 1.0 };
            record(&dir.path().join(name).join(format!("runs/{index:03}")), &plan, factors, &json!({"host": {}}));
        }
        dir.path().join(name)
    };
    let a = side("a", &[("4KiB", 1.0), ("64KiB", 2.0)]);
    let b = side("b", &[("64KiB", 2.0), ("4KiB", 1.0), ("1MiB", 3.0)]);
    let comparison = compared(&a, &b);
    assert_eq!(comparison.phases.len(), 4);
    assert!(comparison.phases.iter().all(|phase| phase.verdict == PhaseVerdict::Same), "{comparison:?}");
    assert_eq!(comparison.phases[0].settings["writer.block_size"], "4KiB");
    assert_eq!(comparison.not_compared, ["B writer.block_size = 1MiB (w0, w1)"]);
    assert_eq!(compared(&b, &a).not_compared, ["A writer.block_size = 1MiB (w0, w1)"]);
    assert!(!comparison.findings.iter().any(|finding| finding.id.starts_with("unlike-")), "{comparison:?}");
    let single = compared(&a.join("runs/000"), &a.join("runs/001"));
    let w0 = find(&single, "w0");
    assert_eq!(w0.verdict, PhaseVerdict::Different, "two single runs are compared even if their settings differ");
    assert_eq!(w0.settings_b.as_ref().unwrap()["writer.block_size"], "64KiB");
    let unlike = single.findings.iter().find(|finding| finding.id == "unlike-neighbours").unwrap();
    assert!(unlike.text.starts_with("The neighbours differ: `writer.block_size` is 4KiB in "), "{unlike:?}");
    assert_eq!(unlike.threat.unwrap().strength, ThreatStrength::Minor, "it is what the comparison is about");
}

#[test]
fn an_unmeasured_phase_has_no_ratio() {
    let plan = two_phases(60);
    let whole = recorded(BASE);
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::begin(dir.path(), &plan);
    run.phase(&plan.phases[0], 1_000.0, 100, 0.0);
    run.event(Event::PhaseGap { phase: "w1".into(), reason: "`writer` died".into() });
    run.writer.finish(at(run.second), RunStatus::Failed).unwrap();
    let comparison = compared(whole.path(), dir.path());
    let w1 = find(&comparison, "w1");
    assert_eq!((w1.ratio, w1.verdict, w1.b.runs), (None, PhaseVerdict::Unknown, 0));
    assert!(w1.reason.as_deref().unwrap().contains("`writer` died"), "{w1:?}");
    let json = serde_json::to_value(&comparison).unwrap();
    assert_eq!(json["phases"][1]["ratio"], Value::Null);
    assert_eq!(json["phases"][0]["verdict"], "same");
}

#[test]
fn different_firmware_is_reported() {
    let dirs = ["1.0", "2.0"].map(|firmware| {
        let dir = tempfile::tempdir().unwrap();
        let environment = json!({"host": {"kernel": "6.1"}, "device": {"model": "Fast 1", "firmware": firmware}});
        record(dir.path(), &two_phases(60), BASE, &environment);
        dir
    });
    let comparison = compared(dirs[0].path(), dirs[1].path());
    let ids: Vec<&str> = comparison.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["unlike-device-firmware", "device-state-unknown"]);
    assert!(comparison.findings[0].text.contains("`1.0`") && comparison.findings[0].text.contains("`2.0`"));
}

/// A run whose primary's last level holds `gib`, on a device with a utilisation of 100 GiB.
fn with_level(dir: &Path, gib: f64, sweep: &[(&str, Value)]) {
    let sweep = sweep.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let plan = Plan { sweep, ..two_phases(60) };
    let environment = json!({"host": {"name": "a", "memory_bytes": GIB}, "directory": "/data"});
    let mut run = Run::seeded(dir, &plan, 1, &environment);
    run.writer.begin_series("db.engine", &[Column::new("level6_bytes", "B")]).unwrap();
    run.writer.begin_series("health", &[Column::new("utilisation", "B"), Column::new("temperature", "°C")]).unwrap();
    run.writer.begin_series("memory", &[Column::new("dirty", "B")]).unwrap();
    for second in 1..=60 {
        // Only the first ten samples and the first reading are the initial state.
        let later = if second > 10 { 10.0 } else { 1.0 };
        run.writer.sample("db.engine", at(second), &[Some(gib * later * GIB)]).unwrap();
        run.writer.sample("memory", at(second), &[Some(0.0)]).unwrap();
    }
    run.writer.sample("health", at(1), &[Some(100.0 * GIB), Some(40.0)]).unwrap();
    run.writer.sample("health", at(30), &[Some(200.0 * GIB), Some(70.0)]).unwrap();
    plan.phases.iter().for_each(|phase| run.phase(phase, 1_000.0, 100, 50.0));
    run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
}

const GIB: f64 = (1_u64 << 30) as f64;

#[test]
fn different_initial_states_are_reported() {
    let differences = |runs: [(f64, &[(&str, Value)]); 2]| {
        let dir = tempfile::tempdir().unwrap();
        for (index, (gib, sweep)) in runs.into_iter().enumerate() {
            with_level(&dir.path().join(format!("runs/{index:03}")), gib, sweep);
        }
        let runs = ComparedRuns::read(dir.path()).unwrap();
        condition_differences(runs.runs.iter().map(|run| (run.dir.as_path(), &run.conditions)))
    };
    assert_eq!(differences([(1.0, &[]), (1.04, &[])]), []);
    let findings = differences([(1.0, &[]), (2.0, &[])]);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].id, "unlike-state");
    assert!(findings[0].text.contains("level 6 held 50 % in"), "{findings:?}");
    assert!(!findings[0].text.contains("°C"), "{findings:?}");
    let different_data = [("primary.records", json!(2))];
    assert_eq!(
        differences([(1.0, &[]), (2.0, &different_data)]),
        [],
        "a different database has different levels by design"
    );
    let different_neighbour = [("writer.block_size", json!("4KiB"))];
    assert_eq!(differences([(1.0, &[]), (2.0, &different_neighbour)]).len(), 1);
}

#[test]
fn incomparable_recordings_are_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |path: &Path| ComparedRuns::read(path).unwrap_err().to_string();
    assert!(refused(dir.path()).contains("neither a recording nor a directory"), "{}", refused(dir.path()));
    assert!(refused(&dir.path().join("nowhere")).contains("nowhere"));
    let record_with = |name: &str, plan: &Plan| {
        let path = dir.path().join(name);
        record(&path, plan, BASE, &json!({"host": {}}));
        path
    };
    let usual = record_with("usual", &two_phases(20));
    std::fs::create_dir_all(dir.path().join("broken")).unwrap();
    std::fs::write(dir.path().join("broken/plan.json"), "{").unwrap();
    assert!(refused(&dir.path().join("broken")).contains("plan.json"));
    let mut nobody = two_phases(20);
    nobody.workloads[0].role = Role::Neighbour;
    assert!(refused(&record_with("nobody", &nobody)).contains("no primary"));
    let pair_of = |path: &Path| {
        compare_pair(&ComparedRuns::read(&usual).unwrap(), &ComparedRuns::read(path).unwrap(), DEFAULT_BOUND)
            .unwrap_err()
            .to_string()
    };
    let mut other = two_phases(20);
    other.criterion = Criterion { metric: "throughput".into(), unit: "MiB/s".into(), better: BetterDirection::Higher };
    let text = pair_of(&record_with("other-unit", &other));
    assert!(text.contains("ops/s") && text.contains("MiB/s"), "{text}");
    let elsewhere = plan(vec![phase("w7", PhaseKind::Pressure, 20, 3)]);
    let text = pair_of(&record_with("elsewhere", &elsewhere));
    assert!(text.contains("no phase in common") && text.contains("w7") && text.contains("w0"), "{text}");
    let usual = ComparedRuns::read(&usual).unwrap();
    assert!(compare_pair(&usual, &usual, 0.0).unwrap_err().to_string().contains("invalid bound"));
}

#[test]
fn a_damaged_recording_is_compared_and_reported() {
    let (a, b) = (recorded(BASE), recorded(BASE));
    std::fs::write(b.path().join("samples/db.parquet"), "not parquet").unwrap();
    let comparison = compared(a.path(), b.path());
    let ids: Vec<&str> = comparison.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert!(ids.contains(&"void-recording") && ids.contains(&"damaged"), "{ids:?}");
    assert!(comparison.phases.iter().all(|phase| phase.verdict == PhaseVerdict::Unknown && phase.reason.is_some()));
}

#[test]
fn a_phase_of_only_one_side_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let with = |name: &str, id: &str, seed: u64| {
        let mut plan = two_phases(20);
        plan.phases.push(phase(id, PhaseKind::Pressure, 20, 64));
        record(&dir.path().join(name), &plan, Factors { seed, ..BASE }, &json!({"host": {}}));
        dir.path().join(name)
    };
    let (a, b, c) = (with("a", "w2", 1), with("b", "w7", 2), with("c", "w2", 3));
    let comparison = compared(&a, &b);
    assert_eq!(comparison.phases.len(), 2);
    assert_eq!(comparison.not_compared, ["A w2 (writer.iodepth = 64)", "B w7 (writer.iodepth = 64)"]);
    let all: Vec<ComparedRuns> = [&a, &c, &b].map(|path| ComparedRuns::read(path).unwrap()).into();
    let series = compare_series(&all, DEFAULT_BOUND).unwrap();
    let expected = [
        "w7 (writer.iodepth = 64): measured in only one recording",
        "w2 (writer.iodepth = 64): not in the last recording, but in 2 before it",
    ];
    assert_eq!((series.phases.len(), series.not_compared), (2, expected.map(str::to_owned).into()));
}

/// A recording whose processors were saturated in `w1` and whose neighbour died in it.
fn doubtful(dir: &Path, seed: u64) {
    let plan = two_phases(60);
    let mut run = Run::seeded(dir, &plan, seed, &json!({"host": {}}));
    run.phase(&plan.phases[0], 1_000.0, 100, 50.0);
    run.phase(&plan.phases[1], 500.0, 100, 50.0);
    let columns = ["user", "system", "idle"].map(|name| Column::new(name, "cores"));
    run.writer.begin_series("cpu", &columns).unwrap();
    for second in 0..=120 {
        let busy = if second > 60 { 3.9 } else { 1.0 };
        run.writer.sample("cpu", at(second), &[Some(busy), Some(0.0), Some(4.0 - busy)]).unwrap();
    }
    run.event(Event::Error { workload: "writer".into(), text: "no space left".into() });
    run.writer.finish(at(run.second), RunStatus::Failed).unwrap();
}

#[test]
fn findings_of_the_compared_runs_are_repeated_with_their_folders() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    record(&a.join("runs/001"), &two_phases(60), BASE, &json!({"host": {}}));
    doubtful(&a.join("runs/002"), 2);
    doubtful(&b, 3);
    let expected = ["cpu-saturated", "worker-failed", "run-failed", "worker-failed", "run-failed"];
    let check = |findings: &[Finding]| {
        assert_eq!(findings.iter().map(|finding| finding.id.as_str()).collect::<Vec<_>>(), expected);
        let severities = [Severity::Warning, Severity::Error, Severity::Error, Severity::Error, Severity::Error];
        assert!(findings.iter().map(|finding| finding.severity).eq(severities), "{findings:?}");
        let (first, last) = (&findings[1].text, &findings[0].text);
        assert!(first.contains("a/runs/002: `writer` failed: no space left"), "{first}");
        let both =
            format!("in {} and {}: The processors were saturated in w1", a.join("runs/002").display(), b.display());
        assert!(last.contains(&both), "{last}");
        assert!(!last.contains("runs/001"), "{last}");
    };
    let (a, b) = (ComparedRuns::read(&a).unwrap(), ComparedRuns::read(&b).unwrap());
    check(&compare_pair(&a, &b, DEFAULT_BOUND).unwrap().findings);
    let between = dir.path().join("between");
    record(&between, &two_phases(60), Factors { seed: 30, ..BASE }, &json!({"host": {}}));
    check(&compare_series(&[a, ComparedRuns::read(&between).unwrap(), b], DEFAULT_BOUND).unwrap().findings);
}

#[test]
fn a_warning_of_many_runs_names_some_and_counts_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let environment = json!({"device": {"name": "vda", "virtual": true}});
    for index in 0..11 {
        let factors = Factors { seed: index + 1, ..BASE };
        record(&dir.path().join(format!("runs/{index:03}")), &two_phases(20), factors, &environment);
    }
    let other = tempfile::tempdir().unwrap();
    record(other.path(), &two_phases(20), Factors { seed: 20, ..BASE }, &json!({"host": {}}));
    let findings = compared(dir.path(), other.path()).findings;
    let text = &findings.iter().find(|finding| finding.id == "virtual-disk").unwrap().text;
    assert!(text.contains("runs/007 and 3 more: vda is a virtual disk"), "{text}");
}

/// A recording of which samples are missing in the last seconds of `gap`.
fn with_gap(dir: &Path, gap: &str) {
    let plan = two_phases(60);
    let mut run = Run::seeded(dir, &plan, 7, &json!({"host": {}}));
    for phase in &plan.phases {
        run.event(Event::PhaseStarted { phase: phase.id.clone() });
        for second in 0..60 {
            if phase.id == gap && second >= 25 {
                run.second += 1;
            } else {
                run.tick(if phase.kind == PhaseKind::Baseline { 1_000.0 } else { 500.0 }, 100, None);
            }
        }
        run.event(Event::PhaseEnded { phase: phase.id.clone() });
    }
    run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
}

#[test]
fn a_comparison_with_a_void_side_is_void_and_says_which_and_why() {
    let (whole, dir) = (recorded(BASE), tempfile::tempdir().unwrap());
    with_gap(&dir.path().join("void"), "w0");
    for (side, comparison) in [
        ("A", compared(&dir.path().join("void"), whole.path())),
        ("B", compared(whole.path(), &dir.path().join("void"))),
    ] {
        assert_eq!((comparison.verdict.grade, comparison.gate()), (Grade::Void, GateResult::Undecided));
        let sentence = comparison.verdict.sentence();
        let start = format!("Verdict: void. {side} (");
        assert!(
            sentence.starts_with(&start) && sentence.contains("void) is void, because samples are missing in w0"),
            "{sentence}"
        );
    }
}

#[test]
fn saturated_processors_do_not_make_a_comparison_void() {
    let (whole, dir) = (recorded(BASE), tempfile::tempdir().unwrap());
    doubtful(dir.path(), 3);
    assert_eq!(compared(whole.path(), dir.path()).verdict.grade, Grade::Indicative);
}

#[test]
fn a_void_phase_of_one_side_is_undecided() {
    let dir = tempfile::tempdir().unwrap();
    let plan = Plan {
        phases: vec![
            phase("w0", PhaseKind::Baseline, 60, 1),
            phase("w1", PhaseKind::Pressure, 60, 16),
            phase("w2", PhaseKind::Pressure, 60, 64),
        ],
        ..two_phases(60)
    };
    let record_three = |path: &Path, gap: bool, seed: u64| {
        let mut run = Run::seeded(path, &plan, seed, &json!({"host": {}}));
        for phase in &plan.phases {
            run.event(Event::PhaseStarted { phase: phase.id.clone() });
            for second in 0..60 {
                if gap && phase.id == "w1" && second >= 25 {
                    run.second += 1
                } else {
                    run.tick(1_000.0 + seed as f64, 100, Some(50.0))
                }
            }
            run.event(Event::PhaseEnded { phase: phase.id.clone() });
        }
        run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
    };
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    record_three(&a, false, 1);
    record_three(&b, true, 2);
    let comparison = compared(&a, &b);
    assert_eq!(comparison.verdict.grade, Grade::Indicative, "w2 is left");
    let w1 = find(&comparison, "w1");
    assert_eq!((w1.gate, w1.needed_s), (GateResult::Undecided, None));
    assert!(w1.reason.as_deref().unwrap().ends_with("b, because samples are missing"), "{w1:?}");
}

/// A recording of this experiment file.
fn with_file(dir: &Path, file: &str, environment: &Value, seed: u64) {
    record(dir, &two_phases(60), Factors { seed, ..BASE }, environment);
    std::fs::write(dir.join("experiment.toml"), file).unwrap();
}

#[test]
fn other_workloads_are_reported_with_what_differs_and_what_is_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let own = json!({"host": {}});
    let file = |workload: &str, threads: u32| format!("[primary]\nworkload = \"{workload}\"\nthreads = {threads}\n");
    with_file(&path("a"), &file("ycsb-a", 4), &own, 1);
    with_file(&path("b"), &file("ycsb-b", 4), &own, 2);
    with_file(&path("c"), &file("ycsb-b", 8), &own, 3);
    with_file(&path("d"), "[primary]\nworkload = \"ycsb-b\"\n", &json!({"host": {}, "imported": {}}), 4);
    let unlike = |a: &str, b: &str| {
        let findings = compared(&path(a), &path(b)).findings;
        let found = findings.into_iter().find(|finding| finding.id == "unlike-primary").unwrap();
        (found.text.replace(&format!("{}/", dir.path().display()), ""), found.threat.unwrap().strength)
    };
    let (text, strength) = unlike("a", "b");
    assert!(
        text.starts_with("The primary differs: `primary.workload` is ycsb-a in a and ycsb-b in b. Nothing else"),
        "{text}"
    );
    assert_eq!(strength, ThreatStrength::Minor);
    let (text, strength) = unlike("a", "c");
    assert!(text.contains("`primary.threads` is 4 in a and 8 in c; `primary.workload` is ycsb-a in a and"), "{text}");
    assert_eq!(strength, ThreatStrength::Serious, "which of them explains a difference is unknown");
    let (text, strength) = unlike("c", "d");
    assert!(text.starts_with("The primary differs: `primary.threads` is 8 in c and unknown in d. "), "{text}");
    assert_eq!(strength, ThreatStrength::Serious);
}

#[test]
fn a_device_that_is_known_on_one_side_only_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    record(&a, &two_phases(60), BASE, &json!({"device": {"model": "Fast 1"}}));
    record(&b, &two_phases(60), Factors { seed: 2, ..BASE }, &json!({"device": {"model": null}}));
    let findings = compared(&a, &b).findings;
    let text = &findings.iter().find(|finding| finding.id == "unlike-device-model").unwrap().text;
    assert!(text.starts_with("The device model may differ: `Fast 1` in ") && text.contains(", unknown in "), "{text}");
}

/// A series of recordings with these factors on `w1`.
fn series_of(factors: &[(usize, f64)]) -> (TempDir, Vec<ComparedRuns>) {
    let dir = tempfile::tempdir().unwrap();
    let plan = two_phases(10);
    let factors = factors.iter().flat_map(|(count, factor)| std::iter::repeat_n(*factor, *count));
    let recordings = factors.enumerate().map(|(index, under_pressure)| {
        let path = dir.path().join(format!("{index:02}"));
        record(&path, &plan, Factors { seed: index as u64, all: 1.0, under_pressure }, &json!({"host": {}}));
        ComparedRuns::read(&path).unwrap()
    });
    let recordings = recordings.collect();
    (dir, recordings)
}

#[test]
fn a_series_has_its_change_and_the_direction() {
    let (_dir, recordings) = series_of(&[(12, 1.0), (8, 0.8)]);
    let series = compare_series(&recordings, DEFAULT_BOUND).unwrap();
    let [w0, w1] = series.phases.as_slice() else { panic!("{series:?}") };
    assert!(w0.changes.is_empty() && w0.verdict == PhaseVerdict::Unknown && w0.ratio.is_none());
    assert_eq!((w1.changes.len(), w1.changes[0].index), (1, 12), "{w1:?}");
    assert!(w1.changes[0].recording.ends_with("12") && (w1.ratio.unwrap() - 0.8).abs() < 0.03);
    assert_eq!((w1.direction, series.regressions().count()), (Some(Direction::Worse), 1));
    let back: Vec<ComparedRuns> = recordings.into_iter().rev().collect();
    assert_eq!(compare_series(&back, DEFAULT_BOUND).unwrap().regressions().count(), 0);
    assert!(compare_series(&back, 0.5).unwrap().phases.iter().all(|phase| phase.changes.is_empty()));
}

#[test]
fn a_regression_lasts_until_the_performance_recovers() {
    let (_dir, mended) = series_of(&[(10, 1.0), (8, 0.7), (8, 1.0)]);
    let series = compare_series(&mended, DEFAULT_BOUND).unwrap();
    let w1 = &series.phases[1];
    assert_eq!((series.regressions().count(), w1.direction), (0, Some(Direction::Better)), "{w1:?}");
    assert_eq!((w1.changes[0].direction, w1.changes[0].recovered_at), (Direction::Worse, Some(18)), "{w1:?}");
    let (_dir, in_part) = series_of(&[(10, 1.0), (8, 0.6), (8, 0.8)]);
    let series = compare_series(&in_part, DEFAULT_BOUND).unwrap();
    let w1 = &series.phases[1];
    assert_eq!((series.regressions().count(), w1.direction), (1, Some(Direction::Worse)), "{w1:?}");
    assert_eq!((w1.changes.len(), w1.regression().unwrap().index), (2, 10), "{w1:?}");
    assert!((w1.ratio.unwrap() - 0.8).abs() < 0.03, "against the performance before: {w1:?}");
}

#[test]
fn swept_conditions_may_differ() {
    let dir = tempfile::tempdir().unwrap();
    for (index, scheduler) in ["bfq", "none"].iter().enumerate() {
        let mut plan = two_phases(20);
        plan.sweep.insert("device.scheduler".into(), json!(scheduler));
        let environment = json!({"device": {"scheduler": scheduler, "firmware": index}});
        record(&dir.path().join(format!("runs/{index:03}")), &plan, BASE, &environment);
    }
    let runs = ComparedRuns::read(dir.path()).unwrap();
    let findings = condition_differences(runs.runs.iter().map(|run| (run.dir.as_path(), &run.conditions)));
    assert_eq!(findings.iter().map(|finding| finding.id.as_str()).collect::<Vec<_>>(), ["unlike-device-firmware"]);
}

#[test]
fn a_folder_without_recording_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let a = folder(dir.path(), "a", &two_phases(60), &repeats(&[1.0, 1.0], 1.0, 1));
    std::fs::create_dir(a.join("runs/003")).unwrap();
    let b = folder(dir.path(), "b", &two_phases(60), &repeats(&[1.0, 1.0], 1.0, 11));
    let comparison = compared(&a, &b);
    assert_eq!(find(&comparison, "w0").a.runs, 2);
    assert_eq!(comparison.findings.len(), 1, "{comparison:?}");
    assert_eq!(comparison.findings[0].id, "no-recording");
    assert!(comparison.findings[0].text.contains("runs/003"));
}

#[test]
fn a_phase_is_compared_over_the_repeats_that_have_it() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = [("a", 1), ("b", 11)].map(|(name, seed)| {
        let (path, factors) = (dir.path().join(name), Factors { seed, ..BASE });
        let mut plan = two_phases(20);
        record(&path.join("runs/002"), &plan, factors, &json!({"host": {}}));
        plan.phases.truncate(1);
        record(&path.join("runs/001"), &plan, factors, &json!({"host": {}}));
        path
    });
    let comparison = compared(&a, &b);
    assert_eq!((find(&comparison, "w0").a.runs, find(&comparison, "w1").a.runs), (2, 1));
}

/// A sweep's recordings: a reference, a run with a swept setting, and the reference again.
fn with_reference(second: Factors) -> Vec<TempDir> {
    let swept = Plan { sweep: [("writer.dsync".to_owned(), json!(true))].into_iter().collect(), ..two_phases(60) };
    let between = tempfile::tempdir().unwrap();
    record(between.path(), &swept, Factors { seed: 7, all: 0.5, under_pressure: 1.0 }, &json!({"host": {}}));
    vec![reference(BASE), between, reference(second)]
}

fn reference(factors: Factors) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), &Plan { reference: true, ..two_phases(60) }, factors, &json!({"host": {}}));
    dir
}

fn drift(dirs: &[TempDir]) -> Vec<String> {
    let recordings: Vec<_> = dirs.iter().map(|dir| open(dir.path())).collect();
    let findings = reference_drift(&recordings.iter().collect::<Vec<_>>());
    findings.into_iter().map(|finding| format!("{}: {}", finding.id, finding.text)).collect()
}

#[test]
fn only_a_drifting_reference_is_reported() {
    assert!(drift(&with_reference(Factors { seed: 2, ..BASE })).is_empty());
    let dirs = with_reference(Factors { seed: 2, all: 0.7, under_pressure: 1.0 });
    let findings = drift(&dirs);
    assert_eq!(findings.len(), 1, "{findings:?}");
    for word in ["reference-drift", "w0 by a factor of 0.70", &dirs[2].path().display().to_string()] {
        assert!(findings[0].contains(word), "{findings:?}");
    }
    assert!(!findings[0].contains(&dirs[1].path().display().to_string()), "a swept run differs by design");
}

#[test]
fn repeats_are_numbered_in_the_order_of_runs() {
    let mut dirs = with_reference(BASE);
    dirs.extend(with_reference(BASE));
    let recordings: Vec<_> = dirs.iter().map(|dir| open(dir.path())).collect();
    assert_eq!(repeat_numbers(&recordings.iter().collect::<Vec<_>>()), [1, 1, 2, 3, 2, 4]);
}

#[test]
fn references_of_different_files_are_not_mixed() {
    let dirs = with_reference(Factors { seed: 2, all: 0.7, under_pressure: 1.0 });
    let file = dirs[2].path().join("experiment.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}write_budget = \"2TiB\"\n")).unwrap();
    assert_eq!(drift(&dirs).len(), 1, "a raised budget is the same file");
    std::fs::write(&file, format!("{text}seed = 2\n")).unwrap();
    assert!(drift(&dirs).is_empty());
}

#[test]
fn runs_without_a_sweep_have_no_reference() {
    assert!(drift(&[recorded(BASE), recorded(Factors { seed: 2, all: 0.5, under_pressure: 1.0 })]).is_empty());
}
