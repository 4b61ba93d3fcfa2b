//! The order of the blocks in each round of an interleaved plan.
//!
//! The orders come from a Williams design (Williams 1949): a Latin square, or a pair of mirrored ones for an odd number of
//! treatments, in which every treatment is in every place equally often and directly after every other one equally often.
//! Which treatment stands for which phase is random, drawn again for each square, and the rows of all squares are
//! shuffled, so that nothing periodic on the host can keep step with the plan.

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The treatments, numbered from 0, in the order of their blocks in each of `rounds` rounds, and of `further` ones that may
/// follow. Where either is no multiple of [`InterleavedRounds::balanced_rounds`](manometer_measure::InterleavedRounds::balanced_rounds), its last square is incomplete.
pub(crate) fn block_orders(treatments: usize, rounds: usize, further: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut orders = balanced_orders(treatments, rounds, &mut random);
    // The rounds of one square hold each other's drift in balance: spread over the run, they are independent of their
    // neighbours, as the analysis takes them to be.
    orders.shuffle(&mut random);
    orders.extend(balanced_orders(treatments, further, &mut random));
    orders
}

/// The rows of as many squares as make `rounds`.
fn balanced_orders(treatments: usize, rounds: usize, random: &mut Xoshiro256PlusPlus) -> Vec<Vec<usize>> {
    let square = williams_square(treatments);
    let mut orders = Vec::with_capacity(rounds);
    while orders.len() < rounds && !square.is_empty() {
        let mut labels: Vec<usize> = (0..treatments).collect();
        labels.shuffle(random);
        let mut rows = square.clone();
        rows.shuffle(random);
        orders.extend(rows.iter().map(|row| row.iter().map(|treatment| labels[*treatment]).collect()));
    }
    orders.truncate(rounds);
    orders
}

/// The rows of the design: the zigzag 0, 1, n − 1, 2, n − 2 … and its shifts, for an odd number also their mirror images.
fn williams_square(treatments: usize) -> Vec<Vec<usize>> {
    let zigzag = |place: usize| if place.is_multiple_of(2) { treatments - place / 2 } else { place.div_ceil(2) };
    let shifted = |shift: usize| (0..treatments).map(|place| (zigzag(place) + shift) % treatments).collect();
    let mut rows: Vec<Vec<usize>> = (0..treatments).map(shifted).collect();
    if !treatments.is_multiple_of(2) {
        rows.extend(rows.clone().into_iter().map(|row| row.into_iter().rev().collect()));
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The number of rounds of a whole square, or of a pair of mirrored ones.
    fn balanced_rounds(treatments: usize) -> usize {
        if treatments.is_multiple_of(2) { treatments } else { 2 * treatments }
    }

    fn counts<T: Ord>(of: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
        let mut counts = BTreeMap::new();
        of.for_each(|one| *counts.entry(one).or_default() += 1);
        counts
    }

    #[test]
    fn every_treatment_is_in_every_place_and_after_every_other_equally_often() {
        for treatments in 2..12 {
            let rounds = balanced_rounds(treatments);
            let orders = block_orders(treatments, rounds, 0, 7);
            let places = counts(orders.iter().flat_map(|order| order.iter().enumerate()));
            assert_eq!(places.len(), treatments * treatments, "{treatments}");
            assert!(places.values().all(|count| *count == rounds / treatments), "{treatments}: {places:?}");
            let pairs = counts(orders.iter().flat_map(|order| order.windows(2).map(|pair| (pair[0], pair[1]))));
            assert_eq!(pairs.len(), treatments * (treatments - 1), "{treatments}");
            assert!(pairs.values().all(|count| *count == rounds / treatments), "{treatments}: {pairs:?}");
        }
    }

    #[test]
    fn every_round_has_every_treatment_once_however_many_there_are() {
        for (treatments, rounds) in [(1, 3), (2, 5), (3, 20), (5, 7), (8, 3)] {
            let orders = block_orders(treatments, rounds, 4, 1);
            assert_eq!(orders.len(), rounds + 4);
            for mut order in orders {
                order.sort_unstable();
                assert!(order.into_iter().eq(0..treatments));
            }
        }
        assert!(block_orders(0, 5, 0, 1).is_empty());
    }

    #[test]
    fn the_seed_decides_and_longer_plans_begin_like_shorter_ones() {
        let orders = |further, seed| block_orders(4, 20, further, seed);
        assert_eq!(orders(0, 3), orders(0, 3));
        assert_ne!(orders(0, 3), orders(0, 4));
        assert_eq!(orders(8, 3)[..20], orders(0, 3));
    }
}
