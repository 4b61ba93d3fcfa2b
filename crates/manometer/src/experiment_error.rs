//! Errors of experiments: problems in files, and requests that are wrong.

use manometer_experiment::conductor::RunError;
use manometer_experiment::file::{self, ExperimentError};
use manometer_experiment::isolate::IsolateError;
use manometer_experiment::lock::LockError;
use manometer_experiment::queue::QueueError;
use miette::GraphicalReportHandler;

use crate::exit_status::{ExitStatus, wrong_request};
use crate::output;

/// Prints the problems of an experiment file.
pub fn wrong_file(error: &ExperimentError) -> ExitStatus {
    error.problems.iter().for_each(print_problem);
    ExitStatus::WrongRequest
}

/// A line of a file with more bytes is not drawn.
const LONGEST_LINE: usize = 1_000;

/// Prints the problem with the place in the file.
fn print_problem(problem: &file::Problem) {
    let mut text = String::new();
    let drawn = GraphicalReportHandler::new().render_report(&mut text, problem);
    let place = problem.file_and_line().map(|(file, line)| format!("{file}:{line}: ")).unwrap_or_default();
    match drawn {
        Ok(()) if !text.lines().any(|line| line.len() > LONGEST_LINE) => {
            output::note(format!("{place}{}\n{}", problem.message(), without_message(&text)).trim_end())
        }
        _ => output::note(&problem.to_string()),
    }
}

/// A drawn report without the message that it begins with, which stands above it with its place.
fn without_message(text: &str) -> String {
    let is_message = |line: &&str| ![",-[", "╭─[", "help:"].iter().any(|begin| line.trim_start().starts_with(begin));
    text.lines().skip_while(is_message).map(|line| format!("{line}\n")).collect()
}

/// The exit status of a wrong request, or the error.
pub fn refuse(error: anyhow::Error) -> anyhow::Result<ExitStatus> {
    if !is_wrong_request(&error) {
        return Err(error);
    }
    Ok(wrong_request(error))
}

/// Whether another request would have been right, rather than another host.
fn is_wrong_request(error: &anyhow::Error) -> bool {
    error.is::<LockError>()
        || error.downcast_ref().is_some_and(RunError::is_wrong_request)
        || error.downcast_ref().is_some_and(QueueError::is_wrong_request)
        || error.downcast_ref().is_some_and(IsolateError::is_wrong_request)
}
