//! Verdicts as JUnit XML for continuous integration: a test per phase, and one for the result as a whole.

use manometer_analysis::compare::{
    Comparison, ComparisonResult, GateResult, PhaseComparison, PhaseSeries, SeriesComparison,
};
use manometer_analysis::verdict::{Grade, Verdict};

use super::text;
use crate::junit::{Suite, TestResult};

/// The type of a failure, on which continuous integration filters.
const FAILURE: &str = "regression";

/// The JUnit document; undecided tests are errors, or skipped where that is allowed.
pub(super) fn document(result: &ComparisonResult, allow_undecided: bool) -> anyhow::Result<String> {
    let suite = match result {
        ComparisonResult::Pair(pair) => pair_suite(pair),
        ComparisonResult::Series(series) => series_suite(series),
    };
    suite.document("manometer compare", allow_undecided)
}

fn pair_suite(pair: &Comparison) -> Suite {
    let metric = &pair.criterion.metric;
    let mut suite = Suite::new(format!("{} and {}", pair.a.display(), pair.b.display()), metric, FAILURE);
    suite.add("result", void(&pair.verdict));
    for phase in &pair.phases {
        suite.add(&text::pair_phase_name(phase), of_phase(phase, pair));
    }
    // A phase that B lacks is not shown to be no worse.
    for phase in pair.not_compared.iter().filter(|phase| phase.starts_with("A ")) {
        suite.add(phase, TestResult::Undecided("only A has this phase".to_owned()));
    }
    suite
}

fn series_suite(series: &SeriesComparison) -> Suite {
    let mut suite = Suite::new(format!("a series of {}", series.recordings.len()), &series.criterion.metric, FAILURE);
    suite.add("result", void(&series.verdict));
    for phase in &series.phases {
        suite.add(&text::phase_name(&phase.id, &phase.label, &phase.settings), of_series(phase, series));
    }
    suite
}

/// The test of the result as a whole, which a void one does not pass.
fn void(verdict: &Verdict) -> TestResult {
    match verdict.grade {
        Grade::Void => TestResult::Undecided(verdict.sentence()),
        Grade::Sound | Grade::Indicative => TestResult::Passed,
    }
}

fn of_phase(phase: &PhaseComparison, pair: &Comparison) -> TestResult {
    of_gate(phase.gate, || text::phase_sentence(phase, pair))
}

fn of_series(phase: &PhaseSeries, series: &SeriesComparison) -> TestResult {
    of_gate(phase.gate(), || text::series_sentence(phase, series))
}

fn of_gate(gate: GateResult, message: impl Fn() -> String) -> TestResult {
    match gate {
        GateResult::NoWorse => TestResult::Passed,
        GateResult::Worse => TestResult::Failed(message()),
        GateResult::Undecided => TestResult::Undecided(message()),
    }
}
