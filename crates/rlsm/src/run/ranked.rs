//! A cursor over a hash-ordered run, rank by rank in key order: through its permutation or a sorted view.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Order;
use super::block::Block;
use super::cache::BlockCache;
use super::entries::Slot;
use super::keys::Keys;
use super::loaded::Loaded;
use super::open::{HIT_COST, MISS_COST, Run};
use super::permutation::{PAGE_RANKS, Permutation, SAMPLE_RANKS, Spot, spot_on_page};
use super::view::{VIEW_SAMPLE_RANKS, View};
use crate::entry::Entry;
use crate::error::Result;

/// Who has spent such a part of what reading the whole run costs, block by block, reads it whole.
const COST_PART: u64 = 2;

/// Where the ranks come from.
enum Ranks {
    /// From the file, with the page that was read last.
    Pages(Option<(u64, Block)>),
    View(Arc<View>),
}

/// A cursor over a hash-ordered run.
pub(crate) struct RankedCursor {
    run: Arc<Run>,
    cache: Arc<BlockCache>,
    ranks: Ranks,
    rank: u64,
    current: Option<(Block, Slot)>,
    /// Whether it went on for long.
    is_long: bool,
    /// The run, if it did and there is room for it.
    loaded: Option<Loaded>,
    /// What entries cost that lie apart from one another, as [`Run::scan_cost`] has it.
    cost: u64,
}

impl RankedCursor {
    pub fn new(run: Arc<Run>, cache: Arc<BlockCache>) -> Result<Self> {
        let ranks = match run.permutation {
            Some(_) => Ranks::Pages(None),
            None => Ranks::View(cache.view(run.file.number, run.footer.offset, || {
                run.add_scan_cost(run.stored_bytes);
                View::build(&run)
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

    /// Loads the run before a step, once it has cost so much.
    fn load_if_long(&mut self) -> Result<()> {
        if !self.is_long && self.cost >= self.run.stored_bytes / COST_PART {
            self.is_long = true;
            self.current = None;
            self.loaded = Loaded::read(&self.run, &self.cache)?;
            self.cost += self.loaded.as_ref().map_or(0, |_| self.run.stored_bytes);
        }
        Ok(())
    }

    /// Takes the entry of a rank, if there is one.
    fn enter(&mut self, rank: Option<u64>) -> Result<()> {
        self.current = None;
        if let Some(rank) = rank.filter(|rank| *rank < self.run.entries) {
            self.current = Some(self.load(rank)?);
            self.rank = rank;
        }
        Ok(())
    }

    /// How many entries at the front have keys that `is_before` holds for.
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

    fn samples(&self) -> (&Keys, u64) {
        match (&self.ranks, &self.run.permutation) {
            (Ranks::View(view), _) => (&view.samples, VIEW_SAMPLE_RANKS),
            (Ranks::Pages(_), Some(permutation)) => (&permutation.samples, SAMPLE_RANKS),
            (Ranks::Pages(_), None) => unreachable!("pages are only chosen for a run with a permutation"),
        }
    }

    fn load(&mut self, rank: u64) -> Result<(Block, Slot)> {
        let spot = self.spot(rank)?;
        let run = &self.run;
        if let Some(loaded) = &self.loaded {
            return loaded.entry(spot).ok_or_else(|| run.bad_page(run.footer.offset));
        }
        let (block, slot, was_here) = match run.order {
            Order::Log => run.logged_at(&self.cache, spot.0)?,
            Order::Hash | Order::Key => {
                let location = run.fences.locate(spot.block()).ok_or_else(|| run.bad_page(run.footer.offset))?;
                let (block, was_here) = self.cache.entries(&run.file, location, run.base)?;
                let slot = block.slot(run.base, spot.slot()).map_err(|bad| run.malformed(bad, location.offset))?;
                (block, slot, was_here)
            }
        };
        self.cost += if was_here { HIT_COST } else { MISS_COST };
        Ok((block, slot))
    }

    fn spot(&mut self, rank: u64) -> Result<Spot> {
        match (&mut self.ranks, &self.run.permutation) {
            (Ranks::View(view), _) => view.spot(rank).ok_or_else(|| self.run.bad_page(self.run.footer.offset)),
            (Ranks::Pages(page), Some(permutation)) => spot_in_file(&self.run, &self.cache, permutation, page, rank),
            (Ranks::Pages(_), None) => unreachable!("pages are only chosen for a run with a permutation"),
        }
    }
}

impl Drop for RankedCursor {
    fn drop(&mut self) {
        self.run.add_scan_cost(self.cost);
    }
}

fn spot_in_file(
    run: &Run,
    cache: &BlockCache,
    permutation: &Permutation,
    kept: &mut Option<(u64, Block)>,
    rank: u64,
) -> Result<Spot> {
    let (location, index) = permutation.page(rank);
    let number = rank / PAGE_RANKS;
    let block = match kept {
        Some((page, block)) if *page == number => block,
        _ => &kept.insert((number, cache.page(&run.file, location)?)).1,
    };
    spot_on_page(block.body(), index).ok_or_else(|| run.bad_page(location.offset))
}
