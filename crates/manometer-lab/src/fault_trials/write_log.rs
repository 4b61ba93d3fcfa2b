//! The log of the device mapper's target `log-writes` (`Documentation/admin-guide/device-mapper/log-writes.rst`).
//!
//! A write that has completed enters the log when a flush that was sent later completes, or at once where it forces unit
//! access. Replayed on an empty disk, the log is what a disk with a volatile cache keeps for certain.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _, Seek as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::LabError;
use crate::array::SECTOR_BYTES;

/// How the first sector begins.
const MAGIC: u64 = 0x006a_7366_7773_6872;

/// Flags of an entry: no data follow.
const DISCARD: u64 = 1 << 2;
const MARK: u64 = 1 << 3;

/// As the log is full, writes are no longer logged.
const RESERVE_BYTES: u64 = 64 << 20;

/// An entry of the log, without its data.
struct Entry {
    sector: u64,
    sectors: u64,
    flags: u64,
}

impl Entry {
    fn parse(bytes: &[u8; SECTOR_BYTES as usize]) -> Self {
        let words = bytes.as_chunks().0;
        let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
        Self { sector: word(0), sectors: word(1), flags: word(2) }
    }

    /// Whether the log has no such entry: the rest was never written.
    fn is_end(&self) -> bool {
        self.sectors == 0 && self.flags == 0
    }
}

/// Makes `disk` what the writes of `log` leave on an empty disk of its size.
///
/// # Errors
/// The log is none or full, or a file cannot be read or written.
pub(super) fn replay(log: &Path, disk: &Path) -> Result<(), LabError> {
    let source = File::open(log).map_err(LabError::at(log))?;
    let target = OpenOptions::new().write(true).open(disk).map_err(LabError::at(disk))?;
    let outcome = empty(&target).and_then(|bytes| apply(&mut BufReader::new(source), &target, bytes));
    outcome.map_err(LabError::at(log))
}

/// Makes holes of all that a disk holds. Returns its size.
fn empty(disk: &File) -> io::Result<u64> {
    let bytes = disk.metadata()?.len();
    disk.set_len(0)?;
    disk.set_len(bytes)?;
    Ok(bytes)
}

fn apply(log: &mut BufReader<File>, disk: &File, disk_bytes: u64) -> io::Result<()> {
    let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text);
    let log_bytes = log.get_ref().metadata()?.len();
    let mut head = [0; SECTOR_BYTES as usize];
    log.read_exact(&mut head)?;
    // The first sector is written with the first write that forces unit access.
    let magic = head.first_chunk().map_or(0, |magic| u64::from_le_bytes(*magic));
    if magic != MAGIC && magic != 0 {
        return Err(wrong("it is no log of writes"));
    }
    let mut data = Vec::new();
    loop {
        log.read_exact(&mut head)?;
        let entry = Entry::parse(&head);
        if entry.is_end() {
            return Ok(());
        }
        if entry.flags & (DISCARD | MARK) != 0 {
            continue;
        }
        let (offset, bytes) = (entry.sector.checked_mul(SECTOR_BYTES), entry.sectors.checked_mul(SECTOR_BYTES));
        let fits = |offset: u64, bytes: u64| offset.checked_add(bytes).is_some_and(|end| end <= disk_bytes);
        let Some((offset, bytes)) = offset.zip(bytes).filter(|(offset, bytes)| fits(*offset, *bytes)) else {
            return Err(wrong("it writes beyond the disk"));
        };
        data.resize(bytes as usize, 0);
        log.read_exact(&mut data)?;
        disk.write_all_at(&data, offset)?;
        if log.stream_position()? + RESERVE_BYTES > log_bytes {
            return Err(wrong("the log of writes is full: fewer `--writes`, or a smaller array"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sector: u64, sectors: u64, flags: u64, data: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> = [sector, sectors, flags, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(SECTOR_BYTES as usize, 0);
        bytes.extend(data);
        bytes
    }

    fn replayed(entries: &[Vec<u8>], disk_bytes: u64) -> Result<Vec<u8>, LabError> {
        let directory = tempfile::tempdir().unwrap();
        let [log, disk] = ["log", "disk"].map(|name| directory.path().join(name));
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.resize(SECTOR_BYTES as usize, 0);
        bytes.extend(entries.concat());
        std::fs::write(&log, bytes).unwrap();
        OpenOptions::new().write(true).open(&log).unwrap().set_len(2 * RESERVE_BYTES).unwrap();
        std::fs::write(&disk, vec![9; disk_bytes as usize]).unwrap();
        replay(&log, &disk).map(|()| std::fs::read(&disk).unwrap())
    }

    #[test]
    fn writes_are_replayed_in_order_up_to_the_end_of_the_log() {
        let (one, two) = ([1; 1024], [2; 512]);
        let (write, flush) = (0, 1);
        let entries =
            [entry(1, 2, write, &one), entry(0, 0, flush, &[]), entry(2, 1, 1 << 1, &two), entry(0, 8, DISCARD, &[])];
        let disk = replayed(&entries, 2048).unwrap();
        assert_eq!(disk, [[0; 512], [1; 512], [2; 512], [0; 512]].concat());
        let beyond = replayed(&[entry(3, 2, write, &one)], 2048).unwrap_err().to_string();
        assert!(beyond.contains("beyond the disk"), "{beyond}");
        let huge = replayed(&[entry(u64::MAX, u64::MAX, write, &one)], 2048).unwrap_err().to_string();
        assert!(huge.contains("beyond the disk"), "{huge}");
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let [log, disk] = ["log", "disk"].map(|name| directory.path().join(name));
        std::fs::write(&disk, "").unwrap();
        for content in [vec![], vec![1; 4096]] {
            std::fs::write(&log, content).unwrap();
            replay(&log, &disk).unwrap_err();
        }
    }
}
