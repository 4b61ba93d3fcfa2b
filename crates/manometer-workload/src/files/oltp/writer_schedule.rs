//! Keeps writers and readers in step: a batch for a number of reads, and no reader too far ahead.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::files::oltp_ratios::WriterRatio;

/// Reads done, and the batches of each writer.
#[derive(Debug)]
pub(super) struct WriterSchedule {
    state: Mutex<State>,
    readers: Condvar,
    writers: Condvar,
}

#[derive(Debug)]
struct State {
    reads: u64,
    writers: Vec<(WriterRatio, u64)>,
    closed: bool,
}

impl State {
    /// Whether another read would be too far ahead of a writer.
    fn is_too_far_ahead(&self) -> bool {
        self.writers.iter().any(|(ratio, batches)| self.reads >= ratio.ahead + ratio.reads * batches)
    }

    /// Whether the reads that the batches of a writer take are done.
    fn is_due(&self, writer: usize) -> bool {
        let (ratio, batches) = &self.writers[writer];
        self.reads >= ratio.reads * batches
    }
}

impl WriterSchedule {
    pub(super) fn new(writers: Vec<WriterRatio>) -> Self {
        let writers = writers.into_iter().map(|ratio| (ratio, 0)).collect();
        let state = State { reads: 0, writers, closed: false };
        Self { state: Mutex::new(state), readers: Condvar::new(), writers: Condvar::new() }
    }

    /// Records a read; waits first while writers are too far behind. False once closed.
    pub(super) fn record_read(&self) -> bool {
        let mut state = self.lock();
        while state.is_too_far_ahead() && !state.closed {
            state = self.readers.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.reads += 1;
        let reads = state.reads;
        if state.writers.iter().any(|(ratio, batches)| reads == ratio.reads * batches) {
            self.writers.notify_all();
        }
        !state.closed
    }

    /// Records that `writer` has sent a batch.
    pub(super) fn record_batch(&self, writer: usize) {
        self.lock().writers[writer].1 += 1;
        self.readers.notify_all();
    }

    /// Waits until the next batch of `writer` is due; false once closed.
    pub(super) fn await_reads(&self, writer: usize) -> bool {
        let mut state = self.lock();
        while !state.is_due(writer) && !state.closed {
            state = self.writers.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.closed
    }

    /// Releases waiting threads, for good.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.readers.notify_all();
        self.writers.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// As many reads as written blocks: ten writers of a hundred for each thousand reads.
    #[test]
    fn writers_follow_readers_and_readers_wait_for_them() {
        const READERS: u64 = 4;
        const READS: u64 = 5000;
        let writer_schedule = WriterSchedule::new(vec![WriterRatio { reads: 1000, ahead: 2000 }; 3]);
        let batches = [const { AtomicU64::new(0) }; 3];
        std::thread::scope(|threads| {
            for (writer, batches) in batches.iter().enumerate() {
                let writer_schedule = &writer_schedule;
                threads.spawn(move || {
                    loop {
                        batches.fetch_add(1, Ordering::Relaxed);
                        writer_schedule.record_batch(writer);
                        if !writer_schedule.await_reads(writer) {
                            return;
                        }
                    }
                });
            }
            let readers: Vec<_> = (0..READERS)
                .map(|_| threads.spawn(|| (0..READS).for_each(|_| assert!(writer_schedule.record_read()))))
                .collect();
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            // What is due is sent in any order of the threads.
            while batches.iter().any(|batches| batches.load(Ordering::Relaxed) <= READERS * READS / 1000) {
                std::thread::yield_now();
            }
            writer_schedule.close();
        });
        assert!(batches.iter().all(|batches| batches.load(Ordering::Relaxed) == READERS * READS / 1000 + 1));
    }

    #[test]
    fn a_reader_too_far_ahead_waits_until_a_batch_was_sent_or_all_is_over() {
        let writer_schedule = WriterSchedule::new(vec![WriterRatio { reads: 10, ahead: 5 }]);
        assert!((0..5).all(|_| writer_schedule.record_read()));
        std::thread::scope(|threads| {
            let waiting = threads.spawn(|| writer_schedule.record_read());
            writer_schedule.record_batch(0);
            assert!(waiting.join().unwrap());
            assert!((0..9).all(|_| writer_schedule.record_read()));
            let waiting = threads.spawn(|| writer_schedule.record_read());
            writer_schedule.close();
            assert!(!waiting.join().unwrap());
        });
        assert!(!writer_schedule.await_reads(0));
    }
}
