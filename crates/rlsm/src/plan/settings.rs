//! The settings that decisions depend on.

/// The limit of runs in Level 0: its maplet cannot distinguish more.
pub const LEVEL0_RUNS_MAX: usize = 64;

/// The limit of runs in a range.
pub const RANGE_RUNS_MAX: usize = 16;

/// The settings of compaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompactionSettings {
    /// The size of the memtable, in bytes.
    pub memtable_bytes: u64,
    /// The reference size of a range, in bytes.
    pub range_bytes: u64,
    /// A range larger than this times [`CompactionSettings::range_bytes`] is partitioned (Song 2018, section 4.3: 1.2).
    pub split_ratio: f64,
    /// A range with more superseded bytes per live byte than this is rewritten.
    pub stale_ratio: f64,
}

impl CompactionSettings {
    /// How many bytes of Level 0 are compacted at once if Level 1 holds `level1_bytes`: the geometric mean of data and
    /// memtable. A run appended to a range is then as many times smaller than the range as Level 0 is than the data,
    /// and both the runs per range and the runs of Level 0 grow with the square root of the data. The limit leaves room
    /// in Level 0 for the runs that arrive during a compaction, to whose speed writes are delayed.
    pub fn batch_bytes(&self, level1_bytes: u64) -> u64 {
        let mean = (level1_bytes as f64 * self.memtable_bytes as f64).sqrt() as u64;
        mean.clamp(self.memtable_bytes, self.memtable_bytes.saturating_mul(LEVEL0_RUNS_MAX as u64 * 3 / 8))
    }

    /// The size above which a range is partitioned, in bytes, varied by up to three tenths with `jitter`, so that
    /// ranges that began together do not divide together.
    pub fn split_bytes(&self, jitter: u64) -> u64 {
        (self.split_ratio * self.range_bytes as f64 * spread(jitter)) as u64
    }

    /// The superseded bytes per live byte above which a range is rewritten, varied likewise.
    pub fn stale_limit(&self, jitter: u64) -> f64 {
        self.stale_ratio * spread(jitter)
    }
}

/// Maps the upper bits of `jitter` to 0.7 to 1.3.
fn spread(jitter: u64) -> f64 {
    0.7 + 0.6 * (jitter >> 11) as f64 / (1_u64 << 53) as f64
}
