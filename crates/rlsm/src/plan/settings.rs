//! The figures that decisions turn on.

/// More flushed runs than this are not kept in Level 0: its fingerprint table tells no more apart.
pub const LEVEL0_RUNS_MAX: usize = 64;

/// More runs than this are not kept in a range.
pub const RANGE_RUNS_MAX: usize = 16;

/// How ranges grow and divide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanSettings {
    /// The memory buffer, in bytes.
    pub memtable_bytes: u64,
    /// The size of a range that the others are measured by, in bytes.
    pub range_bytes: u64,
    /// A range beyond so many times [`PlanSettings::range_bytes`] is partitioned (seed 002, section 4.3: 1.2).
    pub split_ratio: f64,
    /// A range of which more than this part is superseded, measured against what is not, is rewritten.
    pub stale_ratio: f64,
}

impl PlanSettings {
    /// How many bytes of Level 0 are compacted at once where Level 1 holds `level1_bytes`: the geometric mean of data
    /// and memory buffer. A run appended to a range then is as many times smaller than the range as Level 0 is than
    /// the data, and both the runs per range and the runs of Level 0 grow with the root of the data. At most so many that
    /// Level 0 has room for those that come while a compaction works, to which writers are slowed down.
    pub fn batch_bytes(&self, level1_bytes: u64) -> u64 {
        let mean = (level1_bytes as f64 * self.memtable_bytes as f64).sqrt() as u64;
        mean.clamp(self.memtable_bytes, self.memtable_bytes.saturating_mul(LEVEL0_RUNS_MAX as u64 * 3 / 8))
    }

    /// The size beyond which a range is partitioned, in bytes, moved by up to three tenths as `dice` says, so that
    /// ranges that began together do not divide together.
    pub fn split_bytes(&self, dice: u64) -> u64 {
        (self.split_ratio * self.range_bytes as f64 * spread(dice)) as u64
    }

    /// The part of a range that may be superseded, moved likewise.
    pub fn stale_limit(&self, dice: u64) -> f64 {
        self.stale_ratio * spread(dice)
    }
}

/// 0.7 to 1.3, from the upper bits of `dice`.
fn spread(dice: u64) -> f64 {
    0.7 + 0.6 * (dice >> 11) as f64 / (1_u64 << 53) as f64
}
