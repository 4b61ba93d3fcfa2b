//! Trace readers: batches of records, and the reason why there are no more.

use crate::details::{BatchDetails, DetailCollector, Kept};
use crate::dropped_fields::DroppedFields;
use crate::error::{RecordFault, TraceError};
use crate::key::{KeyTable, Keys};
use crate::record::Record;
use crate::source::Source;

/// Approximate size of a batch in records; a batch fits into a core's first cache.
pub const BATCH_RECORDS: usize = 256;

/// A source of records.
pub trait TraceReader: Send {
    /// Replaces `batch` by the next records. Returns their number; 0 at the end.
    ///
    /// # Errors
    /// The trace is damaged here. All records before were good and have been returned; none follow.
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError>;

    /// The texts of the keys seen so far, if kept.
    fn keys(&self) -> Option<&KeyTable> {
        None
    }

    /// The number of skipped entries so far that are no requests: comments, answers, commands without a key.
    fn skipped(&self) -> u64 {
        0
    }

    /// The number of recorded requests so far that are no records: the recorder lost them, or the format cannot express
    /// them.
    fn lost(&self) -> u64 {
        0
    }

    /// What the trace records of the last batch beyond its records, if kept
    /// ([`ReadOptions::keep_details`](crate::ReadOptions::keep_details)).
    fn details(&self) -> Option<&BatchDetails> {
        None
    }

    /// What transforms of the trace could not carry so far.
    fn dropped(&self) -> DroppedFields {
        DroppedFields::default()
    }
}

/// The first `requests` records, fewer where the trace ends before; with the error that ended it, if any.
pub fn read_first(reader: &mut dyn TraceReader, requests: usize) -> (Vec<Record>, Option<TraceError>) {
    let (mut records, mut batch) = (Vec::new(), Vec::new());
    let mut ended = None;
    while records.len() < requests {
        match reader.read(&mut batch) {
            Ok(0) => break,
            Ok(_) => records.append(&mut batch),
            Err(error) => {
                ended = Some(error);
                break;
            }
        }
    }
    records.truncate(requests);
    (records, ended)
}

/// The destination of a format's records.
#[derive(Debug, Default)]
pub(crate) struct RecordSink {
    batch: Vec<Record>,
    run: Option<RecordRun>,
    keys: Keys,
    details: Option<DetailCollector>,
    skipped: u64,
    lost: u64,
}

/// Records that differ only in key and offset.
#[derive(Debug)]
struct RecordRun {
    next: Record,
    left: u64,
    key_step: u64,
    offset_step: u64,
    /// The key's bytes, if all have the same key.
    key: Option<Box<[u8]>>,
}

impl RecordSink {
    pub(crate) fn push(&mut self, record: Record) {
        if let Some(details) = &mut self.details {
            details.end_record(self.batch.len());
        }
        self.batch.push(record);
    }

    /// Where to put what the next record does not hold; nowhere if it is not kept.
    pub(crate) fn details(&mut self) -> Option<&mut DetailCollector> {
        self.details.as_mut()
    }

    /// Adds the same request `count` times, with the key and the offset advanced by a step each time.
    pub(crate) fn run(&mut self, first: Record, count: u64, key_step: u64, offset_step: u64) {
        if count == 1 {
            return self.push(first);
        }
        let key = self.details.as_mut().and_then(DetailCollector::take_key).filter(|_| key_step == 0);
        self.run = Some(RecordRun { next: first, left: count, key_step, offset_step, key });
        self.expand();
    }

    /// Counts an entry that is no request.
    pub(crate) fn skip(&mut self) {
        self.skipped += 1;
    }

    /// Counts recorded requests that are no records.
    pub(crate) fn lose(&mut self, requests: u64) {
        self.lost = self.lost.saturating_add(requests);
    }

    /// The id of a key.
    pub(crate) fn key(&mut self, text: &[u8]) -> Result<u64, RecordFault> {
        self.note_key(text);
        self.keys.id(text)
    }

    /// The id of a key in one of several key spaces, such as a column family.
    pub(crate) fn key_in(&mut self, space: u32, text: &[u8]) -> Result<u64, RecordFault> {
        self.note_key(text);
        self.keys.id_in(space, text)
    }

    /// The given id of a key, or else that of its text.
    pub(crate) fn key_as(&mut self, id: Option<u64>, text: &[u8]) -> Result<u64, RecordFault> {
        self.note_key(text);
        self.keys.id_as(id, text)
    }

    fn note_key(&mut self, text: &[u8]) {
        if let Some(details) = &mut self.details {
            details.key(text);
        }
    }

    /// Drops the records after the first `records`.
    fn truncate(&mut self, records: usize) {
        self.batch.truncate(records);
        if let Some(details) = &mut self.details {
            details.truncate(records);
        }
    }

    /// The number of records that still fit.
    pub(crate) fn room(&self) -> usize {
        BATCH_RECORDS.saturating_sub(self.batch.len())
    }

    /// The number of records of this batch.
    pub(crate) fn len(&self) -> usize {
        self.batch.len()
    }

    /// Whether it holds any record.
    pub(crate) fn has_records(&self) -> bool {
        !self.batch.is_empty()
    }

    fn expand(&mut self) {
        let Some(run) = &mut self.run else { return };
        while run.left > 0 && self.batch.len() < BATCH_RECORDS {
            if let Some(details) = &mut self.details {
                run.key.iter().for_each(|key| details.key(key));
                details.end_record(self.batch.len());
            }
            self.batch.push(run.next);
            run.left -= 1;
            run.next.key = run.next.key.wrapping_add(run.key_step);
            run.next.offset = run.next.offset.map(|offset| offset.wrapping_add(run.offset_step));
        }
        if run.left == 0 {
            self.run = None;
        }
    }
}

/// Decodes the bytes of a format to records.
pub(crate) trait RecordDecoder: Send {
    /// Adds records to the sink until it is full; fewer only at the end.
    fn fill(&mut self, sink: &mut RecordSink) -> Result<(), TraceError>;
}

/// The common part of all formats' readers.
pub(crate) struct Reader<F> {
    format: F,
    sink: RecordSink,
    stopped: Option<Result<(), TraceError>>,
}

impl<F: RecordDecoder> Reader<F> {
    pub(crate) fn new(format: F, kept: Kept) -> Self {
        let details = kept.details.then(DetailCollector::default);
        Self {
            format,
            sink: RecordSink { keys: Keys::new(kept.keys), details, ..RecordSink::default() },
            stopped: None,
        }
    }
}

impl<F: RecordDecoder> TraceReader for Reader<F> {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        batch.reserve(BATCH_RECORDS);
        std::mem::swap(batch, &mut self.sink.batch);
        if let Some(details) = &mut self.sink.details {
            details.clear();
        }
        self.sink.expand();
        if self.stopped.is_none() && self.sink.room() > 0 {
            let outcome = self.format.fill(&mut self.sink);
            if outcome.is_err() || self.sink.room() > 0 && self.sink.run.is_none() {
                self.stopped = Some(outcome);
            }
        }
        std::mem::swap(batch, &mut self.sink.batch);
        if batch.is_empty()
            && let Some(stopped) = &mut self.stopped
        {
            std::mem::replace(stopped, Ok(()))?;
        }
        Ok(batch.len())
    }

    fn keys(&self) -> Option<&KeyTable> {
        self.sink.keys.table()
    }

    fn skipped(&self) -> u64 {
        self.sink.skipped
    }

    fn lost(&self) -> u64 {
        self.sink.lost
    }

    fn details(&self) -> Option<&BatchDetails> {
        self.sink.details.as_ref().map(DetailCollector::batch)
    }
}

/// A format whose records are lines.
pub(crate) trait LineFormat: Send {
    /// The format's name.
    fn name(&self) -> &'static str;

    /// Adds the requests of a line to the sink. `line` has no line feed and no carriage return at its end.
    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault>;
}

/// The reader of a line format.
pub(crate) struct Lines<F> {
    source: Source,
    format: F,
    line: u64,
}

impl<F: LineFormat> Lines<F> {
    pub(crate) fn new(source: Source, format: F) -> Self {
        Self { source, format, line: 1 }
    }

    fn damaged(&mut self, what: RecordFault) -> TraceError {
        let what = match self.source.failure() {
            Some(failure) => stream_failure(&failure),
            None => what,
        };
        TraceError::Damaged { format: self.format.name(), offset: self.source.offset(), line: Some(self.line), what }
    }
}

impl<F: LineFormat> RecordDecoder for Lines<F> {
    fn fill(&mut self, sink: &mut RecordSink) -> Result<(), TraceError> {
        while sink.room() > 0 && sink.run.is_none() {
            let (text, whole) = match self.source.line() {
                Ok(Some(found)) => found,
                Ok(None) => return stream_end(&mut self.source, self.format.name()),
                Err(fault) => return Err(self.damaged(fault)),
            };
            let line = &self.source.window()[..text];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let known = (sink.batch.len(), sink.skipped);
            if let Err(fault) = self.format.line(line, sink) {
                sink.truncate(known.0);
                return Err(self.damaged(fault));
            }
            // A line cut by a broken stream may mean something else than the complete one.
            if text == whole && self.source.has_failed() {
                sink.truncate(known.0);
                sink.run = None;
                return Err(self.damaged("the stream broke in this line".into()));
            }
            self.source.consume(whole);
            self.line += 1;
        }
        Ok(())
    }
}

/// A format whose records have a fixed size.
pub(crate) trait FixedFormat<const SIZE: usize>: Send {
    /// The format's name.
    fn name(&self) -> &'static str;

    /// Decodes a record; `None` if it is no request.
    fn record(&self, bytes: &[u8; SIZE]) -> Result<Option<Record>, RecordFault>;
}

/// The reader of a fixed-size format.
pub(crate) struct FixedRecords<F, const SIZE: usize> {
    source: Source,
    format: F,
}

impl<F: FixedFormat<SIZE>, const SIZE: usize> FixedRecords<F, SIZE> {
    pub(crate) fn new(source: Source, format: F) -> Self {
        Self { source, format }
    }
}

impl<F: FixedFormat<SIZE>, const SIZE: usize> RecordDecoder for FixedRecords<F, SIZE> {
    fn fill(&mut self, sink: &mut RecordSink) -> Result<(), TraceError> {
        while sink.room() > 0 {
            let (whole, _) = self.source.fill_to(SIZE).as_chunks::<SIZE>();
            if whole.is_empty() {
                return fixed_end(&mut self.source, self.format.name(), SIZE);
            }
            let mut good = 0;
            let mut fault = None;
            for bytes in &whole[..whole.len().min(sink.room())] {
                match self.format.record(bytes) {
                    Ok(Some(record)) => sink.batch.push(record),
                    Ok(None) => sink.skipped += 1,
                    Err(what) => {
                        fault = Some(what);
                        break;
                    }
                }
                good += SIZE;
            }
            self.source.consume(good);
            if let Some(what) = fault {
                return Err(TraceError::Damaged {
                    format: self.format.name(),
                    offset: self.source.offset(),
                    line: None,
                    what,
                });
            }
        }
        Ok(())
    }
}

fn fixed_end(source: &mut Source, format: &'static str, size: usize) -> Result<(), TraceError> {
    stream_end(source, format)?;
    let left = source.window().len();
    if left == 0 {
        return Ok(());
    }
    let what = format!("the trace ends inside a record: {left} of {size} bytes").into();
    Err(TraceError::Damaged { format, offset: source.offset(), line: None, what })
}

/// Checks whether the stream ended or broke.
pub(crate) fn stream_end(source: &mut Source, format: &'static str) -> Result<(), TraceError> {
    match source.failure() {
        None => Ok(()),
        Some(failure) => {
            let what = stream_failure(&failure);
            Err(TraceError::Damaged { format, offset: source.offset(), line: None, what })
        }
    }
}

fn stream_failure(failure: &std::io::Error) -> RecordFault {
    format!("it cannot be read or decompressed any further: {failure}").into()
}
