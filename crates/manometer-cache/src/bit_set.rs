//! A hierarchical bit set that finds its largest element at once: upper levels mark the non-empty words below.

const BITS: usize = 64;

/// A set of numbers below a bound.
#[derive(Debug)]
pub(crate) struct HierarchicalBitSet {
    /// The levels, from the elements up to a single word.
    levels: Vec<Vec<u64>>,
}

impl HierarchicalBitSet {
    /// An empty set of numbers below `bound`.
    pub(crate) fn new(bound: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = bound.div_ceil(BITS).max(1);
        levels.push(vec![0; words]);
        while words > 1 {
            words = words.div_ceil(BITS);
            levels.push(vec![0; words]);
        }
        Self { levels }
    }

    #[inline]
    pub(crate) fn insert(&mut self, value: u32) {
        let mut at = value as usize;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            let was_empty = *word == 0;
            *word |= 1 << (at % BITS);
            if !was_empty {
                break;
            }
            at /= BITS;
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, value: u32) {
        let mut at = value as usize;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            *word &= !(1 << (at % BITS));
            if *word != 0 {
                break;
            }
            at /= BITS;
        }
    }

    #[inline]
    pub(crate) fn max(&self) -> Option<u32> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            at = at * BITS + level[at].checked_ilog2()? as usize;
        }
        Some(at as u32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_latest_is_the_greatest(steps in prop::collection::vec((any::<bool>(), 0_u32..20_000), 0..400)) {
            let (mut next_uses, mut plain) = (HierarchicalBitSet::new(20_000), BTreeSet::new());
            for (insert, value) in steps {
                if insert {
                    next_uses.insert(value);
                    plain.insert(value);
                } else {
                    next_uses.remove(value);
                    plain.remove(&value);
                }
                prop_assert_eq!(next_uses.max(), plain.last().copied());
            }
        }
    }
}
