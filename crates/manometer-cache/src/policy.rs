//! What a cache keeps and what it evicts: a file for each policy, a line in [`POLICIES`].

mod adaptive;
mod arc;
mod bcache;
mod car;
mod choice;
mod clock;
mod dm_cache_mq;
mod dm_cache_smq;
mod evicted;
mod fifo;
mod gdsf;
mod hyperbolic;
mod lecar;
mod levels;
mod lfu;
mod lfu_da;
mod lirs;
mod lists;
mod lru;
mod lru_k;
mod mq;
mod mru;
mod opt;
mod prioritised;
mod queue;
mod random;
mod ranked;
mod s3_fifo;
mod seconds;
mod sieve;
mod slru;
mod two_q;
mod w_tiny_lfu;

use crate::number::Id;
use crate::requests::{Details, Requests};

pub use choice::Choice;
pub use evicted::Evicted;
pub use seconds::Seconds;

/// One request to a cache.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// The number of the key.
    pub id: Id,
    /// Its place among all requests.
    pub position: u32,
    /// The bytes of the object; 1 where sizes do not count. An empty object takes a byte of a cache.
    pub size: u64,
    /// Whether it writes.
    pub is_write: bool,
    /// When it came.
    pub time_ns: u64,
}

/// What a cache did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests.
    pub requests: u64,
    /// Of these, not found in the cache, those that were bypassed among them.
    pub misses: u64,
    /// Of the misses, for objects larger than the whole cache.
    pub bypassed: u64,
    /// Bytes that were asked for, where sizes are known.
    pub bytes: u64,
    /// Of these, not found in the cache.
    pub missed_bytes: u64,
}

impl Tally {
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
    fn holds(&self, id: Id) -> bool;

    /// Answers a request for an object that is no larger than the cache: whether it was there. What was not there is
    /// admitted or not, as the policy sees fit.
    fn request(&mut self, request: &Request) -> bool;

    /// Drops an object from the cache, if it is there, without a request: it is not told as evicted. No ghost is left of
    /// it; what else the policy knows of keys (ghosts of others, sketches, hot spots) stays.
    fn remove(&mut self, id: Id);

    /// Where the objects are noted that leave the cache.
    fn evicted(&mut self) -> &mut Evicted;

    /// Notes from now on which objects leave the cache.
    fn tell_evictions(&mut self) {
        self.evicted().tell();
    }

    /// Moves the objects that left the cache since the last call to the end of `into`, in the order in which they left:
    /// those that were there before a request and are not after it.
    fn take_evicted(&mut self, into: &mut Vec<Id>) {
        self.evicted().take(into);
    }

    /// Answers all requests in turn.
    fn run(&mut self, requests: &Requests) -> Tally {
        let capacity = self.capacity();
        let mut tally = Tally { requests: requests.len() as u64, ..Tally::default() };
        for position in 0..requests.len() {
            let request = requests.at(position);
            tally.bytes = tally.bytes.saturating_add(request.size);
            let fits = request.size.max(1) <= capacity;
            if !(fits && self.request(&request)) {
                tally.misses += 1;
                tally.missed_bytes = tally.missed_bytes.saturating_add(request.size);
                tally.bypassed += u64::from(!fits);
            }
        }
        tally
    }

    /// Answers all requests in turn, and tells of each whether it was a hit.
    fn run_with(&mut self, requests: &Requests, tell: &mut dyn FnMut(&Request, bool)) {
        let capacity = self.capacity();
        for position in 0..requests.len() {
            let request = requests.at(position);
            let is_hit = request.size.max(1) <= capacity && self.request(&request);
            tell(&request, is_hit);
        }
    }
}

/// What a cache is made for.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
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

impl Setting<'_> {
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

/// A number that a policy or an admission can be told.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
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
pub(crate) const SWITCH: Parameter =
    Parameter { name: "", meaning: "", default: 0.0, min: 0.0, max: 1.0, is_whole: true };

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
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it keeps, in a line.
    pub about: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it can be told.
    pub parameters: &'static [Parameter],
    /// What it looks at in requests beside their keys.
    pub details: Details,
    /// Makes a cache.
    pub make: for<'a> fn(&Setting<'a>) -> Box<dyn Policy + 'a>,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every policy.
pub const POLICIES: &[&Kind] = &[
    &opt::KIND,
    &fifo::KIND,
    &lru::KIND,
    &mru::KIND,
    &random::KIND,
    &clock::KIND,
    &sieve::KIND,
    &lfu::KIND,
    &lfu_da::KIND,
    &two_q::KIND,
    &slru::KIND,
    &lru_k::KIND,
    &lirs::KIND,
    &arc::KIND,
    &car::KIND,
    &mq::KIND,
    &s3_fifo::KIND,
    &w_tiny_lfu::KIND,
    &gdsf::KIND,
    &lecar::KIND,
    &hyperbolic::KIND,
    &dm_cache_mq::KIND,
    &dm_cache_smq::KIND,
    &bcache::LRU,
    &bcache::FIFO,
    &bcache::RANDOM,
];

/// Makes `$policy` of a [`Setting`], by objects or by bytes.
macro_rules! by_weight {
    ($policy:ident) => {{
        fn make<'a>(setting: &$crate::policy::Setting<'a>) -> Box<dyn $crate::policy::Policy + 'a> {
            if setting.by_size {
                Box::new($policy::<$crate::weight::Bytes>::new(setting))
            } else {
                Box::new($policy::<$crate::weight::One>::new(setting))
            }
        }
        make
    }};
}
use by_weight;
