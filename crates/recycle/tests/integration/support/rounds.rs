//! Rounds of writes, each of which is synced: what a file may show after any of them.

use super::{Chance, PAGE};

pub const FILE_PAGES: u64 = 60;

/// Pages that a round changes; rounds are numbered from 1.
pub fn changed(round: u64) -> Vec<u64> {
    let mut chance = Chance::new(round);
    (0..1 + chance.below(20)).map(|_| chance.below(FILE_PAGES)).collect()
}

/// A page is full of the number of the round that changed it last.
pub fn content(round: u64) -> Vec<u8> {
    round.to_le_bytes().repeat(PAGE as usize / 8)
}

/// Whether a page may show this round: the last synced one that changed it, or any later one; 0 is none.
pub fn is_allowed(page: u64, shown: u64, synced: u64) -> bool {
    let last = (1..=synced).rev().find(|round| changed(*round).contains(&page)).unwrap_or(0);
    shown >= last && (shown == 0 || changed(shown).contains(&page))
}
