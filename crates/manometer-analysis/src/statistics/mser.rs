//! The end of the warm-up by MSER-5 (White 1997; White, Cobb & Spratt 2000).

use super::moments::mean;

/// Samples per batch.
const BATCH: usize = 5;

/// The number of samples at the start of `series` that the rule truncates: the cut d, in batches of five, that
/// minimises Σ (z − mean of the rest)² / (k − d)² over the k − d batches after it.
///
/// Only cuts in the first half are considered: near the end the minimum is meaningless, and on real recordings it lies
/// there more often than not.
pub fn warm_up_samples(series: &[f64]) -> usize {
    let batches: Vec<f64> = series.chunks_exact(BATCH).filter_map(mean).collect();
    let cuts = (0..=batches.len() / 2).filter_map(|cut| Some((cut, standard_error(batches.get(cut..)?)?)));
    let best = cuts.fold(None, |best: Option<(usize, f64)>, cut| match best {
        Some(best) if best.1 <= cut.1 => Some(best),
        _ => Some(cut),
    });
    best.map_or(0, |(cut, _)| cut * BATCH)
}

fn standard_error(rest: &[f64]) -> Option<f64> {
    let mean = mean(rest)?;
    Some(rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_start_is_seen() {
        let series: Vec<f64> = (0..100).map(|t| if t < 20 { 10.0 } else { 100.0 + f64::from(t % 3) }).collect();
        assert_eq!(warm_up_samples(&series), 20);
    }

    #[test]
    fn nothing_is_cut_from_what_is_even_or_short() {
        assert_eq!(warm_up_samples(&[5.0; 60]), 0);
        assert_eq!(warm_up_samples(&[5.0, 9.0]), 0);
        assert_eq!(warm_up_samples(&[]), 0);
    }

    #[test]
    fn never_more_than_the_first_half() {
        let series: Vec<f64> = (0..100).map(|t| if t < 80 { 10.0 } else { 100.0 }).collect();
        assert!(warm_up_samples(&series) <= 50);
    }
}
