//! Erases a whole disk: one partition for data, the rest discarded and never written (Storiks, 4.2).
//!
//! The contents of the disk are destroyed. A disk that is in use or holds a signature is refused. Creating and mounting a
//! file system is left to the administrator.

mod disk_facts;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

pub use self::disk_facts::DiskFacts;

/// The alignment of partitions: a multiple of the flash page and of the alignment of common tools.
const ALIGNMENT_BYTES: u64 = 1 << 20;

/// The sector size in the script of `sfdisk`.
const SECTOR_BYTES: u64 = 512;

/// The minimum size of a disk: a smaller one is a mistake.
const MIN_BYTES: u64 = 64 << 20;

/// A disk that must not or cannot be erased.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EraseError {
    /// It is not a block device.
    #[error("{} is not a block device: name a whole disk, such as /dev/nvme1n1", .0.display())]
    NotABlockDevice(PathBuf),
    /// It must not be erased. Nothing on it was changed.
    #[error("{} is not erased: {reason}", path.display())]
    Refused {
        /// The device.
        path: PathBuf,
        /// Why, and what would allow it.
        reason: String,
    },
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The device.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A program of the system failed.
    #[error("{program} failed: {text}")]
    Program {
        /// The program.
        program: &'static str,
        /// Its error.
        text: String,
    },
}

/// The layout of an erased disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DiskLayout {
    /// The start of the partition.
    pub partition_start_bytes: u64,
    /// The size of the partition.
    pub partition_bytes: u64,
    /// The size of the discarded rest.
    pub discarded_bytes: u64,
}

impl DiskLayout {
    /// The layout of a disk of `size_bytes` with `share` of it unused.
    pub fn new(size_bytes: u64, share: f64) -> Self {
        let aligned = |bytes: u64| bytes / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
        let end_bytes = aligned((size_bytes as f64 * (1.0 - share)) as u64);
        // The backup partition table is at the end of the disk.
        let last_bytes = aligned(size_bytes.saturating_sub(ALIGNMENT_BYTES));
        Self {
            partition_start_bytes: ALIGNMENT_BYTES,
            partition_bytes: end_bytes.min(last_bytes).saturating_sub(ALIGNMENT_BYTES),
            discarded_bytes: last_bytes.saturating_sub(end_bytes),
        }
    }

    fn discarded_from_bytes(&self) -> u64 {
        self.partition_start_bytes + self.partition_bytes
    }

    /// The script for `sfdisk`.
    fn script(&self) -> String {
        let (start, size) = (self.partition_start_bytes / SECTOR_BYTES, self.partition_bytes / SECTOR_BYTES);
        format!("label: gpt\nunit: sectors\nsector-size: {SECTOR_BYTES}\nstart={start}, size={size}, type=linux\n")
    }
}

/// Why a disk with these `facts` must not be erased; `data_known` says that data without a known signature may go.
pub fn refusal(facts: &DiskFacts, data_known: bool) -> Option<String> {
    let list = |names: &[String]| names.join(", ");
    if facts.is_partition {
        return Some("it is a partition; name a whole disk".to_owned());
    }
    if facts.read_only {
        return Some("it is read-only".to_owned());
    }
    if facts.size_bytes < MIN_BYTES {
        return Some(format!("its {} B are too small for measurements", facts.size_bytes));
    }
    if !facts.mounted_at.is_empty() {
        return Some(format!("it is mounted ({}); unmount it if it is not needed", list(&facts.mounted_at)));
    }
    if !facts.holders.is_empty() {
        return Some(format!(
            "other devices use it ({}: LVM, md or encryption); stop them if they are not needed",
            list(&facts.holders)
        ));
    }
    if let Some(reason) = &facts.busy {
        return Some(format!("it cannot be opened exclusively ({reason}): it is in use"));
    }
    let wipe = "check it, and run `wipefs --all` yourself if it is not needed";
    if let Some(signature) = &facts.signature {
        return Some(format!("it contains {signature}; {wipe}"));
    }
    if !facts.partitions.is_empty() {
        return Some(format!("it has partitions ({}); {wipe}", list(&facts.partitions)));
    }
    (facts.edges_hold_data && !data_known).then(|| {
        "its first or last MiB holds data without a known signature, such as a database on the raw disk; check it, and add \
         `--erase-unknown-data` if they are not needed"
            .to_owned()
    })
}

/// An erased disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErasedDisk {
    /// The partition for data, without a file system.
    pub partition: PathBuf,
    /// The layout of the disk.
    #[serde(flatten)]
    pub layout: DiskLayout,
}

/// Erases the whole disk `path`: creates one partition for data and discards the rest, `share` of the disk. All that can be
/// checked is checked before anything is changed.
///
/// # Errors
/// The disk holds data or is in use, it does not support discards, or a program is missing or failed.
pub fn erase(path: &Path, share: f64, data_known: bool) -> Result<ErasedDisk, EraseError> {
    let facts = DiskFacts::read(path)?;
    let layout = DiskLayout::new(facts.size_bytes, share);
    let cannot_discard = layout.discarded_bytes > 0 && !facts.discards;
    let reason = refusal(&facts, data_known).or_else(|| {
        cannot_discard.then(|| "it does not support discards, and the rest of it would keep its data".to_owned())
    });
    if let Some(reason) = reason {
        return Err(EraseError::Refused { path: path.to_owned(), reason });
    }
    check_programs(path, &layout)?;
    discard(path, &layout)?;
    run_program("sfdisk", partition_command(path, &[]), &layout.script())?;
    Ok(ErasedDisk { partition: partition_of(path), layout })
}

/// Has both programs do all but their work.
fn check_programs(path: &Path, layout: &DiskLayout) -> Result<(), EraseError> {
    let mut version = Command::new("blkdiscard");
    version.arg("--version");
    run_program("blkdiscard", version, "")?;
    run_program("sfdisk", partition_command(path, &["--no-act"]), &layout.script())
}

fn discard(path: &Path, layout: &DiskLayout) -> Result<(), EraseError> {
    let (offset, length) = (layout.discarded_from_bytes().to_string(), layout.discarded_bytes.to_string());
    if layout.discarded_bytes == 0 {
        return Ok(());
    }
    let mut command = Command::new("blkdiscard");
    command.args(["--offset", &offset, "--length", &length]).arg(path);
    run_program("blkdiscard", command, "")
}

/// `sfdisk`, which reads the layout from standard input.
fn partition_command(path: &Path, options: &[&str]) -> Command {
    let mut command = Command::new("sfdisk");
    command.args(["--quiet", "--wipe", "never"]).args(options).arg(path);
    command
}

/// Runs `command` with `input` as its standard input.
fn run_program(program: &'static str, mut command: Command, input: &str) -> Result<(), EraseError> {
    let failed = |text: String| EraseError::Program { program, text };
    let missing = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => failed("it is not installed (Debian: apt-get install fdisk util-linux)".to_owned()),
        _ => failed(error.to_string()),
    };
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(missing)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads nothing reports that by its exit status.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(format!("{} ({})", String::from_utf8_lossy(&output.stderr).trim(), output.status)))
}

/// The first partition of a disk, as the kernel names it.
fn partition_of(disk: &Path) -> PathBuf {
    let name = disk.as_os_str().to_string_lossy();
    let between = if name.ends_with(|last: char| last.is_ascii_digit()) { "p" } else { "" };
    PathBuf::from(format!("{name}{between}1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn unused_disk() -> DiskFacts {
        DiskFacts { size_bytes: 250 * GIB, ..DiskFacts::default() }
    }

    #[test]
    fn only_an_unused_and_empty_disk_is_erased() {
        assert_eq!(refusal(&unused_disk(), false), None);
        let some = || vec!["x".to_owned()];
        for (facts, word) in [
            (DiskFacts { is_partition: true, ..unused_disk() }, "whole disk"),
            (DiskFacts { read_only: true, ..unused_disk() }, "read-only"),
            (DiskFacts { size_bytes: 1 << 20, ..unused_disk() }, "too small"),
            (DiskFacts { mounted_at: some(), ..unused_disk() }, "mounted"),
            (DiskFacts { holders: some(), ..unused_disk() }, "other devices use it"),
            (DiskFacts { busy: Some("busy".to_owned()), ..unused_disk() }, "exclusively"),
            (DiskFacts { signature: Some("xfs".to_owned()), ..unused_disk() }, "wipefs"),
            (DiskFacts { partitions: some(), ..unused_disk() }, "partitions"),
            (DiskFacts { edges_hold_data: true, ..unused_disk() }, "--erase-unknown-data"),
        ] {
            assert!(refusal(&facts, false).is_some_and(|reason| reason.contains(word)), "{facts:?}");
        }
        assert_eq!(refusal(&DiskFacts { edges_hold_data: true, ..unused_disk() }, true), None);
    }

    #[test]
    fn the_partition_leaves_the_share_and_the_backup_table() {
        let layout = DiskLayout::new(100 * GIB, 0.3);
        let end = layout.discarded_from_bytes();
        assert!(end <= 70 * GIB && end > 70 * GIB - 2 * ALIGNMENT_BYTES);
        assert!(end + layout.discarded_bytes < 100 * GIB);
        assert!(layout.discarded_bytes as f64 >= 0.299 * (100 * GIB) as f64);
        let all = DiskLayout::new(100 * GIB, 0.0);
        assert_eq!(all.discarded_bytes, 0);
        assert!(all.discarded_from_bytes() < 100 * GIB);
    }

    #[test]
    fn partitions_have_the_kernels_names() {
        for (disk, partition) in
            [("/dev/sdb", "/dev/sdb1"), ("/dev/nvme0n1", "/dev/nvme0n1p1"), ("/dev/loop3", "/dev/loop3p1")]
        {
            assert_eq!(partition_of(Path::new(disk)), Path::new(partition));
        }
    }
}
