//! Extracts sub-traces: some of the parts of a trace, divided by clients or by time.

use std::collections::BTreeSet;
use std::str::FromStr;

use rapidhash::v3::rapidhash_v3;

use super::Input;
use super::filtered::Filtered;
use super::span::TraceSpan;
use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::reader::TraceReader;
use crate::record::Record;

/// The largest number of parts.
const PARTS_MAX: u32 = 1 << 20;

/// A selection of parts: `2/4` is the second of four, `1,3-4/4` all but that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    chosen: BTreeSet<u32>,
    of: u32,
}

impl FromStr for Parts {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        parse(text).ok_or_else(|| {
            TraceError::Wrong(format!(
                "`{text}` names no parts: write 2/4 for the second of four, or several of them as 1,3-4/4 (at most \
                 {PARTS_MAX})"
            ))
        })
    }
}

fn parse(text: &str) -> Option<Parts> {
    let (chosen, of) = text.split_once('/')?;
    let of = of.parse().ok().filter(|of| (1..=PARTS_MAX).contains(of))?;
    let number = |text: &str| text.parse::<u32>().ok().filter(|part| (1..=of).contains(part)).map(|part| part - 1);
    let mut parts = BTreeSet::new();
    for piece in chosen.split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (first, last) = (number(first)?, number(last)?);
        parts.extend(first..=last);
        if first > last {
            return None;
        }
    }
    Some(Parts { chosen: parts, of })
}

/// How a trace is divided into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// By client: all requests of a client are in one part.
    Clients,
    /// By time, into parts of equal length.
    Time(TraceSpan),
}

impl Division {
    fn part_of(self, record: &Record, parts: u32) -> Result<u32, TraceError> {
        match self {
            Self::Clients => {
                let client = record.client.ok_or_else(|| {
                    TraceError::Wrong("a request has no client: divide the trace by time instead".to_owned())
                })?;
                Ok((rapidhash_v3(&client.to_le_bytes()) % u64::from(parts)) as u32)
            }
            Self::Time(span) => Ok(span.part_of(record.time_ns.unwrap_or(span.first_ns), parts)),
        }
    }
}

/// The requests of some parts, with unchanged times and keys.
pub struct Subtrace {
    input: Filtered,
    parts: Parts,
    division: Division,
}

impl Subtrace {
    /// The selected parts of a trace.
    ///
    /// # Errors
    /// The trace is to be divided by time but lacks times.
    pub fn new(input: Input, parts: Parts, division: Division) -> Result<Self, TraceError> {
        if let Division::Time(span) = division {
            span.need_times("dividing a trace by time")?;
        }
        Ok(Self { input: Filtered::new(input), parts, division })
    }
}

impl TraceReader for Subtrace {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        let Self { input, parts, division } = self;
        input.read(batch, |record| Ok(parts.chosen.contains(&division.part_of(record, parts.of)?)))
    }

    fn keys(&self) -> Option<&KeyTable> {
        self.input.input.keys()
    }

    fn skipped(&self) -> u64 {
        self.input.input.skipped()
    }

    fn lost(&self) -> u64 {
        self.input.input.lost()
    }

    fn details(&self) -> Option<&BatchDetails> {
        self.input.details()
    }

    fn dropped(&self) -> DroppedFields {
        self.input.dropped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!(parse("2/4"), Some(Parts { chosen: BTreeSet::from([1]), of: 4 }));
        assert_eq!(parse("1,3-4/4"), Some(Parts { chosen: BTreeSet::from([0, 2, 3]), of: 4 }));
        for wrong in ["", "2", "0/4", "5/4", "1/0", "3-2/4", "a/4", "1/4/2", ",/4", "1/99999999", "-/3"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
