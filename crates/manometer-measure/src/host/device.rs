//! The block device under a folder: who it is, and `/proc/diskstats` of it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::environment::mount_of;
use super::kernel_file::KernelFile;
use super::{Observer, Rates, Raw};
use crate::samples::Column;

/// A block device as the kernel names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its major number.
    pub major: u32,
    /// Its minor number.
    pub minor: u32,
    /// Its name, such as `nvme0n1p2`.
    pub name: String,
    /// Its folder in sysfs.
    pub sysfs: PathBuf,
}

impl Device {
    /// The block device whose folder in sysfs is `folder`, or what that links to.
    pub fn at(folder: &Path) -> Option<Self> {
        let sysfs = fs::canonicalize(folder).ok()?;
        let number = fs::read_to_string(sysfs.join("dev")).ok()?;
        let (major, minor) = number.trim().split_once(':')?;
        let name = sysfs.file_name()?.to_str()?.to_owned();
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()?, name, sysfs })
    }

    /// The whole disk's folder in sysfs: the device's own, or that of the disk it is a partition of.
    pub fn disk_sysfs(&self) -> PathBuf {
        let partition = self.sysfs.join("partition").exists();
        match self.sysfs.parent() {
            Some(disk) if partition => disk.to_owned(),
            _ => self.sysfs.clone(),
        }
    }

    /// A sysfs attribute of the device, or of its disk where it has none of its own.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let read = |folder: PathBuf| fs::read_to_string(folder.join(name)).ok();
        let text = read(self.sysfs.clone()).or_else(|| read(self.disk_sysfs()))?;
        Some(text.trim().to_owned())
    }
}

/// The block device that holds `dir`, or its nearest parent that exists; nothing for file systems
/// without one (tmpfs, network, overlay).
pub fn device_of(dir: &Path) -> Option<Device> {
    let existing = dir.ancestors().map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
    let number = existing.into_iter().find_map(|dir| fs::metadata(dir).ok())?.dev();
    numbered(number).or_else(|| mounted_device(dir))
}

fn numbered(number: u64) -> Option<Device> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    Device::at(Path::new(&format!("/sys/dev/block/{major}:{minor}")))
}

/// The device that is mounted at `dir`, for file systems such as Btrfs that hide it behind a number of their own.
fn mounted_device(dir: &Path) -> Option<Device> {
    let source = mount_of(dir)?.source.filter(|source| source.starts_with("/dev/"))?;
    numbered(fs::metadata(source).ok()?.rdev())
}

/// Bytes of a sector in the kernel's accounts, whatever the device's own.
const SECTOR_BYTES: f64 = 512.0;

/// The device's numbers in the order in which the kernel writes them down.
#[derive(Debug, Clone, Copy)]
enum Stat {
    Reads,
    ReadMerges,
    ReadSectors,
    ReadMs,
    Writes,
    WriteMerges,
    WriteSectors,
    WriteMs,
    InFlight,
    BusyMs,
    QueueMs,
    Discards,
    DiscardMerges,
    DiscardSectors,
    DiscardMs,
    Flushes,
    FlushMs,
}

/// The columns, and the number that each is made of.
const COLUMNS: [(&str, &str, Stat, &str); 17] = [
    ("reads", "1/s", Stat::Reads, "Reads completed."),
    ("writes", "1/s", Stat::Writes, "Writes completed."),
    ("read_bytes", "B/s", Stat::ReadSectors, "Bytes read."),
    ("write_bytes", "B/s", Stat::WriteSectors, "Bytes written."),
    ("read_wait", "s/s", Stat::ReadMs, "Time that reads took, summed over reads."),
    ("write_wait", "s/s", Stat::WriteMs, "Time that writes took, summed over writes."),
    ("busy", "share", Stat::BusyMs, "Time in which some request was on its way."),
    ("in_flight", "", Stat::InFlight, "Requests on their way."),
    ("discards", "1/s", Stat::Discards, "Discards completed."),
    ("discard_bytes", "B/s", Stat::DiscardSectors, "Bytes discarded."),
    ("flushes", "1/s", Stat::Flushes, "Flushes of the device's cache completed."),
    ("discard_wait", "s/s", Stat::DiscardMs, "Time that discards took, summed over discards."),
    ("flush_wait", "s/s", Stat::FlushMs, "Time that flushes took, summed over flushes."),
    ("read_merges", "1/s", Stat::ReadMerges, "Reads joined to a neighbouring one."),
    ("write_merges", "1/s", Stat::WriteMerges, "Writes joined to a neighbouring one."),
    ("discard_merges", "1/s", Stat::DiscardMerges, "Discards joined to a neighbouring one."),
    ("queue_time", "s/s", Stat::QueueMs, "Time of all requests on their way: their mean number."),
];

/// The columns of the device whose `stat` is the file `from`.
pub(super) fn columns(from: &str) -> Vec<Column> {
    COLUMNS.map(|(name, unit, _, meaning)| Column::new(name, unit).meaning(meaning).from(from)).to_vec()
}

/// One device's line of `/proc/diskstats`, read from the device's own folder.
#[derive(Debug)]
pub(super) struct DiskStats {
    source: String,
    stat: KernelFile,
    rates: Rates,
}

impl DiskStats {
    pub(super) fn new(source: String, device: &Device) -> Self {
        Self { source, stat: KernelFile::new(device.sysfs.join("stat")), rates: Rates::default() }
    }
}

impl Observer for DiskStats {
    fn source(&self) -> &str {
        &self.source
    }

    fn columns(&self) -> Vec<Column> {
        columns(&self.stat.path().display().to_string())
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let raws = raws(self.stat.read().unwrap_or_default());
        self.rates.row(t_ns, raws)
    }
}

fn raws(text: &str) -> Vec<Raw> {
    let numbers: Vec<f64> = text.split_ascii_whitespace().map_while(|number| number.parse().ok()).collect();
    let raw = |stat: Stat| {
        // Kernels before 5.5 do not tell of flushes, those before 4.18 not of discards.
        let number = numbers.get(stat as usize).copied();
        match stat {
            Stat::InFlight => Raw::Now(number),
            Stat::ReadSectors | Stat::WriteSectors | Stat::DiscardSectors => {
                Raw::Total(number.map(|sectors| sectors * SECTOR_BYTES))
            }
            Stat::ReadMs | Stat::WriteMs | Stat::BusyMs | Stat::QueueMs | Stat::DiscardMs | Stat::FlushMs => {
                Raw::Total(number.map(|milliseconds| milliseconds / 1e3))
            }
            _ => Raw::Total(number),
        }
    };
    COLUMNS.map(|(_, _, stat, _)| raw(stat)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observer(folder: &Path) -> DiskStats {
        let device = Device { major: 8, minor: 0, name: "sda".to_owned(), sysfs: folder.to_owned() };
        DiskStats::new("device".to_owned(), &device)
    }

    #[test]
    fn a_device_tells_rates_in_bytes_and_seconds() {
        let dir = tempfile::tempdir().unwrap();
        let mut observer = observer(dir.path());
        let write = |text: &str| fs::write(dir.path().join("stat"), text).unwrap();
        write("10 1 80 500 20 2 160 900 3 700 1400 5 0 800 50 7 70\n");
        observer.sample(1_000_000_000);
        write("30 1 96 1500 20 2 160 900 4 1200 2400 6 0 808 50 9 90\n");
        let row = observer.sample(2_000_000_000);
        let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
        let at = |wanted: &str| row[names.iter().position(|name| *name == wanted).unwrap()];
        assert_eq!(at("reads"), Some(20.0));
        assert_eq!(at("read_bytes"), Some(8192.0));
        assert_eq!(at("read_wait"), Some(1.0));
        assert_eq!(at("busy"), Some(0.5));
        assert_eq!(at("in_flight"), Some(4.0));
        assert_eq!(at("discard_bytes"), Some(4096.0));
        assert_eq!(at("flushes"), Some(2.0));
    }

    #[test]
    fn an_old_kernel_leaves_gaps_and_a_device_that_is_pulled_nothing_but_gaps() {
        let dir = tempfile::tempdir().unwrap();
        let mut observer = observer(dir.path());
        fs::write(dir.path().join("stat"), "10 1 80 500 20 2 160 900 3 700 1400\n").unwrap();
        observer.sample(1_000_000_000);
        let row = observer.sample(2_000_000_000);
        assert_eq!((row[0], row[8], row[10]), (Some(0.0), None, None));
        observer.stat = KernelFile::new(dir.path().join("gone"));
        assert!(observer.sample(3_000_000_000).iter().all(Option::is_none));
    }
}
