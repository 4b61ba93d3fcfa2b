//! One transform of traces in each file: readers over readers, so that they stream and compose.

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

/// What a transform reads.
pub type Input = Box<dyn TraceReader>;

/// The next records of which some are kept, 0 at the end.
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
