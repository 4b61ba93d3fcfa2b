//! The second reading of a trace: checks that the trace has not changed since the survey.

use manometer_trace::TraceReader;

use super::error::ReplayError;
use super::settings::TraceFile;
use super::survey_cache::FileStamp;

/// Opens a trace that was surveyed before, and checks that its stamp is still `stamp`.
pub(crate) fn reopen(file: &TraceFile, stamp: Option<FileStamp>) -> Result<Box<dyn TraceReader>, ReplayError> {
    let trace = file.options().and_then(|options| manometer_trace::open(&file.trace, &options));
    let describe = |error| ReplayError::Trace { path: file.trace.display().to_string(), error };
    let reader = trace.map_err(describe)?.reader;
    // Checked after opening: the file read from here on is the one that was checked.
    if FileStamp::of(&file.trace) != stamp {
        return Err(changed(file, "its length or the time of its last change is another".to_owned()));
    }
    Ok(reader)
}

/// Counts the requests of the second reading and checks their sizes.
pub(crate) struct SecondPass<'a> {
    file: &'a TraceFile,
    requests: u64,
    seen: u64,
}

impl<'a> SecondPass<'a> {
    /// The second reading of `file`, which had `requests` requests.
    pub(crate) fn new(file: &'a TraceFile, requests: u64) -> Self {
        Self { file, requests, seen: 0 }
    }

    /// Checks the next request, of `bytes` bytes, against the longest of the survey, `most`.
    #[inline]
    pub(crate) fn check(&mut self, bytes: u64, most: u64) -> Result<(), ReplayError> {
        if self.seen == self.requests || bytes > most {
            return Err(self.other(bytes, most));
        }
        self.seen += 1;
        Ok(())
    }

    /// Checks the number of requests at the end of the trace.
    pub(crate) fn end(&self) -> Result<(), ReplayError> {
        if self.seen < self.requests {
            return Err(changed(self.file, format!("it ended after {} of {} requests", self.seen, self.requests)));
        }
        Ok(())
    }

    #[cold]
    fn other(&self, bytes: u64, most: u64) -> ReplayError {
        let what = if self.seen == self.requests {
            format!("it had {} requests and has more", self.requests)
        } else {
            format!("request {} takes {bytes} bytes, and the longest took {most}", self.seen + 1)
        };
        changed(self.file, what)
    }
}

fn changed(file: &TraceFile, what: String) -> ReplayError {
    ReplayError::Changed { path: file.trace.display().to_string(), what }
}
