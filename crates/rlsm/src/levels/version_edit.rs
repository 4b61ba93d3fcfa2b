//! Version edits: the records of the manifest.

use crate::codec::{ByteReader, put_bytes, put_varint};
use crate::entry::NUMBER_LIMIT;
use crate::plan::{KeySpan, LEVEL0_RUNS_MAX};
use crate::run::Extent;
use crate::{Error, Result, SequenceNumber};

/// The location of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RunLocation {
    /// The number of its file.
    pub file: u64,
    /// The extent of its footer in the file.
    pub footer: Extent,
}

/// A range as of this edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeRecord {
    pub span: KeySpan,
    /// The oldest first.
    pub runs: Vec<RunLocation>,
}

/// A version edit. A range is identified by its lowest key. Dropped ranges are removed before others are set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct VersionEdit {
    /// The oldest WAL that is needed.
    pub log: Option<u64>,
    /// No file has this number or a higher one.
    pub next_number: u64,
    /// Every write up to this one is in the levels.
    pub flushed: Option<SequenceNumber>,
    /// Runs that leave Level 0.
    pub level0_dropped: Vec<RunLocation>,
    /// Runs that are added to Level 0, the oldest first.
    pub level0_added: Vec<RunLocation>,
    /// The lowest keys of ranges that are dropped.
    pub ranges_dropped: Vec<Box<[u8]>>,
    /// Ranges that are new or changed.
    pub ranges_set: Vec<RangeRecord>,
}

impl VersionEdit {
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

    /// Decodes a record that begins at `offset` of `file`, for error messages.
    pub fn decode(payload: &[u8], file: &str, offset: u64) -> Result<Self> {
        let mut input = ByteReader::new(payload);
        parse(&mut input).map_err(|problem| Error::corrupt(file, offset + input.position() as u64, problem))
    }
}

/// The result of decoding, with the problem as text.
type Parsed<T> = std::result::Result<T, &'static str>;

fn parse(input: &mut ByteReader<'_>) -> Parsed<VersionEdit> {
    let edit = VersionEdit {
        log: limited(input)?.checked_sub(1),
        next_number: limited(input)?,
        flushed: limited(input)?.checked_sub(1),
        level0_dropped: runs(input)?,
        level0_added: runs(input)?,
        ranges_dropped: list(input, bytes)?,
        ranges_set: list(input, range)?,
    };
    if input.left() > 0 { Err("bytes follow the last item of the record") } else { Ok(edit) }
}

fn number(input: &mut ByteReader<'_>) -> Parsed<u64> {
    input.varint().ok_or("a number is cut off by the end of the record")
}

/// A file number or a sequence number.
fn limited(input: &mut ByteReader<'_>) -> Parsed<u64> {
    number(input)
        .and_then(|number| if number < NUMBER_LIMIT { Ok(number) } else { Err("a number has more than 63 bits") })
}

fn bytes(input: &mut ByteReader<'_>) -> Parsed<Box<[u8]>> {
    input.bytes().map(Box::from).ok_or("a byte string is longer than the rest of the record")
}

/// A count, then as many items.
fn list<'a, T>(input: &mut ByteReader<'a>, item: impl Fn(&mut ByteReader<'a>) -> Parsed<T>) -> Parsed<Vec<T>> {
    let count = input.count().ok_or("a list has more items than the record has bytes")?;
    (0..count).map(|_| item(input)).collect()
}

fn range(input: &mut ByteReader<'_>) -> Parsed<RangeRecord> {
    let span = KeySpan { low: bytes(input)?, high: bytes(input)? };
    if span.low > span.high {
        return Err("the lowest key of a range is above its highest");
    }
    let runs = runs(input)?;
    if runs.len() > LEVEL0_RUNS_MAX {
        return Err("a range has more runs than a maplet can distinguish (64)");
    }
    Ok(RangeRecord { span, runs })
}

fn runs(input: &mut ByteReader<'_>) -> Parsed<Vec<RunLocation>> {
    list(input, |input| {
        let file = limited(input)?;
        Ok(RunLocation { file, footer: Extent { offset: number(input)?, len: number(input)? } })
    })
}

fn put_runs(out: &mut Vec<u8>, runs: &[RunLocation]) {
    put_varint(out, runs.len() as u64);
    for run in runs {
        put_varint(out, run.file);
        put_varint(out, run.footer.offset);
        put_varint(out, run.footer.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(edit: &VersionEdit) -> String {
        VersionEdit::decode(&edit.encode(), "manifest-000001", 0).unwrap_err().to_string()
    }

    #[test]
    fn values_out_of_bounds_are_refused() {
        let run = |file| RunLocation { file, footer: Extent { offset: 16, len: 16 } };
        let span = KeySpan { low: [1].into(), high: [2].into() };
        let range = |runs: usize| VersionEdit {
            ranges_set: vec![RangeRecord { span: span.clone(), runs: vec![run(1); runs] }],
            ..VersionEdit::default()
        };
        assert!(VersionEdit::decode(&range(LEVEL0_RUNS_MAX).encode(), "manifest-000001", 0).is_ok());
        assert!(refusal(&range(LEVEL0_RUNS_MAX + 1)).contains("more runs"));
        let beyond = [
            VersionEdit { log: Some(NUMBER_LIMIT), ..VersionEdit::default() },
            VersionEdit { next_number: NUMBER_LIMIT, ..VersionEdit::default() },
            VersionEdit { flushed: Some(u64::MAX - 1), ..VersionEdit::default() },
            VersionEdit { level0_added: vec![run(u64::MAX)], ..VersionEdit::default() },
        ];
        beyond.iter().for_each(|edit| assert!(refusal(edit).contains("63 bits"), "{edit:?}"));
    }
}
