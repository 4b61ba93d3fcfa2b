//! Log runs: a WAL that becomes a run as it is, by appending an index by hash. So the content of a memtable is not
//! written a second time.
//!
//! The index has an item per entry, in the order of hash-ordered runs: which operation of which record it is. The
//! entries themselves stay in the order of writes.

use std::cmp::Reverse;
use std::sync::Arc;

use super::Order;
use super::block::{self, Block, BlockEncoder, BlockHandle, Compression};
use super::cache::BlockCache;
use super::entries::EntrySlot;
use super::fences::FencesBuilder;
use super::file::{DataFile, Extent};
use super::footer::Footer;
use super::handle::Run;
use super::hashes::HashColumn;
use super::key_index::KeyIndex;
use super::log_index::{ITEM_BYTES, LogIndexItem, PAGE_ITEMS, items};
use super::lookup::LookupResult;
use super::permutation::{EntryAddress, PermutationBuilder};
use crate::entry::{Entry, EntryKind, RangeTombstone, SequenceNumber};
use crate::error::{Error, Result};
use crate::hash::hash;
use crate::log::{LOG_HEADER_BYTES, LogKind, LogReader, payload_of};
use crate::memory::{BatchOperation, DecodedBatch, decode, decode_one};
use crate::storage::File;

/// A log with longer records, or with records of more operations, cannot be indexed: its memtable is copied.
const RECORD_BYTES_MAX: u64 = u16::MAX as u64;

/// The offset of the first record.
const RECORDS_OFFSET: u64 = LOG_HEADER_BYTES as u64;

/// Appends an index to the WAL in `file`, whose records end at `len`, and makes it durable. Does nothing and returns
/// `None` if a record is too long.
pub(crate) fn index_log(file: Arc<dyn File>, number: u64, len: u64) -> Result<Option<(Arc<Run>, HashColumn)>> {
    let name = LogKind::Wal.name(number);
    if len > u64::from(u32::MAX) {
        return Ok(None);
    }
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0).map_err(Error::io("reading", &name))?;
    let mut gathered = LogIndexBuilder::default();
    let mut records = LogReader::of(bytes, LogKind::Wal, number)?;
    while let Some(record) = records.next() {
        let (offset, payload) = (record.offset, record.payload);
        let batch = decode(payload, &name, offset)?;
        let record_len = record.len;
        if record_len > RECORD_BYTES_MAX || batch.len > u32::from(u16::MAX) {
            return Ok(None);
        }
        gathered.add(
            payload,
            &batch,
            LogIndexItem { top: 0, offset: offset as u32, len: record_len as u16, operation: 0 },
        );
    }
    if records.offset() != len {
        return Err(Error::corrupt(&name, records.offset(), "a record that was written is missing"));
    }
    gathered.write(file, number, name, len).map(Some)
}

/// The lowest and the highest key.
type KeyLimits = (Box<[u8]>, Box<[u8]>);

/// Collects the index and the footer from the records of a log.
#[derive(Default)]
struct LogIndexBuilder {
    /// Each item with its sort key: hash, then the newest version first.
    items: Vec<(u64, Reverse<SequenceNumber>, LogIndexItem)>,
    deletes: u64,
    user_bytes: u64,
    bounds: Option<KeyLimits>,
    sequences: Option<(SequenceNumber, SequenceNumber)>,
    range_tombstones: Vec<RangeTombstone>,
}

impl LogIndexBuilder {
    fn add(&mut self, payload: &[u8], batch: &DecodedBatch<'_>, record: LogIndexItem) {
        for (number, written) in (0..).zip(logged_writes(payload, batch)) {
            let sequence = match written {
                LoggedWrite::Entry(slot) => {
                    let entry = slot.entry(payload);
                    let hash = hash(entry.key);
                    let item = LogIndexItem { top: HashColumn::top(hash), operation: number, ..record };
                    self.items.push((hash, Reverse(entry.sequence), item));
                    self.deletes += u64::from(entry.kind == EntryKind::Delete);
                    self.user_bytes += entry.user_bytes();
                    self.widen(entry.key);
                    entry.sequence
                }
                LoggedWrite::RangeDelete(delete) => {
                    let sequence = delete.sequence;
                    self.range_tombstones.push(delete);
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

    fn write(mut self, file: Arc<dyn File>, number: u64, name: String, len: u64) -> Result<(Arc<Run>, HashColumn)> {
        self.items.sort_unstable_by_key(|(hash, newest_first, _)| (*hash, *newest_first));
        let hashes = HashColumn(self.items.iter().map(|(_, _, item)| item.top).collect());
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
            fences.push(page[0].2.top, BlockHandle { offset, len: page_len });
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
            range_tombstones: self.range_tombstones.into(),
            pieces: Box::new([Extent { offset: RECORDS_OFFSET, len: index_offset - RECORDS_OFFSET }]),
            permutation: None,
            index: Some(Extent { offset: index_offset, len: footer_offset - index_offset }),
            fences: fences.finish(),
            key_index: KeyIndex::default(),
        };
        let encoded = footer.encode(footer_offset, &HashColumn::default());
        let extent = Extent { offset: footer_offset, len: encoded.len() as u64 };
        out.extend_from_slice(&encoded);
        file.append(&out).map_err(Error::io("writing", &name))?;
        file.sync().map_err(Error::io("syncing", &name))?;
        let file = Arc::new(DataFile { number, name, file, len: footer_offset + extent.len });
        Ok((Arc::new(Run::new(file, extent, footer)), hashes))
    }
}

/// What an operation of a batch wrote.
enum LoggedWrite {
    /// An entry in the record's payload.
    Entry(EntrySlot),
    RangeDelete(RangeTombstone),
}

/// What `operation`, which is in `payload`, wrote.
fn logged_write(payload: &[u8], sequence: SequenceNumber, operation: BatchOperation<'_>) -> LoggedWrite {
    let slot = |key: &[u8], value_len: usize, kind| {
        let key_start = (key.as_ptr().addr() - payload.as_ptr().addr()) as u32;
        LoggedWrite::Entry(EntrySlot {
            key_start,
            key_len: key.len() as u32,
            value_len: value_len as u32,
            kind,
            sequence,
        })
    };
    match operation {
        BatchOperation::Put { key, value } => slot(key, value.len(), EntryKind::Put),
        BatchOperation::Delete { key } => slot(key, 0, EntryKind::Delete),
        BatchOperation::DeleteRange { low, high } => {
            LoggedWrite::RangeDelete(RangeTombstone { low: low.into(), high: high.into(), sequence })
        }
    }
}

/// What the operations of a batch in `payload` wrote, in order.
fn logged_writes<'a>(payload: &'a [u8], batch: &DecodedBatch<'a>) -> impl Iterator<Item = LoggedWrite> + use<'a> {
    (batch.first..).zip(batch.operations()).map(|(sequence, operation)| logged_write(payload, sequence, operation))
}

impl Run {
    /// [`Run::get`] for a log run.
    pub(super) fn get_logged(
        &self,
        cache: &BlockCache,
        hash: u64,
        key: &[u8],
        snapshot: SequenceNumber,
    ) -> Result<Option<LookupResult>> {
        let top = HashColumn::top(hash);
        for handle in self.fences.candidates(hash) {
            let page = cache.page(&self.file, handle)?;
            let items = items(&page);
            let first = items.partition_point(|bytes| LogIndexItem::of(bytes).top < top);
            for item in items[first..].iter().map(LogIndexItem::of).take_while(|item| item.top == top) {
                let (block, slot, was_cached) = self.read_item(cache, item)?;
                if slot.sequence <= snapshot && slot.key(block.body()) == key {
                    let value = block.value(slot.value_start(), slot.value_len);
                    return Ok(Some(LookupResult { sequence: slot.sequence, kind: slot.kind, value, was_cached }));
                }
            }
        }
        Ok(None)
    }

    /// The entry with this rank in the index, and whether its record was cached.
    pub(super) fn entry_at_rank(&self, cache: &BlockCache, rank: u32) -> Result<(Block, EntrySlot, bool)> {
        let (page, number) = (rank / PAGE_ITEMS as u32, rank as usize % PAGE_ITEMS);
        let handle = self.fences.locate(page).ok_or_else(|| self.bad_page(self.footer.offset))?;
        let page = cache.page(&self.file, handle)?;
        let item = items(&page).get(number).map(LogIndexItem::of).ok_or_else(|| self.bad_page(handle.offset))?;
        self.read_item(cache, item)
    }

    fn read_item(&self, cache: &BlockCache, item: LogIndexItem) -> Result<(Block, EntrySlot, bool)> {
        let offset = u64::from(item.offset);
        let (block, was_cached) = cache.record(&self.file, offset, || {
            let mut bytes = vec![0; usize::from(item.len)];
            self.file.read(&mut bytes, offset)?;
            let payload = payload_of(LogKind::Wal, self.file.number, &bytes);
            let payload = payload.map_err(|problem| self.file.corrupt(offset, problem))?;
            bytes.truncate(payload.end);
            bytes.drain(..payload.start);
            Ok(bytes)
        })?;
        let named = decode_one(block.body(), item.operation, &self.file.name, offset)?;
        match named.map(|(sequence, operation)| logged_write(block.body(), sequence, operation)) {
            Some(LoggedWrite::Entry(slot)) => Ok((block, slot, was_cached)),
            _ => Err(self.file.corrupt(offset, "the index refers to an entry that the record does not have")),
        }
    }

    /// All records, in memory; they are checked as they are read.
    fn records(&self) -> Result<LogReader> {
        let end = self.pieces.first().and_then(Extent::end).unwrap_or(0);
        let mut bytes = vec![0; end as usize];
        self.file.read(&mut bytes, 0)?;
        LogReader::of(bytes, LogKind::Wal, self.file.number)
    }

    /// The hashes of all entries.
    pub(super) fn log_hashes(&self) -> Result<HashColumn> {
        let mut hashes = Vec::with_capacity(self.entries as usize);
        self.for_each_item(|item| {
            hashes.push(item.top);
            Ok(())
        })?;
        Ok(HashColumn(hashes))
    }

    /// The key order of the entries. Their addresses are their ranks in the index.
    pub(super) fn log_key_order(&self) -> Result<PermutationBuilder> {
        let cache = BlockCache::new(4 << 20, 0);
        let mut builder = PermutationBuilder::default();
        let mut rank = 0;
        self.for_each_item(|item| {
            let (block, slot, _) = self.read_item(&cache, item)?;
            builder.push(slot.key(block.body()), EntryAddress(rank));
            rank += 1;
            Ok(())
        })?;
        Ok(builder)
    }

    /// Passes all items of the index to `take`, past the cache.
    fn for_each_item(&self, mut take: impl FnMut(LogIndexItem) -> Result<()>) -> Result<()> {
        let mut count = 0;
        for page in 0..self.fences.blocks() {
            let handle = self.fences.locate(page).ok_or_else(|| self.bad_page(self.footer.offset))?;
            let page = Block::read_page(&self.file, handle)?;
            count += items(&page).len() as u64;
            items(&page).iter().map(LogIndexItem::of).try_for_each(&mut take)?;
        }
        if count != self.entries {
            return Err(self.file.corrupt(
                self.footer.offset,
                format!("the index has {count} entries, the footer says {}", self.entries),
            ));
        }
        Ok(())
    }

    /// [`Run::verify`] for a log run: reads every record, and checks that every item leads to an entry with its hash.
    pub(super) fn verify_logged(&self) -> Result<()> {
        let mut reader = LogRunReader::new(self);
        let mut entries = 0;
        while reader.next()?.is_some() {
            entries += 1;
        }
        if entries != self.entries {
            let problem = format!("the log has {entries} entries, the footer says {}", self.entries);
            return Err(self.file.corrupt(self.footer.offset, problem));
        }
        let cache = BlockCache::new(4 << 20, 0);
        self.for_each_item(|item| {
            let (block, slot, _) = self.read_item(&cache, item)?;
            match HashColumn::top(hash(slot.key(block.body()))) {
                top if top == item.top => Ok(()),
                top => {
                    let problem = format!("the index has hash {:08x} for a key with hash {top:08x}", item.top);
                    Err(self.file.corrupt(u64::from(item.offset), problem))
                }
            }
        })
    }
}

/// Reads the entries of a log run in the order of writes.
pub(crate) struct LogRunReader<'a> {
    run: &'a Run,
    /// The log, once the first entry was requested.
    records: Option<LogReader>,
    payload: Vec<u8>,
    slots: Vec<EntrySlot>,
    /// How many slots were returned.
    used: usize,
    entries: u64,
}

impl<'a> LogRunReader<'a> {
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
                LoggedWrite::Entry(slot) => Some(slot),
                LoggedWrite::RangeDelete(_) => None,
            };
            self.used = 0;
            self.slots.clear();
            self.slots.extend(logged_writes(record.payload, &batch).filter_map(entry));
            self.payload.clear();
            self.payload.extend_from_slice(record.payload);
        }
        if self.entries != self.run.entries {
            let problem = format!("the log has {} whole entries, the footer says {}", self.entries, self.run.entries);
            return Err(self.run.file.corrupt(self.run.footer.offset, problem));
        }
        Ok(None)
    }
}
