//! A batch of records with what else is to be written of them.

use crate::details::BatchDetails;
use crate::key::KeyTable;
use crate::record::Record;

/// Records to write.
#[derive(Debug, Clone, Copy)]
pub struct TraceBatch<'a> {
    /// The records.
    pub records: &'a [Record],
    /// Their key texts, if they are to be written.
    pub keys: Option<&'a KeyTable>,
    /// What the trace records of them beyond, if that is to be written.
    pub details: Option<&'a BatchDetails>,
}

impl<'a> TraceBatch<'a> {
    /// Records alone.
    pub fn of(records: &'a [Record]) -> Self {
        Self { records, keys: None, details: None }
    }
}
