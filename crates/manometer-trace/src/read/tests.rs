//! Helpers for the tests of formats.

use crate::{BATCH_RECORDS, Format, ReadOptions, Record, TraceError, TraceReader, open_stream};

/// All records of a good trace.
pub(crate) fn records(format: &'static Format, trace: &[u8]) -> Vec<Record> {
    records_with(&ReadOptions { format: Some(format), ..ReadOptions::default() }, trace)
}

pub(crate) fn records_with(options: &ReadOptions, trace: &[u8]) -> Vec<Record> {
    let (records, error) = all(options, trace);
    assert!(error.is_none(), "{error:?}");
    records
}

/// The offset and the reason of a trace's damage.
pub(crate) fn damage(format: &'static Format, trace: &[u8]) -> (u64, String) {
    match all(&ReadOptions { format: Some(format), ..ReadOptions::default() }, trace).1 {
        Some(TraceError::Damaged { offset, what, .. }) => (offset, what.into_owned()),
        other => panic!("{other:?}"),
    }
}

/// The format recognised by a trace's content.
pub(crate) fn found(trace: &[u8]) -> &'static str {
    match open_stream(Box::new(std::io::Cursor::new(trace.to_vec())), &ReadOptions::default()) {
        Ok(trace) => trace.format.name,
        Err(error) => panic!("{error}"),
    }
}

fn all(options: &ReadOptions, trace: &[u8]) -> (Vec<Record>, Option<TraceError>) {
    let mut reader = open_stream(Box::new(std::io::Cursor::new(trace.to_vec())), options).unwrap().reader;
    let (mut batch, mut records) = (Vec::new(), Vec::new());
    loop {
        match reader.read(&mut batch) {
            Ok(0) => return (records, None),
            Ok(_) => records.append(&mut batch),
            Err(error) => {
                assert_eq!(reader.read(&mut batch).unwrap(), 0);
                return (records, Some(error));
            }
        }
        assert!(records.len() < 100 * BATCH_RECORDS);
    }
}

/// A reader of the trace that keeps details.
pub(crate) fn reader(format: &'static Format, trace: &[u8]) -> Box<dyn TraceReader> {
    let options = ReadOptions { format: Some(format), keep_details: true, ..ReadOptions::default() };
    open_stream(Box::new(std::io::Cursor::new(trace.to_vec())), &options).unwrap().reader
}

/// The details of one request.
#[derive(Debug, PartialEq)]
pub(crate) struct OwnedDetails {
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) scan_end: Option<Vec<u8>>,
    pub(crate) scan_length: Option<u32>,
    pub(crate) is_backward: bool,
    pub(crate) command: Option<String>,
    pub(crate) is_joined: bool,
}

/// The details of every request of a good trace.
pub(crate) fn details(format: &'static Format, trace: &[u8]) -> Vec<OwnedDetails> {
    let mut reader = reader(format, trace);
    let (mut batch, mut all) = (Vec::new(), Vec::new());
    while reader.read(&mut batch).unwrap() > 0 {
        let details = reader.details().unwrap();
        all.extend((0..batch.len()).map(|at| {
            let one = details.of(at);
            OwnedDetails {
                key: one.key.map(<[u8]>::to_vec),
                scan_end: one.scan_end.map(<[u8]>::to_vec),
                scan_length: one.scan_length,
                is_backward: one.is_backward,
                command: one.command.map(|command| String::from_utf8_lossy(command).into_owned()),
                is_joined: one.is_joined,
            }
        }));
    }
    all
}
