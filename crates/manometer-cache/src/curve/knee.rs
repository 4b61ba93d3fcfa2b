//! The knees of a curve: the sizes beyond which more cache hardly helps.

use super::CurvePoint;

/// The least distance of a knee from the line, as a share of the curve's whole fall.
const BEND_MIN: f64 = 0.05;

/// The knees of a curve by capacity: the point farthest below the straight line between its ends, on a logarithmic
/// scale of capacity, and recursively in both parts (Satopää and others, Kneedle, 2011). A shoulder, a point farther
/// above the line, divides the curve too but is not a knee.
pub fn knees(points: &[CurvePoint]) -> Vec<CurvePoint> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let fall = first.miss_ratio - last.miss_ratio;
    let mut found = Vec::new();
    if fall > 0.0 {
        part(points, fall, &mut found);
    }
    found.sort_by_key(|point| point.capacity);
    found
}

fn part(points: &[CurvePoint], fall: f64, found: &mut Vec<CurvePoint>) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let width = (last.capacity as f64 / first.capacity as f64).log2();
    let below = |point: &CurvePoint| {
        let at = (point.capacity as f64 / first.capacity as f64).log2() / width;
        first.miss_ratio + at * (last.miss_ratio - first.miss_ratio) - point.miss_ratio
    };
    let farthest = points.iter().enumerate().max_by(|one, other| below(one.1).abs().total_cmp(&below(other.1).abs()));
    let Some((at, bend)) = farthest.filter(|(_, point)| below(point).abs() > BEND_MIN * fall) else { return };
    if below(bend) > 0.0 {
        found.push(*bend);
    }
    part(&points[..=at], fall, found);
    part(&points[at..], fall, found);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(ratios: &[f64]) -> Vec<CurvePoint> {
        let point = |(at, ratio): (usize, &f64)| CurvePoint { capacity: 1 << at, miss_ratio: *ratio, error: None };
        ratios.iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_knee_is_where_the_curve_flattens() {
        let found = |ratios: &[f64]| knees(&points(ratios)).iter().map(|knee| knee.capacity).collect::<Vec<_>>();
        assert_eq!(found(&[1.0, 0.55, 0.1, 0.1, 0.1, 0.1]), [4]);
        assert_eq!(found(&[1.0, 0.6, 0.6, 0.6, 0.1, 0.1, 0.1]), [2, 16]);
        assert_eq!(found(&[1.0, 0.8, 0.6, 0.4, 0.2, 0.0]), [0_u64; 0]);
        assert_eq!(found(&[1.0, 0.95, 0.9, 0.5, 0.1, 0.1, 0.1]), [16]);
        assert_eq!(found(&[0.5, 0.5, 0.5]), [0_u64; 0]);
        assert_eq!(found(&[]), [0_u64; 0]);
    }
}
