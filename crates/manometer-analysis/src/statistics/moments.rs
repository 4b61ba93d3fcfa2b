//! Means, quantiles and the least-squares slope.

/// The arithmetic mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The quantiles at `shares` (each 0 to 1), interpolated linearly between order statistics (type 7 of
/// Hyndman & Fan 1996); `None` without values.
pub fn quantiles<const N: usize>(values: &[f64], shares: [f64; N]) -> Option<[f64; N]> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(shares.map(|share| {
        let position = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
        let below = position.floor() as usize;
        let above = (below + 1).min(sorted.len() - 1);
        sorted[below] + (sorted[above] - sorted[below]) * position.fract()
    }))
}

/// The median; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantiles(values, [0.5]).map(|[median]| median)
}

/// The slope per step of the least-squares line through equally spaced values; `None` for fewer than two.
pub fn slope(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let middle = (values.len() - 1) as f64 / 2.0;
    let mean = mean(values)?;
    let steps = values.iter().enumerate().map(|(index, value)| (index as f64 - middle, value - mean));
    let (across, along) = steps.fold((0.0, 0.0), |(xy, xx), (x, y)| (xy + x * y, xx + x * x));
    Some(across / along)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_samples_by_hand() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(mean(&values), Some(2.5));
        assert_eq!(median(&values), Some(2.5));
        assert_eq!(quantiles(&values, [0.0, 0.25, 1.0]), Some([1.0, 1.75, 4.0]));
        assert_eq!(slope(&[1.0, 3.0, 5.0]), Some(2.0));
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert_eq!((mean(&[]), median(&[]), slope(&[1.0])), (None, None, None));
    }
}
