//! The block device of the device directory: the numbers of `/proc/diskstats`, read from the device's own `stat` file.

use super::super::block_device::BlockDevice;
use super::super::kernel_file::KernelFile;
use super::super::observer::{Observer, ObserverKind, boxed};
use super::super::rates::{RateCalculator, RawValue};
use crate::samples::Column;

/// The file of the counters.
pub(super) const STAT: &str = "/sys/dev/block/<M>:<m>/stat";

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "device",
    description: "The block device, or partition, of the device directory.",
    columns: || columns(STAT),
    create: |subject| {
        let first = subject.host_layers().first();
        boxed(first.map(|layer| DiskStats::new("device".to_owned(), &layer.device)))
    },
};

/// The sector of the kernel's counters, independent of the sector size of the device.
const SECTOR_BYTES: f64 = 512.0;

/// The numbers of the device, in the kernel's order.
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

/// The columns, and the number from which each is computed.
const COLUMNS: [(&str, &str, Stat, &str); 17] = [
    ("reads", "1/s", Stat::Reads, "Reads completed."),
    ("writes", "1/s", Stat::Writes, "Writes completed."),
    ("read_bytes", "B/s", Stat::ReadSectors, "Bytes read."),
    ("write_bytes", "B/s", Stat::WriteSectors, "Bytes written."),
    ("read_wait", "s/s", Stat::ReadMs, "Time of reads, summed over reads."),
    ("write_wait", "s/s", Stat::WriteMs, "Time of writes, summed over writes."),
    ("busy", "share", Stat::BusyMs, "Time in which some request was in flight."),
    ("in_flight", "", Stat::InFlight, "Requests in flight."),
    ("discards", "1/s", Stat::Discards, "Discards completed."),
    ("discard_bytes", "B/s", Stat::DiscardSectors, "Bytes discarded."),
    ("flushes", "1/s", Stat::Flushes, "Cache flushes completed."),
    ("discard_wait", "s/s", Stat::DiscardMs, "Time of discards, summed over discards."),
    ("flush_wait", "s/s", Stat::FlushMs, "Time of flushes, summed over flushes."),
    ("read_merges", "1/s", Stat::ReadMerges, "Reads merged with an adjacent one."),
    ("write_merges", "1/s", Stat::WriteMerges, "Writes merged with an adjacent one."),
    ("discard_merges", "1/s", Stat::DiscardMerges, "Discards merged with an adjacent one."),
    ("queue_time", "s/s", Stat::QueueMs, "Time of all requests in flight: the mean queue depth."),
];

/// The columns of the device whose `stat` is the file `from`.
pub(super) fn columns(from: &str) -> Vec<Column> {
    COLUMNS.map(|(name, unit, _, meaning)| Column::new(name, unit).meaning(meaning).from(from)).to_vec()
}

/// The counters of a device, read from its folder in sysfs.
#[derive(Debug)]
pub(super) struct DiskStats {
    source: String,
    stat: KernelFile,
    rates: RateCalculator,
}

impl DiskStats {
    pub(super) fn new(source: String, device: &BlockDevice) -> Self {
        Self { source, stat: KernelFile::new(device.sysfs.join("stat")), rates: RateCalculator::default() }
    }
}

impl Observer for DiskStats {
    fn series(&self) -> &str {
        &self.source
    }

    fn columns(&self) -> Vec<Column> {
        columns(&self.stat.path().display().to_string())
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let raws = raws(self.stat.read().unwrap_or_default());
        self.rates.rates(t_ns, raws)
    }
}

fn raws(text: &str) -> Vec<RawValue> {
    let numbers: Vec<f64> = text.split_ascii_whitespace().map_while(|number| number.parse().ok()).collect();
    let raw = |stat: Stat| {
        // Kernels before 5.5 do not count flushes, those before 4.18 not discards.
        let number = numbers.get(stat as usize).copied();
        match stat {
            Stat::InFlight => RawValue::Gauge(number),
            Stat::ReadSectors | Stat::WriteSectors | Stat::DiscardSectors => {
                RawValue::Counter(number.map(|sectors| sectors * SECTOR_BYTES))
            }
            Stat::ReadMs | Stat::WriteMs | Stat::BusyMs | Stat::QueueMs | Stat::DiscardMs | Stat::FlushMs => {
                RawValue::Counter(number.map(|milliseconds| milliseconds / 1e3))
            }
            _ => RawValue::Counter(number),
        }
    };
    COLUMNS.map(|(_, _, stat, _)| raw(stat)).to_vec()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn observer(folder: &Path) -> DiskStats {
        let device = BlockDevice { major: 8, minor: 0, name: "sda".to_owned(), sysfs: folder.to_owned() };
        DiskStats::new("device".to_owned(), &device)
    }

    #[test]
    fn a_device_has_rates_in_bytes_and_seconds() {
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
    fn an_old_kernel_leaves_gaps_and_a_removed_device_only_gaps() {
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
