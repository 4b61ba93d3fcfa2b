//! The part of a trace that a transform keeps.

use super::Input;
use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;
use crate::error::TraceError;
use crate::record::Record;

/// A trace of which records are kept or left out, with the details of those kept of the last batch.
pub(super) struct Filtered {
    pub(super) input: Input,
    details: Option<BatchDetails>,
    dropped: DroppedFields,
}

impl Filtered {
    pub(super) fn new(input: Input) -> Self {
        Self { input, details: None, dropped: DroppedFields::default() }
    }

    /// What the trace records of the kept records beyond them.
    pub(super) fn details(&self) -> Option<&BatchDetails> {
        self.details.as_ref()
    }

    /// What was lost where a command was divided, and before.
    pub(super) fn dropped(&self) -> DroppedFields {
        let mut dropped = self.input.dropped();
        dropped.add(&self.dropped);
        dropped
    }

    /// Reads until at least one record is kept. Returns the number kept; 0 at the end.
    pub(super) fn read(
        &mut self,
        batch: &mut Vec<Record>,
        mut keeps: impl FnMut(&Record) -> Result<bool, TraceError>,
    ) -> Result<usize, TraceError> {
        while self.read_batch(batch, &mut keeps)? {
            if !batch.is_empty() {
                return Ok(batch.len());
            }
        }
        Ok(0)
    }

    /// Reads one batch and leaves those kept of it in `batch`, perhaps none. Returns whether there was one.
    pub(super) fn read_batch(
        &mut self,
        batch: &mut Vec<Record>,
        mut keeps: impl FnMut(&Record) -> Result<bool, TraceError>,
    ) -> Result<bool, TraceError> {
        if self.input.read(batch)? == 0 {
            return Ok(false);
        }
        let kept = batch.iter().map(&mut keeps).collect::<Result<Vec<bool>, TraceError>>()?;
        let details = self.input.details().map(|details| (details, details.selected(&kept)));
        if let Some((recorded, selected)) = &details {
            let kept = (0..kept.len()).filter(|at| kept[*at]);
            kept.enumerate().for_each(|(to, at)| self.dropped.count_details(&recorded.of(at), &selected.of(to)));
        }
        self.details = details.map(|(_, selected)| selected);
        let mut kept = kept.into_iter();
        batch.retain(|_| kept.next() == Some(true));
        Ok(true)
    }
}
