//! Fits of Zipf's law to a trace: to the popularity of all keys, and to the miss-ratio curve.

use manometer_analysis::real_vs_synthetic::ZipfFits;
use manometer_cache::CacheError;
use manometer_trace::character::zipf;
use rayon::prelude::*;

use super::exact_cache::simulate;
use super::load::LoadKind;
use super::recorded_trace::RecordedTrace;
use super::synthetic::{SyntheticKeys, draw};

/// The largest exponent. Steeper laws request hardly any key but the first.
const EXPONENT_MAX: f64 = 3.0;
/// Halvings of the range of exponents: the last is 0.0001 wide.
const HALVINGS: u32 = 15;
/// The steps by which the exponent of the curve is searched, each from the best of the one before.
const STEPS: [f64; 3] = [0.1, 0.02, 0.005];
/// The steps around the best of the step before, in each direction.
const STEPS_AROUND: i32 = 4;
/// The largest exponent that is tried for the curve.
const CURVE_EXPONENT_MAX: f64 = 2.0;

/// Fits the law to the popularity of all keys of `recorded` and to its miss ratios `curve` on LRU caches of the sizes
/// `caches`.
///
/// # Errors
/// The trace has too many keys for a simulation.
pub(super) fn fit(
    recorded: &RecordedTrace,
    caches: &[f64],
    curve: &[Option<f64>],
    seed: u64,
) -> Result<ZipfFits, CacheError> {
    let counts = recorded.counts();
    let exponent = popularity_exponent(recorded, &counts, seed);
    let distance = largest_difference(&counts, &drawn_counts(recorded, exponent, seed));
    let (curve_exponent, curve_rmse) = curve_exponent(recorded, caches, curve, seed)?;
    Ok(ZipfFits {
        all_keys_exponent: exponent,
        all_keys_distance: distance,
        curve_exponent,
        curve_rmse,
        head: zipf::fit(&counts),
    })
}

/// The exponent of the law whose draws, as many as the trace has requests and for as many keys, have the mean logarithm of
/// the rank of the trace. Ranks are by count in both, so that the order of rare keys, which is due to chance, biases neither;
/// the maximum-likelihood exponent over all keys, which takes them for the ranks of the law, is too small.
fn popularity_exponent(recorded: &RecordedTrace, counts: &[u64], seed: u64) -> f64 {
    let wanted = mean_log_rank(counts);
    let (mut low, mut high) = (0.0, EXPONENT_MAX);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        // A steeper law has lower ranks.
        if mean_log_rank(&drawn_counts(recorded, middle, seed)) > wanted { low = middle } else { high = middle }
    }
    if low == 0.0 { 0.0 } else { (low + high) / 2.0 }
}

/// The mean logarithm of the rank over requests, for the requests of each key in descending order.
fn mean_log_rank(counts: &[u64]) -> f64 {
    let sum: f64 = (1_u32..).zip(counts).map(|(rank, count)| *count as f64 * f64::from(rank).ln()).sum();
    sum / counts.iter().sum::<u64>() as f64
}

/// The requests of each key of a Zipf load, descending.
fn drawn_counts(recorded: &RecordedTrace, exponent: f64, seed: u64) -> Vec<u64> {
    let mut picks = draw(SyntheticKeys::Zipf(exponent), recorded, seed).picks;
    picks.sort_unstable();
    let mut counts: Vec<u64> = picks.chunk_by(|one, other| one == other).map(|chunk| chunk.len() as u64).collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts
}

/// The largest difference of the shares of requests of the k most popular keys.
fn largest_difference(one: &[u64], other: &[u64]) -> f64 {
    let total = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
    let (one_total, other_total) = (total(one), total(other));
    let (mut difference, mut largest) = (0.0_f64, 0.0_f64);
    for rank in 0..one.len().max(other.len()) {
        let share = |counts: &[u64], total: f64| counts.get(rank).copied().unwrap_or(0) as f64 / total;
        difference += share(one, one_total) - share(other, other_total);
        largest = largest.max(difference.abs());
    }
    largest
}

/// The exponent whose load, with values of one size, has the miss ratios closest to `curve`, and the root mean square of the
/// differences. Every exponent is tried in steps, since the difference has several minima.
fn curve_exponent(
    recorded: &RecordedTrace,
    caches: &[f64],
    curve: &[Option<f64>],
    seed: u64,
) -> Result<(f64, f64), CacheError> {
    let rmse = |exponent: f64| -> Result<f64, CacheError> {
        let load = LoadKind::Drawn(SyntheticKeys::ZipfCurve(exponent)).make(recorded, seed);
        let simulated = simulate(&load, recorded, true, caches)?;
        let squares: Vec<f64> = simulated
            .iter()
            .zip(curve)
            .filter_map(|(own, wanted)| Some((own.miss_ratio? - (*wanted)?).powi(2)))
            .collect();
        Ok((squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt())
    };
    let mut candidates: Vec<f64> = (0..=20).map(|step| STEPS[0] * f64::from(step)).collect();
    let mut best = (0.0, f64::INFINITY);
    for next in STEPS.iter().skip(1).map(Some).chain([None]) {
        let tried: Vec<(f64, f64)> = candidates
            .par_iter()
            .map(|exponent| Ok((*exponent, rmse(*exponent)?)))
            .collect::<Result<_, CacheError>>()?;
        best = tried.into_iter().chain([best]).min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or(best);
        let Some(step) = next else { break };
        let around = (-STEPS_AROUND..=STEPS_AROUND).filter(|place| *place != 0);
        candidates = around.map(|place| (best.0 + step * f64::from(place)).clamp(0.0, CURVE_EXPONENT_MAX)).collect();
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use manometer_trace::TraceOperation;

    use super::super::recorded_trace::{Key, KeyRequest};
    use super::*;

    fn recorded(keys: impl Iterator<Item = u32>) -> RecordedTrace {
        let mut places = std::collections::HashMap::new();
        let mut requests = Vec::new();
        for key in keys {
            let next = places.len() as u32;
            let key = *places.entry(key).or_insert(next);
            requests.push(KeyRequest { key, operation: TraceOperation::Get });
        }
        let key = |id| Key { id, key_bytes: 10, value_bytes: 90 };
        RecordedTrace {
            keys: (0..places.len() as u64).map(key).collect(),
            requests,
            times_ns: None,
            resized: 0,
            damage: Vec::new(),
        }
    }

    /// A trace of independent draws from Zipf's law.
    fn zipf_trace(exponent: f64) -> RecordedTrace {
        let plain = recorded((0..30_000).map(|number| number % 4000));
        let drawn = draw(SyntheticKeys::Zipf(exponent), &plain, 17);
        recorded(drawn.picks.into_iter())
    }

    #[test]
    fn the_exponent_of_drawn_keys_is_found_again() {
        for exponent in [0.6, 0.9, 1.1] {
            let trace = zipf_trace(exponent);
            let curve: Vec<Option<f64>> = simulate(&LoadKind::Trace.make(&trace, 1), &trace, false, &[0.05, 0.3])
                .unwrap()
                .iter()
                .map(|one| one.miss_ratio)
                .collect();
            let fits = fit(&trace, &[0.05, 0.3], &curve, 5).unwrap();
            assert!((fits.all_keys_exponent - exponent).abs() < 0.03, "{exponent}: {fits:?}");
            assert!((fits.curve_exponent - exponent).abs() < 0.05, "{exponent}: {fits:?}");
            assert!(fits.curve_rmse < 0.01 && fits.all_keys_distance < 0.02, "{exponent}: {fits:?}");
        }
    }

    #[test]
    fn uniform_keys_are_flat_and_fit_well() {
        let mut state = 1_u64;
        let uniform = recorded((0..20_000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32 % 1000
        }));
        let fits = fit(&uniform, &[0.5], &[Some(0.5)], 5).unwrap();
        assert!(fits.is_flat() && fits.weaknesses().is_empty(), "{fits:?}");
    }

    /// Each key has as many requests as the others, which is more even than chance.
    #[test]
    fn equal_counts_are_nearly_uniform() {
        let even = recorded((0..20_000).map(|number| number % 1000));
        let fits = fit(&even, &[0.5], &[Some(1.0)], 5).unwrap();
        assert!(fits.all_keys_exponent < 0.1, "{fits:?}");
        assert!(!fits.is_flat() && !fits.weaknesses().is_empty(), "{fits:?}");
    }

    #[test]
    fn two_requests_have_a_fit() {
        let two = recorded([1, 2].into_iter());
        let fits = fit(&two, &[0.5], &[Some(1.0)], 5).unwrap();
        assert!(fits.all_keys_exponent.is_finite() && fits.head.is_none(), "{fits:?}");
    }
}
