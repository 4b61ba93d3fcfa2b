//! The settings of the second-level cache.

use manometer_measure::{ByteSize, Share, Span};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::policy::blocks_per_hot_spot;
use crate::policy_spec::PolicySpec;
use crate::raid_level::RaidLevel;
use crate::tier::raid_array::{RaidArray, default_chunk, one_device};

/// The handling of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMode {
    /// Writes go to the cache, and later to the origin.
    #[default]
    WriteBack,
    /// Writes go to both.
    WriteThrough,
    /// Writes go to the origin, and the cached block is dropped.
    #[serde(alias = "pass-through")]
    WriteAround,
}

/// The kind of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetadataKind {
    /// None.
    #[default]
    None,
    /// A node for each block whose slot changes.
    Mapping,
    /// A B-tree of log-structured nodes, and a journal of changes, which writes wait for.
    BTree,
}

/// The cost of metadata.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetadataSettings {
    /// The kind.
    pub kind: MetadataKind,
    /// Bytes written per change, to a node or to the journal.
    #[serde(default = "node")]
    pub bytes: ByteSize,
}

impl Default for MetadataSettings {
    fn default() -> Self {
        Self { kind: MetadataKind::None, bytes: node() }
    }
}

fn default_true() -> bool {
    true
}

fn node() -> ByteSize {
    ByteSize(4096)
}

/// The sequential requests that bypass the cache.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequentialBypass {
    /// The bytes of a run that counts as sequential.
    pub bytes: Option<ByteSize>,
    /// The requests of a run that counts as sequential.
    pub requests: Option<u64>,
    /// The bytes from which write-back of the page cache counts as sequential: file systems lay out files contiguously
    /// as they are written back.
    pub write_back: Option<ByteSize>,
    /// Whether the mean of a task's runs counts as well.
    #[serde(default)]
    pub task_mean: bool,
    /// Whether synchronous writes in write-back mode count as well: with bcache of Linux 6.1 they do, with 3.17 not.
    #[serde(default = "default_true")]
    pub synchronous_writes: bool,
}

/// How far the SSD may lag behind before requests bypass it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CongestionBypass {
    /// For reads.
    pub read: Span,
    /// For writes.
    pub write: Span,
}

/// The settings of a second-level cache.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondLevelSettings {
    /// The name of the device.
    pub device: String,
    /// The number of devices.
    #[serde(default = "one_device")]
    pub count: u64,
    /// The RAID level.
    #[serde(default)]
    pub raid: RaidLevel,
    /// The bytes of a RAID chunk.
    #[serde(default = "default_chunk")]
    pub chunk: ByteSize,
    /// The size of the cache.
    pub size: ByteSize,
    /// The replacement policy.
    #[serde(deserialize_with = "choice")]
    pub policy: PolicySpec,
    /// The handling of writes.
    #[serde(default)]
    pub mode: WriteMode,
    /// The unit of caching.
    pub block: ByteSize,
    /// The bucket size, if blocks are written sequentially into buckets.
    pub bucket: Option<ByteSize>,
    /// The sequential requests that bypass it.
    pub sequential: Option<SequentialBypass>,
    /// The congestion from which requests bypass it.
    pub congested: Option<CongestionBypass>,
    /// The most data copied into it at once.
    pub migration: Option<ByteSize>,
    /// The share of dirty blocks above which they are cleaned; without it, blocks are written back when their slot is
    /// needed. Of bcache the share at which it aims, by default 10 %.
    pub clean_above: Option<Share>,
    /// The metadata.
    #[serde(default)]
    pub metadata: MetadataSettings,
    /// Memory per byte of its size.
    #[serde(default)]
    pub memory_per_byte: f64,
    /// Whether discards (TRIM) are sent to its SSDs.
    #[serde(default)]
    pub trim: bool,
}

fn choice<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PolicySpec, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

impl SecondLevelSettings {
    /// The RAID array of its devices.
    pub fn array(&self) -> RaidArray {
        RaidArray { raid: self.raid, members: self.count, chunk: self.chunk.0 }
    }

    /// Sets what the policy derives from the sizes of origin and cache: buckets, which keep their size at every scale,
    /// and hot spots.
    pub fn set_policy_sizes(&mut self, origin_bytes: u64, cache_bytes: u64) {
        if let Some(bucket) = self.bucket {
            self.policy.set_parameter("buckets", (cache_bytes / bucket.0) as f64);
        }
        let block = self.block.0;
        self.policy.set_parameter("spot", blocks_per_hot_spot(origin_bytes / block, cache_bytes / block) as f64);
    }

    /// The number of buckets of a bcache of `cache_bytes`; `None` of other policies.
    pub(super) fn bcache_buckets(&self, cache_bytes: u64) -> Option<u64> {
        self.policy.parameter("buckets").map(|buckets| (buckets as u64).clamp(1, (cache_bytes / self.block.0).max(1)))
    }

    /// What is wrong with the settings, if anything.
    pub fn validation_error(&self) -> Option<String> {
        let block = self.block.0;
        if block == 0 || !block.is_multiple_of(4096) {
            return Some("`block` has to be a multiple of 4KiB".to_owned());
        }
        if self.policy.kind().name == "opt" {
            return Some("`policy` cannot be `opt`: the requests to a second level depend on the first".to_owned());
        }
        if self.bucket.is_some_and(|bucket| bucket.0 < block) {
            return Some("`bucket` is smaller than `block`".to_owned());
        }
        if self.bucket.is_some() && self.policy.sets("buckets") {
            let text =
                "`policy` says how many `buckets` there are, and `bucket` how large they are: take one of the two";
            return Some(text.to_owned());
        }
        if let Some(migration) = self.migration.filter(|migration| migration.0 < block) {
            let migration = migration.0;
            return Some(format!(
                "`migration` is {migration} bytes, below `block`: nothing would be promoted; take at least {block}"
            ));
        }
        if self.metadata.bytes.0 == 0 {
            return Some("`metadata.bytes` is 0: take `kind = \"none\"`".to_owned());
        }
        (!(0.0..1.0).contains(&self.memory_per_byte)).then(|| "`memory_per_byte` is not from 0 to below 1".to_owned())
    }
}
