//! Slices a trace.

use super::Input;
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::reader::TraceReader;
use crate::record::Record;

/// The bounds of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SliceRange {
    /// The slice starts with the first request this long after the trace's first one.
    pub from_ns: u64,
    /// The slice ends before the first request this long after its start.
    pub length_ns: Option<u64>,
    /// The most requests.
    pub requests: Option<u64>,
}

/// `seconds` in nanoseconds; `name` names them in the error.
///
/// # Errors
/// They are negative, or too many.
pub fn nanoseconds(name: &str, seconds: f64) -> Result<u64, TraceError> {
    match seconds * 1e9 {
        nanoseconds if (0.0..1.8e19).contains(&nanoseconds) => Ok(nanoseconds.round() as u64),
        _ => Err(TraceError::Wrong(format!("{name} is {seconds}: write seconds, 0 or more"))),
    }
}

/// A contiguous slice of a trace, with unchanged times.
pub struct Slice {
    input: Input,
    stretch: SliceRange,
    /// The first time, and the start and end of the slice.
    bounds: Option<(u64, u64)>,
    begun: bool,
    ended: bool,
    given: u64,
}

impl Slice {
    /// The slice of `input` within `stretch`.
    pub fn new(input: Input, stretch: SliceRange) -> Self {
        let ended = stretch.requests == Some(0);
        Self { input, stretch, bounds: None, begun: false, ended, given: 0 }
    }

    /// Whether a record belongs to the slice. Ends the slice after the last one that does.
    fn keeps(&mut self, record: &Record) -> Result<bool, TraceError> {
        if self.ended {
            return Ok(false);
        }
        if self.stretch.from_ns > 0 || self.stretch.length_ns.is_some() {
            let time = record.time_ns.ok_or_else(|| {
                TraceError::Wrong("a request has no time: cut the trace by its number of requests instead".to_owned())
            })?;
            let (begin, end) = *self.bounds.get_or_insert_with(|| bounds(time, &self.stretch));
            self.begun |= time >= begin;
            self.ended |= self.begun && time >= end;
            if !self.begun || self.ended {
                return Ok(false);
            }
        }
        self.given += 1;
        self.ended |= self.stretch.requests == Some(self.given);
        Ok(true)
    }
}

fn bounds(first_ns: u64, stretch: &SliceRange) -> (u64, u64) {
    let begin = first_ns.saturating_add(stretch.from_ns);
    (begin, stretch.length_ns.map_or(u64::MAX, |length| begin.saturating_add(length)))
}

impl TraceReader for Slice {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        while !self.ended && batch.is_empty() {
            if self.input.read(batch)? == 0 {
                return Ok(0);
            }
            let mut wrong = None;
            batch.retain(|record| {
                self.keeps(record).unwrap_or_else(|error| {
                    wrong.get_or_insert(error);
                    false
                })
            });
            if let Some(error) = wrong {
                return Err(error);
            }
        }
        Ok(batch.len())
    }

    fn keys(&self) -> Option<&KeyTable> {
        self.input.keys()
    }

    fn skipped(&self) -> u64 {
        self.input.skipped()
    }
}
