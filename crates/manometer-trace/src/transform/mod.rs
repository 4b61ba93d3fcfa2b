//! Transforms of traces, one per file: readers over readers, so that they stream and compose.

pub mod anonymise;
pub mod blocks;
pub mod complete;
pub mod copies;
pub mod intensify;
pub mod merge;
mod rename;
pub mod sample;
pub mod scale;
pub mod slice;
pub mod span;
pub mod subtrace;

use crate::error::TraceError;
use crate::reader::TraceReader;
use crate::record::Record;

/// The input of a transform.
pub type Input = Box<dyn TraceReader>;

/// Reads until at least one record is kept. Returns the number kept; 0 at the end.
fn read_kept(
    input: &mut Input,
    batch: &mut Vec<Record>,
    mut keeps: impl FnMut(&Record) -> Result<bool, TraceError>,
) -> Result<usize, TraceError> {
    while input.read(batch)? > 0 {
        let mut wrong = None;
        batch.retain(|record| match keeps(record) {
            Ok(kept) => kept && wrong.is_none(),
            Err(error) => {
                wrong.get_or_insert(error);
                false
            }
        });
        match wrong {
            Some(error) => return Err(error),
            None if batch.is_empty() => {}
            None => return Ok(batch.len()),
        }
    }
    Ok(0)
}
