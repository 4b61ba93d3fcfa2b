//! Intensifies a trace: overlays its parts, so that it is as many times heavier and shorter.

use super::Input;
use super::filtered::Filtered;
use super::merge::Merge;
use super::nameless::nameless;
use super::rename::rename;
use super::span::TraceSpan;
use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;
use crate::error::TraceError;
use crate::reader::TraceReader;
use crate::record::Record;

/// The most parts; each opens the trace.
pub const PARTS_MAX: u32 = 128;

/// The trace in parts of equal time, all starting at time zero, each with its own keys. `open` opens the trace again,
/// since each part reads it separately.
///
/// # Errors
/// The trace cannot be opened or has no times, or there are too many parts.
pub fn intensify(
    mut open: impl FnMut() -> Result<Input, TraceError>,
    span: TraceSpan,
    parts: u32,
) -> Result<Merge, TraceError> {
    span.need_times("intensifying")?;
    if !(1..=PARTS_MAX).contains(&parts) {
        return Err(TraceError::Wrong(format!("{parts} parts: write 1 to {PARTS_MAX}")));
    }
    let inputs = (0..parts).map(|part| {
        let bounds = PartBounds { span, part, parts, ended: false };
        let input = Filtered::new(open()?);
        Ok(Box::new(TracePart { input, bounds, details: None, dropped: DroppedFields::default() }) as Input)
    });
    Ok(Merge::new(inputs.collect::<Result<_, TraceError>>()?))
}

/// One part of a trace, shifted to time zero, without what names keys.
struct TracePart {
    input: Filtered,
    bounds: PartBounds,
    details: Option<BatchDetails>,
    dropped: DroppedFields,
}

/// Which part of a trace it is, and whether it has ended.
struct PartBounds {
    span: TraceSpan,
    part: u32,
    parts: u32,
    ended: bool,
}

impl PartBounds {
    fn keeps(&mut self, record: &Record) -> bool {
        let part = self.span.part_of(record.time_ns.unwrap_or(self.span.first_ns), self.parts);
        // If times never go back, this part ends when the next one starts.
        self.ended |= part > self.part && self.span.times_backward == 0;
        part == self.part
    }

    fn shift(&self, record: &Record) -> Result<Record, TraceError> {
        let begin = self.span.part_begin_ns(self.part, self.parts);
        let renamed = rename(record, self.part, self.parts)?;
        Ok(Record { time_ns: renamed.time_ns.map(|time| time - begin), ..renamed })
    }
}

impl TraceReader for TracePart {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        while !self.bounds.ended && batch.is_empty() {
            if !self.input.read_batch(batch, |record| Ok(self.bounds.keeps(record)))? {
                return Ok(0);
            }
        }
        for record in batch.iter_mut() {
            *record = self.bounds.shift(record)?;
        }
        let recorded = self.input.details();
        if let Some(recorded) = recorded {
            (0..batch.len()).for_each(|at| self.dropped.count_key_text(&recorded.of(at)));
        }
        self.details = recorded.map(|recorded| nameless(recorded, batch.len(), &mut self.dropped));
        Ok(batch.len())
    }

    fn skipped(&self) -> u64 {
        // Skipped entries count once, not once per part.
        if self.bounds.part == 0 { self.input.input.skipped() } else { 0 }
    }

    fn details(&self) -> Option<&BatchDetails> {
        self.details.as_ref()
    }

    fn dropped(&self) -> DroppedFields {
        let mut dropped = self.input.dropped();
        dropped.add(&self.dropped);
        dropped
    }
}
