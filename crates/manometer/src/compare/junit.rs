//! Verdicts as JUnit XML for continuous integration: a test per phase.

use manometer_analysis::compare::{Comparison, Direction, PhaseComparison, PhaseSeries, SeriesComparison, Verdict};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::result::ComparisonResult;
use super::text;

/// The JUnit document.
pub(super) fn document(result: &ComparisonResult) -> anyhow::Result<String> {
    let mut report = Report::new("manometer compare");
    report.add_test_suite(match result {
        ComparisonResult::Pair(pair) => pair_suite(pair),
        ComparisonResult::Series(series) => series_suite(series),
    });
    Ok(report.to_string()?)
}

fn pair_suite(pair: &Comparison) -> TestSuite {
    let case = |phase: &PhaseComparison| {
        let status = status(phase.direction, phase.verdict, text::phase_sentence(phase, pair));
        test_case(text::phase_name(&phase.id, &phase.label, &phase.settings), &pair.criterion.metric, status)
    };
    suite(format!("{} and {}", pair.a.display(), pair.b.display()), pair.phases.iter().map(case))
}

fn series_suite(series: &SeriesComparison) -> TestSuite {
    let case = |phase: &PhaseSeries| {
        // The verdict of a series is never "same": without a change the test passes.
        let verdict = if phase.changes.is_empty() { Verdict::Same } else { phase.verdict };
        let status = status(phase.direction, verdict, text::series_sentence(phase, series));
        test_case(text::phase_name(&phase.id, &phase.label, &phase.settings), &series.criterion.metric, status)
    };
    suite(format!("a series of {}", series.recordings.len()), series.phases.iter().map(case))
}

fn suite(name: String, cases: impl Iterator<Item = TestCase>) -> TestSuite {
    let mut suite = TestSuite::new(name);
    suite.add_test_cases(cases);
    suite
}

fn test_case(name: String, metric: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(metric);
    case
}

/// A regression fails, an unknown verdict is skipped.
fn status(direction: Option<Direction>, verdict: Verdict, message: String) -> TestCaseStatus {
    match (direction, verdict) {
        (Some(Direction::Worse), _) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type("regression").set_message(message);
            status
        }
        (_, Verdict::Unknown) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(message);
            status
        }
        _ => TestCaseStatus::success(),
    }
}
