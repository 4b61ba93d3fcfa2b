//! Which file is accessed next.

use rand_distr::{Distribution as _, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use super::super::generate::unit;
use super::{PathModel, PathTree};

/// Accesses of one reader: it takes a directory by its popularity and a file in it at random, goes on to the next files of the
/// directory for as long as it stays, and then takes another.
#[derive(Debug, Clone)]
pub struct PathAccesses {
    tree: PathTree,
    zipf: Option<Zipf<f64>>,
    scatter: Scatter,
    locality: f64,
    /// The directory of the access before, and the place in it.
    at: Option<(u64, u64)>,
}

impl PathAccesses {
    /// The accesses of `model`, which is valid. The same `seed` makes the same directories popular.
    pub fn new(model: &PathModel, seed: u64) -> Self {
        let tree = PathTree::new(model);
        Self {
            zipf: Zipf::new(tree.directories() as f64, model.exponent).ok(),
            scatter: Scatter::new(tree.directories(), seed),
            locality: model.locality,
            at: None,
            tree,
        }
    }

    /// The next file.
    pub fn next(&mut self, random: &mut Xoshiro256PlusPlus) -> u64 {
        let stays = self.at.filter(|_| unit(random) < self.locality);
        let directory = stays.map_or_else(|| self.next_directory(random), |(directory, _)| directory);
        let (first, files) = self.tree.files_of(directory);
        let place = match stays {
            Some((_, place)) => (place + 1) % files,
            None => below(files, random),
        };
        self.at = Some((directory, place));
        first + place
    }

    fn next_directory(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        let rank = self.zipf.map_or(0, |zipf| zipf.sample(random) as u64 - 1);
        self.scatter.number(rank.min(self.tree.directories() - 1))
    }
}

/// A permutation of numbers, so that popular directories do not lie side by side.
#[derive(Debug, Clone)]
struct Scatter {
    count: u64,
    factor: u64,
    offset: u64,
}

impl Scatter {
    fn new(count: u64, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (start, offset) = (below(count, &mut random), below(count, &mut random));
        // A factor without a common divisor makes it a permutation. 1 is such a factor, so that the search ends.
        let factor = (start..count).chain(1..=count).find(|factor| divisor(*factor, count) == 1);
        Self { count, factor: factor.unwrap_or(1), offset }
    }

    fn number(&self, rank: u64) -> u64 {
        let product = u128::from(rank) * u128::from(self.factor) + u128::from(self.offset);
        (product % u128::from(self.count)) as u64
    }
}

/// The greatest common divisor.
fn divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { divisor(other, one % other) }
}

/// A number from 0 to below `count`.
fn below(count: u64, random: &mut Xoshiro256PlusPlus) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(count)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::DepthRange;
    use super::*;

    const ACCESSES: usize = 200_000;

    fn model(exponent: f64, locality: f64) -> PathModel {
        PathModel { files: 2_000, depth: DepthRange { min: 3, max: 3 }, exponent, locality, ..PathModel::default() }
    }

    fn draw(model: &PathModel, seed: u64) -> Vec<u64> {
        let (mut accesses, mut random) = (PathAccesses::new(model, seed), Xoshiro256PlusPlus::seed_from_u64(seed));
        (0..ACCESSES).map(|_| accesses.next(&mut random)).collect()
    }

    #[test]
    fn the_seed_decides_the_accesses() {
        assert_eq!(draw(&model(0.8, 0.9), 1), draw(&model(0.8, 0.9), 1));
        assert_ne!(draw(&model(0.8, 0.9), 1), draw(&model(0.8, 0.9), 2));
    }

    #[test]
    fn a_scatter_is_a_permutation() {
        for count in [1, 2, 6, 97, 100, 5_000, 65_536] {
            let scatter = Scatter::new(count, count);
            assert_eq!((0..count).map(|rank| scatter.number(rank)).collect::<BTreeSet<_>>().len() as u64, count);
        }
        let (one, other) = (Scatter::new(5_000, 1), Scatter::new(5_000, 2));
        assert!((0..10).any(|rank| one.number(rank) != other.number(rank)));
        assert!((0..10).any(|rank| one.number(rank).abs_diff(one.number(rank + 1)) > 1));
    }

    /// The share of accesses to the next file of the directory of the one before.
    fn stays(drawn: &[u64]) -> f64 {
        let next = |pair: &[u64]| {
            let first = pair[0] / 20 * 20;
            pair[1] == first + (pair[0] - first + 1) % 20
        };
        drawn.windows(2).filter(|pair| next(pair)).count() as f64 / (drawn.len() - 1) as f64
    }

    #[test]
    fn locality_is_the_share_that_stays() {
        for locality in [0.0, 0.5, 0.9] {
            // A fresh draw comes back to the next file by chance: 1 of 2,000 of the equally popular.
            let expected = locality + (1.0 - locality) / 2_000.0;
            let deviation = (expected * (1.0 - expected) / ACCESSES as f64).sqrt();
            let share = stays(&draw(&model(0.0, locality), 7));
            assert!((share - expected).abs() < 5.0 * deviation, "{locality}: {share}");
        }
    }

    #[test]
    fn popularity_falls_with_the_power_of_the_rank() {
        for exponent in [0.0, 0.8, 1.2] {
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            draw(&model(exponent, 0.0), 7).into_iter().for_each(|file| *counts.entry(file / 20).or_default() += 1);
            let scatter = Scatter::new(100, 7);
            let sum: f64 = (1..=100).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for rank in [1_u64, 2, 10, 100] {
                let expected = (rank as f64).powf(-exponent) / sum;
                let share = counts[&scatter.number(rank - 1)] as f64 / ACCESSES as f64;
                let deviation = (expected * (1.0 - expected) / ACCESSES as f64).sqrt();
                assert!((share - expected).abs() < 5.0 * deviation, "{exponent}, rank {rank}: {share} of {expected}");
            }
        }
    }

    #[test]
    fn one_file_is_accessed_always_and_a_last_directory_that_is_not_full_too() {
        let of = |files| PathModel { files, ..model(0.0, 0.9) };
        assert!(draw(&of(1), 1).iter().all(|file| *file == 0));
        let drawn: BTreeSet<u64> = draw(&of(23), 1).into_iter().collect();
        assert_eq!(drawn, (0..23).collect());
    }
}
