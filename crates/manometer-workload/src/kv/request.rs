//! The operations on an engine, and one request.

/// The kinds of requests. Their names are those of samples, histograms and criteria.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KvOperation {
    /// Reads the value of a record.
    Read,
    /// Reads the values of several records in one request.
    MultiRead,
    /// Writes a new value of an existing record.
    Update,
    /// Writes a new record.
    Insert,
    /// A read followed by an update, as one operation.
    ReadModifyWrite,
    /// Writes a record, whether or not it exists.
    Put,
    /// Writes a record after a read that found nothing.
    Fill,
    /// Reads some records in the order of their keys.
    Scan,
    /// The next record of an iteration over all.
    Next,
    /// Deletes a record.
    Delete,
    /// Merges an operand into a value.
    Merge,
    /// An update by the background thread.
    BackgroundUpdate,
    /// A merge by the background thread.
    BackgroundMerge,
    /// The next record of an iteration by the background thread.
    BackgroundScan,
}

impl KvOperation {
    /// Their number.
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
pub struct KvRequest {
    /// The operation.
    pub operation: KvOperation,
    /// Its record, or the first of several.
    pub record: u64,
    /// How many records a scan or a multi-read takes at most; 1 for the others.
    pub length: u32,
    /// Whether a scan or an iteration goes to lower keys.
    pub backward: bool,
    /// The length of the value to write; default: the workload's lengths.
    pub value_bytes: Option<u32>,
}

impl KvRequest {
    /// `operation` on one record.
    #[inline]
    pub fn of(operation: KvOperation, record: u64) -> Self {
        Self { operation, record, length: 1, backward: false, value_bytes: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_lies_at_its_number() {
        for (number, operation) in KvOperation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, number);
        }
    }
}
