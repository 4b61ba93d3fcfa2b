//! Counts the bytes written to the device: by the device's own counter or, without one, by the kernel's counters of our
//! processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use manometer_measure::host::device_of;
use serde::{Deserialize, Serialize};

use crate::boot_id::boot_id;

/// The field of a device's `stat` that counts written sectors, and the size of these sectors on any device.
const SECTORS_WRITTEN: usize = 6;
const SECTOR_BYTES: u64 = 512;

/// Where a count of written bytes comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountSource {
    /// The device's counter: all writes that reached it, of any process.
    Device,
    /// The kernel's counters of our processes: what they wrote to any device.
    Processes,
}

/// A reading of a device's counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterReading {
    /// The boot of the host since which the counter counts.
    pub boot_id: String,
    /// The device: its number, and its sequence number where the kernel has one.
    pub device: String,
    /// All bytes written to the device.
    pub bytes: u64,
}

impl CounterReading {
    /// The bytes written since the reading `earlier`; nothing where that is of another device or boot.
    pub fn since(&self, earlier: &Self) -> Option<u64> {
        let same = (&self.boot_id, &self.device) == (&earlier.boot_id, &earlier.device);
        self.bytes.checked_sub(earlier.bytes).filter(|_| same)
    }
}

/// A counter of written bytes, from its creation on.
#[derive(Debug)]
pub struct WriteCounter {
    source: Source,
    bytes: u64,
}

#[derive(Debug)]
enum Source {
    /// The device's `stat`, the device's id, and its last count.
    Device(PathBuf, String, u64),
    /// The last count of each process.
    Processes(BTreeMap<u32, u64>),
}

impl WriteCounter {
    /// A counter of the device of `directory`.
    pub fn of(directory: &Path) -> Self {
        let device = device_of(directory).and_then(|device| {
            let (number, sequence) = (format!("{}:{}", device.major, device.minor), device.attribute("diskseq"));
            Self::of_device(device.sysfs.join("stat"), format!("{number} {}", sequence.unwrap_or_default()))
        });
        device.unwrap_or_else(Self::of_processes)
    }

    /// A counter of the writes of processes, whether or not they have reached a device.
    pub(super) fn of_processes() -> Self {
        Self { source: Source::Processes(BTreeMap::new()), bytes: 0 }
    }

    /// A counter of the device `name` with the file `stat`; nothing where that cannot be read.
    fn of_device(stat: PathBuf, name: String) -> Option<Self> {
        let bytes = sectors_bytes(&stat)?;
        Some(Self { source: Source::Device(stat, name, bytes), bytes: 0 })
    }

    /// A counter of a device with the file `stat`.
    #[cfg(test)]
    pub(super) fn of_stat(stat: PathBuf) -> Option<Self> {
        Self::of_device(stat, "of a test".to_owned())
    }

    /// The device's counter at the last look; nothing where processes are counted.
    pub fn reading(&self) -> Option<CounterReading> {
        match &self.source {
            Source::Device(_, device, bytes) => {
                Some(CounterReading { boot_id: boot_id()?, device: device.clone(), bytes: *bytes })
            }
            Source::Processes(_) => None,
        }
    }

    /// Also counts the process `pid`, where processes are counted.
    pub fn add_process(&mut self, pid: u32) {
        if let Source::Processes(seen) = &mut self.source {
            seen.insert(pid, process_bytes(pid).unwrap_or(0));
        }
    }

    /// Where the count comes from.
    pub fn source(&self) -> CountSource {
        match self.source {
            Source::Device(..) => CountSource::Device,
            Source::Processes(_) => CountSource::Processes,
        }
    }

    /// The bytes written since its creation. A counter that cannot be read any more adds nothing.
    pub fn bytes(&mut self) -> u64 {
        self.bytes += match &mut self.source {
            Source::Device(stat, _, last) => sectors_bytes(stat).map_or(0, |now| increase(last, now)),
            Source::Processes(seen) => {
                seen.iter_mut().filter_map(|(pid, last)| Some(increase(last, process_bytes(*pid)?))).sum()
            }
        };
        self.bytes
    }
}

/// The increase of a count. One that fell has started from 0 again.
fn increase(last: &mut u64, now: u64) -> u64 {
    let increase = if now >= *last { now - *last } else { now };
    *last = now;
    increase
}

fn sectors_bytes(stat: &Path) -> Option<u64> {
    let text = fs::read_to_string(stat).ok()?;
    let sectors: u64 = text.split_ascii_whitespace().nth(SECTORS_WRITTEN)?.parse().ok()?;
    Some(sectors * SECTOR_BYTES)
}

fn process_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_counted_in_sectors_and_a_missing_one_adds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let stat = dir.path().join("stat");
        let write = |sectors: u64| fs::write(&stat, format!("1 2 3 4 5 6 {sectors} 8 9 10 11\n")).unwrap();
        write(100);
        let mut counter = WriteCounter::of_stat(stat.clone()).unwrap();
        write(108);
        assert_eq!(counter.bytes(), 4096);
        let reading = counter.reading().unwrap();
        assert_eq!(reading.bytes, 108 * SECTOR_BYTES);
        fs::remove_file(&stat).unwrap();
        assert_eq!(counter.bytes(), 4096);
        write(2);
        assert_eq!(counter.bytes(), 4096 + 1024, "a device that was plugged in again counts from 0");
        assert_eq!(counter.reading().unwrap().since(&reading), None);
    }

    #[test]
    fn without_a_device_processes_are_counted() {
        let mut counter = WriteCounter::of_processes();
        counter.add_process(std::process::id());
        assert_eq!(counter.source(), CountSource::Processes);
        counter.add_process(u32::MAX - 1);
        let before = counter.bytes();
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::write(dir.path().join("data"), vec![1; 1 << 20]).unwrap();
        assert!(counter.bytes() >= before + (1 << 20));
    }
}
