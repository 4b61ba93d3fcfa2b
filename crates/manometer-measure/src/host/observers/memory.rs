//! Memory: `/proc/meminfo`.

use super::super::kernel_file::KernelFile;
use super::super::observer::{Observer, ObserverKind, boxed};
use crate::samples::{Column, columns_from};

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "memory",
    description: "Memory of the host.",
    columns,
    create: |subject| boxed(subject.host_directory().map(|_| Memory::default())),
};

const MEMINFO: &str = "/proc/meminfo";

const BYTES: &str = "B";

/// The columns, and the fields of the file from which they are computed: the first minus all others.
const FIELDS: [(&str, &[&str], &str); 24] = [
    ("total", &["MemTotal"], "Memory that the kernel manages."),
    ("free", &["MemFree"], "Free memory."),
    ("available", &["MemAvailable"], "Memory available to programs without swapping, as the kernel estimates it."),
    ("cached", &["Cached"], "File contents and shared memory in the page cache."),
    ("dirty", &["Dirty"], "File contents waiting to be written."),
    ("writeback", &["Writeback"], "File contents being written."),
    ("swap_used", &["SwapTotal", "SwapFree"], "Used swap space."),
    ("buffers", &["Buffers"], "Contents of block devices in the page cache."),
    ("swap_cached", &["SwapCached"], "Memory that is also in swap space."),
    ("active_file", &["Active(file)"], "Recently used page cache."),
    ("inactive_file", &["Inactive(file)"], "Page cache to be reclaimed first."),
    ("active_anonymous", &["Active(anon)"], "Recently used anonymous memory."),
    ("inactive_anonymous", &["Inactive(anon)"], "Anonymous memory to be swapped first."),
    ("unevictable", &["Unevictable"], "Memory that cannot be reclaimed."),
    ("locked", &["Mlocked"], "Memory locked by programs."),
    ("anonymous", &["AnonPages"], "Anonymous memory in page tables."),
    ("anonymous_huge", &["AnonHugePages"], "Anonymous memory in huge pages."),
    ("mapped", &["Mapped"], "Mapped files."),
    ("shared", &["Shmem"], "Shared memory and tmpfs."),
    ("slab_reclaimable", &["SReclaimable"], "Kernel caches that can be reclaimed, such as dentries and inodes."),
    ("slab_unreclaimable", &["SUnreclaim"], "Kernel objects that cannot be reclaimed."),
    ("kernel_stacks", &["KernelStack"], "Kernel stacks of tasks."),
    ("page_tables", &["PageTables"], "Page tables."),
    ("committed", &["Committed_AS"], "Memory that programs have allocated, used or not."),
];

pub(super) fn columns() -> Vec<Column> {
    columns_from(MEMINFO, &FIELDS.map(|(name, _, meaning)| (name, BYTES, meaning)))
}

#[derive(Debug)]
pub(super) struct Memory(KernelFile);

impl Default for Memory {
    fn default() -> Self {
        Self(KernelFile::new(MEMINFO))
    }
}

impl Observer for Memory {
    fn series(&self) -> &str {
        "memory"
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, _: u64) -> Vec<Option<f64>> {
        values(self.0.read().unwrap_or_default())
    }
}

fn values(text: &str) -> Vec<Option<f64>> {
    // Each line is `Name:  number kB`, and the kernel's kB are KiB.
    let lines: Vec<(&str, f64)> = text
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            let kib: f64 = rest.strip_suffix(" kB").unwrap_or(rest).trim().parse().ok()?;
            Some((name, kib * 1024.0))
        })
        .collect();
    let bytes = |wanted: &str| lines.iter().find(|(name, _)| *name == wanted).map(|(_, bytes)| *bytes);
    let value = |names: &[&str]| {
        let (first, others) = names.split_first()?;
        others.iter().try_fold(bytes(first)?, |left, name| Some((left - bytes(name)?).max(0.0)))
    };
    FIELDS.iter().map(|(_, names, _)| value(names)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_swap_is_what_is_not_free() {
        let row = values("MemTotal:  100 kB\nMemFree: 50 kB\nActive(file):  3 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\n");
        let names: Vec<String> = columns().into_iter().map(|column| column.name).collect();
        let at = |wanted: &str| row[names.iter().position(|name| name == wanted).unwrap()];
        assert_eq!(at("total"), Some(102_400.0));
        assert_eq!(at("active_file"), Some(3072.0));
        assert_eq!(at("swap_used"), Some(6144.0));
        assert_eq!(at("dirty"), None);
    }
}
