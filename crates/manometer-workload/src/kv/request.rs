//! What is asked of an engine: the operations, and one request.

/// The kinds of requests. Their names are those of samples, histograms and criteria.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// The value of a record.
    Read,
    /// The values of several records, asked for together.
    MultiRead,
    /// A new value for a record that is there.
    Update,
    /// A record that was not there.
    Insert,
    /// A read followed by an update, as one operation.
    ReadModifyWrite,
    /// A value for a record, whether it is there or not.
    Put,
    /// The same, after a read that found nothing.
    Fill,
    /// Some records in the order of their keys.
    Scan,
    /// The next record of a walk through all.
    Next,
    /// A record taken away.
    Delete,
    /// An operand merged into a value.
    Merge,
    /// An update beside the workload.
    BackgroundUpdate,
    /// A merge beside the workload.
    BackgroundMerge,
    /// The next record of a walk beside the workload.
    BackgroundScan,
}

impl Operation {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All of them, each at the place of its number.
    pub const ALL: [Self; 14] = [
        Self::Read,
        Self::MultiRead,
        Self::Update,
        Self::Insert,
        Self::ReadModifyWrite,
        Self::Put,
        Self::Fill,
        Self::Scan,
        Self::Next,
        Self::Delete,
        Self::Merge,
        Self::BackgroundUpdate,
        Self::BackgroundMerge,
        Self::BackgroundScan,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::MultiRead => "multi_read",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::ReadModifyWrite => "read_modify_write",
            Self::Put => "put",
            Self::Fill => "fill",
            Self::Scan => "scan",
            Self::Next => "next",
            Self::Delete => "delete",
            Self::Merge => "merge",
            Self::BackgroundUpdate => "background_update",
            Self::BackgroundMerge => "background_merge",
            Self::BackgroundScan => "background_scan",
        }
    }
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What is asked.
    pub operation: Operation,
    /// The record it is about, or the first of them.
    pub record: u64,
    /// How many records a scan or a multi-read takes at most; 1 for the others.
    pub length: u32,
    /// Whether a scan or a walk goes towards lower keys.
    pub backward: bool,
    /// How long the value is that a write writes; as the workload's values are unless said.
    pub value_bytes: Option<u32>,
}

impl Request {
    /// `operation` on one record.
    #[inline]
    pub fn of(operation: Operation, record: u64) -> Self {
        Self { operation, record, length: 1, backward: false, value_bytes: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_lies_at_its_number() {
        for (number, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, number);
        }
    }
}
