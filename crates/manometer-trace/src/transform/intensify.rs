//! Intensifies a trace: overlays its parts, so that it is as many times heavier and shorter.

use super::Input;
use super::merge::Merge;
use super::rename::rename;
use super::span::TraceSpan;
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
    let inputs =
        (0..parts).map(|part| Ok(Box::new(TracePart { input: open()?, span, part, parts, ended: false }) as Input));
    Ok(Merge::new(inputs.collect::<Result<_, TraceError>>()?))
}

/// One part of a trace, shifted to time zero.
struct TracePart {
    input: Input,
    span: TraceSpan,
    part: u32,
    parts: u32,
    ended: bool,
}

impl TracePart {
    fn keeps(&mut self, record: &Record) -> bool {
        let part = self.span.part_of(record.time_ns.unwrap_or(self.span.first_ns), self.parts);
        // If times never go back, this part ends when the next one starts.
        self.ended |= part > self.part && self.span.times_backward == 0;
        part == self.part
    }
}

impl TraceReader for TracePart {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        while !self.ended && batch.is_empty() {
            if self.input.read(batch)? == 0 {
                return Ok(0);
            }
            batch.retain(|record| self.keeps(record));
        }
        let begin = self.span.part_begin_ns(self.part, self.parts);
        for record in batch.iter_mut() {
            *record = rename(record, self.part, self.parts)?;
            record.time_ns = record.time_ns.map(|time| time - begin);
        }
        Ok(batch.len())
    }

    fn skipped(&self) -> u64 {
        // Skipped entries count once, not once per part.
        if self.part == 0 { self.input.skipped() } else { 0 }
    }
}
