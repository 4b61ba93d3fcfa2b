//! The capacities of a curve's points.

/// Points per doubling of the default capacities.
const STEPS: u64 = 32;

/// Capacities in ascending order, with fast look-up.
#[derive(Debug, Clone)]
pub(crate) struct CapacityGrid {
    values: Vec<u64>,
    /// Whether the user gave the capacities.
    is_explicit: bool,
    /// For each bit length, the index of the first value of at least that length.
    starts: [u32; 66],
}

impl CapacityGrid {
    /// The given capacities or, if none, all in steps of 1/32.
    pub(crate) fn new(explicit: &[u64]) -> Self {
        match explicit.is_empty() {
            true => Self { is_explicit: false, ..Self::with_steps(STEPS) },
            false => Self::of(explicit.to_vec()),
        }
    }

    /// All in steps of one of so many, a power of two.
    pub(crate) fn with_steps(steps: u64) -> Self {
        let octaves = 0..63 - u64::from(steps.ilog2());
        let above = octaves.flat_map(|octave| (steps + 1..=2 * steps).map(move |step| step << octave));
        Self::of((1..=steps).chain(above).collect())
    }

    fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        values.dedup();
        let start = |bits: u32| values.partition_point(|value| bits_of(*value) < bits) as u32;
        let starts = std::array::from_fn(|bits| start(bits as u32));
        Self { values, is_explicit: true, starts }
    }

    pub(crate) fn values(&self) -> &[u64] {
        &self.values
    }

    /// The number of capacities to show: all given ones, or those up to the first that holds all keys.
    pub(crate) fn shown_len(&self, footprint: f64) -> usize {
        let enough = self.values.partition_point(|value| (*value as f64) < footprint) + 1;
        if self.is_explicit { self.values.len() } else { enough.min(self.values.len()) }
    }

    /// Four default capacities per doubling, and the first that holds all keys; or all given ones.
    pub(crate) fn coarse(&self, footprint: f64) -> impl Iterator<Item = u64> + '_ {
        let worth = &self.values[..self.shown_len(footprint)];
        let is_some = move |value: &u64| {
            let step = 1 << bits_of(value.saturating_sub(1)).saturating_sub(3);
            self.is_explicit || value.is_multiple_of(step) || worth.last() == Some(value)
        };
        worth.iter().copied().filter(is_some)
    }

    /// The index of the first capacity of at least `depth`; the number of capacities if there is none.
    #[inline]
    pub(crate) fn index_at_least(&self, depth: u64) -> usize {
        let bits = bits_of(depth) as usize;
        let (from, to) = (self.starts[bits] as usize, self.starts[bits + 1] as usize);
        from + self.values[from..to].partition_point(|value| *value < depth)
    }
}

fn bits_of(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_that_is_large_enough_is_found(
            explicit in prop::collection::vec(1_u64..5000, 0..20), depth in prop_oneof![0_u64..6000, any::<u64>()],
        ) {
            let grid = CapacityGrid::new(&explicit);
            let plain = grid.values().iter().position(|value| *value >= depth).unwrap_or(grid.values().len());
            prop_assert_eq!(grid.index_at_least(depth), plain);
        }
    }

    #[test]
    fn some_are_four_to_a_doubling_and_the_last() {
        let some: Vec<u64> = CapacityGrid::new(&[]).coarse(41.5).collect();
        assert_eq!(some, [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 42]);
        assert_eq!(CapacityGrid::new(&[33, 7]).coarse(1.0).collect::<Vec<u64>>(), [7, 33]);
    }

    #[test]
    fn steps_are_a_thirty_second_at_most() {
        let grid = CapacityGrid::new(&[]);
        let values = grid.values();
        assert!(values.windows(2).all(|pair| pair[1] > pair[0] && (pair[1] - pair[0]) * STEPS <= pair[0].max(STEPS)));
        assert!(values.last().is_some_and(|last| *last >= 1 << 63));
    }
}
