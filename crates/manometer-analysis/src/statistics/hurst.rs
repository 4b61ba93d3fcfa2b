//! The Hurst exponent: how far bursts reach. 0.5 for arrivals that do not remember, towards 1 for bursts of all lengths.
//!
//! By the rescaled range (Hurst 1951; Mandelbrot & Wallis 1969): over blocks of n samples, the range of the sums of
//! what each differs from the block's mean, divided by the block's standard deviation, grows as n to the power of the
//! exponent.

use super::moments::mean;

/// The shortest block: the range of fewer samples says more of their number than of their memory.
const SHORTEST_BLOCK: usize = 8;
/// A line wants at least so many block lengths.
const FEWEST_LENGTHS: usize = 4;

/// The exponent of `counts`, a number for each window of time; nothing of fewer than 128, or of counts that are all
/// alike.
pub fn hurst(counts: &[u64]) -> Option<f64> {
    let points: Vec<(f64, f64)> = lengths(counts.len())
        .filter_map(|length| Some(((length as f64).ln(), mean_rescaled_range(counts, length)?.ln())))
        .collect();
    if points.len() < FEWEST_LENGTHS {
        return None;
    }
    Some(slope(&points))
}

/// Block lengths, each half as long again as the one before, of which a series of `samples` has two at least.
fn lengths(samples: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(SHORTEST_BLOCK), |length| Some(length * 3 / 2))
        .take_while(move |length| length * 2 <= samples)
}

/// The mean over all blocks whose counts are not all alike; nothing where there is none.
fn mean_rescaled_range(counts: &[u64], length: usize) -> Option<f64> {
    let ranges: Vec<f64> = counts.chunks_exact(length).filter_map(rescaled_range).collect();
    mean(&ranges)
}

fn rescaled_range(block: &[u64]) -> Option<f64> {
    let count = block.len() as f64;
    let mean = block.iter().sum::<u64>() as f64 / count;
    let (mut sum, mut lowest, mut highest, mut squares) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
    for value in block {
        let off = *value as f64 - mean;
        sum += off;
        squares += off * off;
        lowest = lowest.min(sum);
        highest = highest.max(sum);
    }
    (squares > 0.0).then(|| (highest - lowest) / (squares / count).sqrt())
}

/// The slope of the least-squares line through `points`.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let products = points.iter().map(|point| ((point.0 - x) * (point.1 - y), (point.0 - x).powi(2)));
    let (across, along) = products.fold((0.0, 0.0), |(across, along), (xy, xx)| (across + xy, along + xx));
    across / along
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn random(samples: usize) -> Vec<u64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        (0..samples).map(|_| random.random_range(0..1000)).collect()
    }

    #[test]
    fn what_does_not_remember_is_near_a_half() {
        let exponent = hurst(&random(1 << 16)).unwrap();
        // Short blocks make the rescaled range of independent samples grow a little faster than the square root.
        assert!((0.5..0.6).contains(&exponent), "{exponent}");
    }

    #[test]
    fn what_drifts_for_ever_is_near_one() {
        let mut level = 0;
        let walk: Vec<u64> = random(1 << 14)
            .into_iter()
            .map(|step| {
                level += step;
                level
            })
            .collect();
        let exponent = hurst(&walk).unwrap();
        assert!((0.9..1.05).contains(&exponent), "{exponent}");
    }

    #[test]
    fn too_little_or_no_change_has_no_exponent() {
        assert_eq!(hurst(&random(20)), None);
        assert_eq!(hurst(&vec![3; 10_000]), None);
        assert_eq!(hurst(&[]), None);
    }
}
