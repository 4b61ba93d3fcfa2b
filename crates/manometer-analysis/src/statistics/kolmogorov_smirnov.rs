//! The two-sample Kolmogorov-Smirnov distance (1933, 1939): the largest difference between two cumulative
//! distributions.

/// The distance between two histograms with the same classes; `None` where one is empty.
pub fn distance(one: &[u64], other: &[u64]) -> Option<f64> {
    let all = [one, other].map(|counts| counts.iter().sum::<u64>() as f64);
    if all.contains(&0.0) {
        return None;
    }
    let cell = |counts: &[u64], at: usize| counts.get(at).copied().unwrap_or(0);
    let mut up_to = [0_u64; 2];
    let differences = (0..one.len().max(other.len())).map(|at| {
        up_to[0] += cell(one, at);
        up_to[1] += cell(other, at);
        (up_to[0] as f64 / all[0] - up_to[1] as f64 / all[1]).abs()
    });
    differences.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_distributions_by_hand() {
        assert_eq!(distance(&[1, 2, 1], &[2, 4, 2]), Some(0.0));
        assert_eq!(distance(&[4], &[0, 4]), Some(1.0));
        assert_eq!(distance(&[2, 2], &[1, 3]), Some(0.25));
        assert_eq!(distance(&[0, 0], &[1, 3]), None);
    }
}
