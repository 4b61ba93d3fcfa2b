//! Merges several traces in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Input;
use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::reader::{BATCH_RECORDS, TraceReader};
use crate::record::Record;

/// Traces merged by time; at equal times the trace named first comes first.
///
/// Each trace keeps its own order: a request whose time goes back is emitted at once, and the requests of a command one
/// after the other. A damaged trace ends there, and its error is returned when all others have ended.
pub struct Merge {
    inputs: Vec<MergeInput>,
    next: BinaryHeap<Reverse<(u64, usize)>>,
    started: bool,
    damaged: Option<usize>,
    damage: Option<TraceError>,
    keys: Option<KeyTable>,
    details: Option<BatchDetails>,
}

/// A trace and its buffered records.
struct MergeInput {
    input: Input,
    batch: Vec<Record>,
    at: usize,
}

impl Merge {
    /// All requests of `inputs`.
    pub fn new(inputs: Vec<Input>) -> Self {
        let sides = inputs.into_iter().map(|input| MergeInput { input, batch: Vec::new(), at: 0 });
        let inputs = sides.collect();
        let next = BinaryHeap::new();
        Self { inputs, next, started: false, damaged: None, damage: None, keys: None, details: None }
    }

    /// The index of the first trace that was found damaged.
    pub fn damaged(&self) -> Option<usize> {
        self.damaged
    }

    /// Inserts the time of a trace's next request among those of the others.
    fn advance(&mut self, number: usize) -> Result<(), TraceError> {
        let side = &mut self.inputs[number];
        if side.at == side.batch.len() {
            side.at = 0;
            match side.input.read(&mut side.batch) {
                Ok(0) => return Ok(()),
                Ok(_) => learn_keys(&mut self.keys, side)?,
                Err(damage @ TraceError::Damaged { .. }) => {
                    side.batch.clear();
                    self.damaged.get_or_insert(number);
                    self.damage.get_or_insert(damage);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        let time = side.batch[side.at].time_ns.ok_or_else(|| {
            TraceError::Wrong(format!("a request of trace {} has no time: only times can be merged", number + 1))
        })?;
        self.next.push(Reverse((time, number)));
        Ok(())
    }

    /// Moves a trace's next request to `batch`, with those of the same command.
    fn emit(&mut self, number: usize, batch: &mut Vec<Record>) -> Result<(), TraceError> {
        let side = &mut self.inputs[number];
        let recorded = side.input.details();
        let end = recorded.map_or(side.at + 1, |recorded| recorded.command(side.at, side.batch.len()).end);
        for at in side.at..end {
            if let Some(recorded) = recorded {
                self.details.get_or_insert_default().push(batch.len(), &recorded.of(at));
            }
            batch.push(side.batch[at]);
        }
        side.at = end;
        self.advance(number)
    }
}

fn learn_keys(keys: &mut Option<KeyTable>, side: &MergeInput) -> Result<(), TraceError> {
    let Some(texts) = side.input.keys() else { return Ok(()) };
    let keys = keys.get_or_insert_default();
    for record in &side.batch {
        if let Some(text) = texts.text(record.key) {
            keys.keep(record.key, text).map_err(|fault| TraceError::Wrong(format!("the traces together: {fault}")))?;
        }
    }
    Ok(())
}

impl TraceReader for Merge {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        self.details.iter_mut().for_each(BatchDetails::clear);
        if !self.started {
            self.started = true;
            (0..self.inputs.len()).try_for_each(|number| self.advance(number))?;
        }
        while batch.len() < BATCH_RECORDS
            && let Some(Reverse((_, number))) = self.next.pop()
        {
            self.emit(number, batch)?;
        }
        match self.damage.take() {
            Some(damage) if batch.is_empty() => Err(damage),
            damage => {
                self.damage = damage;
                Ok(batch.len())
            }
        }
    }

    fn keys(&self) -> Option<&KeyTable> {
        self.keys.as_ref()
    }

    fn skipped(&self) -> u64 {
        self.inputs.iter().map(|side| side.input.skipped()).sum()
    }

    fn lost(&self) -> u64 {
        self.inputs.iter().map(|side| side.input.lost()).sum()
    }

    fn details(&self) -> Option<&BatchDetails> {
        self.details.as_ref()
    }

    fn dropped(&self) -> DroppedFields {
        let mut dropped = DroppedFields::default();
        self.inputs.iter().for_each(|side| dropped.add(&side.input.dropped()));
        dropped
    }
}
