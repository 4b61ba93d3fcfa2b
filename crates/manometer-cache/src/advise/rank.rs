//! Compares all policies with LRU on the same requests.

use rayon::prelude::*;
use serde::Serialize;

use super::basis::AdviceBasis;
use crate::CacheError;
use crate::curve::CurvePoint;
use crate::curve::interval::{KEY_GROUPS, interval_half_width};
use crate::curve::miniature::{GroupMisses, MiniatureSimulation};
use crate::policy::POLICIES;
use crate::policy_spec::PolicySpec;
use crate::request::RequestFields;
use crate::requests::RequestSequence;
use crate::sampling::RequestSampler;
use crate::trace_scan::scan_trace;
use manometer_trace::TraceReader;

/// The sizes at which policies are compared, as shares of the size of all objects.
const SHARES: [f64; 5] = [0.01, 0.03, 0.1, 0.3, 0.6];

/// A policy compared with LRU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyRank {
    /// Its name.
    pub policy: String,
    /// Its misses divided by LRU's, minus 1, averaged over the sizes; below 0 it misses less.
    pub relative: f64,
    /// Half the width of the 95 % confidence interval; 0 if all keys were simulated.
    pub error: f64,
    /// Its miss ratios in the sample, by size.
    pub miss_ratios: Vec<f64>,
}

/// All policies, the best first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyRanking {
    /// The sizes in objects or bytes.
    pub capacities: Vec<u64>,
    /// The number of simulated requests.
    pub requests: u64,
    /// Every policy except OPT.
    pub policies: Vec<PolicyRank>,
    /// OPT, which knows the future: for objects of equal size no policy misses less.
    pub bound: Option<PolicyRank>,
}

/// The requests that policies are simulated with.
#[derive(Debug)]
pub struct PolicySample {
    requests: RequestSequence,
    basis: AdviceBasis,
    /// The number of requests for all keys.
    all: u64,
}

impl PolicySample {
    /// Reads the requests of the basis.
    ///
    /// # Errors
    /// They do not fit in memory.
    pub fn read(reader: &mut dyn TraceReader, basis: &AdviceBasis) -> Result<Self, CacheError> {
        let details =
            POLICIES.iter().fold(RequestFields { sizes: basis.by_size, ..RequestFields::NONE }, |all, kind| {
                all.union(RequestFields { sizes: false, ..kind.details })
            });
        let mut sampled = RequestSampler::new(basis.sampling(), basis.seed)?;
        let scan = scan_trace(reader, details, |batch, details| sampled.add(batch, details))?;
        Ok(Self { requests: sampled.finish().0, basis: *basis, all: scan.requests })
    }

    /// Simulates every policy at shares of `footprint`; if the basis is a sample, as miniature simulations.
    ///
    /// # Errors
    /// A policy is not known by its own name.
    pub fn rank(&self, footprint: f64) -> Result<PolicyRanking, CacheError> {
        let capacities = capacities(footprint);
        let choices: Vec<PolicySpec> = POLICIES.iter().map(|kind| kind.name.parse()).collect::<Result<_, _>>()?;
        let misses = self.simulate(&choices, &capacities);
        let of = |policy: usize| &misses[policy * capacities.len()..(policy + 1) * capacities.len()];
        let lru = choices.iter().position(|choice| choice.kind().name == "lru").map_or(&[][..], of);
        let requests = self.requests.len() as u64;
        let mut policies: Vec<PolicyRank> = (0..choices.len())
            .map(|policy| PolicyRank {
                policy: choices[policy].to_string(),
                miss_ratios: of(policy).iter().map(|misses| sum(misses) / (requests as f64).max(1.0)).collect(),
                ..rank_against_lru(of(policy), lru, self.basis.rate)
            })
            .collect();
        let opt = policies.iter().position(|ranked| ranked.policy == "opt");
        let bound = opt.map(|opt| policies.remove(opt));
        policies.sort_by(|one, other| one.relative.total_cmp(&other.relative));
        Ok(PolicyRanking { capacities, requests, policies, bound })
    }

    /// The curves of policies at the sizes of LRU's, which is known for all keys. If the basis is a sample, a curve is
    /// LRU's plus the difference of the miniature simulations, from the size on at which those hold enough objects.
    pub fn curves(&self, policies: &[PolicySpec], lru: &[CurvePoint]) -> Vec<Vec<CurvePoint>> {
        let mini = self.miniature();
        if self.basis.rate < 1.0 {
            let smallest = mini.smallest();
            return mini.corrected(policies, &lru[lru.partition_point(|point| (point.capacity as f64) < smallest)..]);
        }
        mini.whole(policies, &lru.iter().map(|point| point.capacity).collect::<Vec<u64>>())
    }

    fn miniature(&self) -> MiniatureSimulation<'_> {
        let AdviceBasis { rate, by_size, seed, .. } = self.basis;
        MiniatureSimulation { requests: &self.requests, by_size, seed, rate, all: self.all }
    }

    /// Simulates every policy at every capacity, policy by policy.
    fn simulate(&self, choices: &[PolicySpec], capacities: &[u64]) -> Vec<GroupMisses> {
        let cells: Vec<(&PolicySpec, u64)> =
            choices.iter().flat_map(|choice| capacities.iter().map(move |capacity| (choice, *capacity))).collect();
        let mini = self.miniature();
        cells.into_par_iter().with_max_len(1).map(|(choice, capacity)| mini.misses(choice, capacity)).collect()
    }
}

fn capacities(footprint: f64) -> Vec<u64> {
    let mut capacities: Vec<u64> = SHARES.iter().map(|share| ((footprint * share) as u64).max(1)).collect();
    capacities.dedup();
    capacities
}

fn sum(misses: &GroupMisses) -> f64 {
    misses.iter().sum::<u64>() as f64
}

/// The mean over the sizes of the misses divided by LRU's, minus 1, and its uncertainty from the differences between
/// groups of keys.
fn rank_against_lru(own: &[GroupMisses], lru: &[GroupMisses], rate: f64) -> PolicyRank {
    let mut off = [0.0; KEY_GROUPS];
    let mut ratios = Vec::new();
    for (own, lru) in own.iter().zip(lru).filter(|(_, lru)| sum(lru) > 0.0) {
        let ratio = sum(own) / sum(lru);
        ratios.push(ratio);
        for (group, off) in off.iter_mut().enumerate() {
            *off += (own[group] as f64 - ratio * lru[group] as f64) / sum(lru);
        }
    }
    let sizes = (ratios.len() as f64).max(1.0);
    let relative = if ratios.is_empty() { 0.0 } else { ratios.iter().sum::<f64>() / sizes - 1.0 };
    let error = interval_half_width(&off.map(|off| off / sizes), rate);
    PolicyRank { policy: String::new(), relative, error, miss_ratios: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_ranked_by_its_mean_misses_relative_to_lru() {
        let misses = |each: u64| [each; KEY_GROUPS];
        let half = rank_against_lru(&[misses(5), misses(9)], &[misses(10), misses(10)], 0.5);
        assert!((half.relative + 0.3).abs() < 1e-12);
        assert_eq!(half.error, 0.0, "all groups of keys agree");
        let mut uneven = misses(10);
        uneven[0] = 30;
        assert!(rank_against_lru(&[uneven], &[misses(10)], 0.5).error > 0.1, "they do not");
        let mut uneven = misses(10);
        uneven[0] = 30;
        assert_eq!(rank_against_lru(&[uneven], &[misses(10)], 1.0).error, 0.0, "all keys were simulated");
        assert_eq!(
            rank_against_lru(&[misses(3)], &[misses(0)], 1.0).relative,
            0.0,
            "LRU has no misses to compare with"
        );
    }

    #[test]
    fn every_policy_but_opt_is_ranked_on_a_loop_that_lru_cannot_keep() {
        let text: String = (0..5000).map(|request| format!("{}\n", request % 100)).collect();
        let mut trace = crate::advise::basis::tests_trace(&text);
        let basis = AdviceBasis { by_size: false, unit_bytes: 4096, rate: 1.0, is_lru_sampled: false, seed: 1 };
        let ranking = PolicySample::read(&mut *trace, &basis).unwrap().rank(100.0).unwrap();
        assert_eq!(ranking.capacities, [1, 3, 10, 30, 60]);
        assert_eq!((ranking.requests, ranking.policies.len()), (5000, POLICIES.len() - 1));
        let bound = ranking.bound.unwrap();
        assert!(ranking.policies.iter().all(|ranked| ranked.relative >= bound.relative - 1e-12));
        assert!(ranking.policies[0].relative < -0.05, "{:?}", ranking.policies[0]);
        let lru = ranking.policies.iter().find(|ranked| ranked.policy == "lru").unwrap();
        assert_eq!((lru.relative, lru.miss_ratios[3]), (0.0, 1.0));
    }

    #[test]
    fn the_curve_of_a_sample_is_near_that_of_all_keys() {
        let key = |request: u64| (request * request * 7919 + request / 3) % 50_021;
        let text: String = (0..200_000).map(|request| format!("{}\n", key(request))).collect();
        let opens = || Ok(crate::advise::basis::tests_trace(&text));
        let whole = AdviceBasis { by_size: false, unit_bytes: 1, rate: 1.0, is_lru_sampled: false, seed: 1 };
        let (lru, _) = crate::advise::lru_curve(&opens, &whole).unwrap();
        let sizes: Vec<CurvePoint> = lru.points.iter().step_by(16).copied().collect();
        let read = |rate| PolicySample::read(&mut *opens().unwrap(), &AdviceBasis { rate, ..whole }).unwrap();
        let arc = ["arc".parse().unwrap()];
        let (exact, near) = (read(1.0).curves(&arc, &sizes).remove(0), read(0.2).curves(&arc, &sizes).remove(0));
        assert_eq!(exact.len(), sizes.len());
        assert!(near.iter().all(|point| point.capacity as f64 >= 64.0 / 0.2) && near.len() > 10);
        for point in near {
            let exact = exact.iter().find(|exact| exact.capacity == point.capacity).unwrap();
            assert!((point.miss_ratio - exact.miss_ratio).abs() < 0.02, "{point:?} {exact:?}");
            assert!(point.error.is_some() && exact.error.is_none());
        }
    }
}
