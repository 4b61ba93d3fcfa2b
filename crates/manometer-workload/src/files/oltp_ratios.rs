//! How many bytes `oltp` reads and writes, and in which ratio.

/// How a writer follows the readers.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriterRatio {
    /// Reads per batch.
    pub(super) reads: u64,
    /// How many reads readers may be ahead of its batches.
    pub(super) ahead: u64,
}

/// Bytes of a read and of a write, where the device takes so few.
pub(super) const REQUEST_BYTES: u64 = 2 << 10;
pub(super) const LOG_REQUEST_BYTES: u64 = 256 << 10;

/// Threads that write batches, and the writes of a batch, which are in flight together.
pub(super) const DB_WRITERS: u32 = 10;
pub(super) const BATCH: u32 = 100;

/// The ratios of the database writers and of the log writer.
pub(super) const DB_WRITER_RATIO: WriterRatio = WriterRatio { reads: 1000, ahead: 2000 };
pub(super) const LOG_WRITER_RATIO: WriterRatio = WriterRatio { reads: 3200, ahead: 1000 };

/// Bytes that are written for each read.
pub(super) const WRITTEN_PER_READ_BYTES: f64 = (DB_WRITERS as u64 * BATCH as u64 * REQUEST_BYTES) as f64
    / DB_WRITER_RATIO.reads as f64
    + LOG_REQUEST_BYTES as f64 / LOG_WRITER_RATIO.reads as f64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_match_reads_and_the_log() {
        assert_eq!(WRITTEN_PER_READ_BYTES, 2048.0 + 81.92);
    }
}
