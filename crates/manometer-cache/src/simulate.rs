//! Simulates several policies at several sizes on the same requests.

use rayon::prelude::*;

use crate::policy::CacheCounters;
use crate::policy_spec::PolicySpec;
use crate::requests::RequestSequence;

/// The result of one simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulationResult {
    /// The index of the policy.
    pub policy: usize,
    /// The capacity in objects or bytes.
    pub capacity: u64,
    /// Its counters.
    pub counters: CacheCounters,
}

/// Simulates every policy at every capacity in parallel. Results are ordered by policy, then by capacity, as given.
pub fn simulate(
    requests: &RequestSequence,
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
