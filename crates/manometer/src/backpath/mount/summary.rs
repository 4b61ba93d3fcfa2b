//! What a mount was asked, as text and as JSON.

use serde::Serialize;

/// The summary of a mount that ended.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// What was mounted.
    pub source: String,
    /// Where.
    pub target: String,
    /// About how many paths the cache kept at most; null without a cache.
    pub cache_capacity: Option<u64>,
    #[serde(flatten)]
    pub asked: Asked,
}

/// What the mount was asked, or asked in turn.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Asked {
    /// The attributes of paths below a directory.
    Directory { stats: u64, stats_from_cache: u64 },
    /// The key-value store of a metadata store.
    Store { round_trips: u64 },
}

impl Summary {
    pub fn text(&self) -> String {
        let Self { source, target, cache_capacity, asked } = self;
        let what = match asked {
            Asked::Directory { stats, stats_from_cache } if cache_capacity.is_some() => {
                format!(
                    "the attributes of a path were asked for {stats} times; the cache had them {stats_from_cache} times"
                )
            }
            Asked::Directory { stats, .. } => format!("the attributes of a path were asked for {stats} times"),
            Asked::Store { round_trips } => format!("{round_trips} round trips to the store"),
        };
        format!("{source} was mounted at {target}: {what}")
    }
}
