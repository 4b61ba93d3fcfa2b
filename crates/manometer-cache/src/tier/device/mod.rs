//! Models of storage devices: the service time of requests to a disk or an SSD.

mod disk;
mod extents;
mod flash;
mod ssd;

pub use disk::{DiskSettings, SimulatedDisk};
pub use ssd::{Ssd, SsdSettings, SsdWear};

use serde::Deserialize;

use super::events::Ns;
use super::jobs::JobId;

/// The settings of a device.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DeviceSettings {
    /// A hard disk.
    Hdd(DiskSettings),
    /// An SSD.
    Ssd(SsdSettings),
}

impl DeviceSettings {
    /// The capacity in bytes.
    pub fn capacity(&self) -> u64 {
        match self {
            Self::Hdd(disk) => disk.capacity.0,
            Self::Ssd(ssd) => ssd.capacity.0,
        }
    }

    /// The invalid setting and what is wrong with it, if any.
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
    /// The start address in bytes.
    pub offset: u64,
    /// The length in bytes.
    pub bytes: u64,
    /// Whether it writes.
    pub is_write: bool,
    /// Whether it completes only when the data is on the medium (FUA).
    pub is_through: bool,
    /// The job that waits for it.
    pub job: JobId,
}

/// The counters of a device.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceCounters {
    /// Bytes written by the host, in whole pages; not counted for disks.
    pub host_bytes: u64,
    /// Bytes written to flash, including garbage collection.
    pub flash_bytes: u64,
    /// The time in which at least one request was in service.
    pub busy_ns: Ns,
}

/// The simulation state of a device.
#[derive(Debug)]
pub enum SimulatedDevice {
    /// A hard disk.
    Disk(SimulatedDisk),
    /// An SSD.
    Ssd(Ssd),
}

impl SimulatedDevice {
    /// A device with all sizes divided by `scale`.
    pub fn new(settings: &DeviceSettings, scale: u64) -> Self {
        match settings {
            DeviceSettings::Hdd(settings) => Self::Disk(SimulatedDisk::new(settings, scale)),
            DeviceSettings::Ssd(settings) => Self::Ssd(Ssd::new(settings, scale)),
        }
    }

    /// The load before a read at `offset`, for the choice among mirrors: queued requests, then seek distance.
    pub fn load(&self, offset: u64) -> (u64, u64) {
        match self {
            Self::Disk(disk) => (disk.waiting() as u64, disk.distance(offset)),
            Self::Ssd(ssd) => (ssd.read_backlog(0), 0),
        }
    }

    /// How long a request would wait, if known: for SSDs.
    pub fn backlog(&self, now: Ns, is_write: bool) -> Ns {
        match self {
            Self::Disk(_) => 0,
            Self::Ssd(ssd) if is_write => ssd.backlog(now),
            Self::Ssd(ssd) => ssd.read_backlog(now),
        }
    }

    /// Its counters.
    pub fn counters(&self) -> DeviceCounters {
        match self {
            Self::Disk(disk) => disk.counters(),
            Self::Ssd(ssd) => ssd.counters(),
        }
    }

    /// Its wear, if known.
    pub fn wear(&self) -> Option<SsdWear> {
        match self {
            Self::Disk(_) => None,
            Self::Ssd(ssd) => Some(ssd.wear()),
        }
    }
}
