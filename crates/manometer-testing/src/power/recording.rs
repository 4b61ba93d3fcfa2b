//! The recording of dm-log-writes: every write in the order of completion. A write that is not flushed yet comes before
//! the next flush, or at the end.
//!
//! The format is in the Linux kernel's `drivers/md/dm-log-writes.c`: a sector with the number of entries, then for each
//! entry a header sector and its data.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::device::{ACKNOWLEDGED_AT, BLOCK_BYTES, REACHED_AT};

const SECTOR_BYTES: usize = 512;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;
const METADATA: u64 = 16;

/// The mark that the kernel writes at the end of the recording.
const END: &[u8] = b"dm-log-writes-end";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// All writes before it are durable.
    Flush,
    /// A write that is durable as soon as it completes (force unit access).
    Fua,
    /// A write that the device may lose in whole or in part until it is flushed.
    Plain,
}

/// A write, or a flush.
#[derive(Debug)]
pub struct Entry {
    pub(super) kind: Kind,
    /// The offset of the data on the device, in bytes.
    pub(super) offset: u64,
    pub(super) data: Vec<u8>,
    /// The device writes this many bytes atomically. For data that is a sector, the least of any device; ext4's journal
    /// and superblock rely on blocks.
    pub(super) atom_bytes: usize,
    /// What the guest said by it.
    pub marker: Option<Marker>,
}

/// A marker of the guest.
#[derive(Debug, PartialEq, Eq)]
pub enum Marker {
    /// What has this number was acknowledged.
    Acknowledged(u64),
    /// The guest has reached this point.
    Reached(String),
}

impl Marker {
    fn by(data: &[u8], offset: u64) -> Option<Self> {
        match offset {
            ACKNOWLEDGED_AT => Some(Self::Acknowledged(number(data, 0))),
            REACHED_AT => Some(Self::Reached(str::from_utf8(data).unwrap().trim_end_matches('\0').to_owned())),
            _ => None,
        }
    }
}

/// A recording of a device.
pub struct Recording {
    /// In order.
    pub entries: Vec<Entry>,
}

impl Recording {
    pub(super) fn read(path: &Path) -> Self {
        let entries = parse(BufReader::new(File::open(path).unwrap())).unwrap();
        Self { entries }
    }
}

fn parse(mut log: impl Read) -> Result<Vec<Entry>, String> {
    let first = read(&mut log, SECTOR_BYTES)?;
    let sector_bytes = u32::from_le_bytes(first[24..28].try_into().unwrap());
    if (number(&first, 0), number(&first, 1), sector_bytes as usize) != (MAGIC, 1, SECTOR_BYTES) {
        return Err(format!("this is no recording of sectors of {SECTOR_BYTES} bytes: {:?}", &first[..28]));
    }
    let mut entries = Vec::new();
    for index in 0..number(&first, 2) {
        let head = read(&mut log, SECTOR_BYTES)?;
        let [sector, sectors, flags, data_bytes] = [0, 1, 2, 3].map(|field| number(&head, field));
        if flags & MARK != 0 {
            let is_last =
                index + 1 == number(&first, 2) && head[32..].starts_with(END) && data_bytes == END.len() as u64;
            return if is_last { Ok(entries) } else { Err(format!("entry {index} is an unknown mark")) };
        }
        if flags & DISCARD != 0 {
            return Err(format!("entry {index} is a discard, which the file system is not mounted for"));
        }
        let data = read(&mut log, sectors as usize * SECTOR_BYTES)?;
        let kind = match (flags & FLUSH != 0, flags & FUA != 0) {
            (false, false) => Kind::Plain,
            (false, true) => Kind::Fua,
            // Device mapper splits a write that asks for a flush before it in two.
            (true, _) if data.is_empty() => Kind::Flush,
            (true, _) => return Err(format!("entry {index} is a flush and a write at once")),
        };
        let offset = sector * SECTOR_BYTES as u64;
        let atom_bytes = if flags & METADATA != 0 || offset == 0 { BLOCK_BYTES } else { SECTOR_BYTES };
        entries.push(Entry { kind, offset, atom_bytes, marker: Marker::by(&data, offset), data });
    }
    Err("it does not end with the kernel's own mark: the device for it may be full".to_owned())
}

fn read(log: &mut impl Read, bytes: usize) -> Result<Vec<u8>, String> {
    let mut data = vec![0; bytes];
    log.read_exact(&mut data).map_err(|error| format!("it is shorter than it says: {error}"))?;
    Ok(data)
}

/// A field of a header sector.
fn number(sector: &[u8], field: usize) -> u64 {
    u64::from_le_bytes(sector[field * 8..field * 8 + 8].try_into().unwrap())
}
