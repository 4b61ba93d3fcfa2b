//! Change-point detection in a series of results: energy divergence (Matteson & James 2014) with α = 1, adapted to
//! benchmarks after Fleming et al. (Hunter, ICPE 2023): short windows, Student's t-test instead of permutations, and
//! merging of weak candidates.

use super::moments::mean;
use super::student::p_value;

/// Candidates are searched in windows of this many results; the next window begins half a window later, or at the last
/// candidate.
pub const WINDOW: usize = 50;

/// The largest p-value of a change point.
pub const P_VALUE: f64 = 0.001;

/// Candidates may have this many times that p-value; merging decides which of them remain.
const WEAK_FACTOR: f64 = 10.0;

/// A place where the mean of a series changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first result after it.
    pub index: usize,
    /// The mean from the change before it, or the start.
    pub before: f64,
    /// The mean up to the change after it, or the end.
    pub after: f64,
    /// The two-sided p-value of Student's t-test between both.
    pub p_value: f64,
}

impl ChangePoint {
    fn between(before: &[f64], after: &[f64], index: usize) -> Option<Self> {
        Some(Self { index, before: mean(before)?, after: mean(after)?, p_value: difference_p_value(before, after)? })
    }

    /// The difference between the means, as a share of the smaller.
    pub fn magnitude(&self) -> f64 {
        let shares = [self.after / self.before, self.before / self.after];
        shares.iter().map(|share| (share - 1.0).abs()).fold(0.0, f64::max)
    }
}

/// The change points of `series`, in order, with a p-value of at most [`P_VALUE`] and a magnitude above
/// `least_magnitude`.
pub fn change_points(series: &[f64], least_magnitude: f64) -> Vec<ChangePoint> {
    merged(series, candidates(series), least_magnitude)
}

/// The first results after changes that are significant at the weaker level in some window.
fn candidates(series: &[f64]) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < series.len() {
        let window = &series[start..(start + WINDOW).min(series.len())];
        let in_window = candidates_in(window);
        let last = in_window.last().map_or(0, |index| index + start);
        found.extend(in_window.iter().map(|index| index + start));
        start = last.max(start + WINDOW / 2);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Splits `window` where it diverges most, as long as the split is significant.
fn candidates_in(window: &[f64]) -> Vec<usize> {
    let pair_sums = PairSums::of(window);
    let mut found: Vec<usize> = Vec::new();
    loop {
        let best = segments(&found, window.len())
            .filter_map(|(begin, end)| {
                let (index, divergence) = pair_sums.largest_divergence(begin, end)?;
                Some((divergence, index, begin, end))
            })
            .max_by(|one, other| one.0.total_cmp(&other.0));
        let Some((_, index, begin, end)) = best else { break };
        let p_value = difference_p_value(&window[begin..index], &window[index..end]);
        if p_value.is_none_or(|p_value| p_value > WEAK_FACTOR * P_VALUE) {
            break;
        }
        found.push(index);
        found.sort_unstable();
    }
    found
}

/// The segments between `changes`: their starts and ends.
fn segments(changes: &[usize], length: usize) -> impl Iterator<Item = (usize, usize)> {
    let begins = std::iter::once(0).chain(changes.iter().copied());
    begins.zip(changes.iter().copied().chain(std::iter::once(length)).collect::<Vec<_>>())
}

/// Drops the weakest candidate until all that remain are significant and large enough. Each drop merges two segments, so
/// that the tests are repeated.
fn merged(series: &[f64], mut indices: Vec<usize>, least_magnitude: f64) -> Vec<ChangePoint> {
    loop {
        let changes = tested(series, &indices);
        let weakest = changes.iter().max_by(|one, other| one.p_value.total_cmp(&other.p_value));
        let smallest = changes.iter().min_by(|one, other| one.magnitude().total_cmp(&other.magnitude()));
        let (Some(weakest), Some(smallest)) = (weakest, smallest) else { return Vec::new() };
        let drop = if weakest.p_value > P_VALUE {
            weakest.index
        } else if smallest.magnitude() <= least_magnitude {
            smallest.index
        } else {
            return changes;
        };
        indices.retain(|index| *index != drop);
    }
}

fn tested(series: &[f64], indices: &[usize]) -> Vec<ChangePoint> {
    let segments: Vec<(usize, usize)> = segments(indices, series.len()).collect();
    let pairs = segments.windows(2).filter_map(|pair| {
        let [(begin, index), (_, end)] = *pair else { return None };
        ChangePoint::between(&series[begin..index], &series[index..end], index)
    });
    pairs.collect()
}

/// The two-sided p-value of Student's t-test with pooled variance; `None` for fewer than three results in total.
fn difference_p_value(before: &[f64], after: &[f64]) -> Option<f64> {
    let (left, right) = (mean(before)?, mean(after)?);
    let degrees_of_freedom = (before.len() + after.len()) as f64 - 2.0;
    if degrees_of_freedom < 1.0 {
        return None;
    }
    let squares = |values: &[f64], centre: f64| values.iter().map(|value| (value - centre).powi(2)).sum::<f64>();
    let pooled = (squares(before, left) + squares(after, right)) / degrees_of_freedom;
    let error = (pooled * (1.0 / before.len() as f64 + 1.0 / after.len() as f64)).sqrt();
    if error == 0.0 {
        return Some(if left == right { 1.0 } else { 0.0 });
    }
    p_value((right - left) / error, degrees_of_freedom)
}

/// Sums of |x(i) − x(j)| over all pairs within a segment, for every segment of a window.
struct PairSums {
    length: usize,
    sums: Vec<f64>,
}

impl PairSums {
    fn of(window: &[f64]) -> Self {
        let length = window.len();
        let mut all = Self { length, sums: vec![0.0; (length + 1) * (length + 1)] };
        for begin in 0..length {
            for end in begin + 1..length {
                let added: f64 = window[begin..end].iter().map(|value| (value - window[end]).abs()).sum();
                let place = all.place(begin, end + 1);
                all.sums[place] = all.within(begin, end) + added;
            }
        }
        all
    }

    fn place(&self, begin: usize, end: usize) -> usize {
        begin * (self.length + 1) + end
    }

    fn within(&self, begin: usize, end: usize) -> f64 {
        self.sums[self.place(begin, end)]
    }

    /// The divergence q = mn / (m + n) · E(x(begin..index), x(index..end)), with the energy distance E of both.
    fn divergence(&self, begin: usize, index: usize, end: usize) -> f64 {
        let (left, right) = ((index - begin) as f64, (end - index) as f64);
        let inner = |pairs: f64, count: f64| if count > 1.0 { pairs / (count - 1.0) } else { 0.0 };
        let (before, after) = (self.within(begin, index), self.within(index, end));
        let across = self.within(begin, end) - before - after;
        2.0 / (left + right) * (across - right * inner(before, left) - left * inner(after, right))
    }

    /// The index and value of the largest divergence, with the segment ending at `end` or earlier.
    fn largest_divergence(&self, begin: usize, end: usize) -> Option<(usize, f64)> {
        let ends = (begin + 2..=end).flat_map(|until| (begin + 1..until).map(move |index| (index, until)));
        ends.map(|(index, until)| (index, self.divergence(begin, index, until)))
            .max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Repeatable noise within ±6.
    fn noise(t: usize) -> f64 {
        ((t * 7919) % 13) as f64 - 6.0
    }

    fn series(levels: &[(usize, f64)]) -> Vec<f64> {
        let values = levels.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count));
        values.enumerate().map(|(t, level)| level + 0.2 * noise(t)).collect()
    }

    fn places(series: &[f64], least_magnitude: f64) -> Vec<usize> {
        change_points(series, least_magnitude).iter().map(|change| change.index).collect()
    }

    #[test]
    fn a_level_series_has_no_change_point() {
        assert!(places(&series(&[(120, 100.0)]), 0.0).is_empty());
        assert!(places(&[], 0.0).is_empty());
        assert!(places(&[1.0], 0.0).is_empty());
        assert!(places(&[1.0, 2.0], 0.0).is_empty());
    }

    #[test]
    fn steps_are_found_at_their_place() {
        let found = change_points(&series(&[(12, 100.0), (15, 80.0)]), 0.0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].index, 12);
        assert!((found[0].before - 100.0).abs() < 1.0 && (found[0].after - 80.0).abs() < 1.0);
        assert!((found[0].magnitude() - 0.25).abs() < 0.02);
        assert_eq!(places(&series(&[(70, 100.0), (30, 110.0), (60, 95.0)]), 0.0), [70, 100]);
    }

    #[test]
    fn a_step_on_a_windows_edge_is_found_once() {
        for at in [WINDOW / 2, WINDOW, WINDOW + 1] {
            assert_eq!(places(&series(&[(at, 100.0), (40, 90.0)]), 0.0), [at]);
        }
    }

    #[test]
    fn small_steps_are_merged_and_an_outlier_is_no_change_point() {
        let small = series(&[(40, 100.0), (40, 103.0)]);
        assert_eq!(places(&small, 0.0), [40]);
        assert!(places(&small, 0.05).is_empty());
        assert!(places(&series(&[(20, 100.0), (1, 92.0), (20, 100.0)]), 0.0).is_empty());
    }

    #[test]
    fn the_divergence_matches_its_definition() {
        let window = [1.0, 2.0, 4.0, 8.0, 3.0];
        let sums = PairSums::of(&window);
        let (left, right) = (&window[..2], &window[2..]);
        let pairs = |values: &[f64]| {
            let all = values.iter().flat_map(|a| values.iter().map(move |b| (a - b).abs())).sum::<f64>();
            all / (values.len() * (values.len() - 1)) as f64
        };
        let across = left.iter().flat_map(|a| right.iter().map(move |b| (a - b).abs())).sum::<f64>() / 6.0;
        let expected = 6.0 / 5.0 * (2.0 * across - pairs(left) - pairs(right));
        assert!((sums.divergence(0, 2, 5) - expected).abs() < 1e-12);
    }
}
