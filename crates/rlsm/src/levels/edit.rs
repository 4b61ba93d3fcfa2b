//! One record of the manifest: what changed, all at once.

use crate::codec::{Reader, put_bytes, put_varint};
use crate::plan::Span;
use crate::run::Extent;
use crate::{Result, Sequence};

/// Where a run lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RunRef {
    /// The number of its data file.
    pub file: u64,
    /// The place of its footer there.
    pub footer: Extent,
}

/// A range as it is from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeRecord {
    pub span: Span,
    /// From the oldest.
    pub runs: Vec<RunRef>,
}

/// A change of the levels. A range is known by its lowest key; ranges are dropped before others are set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Edit {
    /// The oldest write-ahead log that is still needed.
    pub log: Option<u64>,
    /// The number that the next file gets, at least.
    pub next_number: u64,
    /// Every write up to this one lies in the levels.
    pub flushed: Option<Sequence>,
    /// Runs that leave Level 0.
    pub level0_dropped: Vec<RunRef>,
    /// Runs that come to Level 0, from the oldest.
    pub level0_added: Vec<RunRef>,
    /// The lowest keys of ranges that are no more.
    pub ranges_dropped: Vec<Box<[u8]>>,
    /// Ranges that are new or changed.
    pub ranges_set: Vec<RangeRecord>,
}

impl Edit {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.log.map_or(0, |log| log + 1));
        put_varint(&mut out, self.next_number);
        put_varint(&mut out, self.flushed.map_or(0, |flushed| flushed + 1));
        put_runs(&mut out, &self.level0_dropped);
        put_runs(&mut out, &self.level0_added);
        put_varint(&mut out, self.ranges_dropped.len() as u64);
        for low in &self.ranges_dropped {
            put_bytes(&mut out, low);
        }
        put_varint(&mut out, self.ranges_set.len() as u64);
        for range in &self.ranges_set {
            put_bytes(&mut out, &range.span.low);
            put_bytes(&mut out, &range.span.high);
            put_runs(&mut out, &range.runs);
        }
        out
    }

    /// Reads a record that begins at `offset` of `file`, which errors name.
    pub fn decode(payload: &[u8], file: &str, offset: u64) -> Result<Self> {
        let mut reader = Reader::new(payload, file, offset);
        let edit = Self {
            log: reader.varint()?.checked_sub(1),
            next_number: reader.varint()?,
            flushed: reader.varint()?.checked_sub(1),
            level0_dropped: runs(&mut reader)?,
            level0_added: runs(&mut reader)?,
            ranges_dropped: reader.list(|reader| Ok(reader.bytes()?.into()))?,
            ranges_set: reader.list(|reader| {
                let span = Span { low: reader.bytes()?.into(), high: reader.bytes()?.into() };
                if span.low > span.high {
                    return Err(reader.corrupt("a range whose lowest key is above its highest"));
                }
                Ok(RangeRecord { span, runs: runs(reader)? })
            })?,
        };
        reader.finish()?;
        Ok(edit)
    }
}

fn put_runs(out: &mut Vec<u8>, runs: &[RunRef]) {
    put_varint(out, runs.len() as u64);
    for run in runs {
        put_varint(out, run.file);
        put_varint(out, run.footer.offset);
        put_varint(out, run.footer.len);
    }
}

fn runs(reader: &mut Reader<'_>) -> Result<Vec<RunRef>> {
    reader.list(|reader| {
        let file = reader.varint()?;
        Ok(RunRef { file, footer: Extent { offset: reader.varint()?, len: reader.varint()? } })
    })
}
