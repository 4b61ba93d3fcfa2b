//! A maplet: from a hash to the runs that may have it, as fingerprints in memory, about 2.2 bytes per entry.
//!
//! The hash's top 32 bits are spread evenly over the buckets; what is left of them is the fingerprint. A bucket is a
//! short sorted list of fingerprint << slot bits | slot. Nothing changes in place: a version that readers hold stays.

use super::hashes::Hashes;

/// As many runs can be told apart: one bit each in the answer.
pub(crate) const SLOTS_MAX: u8 = 64;
const BUCKET_ENTRIES: u64 = 24;
/// Bounds what a wrong expectation can take: 256 MiB of buckets, for 1.6 billion entries.
const BUCKETS_MAX: u64 = 1 << 26;
const SLOT_BITS_MIN: u32 = 4;

/// Which runs may have a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Maplet {
    slot_bits: u32,
    /// Where each bucket begins in `entries`, and the end of the last.
    starts: Box<[u32]>,
    /// Within a bucket in ascending order, none twice.
    entries: Box<[u16]>,
}

impl Maplet {
    /// A maplet of `runs`, each with its slot, that has room for slots below `slots` and does well up to about
    /// `expected_entries`.
    pub fn build(slots: u8, expected_entries: u64, runs: &[(u8, &Hashes)]) -> Self {
        let buckets = expected_entries.div_ceil(BUCKET_ENTRIES).clamp(1, BUCKETS_MAX);
        let slots = runs.iter().map(|(slot, _)| slot + 1).max().unwrap_or(0).max(slots);
        let mut columns: Vec<Column<'_>> = runs.iter().map(|(slot, hashes)| Column::new(*slot, &hashes.0)).collect();
        let count = runs.iter().map(|(_, hashes)| hashes.0.len()).sum();
        let mut filler = Filler::new(slot_bits(slots), buckets as usize, count);
        for bucket in 0..filler.buckets {
            for column in &mut columns {
                column.pour(bucket, &mut filler);
            }
            filler.close_bucket();
        }
        filler.finish()
    }

    /// This maplet and the hashes of one more run. Also tells how many of the hashes had an equal fingerprint here
    /// already: an estimate of how many entries the run overwrites.
    pub fn extended(&self, slot: u8, hashes: &Hashes) -> (Self, u64) {
        let bits = slot_bits(slot + 1).max(self.slot_bits);
        let widened = bits - self.slot_bits;
        let mut filler = Filler::new(bits, self.buckets(), self.entries.len() + hashes.0.len());
        let (mut column, mut known) = (Column::new(slot, &hashes.0), 0);
        for bucket in 0..self.buckets() {
            let old = self.bucket(bucket);
            filler.open.extend(old.iter().map(|entry| widen(*entry, self.slot_bits, widened)));
            let before = filler.open.len();
            column.pour(bucket, &mut filler);
            known += count_known(filler.open.split_at(before), bits);
            filler.close_bucket();
        }
        (filler.finish(), known)
    }

    /// This maplet with the run in slot `i` in `new_slot[i]` instead, or dropped; slots past its end are dropped.
    /// Several may become one.
    pub fn remapped(&self, new_slot: &[Option<u8>]) -> Self {
        let slots = new_slot.iter().flatten().map(|slot| slot + 1).max().unwrap_or(0);
        let bits = slot_bits(slots).max(self.slot_bits);
        let widened = bits - self.slot_bits;
        let mut filler = Filler::new(bits, self.buckets(), self.entries.len());
        for bucket in 0..self.buckets() {
            for entry in self.bucket(bucket) {
                let slot = usize::from(*entry & low_bits(self.slot_bits));
                if let Some(slot) = new_slot.get(slot).copied().flatten() {
                    let entry = widen(*entry, self.slot_bits, widened) & !low_bits(bits);
                    filler.open.push(entry | u16::from(slot));
                }
            }
            filler.close_bucket();
        }
        filler.finish()
    }

    /// Bit `i` is set if the run in slot `i` may have `hash`.
    #[inline]
    pub fn slots(&self, hash: u64) -> u64 {
        let (bucket, rest) = split(Hashes::top(hash), self.buckets());
        let fingerprint = (rest >> 16) as u16 >> self.slot_bits;
        let slot_mask = low_bits(self.slot_bits);
        // Without a branch: where in the bucket a fingerprint lies cannot be foreseen.
        let mut mask = 0;
        for entry in self.bucket(bucket) {
            mask |= u64::from(entry >> self.slot_bits == fingerprint) << (entry & slot_mask);
        }
        mask
    }

    pub fn memory_bytes(&self) -> u64 {
        (size_of_val(&*self.starts) + size_of_val(&*self.entries)) as u64
    }

    fn buckets(&self) -> usize {
        self.starts.len() - 1
    }

    fn bucket(&self, bucket: usize) -> &[u16] {
        &self.entries[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }
}

/// The bits that tell so many slots apart.
fn slot_bits(slots: u8) -> u32 {
    debug_assert!(slots <= SLOTS_MAX);
    u32::from(slots).next_power_of_two().trailing_zeros().clamp(SLOT_BITS_MIN, 6)
}

fn low_bits(bits: u32) -> u16 {
    (1 << bits) - 1
}

/// The bucket of a hash and what it leaves, evenly spread over 32 bits. Both together ascend with the hash.
fn split(top: u32, buckets: usize) -> (usize, u32) {
    let product = u64::from(top) * buckets as u64;
    ((product >> 32) as usize, product as u32)
}

/// Gives the slot more bits at the expense of the fingerprint's last ones.
fn widen(entry: u16, slot_bits: u32, by: u32) -> u16 {
    let slot = entry & low_bits(slot_bits);
    ((u32::from(entry) >> (slot_bits + by)) << (slot_bits + by)) as u16 | slot
}

/// How many of the new entries have a fingerprint that an old one has.
fn count_known((old, new): (&[u16], &[u16]), slot_bits: u32) -> u64 {
    let known = |entry: &&u16| old.iter().any(|other| other >> slot_bits == **entry >> slot_bits);
    new.iter().filter(known).count() as u64
}

/// The hashes of a run that have not been poured into a bucket yet.
struct Column<'a> {
    slot: u16,
    left: &'a [u32],
}

impl<'a> Column<'a> {
    fn new(slot: u8, hashes: &'a [u32]) -> Self {
        debug_assert!(hashes.is_sorted());
        Self { slot: u16::from(slot), left: hashes }
    }

    fn pour(&mut self, bucket: usize, filler: &mut Filler) {
        while let Some((hash, left)) = self.left.split_first() {
            let (of, rest) = split(*hash, filler.buckets);
            if of != bucket {
                break;
            }
            let fingerprint = rest >> (16 + filler.slot_bits);
            filler.open.push((fingerprint << filler.slot_bits) as u16 | self.slot);
            self.left = left;
        }
    }
}

/// Fills bucket after bucket.
struct Filler {
    slot_bits: u32,
    buckets: usize,
    open: Vec<u16>,
    starts: Vec<u32>,
    entries: Vec<u16>,
}

impl Filler {
    fn new(slot_bits: u32, buckets: usize, expected: usize) -> Self {
        let mut starts = Vec::with_capacity(buckets + 1);
        starts.push(0);
        Self { slot_bits, buckets, open: Vec::new(), starts, entries: Vec::with_capacity(expected) }
    }

    fn close_bucket(&mut self) {
        self.open.sort_unstable();
        self.open.dedup();
        self.entries.append(&mut self.open);
        self.starts.push(self.entries.len() as u32);
    }

    fn finish(self) -> Maplet {
        Maplet { slot_bits: self.slot_bits, starts: self.starts.into(), entries: self.entries.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hashes(max: usize) -> impl Strategy<Value = Hashes> {
        let hash = prop_oneof![any::<u32>(), 0u32..50, Just(u32::MAX)];
        proptest::collection::vec(hash, 0..max).prop_map(|mut hashes| {
            hashes.sort_unstable();
            Hashes(hashes)
        })
    }

    fn even(count: u64, seed: u64) -> Hashes {
        let mut all: Vec<u32> =
            (0..count).map(|i| Hashes::top(crate::hash::hash(&(i + (seed << 40)).to_le_bytes()))).collect();
        all.sort_unstable();
        Hashes(all)
    }

    fn slotted(columns: &[Hashes]) -> Vec<(u8, &Hashes)> {
        columns.iter().enumerate().map(|(slot, hashes)| (slot as u8, hashes)).collect()
    }

    proptest! {
        #[test]
        fn no_hash_is_missed_and_every_way_to_build_is_equal(
            columns in proptest::collection::vec(hashes(80), 1..40),
            expected in 0u64..5000,
        ) {
            let built = Maplet::build(1, expected, &slotted(&columns));
            let grown = columns.iter().enumerate().fold(Maplet::build(1, expected, &[]), |maplet, (slot, hashes)| maplet.extended(slot as u8, hashes).0);
            prop_assert_eq!(&built, &grown);
            for (slot, hash) in columns.iter().enumerate().flat_map(|(slot, hashes)| hashes.0.iter().map(move |hash| (slot, *hash))) {
                prop_assert!(built.slots(u64::from(hash) << 32) & 1 << slot != 0);
            }
        }

        #[test]
        fn remapped_is_built_of_what_stays(
            columns in proptest::collection::vec((hashes(80), proptest::option::of(0u8..64)), 1..16),
            expected in 0u64..5000,
        ) {
            let all: Vec<Hashes> = columns.iter().map(|(hashes, _)| hashes.clone()).collect();
            let new_slot: Vec<Option<u8>> = columns.iter().map(|(_, slot)| *slot).collect();
            let stay: Vec<(u8, &Hashes)> = columns.iter().filter_map(|(hashes, slot)| Some(((*slot)?, hashes))).collect();
            let slots = new_slot.iter().flatten().max().map_or(0, |slot| slot + 1);
            prop_assert_eq!(Maplet::build(16, expected, &slotted(&all)).remapped(&new_slot), Maplet::build(slots.max(16), expected, &stay));
        }
    }

    #[test]
    fn false_positives_are_as_rare_as_fingerprints_are_long() {
        for (slots, bits) in [(16u8, 4), (32, 5), (64, 6)] {
            let columns: Vec<Hashes> = (0..u64::from(slots)).map(|run| even(4_000, run)).collect();
            let maplet = Maplet::build(slots, 4_000 * u64::from(slots), &slotted(&columns));
            let asked = 200_000u64;
            let found: u64 = (0..asked)
                .map(|i| u64::from(maplet.slots(crate::hash::hash(&(i + (99 << 40)).to_le_bytes())).count_ones()))
                .sum();
            let expected = BUCKET_ENTRIES as f64 / f64::from(1 << (16 - bits));
            let rate = found as f64 / asked as f64;
            assert!(
                (rate / expected - 1.0).abs() < 0.05,
                "{slots} slots: {rate} runs too many per look-up; {expected} expected"
            );
        }
    }

    #[test]
    fn overwritten_entries_are_estimated() {
        let maplet = Maplet::build(16, 40_000, &[(0, &even(20_000, 1))]);
        let (_, fresh) = maplet.extended(1, &even(20_000, 2));
        let (_, again) = maplet.extended(1, &even(10_000, 1));
        assert_eq!(again, 10_000);
        assert!(fresh < 20_000 * 12 / 4096 * 3 / 2, "{fresh} of 20000 fresh hashes had an equal fingerprint");
    }

    #[test]
    fn memory_is_two_bytes_and_a_sixth_per_entry() {
        let maplet = Maplet::build(16, 240_000, &[(0, &even(240_000, 1))]);
        // Equal fingerprints of one run count once: 0.3 % of them.
        assert_eq!(maplet.memory_bytes(), 2 * maplet.entries.len() as u64 + 4 * 10_001);
        assert!(maplet.entries.len() > 238_000);
    }
}
