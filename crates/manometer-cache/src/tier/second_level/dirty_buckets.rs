//! The share of bcache's buckets that hold dirty blocks.

use crate::key_id::KeyId;

/// The buckets are counted whenever this fraction of the cache was written: bcache counts them as it collects garbage.
const COUNTS_PER_CAPACITY: u64 = 16;

/// Which bucket each block was appended to, and how many dirty blocks each bucket has. Blocks are appended in the order
/// in which they are written, to one bucket at a time.
#[derive(Debug)]
pub(super) struct DirtyBuckets {
    blocks_per_bucket: u64,
    buckets: u64,
    appended: u64,
    /// The bucket of each dirty block, counted from the first one ever opened.
    bucket_of: std::collections::HashMap<KeyId, u64, rapidhash::fast::RandomState>,
    dirty_in: std::collections::HashMap<u64, u64, rapidhash::fast::RandomState>,
    counted_at: u64,
    share: f64,
}

impl DirtyBuckets {
    /// `buckets` buckets of `blocks_per_bucket` blocks, all clean.
    pub(super) fn new(buckets: u64, blocks_per_bucket: u64) -> Self {
        Self {
            blocks_per_bucket: blocks_per_bucket.max(1),
            buckets: buckets.max(1),
            appended: 0,
            bucket_of: std::collections::HashMap::default(),
            dirty_in: std::collections::HashMap::default(),
            counted_at: 0,
            share: 0.0,
        }
    }

    /// A block was appended.
    pub(super) fn append(&mut self, id: KeyId, is_dirty: bool) {
        self.clean(id);
        if is_dirty {
            let bucket = self.appended / self.blocks_per_bucket;
            self.bucket_of.insert(id, bucket);
            *self.dirty_in.entry(bucket).or_default() += 1;
        }
        self.appended += 1;
        let period = (self.buckets * self.blocks_per_bucket / COUNTS_PER_CAPACITY).max(1);
        if self.appended - self.counted_at >= period {
            self.counted_at = self.appended;
            self.share = self.dirty_in.len() as f64 / self.buckets as f64;
        }
    }

    /// A block is clean, or no longer cached.
    pub(super) fn clean(&mut self, id: KeyId) {
        let Some(bucket) = self.bucket_of.remove(&id) else { return };
        if let Some(dirty) = self.dirty_in.get_mut(&bucket) {
            *dirty -= 1;
            if *dirty == 0 {
                self.dirty_in.remove(&bucket);
            }
        }
    }

    /// The share of buckets with dirty blocks when they were last counted.
    pub(super) fn share(&self) -> f64 {
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_dirty_until_the_last_of_its_dirty_blocks_is_clean() {
        let mut buckets = DirtyBuckets::new(4, 8);
        (0..16).for_each(|id| buckets.append(id, id < 9));
        assert!((buckets.share() - 0.5).abs() < 1e-12);
        (0..7).for_each(|id| buckets.clean(id));
        buckets.append(16, false);
        buckets.append(17, false);
        assert!((buckets.share() - 0.5).abs() < 1e-12, "one of the first eight is dirty");
        buckets.append(7, true);
        buckets.append(18, false);
        assert!((buckets.share() - 0.5).abs() < 1e-12, "it moved to the third bucket, and one is left in the second");
        buckets.clean(8);
        (19..21).for_each(|id| buckets.append(id, false));
        assert!((buckets.share() - 0.25).abs() < 1e-12);
    }

    #[test]
    fn buckets_are_counted_sixteen_times_while_the_cache_is_written_once() {
        let mut buckets = DirtyBuckets::new(16, 4);
        (0..3).for_each(|id| buckets.append(id, true));
        assert!(buckets.share().abs() < 1e-12);
        buckets.append(3, true);
        assert!((buckets.share() - 1.0 / 16.0).abs() < 1e-12);
    }
}
