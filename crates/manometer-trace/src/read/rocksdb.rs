//! RocksDB's query trace, as `DB::StartTrace` writes it: binary, little-endian.
//!
//! Each entry: `u64` time in µs, `u8` type, `u32` length, payload. The first is the header, whose text starts with
//! `feedcafedeadbeef` and contains the version. From version 0.2 on a payload starts with a `u64` bitmap of the fields
//! that follow, in bit order. Writes hold complete write batches; a range deletion has no single key and is skipped.
//! Column families are devices, each with its own key space.

use std::ops::Range;

use crate::error::{RecordFault, TraceError};
use crate::format::{Format, Head};
use crate::reader::{Reader, RecordDecoder, RecordSink, stream_end};
use crate::record::{Record, TraceOperation};
use crate::source::{RECORD_BYTES_MAX, Source};
use crate::text;

use super::bytes::{u32_at, u64_at};

const ENTRY_BYTES: usize = 13;
const MAGIC: &[u8] = b"feedcafedeadbeef\t";
/// Sequence number and count at the start of a write batch.
const BATCH_HEADER_BYTES: usize = 12;
/// The most keys of one request.
const KEYS_MAX: usize = 65_536;

const BEGIN: u8 = 1;
const END: u8 = 2;
const WRITE: u8 = 3;
const GET: u8 = 4;
const SEEK: u8 = 5;
const SEEK_FOR_PREVIOUS: u8 = 6;
const MULTI_GET: u8 = 13;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "rocksdb",
    about: "RocksDB's query trace: binary",
    settings: &[],
    recognise: |head: &Head| head.bytes.get(ENTRY_BYTES..).is_some_and(|payload| payload.starts_with(MAGIC)),
    open: |source, options| {
        let format = RocksDb { source, version: None, write: None, ended: false };
        Ok(Box::new(Reader::new(format, options.kept())))
    },
};

struct RocksDb {
    source: Source,
    version: Option<u32>,
    /// The rest of the write batch in the entry at the start of the window.
    write: Option<Write>,
    ended: bool,
}

struct Write {
    time_ns: u64,
    left: Range<usize>,
    entry: usize,
}

impl RecordDecoder for RocksDb {
    fn fill(&mut self, sink: &mut RecordSink) -> Result<(), TraceError> {
        while sink.room() > 0 && !self.ended {
            let outcome = match self.write.take() {
                Some(write) => self.next_of_batch(write, sink),
                None => match self.entry_size() {
                    Ok(Some(entry)) => self.entry(entry, sink),
                    Ok(None) => return stream_end(&mut self.source, FORMAT.name),
                    Err(fault) => Err(fault),
                },
            };
            if let Err(what) = outcome {
                stream_end(&mut self.source, FORMAT.name)?;
                return Err(TraceError::Damaged {
                    format: FORMAT.name,
                    offset: self.source.offset(),
                    line: None,
                    what,
                });
            }
        }
        Ok(())
    }
}

impl RocksDb {
    /// The size of the next entry, which is completely buffered; `None` at the end.
    fn entry_size(&mut self) -> Result<Option<usize>, RecordFault> {
        let head = self.source.fill_to(ENTRY_BYTES);
        match head.len() {
            0 => return Ok(None),
            length if length < ENTRY_BYTES => {
                return Err(format!("the trace ends inside an entry: {length} of {ENTRY_BYTES} bytes").into());
            }
            _ => {}
        }
        let payload = u32_at(head, 9) as usize;
        if payload > RECORD_BYTES_MAX {
            return Err(format!("the entry has {payload} bytes: expected {RECORD_BYTES_MAX} at most").into());
        }
        let entry = ENTRY_BYTES + payload;
        let there = self.source.fill_to(entry).len();
        if there < entry {
            return Err(format!("the trace ends inside an entry: {there} of {entry} bytes").into());
        }
        Ok(Some(entry))
    }

    fn entry(&mut self, entry: usize, sink: &mut RecordSink) -> Result<(), RecordFault> {
        let bytes = &self.source.window()[..entry];
        let time_ns = u64_at(bytes, 0).checked_mul(1000).ok_or("the time exceeds 584 years")?;
        let kind = bytes[8];
        let Some(version) = self.version else {
            if kind != BEGIN {
                return Err(format!("the first entry is of type {kind}: expected {BEGIN}, the header").into());
            }
            self.version = Some(version(&bytes[ENTRY_BYTES..])?);
            self.source.consume(entry);
            return Ok(());
        };
        let mut payload = Payload::new(&bytes[ENTRY_BYTES..], version)?;
        match kind {
            END => self.ended = true,
            WRITE => {
                let batch = payload.batch()?;
                if batch.len() < BATCH_HEADER_BYTES {
                    return Err("the write batch is shorter than its header".into());
                }
                let end = entry - payload.bytes.len();
                let left = end - batch.len() + BATCH_HEADER_BYTES..end;
                self.write = Some(Write { time_ns, left, entry });
                return Ok(());
            }
            GET | SEEK | SEEK_FOR_PREVIOUS => {
                let operation = if kind == GET { TraceOperation::Get } else { TraceOperation::Scan };
                let (family, key) = payload.family_and_key(kind)?;
                let end = if kind == GET { None } else { payload.bound(kind == SEEK_FOR_PREVIOUS)? };
                let id = sink.key_in(family, key)?;
                if let Some(details) = sink.details().filter(|_| kind != GET) {
                    details.scan(end, None, kind == SEEK_FOR_PREVIOUS);
                }
                sink.push(record(operation, family, key, time_ns, id));
            }
            MULTI_GET => {
                for (place, (family, key)) in payload.families_and_keys()?.into_iter().enumerate() {
                    let id = sink.key_in(family, key)?;
                    if let Some(details) = sink.details().filter(|_| place > 0) {
                        details.join();
                    }
                    sink.push(record(TraceOperation::Get, family, key, time_ns, id));
                }
            }
            _ => sink.skip(),
        }
        self.source.consume(entry);
        Ok(())
    }

    /// Emits one write of a batch.
    fn next_of_batch(&mut self, mut write: Write, sink: &mut RecordSink) -> Result<(), RecordFault> {
        let mut bytes = &self.source.window()[write.left.clone()];
        if bytes.is_empty() {
            self.source.consume(write.entry);
            return Ok(());
        }
        let before = bytes.len();
        match next_write(&mut bytes)? {
            Some((operation, family, key, value_size)) => {
                let id = sink.key_in(family, key)?;
                sink.push(Record { value_size, ..record(operation, family, key, write.time_ns, id) });
            }
            None => sink.skip(),
        }
        write.left.start += before - bytes.len();
        self.write = Some(write);
        Ok(())
    }
}

fn record(operation: TraceOperation, family: u32, key: &[u8], time_ns: u64, id: u64) -> Record {
    let key_size = u32::try_from(key.len()).ok();
    Record { time_ns: Some(time_ns), key_size, device: family, ..Record::new(operation, id) }
}

/// The version of the trace, as major times 100 and minor.
fn version(header: &[u8]) -> Result<u32, RecordFault> {
    let number = |header: &[u8]| {
        let begin = header.strip_prefix(MAGIC)?.strip_prefix(b"Trace Version: ")?;
        let (major, rest) = std::str::from_utf8(begin.split(|byte| *byte == b'\t').next()?).ok()?.split_once('.')?;
        major.parse::<u32>().ok()?.checked_mul(100)?.checked_add(rest.parse().ok()?)
    };
    number(header).ok_or_else(|| format!("the header is {}: expected a trace version", text::show(header)).into())
}

/// The next write of a batch: its operation, column family, key, and value size in bytes. `None` if it is not a write
/// of one key.
type BatchWrite<'a> = Option<(TraceOperation, u32, &'a [u8], Option<u64>)>;

fn next_write<'a>(bytes: &mut &'a [u8]) -> Result<BatchWrite<'a>, RecordFault> {
    let (tag, rest) = bytes.split_first().ok_or("the write batch ends inside a write")?;
    *bytes = rest;
    let in_family = matches!(tag, 4..=6 | 8 | 0x0e | 0x10 | 0x17 | 0x19);
    let family = if in_family { varint(bytes)? } else { 0 };
    Ok(match tag {
        // Puts of a value, a blob reference, wide columns, or a value with a preferred sequence number.
        0x01 | 0x05 | 0x10 | 0x11 | 0x16 | 0x17 | 0x18 | 0x19 => {
            let key = slice(bytes)?;
            Some((TraceOperation::Put, family, key, Some(slice(bytes)?.len() as u64)))
        }
        0x02 | 0x06 => {
            let key = slice(bytes)?;
            Some((TraceOperation::ReadModifyWrite, family, key, Some(slice(bytes)?.len() as u64)))
        }
        0x00 | 0x04 | 0x07 | 0x08 => Some((TraceOperation::Delete, family, slice(bytes)?, None)),
        // A range of keys, and a commit with its time.
        0x0e | 0x0f | 0x15 => {
            slice(bytes)?;
            slice(bytes)?;
            None
        }
        // Log-only entries, and the names of transactions.
        0x03 | 0x0a | 0x0b | 0x0c => {
            slice(bytes)?;
            None
        }
        0x09 | 0x0d | 0x12 | 0x13 => None,
        _ => return Err(format!("the write batch has a write of the unknown type {tag}").into()),
    })
}

fn varint(bytes: &mut &[u8]) -> Result<u32, RecordFault> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return u32::try_from(value).map_err(|_| "a length has more than 32 bits".into());
        }
    }
    Err("a length has no end".into())
}

fn slice<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], RecordFault> {
    let length = varint(bytes)? as usize;
    let (slice, rest) = bytes.split_at_checked(length).ok_or("a key or value extends beyond its entry")?;
    *bytes = rest;
    Ok(slice)
}

fn fixed_u32(bytes: &mut &[u8]) -> Result<u32, RecordFault> {
    let (number, rest) = bytes.split_first_chunk().ok_or("the entry ends inside a number")?;
    *bytes = rest;
    Ok(u32::from_le_bytes(*number))
}

/// The bits of an iteration's bounds in the map of an entry's fields.
const LOWER_BOUND_BIT: u32 = 6;
const UPPER_BOUND_BIT: u32 = 7;

/// The fields of an entry.
struct Payload<'a> {
    bytes: &'a [u8],
    /// The bitmap of fields; `None` before version 0.2.
    map: Option<u64>,
}

impl<'a> Payload<'a> {
    fn new(bytes: &'a [u8], version: u32) -> Result<Self, RecordFault> {
        if version < 2 || bytes.is_empty() {
            return Ok(Self { bytes, map: None });
        }
        let (map, bytes) = bytes.split_first_chunk().ok_or("the entry ends inside the map of its fields")?;
        Ok(Self { bytes, map: Some(u64::from_le_bytes(*map)) })
    }

    fn has(&self, bit: u32) -> bool {
        self.map.is_some_and(|map| map >> bit & 1 == 1)
    }

    fn batch(&mut self) -> Result<&'a [u8], RecordFault> {
        match self.map {
            None => Ok(std::mem::take(&mut self.bytes)),
            Some(_) if self.has(1) => slice(&mut self.bytes),
            Some(_) => Err("a write has no write batch".into()),
        }
    }

    fn family_and_key(&mut self, kind: u8) -> Result<(u32, &'a [u8]), RecordFault> {
        let family_bit = if kind == GET { 2 } else { 4 };
        let family = if self.map.is_none() || self.has(family_bit) { fixed_u32(&mut self.bytes)? } else { 0 };
        if self.map.is_some() && !self.has(family_bit + 1) {
            return Err("a request has no key".into());
        }
        Ok((family, slice(&mut self.bytes)?))
    }

    /// The bound in the direction of an iteration: the upper one, or the lower one where it goes `backward`.
    fn bound(&mut self, backward: bool) -> Result<Option<&'a [u8]>, RecordFault> {
        let lower = if self.has(LOWER_BOUND_BIT) { Some(slice(&mut self.bytes)?) } else { None };
        let upper = if self.has(UPPER_BOUND_BIT) { Some(slice(&mut self.bytes)?) } else { None };
        Ok(if backward { lower } else { upper }.filter(|bound| !bound.is_empty()))
    }

    fn families_and_keys(&mut self) -> Result<Vec<(u32, &'a [u8])>, RecordFault> {
        if !(self.has(8) && self.has(9) && self.has(10)) {
            return Err("a request for several keys lacks their number, families or texts".into());
        }
        let count = fixed_u32(&mut self.bytes)? as usize;
        let mut families = slice(&mut self.bytes)?;
        let mut keys = slice(&mut self.bytes)?;
        if count > KEYS_MAX {
            return Err(format!("a request names {count} keys: expected {KEYS_MAX} at most").into());
        }
        (0..count).map(|_| Ok((fixed_u32(&mut families)?, slice(&mut keys)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, details, found, records};

    fn entry(kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = 5_000_000_u64.to_le_bytes().to_vec();
        bytes.push(kind);
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    fn header(version: &str) -> Vec<u8> {
        let text = format!("feedcafedeadbeef\tTrace Version: {version}\tRocksDB Version: 11.8\tFormat: x\n");
        entry(BEGIN, text.as_bytes())
    }

    fn batch(writes: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![0; 8];
        bytes.extend((writes.len() as u32).to_le_bytes());
        bytes.extend(writes.concat());
        bytes
    }

    fn get_01(key: &[u8]) -> Vec<u8> {
        entry(GET, &[&[0, 0, 0, 0, key.len() as u8][..], key].concat())
    }

    #[test]
    fn the_older_version_has_no_maps() {
        let writes = batch(&[b"\x01\x01a\x03xyz", b"\x04\x02\x01b", b"\x02\x01a\x01z", b"\x0f\x01a\x01c", b"\x0d"]);
        let trace = [header("0.1"), get_01(b"a"), entry(WRITE, &writes), entry(END, b""), get_01(b"z")].concat();
        assert_eq!(found(&trace), "rocksdb");
        let read = records(&FORMAT, &trace);
        let expected =
            [TraceOperation::Get, TraceOperation::Put, TraceOperation::Delete, TraceOperation::ReadModifyWrite];
        assert_eq!(read.iter().map(|record| record.operation).collect::<Vec<_>>(), expected);
        assert_eq!((read[0].time_ns, read[0].key), (Some(5_000_000_000), crate::key_id(b"a")));
        assert_eq!((read[1].key, read[1].value_size, read[1].key_size), (read[0].key, Some(3), Some(1)));
        assert_eq!(read[2].device, 2);
    }

    #[test]
    fn fields_stand_in_the_order_of_the_map() {
        let with_map = |map: u64, rest: &[u8]| [&map.to_le_bytes()[..], rest].concat();
        let writes = batch(&[b"\x01\x01a\x00"]);
        let trace = [
            header("0.2"),
            entry(WRITE, &with_map(1 << 1, &[&[writes.len() as u8][..], &writes].concat())),
            entry(GET, &with_map(1 << 2 | 1 << 3, b"\x01\0\0\0\x01a")),
            entry(SEEK, &with_map(1 << 4 | 1 << 5 | 1 << 6, b"\0\0\0\0\x01a\x01z")),
            entry(MULTI_GET, &with_map(7 << 8, b"\x02\0\0\0\x08\0\0\0\0\x05\0\0\0\x04\x01a\x01b")),
        ];
        let read = records(&FORMAT, &trace.concat());
        let expected =
            [TraceOperation::Put, TraceOperation::Get, TraceOperation::Scan, TraceOperation::Get, TraceOperation::Get];
        assert_eq!(read.iter().map(|record| record.operation).collect::<Vec<_>>(), expected);
        assert_eq!(read.iter().map(|record| record.device).collect::<Vec<_>>(), [0, 1, 0, 0, 5]);
        assert!(read[1].key != read[0].key && read[2].key == read[0].key);
    }

    #[test]
    fn bounds_of_iterations_and_the_keys_of_one_request_are_kept() {
        let with_map = |map: u64, rest: &[u8]| [&map.to_le_bytes()[..], rest].concat();
        let trace = [
            header("0.2"),
            entry(SEEK, &with_map(0b1111 << 4, b"\0\0\0\0\x01m\x01a\x01z")),
            entry(SEEK_FOR_PREVIOUS, &with_map(0b1111 << 4, b"\0\0\0\0\x01m\x01a\x01z")),
            entry(SEEK, &with_map(0b11 << 4, b"\0\0\0\0\x01m")),
            entry(MULTI_GET, &with_map(7 << 8, b"\x02\0\0\0\x08\0\0\0\0\x05\0\0\0\x04\x01a\x01b")),
        ];
        let read = details(&FORMAT, &trace.concat());
        let of = |at: usize| (read[at].key.as_deref(), read[at].scan_end.as_deref(), read[at].is_backward);
        assert_eq!(of(0), (Some(&b"m"[..]), Some(&b"z"[..]), false));
        assert_eq!(of(1), (Some(&b"m"[..]), Some(&b"a"[..]), true));
        assert_eq!(of(2), (Some(&b"m"[..]), None, false));
        assert_eq!((read[3].is_joined, read[4].is_joined), (false, true));
        let (_, text) =
            damage(&FORMAT, &[header("0.2"), entry(SEEK, &with_map(7 << 4, b"\0\0\0\0\x01m\x05"))].concat());
        assert!(text.contains("beyond its entry"), "{text}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let start = [header("0.1"), get_01(b"a")].concat();
        let mut long = entry(GET, b"");
        long[9..13].fill(0xff);
        for (rest, word) in [
            (get_01(b"b")[..10].to_vec(), "10 of 13"),
            (get_01(b"b")[..15].to_vec(), "15 of 19"),
            (long, "at most"),
            (entry(WRITE, &batch(&[b"\x63"])), "unknown type 99"),
            (entry(WRITE, b"short"), "shorter"),
            (entry(GET, b"\0\0\0\0\x7fa"), "beyond its entry"),
            (entry(GET, b"\0\0\0\0\xff\xff\xff\xff\xff"), "no end"),
        ] {
            let (at, text) = damage(&FORMAT, &[start.clone(), rest].concat());
            assert_eq!(at, start.len() as u64);
            assert!(text.contains(word), "{text}");
        }
        assert!(damage(&FORMAT, &get_01(b"a")).1.contains("the header"));
        assert!(damage(&FORMAT, &header("new")).1.contains("a trace version"));
    }
}
