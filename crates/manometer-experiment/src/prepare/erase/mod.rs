//! A device that is given whole: one partition for data, the rest discarded and never written (Storiks, 4.2).
//!
//! What is on the device is destroyed, and it is refused where anything is on it or anyone uses it. A file system is
//! not made, nor mounted: how a host mounts its disks is its administrator's matter.

mod facts;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

pub use self::facts::Facts;

/// Partitions begin and end at multiples of this: a multiple of every flash page and of what tools align to.
const ALIGNMENT_BYTES: u64 = 1 << 20;

/// Sectors as `sfdisk` counts them where it is told so.
const SECTOR_BYTES: u64 = 512;

/// A smaller device is no place for a measurement, and a mistake.
const LEAST_BYTES: u64 = 64 << 20;

/// A device that must not or cannot be erased.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EraseError {
    /// It is something else.
    #[error("{} is no block device: name a whole disk, such as /dev/nvme1n1", .0.display())]
    NoDevice(PathBuf),
    /// It must not be erased; nothing on it was changed.
    #[error("{} is not erased: {reason}", path.display())]
    Refused {
        /// The device.
        path: PathBuf,
        /// Why, and what would make it erasable.
        reason: String,
    },
    /// It cannot be looked into.
    #[error("{}: {source}", path.display())]
    Io {
        /// The device.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A program of the system failed.
    #[error("{program} failed: {text}")]
    Program {
        /// The program.
        program: &'static str,
        /// What it said.
        text: String,
    },
}

/// How a device is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// Where the partition begins.
    pub partition_start_bytes: u64,
    /// How long it is.
    pub partition_bytes: u64,
    /// How much behind it is discarded.
    pub discarded_bytes: u64,
}

impl Layout {
    /// A device of `size_bytes` of which `share` holds no data.
    pub fn new(size_bytes: u64, share: f64) -> Self {
        let whole = |bytes: u64| bytes / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
        let end_bytes = whole((size_bytes as f64 * (1.0 - share)) as u64);
        // The second copy of the table lies at the very end.
        let last_bytes = whole(size_bytes.saturating_sub(ALIGNMENT_BYTES));
        Self {
            partition_start_bytes: ALIGNMENT_BYTES,
            partition_bytes: end_bytes.min(last_bytes).saturating_sub(ALIGNMENT_BYTES),
            discarded_bytes: last_bytes.saturating_sub(end_bytes),
        }
    }

    fn discarded_from_bytes(&self) -> u64 {
        self.partition_start_bytes + self.partition_bytes
    }

    /// What `sfdisk` reads.
    fn script(&self) -> String {
        let (start, size) = (self.partition_start_bytes / SECTOR_BYTES, self.partition_bytes / SECTOR_BYTES);
        format!("label: gpt\nunit: sectors\nsector-size: {SECTOR_BYTES}\nstart={start}, size={size}, type=linux\n")
    }
}

/// Why a device of which `facts` hold must not be erased.
pub fn refusal(facts: &Facts) -> Option<String> {
    let list = |names: &[String]| names.join(", ");
    if facts.is_partition {
        return Some("it is a partition; give a whole disk".to_owned());
    }
    if facts.read_only {
        return Some("it may only be read".to_owned());
    }
    if facts.size_bytes < LEAST_BYTES {
        return Some(format!("its {} B are too few to measure on", facts.size_bytes));
    }
    if !facts.mounted_at.is_empty() {
        return Some(format!("it is mounted ({}); unmount it if nobody needs it", list(&facts.mounted_at)));
    }
    if !facts.holders.is_empty() {
        return Some(format!(
            "{} stand on it (LVM, md, encryption); take them down if nobody needs them",
            list(&facts.holders)
        ));
    }
    if let Some(reason) = &facts.held {
        return Some(format!("it cannot be had alone ({reason}); somebody uses it"));
    }
    let wipe = "look what it is, and `wipefs --all` it yourself if nobody needs it";
    if let Some(signature) = &facts.signature {
        return Some(format!("it carries {signature}; {wipe}"));
    }
    (!facts.partitions.is_empty()).then(|| format!("it has partitions ({}); {wipe}", list(&facts.partitions)))
}

/// What was done to a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Erased {
    /// The partition for data, without a file system yet.
    pub partition: PathBuf,
    /// How the device is divided.
    #[serde(flatten)]
    pub layout: Layout,
}

/// Divides the whole disk `path` into a partition for data and a rest, `share` of it, that is discarded.
///
/// # Errors
/// Something is on it or somebody uses it, it cannot be discarded, or a program is missing or failed.
pub fn erase(path: &Path, share: f64) -> Result<Erased, EraseError> {
    let facts = Facts::read(path)?;
    if let Some(reason) = refusal(&facts) {
        return Err(EraseError::Refused { path: path.to_owned(), reason });
    }
    let layout = Layout::new(facts.size_bytes, share);
    discard(path, &layout)?;
    divide(path, &layout)?;
    Ok(Erased { partition: partition_of(path), layout })
}

/// Discards first: a device that cannot is left as it was.
fn discard(path: &Path, layout: &Layout) -> Result<(), EraseError> {
    let (offset, length) = (layout.discarded_from_bytes().to_string(), layout.discarded_bytes.to_string());
    if layout.discarded_bytes == 0 {
        return Ok(());
    }
    let mut command = Command::new("blkdiscard");
    command.args(["--offset", &offset, "--length", &length]).arg(path);
    perform("blkdiscard", command, "")
}

fn divide(path: &Path, layout: &Layout) -> Result<(), EraseError> {
    let mut command = Command::new("sfdisk");
    command.args(["--quiet", "--wipe", "never"]).arg(path);
    perform("sfdisk", command, &layout.script())
}

/// Runs `command` with `input` to its end.
fn perform(program: &'static str, mut command: Command, input: &str) -> Result<(), EraseError> {
    let failed = |text: String| EraseError::Program { program, text };
    let missing = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => failed("it is not installed (Debian: apt-get install fdisk util-linux)".to_owned()),
        _ => failed(error.to_string()),
    };
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(missing)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that reads nothing says by its exit status what it thinks of it.
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

    fn free() -> Facts {
        Facts { size_bytes: 250 * GIB, ..Facts::default() }
    }

    #[test]
    fn only_a_disk_that_nobody_uses_and_that_holds_nothing_may_go() {
        assert_eq!(refusal(&free()), None);
        let some = || vec!["x".to_owned()];
        for (facts, word) in [
            (Facts { is_partition: true, ..free() }, "whole disk"),
            (Facts { read_only: true, ..free() }, "read"),
            (Facts { size_bytes: 1 << 20, ..free() }, "too few"),
            (Facts { mounted_at: some(), ..free() }, "mounted"),
            (Facts { holders: some(), ..free() }, "stand on it"),
            (Facts { held: Some("busy".to_owned()), ..free() }, "alone"),
            (Facts { signature: Some("xfs".to_owned()), ..free() }, "wipefs"),
            (Facts { partitions: some(), ..free() }, "partitions"),
        ] {
            assert!(refusal(&facts).is_some_and(|reason| reason.contains(word)), "{facts:?}");
        }
    }

    #[test]
    fn seventy_per_cent_are_data_and_the_table_at_the_end_stays() {
        let layout = Layout::new(100 * GIB, 0.3);
        let end = layout.discarded_from_bytes();
        assert!(end <= 70 * GIB && end > 70 * GIB - 2 * ALIGNMENT_BYTES);
        assert!(end + layout.discarded_bytes < 100 * GIB);
        assert!(layout.discarded_bytes as f64 >= 0.299 * (100 * GIB) as f64);
        let all = Layout::new(100 * GIB, 0.0);
        assert_eq!(all.discarded_bytes, 0);
        assert!(all.discarded_from_bytes() < 100 * GIB);
    }

    #[test]
    fn partitions_are_named_as_the_kernel_does() {
        for (disk, partition) in
            [("/dev/sdb", "/dev/sdb1"), ("/dev/nvme0n1", "/dev/nvme0n1p1"), ("/dev/loop3", "/dev/loop3p1")]
        {
            assert_eq!(partition_of(Path::new(disk)), Path::new(partition));
        }
    }
}
