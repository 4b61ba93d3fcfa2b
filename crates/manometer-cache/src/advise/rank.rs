//! Compares all policies with LRU on the same requests, at one size.

use rayon::prelude::*;
use serde::Serialize;

use super::basis::AdviceBasis;
use super::miss_counts::{MissCounts, key_groups};
use super::paired_difference::PairedDifference;
use crate::CacheError;
use crate::curve::CurvePoint;
use crate::curve::miniature::{MiniatureSimulation, OBJECTS_MIN};
use crate::policy::POLICIES;
use crate::policy_spec::PolicySpec;
use crate::request::RequestFields;
use crate::requests::RequestSequence;
use crate::sampling::{RequestSampler, Sampling};
use crate::trace_scan::scan_trace;
use manometer_trace::TraceReader;

/// The number of policies that are compared with LRU: all but LRU itself and OPT.
const COMPARISONS: usize = POLICIES.len() - 2;

/// The number of policies that are shown, apart from LRU and OPT: a chart has a colour for each.
const BEST: usize = 5;

/// A policy compared with LRU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyRank {
    /// Its name.
    pub policy: String,
    /// Its misses in the simulated requests.
    pub misses: u64,
    /// Its misses divided by LRU's, minus 1; below 0 it misses less. Exact for this trace if all keys were simulated.
    pub relative: f64,
    /// Half the width of the 95 % interval of `relative` for other traffic of the same kind, which holds for all policies
    /// at once; `None` if the trace is too short for one.
    pub error: Option<f64>,
    /// The number of requests that an interval needs, if the trace is too short.
    pub requests_needed: Option<u64>,
    /// Its miss ratio at each size: of the simulated requests or, from a sample, LRU's own corrected by `relative`.
    pub miss_ratios: Vec<f64>,
    #[serde(skip)]
    pub(super) counts: MissCounts,
    /// How much `relative` differs at the ends of the range of capacities that a sample may stand for.
    #[serde(skip)]
    pub(super) shift: f64,
}

/// All policies at one size, the best first. The sentence, the table and the chart show these figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyRanking {
    /// The size in objects or bytes at which policies were compared: one, the recommended one.
    pub capacities: Vec<u64>,
    /// The number of simulated requests.
    pub requests: u64,
    /// The number of requests for all keys.
    pub all_requests: u64,
    /// The share of simulated keys: 1 if the simulation is exact.
    pub rate: f64,
    /// The share of the trace in which LRU exchanges the whole content of the cache.
    pub exchange: f64,
    /// Every policy except OPT.
    pub policies: Vec<PolicyRank>,
    /// OPT, which knows the future: for objects of equal size no policy misses less.
    pub bound: Option<PolicyRank>,
}

/// The policies that may miss less than the winner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rivals {
    /// Not distinguishable from it.
    pub(super) similar: Vec<String>,
    /// With fewer misses on the trace, of which it is too short to say more.
    pub(super) uncompared: Vec<String>,
}

/// The requests that policies are simulated with.
#[derive(Debug)]
pub struct PolicySample {
    requests: RequestSequence,
    basis: AdviceBasis,
    /// The share of the keys.
    rate: f64,
    /// The number of requests for all keys.
    all: u64,
    groups: Vec<u8>,
}

impl PolicySample {
    /// Reads the requests for a share `rate` of the keys; all of them for 1.
    ///
    /// # Errors
    /// They do not fit in memory.
    pub fn read(reader: &mut dyn TraceReader, basis: &AdviceBasis, rate: f64) -> Result<Self, CacheError> {
        let details =
            POLICIES.iter().fold(RequestFields { sizes: basis.by_size, ..RequestFields::NONE }, |all, kind| {
                all.union(RequestFields { sizes: false, ..kind.details })
            });
        let sampling = if rate < 1.0 { Sampling::Rate(rate) } else { Sampling::Full };
        let mut sampled = RequestSampler::new(sampling, basis.seed)?;
        let scan = scan_trace(reader, details, |batch, details| sampled.add(batch, details))?;
        let requests = sampled.finish().0;
        let groups = key_groups(requests.keys());
        Ok(Self { requests, basis: *basis, rate, all: scan.requests, groups })
    }

    /// The smallest capacity that can be simulated.
    pub(super) fn smallest(&self) -> f64 {
        self.miniature().smallest()
    }

    /// Simulates every policy at the capacity of `lru`, a point of LRU's curve. If the sample is not of all keys, as
    /// miniature simulations, whose intervals also cover the capacities that they may stand for.
    ///
    /// # Errors
    /// The capacity is too small for the sample.
    pub fn rank(&self, lru: &CurvePoint) -> Result<PolicyRanking, CacheError> {
        let capacities = self.simulated_capacities(lru.capacity)?;
        let specs: Vec<PolicySpec> = POLICIES.iter().map(|kind| kind.name.parse()).collect::<Result<_, _>>()?;
        let counts = self.simulate(&specs, &capacities);
        let of = |policy: usize| &counts[policy * capacities.len()..(policy + 1) * capacities.len()];
        let reference = specs.iter().position(|spec| *spec == PolicySpec::lru()).map_or(&[][..], of);
        let Some(plain) = reference.first() else {
            return Err(CacheError::Invalid("LRU is not among the policies".to_owned()));
        };
        let exchange = capacities[0] as f64 / (plain.weight as f64).max(1.0);
        let rank =
            |policy: usize| self.rank_of(specs[policy].to_string(), of(policy), reference, exchange, lru.miss_ratio);
        let mut policies: Vec<PolicyRank> = (0..specs.len()).map(rank).collect();
        let bound = policies.iter().position(|ranked| ranked.policy == "opt").map(|opt| policies.remove(opt));
        // LRU comes before those that miss as much.
        policies.sort_by_key(|ranked| (ranked.misses, ranked.policy != "lru"));
        Ok(PolicyRanking {
            capacities: vec![lru.capacity],
            requests: self.requests.len() as u64,
            all_requests: self.all,
            rate: self.rate,
            exchange,
            policies,
            bound,
        })
    }

    /// Compares a policy's misses with LRU's, at each simulated capacity.
    fn rank_of(
        &self,
        policy: String,
        own: &[MissCounts],
        lru: &[MissCounts],
        exchange: f64,
        lru_ratio: f64,
    ) -> PolicyRank {
        let all = std::iter::zip(own, lru).map(|(own, lru)| PairedDifference::of(own, lru, COMPARISONS, exchange));
        let all: Vec<PairedDifference> = all.collect();
        let PairedDifference { relative, error, needed } = all[0];
        let miss_ratio = match self.rate < 1.0 {
            true => (lru_ratio * (1.0 + relative)).clamp(0.0, 1.0),
            false => own[0].total() as f64 / (self.requests.len() as f64).max(1.0),
        };
        let shift = all.iter().map(|one| (one.relative - relative).abs()).fold(0.0, f64::max);
        PolicyRank {
            policy,
            misses: own[0].total(),
            relative,
            error: error.map(|error| error + shift),
            requests_needed: error.is_none().then(|| (needed * self.all as f64).ceil() as u64),
            miss_ratios: vec![miss_ratio],
            counts: own[0].clone(),
            shift,
        }
    }

    /// The capacity in the simulation and, for a sample, both ends of the range that it may stand for.
    fn simulated_capacities(&self, capacity: u64) -> Result<Vec<u64>, CacheError> {
        if self.rate >= 1.0 {
            return Ok(vec![capacity]);
        }
        let mini = self.miniature();
        let small = capacity as f64 * self.rate;
        let objects = small / mini.object();
        if objects < OBJECTS_MIN {
            let text =
                format!("a cache of {capacity} has {objects:.0} objects in the sample: too few to compare policies");
            return Err(CacheError::Invalid(text));
        }
        let off = mini.capacity_error(objects);
        Ok([1.0, 1.0 - off, 1.0 + off].map(|factor| ((small * factor).round() as u64).max(1)).to_vec())
    }

    /// Whether it has all keys, so that simulations are exact.
    pub(super) fn is_whole(&self) -> bool {
        self.rate >= 1.0
    }

    /// The points of a policy at some capacities, simulated on the requests of the sample.
    pub(super) fn simulated(&self, policy: &PolicySpec, capacities: &[u64]) -> Vec<CurvePoint> {
        self.miniature().whole(std::slice::from_ref(policy), capacities).pop().unwrap_or_default()
    }

    /// The curves of policies at the sizes of LRU's, which is known for all keys. If the basis is a sample, a curve is
    /// LRU's plus the difference of the miniature simulations, from the size on at which those hold enough objects.
    pub fn curves(&self, policies: &[PolicySpec], lru: &[CurvePoint]) -> Vec<Vec<CurvePoint>> {
        let mini = self.miniature();
        if self.rate < 1.0 {
            let smallest = mini.smallest();
            return mini.corrected(policies, &lru[lru.partition_point(|point| (point.capacity as f64) < smallest)..]);
        }
        mini.whole(policies, &lru.iter().map(|point| point.capacity).collect::<Vec<u64>>())
    }

    fn miniature(&self) -> MiniatureSimulation<'_> {
        let AdviceBasis { by_size, seed, .. } = self.basis;
        MiniatureSimulation { requests: &self.requests, by_size, seed, rate: self.rate, all: self.all }
    }

    /// Simulates every policy at every capacity of the simulation, policy by policy.
    fn simulate(&self, specs: &[PolicySpec], capacities: &[u64]) -> Vec<MissCounts> {
        let caches: Vec<(&PolicySpec, u64)> =
            specs.iter().flat_map(|spec| capacities.iter().map(move |capacity| (spec, *capacity))).collect();
        caches.into_par_iter().with_max_len(1).map(|(spec, capacity)| self.misses(spec, capacity)).collect()
    }

    fn misses(&self, spec: &PolicySpec, capacity: u64) -> MissCounts {
        let AdviceBasis { by_size, seed, .. } = self.basis;
        let (mut counts, all) = (MissCounts::NONE, self.requests.len() as f64);
        let mut cache = spec.create(capacity, &self.requests, by_size, seed);
        cache.run_with(&self.requests, &mut |request, is_hit| {
            if !is_hit {
                counts.add(f64::from(request.position) / all, self.groups[request.id as usize], request.size.max(1));
            }
        });
        counts
    }
}

impl PolicyRanking {
    /// The policy of a name.
    pub fn of(&self, policy: &str) -> Option<&PolicyRank> {
        self.policies.iter().chain(&self.bound).find(|ranked| ranked.policy == policy)
    }

    /// The policies that are shown: the best ones with the `recommended` one among them, LRU, and last OPT.
    pub fn shown<'r>(&'r self, recommended: &'r str) -> impl Iterator<Item = &'r PolicyRank> {
        let is_extra = recommended != "lru" && self.policies.iter().skip(BEST).any(|other| other.policy == recommended);
        let is_shown = move |(place, ranked): &(usize, &PolicyRank)| {
            *place < BEST - usize::from(is_extra) || [recommended, "lru"].contains(&ranked.policy.as_str())
        };
        self.policies.iter().enumerate().filter(is_shown).map(|(_, ranked)| ranked).chain(&self.bound)
    }

    /// The other policies that are not distinguishable from `best`, and those with fewer misses of which the trace is too
    /// short to say more: without an interval against LRU or `best`. Any two of all policies are compared. LRU is left out:
    /// the interval against it is that of the ranking.
    pub(super) fn rivals_of(&self, best: &PolicyRank) -> Rivals {
        let pairs = self.policies.len() * self.policies.len().saturating_sub(1) / 2;
        let mut rivals = Rivals::default();
        for other in self.policies.iter().filter(|other| other.policy != best.policy && other.policy != "lru") {
            let difference = PairedDifference::of(&other.counts, &best.counts, pairs, self.exchange);
            let margin = difference.error.map(|error| error + best.shift + other.shift);
            if other.misses < best.misses && (margin.is_none() || other.error.is_none()) {
                rivals.uncompared.push(other.policy.clone());
            } else if margin.is_some_and(|margin| difference.relative <= margin) {
                rivals.similar.push(other.policy.clone());
            }
        }
        rivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basis() -> AdviceBasis {
        AdviceBasis { by_size: false, unit_bytes: 4096, rate: 1.0, is_lru_sampled: false, seed: 1 }
    }

    fn at(capacity: u64, miss_ratio: f64) -> CurvePoint {
        CurvePoint { capacity, miss_ratio, error: None }
    }

    fn read(text: &str, rate: f64) -> PolicySample {
        PolicySample::read(&mut *crate::advise::basis::tests_trace(text), &basis(), rate).unwrap()
    }

    #[test]
    fn every_policy_but_opt_is_ranked_on_a_loop_that_lru_cannot_keep() {
        let text: String = (0..20_000).map(|request| format!("{}\n", request % 100)).collect();
        let ranking = read(&text, 1.0).rank(&at(60, 1.0)).unwrap();
        assert_eq!((&ranking.capacities[..], ranking.requests, ranking.rate), (&[60][..], 20_000, 1.0));
        assert_eq!(ranking.policies.len(), POLICIES.len() - 1);
        assert_eq!(ranking.exchange, 60.0 / 20_000.0, "each request misses");
        let bound = ranking.bound.as_ref().unwrap();
        assert!(ranking.policies.iter().all(|ranked| ranked.relative >= bound.relative));
        let best = &ranking.policies[0];
        assert!(best.relative + best.error.unwrap() < -0.3, "{best:?}");
        let lru = ranking.of("lru").unwrap();
        assert_eq!((lru.relative, lru.error, &lru.miss_ratios[..]), (0.0, Some(0.0), &[1.0][..]));
        let Rivals { similar, uncompared } = ranking.rivals_of(best);
        assert!(!similar.contains(&"lru".to_owned()) && !similar.contains(&best.policy), "{similar:?}");
        assert_eq!(uncompared, Vec::<String>::new(), "none has fewer misses");
        for recommended in [&best.policy, "lru", &ranking.policies[BEST + 2].policy] {
            let shown: Vec<&str> = ranking.shown(recommended).map(|ranked| ranked.policy.as_str()).collect();
            assert!(shown.contains(&recommended) && shown.contains(&"lru") && shown.len() <= BEST + 2, "{shown:?}");
            assert_eq!(shown.last(), Some(&"opt"));
        }
    }

    #[test]
    fn a_sample_says_how_far_it_may_be_from_all_keys() {
        let key = |request: u64| (request * request * 7919 + request / 3) % 50_021;
        let text: String = (0..200_000).map(|request| format!("{}\n", key(request))).collect();
        let sample = read(&text, 0.2);
        let exact = read(&text, 1.0);
        let lru = exact.simulated(&PolicySpec::lru(), &[4000])[0];
        let (exact, sampled) = (exact.rank(&lru).unwrap(), sample.rank(&lru).unwrap());
        assert!(sampled.requests < 60_000 && sampled.rate == 0.2);
        // Less than a hundredth is never advised on, and a miniature's own rounding may be as much.
        let matters = |ranked: &&PolicyRank| ranked.relative.abs() >= 0.01;
        assert!(exact.policies.iter().filter(matters).count() >= 5);
        for own in exact.policies.iter().filter(matters) {
            let near = sampled.of(&own.policy).unwrap();
            let off = (near.relative - own.relative).abs();
            assert!(near.error.is_some_and(|error| off <= error), "{}: {} {near:?}", own.policy, own.relative);
        }
        let text = sample.rank(&at(300, 0.5)).unwrap_err().to_string();
        assert!(text.contains("a cache of 300 has 60 objects in the sample"), "{text}");
    }

    #[test]
    fn the_curve_of_a_sample_is_near_that_of_all_keys() {
        let key = |request: u64| (request * request * 7919 + request / 3) % 50_021;
        let text: String = (0..200_000).map(|request| format!("{}\n", key(request))).collect();
        let opens = || Ok(crate::advise::basis::tests_trace(&text));
        let (lru, _) = crate::advise::lru_curve(&opens, &basis()).unwrap();
        let sizes: Vec<CurvePoint> = lru.points.iter().step_by(8).copied().collect();
        let arc = ["arc".parse().unwrap()];
        let (exact, near) = (read(&text, 1.0).curves(&arc, &sizes), read(&text, 0.2).curves(&arc, &sizes).remove(0));
        assert_eq!(exact[0].len(), sizes.len());
        assert!(near.iter().all(|point| point.capacity as f64 >= OBJECTS_MIN / 0.2) && near.len() > 10);
        for point in near {
            let exact = exact[0].iter().find(|exact| exact.capacity == point.capacity).unwrap();
            assert!((point.miss_ratio - exact.miss_ratio).abs() < 0.02, "{point:?} {exact:?}");
            assert!(point.error.is_some() && exact.error.is_none());
        }
    }
}
