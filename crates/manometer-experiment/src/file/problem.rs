//! What is wrong with an experiment file, said so that it can be mended at once.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use super::tree::Origin;

/// One thing that is wrong.
#[derive(Debug, Clone)]
pub(super) struct Complaint {
    pub message: String,
    pub help: Option<String>,
    pub origin: Option<Origin>,
}

impl Complaint {
    pub(super) fn new(message: impl Into<String>, origin: Option<Origin>) -> Self {
        Self { message: message.into(), help: None, origin }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// One thing that is wrong in an experiment file, with the file to point into.
#[derive(Debug)]
pub struct Problem {
    message: String,
    help: Option<String>,
    place: Option<(NamedSource<String>, std::ops::Range<usize>)>,
}

impl Problem {
    pub(super) fn new(complaint: Complaint, source: Option<NamedSource<String>>) -> Self {
        let place = source.zip(complaint.origin.map(|origin| origin.span));
        Self { message: complaint.message, help: complaint.help, place }
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What would be right, where that is known.
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The file and the line, counted from 1.
    pub fn file_and_line(&self) -> Option<(&str, usize)> {
        let (source, span) = self.place.as_ref()?;
        let before = source.inner().get(..span.start)?;
        Some((source.name(), before.matches('\n').count() + 1))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file_and_line() {
            Some((file, line)) => write!(f, "{file}:{line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|(source, _)| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (_, span) = self.place.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::underline(span.clone()))))
    }
}

/// Everything that is wrong with an experiment file; nothing was started.
#[derive(Debug)]
pub struct ExperimentError {
    /// The problems, in the order of the file.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => only.fmt(f),
            many => {
                writeln!(f, "the experiment has {} problems:", many.len())?;
                many.iter().try_for_each(|problem| writeln!(f, "  {problem}"))
            }
        }
    }
}

impl std::error::Error for ExperimentError {}
