//! What a cache evicts at which request, and how recently objects were requested: for any sequence of requests, what
//! Table 3.1 of the cache thesis (dos Santos, UFPR 2015) shows of nine.
//!
//! All lists are bounded, and say how much they leave out.

use rayon::prelude::*;

use crate::key_id::KeyId;
use crate::policy_spec::PolicySpec;
use crate::requests::RequestSequence;

/// The most requests listed for a cache.
pub const EVICTING_REQUESTS_MAX: usize = 100;
/// The most evicted objects listed for a request.
pub const EVICTED_MAX: usize = 20;
/// The most objects listed with their recency.
pub const RECENT_OBJECTS_MAX: usize = 20;
/// The most requests listed for one of them.
pub const REQUEST_TIMES_MAX: usize = 10;

/// A request that evicted objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvictingRequest {
    /// The virtual time: the number of the request, from 1.
    pub time: u64,
    /// The requested object.
    pub id: KeyId,
    /// The first evicted objects, in order.
    pub evicted: Vec<KeyId>,
    /// How many further objects it evicted.
    pub more: u64,
}

/// The evictions of a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEvictions {
    /// The index of the policy.
    pub policy: usize,
    /// The capacity in objects or bytes.
    pub capacity: u64,
    /// The first requests that evicted objects.
    pub requests: Vec<EvictingRequest>,
    /// How many further requests did.
    pub more: u64,
    /// Whether each of the recent objects is cached at the end.
    pub is_cached: Vec<bool>,
}

/// An object and its last requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentObject {
    /// The object.
    pub id: KeyId,
    /// The virtual times of its last requests, in order.
    pub times: Vec<u64>,
    /// How many earlier requests it had.
    pub earlier: u64,
    /// The number of other objects requested since its last request.
    pub recency: u64,
    /// The number of other objects requested between its last two requests; `None` if it had one.
    pub inter_reference_recency: Option<u64>,
}

/// The evictions of several caches on the same requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evictions {
    /// The caches, ordered by policy, then by capacity, as given.
    pub caches: Vec<CacheEvictions>,
    /// The most recently requested objects, the last one first.
    pub recent: Vec<RecentObject>,
    /// How many further objects were requested.
    pub more: u64,
}

/// Simulates every policy at every capacity, and records what each evicts.
pub fn evictions(
    requests: &RequestSequence,
    policies: &[PolicySpec],
    capacities: &[u64],
    by_size: bool,
    seed: u64,
) -> Evictions {
    let recent = recent_objects(requests);
    let caches: Vec<(usize, u64)> =
        (0..policies.len()).flat_map(|policy| capacities.iter().map(move |capacity| (policy, *capacity))).collect();
    let run = |(policy, capacity): (usize, u64)| {
        let mut cache = policies[policy].create(capacity, requests, by_size, seed);
        cache.record_evictions();
        let (mut listed, mut more, mut evicted) = (Vec::new(), 0, Vec::new());
        for position in 0..requests.len() {
            let request = requests.at(position);
            if request.size.max(1) > capacity {
                continue;
            }
            cache.request(&request);
            cache.drain_evictions(&mut evicted);
            if evicted.is_empty() {
                continue;
            }
            if listed.len() < EVICTING_REQUESTS_MAX {
                listed.push(evicting(position, request.id, &evicted));
            } else {
                more += 1;
            }
            evicted.clear();
        }
        let is_cached = recent.iter().map(|object| cache.holds(object.id)).collect();
        CacheEvictions { policy, capacity, requests: listed, more, is_cached }
    };
    let caches = caches.into_par_iter().map(run).collect();
    let more = requests.keys() as u64 - recent.len() as u64;
    Evictions { caches, recent, more }
}

fn evicting(position: usize, id: KeyId, evicted: &[KeyId]) -> EvictingRequest {
    let listed = evicted.len().min(EVICTED_MAX);
    EvictingRequest {
        time: position as u64 + 1,
        id,
        evicted: evicted[..listed].to_vec(),
        more: (evicted.len() - listed) as u64,
    }
}

fn recent_objects(requests: &RequestSequence) -> Vec<RecentObject> {
    let ids = requests.ids();
    // The number of the last listed object whose walk met each key.
    let mut met = vec![0; requests.keys()];
    let mut is_listed = vec![false; requests.keys()];
    let mut recent = Vec::new();
    for last in (0..ids.len()).rev() {
        if recent.len() == RECENT_OBJECTS_MAX {
            break;
        }
        if !std::mem::replace(&mut is_listed[ids[last] as usize], true) {
            recent.push(recent_object(ids, last, recent.len(), &mut met));
        }
    }
    recent
}

/// The object whose last request is at `last`, the `recency`-th from the end.
fn recent_object(ids: &[KeyId], last: usize, recency: usize, met: &mut [usize]) -> RecentObject {
    let (id, walk) = (ids[last], recency + 1);
    let (mut times, mut earlier, mut others, mut between) = (vec![last as u64 + 1], 0, 0, None);
    for position in (0..last).rev() {
        if ids[position] == id {
            between = between.or(Some(others));
            if times.len() < REQUEST_TIMES_MAX {
                times.push(position as u64 + 1);
            } else {
                earlier += 1;
            }
        } else if std::mem::replace(&mut met[ids[position] as usize], walk) != walk {
            others += 1;
        }
    }
    times.reverse();
    RecentObject { id, times, earlier, recency: recency as u64, inter_reference_recency: between }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: &[u64], policy: &str, capacity: u64) -> Evictions {
        let requests = RequestSequence::from_keys(keys.iter().copied()).unwrap();
        evictions(&requests, &[policy.parse().unwrap()], &[capacity], false, 1)
    }

    #[test]
    fn each_policy_evicts_what_its_definition_says() {
        let evicted = |policy: &str| -> Vec<(u64, Vec<KeyId>)> {
            let evictions = of(&[0, 1, 2, 0, 3, 4], policy, 3);
            evictions.caches[0].requests.iter().map(|request| (request.time, request.evicted.clone())).collect()
        };
        assert_eq!(evicted("fifo"), [(5, vec![0]), (6, vec![1])]);
        assert_eq!(evicted("lru"), [(5, vec![1]), (6, vec![2])]);
        assert_eq!(evicted("mru"), [(5, vec![0]), (6, vec![3])]);
    }

    #[test]
    fn one_request_may_evict_many() {
        let mut objects: Vec<(u64, u64)> = (0..30).map(|key| (key, 1)).collect();
        objects.push((30, 30));
        let requests = RequestSequence::from_objects(&objects).unwrap();
        let evictions = evictions(&requests, &["lru".parse().unwrap()], &[30], true, 1);
        let CacheEvictions { requests, more, is_cached, .. } = &evictions.caches[0];
        assert_eq!((requests.len(), requests[0].time, requests[0].evicted.len()), (1, 31, EVICTED_MAX));
        assert_eq!((requests[0].more, *more, is_cached[0], is_cached[1]), (10, 0, true, false));
    }

    #[test]
    fn long_lists_end_with_how_many_more_there_are() {
        let evictions = of(&(0..200).collect::<Vec<u64>>(), "lru", 50);
        assert_eq!((evictions.caches[0].requests.len(), evictions.caches[0].more), (EVICTING_REQUESTS_MAX, 50));
        assert_eq!((evictions.recent.len(), evictions.more), (RECENT_OBJECTS_MAX, 180));
        let often = of(&[7; 25], "lru", 1);
        assert_eq!((often.recent[0].times.len(), often.recent[0].earlier), (REQUEST_TIMES_MAX, 15));
        assert_eq!(often.recent[0].inter_reference_recency, Some(0));
    }
}
