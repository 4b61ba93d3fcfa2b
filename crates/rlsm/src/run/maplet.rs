//! The maplet: a filter that maps a hash to the runs that may have it, as fingerprints in memory, about 2.2 bytes per
//! entry.
//!
//! The hash's top 32 bits are spread evenly over the buckets; the rest of them is the fingerprint. A bucket is a short
//! sorted list of fingerprint << slot bits | slot. Maplets are immutable: a change makes a new one.

use super::hashes::HashColumn;

/// The most runs that a maplet can distinguish: the result has one bit each.
pub(crate) const SLOTS_MAX: u8 = 64;
const BUCKET_ENTRIES: u64 = 24;
/// Limits the memory that a wrong expectation can take: 256 MiB of buckets, for 1.6 billion entries.
const BUCKETS_MAX: u64 = 1 << 26;
const SLOT_BITS_MIN: u32 = 4;

/// Maps a hash to the runs that may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Maplet {
    slot_bits: u32,
    /// The offset of each bucket in `entries`, and the end of the last.
    starts: Box<[u32]>,
    /// Ascending within a bucket, without duplicates.
    entries: Box<[u16]>,
}

impl Maplet {
    /// Builds the maplet of `runs`, each with its slot, with room for slots below `slots`. It is sized for about
    /// `expected_entries`.
    pub fn build(slots: u8, expected_entries: u64, runs: &[(u8, &HashColumn)]) -> Self {
        let buckets = expected_entries.div_ceil(BUCKET_ENTRIES).clamp(1, BUCKETS_MAX);
        let slots = runs.iter().map(|(slot, _)| slot + 1).max().unwrap_or(0).max(slots);
        let mut columns: Vec<RunHashes<'_>> =
            runs.iter().map(|(slot, hashes)| RunHashes::new(*slot, &hashes.0)).collect();
        let count = runs.iter().map(|(_, hashes)| hashes.0.len()).sum();
        let mut builder = MapletBuilder::new(slot_bits(slots), buckets as usize, count);
        for bucket in 0..builder.buckets {
            for column in &mut columns {
                column.push_bucket(bucket, &mut builder);
            }
            builder.close_bucket();
        }
        builder.finish()
    }

    /// This maplet with one more run. Also returns how many of its hashes have a fingerprint that is here already: an
    /// estimate of the entries that the run supersedes.
    pub fn extended(&self, slot: u8, hashes: &HashColumn) -> (Self, u64) {
        let bits = slot_bits(slot + 1).max(self.slot_bits);
        let widened = bits - self.slot_bits;
        let mut builder = MapletBuilder::new(bits, self.buckets(), self.entries.len() + hashes.0.len());
        let (mut column, mut matching) = (RunHashes::new(slot, &hashes.0), 0);
        for bucket in 0..self.buckets() {
            let old = self.bucket(bucket);
            builder.bucket.extend(old.iter().map(|entry| widen(*entry, self.slot_bits, widened)));
            let before = builder.bucket.len();
            column.push_bucket(bucket, &mut builder);
            matching += count_matching(builder.bucket.split_at(before), bits);
            builder.close_bucket();
        }
        (builder.finish(), matching)
    }

    /// This maplet with the run in slot `i` moved to slot `new_slot[i]`, or dropped; slots past its end are dropped.
    /// Several may get the same slot.
    pub fn remapped(&self, new_slot: &[Option<u8>]) -> Self {
        let slots = new_slot.iter().flatten().map(|slot| slot + 1).max().unwrap_or(0);
        let bits = slot_bits(slots).max(self.slot_bits);
        let widened = bits - self.slot_bits;
        let mut builder = MapletBuilder::new(bits, self.buckets(), self.entries.len());
        for bucket in 0..self.buckets() {
            for entry in self.bucket(bucket) {
                let slot = usize::from(*entry & low_bits(self.slot_bits));
                if let Some(slot) = new_slot.get(slot).copied().flatten() {
                    let entry = widen(*entry, self.slot_bits, widened) & !low_bits(bits);
                    builder.bucket.push(entry | u16::from(slot));
                }
            }
            builder.close_bucket();
        }
        builder.finish()
    }

    /// The runs that may have `hash`: bit `i` is set for slot `i`.
    #[inline]
    pub fn slots(&self, hash: u64) -> u64 {
        let (bucket, rest) = split(HashColumn::top(hash), self.buckets());
        let fingerprint = (rest >> 16) as u16 >> self.slot_bits;
        let slot_mask = low_bits(self.slot_bits);
        // Branch-free: the position of a fingerprint in its bucket is unpredictable.
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

/// The number of bits to distinguish this many slots.
fn slot_bits(slots: u8) -> u32 {
    debug_assert!(slots <= SLOTS_MAX);
    u32::from(slots).next_power_of_two().trailing_zeros().clamp(SLOT_BITS_MIN, 6)
}

fn low_bits(bits: u32) -> u16 {
    (1 << bits) - 1
}

/// The bucket of a hash, and the rest of the hash, spread evenly over 32 bits. Both together ascend with the hash.
fn split(top: u32, buckets: usize) -> (usize, u32) {
    let product = u64::from(top) * buckets as u64;
    ((product >> 32) as usize, product as u32)
}

/// Gives the slot more bits, at the expense of the fingerprint's last ones.
fn widen(entry: u16, slot_bits: u32, by: u32) -> u16 {
    let slot = entry & low_bits(slot_bits);
    ((u32::from(entry) >> (slot_bits + by)) << (slot_bits + by)) as u16 | slot
}

/// The number of new entries whose fingerprint an old one has.
fn count_matching((old, new): (&[u16], &[u16]), slot_bits: u32) -> u64 {
    let matching = |entry: &&u16| old.iter().any(|other| other >> slot_bits == **entry >> slot_bits);
    new.iter().filter(matching).count() as u64
}

/// The hashes of a run that are not in a bucket yet.
struct RunHashes<'a> {
    slot: u16,
    left: &'a [u32],
}

impl<'a> RunHashes<'a> {
    fn new(slot: u8, hashes: &'a [u32]) -> Self {
        debug_assert!(hashes.is_sorted());
        Self { slot: u16::from(slot), left: hashes }
    }

    fn push_bucket(&mut self, bucket: usize, builder: &mut MapletBuilder) {
        while let Some((hash, left)) = self.left.split_first() {
            let (of, rest) = split(*hash, builder.buckets);
            if of != bucket {
                break;
            }
            let fingerprint = rest >> (16 + builder.slot_bits);
            builder.bucket.push((fingerprint << builder.slot_bits) as u16 | self.slot);
            self.left = left;
        }
    }
}

/// Builds a maplet bucket by bucket.
struct MapletBuilder {
    slot_bits: u32,
    buckets: usize,
    bucket: Vec<u16>,
    starts: Vec<u32>,
    entries: Vec<u16>,
}

impl MapletBuilder {
    fn new(slot_bits: u32, buckets: usize, expected: usize) -> Self {
        let mut starts = Vec::with_capacity(buckets + 1);
        starts.push(0);
        Self { slot_bits, buckets, bucket: Vec::new(), starts, entries: Vec::with_capacity(expected) }
    }

    fn close_bucket(&mut self) {
        self.bucket.sort_unstable();
        self.bucket.dedup();
        self.entries.append(&mut self.bucket);
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

    fn hashes(max: usize) -> impl Strategy<Value = HashColumn> {
        let hash = prop_oneof![any::<u32>(), 0u32..50, Just(u32::MAX)];
        proptest::collection::vec(hash, 0..max).prop_map(|mut hashes| {
            hashes.sort_unstable();
            HashColumn(hashes)
        })
    }

    fn even(count: u64, seed: u64) -> HashColumn {
        let mut all: Vec<u32> =
            (0..count).map(|i| HashColumn::top(crate::hash::hash(&(i + (seed << 40)).to_le_bytes()))).collect();
        all.sort_unstable();
        HashColumn(all)
    }

    fn slotted(columns: &[HashColumn]) -> Vec<(u8, &HashColumn)> {
        columns.iter().enumerate().map(|(slot, hashes)| (slot as u8, hashes)).collect()
    }

    proptest! {
        #[test]
        fn no_hash_is_missed_and_extending_equals_building(
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
        fn remapping_equals_building_from_the_remaining_runs(
            columns in proptest::collection::vec((hashes(80), proptest::option::of(0u8..64)), 1..16),
            expected in 0u64..5000,
        ) {
            let all: Vec<HashColumn> = columns.iter().map(|(hashes, _)| hashes.clone()).collect();
            let new_slot: Vec<Option<u8>> = columns.iter().map(|(_, slot)| *slot).collect();
            let stay: Vec<(u8, &HashColumn)> = columns.iter().filter_map(|(hashes, slot)| Some(((*slot)?, hashes))).collect();
            let slots = new_slot.iter().flatten().max().map_or(0, |slot| slot + 1);
            prop_assert_eq!(Maplet::build(16, expected, &slotted(&all)).remapped(&new_slot), Maplet::build(slots.max(16), expected, &stay));
        }
    }

    #[test]
    fn false_positives_are_as_rare_as_fingerprints_are_long() {
        for (slots, bits) in [(16u8, 4), (32, 5), (64, 6)] {
            let columns: Vec<HashColumn> = (0..u64::from(slots)).map(|run| even(4_000, run)).collect();
            let maplet = Maplet::build(slots, 4_000 * u64::from(slots), &slotted(&columns));
            let look_ups = 200_000u64;
            let found: u64 = (0..look_ups)
                .map(|i| u64::from(maplet.slots(crate::hash::hash(&(i + (99 << 40)).to_le_bytes())).count_ones()))
                .sum();
            let expected = BUCKET_ENTRIES as f64 / f64::from(1 << (16 - bits));
            let rate = found as f64 / look_ups as f64;
            assert!(
                (rate / expected - 1.0).abs() < 0.05,
                "{slots} slots: {rate} runs too many per look-up; {expected} expected"
            );
        }
    }

    #[test]
    fn superseded_entries_are_estimated() {
        let maplet = Maplet::build(16, 40_000, &[(0, &even(20_000, 1))]);
        let (_, fresh) = maplet.extended(1, &even(20_000, 2));
        let (_, again) = maplet.extended(1, &even(10_000, 1));
        assert_eq!(again, 10_000);
        assert!(fresh < 20_000 * 12 / 4096 * 3 / 2, "{fresh} of 20000 fresh hashes had an equal fingerprint");
    }

    #[test]
    fn memory_is_two_bytes_and_a_sixth_per_entry() {
        let maplet = Maplet::build(16, 240_000, &[(0, &even(240_000, 1))]);
        // Equal fingerprints of a run count once: 0.3 % of them.
        assert_eq!(maplet.memory_bytes(), 2 * maplet.entries.len() as u64 + 4 * 10_001);
        assert!(maplet.entries.len() > 238_000);
    }
}
