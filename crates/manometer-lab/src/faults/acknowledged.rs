//! The acknowledged versions of every key.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rapidhash::v3::rapidhash_v3;

use crate::LabError;

/// The number of keys.
pub(super) const KEYS: u64 = 1000;

const VERSION_BYTES: u64 = size_of::<u64>() as u64;

/// The lengths of values, without the version that they begin with.
const VALUE_BYTES: std::ops::RangeInclusive<usize> = 50..=2000;

/// A file with the last acknowledged version of each key, 0 where there is none.
#[derive(Debug)]
pub struct AcknowledgedVersions(File);

impl AcknowledgedVersions {
    /// Creates the file, without acknowledged versions.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path) -> Result<Self, LabError> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        let file = file.and_then(|file| file.set_len(KEYS * VERSION_BYTES).map(|()| file));
        file.map(Self).map_err(LabError::at(path))
    }

    /// Opens the file.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        OpenOptions::new().read(true).write(true).open(path).map(Self).map_err(LabError::at(path))
    }

    /// Records that `version` of `key` was acknowledged.
    pub(super) fn acknowledge(&self, key: u64, version: u64) -> std::io::Result<()> {
        self.0.write_all_at(&version.to_le_bytes(), key * VERSION_BYTES)
    }

    /// The last acknowledged version of `key`.
    pub(super) fn acknowledged(&self, key: u64) -> std::io::Result<u64> {
        let mut bytes = [0; size_of::<u64>()];
        self.0.read_exact_at(&mut bytes, key * VERSION_BYTES)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// The bytes of `key`.
pub(super) fn key_bytes(key: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(b"user");
    bytes[8..].copy_from_slice(&key.to_be_bytes());
    bytes
}

/// The value of `version` of `key`: the version, and bytes that depend on all three.
pub(super) fn value(seed: u64, key: u64, version: u64) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(mixed(&[seed, key, version]));
    let mut value = version.to_le_bytes().to_vec();
    let length = random.random_range(VALUE_BYTES);
    value.resize(value.len() + length, 0);
    random.fill(&mut value[size_of::<u64>()..]);
    value
}

/// A seed that depends on all `parts`.
pub(super) fn mixed(parts: &[u64]) -> u64 {
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    rapidhash_v3(&bytes)
}

/// The version that `value` of `key` holds, if it is one that was ever written.
pub(super) fn version_of(seed: u64, key: u64, found: &[u8]) -> Option<u64> {
    let version = u64::from_le_bytes(*found.first_chunk()?);
    (value(seed, key, version) == found).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_is_no_version() {
        let whole = value(1, 7, 9);
        assert_eq!(version_of(1, 7, &whole), Some(9));
        assert_eq!(version_of(1, 8, &whole), None);
        assert_eq!(version_of(1, 7, &whole[..whole.len() - 1]), None);
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert_eq!(version_of(1, 7, &changed), None, "{at}");
        }
    }
}
