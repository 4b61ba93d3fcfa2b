//! The problems of an experiment file, each with its line and its remedy.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use super::source::{Origin, Sources};

/// One failed check, with its position in a source.
#[derive(Debug, Clone)]
pub(crate) struct CheckError {
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
    pub origin: Option<Origin>,
}

impl CheckError {
    pub(crate) fn new(message: impl Into<String>, origin: Option<Origin>) -> Self {
        Self { message: message.into(), help: None, origin }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// One problem of an experiment file, with the text that it points into.
#[derive(Debug)]
pub struct Problem {
    message: String,
    help: Option<String>,
    place: Option<(NamedSource<String>, std::ops::Range<usize>)>,
}

impl Problem {
    fn new(error: CheckError, sources: &Sources) -> Self {
        let place = error.origin.and_then(|origin| Some((sources.named_source(&origin)?, origin.span)));
        Self { message: error.message, help: error.help, place }
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

/// The most problems that are listed.
const MAX_PROBLEMS: usize = 20;

/// All problems of an experiment file. Nothing was started.
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
                writeln!(f, "the experiment file has {} problems:", many.len())?;
                many.iter().try_for_each(|problem| writeln!(f, "  {problem}"))
            }
        }
    }
}

impl std::error::Error for ExperimentError {}

impl ExperimentError {
    pub(crate) fn new(mut errors: Vec<CheckError>, sources: &Sources) -> Self {
        errors.sort_by_key(|error| error.origin.as_ref().map(|origin| (origin.source, origin.span.start)));
        // A file with more is of another kind.
        let more = errors.len().saturating_sub(MAX_PROBLEMS);
        if more > 0 {
            errors.truncate(MAX_PROBLEMS);
            errors.push(CheckError::new(format!("{more} more problems are not listed"), None));
        }
        Self { problems: errors.into_iter().map(|error| Problem::new(error, sources)).collect() }
    }
}
