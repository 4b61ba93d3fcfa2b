//! A sorted view: the key order of a hash-ordered run that has no permutation in the file, made by reading the run once
//! and kept in the cache.

use super::keys::Keys;
use super::open::Run;
use super::permutation::{PermutationBuilder, Spot};
use super::reader::BlockReader;
use super::{Order, READ_AHEAD_BYTES};
use crate::error::Result;

/// Every so many entries, a view keeps a key: closer than a permutation does, since it is only there where it is used.
pub(crate) const VIEW_SAMPLE_RANKS: u64 = 16;

/// The key order of a run.
pub(crate) struct View {
    spots: Box<[Spot]>,
    /// The keys at ranks 0, 16, 32, …
    pub samples: Keys,
}

impl View {
    /// Reads the whole run.
    pub fn build(run: &Run) -> Result<Self> {
        let builder = match run.order {
            Order::Log => run.logged_keys()?,
            Order::Hash | Order::Key => keys_of_blocks(run)?,
        };
        let (spots, samples) = builder.sort(VIEW_SAMPLE_RANKS);
        Ok(Self { spots: spots.into(), samples })
    }

    pub fn spot(&self, rank: u64) -> Option<Spot> {
        self.spots.get(usize::try_from(rank).ok()?).copied()
    }

    pub fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.spots) as u64 + self.samples.memory_bytes()
    }
}

fn keys_of_blocks(run: &Run) -> Result<PermutationBuilder> {
    let mut builder = PermutationBuilder::default();
    let mut reader = BlockReader::new(run, READ_AHEAD_BYTES);
    while let Some((spot, entry)) = reader.next_with_spot()? {
        builder.push(entry.key, spot);
    }
    Ok(builder)
}
