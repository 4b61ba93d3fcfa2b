//! One record after the other, from the first again after the last.
//!
//! YCSB's threads share one counter. Here each takes its own turn of the same sequence, so that no thread
//! waits for another and every stream can be repeated.

/// One record after the other.
#[derive(Debug, Clone, Copy)]
pub struct Sequential {
    records: u64,
    at: u64,
    step: u64,
}

impl Sequential {
    /// Over the records 0 to `records` - 1: those that fall to thread `thread` of `threads`.
    pub fn new(records: u64, thread: u32, threads: u32) -> Self {
        Self { records, at: u64::from(thread) % records, step: u64::from(threads) % records }
    }

    /// The next record.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        let record = self.at;
        self.at += self.step;
        if self.at >= self.records {
            self.at -= self.records;
        }
        record
    }
}
