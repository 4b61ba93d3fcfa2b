//! How much memory, by LRU's misses.

use manometer_measure::human::percent;
use serde::Serialize;

use super::curves::{MissPoint, PolicyCurve, steps};
use crate::curve::{CurvePoint, knees};

/// The share of all objects to cache if the curve has no knee: the cache thesis's 20 % of 20 %.
pub const SHARE_WITHOUT_KNEE: f64 = 0.04;
/// The share of all hits that come with one step of a cliff.
const CLIFF_MIN: f64 = 0.5;

/// Why a size is recommended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MemoryReason {
    /// It is the last knee of LRU's curve.
    Knee,
    /// It is the smallest size with the misses of the last knee, as far as they are shown.
    BelowKnee,
    /// The curve has no knee, and at least half of all hits come with this size.
    Cliff {
        /// The next smaller size, with LRU's misses.
        before: MissPoint,
    },
    /// The curve has no knee.
    NoKnee {
        /// The next size at which LRU is shown to miss less.
        from: Option<MissPoint>,
        /// The smallest size with as few misses as all objects have.
        until: MissPoint,
    },
    /// No cache has hits, or too few to be shown.
    NoHits,
}

/// The recommended amount of memory, by LRU's misses.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryChoice {
    /// Why it is recommended.
    pub reason: MemoryReason,
    /// The knees of LRU's curve.
    pub knees: Vec<MissPoint>,
    /// The recommendation; the smallest size if no cache has hits.
    pub recommended: MissPoint,
    /// Room for all objects: the remaining misses are first requests.
    pub all: MissPoint,
}

impl MemoryChoice {
    /// The recommendation by LRU's curve, the last point of which has room for all objects; `None` without points.
    /// `misses` is LRU's miss ratio at a point of it: of a simulation where the curve is not exactly that, because a cache
    /// bypasses objects that do not fit.
    pub fn of(curve: &PolicyCurve, misses: impl Fn(&MissPoint) -> f64) -> Option<Self> {
        let sizes = Sizes { points: &curve.points, misses };
        let (first, all) = (curve.points.first()?, curve.points.last()?);
        let plain: Vec<CurvePoint> = curve.points.iter().map(MissPoint::curve_point).collect();
        let place_of = |knee: &CurvePoint| curve.points.iter().position(|point| point.capacity == knee.capacity);
        let knees: Vec<usize> = knees(&steps(&plain)).iter().filter_map(place_of).collect();
        let (reason, place) = match knees.last() {
            _ if percent(all.miss_ratio) == percent(1.0) => (MemoryReason::NoHits, 0),
            Some(knee) => sizes.at_knee(*knee),
            None => sizes.without_knee(),
        };
        let recommended = *curve.points.get(place).unwrap_or(first);
        Some(Self { reason, recommended, all: *all, knees: knees.iter().map(|knee| curve.points[*knee]).collect() })
    }
}

/// LRU's curve and its misses.
struct Sizes<'a, F> {
    points: &'a [MissPoint],
    misses: F,
}

impl<F: Fn(&MissPoint) -> f64> Sizes<'_, F> {
    fn misses(&self, place: usize) -> f64 {
        (self.misses)(&self.points[place])
    }

    /// The misses at a place as they are shown.
    fn shown(&self, place: usize) -> String {
        percent(self.misses(place))
    }

    /// The first place up to `place` at which the same misses are shown.
    fn first_like(&self, place: usize) -> usize {
        let shown = self.shown(place);
        self.points[..place].partition_point(|point| percent((self.misses)(point)) != shown)
    }

    /// The first place after `place` at which other misses are shown.
    fn next_unlike(&self, place: usize) -> Option<usize> {
        let shown = self.shown(place);
        let same = self.points[place..].partition_point(|point| percent((self.misses)(point)) == shown);
        Some(place + same).filter(|next| *next < self.points.len())
    }

    /// The knee, unless half of it is shown to miss as much.
    fn at_knee(&self, knee: usize) -> (MemoryReason, usize) {
        let half = self.points[..knee].iter().rposition(|point| point.capacity <= self.points[knee].capacity / 2);
        match half.is_some_and(|half| self.shown(half) == self.shown(knee)) {
            true => (MemoryReason::BelowKnee, self.first_like(knee)),
            false => (MemoryReason::Knee, knee),
        }
    }

    /// The foot of a cliff; else a share of all objects, or as much more as is needed for any hits, or as much less as has
    /// the same misses.
    fn without_knee(&self) -> (MemoryReason, usize) {
        if let Some(foot) = self.cliff() {
            let before = MissPoint { miss_ratio: self.misses(foot - 1), error: None, ..self.points[foot - 1] };
            return (MemoryReason::Cliff { before }, foot);
        }
        let share = self.points.iter().rposition(|point| point.share <= SHARE_WITHOUT_KNEE).unwrap_or(0);
        let place = match self.shown(share) == percent(1.0) {
            true => self.next_unlike(share).unwrap_or(0),
            false => self.first_like(share),
        };
        let last = self.points.len() - 1;
        let from = self.next_unlike(place).map(|next| self.points[next]);
        (MemoryReason::NoKnee { from, until: self.points[self.first_like(last)] }, place)
    }

    /// The place of the largest fall between two sizes, if it has most of all hits.
    fn cliff(&self) -> Option<usize> {
        let fall = |place: &usize| self.points[*place - 1].miss_ratio - self.points[*place].miss_ratio;
        let foot = (1..self.points.len()).max_by(|one, other| fall(one).total_cmp(&fall(other)))?;
        let (before, after) = (self.misses(foot - 1), self.misses(foot));
        let hits = 1.0 - self.misses(self.points.len() - 1);
        (before - after >= CLIFF_MIN * hits && percent(before) != percent(after)).then_some(foot)
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::tests::curve;
    use super::*;

    fn choice(ratios: &[f64]) -> MemoryChoice {
        MemoryChoice::of(&curve("lru", ratios), |point| point.miss_ratio).unwrap()
    }

    #[test]
    fn memory_ends_at_the_last_knee() {
        let found = choice(&[1.0, 0.6, 0.6, 0.6, 0.1, 0.1, 0.1]);
        let capacities: Vec<u64> = found.knees.iter().map(|knee| knee.capacity).collect();
        assert_eq!((capacities, found.recommended.capacity, found.all.capacity), (vec![2, 16], 16, 64));
        assert_eq!(found.reason, MemoryReason::Knee);
    }

    #[test]
    fn without_a_knee_a_share_of_all_is_taken_that_has_hits() {
        let found = choice(&[1.0, 0.8, 0.6, 0.4, 0.2, 0.0]);
        assert!(found.knees.is_empty());
        assert_eq!(found.recommended.capacity, 2, "a cache of 1 has no hits");
        let MemoryReason::NoKnee { from, until } = found.reason else { panic!("{:?}", found.reason) };
        assert_eq!((from.map(|from| from.capacity), until.capacity), (Some(4), 32));
        assert_eq!(choice(&[0.25]).recommended.capacity, 1);
        let none = PolicyCurve { policy: "lru".to_owned(), points: Vec::new() };
        assert_eq!(MemoryChoice::of(&none, |point| point.miss_ratio), None);
    }

    #[test]
    fn the_smallest_size_with_the_same_misses_is_enough() {
        let found = choice(&[0.44; 11]);
        assert_eq!(found.recommended.capacity, 1);
        let MemoryReason::NoKnee { from, until } = found.reason else { panic!("{:?}", found.reason) };
        assert_eq!((from, until.capacity), (None, 1));
        // The knee of a fall that is hardly shown.
        let falling: Vec<f64> = (0..11).map(|at| if at < 5 { 0.44001 } else { 0.44 }).collect();
        let found = choice(&falling);
        assert_eq!((found.reason, found.recommended.capacity), (MemoryReason::BelowKnee, 1));
    }

    #[test]
    fn a_cliff_is_found_where_smaller_caches_have_no_hits() {
        let found = choice(&[1.0, 1.0, 1.0, 1.0, 0.02]);
        let MemoryReason::Cliff { before } = found.reason else { panic!("{:?}", found.reason) };
        assert_eq!((found.recommended.capacity, before.capacity, before.miss_ratio), (16, 8, 1.0));
    }

    #[test]
    fn without_hits_nothing_is_recommended() {
        assert_eq!(choice(&[1.0, 1.0, 1.0]).reason, MemoryReason::NoHits);
        assert_eq!(choice(&[1.0, 1.0, 0.9997]).reason, MemoryReason::NoHits);
    }
}
