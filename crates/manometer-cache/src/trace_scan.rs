//! A pass over a trace that passes on the requests that a cache serves.

use manometer_trace::{Record, TraceError, TraceOperation, TraceReader};

use crate::error::CacheError;
use crate::request::RequestFields;

/// The most bytes that all requested objects may have together: no sum of sizes is then too large for 64 bits.
pub(crate) const BYTES_MAX: u64 = 1 << 61;

/// Numbers of requests that no simulation counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExcludedRequests {
    /// Deletes and discards.
    pub deletes: u64,
    /// Requests without a size, when sizes are needed.
    pub without_size: u64,
    /// Requests without a time, when times are needed.
    pub without_time: u64,
}

impl ExcludedRequests {
    /// The total.
    pub fn sum(&self) -> u64 {
        self.deletes + self.without_size + self.without_time
    }

    /// Removes from a batch, and counts, deletes and requests that lack a needed field.
    fn remove_from(&mut self, batch: &mut Vec<Record>, details: RequestFields) {
        batch.retain(|record| {
            let is_delete = matches!(record.operation, TraceOperation::Delete | TraceOperation::Discard);
            let has_no_size = details.sizes && record.value_size.is_none();
            let has_no_time = details.times && record.time_ns.is_none();
            self.deletes += u64::from(is_delete);
            self.without_size += u64::from(!is_delete && has_no_size);
            self.without_time += u64::from(!is_delete && !has_no_size && has_no_time);
            !(is_delete || has_no_size || has_no_time)
        });
    }
}

/// The result of a pass over a trace.
#[derive(Debug, Default)]
pub(crate) struct TraceScan {
    /// The number of requests passed on.
    pub(crate) requests: u64,
    pub(crate) excluded: ExcludedRequests,
    /// The error that ended the pass early.
    pub(crate) damage: Option<TraceError>,
}

/// The object sizes of a trace so far.
#[derive(Debug, Default)]
struct SizeSum {
    requests: u64,
    bytes: u64,
}

impl SizeSum {
    /// Adds the sizes of a batch.
    fn add(&mut self, batch: &[Record]) -> Result<(), CacheError> {
        for record in batch {
            let size = record.value_size.unwrap_or(0);
            self.requests += 1;
            self.bytes = self.bytes.saturating_add(size);
            if self.bytes > BYTES_MAX {
                return Err(CacheError::Invalid(format!(
                    "request {} has an object of {size} bytes, and all requests up to it have {} bytes or more: by size, \
                     requests with up to {BYTES_MAX} bytes (2 EiB) together can be simulated",
                    self.requests, self.bytes
                )));
            }
        }
        Ok(())
    }
}

/// Reads a trace to its end, or to the first damaged record, and passes the requests a cache serves to `consume`, batch
/// by batch, with the fields that are available: times are dropped when the first request has none.
///
/// # Errors
/// `consume` refuses a batch, or sizes are needed and those of all requests have more than [`BYTES_MAX`] together.
pub(crate) fn scan_trace(
    reader: &mut dyn TraceReader,
    mut details: RequestFields,
    mut consume: impl FnMut(&[Record], RequestFields) -> Result<(), CacheError>,
) -> Result<TraceScan, CacheError> {
    let (mut scan, mut batch, mut has_begun) = (TraceScan::default(), Vec::new(), false);
    let mut sizes = SizeSum::default();
    loop {
        match reader.read(&mut batch) {
            Ok(0) => return Ok(scan),
            Ok(_) => {}
            Err(damage) => return Ok(TraceScan { damage: Some(damage), ..scan }),
        }
        if !has_begun && batch.first().is_some_and(|record| record.time_ns.is_none()) {
            details.times = false;
        }
        has_begun = true;
        scan.excluded.remove_from(&mut batch, details);
        scan.requests += batch.len() as u64;
        if details.sizes {
            sizes.add(&batch)?;
        }
        consume(&batch, details)?;
    }
}
