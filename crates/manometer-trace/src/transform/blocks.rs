//! Splits block requests into a request for each block that they touch.

use super::Input;
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::reader::{BATCH_RECORDS, TraceReader};
use crate::record::{Record, TraceOperation};

/// The most blocks of a single request: 64 GiB with blocks of 4 KiB.
pub const BLOCKS_MAX: u64 = 1 << 24;

/// Reads and writes split into blocks; discards are unchanged.
pub struct Blocks {
    input: Input,
    block_bytes: u64,
    given: Vec<Record>,
    /// How many of those were split.
    done: usize,
    /// The next and the last block of the current request.
    left: Option<(u64, u64)>,
    requests: u64,
    empty: u64,
    /// The end or error of the input, until it is returned.
    stopped: Option<Result<(), TraceError>>,
}

impl Blocks {
    /// Splits the requests of `input` into blocks of `block_bytes`.
    ///
    /// # Errors
    /// A block has no bytes.
    pub fn new(input: Input, block_bytes: u64) -> Result<Self, TraceError> {
        if block_bytes == 0 {
            return Err(TraceError::Wrong("a block of 0 bytes holds nothing: write a size such as 4KiB".to_owned()));
        }
        Ok(Self { input, block_bytes, given: Vec::new(), done: 0, left: None, requests: 0, empty: 0, stopped: None })
    }

    /// The first and the last block that a request touches; `None` if it touches none.
    fn touched(&self, record: &Record) -> Result<Option<(u64, u64)>, TraceError> {
        let wrong = |what: String| Err(TraceError::Wrong(format!("request {}: {what}", self.requests)));
        let (Some(offset), Some(bytes)) = (record.offset, record.value_size) else {
            return wrong("it has no offset and size: only requests to devices touch blocks".to_owned());
        };
        let Some(last_byte) = bytes.checked_sub(1) else { return Ok(None) };
        let Some(end) = offset.checked_add(last_byte) else {
            return wrong(format!("{bytes} bytes at offset {offset} end beyond 2^64, where no device has any"));
        };
        let (first, last) = (offset / self.block_bytes, end / self.block_bytes);
        if last - first >= BLOCKS_MAX {
            return wrong(format!("{bytes} bytes are more than {BLOCKS_MAX} blocks: take larger ones"));
        }
        Ok(Some((first, last)))
    }

    /// The next request of the input.
    fn next(&mut self) -> Result<Option<Record>, TraceError> {
        if self.done == self.given.len() {
            self.done = 0;
            if self.input.read(&mut self.given)? == 0 {
                return Ok(None);
            }
        }
        self.done += 1;
        Ok(Some(self.given[self.done - 1]))
    }

    /// Splits the current request as far as the batch has room.
    fn fill(&mut self, batch: &mut Vec<Record>) {
        while let Some((block, last)) = self.left.filter(|_| batch.len() < BATCH_RECORDS) {
            let Record { operation, device, .. } = self.given[self.done - 1];
            let of = Record::block(operation, device, block * self.block_bytes, self.block_bytes, self.block_bytes);
            let Record { key, offset, value_size, .. } = of;
            batch.push(Record { key, offset, value_size, ..self.given[self.done - 1] });
            self.left = (block < last).then_some((block + 1, last));
        }
    }

    fn read_some(&mut self, batch: &mut Vec<Record>) -> Result<(), TraceError> {
        self.fill(batch);
        while batch.len() < BATCH_RECORDS
            && let Some(record) = self.next()?
        {
            self.requests += 1;
            if record.operation == TraceOperation::Discard {
                batch.push(record);
                continue;
            }
            self.left = self.touched(&record)?;
            self.empty += u64::from(self.left.is_none());
            self.fill(batch);
        }
        Ok(())
    }
}

impl TraceReader for Blocks {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        if self.stopped.is_none()
            && let Err(error) = self.read_some(batch)
        {
            self.stopped = Some(Err(error));
        }
        if batch.is_empty()
            && let Some(stopped) = &mut self.stopped
        {
            std::mem::replace(stopped, Ok(()))?;
        }
        Ok(batch.len())
    }

    fn keys(&self) -> Option<&KeyTable> {
        self.input.keys()
    }

    fn skipped(&self) -> u64 {
        self.input.skipped() + self.empty
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, ReadOptions, open_stream};
    use proptest::prelude::*;

    /// Records, in batches of three.
    struct Records(Vec<Record>);

    impl TraceReader for Records {
        fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
            batch.clear();
            batch.extend(self.0.drain(..self.0.len().min(3)));
            Ok(batch.len())
        }
    }

    fn read_all(blocks: &mut Blocks) -> (Vec<Record>, Option<TraceError>) {
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        loop {
            match blocks.read(&mut batch) {
                Ok(0) => return (all, None),
                Ok(_) => all.extend_from_slice(&batch),
                Err(error) => return (all, Some(error)),
            }
        }
    }

    fn read(offset: u64, bytes: u64) -> Record {
        Record::block(TraceOperation::Read, 0, offset, 512, bytes)
    }

    fn keys(records: Vec<Record>, block_bytes: u64) -> Vec<u64> {
        let (blocks, error) = read_all(&mut Blocks::new(Box::new(Records(records)), block_bytes).unwrap());
        assert!(error.is_none(), "{error:?}");
        blocks.iter().map(|record| record.key).collect()
    }

    #[test]
    fn an_unaligned_request_touches_one_block_more() {
        assert_eq!(keys(vec![read(8192, 8192), read(8704, 8192), read(8704, 512)], 4096), [2, 3, 2, 3, 4, 2]);
    }

    #[test]
    fn a_block_is_requested_whole_by_the_same_client_at_the_same_time() {
        let request =
            Record { time_ns: Some(7), client: Some(3), ..Record::block(TraceOperation::Write, 2, 5000, 512, 4000) };
        let (blocks, _) = read_all(&mut Blocks::new(Box::new(Records(vec![request])), 4096).unwrap());
        let block = |offset| Record {
            time_ns: Some(7),
            client: Some(3),
            ..Record::block(TraceOperation::Write, 2, offset, 4096, 4096)
        };
        assert_eq!(blocks, [block(4096), block(8192)]);
    }

    #[test]
    fn discards_stay_and_requests_for_nothing_go() {
        let discard = Record { operation: TraceOperation::Discard, ..read(0, 1 << 62) };
        let mut blocks = Blocks::new(Box::new(Records(vec![discard, read(0, 0), read(0, 1)])), 4096).unwrap();
        let (records, _) = read_all(&mut blocks);
        assert_eq!((records.len(), records[0], records[1].key, blocks.skipped()), (2, discard, 0, 1));
    }

    #[test]
    fn what_touches_no_block_is_refused_after_what_was_good() {
        let get = Record::new(TraceOperation::Get, 1);
        let cases = [
            (read(u64::MAX - 4095, 4097), "request 5: 4097 bytes at offset 18446744073709547520 end beyond 2^64"),
            (read(0, 1 << 40), "more than 16777216 blocks"),
            (get, "request 5: it has no offset and size"),
        ];
        for (wrong, text) in cases {
            let mut records = vec![read(0, 512); 4];
            records.extend([wrong, read(0, 512)]);
            let mut blocks = Blocks::new(Box::new(Records(records)), 4096).unwrap();
            let (good, error) = read_all(&mut blocks);
            assert_eq!(good.len(), 4);
            assert!(error.unwrap().to_string().contains(text), "{text}");
            assert_eq!(blocks.read(&mut Vec::new()).unwrap(), 0);
        }
        assert_eq!(keys(vec![read(u64::MAX - 4095, 4096)], 4096), [u64::MAX / 4096]);
        assert!(Blocks::new(Box::new(Records(Vec::new())), 0).is_err());
    }

    #[test]
    fn formats_of_requests_to_devices_are_taken_apart() {
        let vscsi = [
            vec![0x28, 0, 0, 2, 7, 0, 0, 0, 0, 0x10, 0, 0, 1, 0, 0, 0],
            [42_u64, 9, 250].map(u64::to_le_bytes).concat(),
        ]
        .concat();
        let samples: [(&str, &[u8], &[u64]); 3] = [
            ("vscsi2", &vscsi, &[5, 6]),
            (
                "msr",
                b"128166372003061629,hm,0,Read,2096128,8192,413\n128166372016382155,hm,0,Write,4096,4096,5\n",
                &[511, 512, 513, 1],
            ),
            ("spc", b"0,20941264,8192,W,0.551706\n0,8,4096,r,0.554041\n", &[2617658, 2617659, 1]),
        ];
        for (format, bytes, blocks) in samples {
            let options = ReadOptions { format: Some(Format::find(format).unwrap()), ..ReadOptions::default() };
            let trace = open_stream(Box::new(std::io::Cursor::new(bytes.to_vec())), &options).unwrap();
            let (records, error) = read_all(&mut Blocks::new(trace.reader, 4096).unwrap());
            assert!(error.is_none(), "{error:?}");
            assert_eq!(records.iter().map(|record| record.key).collect::<Vec<_>>(), blocks, "{format}");
        }
    }

    proptest! {
        #[test]
        fn every_byte_lies_in_a_block_that_is_requested(
            requests in prop::collection::vec((0_u64..100_000, 1_u64..20_000), 1..40), block_bytes in 1_u64..5000,
        ) {
            let records = requests.iter().map(|(offset, bytes)| read(*offset, *bytes)).collect();
            let plain: Vec<u64> = requests
                .iter()
                .flat_map(|(offset, bytes)| {
                    let mut blocks: Vec<u64> = (*offset..offset + bytes).map(|byte| byte / block_bytes).collect();
                    blocks.dedup();
                    blocks
                })
                .collect();
            prop_assert_eq!(keys(records, block_bytes), plain);
        }
    }
}
