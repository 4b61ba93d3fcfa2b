//! Verifying a run: reads all of it and checks it against its footer.

use std::cmp::Ordering;

use super::block::BlockHandle;
use super::cache::BlockCache;
use super::footer::Footer;
use super::handle::Run;
use super::hashes::HashColumn;
use super::permutation::{EntryAddress, PermutationBuilder, address_on_page};
use super::reader::BlockReader;
use super::{Order, READ_AHEAD_BYTES};
use crate::entry::{Entry, EntryKind, SequenceNumber};
use crate::error::Result;
use crate::hash::hash;

/// Totals of the entries so far.
#[derive(Default)]
struct EntryTotals {
    last: Option<(u64, Vec<u8>, SequenceNumber)>,
    hashes: Vec<u32>,
    deletes: u64,
    user_bytes: u64,
    bounds: Option<(Vec<u8>, Vec<u8>)>,
    /// The keys, if there is a permutation to check.
    keys: Option<PermutationBuilder>,
}

impl Run {
    /// Reads everything, past the cache, and checks checksums, order, counts, hashes, fence pointers or index, and the
    /// permutation.
    pub fn verify(&self) -> Result<()> {
        if self.order == Order::Log {
            return self.verify_logged();
        }
        let (_, column) = Footer::read(&self.file, self.footer)?;
        let mut seen = EntryTotals {
            keys: self.permutation.as_ref().map(|_| PermutationBuilder::default()),
            ..EntryTotals::default()
        };
        let index_cache = BlockCache::new(1 << 20, 0);
        let mut reader = BlockReader::new(self, READ_AHEAD_BYTES);
        while let Some((address, entry)) = reader.next_with_address()? {
            let hash = hash(entry.key);
            let wrong = seen.take(self, address, hash, &entry);
            let block = reader.block();
            wrong.map_err(|problem| self.file.corrupt(block.offset, problem))?;
            if address.slot() == 0 {
                self.verify_block_is_indexed(&index_cache, address.block(), block, hash)?;
            }
        }
        self.verify_footer(&mut seen, column)?;
        self.verify_permutation(&index_cache, seen.keys)
    }

    fn verify_block_is_indexed(&self, cache: &BlockCache, number: u32, block: BlockHandle, hash: u64) -> Result<()> {
        let indexed = match self.order {
            Order::Hash | Order::Log => self.fences.locate(number),
            Order::Key => Some(self.with_item(cache, number, |item| item.handle)?),
        };
        let Some(indexed) = indexed else {
            return Err(self.file.corrupt(block.offset, format!("the run's index has no block {number}")));
        };
        if indexed.offset != block.offset || !block.matches_index_len(indexed.len) {
            let (offset, len) = (indexed.offset, indexed.len);
            let problem = format!(
                "the run's index has block {number} at byte {offset} with {len} bytes; the block has {} bytes",
                block.len
            );
            return Err(self.file.corrupt(block.offset, problem));
        }
        let top = hash >> 32;
        let fits = |(least, above): (u64, u64)| (least..above).contains(&top);
        if self.order == Order::Hash && !self.fences.first_hash_bounds(number).is_some_and(fits) {
            return Err(self.file.corrupt(
                block.offset,
                format!("the fence pointer of block {number} does not match the hash of its first entry"),
            ));
        }
        Ok(())
    }

    fn verify_footer(&self, seen: &mut EntryTotals, column: HashColumn) -> Result<()> {
        let wrong = |problem: &str| {
            Err(self.file.corrupt(self.footer.offset, format!("the footer's {problem} do not match the entries")))
        };
        seen.hashes.sort_unstable();
        if seen.hashes != column.0 {
            return wrong("hashes");
        }
        if (seen.deletes, seen.user_bytes) != (self.deletes, self.user_bytes) {
            return wrong("counts");
        }
        if seen.bounds.as_ref().is_some_and(|(low, high)| **low != *self.low || **high != *self.high) {
            return wrong("lowest and highest keys");
        }
        Ok(())
    }

    fn verify_permutation(&self, cache: &BlockCache, keys: Option<PermutationBuilder>) -> Result<()> {
        let (Some(permutation), Some(keys)) = (&self.permutation, keys) else { return Ok(()) };
        let (addresses, _) = keys.sort(u64::MAX);
        for (rank, address) in (0..).zip(addresses) {
            let (handle, index) = permutation.page(rank);
            let page = cache.page(&self.file, handle)?;
            if address_on_page(page.body(), index) != Some(address) {
                return Err(self
                    .file
                    .corrupt(handle.offset, format!("the permutation's rank {rank} is not in key order")));
            }
        }
        Ok(())
    }
}

impl EntryTotals {
    fn take(
        &mut self,
        run: &Run,
        address: EntryAddress,
        hash: u64,
        entry: &Entry<'_>,
    ) -> std::result::Result<(), String> {
        if let Some((last_hash, key, sequence)) = &self.last {
            let by_key = key.as_slice().cmp(entry.key).then(entry.sequence.cmp(sequence));
            let order = match run.order {
                Order::Hash => last_hash.cmp(&hash).then(by_key),
                Order::Key | Order::Log => by_key,
            };
            if order != Ordering::Less {
                return Err(format!("the key `{}` is out of order", entry.key.escape_ascii()));
            }
        }
        if !(run.sequences.0..=run.sequences.1).contains(&entry.sequence) {
            return Err(format!(
                "sequence number {} is not between {} and {}",
                entry.sequence, run.sequences.0, run.sequences.1
            ));
        }
        self.last = Some((hash, entry.key.to_owned(), entry.sequence));
        self.hashes.push(HashColumn::top(hash));
        self.deletes += u64::from(entry.kind == EntryKind::Delete);
        self.user_bytes += entry.user_bytes();
        let (low, high) = self.bounds.get_or_insert_with(|| (entry.key.to_owned(), entry.key.to_owned()));
        if entry.key < low.as_slice() {
            *low = entry.key.to_owned();
        }
        if entry.key > high.as_slice() {
            *high = entry.key.to_owned();
        }
        if let Some(keys) = &mut self.keys {
            keys.push(entry.key, address);
        }
        Ok(())
    }
}
