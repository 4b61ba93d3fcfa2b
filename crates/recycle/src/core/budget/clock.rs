//! CLOCK: a hand that goes round the pages in memory, region by region, in the order of the file.

use std::sync::{Arc, Weak};

use crate::core::Core;
use crate::page::PageWord;

/// How often the hand comes by a page before it is a victim, if nothing holds it: for its heaviest weight, and once
/// more.
pub(super) const ALL_ROUNDS: u64 = 4;

/// Where only clean pages are wanted, the hand goes round once: if it went on where all others are dirty, it would come
/// to the page that was read last, and two pages that one instruction needs would evict each other for ever.
pub(super) const CLEAN_ROUNDS: u64 = 1;

/// Where the hand is.
#[derive(Debug, Default)]
pub(super) struct Hand {
    region: usize,
    page: u64,
}

impl Hand {
    /// Offers pages without weight to `take` until it has taken `wanted`, or so many pages were looked at.
    pub(super) fn sweep(
        &mut self,
        regions: &[Weak<Core>],
        looks: u64,
        wanted: usize,
        take: &mut dyn FnMut(&Arc<Core>, u64) -> bool,
    ) {
        let (mut looks, mut missing) = (looks + regions.len() as u64, wanted);
        while missing > 0 && looks > 0 && !regions.is_empty() {
            looks -= 1;
            self.region %= regions.len();
            let Some(region) = regions[self.region].upgrade() else {
                self.turn();
                continue;
            };
            // One region after another: looking one up costs more than looking at its pages.
            while missing > 0 && looks > 0 {
                let Some(page) = region.next_resident(self.page) else {
                    self.turn();
                    break;
                };
                (self.page, looks) = (page + 1, looks - 1);
                let is_spared = region.cell(page).change(PageWord::lighter).is_ok();
                if !is_spared && take(&region, page) {
                    missing -= 1;
                }
            }
        }
    }

    fn turn(&mut self) {
        (self.region, self.page) = (self.region + 1, 0);
    }
}
