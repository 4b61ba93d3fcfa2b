//! What is asked for: an arrangement, the devices in its places, and a mount point.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use manometer_cache::RaidLevel;
use manometer_cache::tier::{Arrangement, RaidArray, SecondLevelSettings};
use manometer_experiment::definition::FileSystem;

use super::built_array::CacheKind;
use super::{bcache, dm_cache, file_system, md};
use crate::LabError;

/// Devices consist of these.
const SECTOR: u64 = 512;

/// The longest name: it becomes part of a device's.
const NAME_MAX: usize = 32;

/// The name of a guest's array.
const GUEST_ARRAY: &str = "lab";

/// An array to build.
#[derive(Debug, Clone)]
pub struct ArraySpec {
    /// Its name.
    pub name: String,
    /// The arrangement.
    pub arrangement: Arrangement,
    /// The devices or files of the origin. A file that is missing is created.
    pub origin: Vec<PathBuf>,
    /// The devices or files of the cache.
    pub cache: Vec<PathBuf>,
    /// The file system and where it is mounted, if it gets one.
    pub mount: Option<(FileSystem, PathBuf)>,
    /// Whether what the devices and files hold may be lost.
    pub erase: bool,
    /// Whether a run builds it, and holds [`super::lock`] until it is taken apart.
    pub of_run: bool,
    /// Whether the devices are known to read as zeros, so that parity and copies are right already.
    pub zeroed: bool,
}

impl ArraySpec {
    /// The array that a guest builds of its new `disks`, those of the origin first.
    pub fn of_guest(arrangement: Arrangement, disks: Vec<PathBuf>, mount: Option<(FileSystem, PathBuf)>) -> Self {
        let mut origin = disks;
        let cache = origin.split_off((arrangement.origin.count as usize).min(origin.len()));
        let name = GUEST_ARRAY.to_owned();
        Self { name, arrangement, origin, cache, mount, erase: false, of_run: false, zeroed: true }
    }

    /// What is wrong with the request, if anything.
    pub(super) fn check(&self) -> Result<(), LabError> {
        let refuse = |text: String| Err(LabError::Refused(text));
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if self.name.is_empty() || self.name.len() > NAME_MAX || !self.name.chars().all(is_plain) {
            return refuse(format!(
                "the name `{}` is not of 1 to {NAME_MAX} letters, digits, `-` and `_`",
                self.name.escape_default()
            ));
        }
        let counts = [
            ("--origin", self.origin.len(), self.arrangement.origin.count),
            ("--cache", self.cache.len(), self.arrangement.cache.as_ref().map_or(0, |cache| cache.count)),
        ];
        for (flag, given, needed) in counts {
            if given as u64 != needed {
                return refuse(format!("the arrangement needs {needed} devices after `{flag}`, and {given} are given"));
            }
        }
        let all: Vec<&PathBuf> = self.origin.iter().chain(&self.cache).collect();
        let distinct: BTreeSet<String> = all.iter().map(|path| identity(path)).collect();
        if distinct.len() < all.len() {
            return refuse("a device or file is given twice".to_owned());
        }
        if let Some(path) = self.origin.iter().chain(&self.cache).find(|path| path.to_str().is_none()) {
            return refuse(format!("{}: its name is not UTF-8", path.display()));
        }
        if let Some((_, point)) = &self.mount {
            file_system::check_point(point)?;
        }
        check(&self.arrangement)
    }
}

/// Checks whether Linux can build an arrangement.
///
/// # Errors
/// It has no such cache, or none of this size.
pub fn check(arrangement: &Arrangement) -> Result<(), LabError> {
    let Some(cache) = &arrangement.cache else { return Ok(()) };
    let bytes = cache.size.0 / arrangement.scale;
    match cache_kind(cache)? {
        CacheKind::Bcache => bcache::check(cache, bytes),
        CacheKind::DmCache => dm_cache::check(cache, bytes),
    }
}

/// What an array takes of each device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberSizes {
    /// Of the origin, for data.
    pub origin_share: u64,
    /// Of the cache, for data; of dm-cache also for its metadata, which the arrangement's size does not contain.
    pub cache_share: u64,
    /// Of the origin, in all.
    pub origin: u64,
    /// Of the cache, in all.
    pub cache: u64,
}

impl MemberSizes {
    pub fn of(arrangement: &Arrangement) -> Result<Self, LabError> {
        let origin = &arrangement.origin;
        let origin_share = share(origin.size.0 / arrangement.scale, origin.array());
        let mut cache_share = 0;
        let mut cache_raid = RaidLevel::None;
        if let Some(cache) = &arrangement.cache {
            let bytes = cache.size.0 / arrangement.scale;
            let metadata = match cache_kind(cache)? {
                CacheKind::Bcache => 0,
                CacheKind::DmCache => dm_cache::metadata_bytes(bytes, cache.block.0),
            };
            (cache_share, cache_raid) = (share(bytes + metadata, cache.array()), cache.raid);
        }
        let (origin, cache) = (md::member_bytes(origin_share, origin.raid), md::member_bytes(cache_share, cache_raid));
        Ok(Self { origin_share, cache_share, origin, cache })
    }
}

/// A device's share of `bytes`, in whole chunks.
fn share(bytes: u64, array: RaidArray) -> u64 {
    bytes.div_ceil(array.data_members().max(1)).next_multiple_of(if array.members > 1 { array.chunk } else { SECTOR })
}

/// The sizes of all devices that an arrangement needs, the origin's first.
///
/// # Errors
/// Linux has no such cache.
pub fn device_sizes(arrangement: &Arrangement) -> Result<Vec<u64>, LabError> {
    let sizes = MemberSizes::of(arrangement)?;
    let cache = arrangement.cache.iter().flat_map(|cache| std::iter::repeat_n(sizes.cache, cache.count as usize));
    Ok(std::iter::repeat_n(sizes.origin, arrangement.origin.count as usize).chain(cache).collect())
}

/// What a path leads to, whatever its name.
fn identity(path: &Path) -> String {
    match fs::metadata(path) {
        Ok(facts) if facts.file_type().is_block_device() => format!("device {}", facts.rdev()),
        Ok(facts) => format!("file {} {}", facts.dev(), facts.ino()),
        Err(_) => path.display().to_string(),
    }
}

/// The kind of cache that has the policy of `settings`.
///
/// # Errors
/// Linux has none.
pub fn cache_kind(settings: &SecondLevelSettings) -> Result<CacheKind, LabError> {
    match settings.policy.kind().name {
        "bcache" | "bcache-fifo" | "bcache-random" => Ok(CacheKind::Bcache),
        "dm-cache-smq" | "dm-cache-mq" => Ok(CacheKind::DmCache),
        other => Err(LabError::Refused(format!(
            "`cache.policy`: Linux has no `{other}`: take `bcache`, `bcache-fifo`, `bcache-random` or `dm-cache-smq`"
        ))),
    }
}

/// In what the array differs from the arrangement that the simulation reads.
pub fn differences(arrangement: &Arrangement) -> Vec<String> {
    let mut texts = vec![
        "memory, cores, the controller's cache and the devices' speed are this host's, not the arrangement's"
            .to_owned(),
    ];
    let Some(cache) = &arrangement.cache else { return texts };
    if cache.policy.kind().name == "dm-cache-mq" {
        texts.push("the policy is `smq`: Linux has had no `mq` since 4.8".to_owned());
    }
    let is_dm_cache = cache_kind(cache).is_ok_and(|kind| kind == CacheKind::DmCache);
    if is_dm_cache && cache.sequential.is_some() {
        texts.push("`cache.sequential` has no effect: `smq` does not look for sequential requests".to_owned());
    }
    if is_dm_cache && cache.clean_above.is_some() {
        texts.push("`cache.clean_above` has no effect: `smq` decides itself when to write back".to_owned());
    }
    if cache.trim {
        texts.push("`cache.trim` has no effect".to_owned());
    }
    texts
}
