//! YCSB's scrambled zipfian, bit for bit.
//!
//! YCSB draws over a fixed 10^10 + 1 items, for any number of records, by the closed form of Gray
//! and others (SIGMOD 1994), hashes the item, and takes the remainder by one more than the number of
//! records (its bounds are inclusive, and a record to come is counted in); what lands on that one is drawn
//! again. Most draws are of items that no record owns and land anywhere, so that the popular records get
//! far less than their share under Zipf.

use rand_xoshiro::rand_core::Rng as _;

use super::Random;
use crate::kv::keys::fnv_hash;

/// YCSB counts its items from 0 to this, both included.
const LAST_ITEM: u64 = 10_000_000_000;
/// The sum of k^-0.99 over those items, as YCSB has it.
const ZETA_ITEMS: f64 = 26.469_028_201_783_02;
const THETA: f64 = 0.99;

/// YCSB's scrambled zipfian.
#[derive(Debug, Clone, Copy)]
pub struct YcsbZipfian {
    records: u64,
    alpha: f64,
    eta: f64,
    second: f64,
}

impl YcsbZipfian {
    /// Over the records 0 to `records` - 1.
    pub fn new(records: u64) -> Self {
        let zeta_two = 1.0 + 1.0 / 2_f64.powf(THETA);
        let items = (LAST_ITEM + 1) as f64;
        let eta = (1.0 - (2.0 / items).powf(1.0 - THETA)) / (1.0 - zeta_two / ZETA_ITEMS);
        Self { records, alpha: 1.0 / (1.0 - THETA), eta, second: 1.0 + 0.5_f64.powf(THETA) }
    }

    /// The next record.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            // 53 bits, as Java's `nextDouble` makes them of its own generator.
            let u = (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
            if let Some(record) = self.of(u) {
                return record;
            }
        }
    }

    /// The record that YCSB takes for the uniform number `u` in [0, 1); nothing where it draws again.
    #[inline]
    pub fn of(&self, u: f64) -> Option<u64> {
        self.record_of(self.item_of(u))
    }

    /// The record that `item` is folded onto; nothing where YCSB draws again.
    #[inline]
    pub fn record_of(&self, item: u64) -> Option<u64> {
        let record = fnv_hash(item) % (self.records + 1);
        (record < self.records).then_some(record)
    }

    /// How often each item is drawn, from item 0 on.
    pub fn shares_of_items(&self) -> impl Iterator<Item = f64> {
        let special = [1.0 / ZETA_ITEMS, (self.second - 1.0) / ZETA_ITEMS];
        let closed_form_from = self.second / ZETA_ITEMS;
        // The uniform number from which on the closed form gives `item`.
        let from = move |item: u64| {
            let u = ((item as f64 / (LAST_ITEM + 1) as f64).powf(1.0 / self.alpha) + self.eta - 1.0) / self.eta;
            u.clamp(closed_form_from, 1.0)
        };
        let mut begin = from(0);
        (0..=LAST_ITEM).map(move |item| {
            let end = from(item + 1);
            let share = end - std::mem::replace(&mut begin, end);
            share + special.get(item as usize).copied().unwrap_or(0.0)
        })
    }

    #[inline]
    fn item_of(&self, u: f64) -> u64 {
        let scaled = u * ZETA_ITEMS;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.second {
            return 1;
        }
        ((LAST_ITEM + 1) as f64 * (self.eta * u - self.eta + 1.0).powf(self.alpha)) as u64
    }
}
