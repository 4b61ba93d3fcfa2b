//! Slices a trace.

use super::Input;
use super::filtered::Filtered;
use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;
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
    input: Filtered,
    state: SliceState,
}

/// How far a slice has come.
struct SliceState {
    range: SliceRange,
    /// Its start and end.
    bounds: Option<(u64, u64)>,
    has_begun: bool,
    has_ended: bool,
    kept: u64,
}

impl Slice {
    /// The slice of `input` within `range`.
    pub fn new(input: Input, range: SliceRange) -> Self {
        let has_ended = range.requests == Some(0);
        let state = SliceState { range, bounds: None, has_begun: false, has_ended, kept: 0 };
        Self { input: Filtered::new(input), state }
    }
}

impl SliceState {
    /// Whether a record belongs to the slice. Ends the slice after the last one that does.
    fn keeps(&mut self, record: &Record) -> Result<bool, TraceError> {
        if self.has_ended {
            return Ok(false);
        }
        if self.range.from_ns > 0 || self.range.length_ns.is_some() {
            let time = record.time_ns.ok_or_else(|| {
                TraceError::Wrong("a request has no time: cut the trace by its number of requests instead".to_owned())
            })?;
            let (begin, end) = *self.bounds.get_or_insert_with(|| bounds(time, &self.range));
            self.has_begun |= time >= begin;
            self.has_ended |= self.has_begun && time >= end;
            if !self.has_begun || self.has_ended {
                return Ok(false);
            }
        }
        self.kept += 1;
        self.has_ended |= self.range.requests == Some(self.kept);
        Ok(true)
    }
}

fn bounds(first_ns: u64, range: &SliceRange) -> (u64, u64) {
    let begin = first_ns.saturating_add(range.from_ns);
    (begin, range.length_ns.map_or(u64::MAX, |length| begin.saturating_add(length)))
}

impl TraceReader for Slice {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        let Self { input, state } = self;
        batch.clear();
        while !state.has_ended && batch.is_empty() {
            if !input.read_batch(batch, |record| state.keeps(record))? {
                return Ok(0);
            }
        }
        Ok(batch.len())
    }

    fn keys(&self) -> Option<&KeyTable> {
        self.input.input.keys()
    }

    fn skipped(&self) -> u64 {
        self.input.input.skipped()
    }

    fn lost(&self) -> u64 {
        self.input.input.lost()
    }

    fn details(&self) -> Option<&BatchDetails> {
        self.input.details()
    }

    fn dropped(&self) -> DroppedFields {
        self.input.dropped()
    }
}
