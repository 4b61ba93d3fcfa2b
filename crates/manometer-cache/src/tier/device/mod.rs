//! Models of devices: what a request to a disk or an SSD takes.

mod disk;
mod extents;
mod flash;
mod ssd;

pub use disk::{Disk, DiskSettings};
pub use ssd::{Ssd, SsdSettings, SsdWear};

use serde::Deserialize;

use super::events::Ns;
use super::jobs::JobId;

/// A device as a file describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DeviceSettings {
    /// A hard disk.
    Hdd(DiskSettings),
    /// An SSD.
    Ssd(SsdSettings),
}

impl DeviceSettings {
    /// What it holds, in bytes.
    pub fn capacity(&self) -> u64 {
        match self {
            Self::Hdd(disk) => disk.capacity.0,
            Self::Ssd(ssd) => ssd.capacity.0,
        }
    }

    /// What is wrong with it, by key.
    pub fn validation_error(&self) -> Option<String> {
        match self {
            Self::Hdd(disk) => disk.validation_error(),
            Self::Ssd(ssd) => ssd.validation_error(),
        }
    }
}

/// A request to a device.
#[derive(Debug, Clone, Copy)]
pub struct DeviceRequest {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
    /// Whether it writes.
    pub is_write: bool,
    /// Whether it is not done before it is on the medium.
    pub is_through: bool,
    /// What waits for it.
    pub job: JobId,
}

/// What a device did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceCounters {
    /// Bytes that the host wrote to it, in whole pages; a disk's are not counted.
    pub host_bytes: u64,
    /// Bytes written to flash, with those that were moved to make room.
    pub flash_bytes: u64,
    /// How long it was at work.
    pub busy_ns: Ns,
}

/// A device at work.
#[derive(Debug)]
pub enum Device {
    /// A hard disk.
    Disk(Disk),
    /// An SSD.
    Ssd(Ssd),
}

impl Device {
    /// A device whose sizes are all `scale` times smaller.
    pub fn new(settings: &DeviceSettings, scale: u64) -> Self {
        match settings {
            DeviceSettings::Hdd(settings) => Self::Disk(Disk::new(settings, scale)),
            DeviceSettings::Ssd(settings) => Self::Ssd(Ssd::new(settings, scale)),
        }
    }

    /// How much there is to do before a read at `offset`, to choose among mirrors: requests, then the way of the arm.
    pub fn load(&self, offset: u64) -> (u64, u64) {
        match self {
            Self::Disk(disk) => (disk.waiting() as u64, disk.distance(offset)),
            Self::Ssd(ssd) => (ssd.read_backlog(0), 0),
        }
    }

    /// How long a request would wait, where that is known: an SSD's.
    pub fn backlog(&self, now: Ns, is_write: bool) -> Ns {
        match self {
            Self::Disk(_) => 0,
            Self::Ssd(ssd) if is_write => ssd.backlog(now),
            Self::Ssd(ssd) => ssd.read_backlog(now),
        }
    }

    /// What it did.
    pub fn counters(&self) -> DeviceCounters {
        match self {
            Self::Disk(disk) => disk.counters(),
            Self::Ssd(ssd) => ssd.counters(),
        }
    }

    /// How worn it is, where that is known.
    pub fn wear(&self) -> Option<SsdWear> {
        match self {
            Self::Disk(_) => None,
            Self::Ssd(ssd) => Some(ssd.wear()),
        }
    }
}
