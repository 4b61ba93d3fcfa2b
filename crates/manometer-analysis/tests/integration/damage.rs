//! A recording with a file truncated anywhere, or missing, has a summary or is refused: never a panic, never a number that
//! is not finite.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_analysis::summarise;
use manometer_measure::Recording;
use manometer_measure::event::RunStatus;
use manometer_measure::plan::PhaseKind;
use proptest::prelude::*;

use crate::synthetic::{Run, at, find, open, phase, plan};

fn record(dir: &Path, finished: bool) {
    let phases = vec![phase("w0", PhaseKind::Baseline, 30, 1), phase("w1", PhaseKind::Pressure, 30, 16)];
    let plan = plan(phases);
    let mut run = Run::begin(dir, &plan);
    run.phase(&plan.phases[0], 1_000.0, 100, 0.0);
    run.phase(&plan.phases[1], 400.0, 300, 80.0);
    if finished {
        run.writer.finish(at(run.second), RunStatus::Complete).unwrap();
    } else {
        std::mem::forget(run.writer);
    }
    assert!(find(&summarise(&open(dir)), "w1").pressure.value.is_some());
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn summarised(dir: &Path) -> Result<(), TestCaseError> {
    let Ok(recording) = Recording::open(dir) else { return Ok(()) };
    let summary = summarise(&recording);
    for phase in &summary.phases {
        let numbers = [phase.performance.mean, phase.performance.ci_low, phase.pressure.value, phase.pressure.ci_high];
        prop_assert!(numbers.iter().flatten().all(|number| number.is_finite()), "{:?}", phase);
        prop_assert!(phase.performance.mean.is_some() || phase.performance.reason.is_some());
        prop_assert!(phase.pressure.value.is_some() || phase.pressure.reason.is_some());
    }
    prop_assert!(!summary.headline.is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_truncated_file_leaves_a_summary(which in any::<prop::sample::Index>(), at in 0.0..1.0f64, finished in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path(), finished);
        let files = files(dir.path());
        let path = which.get(&files);
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..(bytes.len() as f64 * at) as usize]).unwrap();
        summarised(dir.path())?;
    }

    #[test]
    fn a_missing_file_leaves_a_summary(which in any::<prop::sample::Index>(), finished in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path(), finished);
        fs::remove_file(which.get(&files(dir.path()))).unwrap();
        summarised(dir.path())?;
    }
}
