//! A cursor over a hash-ordered run or a log run, in key order: through its permutation or a sorted view.

use std::cmp::Ordering;
use std::sync::Arc;

use super::block::Block;
use super::cache::BlockCache;
use super::entries::EntrySlot;
use super::handle::Run;
use super::keys::KeyList;
use super::loaded_run::LoadedRun;
use super::lookup::{BLOCK_READ_COST, CACHED_BLOCK_COST};
use super::permutation::PermutationBuilder;
use super::permutation::{EntryAddress, PAGE_RANKS, Permutation, SAMPLE_RANKS, address_on_page};
use super::reader::BlockReader;
use super::sorted_view::{SortedView, VIEW_SAMPLE_RANKS};
use super::{Order, READ_AHEAD_BYTES};
use crate::entry::Entry;
use crate::error::Result;

/// Once a cursor has spent this fraction of the cost of reading the whole run, block by block, it loads the run.
const LOAD_COST_FRACTION: u64 = 2;

/// Where the addresses of entries come from.
enum RankSource {
    /// Permutation pages in the file, with the page that was read last.
    Pages(Option<(u64, Block)>),
    SortedView(Arc<SortedView>),
}

/// A cursor over a hash-ordered run or a log run.
pub(crate) struct HashOrderedCursor {
    run: Arc<Run>,
    cache: Arc<BlockCache>,
    ranks: RankSource,
    rank: u64,
    current: Option<(Block, EntrySlot)>,
    /// Whether the scan is long enough to load the run.
    is_long: bool,
    /// The run in memory, if the scan is long and there is room for it.
    loaded: Option<LoadedRun>,
    /// The cost of entries that are not adjacent, as in [`Run::scan_cost`].
    cost: u64,
}

impl HashOrderedCursor {
    pub fn new(run: Arc<Run>, cache: Arc<BlockCache>) -> Result<Self> {
        let ranks = match run.permutation {
            Some(_) => RankSource::Pages(None),
            None => RankSource::SortedView(cache.view(run.file.number, run.footer.offset, || {
                run.add_scan_cost(run.stored_bytes);
                build_view(&run)
            })?),
        };
        Ok(Self { run, cache, ranks, rank: 0, current: None, is_long: false, loaded: None, cost: 0 })
    }

    pub fn entry(&self) -> Option<Entry<'_>> {
        let (block, slot) = self.current.as_ref()?;
        Some(slot.entry(block.body()))
    }

    pub fn first(&mut self) -> Result<()> {
        self.enter(Some(0))
    }

    pub fn last(&mut self) -> Result<()> {
        self.enter(self.run.entries.checked_sub(1))
    }

    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        let rank = self.count_before(|other| other.cmp(key) == Ordering::Less)?;
        self.enter(Some(rank))
    }

    pub fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        let count = self.count_before(|other| other.cmp(key) != Ordering::Greater)?;
        self.enter(count.checked_sub(1))
    }

    pub fn next(&mut self) -> Result<()> {
        match self.current {
            Some(_) => {
                self.load_if_long()?;
                self.enter(Some(self.rank + 1))
            }
            None => Ok(()),
        }
    }

    pub fn previous(&mut self) -> Result<()> {
        match self.current {
            Some(_) => {
                self.load_if_long()?;
                self.enter(self.rank.checked_sub(1))
            }
            None => Ok(()),
        }
    }

    /// Loads the run before a step, once the scan is long.
    fn load_if_long(&mut self) -> Result<()> {
        if !self.is_long && self.cost >= self.run.stored_bytes / LOAD_COST_FRACTION {
            self.is_long = true;
            self.current = None;
            self.loaded = LoadedRun::read(&self.run, &self.cache)?;
            self.cost += self.loaded.as_ref().map_or(0, |_| self.run.stored_bytes);
        }
        Ok(())
    }

    /// Moves to the entry with this rank, if there is one.
    fn enter(&mut self, rank: Option<u64>) -> Result<()> {
        self.current = None;
        if let Some(rank) = rank.filter(|rank| *rank < self.run.entries) {
            self.current = Some(self.load(rank)?);
            self.rank = rank;
        }
        Ok(())
    }

    /// The number of entries at the front whose keys satisfy `is_before`.
    fn count_before(&mut self, is_before: impl Fn(&[u8]) -> bool) -> Result<u64> {
        let (samples, interval) = self.samples();
        let sampled = samples.partition_point(&is_before) as u64;
        let (mut low, mut high) = (sampled.saturating_sub(1) * interval, (sampled * interval).min(self.run.entries));
        while low < high {
            let middle = low + (high - low) / 2;
            let (block, slot) = self.load(middle)?;
            if is_before(slot.key(block.body())) { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    fn samples(&self) -> (&KeyList, u64) {
        match (&self.ranks, &self.run.permutation) {
            (RankSource::SortedView(view), _) => (&view.samples, VIEW_SAMPLE_RANKS),
            (RankSource::Pages(_), Some(permutation)) => (&permutation.samples, SAMPLE_RANKS),
            (RankSource::Pages(_), None) => unreachable!("pages are only chosen for a run with a permutation"),
        }
    }

    fn load(&mut self, rank: u64) -> Result<(Block, EntrySlot)> {
        let address = self.address(rank)?;
        let run = &self.run;
        if let Some(loaded) = &self.loaded {
            return loaded.entry(address).ok_or_else(|| run.bad_page(run.footer.offset));
        }
        let (block, slot, was_cached) = match run.order {
            Order::Log => run.entry_at_rank(&self.cache, address.0)?,
            Order::Hash | Order::Key => {
                let handle = run.fences.locate(address.block()).ok_or_else(|| run.bad_page(run.footer.offset))?;
                let (block, was_cached) = self.cache.entries(&run.file, handle, run.base)?;
                let slot = block.slot(run.base, address.slot()).map_err(|bad| run.malformed(bad, handle.offset))?;
                (block, slot, was_cached)
            }
        };
        self.cost += if was_cached { CACHED_BLOCK_COST } else { BLOCK_READ_COST };
        Ok((block, slot))
    }

    fn address(&mut self, rank: u64) -> Result<EntryAddress> {
        match (&mut self.ranks, &self.run.permutation) {
            (RankSource::SortedView(view), _) => {
                view.address(rank).ok_or_else(|| self.run.bad_page(self.run.footer.offset))
            }
            (RankSource::Pages(page), Some(permutation)) => {
                address_in_file(&self.run, &self.cache, permutation, page, rank)
            }
            (RankSource::Pages(_), None) => unreachable!("pages are only chosen for a run with a permutation"),
        }
    }
}

impl Drop for HashOrderedCursor {
    fn drop(&mut self) {
        self.run.add_scan_cost(self.cost);
    }
}

/// Reads the whole run to sort its keys.
fn build_view(run: &Run) -> Result<SortedView> {
    let keys = match run.order {
        Order::Log => run.log_key_order()?,
        Order::Hash | Order::Key => keys_of_blocks(run)?,
    };
    Ok(SortedView::new(keys))
}

fn keys_of_blocks(run: &Run) -> Result<PermutationBuilder> {
    let mut builder = PermutationBuilder::default();
    let mut reader = BlockReader::new(run, READ_AHEAD_BYTES);
    while let Some((address, entry)) = reader.next_with_address()? {
        builder.push(entry.key, address);
    }
    Ok(builder)
}

fn address_in_file(
    run: &Run,
    cache: &BlockCache,
    permutation: &Permutation,
    last_page: &mut Option<(u64, Block)>,
    rank: u64,
) -> Result<EntryAddress> {
    let (handle, index) = permutation.page(rank);
    let number = rank / PAGE_RANKS;
    let block = match last_page {
        Some((page, block)) if *page == number => block,
        _ => &last_page.insert((number, cache.page(&run.file, handle)?)).1,
    };
    address_on_page(block.body(), index).ok_or_else(|| run.bad_page(handle.offset))
}
