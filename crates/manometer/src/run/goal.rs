//! Whether the runs of a command meet the goals of their experiments.

use manometer_analysis::summary::RunSummary;
use manometer_analysis::verdict::{PhaseGoal, all_met};
use manometer_measure::recording;
use manometer_report::AnalysedRecording;

use super::args::Args;
use crate::exit_status::ExitStatus;
use crate::junit::{self, Suite, TestResult};

/// The exit status for the goals of `recorded`, which are also written as JUnit XML where that is asked for.
pub(super) fn judge(args: &Args, recorded: &[AnalysedRecording]) -> anyhow::Result<ExitStatus> {
    if let Some(path) = &args.junit {
        let suites = recorded.iter().map(suite).collect();
        recording::write_file(path, junit::document("manometer run", suites, args.allow_undecided)?.as_bytes())?;
    }
    let met = recorded.iter().filter_map(|one| Some(one.summary.goal.as_ref()?.met));
    Ok(ExitStatus::of_gate(all_met(met), args.allow_undecided))
}

/// The tests of one recording; none without a goal.
fn suite(recorded: &AnalysedRecording) -> Suite {
    let summary = &recorded.summary;
    let mut suite = Suite::new(recorded.recording.dir.display().to_string(), &summary.criterion.metric, "goal-missed");
    let Some(goal) = &summary.goal else { return suite };
    let limit = format!("a pressure of at most {:.2}", goal.pressure);
    for phase in &goal.phases {
        suite.add(&format!("{}: {} ({limit})", phase.id, phase.label), result(phase, summary, &limit));
    }
    if goal.met.is_none() {
        let reason = goal.reason.clone().unwrap_or_else(|| "no phase decides it".to_owned());
        suite.add("result", TestResult::Undecided(reason));
    }
    suite
}

fn result(phase: &PhaseGoal, summary: &RunSummary, limit: &str) -> TestResult {
    match phase.met {
        Some(true) => TestResult::Passed,
        Some(false) => {
            let pressure = summary.phases.iter().find(|one| one.id == phase.id).map(|one| &one.pressure);
            let text = pressure.and_then(|one| {
                Some(format!("{:.2}, 95 % interval {:.2} to {:.2}", one.value?, one.ci_low?, one.ci_high?))
            });
            TestResult::Failed(format!("the pressure is {}, not {limit}", text.unwrap_or_default()))
        }
        None => TestResult::Undecided(phase.reason.clone().unwrap_or_default()),
    }
}
