//! One record of the manifest: what changed, all at once.

use crate::codec::{Input, put_bytes, put_varint};
use crate::entry::NUMBER_LIMIT;
use crate::plan::{LEVEL0_RUNS_MAX, Span};
use crate::run::Extent;
use crate::{Error, Result, Sequence};

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
        let mut input = Input::new(payload);
        parse(&mut input).map_err(|what| Error::corrupt(file, offset + input.position() as u64, what))
    }
}

/// What is wrong with a record.
type Parsed<T> = std::result::Result<T, &'static str>;

fn parse(input: &mut Input<'_>) -> Parsed<Edit> {
    let edit = Edit {
        log: limited(input)?.checked_sub(1),
        next_number: limited(input)?,
        flushed: limited(input)?.checked_sub(1),
        level0_dropped: runs(input)?,
        level0_added: runs(input)?,
        ranges_dropped: list(input, bytes)?,
        ranges_set: list(input, range)?,
    };
    if input.left() > 0 { Err("more bytes than the record has items") } else { Ok(edit) }
}

fn number(input: &mut Input<'_>) -> Parsed<u64> {
    input.varint().ok_or("a number that does not end")
}

/// The number of a file or of a write.
fn limited(input: &mut Input<'_>) -> Parsed<u64> {
    number(input).and_then(|number| if number < NUMBER_LIMIT { Ok(number) } else { Err("a number beyond 63 bits") })
}

fn bytes(input: &mut Input<'_>) -> Parsed<Box<[u8]>> {
    input.bytes().map(Box::from).ok_or("more bytes announced than there are")
}

/// A count, then so many items.
fn list<'a, T>(input: &mut Input<'a>, item: impl Fn(&mut Input<'a>) -> Parsed<T>) -> Parsed<Vec<T>> {
    let count = input.count().ok_or("more items announced than there are bytes")?;
    (0..count).map(|_| item(input)).collect()
}

fn range(input: &mut Input<'_>) -> Parsed<RangeRecord> {
    let span = Span { low: bytes(input)?, high: bytes(input)? };
    if span.low > span.high {
        return Err("a range whose lowest key is above its highest");
    }
    let runs = runs(input)?;
    if runs.len() > LEVEL0_RUNS_MAX {
        return Err("a range of more runs than its table of fingerprints tells apart");
    }
    Ok(RangeRecord { span, runs })
}

fn runs(input: &mut Input<'_>) -> Parsed<Vec<RunRef>> {
    list(input, |input| {
        let file = limited(input)?;
        Ok(RunRef { file, footer: Extent { offset: number(input)?, len: number(input)? } })
    })
}

fn put_runs(out: &mut Vec<u8>, runs: &[RunRef]) {
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

    fn refusal(edit: &Edit) -> String {
        Edit::decode(&edit.encode(), "manifest-000001", 0).unwrap_err().to_string()
    }

    #[test]
    fn what_would_not_fit_later_is_refused() {
        let run = |file| RunRef { file, footer: Extent { offset: 16, len: 16 } };
        let span = Span { low: [1].into(), high: [2].into() };
        let range = |runs: usize| Edit {
            ranges_set: vec![RangeRecord { span: span.clone(), runs: vec![run(1); runs] }],
            ..Edit::default()
        };
        assert!(Edit::decode(&range(LEVEL0_RUNS_MAX).encode(), "manifest-000001", 0).is_ok());
        assert!(refusal(&range(LEVEL0_RUNS_MAX + 1)).contains("more runs"));
        let beyond = [
            Edit { log: Some(NUMBER_LIMIT), ..Edit::default() },
            Edit { next_number: NUMBER_LIMIT, ..Edit::default() },
            Edit { flushed: Some(u64::MAX - 1), ..Edit::default() },
            Edit { level0_added: vec![run(u64::MAX)], ..Edit::default() },
        ];
        beyond.iter().for_each(|edit| assert!(refusal(edit).contains("63 bits"), "{edit:?}"));
    }
}
