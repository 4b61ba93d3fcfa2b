//! How many bytes were written to the device: as the device's own account says, or, where there is none, as the
//! kernel says of our processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use manometer_measure::host::device_of;
use serde::{Deserialize, Serialize};

/// The field of the device's `stat` that counts sectors written, and their size whatever the device's own.
const SECTORS_WRITTEN: usize = 6;
const SECTOR_BYTES: u64 = 512;

/// Who counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// The device: all that reached it, whoever wrote.
    Device,
    /// The kernel, of our processes: what they caused to be written to any device.
    Processes,
}

/// Which start of the host this is: the device's account begins with it.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The id of this start of the host.
pub(crate) fn boot_id() -> Option<String> {
    Some(fs::read_to_string(BOOT_ID).ok()?.trim().to_owned())
}

/// What a device's own account said at some moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stand {
    /// The start of the host with which it began.
    pub boot_id: String,
    /// The device: its number, and which device of that number it is where the kernel counts them.
    pub device: String,
    /// All bytes that were written to it.
    pub bytes: u64,
}

impl Stand {
    /// What was written since `then`; nothing where that is another account.
    pub fn since(&self, then: &Self) -> Option<u64> {
        let same = (&self.boot_id, &self.device) == (&then.boot_id, &then.device);
        self.bytes.checked_sub(then.bytes).filter(|_| same)
    }
}

/// Counts from its making on.
#[derive(Debug)]
pub struct Counter {
    source: Source,
    bytes: u64,
}

#[derive(Debug)]
enum Source {
    /// The device's `stat`, which device that is, and what it said last.
    Device(PathBuf, String, u64),
    /// What each process had written when it was last seen.
    Processes(BTreeMap<u32, u64>),
}

impl Counter {
    /// A counter of what reaches the device under `directory`.
    pub fn of(directory: &Path) -> Self {
        let device = device_of(directory).and_then(|device| {
            let (number, sequence) = (format!("{}:{}", device.major, device.minor), device.attribute("diskseq"));
            Self::of_device(device.sysfs.join("stat"), format!("{number} {}", sequence.unwrap_or_default()))
        });
        device.unwrap_or_else(Self::of_processes)
    }

    /// A counter of what processes cause to be written, whether or not it has reached a device.
    pub(super) fn of_processes() -> Self {
        Self { source: Source::Processes(BTreeMap::new()), bytes: 0 }
    }

    /// A counter of the device called `name` whose account is the file `stat`; nothing where that cannot be read.
    fn of_device(stat: PathBuf, name: String) -> Option<Self> {
        let bytes = sectors_bytes(&stat)?;
        Some(Self { source: Source::Device(stat, name, bytes), bytes: 0 })
    }

    /// A counter of a device whose account is the file `stat`.
    #[cfg(test)]
    pub(super) fn of_stat(stat: PathBuf) -> Option<Self> {
        Self::of_device(stat, "a test's".to_owned())
    }

    /// What the device's own account said when it was last looked at; nothing where it does not count.
    pub fn stand(&self) -> Option<Stand> {
        match &self.source {
            Source::Device(_, device, bytes) => {
                Some(Stand { boot_id: boot_id()?, device: device.clone(), bytes: *bytes })
            }
            Source::Processes(_) => None,
        }
    }

    /// Counts what the process `pid` writes too, where processes are what counts.
    pub fn watch(&mut self, pid: u32) {
        if let Source::Processes(seen) = &mut self.source {
            seen.insert(pid, process_bytes(pid).unwrap_or(0));
        }
    }

    /// Who counts.
    pub fn counted(&self) -> Counted {
        match self.source {
            Source::Device(..) => Counted::Device,
            Source::Processes(_) => Counted::Processes,
        }
    }

    /// The bytes written since it was made. What cannot be read any more adds nothing.
    pub fn bytes(&mut self) -> u64 {
        self.bytes += match &mut self.source {
            Source::Device(stat, _, last) => sectors_bytes(stat).map_or(0, |now| grown(last, now)),
            Source::Processes(seen) => {
                seen.iter_mut().filter_map(|(pid, last)| Some(grown(last, process_bytes(*pid)?))).sum()
            }
        };
        self.bytes
    }
}

/// How much a count has grown; one that fell began anew.
fn grown(last: &mut u64, now: u64) -> u64 {
    let grown = if now >= *last { now - *last } else { now };
    *last = now;
    grown
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
    fn a_device_counts_sectors_and_one_that_is_gone_adds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let stat = dir.path().join("stat");
        let write = |sectors: u64| fs::write(&stat, format!("1 2 3 4 5 6 {sectors} 8 9 10 11\n")).unwrap();
        write(100);
        let mut counter = Counter::of_stat(stat.clone()).unwrap();
        write(108);
        assert_eq!(counter.bytes(), 4096);
        let stand = counter.stand().unwrap();
        assert_eq!(stand.bytes, 108 * SECTOR_BYTES);
        fs::remove_file(&stat).unwrap();
        assert_eq!(counter.bytes(), 4096);
        write(2);
        assert_eq!(counter.bytes(), 4096 + 1024, "a device that was plugged in again counts from nothing");
        assert_eq!(counter.stand().unwrap().since(&stand), None);
    }

    #[test]
    fn without_a_device_processes_count() {
        let mut counter = Counter::of_processes();
        counter.watch(std::process::id());
        assert_eq!(counter.counted(), Counted::Processes);
        counter.watch(u32::MAX - 1);
        let before = counter.bytes();
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::write(dir.path().join("data"), vec![1; 1 << 20]).unwrap();
        assert!(counter.bytes() >= before + (1 << 20));
    }
}
