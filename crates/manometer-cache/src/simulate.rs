//! Several policies at several sizes over the same requests.

use rayon::prelude::*;

use crate::policy::CacheCounters;
use crate::policy_spec::PolicySpec;
use crate::requests::Requests;

/// What one cache did with all requests.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulationResult {
    /// Which policy, by its place.
    pub policy: usize,
    /// What it held at most: objects, or bytes.
    pub capacity: u64,
    /// What it did.
    pub counters: CacheCounters,
}

/// Every policy at every capacity, each over all requests, spread over the cores: policy by policy, in the order given.
pub fn simulate(
    requests: &Requests,
    policies: &[PolicySpec],
    capacities: &[u64],
    by_size: bool,
    seed: u64,
) -> Vec<SimulationResult> {
    let caches: Vec<(usize, u64)> =
        (0..policies.len()).flat_map(|policy| capacities.iter().map(move |capacity| (policy, *capacity))).collect();
    let run = |(policy, capacity): (usize, u64)| {
        let mut cache = policies[policy].create(capacity, requests, by_size, seed);
        SimulationResult { policy, capacity, counters: cache.run(requests) }
    };
    caches.into_par_iter().map(run).collect()
}
