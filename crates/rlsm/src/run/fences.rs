//! Fence pointers: which block of a hash-ordered run may hold a hash. They stay in memory, 4.5 bytes per block.
//!
//! Blocks that are contiguous in the file form groups of up to 32. A group has its offset and the top 32 bits of its
//! first block's first hash. Each of its blocks has its distance from that, shifted to fit 16 bits, and its length.

use super::block::{BlockHandle, UNIT_BYTES};
use super::file::Extent;
use crate::codec::{ByteReader, put_varint};

const GROUP_BLOCKS: usize = 32;
/// The position of the shift in `offset_and_shift`; the offset in units is below it.
const SHIFT_AT: u32 = 58;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FenceGroup {
    first_hash: u32,
    first_block: u32,
    offset_and_shift: u64,
}

impl FenceGroup {
    fn offset(&self) -> u64 {
        (self.offset_and_shift & ((1 << SHIFT_AT) - 1)) * UNIT_BYTES
    }

    fn shift(&self) -> u32 {
        (self.offset_and_shift >> SHIFT_AT) as u32
    }
}

/// The fence pointers of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fences {
    groups: Box<[FenceGroup]>,
    /// Per block: (its first hash - the group's first hash) >> the group's shift.
    distances: Box<[u16]>,
    /// Per block: its length in units; 0 if it exceeds 16 bits. Such a block is the last of its group.
    units: Box<[u16]>,
}

impl Fences {
    pub fn blocks(&self) -> u32 {
        self.units.len() as u32
    }

    pub fn memory_bytes(&self) -> u64 {
        (size_of_val(&*self.groups) + size_of_val(&*self.distances) + size_of_val(&*self.units)) as u64
    }

    /// The place of a block.
    pub fn locate(&self, block: u32) -> Option<BlockHandle> {
        let group = self.groups.partition_point(|group| group.first_block <= block).checked_sub(1)?;
        let group = &self.groups[group];
        let (last, before) = self.units.get(group.first_block as usize..=block as usize)?.split_last()?;
        Some(BlockHandle { offset: group.offset() + bytes(before), len: bytes(&[*last]) })
    }

    /// The blocks that may hold `hash`, in order.
    pub fn candidates(&self, hash: u64) -> Candidates<'_> {
        let top = (hash >> 32) as u32;
        // Equal hashes may span blocks: begin with the last block that certainly begins below.
        let group = self.groups_below(top).saturating_sub(1);
        let mut candidates = Candidates { fences: self, top, group, block: 0, end: 0, offset: 0 };
        candidates.enter_group();
        let Some(entered) = self.groups.get(group) else { return candidates };
        let distance = top.saturating_sub(entered.first_hash) >> entered.shift();
        let distances = &self.distances[candidates.block..candidates.end];
        let below: u16 = distances.iter().map(|other| u16::from(u32::from(*other) < distance)).sum();
        let from = candidates.block;
        candidates.block += usize::from(below.saturating_sub(1));
        candidates.offset += bytes(&self.units[from..candidates.block]);
        candidates
    }

    /// The number of groups that begin below a hash. Hashes are evenly spread, so the search begins near the expected
    /// group.
    fn groups_below(&self, top: u32) -> usize {
        let len = self.groups.len();
        let is_below = |group: usize| self.groups[group].first_hash < top;
        let guess = ((u64::from(top) * len as u64) >> 32) as usize;
        let (mut low, mut high, mut step) = (guess, guess, 1);
        while high < len && is_below(high) {
            (low, high, step) = (high + 1, (high + step).min(len), step * 2);
        }
        step = 1;
        while low > 0 && !is_below(low - 1) {
            (high, low, step) = (low - 1, low.saturating_sub(step), step * 2);
        }
        low + self.groups[low..high.max(low)].partition_point(|group| group.first_hash < top)
    }

    /// The lowest top 32 bits that a block's first hash can have, and the lowest above those.
    pub fn first_hash_bounds(&self, block: u32) -> Option<(u64, u64)> {
        let group = self.groups.partition_point(|group| group.first_block <= block).checked_sub(1)?;
        let (group, distance) = (&self.groups[group], self.distances.get(block as usize)?);
        let least = u64::from(group.first_hash) + (u64::from(*distance) << group.shift());
        Some((least, least + (1 << group.shift())))
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.groups.len() as u64);
        put_varint(out, self.units.len() as u64);
        for (index, group) in self.groups.iter().enumerate() {
            out.extend_from_slice(&group.first_hash.to_le_bytes());
            out.extend_from_slice(&group.offset_and_shift.to_le_bytes());
            out.push((self.group_end(index) - group.first_block as usize) as u8);
        }
        self.distances.iter().chain(&self.units).for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    }

    /// `None` if the bytes are not fence pointers of blocks within `blocks`.
    pub fn decode(input: &mut ByteReader<'_>, blocks: Extent) -> Option<Self> {
        let (group_count, block_count) = (input.count()?, input.count()?);
        let mut groups = Vec::with_capacity(group_count);
        let mut first_block = 0u32;
        for _ in 0..group_count {
            let (first_hash, offset_and_shift, count) = (input.u32()?, input.u64()?, input.u8()?);
            groups.push(FenceGroup { first_hash, first_block, offset_and_shift });
            if count == 0 {
                return None;
            }
            first_block = first_block.checked_add(u32::from(count))?;
        }
        let mut column = || (0..block_count).map(|_| input.u16()).collect::<Option<Box<[u16]>>>();
        let decoded = Self { groups: groups.into(), distances: column()?, units: column()? };
        let whole = first_block as usize == block_count
            && decoded.groups.is_sorted_by_key(|group| group.first_hash)
            && (0..group_count).all(|group| decoded.group_lies_in(group, blocks));
        whole.then_some(decoded)
    }

    fn group_end(&self, group: usize) -> usize {
        self.groups.get(group + 1).map_or(self.units.len(), |next| next.first_block as usize)
    }

    fn group_lies_in(&self, index: usize, blocks: Extent) -> bool {
        let group = &self.groups[index];
        let within = group.first_block as usize..self.group_end(index);
        let (distances, units) = (&self.distances[within.clone()], &self.units[within]);
        let end = group.offset() + bytes(units);
        group.shift() < 32
            && group.offset() >= blocks.offset
            && blocks.end().is_some_and(|blocks_end| end <= blocks_end)
            && !units.split_last().is_some_and(|(_, before)| before.contains(&0))
            && distances.is_sorted()
    }
}

/// The length of blocks of these many units.
fn bytes(units: &[u16]) -> u64 {
    // A group has too few blocks for the sum to exceed 32 bits.
    u64::from(units.iter().map(|units| u32::from(*units)).sum::<u32>()) * UNIT_BYTES
}

/// The blocks that may hold a hash.
pub(crate) struct Candidates<'a> {
    fences: &'a Fences,
    top: u32,
    group: usize,
    block: usize,
    /// The first block after the group.
    end: usize,
    offset: u64,
}

impl Candidates<'_> {
    fn enter_group(&mut self) {
        if let Some(group) = self.fences.groups.get(self.group) {
            self.block = group.first_block as usize;
            self.end = self.fences.group_end(self.group);
            self.offset = group.offset();
        }
    }
}

impl Iterator for Candidates<'_> {
    type Item = BlockHandle;

    #[inline]
    fn next(&mut self) -> Option<BlockHandle> {
        if self.block == self.end {
            self.group += 1;
            self.enter_group();
        }
        let group = self.fences.groups.get(self.group)?;
        let distance = *self.fences.distances.get(self.block)?;
        let least = u64::from(group.first_hash) + (u64::from(distance) << group.shift());
        if least > u64::from(self.top) {
            // A run may begin above the hash: then no block can hold it.
            self.group = self.fences.groups.len();
            return None;
        }
        let handle = BlockHandle { offset: self.offset, len: bytes(&[self.fences.units[self.block]]) };
        self.offset += handle.len;
        self.block += 1;
        Some(handle)
    }
}

/// Collects the fence pointers of a run's blocks, in order.
#[derive(Default)]
pub(crate) struct FencesBuilder {
    groups: Vec<FenceGroup>,
    distances: Vec<u16>,
    units: Vec<u16>,
    /// The open group: first hash (top 32 bits) and length of each block.
    open: Vec<(u32, u64)>,
    open_offset: u64,
    open_end: u64,
}

impl FencesBuilder {
    pub fn push(&mut self, first_hash: u32, handle: BlockHandle) {
        let oversized = self.open.last().is_some_and(|(_, len)| units(*len) == 0);
        if self.open.len() == GROUP_BLOCKS || handle.offset != self.open_end || oversized {
            self.close_group();
        }
        if self.open.is_empty() {
            self.open_offset = handle.offset;
        }
        self.open_end = handle.offset + handle.len;
        self.open.push((first_hash, handle.len));
    }

    fn close_group(&mut self) {
        let (Some((first_hash, _)), Some((last_hash, _))) = (self.open.first().copied(), self.open.last()) else {
            return;
        };
        let shift = (32 - (last_hash - first_hash).leading_zeros()).saturating_sub(16);
        let offset_and_shift = (u64::from(shift) << SHIFT_AT) | (self.open_offset / UNIT_BYTES);
        self.groups.push(FenceGroup { first_hash, first_block: self.units.len() as u32, offset_and_shift });
        for (hash, len) in self.open.drain(..) {
            self.distances.push(((hash - first_hash) >> shift) as u16);
            self.units.push(units(len));
        }
    }

    pub fn finish(mut self) -> Fences {
        self.close_group();
        Fences { groups: self.groups.into(), distances: self.distances.into(), units: self.units.into() }
    }
}

fn units(len: u64) -> u16 {
    u16::try_from(len / UNIT_BYTES).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Blocks with their first hashes (ascending, often equal), lengths and gaps before them.
    fn blocks() -> impl Strategy<Value = Vec<(u32, BlockHandle)>> {
        let spread = prop_oneof![Just(0u32), 1u32..4, 1u32..(1 << 24)];
        let len = prop_oneof![9 => 1u64..300, 1 => 65_530u64..65_540];
        proptest::collection::vec((spread, len, prop_oneof![9 => Just(0u64), 1 => 1u64..99]), 0..120).prop_map(
            |blocks| {
                let (mut hash, mut offset) = (7u32, 16u64);
                let place = |(more, len, gap): (u32, u64, u64)| {
                    hash = hash.saturating_add(more);
                    let handle = BlockHandle { offset: offset + gap * UNIT_BYTES, len: len * UNIT_BYTES };
                    offset = handle.offset + handle.len;
                    (hash, handle)
                };
                blocks.into_iter().map(place).collect()
            },
        )
    }

    fn build(blocks: &[(u32, BlockHandle)]) -> Fences {
        let mut builder = FencesBuilder::default();
        blocks.iter().for_each(|(hash, handle)| builder.push(*hash, *handle));
        builder.finish()
    }

    fn as_indexed(handle: BlockHandle) -> BlockHandle {
        BlockHandle { len: u64::from(units(handle.len)) * UNIT_BYTES, ..handle }
    }

    proptest! {
        #[test]
        fn candidates_include_every_block_that_may_hold_a_hash(blocks in blocks(), hashes in proptest::collection::vec(any::<u32>(), 20)) {
            let fences = build(&blocks);
            for top in hashes.into_iter().chain(blocks.iter().map(|block| block.0)).chain([0, u32::MAX]) {
                let found: Vec<BlockHandle> = fences.candidates(u64::from(top) << 32).collect();
                for (index, (first, handle)) in blocks.iter().enumerate() {
                    let last = blocks.get(index + 1).map_or(u32::MAX, |next| next.0);
                    if (*first..=last).contains(&top) {
                        prop_assert!(found.contains(&as_indexed(*handle)), "hash {top} in block {index}");
                    }
                }
                prop_assert!(found.is_sorted_by_key(|handle| handle.offset));
            }
        }

        #[test]
        fn blocks_are_located_and_fences_survive_encoding(blocks in blocks()) {
            let fences = build(&blocks);
            for (index, (first, handle)) in blocks.iter().enumerate() {
                prop_assert_eq!(fences.locate(index as u32), Some(as_indexed(*handle)));
                let (least, above) = fences.first_hash_bounds(index as u32).unwrap();
                prop_assert!((least..above).contains(&u64::from(*first)));
            }
            prop_assert_eq!(fences.locate(blocks.len() as u32), None);
            let mut bytes = Vec::new();
            fences.encode(&mut bytes);
            let all = Extent { offset: 16, len: blocks.last().map_or(0, |(_, last)| last.offset + last.len) };
            prop_assert_eq!(Fences::decode(&mut ByteReader::new(&bytes), all), Some(fences));
        }
    }

    #[test]
    fn even_blocks_have_one_candidate_and_take_4_5_bytes() {
        let handle = |index: u64| BlockHandle { offset: 16 + index * 4160, len: 4160 };
        let blocks: Vec<_> = (0..32_000u64).map(|index| ((index << 17) as u32, handle(index))).collect();
        let fences = build(&blocks);
        assert_eq!(fences.memory_bytes(), 32_000 * 9 / 2);
        let one =
            (0..100_000u64).filter(|i| fences.candidates(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).count() == 1).count();
        assert!(one > 99_000, "{one} of 100000 look-ups had one candidate");
    }
}
