//! A bounded hash table that readers search without a lock.
//!
//! Its buckets have sixteen slots. A byte of each hash (its *tag*) lies in two words beside them, so that a search compares
//! sixteen tags at once and follows a pointer only where one agrees. A full bucket evicts an entry that was not used since
//! the last eviction there (the clock algorithm). Entries that leave are freed when no reader can hold them
//! (epoch-based reclamation).

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crossbeam_epoch::{Atomic, Guard, Owned};
use parking_lot::{Mutex, MutexGuard};

const WAYS: usize = 16;
const WORDS: usize = WAYS / 8;
const LOCKS: usize = 64;
const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
/// Slots for each entry of the capacity, in tenths: buckets fill unevenly, and a full one evicts.
const SLOT_TENTHS: usize = 12;

struct Slot<T> {
    was_used: AtomicBool,
    value: T,
}

struct Bucket<T> {
    /// One byte for each slot; 0 where it is empty.
    tags: [AtomicU64; WORDS],
    slots: [Atomic<Slot<T>>; WAYS],
}

impl<T> Default for Bucket<T> {
    fn default() -> Self {
        Self { tags: Default::default(), slots: std::array::from_fn(|_| Atomic::null()) }
    }
}

/// The table. The caller hashes, and compares keys.
pub(crate) struct Table<T> {
    buckets: Box<[Bucket<T>]>,
    locks: Box<[Mutex<()>]>,
    len: AtomicUsize,
    evictions: AtomicU64,
    hand: AtomicUsize,
}

/// The exclusive right to change the bucket of one hash.
pub(crate) struct BucketGuard<'a, T> {
    table: &'a Table<T>,
    hash: u64,
    _lock: MutexGuard<'a, ()>,
}

impl<T: Send + Sync + 'static> Table<T> {
    /// A table that evicts when it has about so many entries.
    pub fn new(capacity: usize) -> Self {
        let buckets = (capacity.max(1) * SLOT_TENTHS / 10).div_ceil(WAYS);
        Self {
            buckets: (0..buckets).map(|_| Bucket::default()).collect(),
            locks: (0..LOCKS.min(buckets)).map(|_| Mutex::new(())).collect(),
            len: AtomicUsize::new(0),
            evictions: AtomicU64::new(0),
            hand: AtomicUsize::new(0),
        }
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Entries that left because their bucket was full.
    pub fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }

    /// The bytes of the table itself, without what entries allocate.
    pub fn table_bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    /// The entry of this hash for which `matches` holds.
    #[inline]
    pub fn find<'g>(&self, hash: u64, matches: impl Fn(&T) -> bool, guard: &'g Guard) -> Option<&'g T> {
        let bucket = self.bucket(hash);
        self.position(bucket, hash, matches, guard).map(|(_, slot)| {
            if !slot.was_used.load(Ordering::Relaxed) {
                slot.was_used.store(true, Ordering::Relaxed);
            }
            &slot.value
        })
    }

    /// Waits for the right to change the bucket of `hash`.
    pub fn lock(&self, hash: u64) -> BucketGuard<'_, T> {
        let lock = &self.locks[self.index(hash) % self.locks.len()];
        BucketGuard { table: self, hash, _lock: lock.lock() }
    }

    #[inline]
    fn index(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.buckets.len() as u128) >> 64) as usize
    }

    #[inline]
    fn bucket(&self, hash: u64) -> &Bucket<T> {
        &self.buckets[self.index(hash)]
    }

    #[inline]
    fn position<'g>(
        &self,
        bucket: &Bucket<T>,
        hash: u64,
        matches: impl Fn(&T) -> bool,
        guard: &'g Guard,
    ) -> Option<(usize, &'g Slot<T>)> {
        let wanted = u64::from(tag(hash)) * LOW_BITS;
        for (word, tags) in bucket.tags.iter().enumerate() {
            let mut equal = zero_bytes(tags.load(Ordering::Acquire) ^ wanted);
            while equal != 0 {
                let way = word * 8 + equal.trailing_zeros() as usize / 8;
                // SAFETY: what a slot points to is freed only after `guard`, which was pinned before, is gone.
                if let Some(slot) = unsafe { bucket.slots[way].load(Ordering::Acquire, guard).as_ref() }
                    && matches(&slot.value)
                {
                    return Some((way, slot));
                }
                equal &= equal - 1;
            }
        }
        None
    }
}

impl<T: Send + Sync + 'static> BucketGuard<'_, T> {
    /// The entry for which `matches` holds.
    pub fn find<'g>(&self, matches: impl Fn(&T) -> bool, guard: &'g Guard) -> Option<&'g T> {
        self.table.position(self.bucket(), self.hash, matches, guard).map(|(_, slot)| &slot.value)
    }

    /// Puts `value` in the place of the entry for which `matches` holds, or of none, or of a victim.
    pub fn insert(&self, value: T, matches: impl Fn(&T) -> bool, guard: &Guard) {
        let found = self.table.position(self.bucket(), self.hash, matches, guard).map(|(way, _)| way);
        let way = found.or_else(|| self.empty_way(guard)).unwrap_or_else(|| self.victim(guard));
        let slot = Owned::new(Slot { was_used: AtomicBool::new(found.is_some()), value });
        let before = self.bucket().slots[way].swap(slot, Ordering::AcqRel, guard);
        if before.is_null() {
            self.table.len.fetch_add(1, Ordering::Relaxed);
        } else {
            // SAFETY: the slot no longer points to it, and the bucket's lock keeps others from deferring it twice.
            unsafe { guard.defer_destroy(before) };
        }
        self.set_tag(way, tag(self.hash));
    }

    /// Removes the entry for which `matches` holds.
    pub fn remove(&self, matches: impl Fn(&T) -> bool, guard: &Guard) -> bool {
        let Some((way, _)) = self.table.position(self.bucket(), self.hash, matches, guard) else { return false };
        self.set_tag(way, 0);
        let before = self.bucket().slots[way].swap(crossbeam_epoch::Shared::null(), Ordering::AcqRel, guard);
        // SAFETY: the slot no longer points to it, and the bucket's lock keeps others from deferring it twice.
        unsafe { guard.defer_destroy(before) };
        self.table.len.fetch_sub(1, Ordering::Relaxed);
        true
    }

    fn bucket(&self) -> &Bucket<T> {
        self.table.bucket(self.hash)
    }

    fn empty_way(&self, guard: &Guard) -> Option<usize> {
        self.bucket().slots.iter().position(|slot| slot.load(Ordering::Acquire, guard).is_null())
    }

    /// The next entry behind the hand that was not used since the hand passed; the hand clears the marks it passes.
    fn victim(&self, guard: &Guard) -> usize {
        self.table.evictions.fetch_add(1, Ordering::Relaxed);
        let start = self.table.hand.fetch_add(1, Ordering::Relaxed) % WAYS;
        let unused = |way: &usize| {
            // SAFETY: what a slot points to is freed only after `guard`, which was pinned before, is gone.
            let slot = unsafe { self.bucket().slots[*way].load(Ordering::Acquire, guard).as_ref() };
            slot.is_none_or(|slot| !slot.was_used.swap(false, Ordering::Relaxed))
        };
        (start..start + WAYS).map(|way| way % WAYS).find(unused).unwrap_or(start)
    }

    fn set_tag(&self, way: usize, tag: u8) {
        let word = &self.bucket().tags[way / 8];
        let shift = way % 8 * 8;
        let others = word.load(Ordering::Relaxed) & !(0xff << shift);
        word.store(others | u64::from(tag) << shift, Ordering::Release);
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        for slot in self.buckets.iter_mut().flat_map(|bucket| &mut bucket.slots) {
            let slot = std::mem::replace(slot, Atomic::null());
            // SAFETY: nobody else can hold the table any more; what a reader still holds lives behind its own guard.
            drop(unsafe { slot.try_into_owned() });
        }
    }
}

/// A byte of the hash that does not choose the bucket, never 0.
#[inline]
fn tag(hash: u64) -> u8 {
    hash as u8 | 1
}

/// The high bit of every byte that is 0. Bytes above one that is may be wrongly marked; keys are compared anyway.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(key: u64) -> u64 {
        key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn insert(table: &Table<u64>, key: u64) {
        table.lock(spread(key)).insert(key, |&other| other == key, &crossbeam_epoch::pin());
    }

    fn contains(table: &Table<u64>, key: u64) -> bool {
        table.find(spread(key), |&other| other == key, &crossbeam_epoch::pin()).is_some()
    }

    #[test]
    fn finds_what_it_has_and_nothing_else() {
        let table = Table::new(1000);
        (0..500).for_each(|key| insert(&table, key));
        assert!((0..500).all(|key| contains(&table, key)));
        assert!((500..5000).all(|key| !contains(&table, key)));
        assert!(table.lock(spread(7)).remove(|&other| other == 7, &crossbeam_epoch::pin()));
        assert!(!contains(&table, 7));
        assert_eq!(table.len(), 499);
    }

    #[test]
    fn keys_of_one_hash_are_told_apart() {
        let table = Table::new(100);
        let guard = crossbeam_epoch::pin();
        for key in 0..10_u64 {
            table.lock(1).insert(key, |&other| other == key, &guard);
        }
        assert!((0..10).all(|key| table.find(1, |&other| other == key, &guard).is_some()));
    }

    #[test]
    fn is_bounded_and_keeps_what_is_used() {
        let table = Table::new(1000);
        (0..100_000).for_each(|key| {
            insert(&table, key);
            (0..50).for_each(|hot| {
                if !contains(&table, hot) {
                    insert(&table, hot);
                }
            });
        });
        assert!(table.len() <= 1200 && table.len() > 900, "{}", table.len());
        assert!((0..50).filter(|&hot| contains(&table, hot)).count() >= 49);
        assert!(table.evictions() > 90_000);
        assert_eq!((0..100_000).filter(|&key| contains(&table, key)).count(), table.len());
    }

    #[test]
    fn values_are_dropped_once() {
        use std::sync::Arc;
        let counted = Arc::new(());
        // A collector of the test's own: the default one frees when the threads of other tests have moved on.
        let collector = crossbeam_epoch::Collector::new();
        let thread = collector.register();
        let table = Table::new(16);
        for key in 0..1000_u64 {
            let guard = thread.pin();
            table.lock(spread(key)).insert((key, Arc::clone(&counted)), |other| other.0 == key, &guard);
        }
        let evicted = 1000 - table.len();
        drop(table);
        assert!(Arc::strong_count(&counted) - 1 <= evicted, "the values of the table are freed at once");
        drop((thread, collector));
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
