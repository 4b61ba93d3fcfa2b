//! Verdicts as JUnit XML, which continuous integration shows: a test per phase.

use std::fmt;

use manometer_analysis::compare::{Comparison, Direction, PhaseComparison, PhaseSeries, SeriesComparison, Verdict};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{Compared, show};

/// The document.
pub(super) fn document(compared: &Compared) -> anyhow::Result<String> {
    let mut report = Report::new("manometer compare");
    report.add_test_suite(match compared {
        Compared::Pair(pair) => of_pair(pair),
        Compared::Series(series) => of_series(series),
    });
    Ok(report.to_string()?)
}

fn of_pair(pair: &Comparison) -> TestSuite {
    let case = |phase: &PhaseComparison| {
        let status = status(phase.direction, phase.verdict, show::sentence(phase, pair));
        test_case(show::name(&phase.id, &phase.label, &phase.settings), &pair.criterion.metric, status)
    };
    suite(format!("{} and {}", pair.a.display(), pair.b.display()), pair.phases.iter().map(case))
}

fn of_series(series: &SeriesComparison) -> TestSuite {
    let case = |phase: &PhaseSeries| {
        // A series never says "same": where no change is found the test passes.
        let verdict = if phase.changes.is_empty() { Verdict::Same } else { phase.verdict };
        let status = status(phase.direction, verdict, show::whole_change(phase, series));
        test_case(show::name(&phase.id, &phase.label, &phase.settings), &series.criterion.metric, status)
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

/// Worse fails; what cannot be told is skipped.
fn status(direction: Option<Direction>, verdict: Verdict, text: impl fmt::Display) -> TestCaseStatus {
    let text = text.to_string();
    match (direction, verdict) {
        (Some(Direction::Worse), _) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type("regression").set_message(text);
            status
        }
        (_, Verdict::Unknown) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(text);
            status
        }
        _ => TestCaseStatus::success(),
    }
}
