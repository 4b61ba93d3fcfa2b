//! Replacement policies: one per file, and a line in [`POLICIES`].

mod adaptive;
mod eviction_log;
mod lists;
mod priority;
mod queue;
mod ranked;
mod smq_levels;
pub(crate) mod time_source;

use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::requests::RequestSequence;

pub use dm_cache_smq::blocks_per_hot_spot;
pub use eviction_log::EvictionLog;
pub use time_source::TimeSource;

/// The counters of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// The number of requests.
    pub requests: u64,
    /// Misses, including bypassed requests.
    pub misses: u64,
    /// Misses for objects larger than the whole cache.
    pub bypassed: u64,
    /// Bytes requested, if sizes are known.
    pub bytes: u64,
    /// Bytes missed.
    pub missed_bytes: u64,
}

impl CacheCounters {
    /// The miss ratio; `None` without requests.
    pub fn miss_ratio(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.misses as f64 / self.requests as f64)
    }

    /// The byte miss ratio.
    pub fn byte_miss_ratio(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.missed_bytes as f64 / self.bytes as f64)
    }
}

/// A cache with its replacement policy.
pub trait Policy: Send {
    /// The capacity in objects, or in bytes with sizes.
    fn capacity(&self) -> u64;

    /// The used capacity.
    fn used(&self) -> u64;

    /// Whether an object is cached.
    fn holds(&self, id: KeyId) -> bool;

    /// Handles a request for an object no larger than the cache. Returns whether it hit. After a miss the policy
    /// decides on admission.
    fn request(&mut self, request: &CacheRequest) -> bool;

    /// Removes an object, if cached, without a request. It does not count as evicted and leaves no ghost; other state
    /// of the policy (ghosts, sketches, hot spots) stays.
    fn remove(&mut self, id: KeyId);

    /// Says whether an object, if cached, differs from its origin. Policies that evict single objects have these written
    /// back then, and need not know.
    fn set_dirty(&mut self, _id: KeyId, _is_dirty: bool) {}

    /// The share of the cache that cannot be evicted now, if the policy looks at what is dirty.
    fn unavailable_share(&self) -> f64 {
        0.0
    }

    /// The log of evicted objects.
    fn eviction_log(&mut self) -> &mut EvictionLog;

    /// Starts recording evictions.
    fn record_evictions(&mut self) {
        self.eviction_log().enable();
    }

    /// Moves the objects evicted since the last call to the end of `into`, in order: those that were cached before a
    /// request and are not after it.
    fn drain_evictions(&mut self, into: &mut Vec<KeyId>) {
        self.eviction_log().drain_into(into);
    }

    /// Handles all requests in order.
    fn run(&mut self, requests: &RequestSequence) -> CacheCounters {
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

    /// Handles all requests in order, and reports for each whether it hit.
    fn run_with(&mut self, requests: &RequestSequence, on_request: &mut dyn FnMut(&CacheRequest, bool)) {
        let capacity = self.capacity();
        for position in 0..requests.len() {
            let request = requests.at(position);
            let is_hit = request.size.max(1) <= capacity && self.request(&request);
            on_request(&request, is_hit);
        }
    }
}

/// The configuration of a cache.
#[derive(Debug, Clone, Copy)]
pub struct CacheConfig<'a> {
    /// The capacity in objects, or in bytes with sizes.
    pub capacity: u64,
    /// Whether objects have sizes.
    pub by_size: bool,
    /// The future requests: their number of keys, and for offline policies the requests themselves.
    pub requests: &'a RequestSequence,
    /// The values of the parameters, in order.
    pub parameters: &'a [f64],
    /// The seed of random choices.
    pub seed: u64,
}

impl CacheConfig<'_> {
    /// The mean weight of an object.
    pub(crate) fn mean_weight(&self) -> u64 {
        let sizes = if self.by_size { self.requests.sizes() } else { &[] };
        let bytes: u128 = sizes.iter().map(|size| u128::from((*size).max(1))).sum();
        bytes.checked_div(sizes.len() as u128).unwrap_or(1).max(1) as u64
    }

    /// The number of objects of mean weight that fit, if that many exist.
    pub(crate) fn objects(&self) -> u64 {
        (self.capacity / self.mean_weight()).clamp(1, self.requests.keys().max(1) as u64)
    }
}

/// A parameter of a policy or an admission filter.
#[derive(Debug, Clone, Copy)]
pub struct PolicyParameter {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// The default value.
    pub default: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// Whether it is a whole number.
    pub is_whole: bool,
}

/// A switch: off unless it is 1.
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

/// A kind of replacement policy.
#[derive(Debug, Clone, Copy)]
pub struct PolicyKind {
    /// Its name.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// Its source.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [PolicyParameter],
    /// The fields of requests that it needs in addition to keys.
    pub details: RequestFields,
    /// Creates a cache.
    pub create: for<'a> fn(&CacheConfig<'a>) -> Box<dyn Policy + 'a>,
}

impl PartialEq for PolicyKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Creates `$policy` from a [`CacheConfig`], by objects or by bytes.
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

/// Declares the modules of the policies and [`POLICIES`], their list.
macro_rules! policies {
    ($($module:ident: $($kind:ident)+;)+) => {
        $(mod $module;)+

        /// Every policy.
        pub const POLICIES: &[&PolicyKind] = &[$($(&$module::$kind),+),+];
    };
}

// A new policy is a file in this directory and a line here.
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

/// LRU, whose curve is computed without simulation.
pub(crate) const LRU: &PolicyKind = &lru::KIND;
