//! An arrangement that is read from a file and changed.

use std::path::PathBuf;

use manometer_cache::tier::{Arrangement, WriteMode};
use manometer_measure::ByteSize;
use serde::{Deserialize, Serialize};

use crate::LabError;

/// An arrangement's file, and what is changed of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrangementChoice {
    /// The file.
    pub file: PathBuf,
    /// Other sizes of origin and cache, at scale 1 and with one device each.
    pub sizes: Option<(u64, u64)>,
    /// Another handling of writes.
    pub mode: Option<WriteMode>,
}

impl ArrangementChoice {
    /// Reads the file and changes it.
    ///
    /// # Errors
    /// The file, what is wrong with it, and what would be right.
    pub fn load(&self) -> Result<Arrangement, LabError> {
        let refuse = |text: String| LabError::Refused(text);
        let mut arrangement = Arrangement::load(&self.file).map_err(|error| refuse(error.to_string()))?;
        if let Some((origin_bytes, cache_bytes)) = self.sizes {
            let origin = &mut arrangement.origin;
            arrangement.scale = 1;
            (origin.size, origin.count) = (ByteSize(origin_bytes), 1);
            origin.raid = manometer_cache::RaidLevel::None;
            if let Some(cache) = &mut arrangement.cache {
                (cache.size, cache.count) = (ByteSize(cache_bytes), 1);
                cache.raid = manometer_cache::RaidLevel::None;
            }
        }
        if let (Some(mode), Some(cache)) = (self.mode, &mut arrangement.cache) {
            cache.mode = mode;
        }
        let checked = arrangement.validate();
        checked.map_err(|text| refuse(format!("{}: {text}", self.file.display())))?;
        Ok(arrangement)
    }
}
