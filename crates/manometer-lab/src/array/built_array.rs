//! An array as it stands.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The kind of a cache of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    /// bcache.
    Bcache,
    /// The device mapper's cache target.
    DmCache,
}

/// An array as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BuiltArray {
    /// The name.
    pub name: String,
    /// Whether a run built it, which takes it apart at its end.
    #[serde(default)]
    pub of_run: bool,
    /// The device on top, once it is there.
    pub device: Option<PathBuf>,
    /// Where its file system is mounted once the device is there; nothing where it gets none.
    pub mounted_at: Option<PathBuf>,
    /// The kind of its cache, if it has one.
    pub cache: Option<CacheKind>,
    /// The devices of the origin, in order.
    pub origin: Vec<PathBuf>,
    /// The devices of the cache, in order.
    pub cache_devices: Vec<PathBuf>,
}
