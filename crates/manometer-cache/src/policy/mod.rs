//! What a cache keeps and what it evicts: a file for each policy, a line in [`POLICIES`].

mod adaptive;
mod eviction_log;
mod lists;
mod priority;
mod queue;
mod ranked;
mod smq_levels;
pub(crate) mod time_source;

use crate::key_id::KeyId;
use crate::request::{Request, RequestFields};
use crate::requests::Requests;

pub use eviction_log::EvictionLog;
pub use time_source::TimeSource;

/// What a cache did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Requests.
    pub requests: u64,
    /// Of these, not found in the cache, those that were bypassed among them.
    pub misses: u64,
    /// Of the misses, for objects larger than the whole cache.
    pub bypassed: u64,
    /// Bytes that were requested, where sizes are known.
    pub bytes: u64,
    /// Of these, not found in the cache.
    pub missed_bytes: u64,
}

impl CacheCounters {
    /// Misses for each request; none without requests.
    pub fn miss_ratio(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.misses as f64 / self.requests as f64)
    }

    /// Missed bytes for each byte.
    pub fn byte_miss_ratio(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.missed_bytes as f64 / self.bytes as f64)
    }
}

/// A cache with its policy.
pub trait Policy: Send {
    /// What it holds at most: objects, or bytes where sizes count.
    fn capacity(&self) -> u64;

    /// What it holds now.
    fn used(&self) -> u64;

    /// Whether an object is in the cache.
    fn holds(&self, id: KeyId) -> bool;

    /// Answers a request for an object that is no larger than the cache: whether it was there. What was not there is
    /// admitted or not, as the policy sees fit.
    fn request(&mut self, request: &Request) -> bool;

    /// Drops an object from the cache, if it is there, without a request: it does not count as evicted. No ghost is left of
    /// it; what else the policy knows of keys (ghosts of others, sketches, hot spots) stays.
    fn remove(&mut self, id: KeyId);

    /// Where the objects are noted that leave the cache.
    fn eviction_log(&mut self) -> &mut EvictionLog;

    /// Notes from now on which objects leave the cache.
    fn record_evictions(&mut self) {
        self.eviction_log().enable();
    }

    /// Moves the objects that left the cache since the last call to the end of `into`, in the order in which they left:
    /// those that were there before a request and are not after it.
    fn drain_evictions(&mut self, into: &mut Vec<KeyId>) {
        self.eviction_log().drain_into(into);
    }

    /// Answers all requests in turn.
    fn run(&mut self, requests: &Requests) -> CacheCounters {
        let capacity = self.capacity();
        let mut counters = CacheCounters { requests: requests.len() as u64, ..CacheCounters::default() };
        for position in 0..requests.len() {
            let request = requests.at(position);
            counters.bytes = counters.bytes.saturating_add(request.size);
            let fits = request.size.max(1) <= capacity;
            if !(fits && self.request(&request)) {
                counters.misses += 1;
                counters.missed_bytes = counters.missed_bytes.saturating_add(request.size);
                counters.bypassed += u64::from(!fits);
            }
        }
        counters
    }

    /// Answers all requests in turn, and reports of each whether it was a hit.
    fn run_with(&mut self, requests: &Requests, on_request: &mut dyn FnMut(&Request, bool)) {
        let capacity = self.capacity();
        for position in 0..requests.len() {
            let request = requests.at(position);
            let is_hit = request.size.max(1) <= capacity && self.request(&request);
            on_request(&request, is_hit);
        }
    }
}

/// What a cache is made for.
#[derive(Debug, Clone, Copy)]
pub struct CacheConfig<'a> {
    /// The most that it holds: objects, or bytes where sizes count.
    pub capacity: u64,
    /// Whether sizes count.
    pub by_size: bool,
    /// The requests that will come: how many keys, and for the policies that know the future, which.
    pub requests: &'a Requests,
    /// The values of the parameters, in their order.
    pub parameters: &'a [f64],
    /// Where chance comes from.
    pub seed: u64,
}

impl CacheConfig<'_> {
    /// What an object of the requests weighs in the mean.
    pub(crate) fn mean_weight(&self) -> u64 {
        let sizes = if self.by_size { self.requests.sizes() } else { &[] };
        let bytes: u128 = sizes.iter().map(|size| u128::from((*size).max(1))).sum();
        bytes.checked_div(sizes.len() as u128).unwrap_or(1).max(1) as u64
    }

    /// How many objects of mean weight fit, where there are so many.
    pub(crate) fn objects(&self) -> u64 {
        (self.capacity / self.mean_weight()).clamp(1, self.requests.keys().max(1) as u64)
    }
}

/// A parameter of a policy or an admission.
#[derive(Debug, Clone, Copy)]
pub struct PolicyParameter {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// What it is where nothing is said.
    pub default: f64,
    /// The least it can be.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// Whether it is a whole number.
    pub is_whole: bool,
}

/// What is off unless it is 1.
pub(crate) const SWITCH: PolicyParameter =
    PolicyParameter { name: "", meaning: "", default: 0.0, min: 0.0, max: 1.0, is_whole: true };

/// Whether a cache has no room for another object of mean weight.
fn is_full(capacity: u64, used: u64, objects: u64) -> bool {
    u128::from(capacity.saturating_sub(used)) * u128::from(objects) < u128::from(used)
}

/// A share of a capacity, rounded down.
fn share(capacity: u64, share: f64) -> u64 {
    (capacity as f64 * share) as u64
}

/// A policy that there is.
#[derive(Debug, Clone, Copy)]
pub struct PolicyKind {
    /// Its name.
    pub name: &'static str,
    /// What it keeps, in a line.
    pub about: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [PolicyParameter],
    /// What it looks at in requests beside their keys.
    pub details: RequestFields,
    /// Makes a cache.
    pub create: for<'a> fn(&CacheConfig<'a>) -> Box<dyn Policy + 'a>,
}

impl PartialEq for PolicyKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Makes `$policy` of a [`Setting`], by objects or by bytes.
macro_rules! by_weight {
    ($policy:ident) => {{
        fn create<'a>(setting: &$crate::policy::CacheConfig<'a>) -> Box<dyn $crate::policy::Policy + 'a> {
            if setting.by_size {
                Box::new($policy::<$crate::weight::ByteWeight>::new(setting))
            } else {
                Box::new($policy::<$crate::weight::UnitWeight>::new(setting))
            }
        }
        create
    }};
}

/// Declares the modules of the policies, and [`POLICIES`], the list of all of them.
macro_rules! policies {
    ($($module:ident: $($kind:ident)+;)+) => {
        $(mod $module;)+

        /// Every policy.
        pub const POLICIES: &[&PolicyKind] = &[$($(&$module::$kind),+),+];
    };
}

// A new policy is a file in this folder and a line here.
policies! {
    opt: KIND;
    fifo: KIND;
    lru: KIND;
    mru: KIND;
    random: KIND;
    clock: KIND;
    sieve: KIND;
    lfu: KIND;
    lfu_da: KIND;
    two_q: KIND;
    slru: KIND;
    lru_k: KIND;
    lirs: KIND;
    arc: KIND;
    car: KIND;
    mq: KIND;
    s3_fifo: KIND;
    w_tiny_lfu: KIND;
    gdsf: KIND;
    lecar: KIND;
    hyperbolic: KIND;
    dm_cache_mq: KIND;
    dm_cache_smq: KIND;
    bcache: LRU FIFO RANDOM;
}

/// The policy whose curve is computed without a simulation.
pub(crate) const LRU: &PolicyKind = &lru::KIND;
