//! Clones a trace: repeats every request, each copy with its own keys.

use super::{Input, rename::rename};
use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::reader::{BATCH_RECORDS, TraceReader};
use crate::record::Record;

/// Copies of a trace with disjoint keys at the same times. The first copy keeps its keys, and with them what names keys;
/// the others lose their texts, commands and bounds of scans. Each copy of a command follows the one before.
pub struct Copies {
    input: Input,
    copies: u32,
    held: Vec<Record>,
    /// Where the next command begins, and which of its copies is next.
    next_record: usize,
    next_copy: u32,
    details: Option<BatchDetails>,
    dropped: DroppedFields,
}

impl Copies {
    /// `copies` copies of `input`.
    ///
    /// # Errors
    /// The number is 0 or too large.
    pub fn new(input: Input, copies: u32) -> Result<Self, TraceError> {
        if copies == 0 {
            return Err(TraceError::Wrong("0 copies: write a number from 1 on".to_owned()));
        }
        let dropped = DroppedFields::default();
        Ok(Self { input, copies, held: Vec::new(), next_record: 0, next_copy: 0, details: None, dropped })
    }

    /// Appends the next copy of the next command, most often one request.
    fn copy(&mut self, batch: &mut Vec<Record>) -> Result<(), TraceError> {
        let (copy, begin) = (self.next_copy, self.next_record);
        let recorded = self.input.details();
        let command = recorded.map_or(begin..begin + 1, |recorded| recorded.command(begin, self.held.len()));
        let of_command = recorded.is_some_and(|recorded| recorded.of(begin).command.is_some());
        for at in command.clone() {
            if let Some(recorded) = recorded.map(|recorded| recorded.of(at)) {
                let left = if copy == 0 { recorded } else { recorded.without_names(of_command) };
                self.dropped.count_details(&recorded, &left);
                if copy > 0 {
                    self.dropped.count_key_text(&recorded);
                }
                self.details.get_or_insert_default().push(batch.len(), &left);
            }
            batch.push(rename(&self.held[at], copy, self.copies)?);
        }
        self.next_copy = (copy + 1) % self.copies;
        if self.next_copy == 0 {
            self.next_record = command.end;
        }
        Ok(())
    }
}

impl TraceReader for Copies {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        self.details.iter_mut().for_each(BatchDetails::clear);
        if self.next_record == self.held.len() {
            self.next_record = 0;
            self.input.read(&mut self.held)?;
        }
        while batch.len() < BATCH_RECORDS && self.next_record < self.held.len() {
            self.copy(batch)?;
        }
        Ok(batch.len())
    }

    fn keys(&self) -> Option<&KeyTable> {
        self.input.keys()
    }

    fn skipped(&self) -> u64 {
        self.input.skipped()
    }

    fn lost(&self) -> u64 {
        self.input.lost()
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
