//! From when on a simulation is steady.

use super::series::TierInterval;

/// The parts that the course is divided into.
const PARTS: usize = 20;
/// The parts at the end whose mean is the level.
const LAST_PARTS: usize = 5;
/// How far from the level a steady part may be.
const WITHIN: f64 = 0.1;

/// From when on the throughput of a simulation stays near that of its last quarter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// The mean throughput of the last quarter.
    pub level_mb_per_s: f64,
    /// From when on each twentieth of the time is within 10 % of it; `None` if the last quarter itself is not.
    pub from_s: Option<f64>,
    /// Where the warm-up ends; 0 without one.
    pub warm_up_s: f64,
    /// Where the simulation ends.
    pub end_s: f64,
}

impl Steadiness {
    /// That of a course; `None` if it has too few intervals.
    pub fn of(series: &[TierInterval]) -> Option<Self> {
        let end_s = series.last()?.end_s;
        let parts = throughputs(series, end_s)?;
        let last = &parts[PARTS - LAST_PARTS..];
        let level_mb_per_s = last.iter().sum::<f64>() / LAST_PARTS as f64;
        let is_near = |value: &f64| (value - level_mb_per_s).abs() <= WITHIN * level_mb_per_s;
        let unsteady = parts.iter().rposition(|value| !is_near(value)).map_or(0, |last| last + 1);
        let from_s = (unsteady <= PARTS - LAST_PARTS).then(|| end_s * unsteady as f64 / PARTS as f64);
        let warm_up = series.iter().filter(|interval| interval.is_warm_up);
        Some(Self { level_mb_per_s, from_s, warm_up_s: warm_up.map(|one| one.end_s).fold(0.0, f64::max), end_s })
    }

    /// Whether the result, which begins after the warm-up, includes more of the unsteady time than a part that the end of
    /// the warm-up divides.
    pub fn is_late(&self) -> bool {
        self.from_s.is_none_or(|from_s| from_s > self.warm_up_s + self.end_s / PARTS as f64)
    }
}

/// The throughput in each of [`PARTS`] equally long parts; `None` if there are fewer intervals.
fn throughputs(series: &[TierInterval], end_s: f64) -> Option<Vec<f64>> {
    if series.len() < PARTS {
        return None;
    }
    let mut bytes = [0.0; PARTS];
    for interval in series {
        let middle = f64::midpoint(interval.begin_s, interval.end_s) / end_s;
        bytes[((middle * PARTS as f64) as usize).min(PARTS - 1)] += interval.counts.bytes as f64;
    }
    Some(bytes.iter().map(|bytes| bytes / 1e6 / (end_s / PARTS as f64)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::IntervalCounts;

    fn steadiness(warm_up: usize, mb_per_s: impl Fn(usize) -> u64) -> Steadiness {
        let interval = |place: usize| TierInterval {
            begin_s: place as f64,
            end_s: place as f64 + 1.0,
            is_warm_up: place < warm_up,
            counts: IntervalCounts { bytes: mb_per_s(place) * 1_000_000, ..IntervalCounts::default() },
        };
        Steadiness::of(&(0..100).map(interval).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_course_is_late_where_it_changes_after_the_warm_up() {
        let rises_at = |warm_up: usize, place: usize| steadiness(warm_up, |at| if at < place { 10 } else { 50 });
        assert_eq!((rises_at(30, 30).from_s, rises_at(30, 30).is_late()), (Some(30.0), false));
        assert!(!rises_at(28, 28).is_late(), "the part in which the warm-up ends is not counted");
        let late = rises_at(10, 30);
        assert_eq!((late.from_s, late.warm_up_s, late.is_late()), (Some(30.0), 10.0, true));
        let never = steadiness(10, |at| at as u64);
        assert_eq!((never.from_s, never.is_late()), (None, true));
        assert!(!steadiness(0, |_| 50).is_late());
        assert_eq!(Steadiness::of(&[]), None);
    }
}
