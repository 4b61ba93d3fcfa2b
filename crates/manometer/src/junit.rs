//! JUnit XML for continuous integration.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

/// How a test ended, with a message where it did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestResult {
    /// It is shown to be right.
    Passed,
    /// It is shown to be wrong.
    Failed(String),
    /// Neither is shown.
    Undecided(String),
}

/// Tests of one criterion.
#[derive(Debug)]
pub struct Suite {
    name: String,
    metric: String,
    failure: &'static str,
    tests: Vec<(String, TestResult)>,
}

impl Suite {
    /// A suite without tests; `metric` is the class of its tests, `failure` the type of their failures.
    pub fn new(name: String, metric: &str, failure: &'static str) -> Self {
        Self { name, metric: metric.to_owned(), failure, tests: Vec::new() }
    }

    /// Adds a test.
    pub fn add(&mut self, name: &str, result: TestResult) {
        self.tests.push((name.to_owned(), result));
    }

    /// The document of this suite alone, which `report` made. Undecided tests are errors, or skipped where that is allowed.
    ///
    /// # Errors
    /// A name cannot be written as XML.
    pub fn document(self, report: &str, allow_undecided: bool) -> anyhow::Result<String> {
        document(report, vec![self], allow_undecided)
    }
}

/// The document of `suites`, as [`Suite::document`].
///
/// # Errors
/// A name cannot be written as XML.
pub fn document(report: &str, suites: Vec<Suite>, allow_undecided: bool) -> anyhow::Result<String> {
    let mut report = Report::new(report);
    for Suite { name, metric, failure, tests } in suites {
        let mut suite = TestSuite::new(name);
        for (name, result) in tests {
            let mut case = TestCase::new(name, status(result, failure, allow_undecided));
            case.set_classname(metric.as_str());
            suite.add_test_case(case);
        }
        report.add_test_suite(suite);
    }
    Ok(report.to_string()?)
}

fn status(result: TestResult, failure: &'static str, allow_undecided: bool) -> TestCaseStatus {
    let non_success = |kind, name: &str, message: String| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_type(name).set_message(message);
        status
    };
    match result {
        TestResult::Passed => TestCaseStatus::success(),
        TestResult::Failed(message) => non_success(NonSuccessKind::Failure, failure, message),
        TestResult::Undecided(message) if allow_undecided => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(message);
            status
        }
        TestResult::Undecided(message) => non_success(NonSuccessKind::Error, "undecided", message),
    }
}
