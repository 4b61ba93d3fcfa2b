//! All policies against LRU, on the same requests.

use rayon::prelude::*;
use serde::Serialize;

use super::basis::Basis;
use crate::CacheError;
use crate::policy::{Choice, POLICIES};
use crate::requests::{Details, Requests};
use crate::sampled::Sampled;
use manometer_trace::TraceReader;

/// The sizes at which policies are compared, as shares of what all objects take.
pub const SHARES: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
/// Into how many groups the keys are parted, to tell how sure a difference is.
const GROUPS: usize = 16;
/// Student's t at 97.5 % for one degree of freedom less than there are groups.
const STUDENT: f64 = 2.131;

/// A policy against LRU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Its name.
    pub policy: String,
    /// Its misses by LRU's, less 1, in the mean over the sizes: below 0 it misses less.
    pub relative: f64,
    /// Half of the 95 % interval around that; 0 where all keys were simulated.
    pub error: f64,
    /// Its miss ratios in the sample, at each size.
    pub miss_ratios: Vec<f64>,
}

/// All policies, the best first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// The sizes: objects, or bytes.
    pub capacities: Vec<u64>,
    /// The requests that were simulated.
    pub requests: u64,
    /// Every policy but OPT.
    pub policies: Vec<Ranked>,
    /// OPT, which knows what will be requested: no policy can do better where objects are alike.
    pub bound: Option<Ranked>,
}

/// Simulates every policy at shares of `footprint`, in miniature where the basis is a sample.
///
/// # Errors
/// The sample does not fit in memory.
pub fn rank(reader: &mut dyn TraceReader, basis: &Basis, footprint: f64) -> Result<Ranking, CacheError> {
    let details = POLICIES.iter().fold(Details { sizes: basis.by_size, ..Details::NONE }, |all, kind| {
        all.and(Details { sizes: false, ..kind.details })
    });
    let Sampled { requests, .. } = Sampled::read(reader, details, basis.sampling(), basis.seed, &mut |_| {})?;
    let capacities = capacities(footprint);
    let choices: Vec<Choice> = POLICIES.iter().map(|kind| kind.name.parse()).collect::<Result<_, _>>()?;
    let cells: Vec<(usize, u64)> =
        (0..choices.len()).flat_map(|policy| capacities.iter().map(move |capacity| (policy, *capacity))).collect();
    let misses: Vec<Misses> = cells
        .into_par_iter()
        .with_max_len(1)
        .map(|(policy, capacity)| misses(&choices[policy], capacity, &requests, basis))
        .collect();
    let of = |policy: usize| &misses[policy * capacities.len()..(policy + 1) * capacities.len()];
    let lru = choices.iter().position(|choice| choice.kind().name == "lru").map_or(&[][..], of);
    let mut policies: Vec<Ranked> = (0..choices.len())
        .map(|policy| Ranked {
            policy: choices[policy].to_string(),
            miss_ratios: of(policy).iter().map(|misses| misses.sum() / (requests.len() as f64).max(1.0)).collect(),
            ..against(of(policy), lru, basis.rate)
        })
        .collect();
    let opt = policies.iter().position(|ranked| ranked.policy == "opt");
    let bound = opt.map(|opt| policies.remove(opt));
    policies.sort_by(|one, other| one.relative.total_cmp(&other.relative));
    Ok(Ranking { capacities, requests: requests.len() as u64, policies, bound })
}

fn capacities(footprint: f64) -> Vec<u64> {
    let mut capacities: Vec<u64> = SHARES.iter().map(|share| ((footprint * share) as u64).max(1)).collect();
    capacities.dedup();
    capacities
}

/// The misses of each group of keys.
struct Misses([u64; GROUPS]);

impl Misses {
    fn sum(&self) -> f64 {
        self.0.iter().sum::<u64>() as f64
    }
}

fn misses(choice: &Choice, capacity: u64, requests: &Requests, basis: &Basis) -> Misses {
    let small = ((capacity as f64 * basis.rate).round() as u64).max(1);
    let mut groups = [0; GROUPS];
    let mut cache = choice.make(small, requests, basis.by_size, basis.seed);
    cache.run_with(requests, &mut |request, is_hit| groups[request.id as usize % GROUPS] += u64::from(!is_hit));
    Misses(groups)
}

/// The mean over the sizes of own misses by LRU's, less 1, and how sure it is by how far groups of keys are off it.
fn against(own: &[Misses], lru: &[Misses], rate: f64) -> Ranked {
    let mut off = [0.0; GROUPS];
    let mut ratios = Vec::new();
    for (own, lru) in own.iter().zip(lru).filter(|(_, lru)| lru.sum() > 0.0) {
        let ratio = own.sum() / lru.sum();
        ratios.push(ratio);
        for (group, off) in off.iter_mut().enumerate() {
            *off += (own.0[group] as f64 - ratio * lru.0[group] as f64) / lru.sum();
        }
    }
    let sizes = (ratios.len() as f64).max(1.0);
    let relative = if ratios.is_empty() { 0.0 } else { ratios.iter().sum::<f64>() / sizes - 1.0 };
    let groups = GROUPS as f64;
    let squares: f64 = off.iter().map(|off| (off / sizes).powi(2)).sum();
    let error = STUDENT * (groups / (groups - 1.0) * squares * (1.0 - rate)).sqrt();
    Ranked { policy: String::new(), relative, error, miss_ratios: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_told_by_the_mean_of_its_misses_by_those_of_lru() {
        let misses = |each: u64| Misses([each; GROUPS]);
        let half = against(&[misses(5), misses(9)], &[misses(10), misses(10)], 0.5);
        assert!((half.relative + 0.3).abs() < 1e-12);
        assert_eq!(half.error, 0.0, "all groups of keys agree");
        let mut uneven = misses(10);
        uneven.0[0] = 30;
        assert!(against(&[uneven], &[misses(10)], 0.5).error > 0.1, "they do not");
        let mut uneven = misses(10);
        uneven.0[0] = 30;
        assert_eq!(against(&[uneven], &[misses(10)], 1.0).error, 0.0, "all keys were simulated");
        assert_eq!(against(&[misses(3)], &[misses(0)], 1.0).relative, 0.0, "LRU has no misses to compare with");
    }

    #[test]
    fn every_policy_but_opt_is_ranked_on_a_loop_that_lru_cannot_keep() {
        let text: String = (0..5000).map(|request| format!("{}\n", request % 100)).collect();
        let mut trace = crate::advise::basis::tests_trace(&text);
        let basis = Basis { by_size: false, unit_bytes: 4096, rate: 1.0, is_lru_sampled: false, seed: 1 };
        let ranking = rank(&mut *trace, &basis, 100.0).unwrap();
        assert_eq!(ranking.capacities, [1, 3, 10, 30]);
        assert_eq!((ranking.requests, ranking.policies.len()), (5000, POLICIES.len() - 1));
        let bound = ranking.bound.unwrap();
        assert!(ranking.policies.iter().all(|ranked| ranked.relative >= bound.relative - 1e-12));
        assert!(ranking.policies[0].relative < -0.05, "{:?}", ranking.policies[0]);
        let lru = ranking.policies.iter().find(|ranked| ranked.policy == "lru").unwrap();
        assert_eq!((lru.relative, lru.miss_ratios[3]), (0.0, 1.0));
    }
}
