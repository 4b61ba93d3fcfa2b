//! A run that lies in a write-ahead log: the log is kept as it was written, and an index by hash is put behind it. So
//! what is in memory need not be written a second time to become a run.
//!
//! The index is pages of items in the order of hash-ordered runs; each says which operation of which record of the log
//! it is of. The entries themselves lie in the order in which they were written.

use std::cmp::Reverse;
use std::sync::Arc;

use super::block::{Block, BlockEncoder, Compression, Location};
use super::cache::BlockCache;
use super::entries::Slot;
use super::fences::FencesBuilder;
use super::file::{DataFile, Extent};
use super::footer::Footer;
use super::hashes::Hashes;
use super::key_index::KeyIndex;
use super::open::{Found, Run};
use super::permutation::{PermutationBuilder, Spot};
use super::{Order, block};
use crate::codec::{u16_at, u32_at};
use crate::entry::{Entry, Kind, RangeDelete, Sequence};
use crate::error::{Error, Result};
use crate::hash::hash;
use crate::log::{LOG_HEADER_BYTES, LogKind, LogReader, payload_of};
use crate::memory::{Decoded, Operation, decode, decode_one};
use crate::storage::File;

/// The top of the hash, where the record begins, how long it is, which of its operations.
pub(super) const ITEM_BYTES: usize = 12;
/// Items on a page: as many as leave room for a block's own bytes within 4 KiB.
const PAGE_ITEMS: usize = 340;
/// Longer records, and records of more operations, are not indexed: their log is to be copied into a run.
const RECORD_BYTES_MAX: u64 = u16::MAX as u64;

/// One item of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item {
    top: u32,
    offset: u32,
    len: u16,
    operation: u16,
}

impl Item {
    fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.top.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&self.operation.to_le_bytes());
    }

    fn of(bytes: &[u8; ITEM_BYTES]) -> Self {
        Self { top: u32_at(bytes, 0), offset: u32_at(bytes, 4), len: u16_at(bytes, 8), operation: u16_at(bytes, 10) }
    }
}

/// Where the first record of a log begins.
const RECORDS_OFFSET: u64 = LOG_HEADER_BYTES as u64;

/// Puts an index behind the log in `file`, whose records end at `len`, and makes all of it durable. `None`, with
/// nothing done, if one of the records is too long to be read for one of its entries.
pub(crate) fn index_log(file: Arc<dyn File>, number: u64, len: u64) -> Result<Option<(Arc<Run>, Hashes)>> {
    let name = LogKind::Wal.name(number);
    if len > u64::from(u32::MAX) {
        return Ok(None);
    }
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0).map_err(Error::io("reading", &name))?;
    let mut gathered = Gathered::default();
    let mut records = LogReader::of(bytes, LogKind::Wal, number)?;
    while let Some(record) = records.next() {
        let (offset, payload) = (record.offset, record.payload);
        let batch = decode(payload, &name, offset)?;
        let record_len = record.len;
        if record_len > RECORD_BYTES_MAX || batch.len > u32::from(u16::MAX) {
            return Ok(None);
        }
        gathered.add(payload, &batch, Item { top: 0, offset: offset as u32, len: record_len as u16, operation: 0 });
    }
    if records.offset() != len {
        return Err(Error::corrupt(&name, records.offset(), "a record that was written is not there"));
    }
    gathered.write(file, number, name, len).map(Some)
}

/// The lowest and the highest key.
type Bounds = (Box<[u8]>, Box<[u8]>);

/// What the records of a log come to.
#[derive(Default)]
struct Gathered {
    /// With what orders them: hash, and the newest of a key first.
    items: Vec<(u64, Reverse<Sequence>, Item)>,
    deletes: u64,
    user_bytes: u64,
    bounds: Option<Bounds>,
    sequences: Option<(Sequence, Sequence)>,
    range_deletes: Vec<RangeDelete>,
}

impl Gathered {
    fn add(&mut self, payload: &[u8], batch: &Decoded<'_>, record: Item) {
        for (number, written) in (0..).zip(all_written(payload, batch)) {
            let sequence = match written {
                Written::Entry(slot) => {
                    let entry = slot.entry(payload);
                    let hash = hash(entry.key);
                    let item = Item { top: Hashes::top(hash), operation: number, ..record };
                    self.items.push((hash, Reverse(entry.sequence), item));
                    self.deletes += u64::from(entry.kind == Kind::Delete);
                    self.user_bytes += entry.user_bytes();
                    self.widen(entry.key);
                    entry.sequence
                }
                Written::RangeDelete(delete) => {
                    let sequence = delete.sequence;
                    self.range_deletes.push(delete);
                    sequence
                }
            };
            let (lowest, highest) = self.sequences.unwrap_or((sequence, sequence));
            self.sequences = Some((lowest.min(sequence), highest.max(sequence)));
        }
    }

    fn widen(&mut self, key: &[u8]) {
        match &mut self.bounds {
            None => self.bounds = Some((key.into(), key.into())),
            Some((low, _)) if key < &**low => *low = key.into(),
            Some((_, high)) if key > &**high => *high = key.into(),
            Some(_) => {}
        }
    }

    fn write(mut self, file: Arc<dyn File>, number: u64, name: String, len: u64) -> Result<(Arc<Run>, Hashes)> {
        self.items.sort_unstable_by_key(|(hash, newest_first, _)| (*hash, *newest_first));
        let hashes = Hashes(self.items.iter().map(|(_, _, item)| item.top).collect());
        let records_end = block::padded(len);
        let index_offset = records_end + block::gap_to_page(records_end, (self.items.len() * ITEM_BYTES) as u64);
        let mut out = vec![0; (index_offset - len) as usize];
        let mut encoder = BlockEncoder::new(Compression::None).map_err(Error::io("indexing", &name))?;
        let mut fences = FencesBuilder::default();
        let mut body = Vec::with_capacity(PAGE_ITEMS * ITEM_BYTES);
        for page in self.items.chunks(PAGE_ITEMS) {
            body.clear();
            page.iter().for_each(|(_, _, item)| item.put(&mut body));
            let offset = len + out.len() as u64;
            let page_len = encoder.encode(&body, &mut out).map_err(Error::io("indexing", &name))?;
            fences.push(page[0].2.top, Location { offset, len: page_len });
        }
        let footer_offset = len + out.len() as u64;
        let (low, high) = self.bounds.unwrap_or_default();
        let footer = Footer {
            order: Order::Log,
            entries: self.items.len() as u64,
            deletes: self.deletes,
            user_bytes: self.user_bytes,
            base: 0,
            sequences: self.sequences.unwrap_or((0, 0)),
            low,
            high,
            range_deletes: self.range_deletes.into(),
            pieces: Box::new([Extent { offset: RECORDS_OFFSET, len: index_offset - RECORDS_OFFSET }]),
            permutation: None,
            index: Some(Extent { offset: index_offset, len: footer_offset - index_offset }),
            fences: fences.finish(),
            key_index: KeyIndex::default(),
        };
        let encoded = footer.encode(footer_offset, &Hashes::default());
        let extent = Extent { offset: footer_offset, len: encoded.len() as u64 };
        out.extend_from_slice(&encoded);
        file.append(&out).map_err(Error::io("writing", &name))?;
        file.sync().map_err(Error::io("syncing", &name))?;
        let file = Arc::new(DataFile { number, name, file, len: footer_offset + extent.len });
        Ok((Arc::new(Run::new(file, extent, footer)), hashes))
    }
}

/// The items on a page.
fn items(page: &Block) -> &[[u8; ITEM_BYTES]] {
    page.body().as_chunks().0
}

/// What one operation of a batch wrote.
enum Written {
    /// An entry that lies in the record's payload.
    Entry(Slot),
    RangeDelete(RangeDelete),
}

/// What an operation, which lies in `payload`, wrote.
fn written(payload: &[u8], sequence: Sequence, operation: Operation<'_>) -> Written {
    let slot = |key: &[u8], value_len: usize, kind| {
        let key_start = (key.as_ptr().addr() - payload.as_ptr().addr()) as u32;
        Written::Entry(Slot { key_start, key_len: key.len() as u32, value_len: value_len as u32, kind, sequence })
    };
    match operation {
        Operation::Put { key, value } => slot(key, value.len(), Kind::Put),
        Operation::Delete { key } => slot(key, 0, Kind::Delete),
        Operation::DeleteRange { low, high } => {
            Written::RangeDelete(RangeDelete { low: low.into(), high: high.into(), sequence })
        }
    }
}

/// What the operations of a batch, which lies in `payload`, wrote, in order.
fn all_written<'a>(payload: &'a [u8], batch: &Decoded<'a>) -> impl Iterator<Item = Written> + use<'a> {
    (batch.first..).zip(batch.operations()).map(|(sequence, operation)| written(payload, sequence, operation))
}

impl Run {
    /// [`Run::get`] for a log.
    pub(super) fn get_logged(
        &self,
        cache: &BlockCache,
        hash: u64,
        key: &[u8],
        snapshot: Sequence,
    ) -> Result<Option<Found>> {
        let top = Hashes::top(hash);
        for location in self.fences.candidates(hash) {
            let page = cache.page(&self.file, location)?;
            let items = items(&page);
            let first = items.partition_point(|bytes| Item::of(bytes).top < top);
            for item in items[first..].iter().map(Item::of).take_while(|item| item.top == top) {
                let (block, slot, was_here) = self.logged(cache, item)?;
                if slot.sequence <= snapshot && slot.key(block.body()) == key {
                    let value = block.value(slot.value_start(), slot.value_len);
                    return Ok(Some(Found { sequence: slot.sequence, kind: slot.kind, value, was_here }));
                }
            }
        }
        Ok(None)
    }

    /// The entry of a log that comes at `rank` in the order of its index, and whether its record was in the cache.
    pub(super) fn logged_at(&self, cache: &BlockCache, rank: u32) -> Result<(Block, Slot, bool)> {
        let (page, number) = (rank / PAGE_ITEMS as u32, rank as usize % PAGE_ITEMS);
        let location = self.fences.locate(page).ok_or_else(|| self.bad_page(self.footer.offset))?;
        let page = cache.page(&self.file, location)?;
        let item = items(&page).get(number).map(Item::of).ok_or_else(|| self.bad_page(location.offset))?;
        self.logged(cache, item)
    }

    fn logged(&self, cache: &BlockCache, item: Item) -> Result<(Block, Slot, bool)> {
        let offset = u64::from(item.offset);
        let (block, was_here) = cache.record(&self.file, offset, || {
            let mut bytes = vec![0; usize::from(item.len)];
            self.file.read(&mut bytes, offset)?;
            let payload = payload_of(LogKind::Wal, self.file.number, &bytes);
            let payload = payload.map_err(|what| self.file.corrupt(offset, what))?;
            bytes.truncate(payload.end);
            bytes.drain(..payload.start);
            Ok(bytes)
        })?;
        let named = decode_one(block.body(), item.operation, &self.file.name, offset)?;
        match named.map(|(sequence, operation)| written(block.body(), sequence, operation)) {
            Some(Written::Entry(slot)) => Ok((block, slot, was_here)),
            _ => Err(self.file.corrupt(offset, "the index names an entry that the record does not have")),
        }
    }

    /// All records of a log, in memory, checked as they are read.
    fn records(&self) -> Result<LogReader> {
        let end = self.pieces.first().and_then(Extent::end).unwrap_or(0);
        let mut bytes = vec![0; end as usize];
        self.file.read(&mut bytes, 0)?;
        LogReader::of(bytes, LogKind::Wal, self.file.number)
    }

    /// The hashes of all entries of a log.
    pub(super) fn logged_hashes(&self) -> Result<Hashes> {
        let mut hashes = Vec::with_capacity(self.entries as usize);
        self.each_item(|item| {
            hashes.push(item.top);
            Ok(())
        })?;
        Ok(Hashes(hashes))
    }

    /// The key order of a log's entries, which are named by their rank in the index.
    pub(super) fn logged_keys(&self) -> Result<PermutationBuilder> {
        let cache = BlockCache::new(4 << 20, 0);
        let mut builder = PermutationBuilder::default();
        let mut rank = 0;
        self.each_item(|item| {
            let (block, slot, _) = self.logged(&cache, item)?;
            builder.push(slot.key(block.body()), Spot(rank));
            rank += 1;
            Ok(())
        })?;
        Ok(builder)
    }

    /// Goes through the index, past any cache.
    fn each_item(&self, mut take: impl FnMut(Item) -> Result<()>) -> Result<()> {
        let mut count = 0;
        for page in 0..self.fences.blocks() {
            let location = self.fences.locate(page).ok_or_else(|| self.bad_page(self.footer.offset))?;
            let page = Block::read_page(&self.file, location)?;
            count += items(&page).len() as u64;
            items(&page).iter().map(Item::of).try_for_each(&mut take)?;
        }
        if count != self.entries {
            return Err(self
                .file
                .corrupt(self.footer.offset, format!("the index has {count} of {} entries", self.entries)));
        }
        Ok(())
    }

    /// [`Run::verify`] for a log: every record is read, and every item leads to an entry with its hash.
    pub(super) fn verify_logged(&self) -> Result<()> {
        let mut reader = LoggedReader::new(self);
        let mut entries = 0;
        while reader.next()?.is_some() {
            entries += 1;
        }
        if entries != self.entries {
            let what = format!("the log has {entries} entries, its footer says {}", self.entries);
            return Err(self.file.corrupt(self.footer.offset, what));
        }
        let cache = BlockCache::new(4 << 20, 0);
        self.each_item(|item| {
            let (block, slot, _) = self.logged(&cache, item)?;
            match Hashes::top(hash(slot.key(block.body()))) {
                top if top == item.top => Ok(()),
                top => {
                    let what = format!("the index has hash {:08x} for a key with {top:08x}", item.top);
                    Err(self.file.corrupt(u64::from(item.offset), what))
                }
            }
        })
    }
}

/// Hands out the entries of a log in the order in which they were written.
pub(crate) struct LoggedReader<'a> {
    run: &'a Run,
    /// Once the first entry was asked for.
    records: Option<LogReader>,
    payload: Vec<u8>,
    slots: Vec<Slot>,
    /// How many of them were handed out.
    used: usize,
    entries: u64,
}

impl<'a> LoggedReader<'a> {
    pub fn new(run: &'a Run) -> Self {
        Self { run, records: None, payload: Vec::new(), slots: Vec::new(), used: 0, entries: 0 }
    }

    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        loop {
            if let Some(slot) = self.slots.get(self.used) {
                self.used += 1;
                self.entries += 1;
                return Ok(Some(slot.entry(&self.payload)));
            }
            let records = match &mut self.records {
                Some(records) => records,
                none => none.insert(self.run.records()?),
            };
            let Some(record) = records.next() else { break };
            let batch = decode(record.payload, &self.run.file.name, record.offset)?;
            let entry = |written| match written {
                Written::Entry(slot) => Some(slot),
                Written::RangeDelete(_) => None,
            };
            self.used = 0;
            self.slots.clear();
            self.slots.extend(all_written(record.payload, &batch).filter_map(entry));
            self.payload.clear();
            self.payload.extend_from_slice(record.payload);
        }
        if self.entries != self.run.entries {
            let what = format!("the log has {} whole entries, its footer says {}", self.entries, self.run.entries);
            return Err(self.run.file.corrupt(self.run.footer.offset, what));
        }
        Ok(None)
    }
}
