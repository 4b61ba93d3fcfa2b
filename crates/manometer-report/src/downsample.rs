//! Downsampling: long lines become short enough for a page, as means with their extremes; every gap stays.

/// One value of a line over time; without `mean` it is a gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// When, in seconds since the recording's start.
    pub(crate) t_s: f64,
    /// The smallest of the values that `mean` stands for, where it stands for several.
    pub(crate) low: Option<f64>,
    /// The value, or the mean of several.
    pub(crate) mean: Option<f64>,
    /// The largest of them.
    pub(crate) high: Option<f64>,
}

impl Point {
    /// One value as it was measured, or a gap.
    pub(crate) fn of(t_s: f64, value: Option<f64>) -> Self {
        Self { t_s, low: None, mean: value.filter(|value| value.is_finite()), high: None }
    }
}

/// The value of the point of `points`, which are in the order of time, that is nearest to `t_s` and at most `within_s`
/// from it.
pub(crate) fn nearest(points: &[Point], t_s: f64, within_s: f64) -> Option<f64> {
    let after = points.partition_point(|point| point.t_s < t_s);
    let around = points[after.saturating_sub(1)..].iter().take(2);
    let distance = |point: &&Point| (point.t_s - t_s).abs();
    let nearest = around.min_by(|left, right| distance(left).total_cmp(&distance(right)))?;
    nearest.mean.filter(|_| distance(&nearest) <= within_s)
}

/// A silence longer than this many sample intervals is a gap, even where no row says so.
pub(crate) const SILENT_INTERVALS: f64 = 1.5;

/// Adds a gap wherever `points` are silent for longer than the sample interval allows.
pub(crate) fn with_gaps(points: Vec<Point>, interval_s: f64) -> Vec<Point> {
    let mut all: Vec<Point> = Vec::with_capacity(points.len());
    for point in points {
        if let Some(last) = all.last()
            && point.t_s - last.t_s > SILENT_INTERVALS * interval_s
        {
            all.push(Point::of(last.t_s + interval_s, None));
        }
        all.push(point);
    }
    all
}

/// How many neighbouring values one point stands for, so that `values` become `limit` points at most.
pub(crate) fn bucket_size(values: usize, limit: usize) -> usize {
    values.div_ceil(limit.max(1)).max(1)
}

/// Joins each `size` neighbouring values into one point with their mean and extremes. No point joins
/// values from both sides of a gap.
pub(crate) fn downsampled(points: &[Point], size: usize) -> Vec<Point> {
    if size <= 1 {
        return points.to_vec();
    }
    let mut kept = Vec::with_capacity(points.len() / size + 1);
    for run in points.chunk_by(|left, right| left.mean.is_some() == right.mean.is_some()) {
        match run[0].mean {
            None => kept.push(run[0]),
            Some(_) => kept.extend(even_parts(run, size).map(merged)),
        }
    }
    kept
}

/// Splits a run into parts of at most `size` points, as even as can be: a last part of one point would
/// show that point's chance as a mean.
pub(crate) fn even_parts<T>(run: &[T], size: usize) -> impl Iterator<Item = &[T]> {
    let parts = run.len().div_ceil(size);
    (0..parts).map(move |part| &run[run.len() * part / parts..run.len() * (part + 1) / parts])
}

fn merged(bucket: &[Point]) -> Point {
    let values = bucket.iter().filter_map(|point| point.mean);
    let mean_of = |sum: f64| sum / bucket.len() as f64;
    Point {
        t_s: mean_of(bucket.iter().map(|point| point.t_s).sum()),
        low: values.clone().reduce(f64::min),
        mean: Some(mean_of(values.clone().sum())),
        high: values.reduce(f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: &[Option<f64>]) -> Vec<Point> {
        values.iter().enumerate().map(|(second, value)| Point::of(second as f64, *value)).collect()
    }

    #[test]
    fn a_silence_is_a_gap() {
        let points = vec![Point::of(1.0, Some(5.0)), Point::of(2.0, Some(5.0)), Point::of(6.0, Some(5.0))];
        let gaps: Vec<f64> =
            with_gaps(points, 1.0).iter().filter(|point| point.mean.is_none()).map(|point| point.t_s).collect();
        assert_eq!(gaps, [3.0]);
    }

    #[test]
    fn a_short_line_stays_as_it_was_measured() {
        let points = line(&[Some(1.0), None, Some(3.0)]);
        assert_eq!(downsampled(&points, bucket_size(3, 2000)), points);
    }

    #[test]
    fn a_long_line_keeps_its_extremes_and_its_gaps() {
        let values: Vec<Option<f64>> =
            (0..7200).map(|second| (!(3000..3100).contains(&second)).then(|| f64::from(second % 100))).collect();
        let points = line(&values);
        let short = downsampled(&points, bucket_size(points.len(), 1000));
        assert!(short.len() <= 1002, "{}", short.len());
        assert_eq!(short.iter().filter(|point| point.mean.is_none()).count(), 1);
        let high = short.iter().filter_map(|point| point.high).fold(0.0, f64::max);
        let low = short.iter().filter_map(|point| point.low).fold(f64::MAX, f64::min);
        assert_eq!((low, high), (0.0, 99.0));
    }

    #[test]
    fn the_last_point_has_as_many_values_as_the_others() {
        let points = line(&[0.0, 10.0, 0.0, 10.0, 0.0].map(Some));
        let parts: Vec<usize> = even_parts(&points, 4).map(<[Point]>::len).collect();
        assert_eq!(parts, [2, 3]);
    }

    #[test]
    fn the_nearest_point_is_near_enough_or_none() {
        let points = line(&[Some(1.0), None, Some(3.0)]);
        assert_eq!(nearest(&points, 0.4, 0.5), Some(1.0));
        assert_eq!(nearest(&points, 0.9, 0.5), None, "the nearest is a gap");
        assert_eq!(nearest(&points, 7.0, 0.5), None);
        assert_eq!(nearest(&[], 0.0, 0.5), None);
    }

    #[test]
    fn what_is_no_number_is_a_gap() {
        assert_eq!(Point::of(0.0, Some(f64::INFINITY)).mean, None);
    }
}
