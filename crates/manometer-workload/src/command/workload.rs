//! The external program as a [`Workload`]: a pause ends the program, `go` starts it again, and its output becomes samples.

use std::path::Path;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, MonotonicClock};
use serde_json::json;

use super::output_tail::OutputTail;
use super::parser::Parser;
use super::plan::parser_of;
use super::program::{Line, NextLine, Program};
use super::reports::sample;
use super::{CommandError, CommandSettings, EndPolicy};
use crate::error::WorkloadError;
use crate::interface::{ChangeOutcome, DrainMode, SamplingMode, Workload, WorkloadEvent};
use crate::sample::SampleCounts;

/// The output of one start of the program so far.
struct Output {
    parser: Box<dyn Parser>,
    operations: Vec<String>,
    /// When the last report arrived, or the program was started.
    since_ns: u64,
    reports: u64,
    lines: u64,
    not_understood: u64,
    last: OutputTail,
}

impl Output {
    /// The samples that a line completes.
    fn take_line(&mut self, line: &Line) -> Vec<WorkloadEvent> {
        self.lines += 1;
        self.last.push(line);
        let Some(reports) = self.parser.line(&line.text) else {
            self.not_understood += 1;
            if line.is_error {
                tracing::info!("{}", line.text);
            } else {
                tracing::debug!("not understood: {}", line.text);
            }
            return Vec::new();
        };
        let mut samples = Vec::new();
        for report in reports {
            self.reports += 1;
            let sample = sample(&report, &self.operations, line.t_ns, self.since_ns);
            // A report of nothing but numbers covers no interval.
            self.since_ns = if report.length_s == Some(0.0) { self.since_ns } else { line.t_ns };
            samples.push(WorkloadEvent::Sample(sample));
        }
        samples
    }
}

/// The program and its parsed output.
pub(super) struct CommandWorkload<'a> {
    settings: &'a CommandSettings,
    words: Vec<String>,
    directory: &'a Path,
    operations: Vec<String>,
    running: Option<(Program, Output)>,
    starts: u64,
    events: Vec<WorkloadEvent>,
}

impl<'a> CommandWorkload<'a> {
    /// The program does not start before the first `go`.
    pub(super) fn new(
        settings: &'a CommandSettings,
        words: Vec<String>,
        directory: &'a Path,
        operations: Vec<String>,
    ) -> Self {
        Self { settings, words, directory, operations, running: None, starts: 0, events: Vec::new() }
    }

    fn start(&mut self) -> Result<(), CommandError> {
        let program = Program::start(&self.words, &self.settings.environment, self.directory)?;
        self.starts += 1;
        self.note(format!("`{}` was started (process {}, start {})", self.words[0], program.pid(), self.starts));
        let output = Output {
            parser: parser_of(self.settings)?,
            operations: self.operations.clone(),
            since_ns: program.began_ns,
            reports: 0,
            lines: 0,
            not_understood: 0,
            last: OutputTail::default(),
        };
        self.running = Some((program, output));
        Ok(())
    }

    /// Handles the end of a program that ended by itself, as `at_end` requires.
    fn finish(&mut self, program: Program, mut output: Output) -> Result<(), CommandError> {
        let events = &mut self.events;
        let status = program.ended(|line| events.extend(output.take_line(&line)));
        let (success, status) = match status {
            Ok(status) => (status.success(), status.to_string()),
            Err(error) => (false, error.to_string()),
        };
        if !success || self.settings.at_end == EndPolicy::Fail {
            let (program, last) = (self.words[0].clone(), output.last.text());
            return Err(CommandError::Ended { program, status, last });
        }
        if output.reports == 0 {
            return Err(self.not_understood(&output));
        }
        self.note(format!("`{}` ended by itself with {status}", self.words[0]));
        if self.settings.at_end == EndPolicy::Restart { self.start() } else { Ok(()) }
    }

    fn not_understood(&self, output: &Output) -> CommandError {
        CommandError::NotUnderstood {
            parser: json!(self.settings.parser).as_str().unwrap_or_default().to_owned(),
            program: self.words[0].clone(),
            lines: output.lines,
            not_understood: output.not_understood,
            last: output.last.text(),
        }
    }

    fn note(&mut self, text: String) {
        self.events.push(WorkloadEvent::Note { t_ns: MonotonicClock.now_ns(), text });
    }
}

impl Workload for CommandWorkload<'_> {
    fn sampling(&self) -> SamplingMode {
        SamplingMode::Own
    }

    fn go(&mut self, _: u64) -> Result<(), WorkloadError> {
        if self.running.is_none() {
            self.start()?;
        }
        Ok(())
    }

    /// Ends the program and reads the rest of its output.
    fn pause(&mut self, _: u64) -> Result<(), WorkloadError> {
        let Some((program, mut output)) = self.running.take() else { return Ok(()) };
        if let Err(error) = program.end(|line| self.events.extend(output.take_line(&line))) {
            tracing::warn!("`{}` cannot be waited for: {error}", self.words[0]);
        }
        if output.not_understood > 0 {
            tracing::info!("{} of {} lines were not understood", output.not_understood, output.lines);
        }
        Ok(())
    }

    fn is_over(&mut self) -> Result<bool, WorkloadError> {
        Ok(false)
    }

    /// Reads the program's output.
    fn work_until(&mut self, deadline_ns: u64, clock: &dyn Clock) -> Result<(), WorkloadError> {
        let Some((program, output)) = &mut self.running else {
            clock.sleep_until(deadline_ns);
            return Ok(());
        };
        while clock.now_ns() < deadline_ns {
            if program.has_ended() {
                return Ok(self.running.take().map_or(Ok(()), |(program, output)| self.finish(program, output))?);
            }
            match program.next_line(deadline_ns.saturating_sub(clock.now_ns())) {
                NextLine::Line(line) => {
                    self.events.extend(output.take_line(&line));
                    return Ok(());
                }
                NextLine::Nothing => {}
                NextLine::End => clock.sleep_until(deadline_ns),
            }
        }
        let silent_ns = MonotonicClock.now_ns().saturating_sub(program.began_ns);
        if output.reports == 0 && silent_ns > self.settings.patience.nanoseconds() {
            return Err(self
                .running
                .take()
                .map_or(WorkloadError::Panicked, |(_, output)| self.not_understood(&output).into()));
        }
        Ok(())
    }

    fn check_change(&mut self, _: &Settings) -> Result<DrainMode, String> {
        Err("the settings of an external program cannot change while it runs".to_owned())
    }

    fn apply_change(&mut self, _: u64) -> Result<ChangeOutcome, WorkloadError> {
        Ok(ChangeOutcome::Refused("the settings of an external program cannot change while it runs".to_owned()))
    }

    fn take_counts(&mut self, _: u64) -> Option<SampleCounts> {
        None
    }

    fn take_events(&mut self) -> Vec<WorkloadEvent> {
        std::mem::take(&mut self.events)
    }
}
