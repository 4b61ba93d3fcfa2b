//! The guest's markers: writes to the recorded device after the file system, past every cache of the guest and without
//! a flush. So the recording has them in order with everything else.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;

use super::device::{ACKNOWLEDGED_AT, BLOCK_BYTES, REACHED_AT};

/// Writes markers.
#[derive(Debug, Clone)]
pub struct MarkerWriter(Arc<File>);

#[repr(align(4096))]
struct Block([u8; BLOCK_BYTES]);

impl MarkerWriter {
    pub(super) fn on(device: &Path) -> io::Result<Self> {
        let direct = OFlags::DIRECT.bits() as i32;
        Ok(Self(Arc::new(File::options().write(true).custom_flags(direct).open(device)?)))
    }

    /// What has this number is acknowledged.
    pub fn acknowledged(&self, number: u64) {
        self.write(&number.to_le_bytes(), ACKNOWLEDGED_AT);
    }

    /// A point is reached.
    pub fn reached(&self, point: &str) {
        self.write(point.as_bytes(), REACHED_AT);
    }

    fn write(&self, marker: &[u8], offset: u64) {
        let mut block = Block([0; BLOCK_BYTES]);
        block.0[..marker.len()].copy_from_slice(marker);
        self.0.write_all_at(&block.0, offset).unwrap();
    }
}
