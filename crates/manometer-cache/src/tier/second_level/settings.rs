//! The second level as a file describes it.

use manometer_measure::{ByteSize, Share, Span};
use serde::{Deserialize, Deserializer, de};

use crate::policy_spec::PolicySpec;
use crate::raid_level::RaidLevel;
use crate::tier::raid_array::{RaidArray, default_chunk, one_device};

/// What a write to a block does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMode {
    /// It goes to the cache, and later to the origin.
    #[default]
    WriteBack,
    /// It goes to both.
    WriteThrough,
    /// It goes to the origin, and what the cache held is dropped (pass-through).
    #[serde(alias = "pass-through")]
    WriteAround,
}

/// What is written down about what the cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetadataKind {
    /// Nothing.
    #[default]
    None,
    /// A node for each block whose place changes.
    Mapping,
    /// A B-tree whose nodes are logs, and a journal of what writes change, which they wait for.
    BTree,
}

/// What metadata cost.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetadataSettings {
    /// What is written down.
    pub kind: MetadataKind,
    /// How much is written for each change, to a node or to the journal.
    #[serde(default = "node")]
    pub bytes: ByteSize,
}

impl Default for MetadataSettings {
    fn default() -> Self {
        Self { kind: MetadataKind::None, bytes: node() }
    }
}

fn node() -> ByteSize {
    ByteSize(4096)
}

/// Which requests go past the cache.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequentialBypass {
    /// Those of runs of so many bytes.
    pub bytes: Option<ByteSize>,
    /// Those of runs of so many requests.
    pub requests: Option<u64>,
    /// From how many bytes on what memory writes back counts as sequential: file systems lay files out as they are written
    /// back, one behind the other.
    pub write_back: Option<ByteSize>,
    /// Whether the mean of a task's runs counts as well.
    #[serde(default)]
    pub task_mean: bool,
}

/// How far the SSD may lag behind before requests go past it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CongestionBypass {
    /// For reads.
    pub read: Span,
    /// For writes.
    pub write: Span,
}

/// A second level.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondLevelSettings {
    /// Which of the devices.
    pub device: String,
    /// How many of them.
    #[serde(default = "one_device")]
    pub count: u64,
    /// How they are joined.
    #[serde(default)]
    pub raid: RaidLevel,
    /// The bytes of a RAID chunk.
    #[serde(default = "default_chunk")]
    pub chunk: ByteSize,
    /// How much of them is the cache.
    pub size: ByteSize,
    /// What it keeps.
    #[serde(deserialize_with = "choice")]
    pub policy: PolicySpec,
    /// What writes do.
    #[serde(default)]
    pub mode: WriteMode,
    /// The unit that is kept.
    pub block: ByteSize,
    /// Where it is written in buckets, one after the other: their size.
    pub bucket: Option<ByteSize>,
    /// Which requests go past it.
    pub sequential: Option<SequentialBypass>,
    /// How far it may lag behind.
    pub congested: Option<CongestionBypass>,
    /// How much may be copied into it at once.
    pub migration: Option<ByteSize>,
    /// Which share may be dirty before it is cleaned; without, blocks are written back when their place is needed.
    pub clean_above: Option<Share>,
    /// What is written down about it.
    #[serde(default)]
    pub metadata: MetadataSettings,
    /// The memory that it takes, for each byte that it holds.
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

    /// What is wrong with it.
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
