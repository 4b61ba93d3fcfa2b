//! Clones a trace: repeats every request, each copy with its own keys.

use super::{Input, rename::rename};
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::reader::{BATCH_RECORDS, TraceReader};
use crate::record::Record;

/// Copies of a trace with disjoint keys at the same times. The first copy keeps its keys.
pub struct Copies {
    input: Input,
    copies: u32,
    held: Vec<Record>,
    next_record: usize,
    next_copy: u32,
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
        Ok(Self { input, copies, held: Vec::new(), next_record: 0, next_copy: 0 })
    }
}

impl TraceReader for Copies {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        if self.next_record == self.held.len() {
            self.next_record = 0;
            self.input.read(&mut self.held)?;
        }
        while batch.len() < BATCH_RECORDS && self.next_record < self.held.len() {
            batch.push(rename(&self.held[self.next_record], self.next_copy, self.copies)?);
            self.next_copy += 1;
            if self.next_copy == self.copies {
                self.next_copy = 0;
                self.next_record += 1;
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
