//! Every policy against a slow, obvious model of it, written from the definition: request by request, on random
//! traces, they hit and miss alike and hold as much.

mod admission;
mod arc;
mod bcache;
mod car;
mod clock;
mod dm_cache_mq;
mod dm_cache_smq;
mod hyperbolic;
mod lecar;
mod lirs;
mod list;
mod lru_k;
mod mq;
mod opt;
mod queue;
mod random;
mod ranked;
mod s3_fifo;
mod sieve;
mod sketch;
mod slru;
mod traces;
mod two_q;
mod w_tiny_lfu;

use std::collections::{BTreeSet, HashMap, HashSet};

use manometer_cache::PolicySpec;
use manometer_cache::admission::ADMISSIONS;
use manometer_cache::policy::{POLICIES, PolicyKind};
use manometer_cache::{CacheRequest, RequestSequence};
use proptest::prelude::*;

use traces::{Object, by_object, by_size};

/// A cache in its plainest form.
pub trait Model {
    /// Whether the object was there.
    fn request(&mut self, request: &CacheRequest) -> bool;
    /// What is held.
    fn held(&self) -> Vec<Object>;
}

/// What a model is made for.
pub struct ModelConfig<'a> {
    /// The most that it holds.
    pub capacity: u64,
    /// All requests with their weights; those that do not fit are never passed on.
    pub objects: &'a [Object],
    /// The values of the policy's parameters.
    pub parameters: Vec<f64>,
}

impl ModelConfig<'_> {
    /// The mean weight of all requests' objects, rounded down; 1 where there are none.
    pub fn mean(&self) -> u64 {
        let weights: u64 = self.objects.iter().map(|object| object.1).sum();
        weights.checked_div(self.objects.len() as u64).unwrap_or(1)
    }

    /// How many objects of mean weight fit, where there are so many.
    pub fn fitting(&self) -> u64 {
        let keys: HashSet<u64> = self.objects.iter().map(|object| object.0).collect();
        (self.capacity / self.mean()).min(keys.len() as u64).max(1)
    }

    /// The capacity times a parameter, rounded down.
    pub fn share(&self, parameter: usize) -> u64 {
        (self.capacity as f64 * self.parameters[parameter]) as u64
    }
}

fn model<'a>(name: &str, setting: ModelConfig<'a>) -> Box<dyn Model + 'a> {
    match name {
        "opt" => Box::new(opt::Opt::new(setting)),
        "fifo" => Box::new(queue::Queue::new(setting, false, false)),
        "lru" => Box::new(queue::Queue::new(setting, true, false)),
        "mru" => Box::new(queue::Queue::new(setting, true, true)),
        "clock" => Box::new(clock::Clock::new(setting)),
        "sieve" => Box::new(sieve::Sieve::new(setting)),
        "lirs" => Box::new(lirs::Lirs::new(setting)),
        "arc" => Box::new(arc::Arc::new(setting)),
        "mq" => Box::new(mq::Mq::new(setting)),
        "s3-fifo" => Box::new(s3_fifo::S3Fifo::new(setting)),
        "random" => Box::new(random::Random::new(setting)),
        "lfu" => Box::new(ranked::Ranked::new(setting, |_, requests, _| requests)),
        "lfu-da" => Box::new(ranked::Ranked::new(setting, |age, requests, _| age + requests)),
        "gdsf" => Box::new(ranked::Ranked::new(setting, |age, requests, size| age + requests / size)),
        "lru-k" => Box::new(lru_k::LruK::new(setting)),
        "2q" => Box::new(two_q::TwoQ::new(setting)),
        "slru" => Box::new(slru::Slru::new(setting)),
        "car" => Box::new(car::Car::new(setting)),
        "w-tinylfu" => Box::new(w_tiny_lfu::WTinyLfu::new(setting)),
        "lecar" => Box::new(lecar::LeCar::new(setting)),
        "hyperbolic" => Box::new(hyperbolic::Hyperbolic::new(setting)),
        "dm-cache-mq" => Box::new(dm_cache_mq::DmCacheMq::new(setting)),
        "dm-cache-smq" => Box::new(dm_cache_smq::DmCacheSmq::new(setting)),
        "bcache" => Box::new(bcache::Bcache::new(setting, "lru")),
        "bcache-fifo" => Box::new(bcache::Bcache::new(setting, "fifo")),
        "bcache-random" => Box::new(bcache::Bcache::new(setting, "random")),
        _ => panic!("{name} has no model: write one"),
    }
}

/// Parameters besides the defaults that are tried.
fn variants(name: &str) -> &'static [&'static str] {
    match name {
        "clock" => &["clock:bits=2"],
        "2q" => &["2q:in=0:out=0", "2q:in=1", "2q:in=0.5:out=2"],
        "slru" => &["slru:segments=1", "slru:segments=2:fill=1", "slru:segments=16", "slru:fill=1"],
        "lru-k" => &["lru-k:k=1", "lru-k:k=3:history=0.5", "lru-k:k=4:history=0", "lru-k:history=3"],
        "w-tinylfu" => &["w-tinylfu:window=0", "w-tinylfu:window=1", "w-tinylfu:window=0.3:protected=0.4"],
        "lecar" => &["lecar:rate=100:discount=1", "lecar:rate=0", "lecar:history=0", "lecar:discount=0:history=2"],
        "hyperbolic" => &["hyperbolic:samples=1", "hyperbolic:samples=3"],
        "bcache" => &["bcache:buckets=1", "bcache:buckets=3"],
        "bcache-fifo" => &["bcache-fifo:buckets=1", "bcache-fifo:buckets=3"],
        "bcache-random" => &["bcache-random:buckets=1", "bcache-random:buckets=3"],
        "lirs" => &["lirs:queue=0.3", "lirs:skip-repeats=1", "lirs:queue=1"],
        "mq" => &["mq:lifetime=3", "mq:queues=3:lifetime=10:history=0.5", "mq:recall-first=1:history=1", "mq:queues=1"],
        "s3-fifo" => {
            &["s3-fifo:small=0.5:ghost=0.3", "s3-fifo:threshold=1:ghost=2", "s3-fifo:small=0", "s3-fifo:small=1"]
        }
        _ => &[],
    }
}

const SEED: u64 = 7;

fn agree(text: &str, capacity: u64, objects: &[Object], is_by_size: bool) -> Result<(), TestCaseError> {
    let choice: PolicySpec = text.parse().unwrap();
    let requests = if is_by_size {
        RequestSequence::from_objects(objects).unwrap()
    } else {
        RequestSequence::from_keys(objects.iter().map(|(key, _)| *key)).unwrap()
    };
    let objects: Vec<Object> =
        std::iter::zip(requests.ids(), objects).map(|(id, object)| (u64::from(*id), object.1)).collect();
    let mut fast = choice.create(capacity, &requests, is_by_size, SEED);
    let parameters = choice.parameters().to_vec();
    let setting = ModelConfig { capacity, objects: &objects, parameters };
    let fitting = setting.fitting();
    let mut slow = model(choice.kind().name, setting);
    if let Some((admission, parameters)) = choice.admission() {
        slow = Box::new(admission::Admitted::new(slow, admission.name, parameters[0], fitting));
    }
    let (mut expected, mut evicted) = (BTreeSet::new(), Vec::new());
    fast.record_evictions();
    for (position, (id, size)) in objects.iter().enumerate().filter(|(_, object)| object.1 <= capacity) {
        let (id, position) = (*id as u32, position as u32);
        let request =
            CacheRequest { id, position, size: *size, is_write: writes(position), is_whole: true, time_ns: 0 };
        let was_held = fast.holds(id);
        let is_hit = fast.request(&request);
        prop_assert_eq!(
            is_hit,
            slow.request(&request),
            "{}, capacity {}, request {} of {:?}",
            text,
            capacity,
            position,
            objects
        );
        prop_assert_eq!(is_hit, was_held, "{}, capacity {}, request {} of {:?}", text, capacity, position, objects);
        let held = slow.held();
        let used: u64 = held.iter().map(|(_, size)| *size).sum();
        prop_assert_eq!(fast.used(), used, "{}, capacity {}, request {} of {:?}", text, capacity, position, objects);
        prop_assert!(used <= capacity, "{}, capacity {}, request {} of {:?}", text, capacity, position, objects);
        let holds = held.iter().all(|(id, _)| fast.holds(*id as u32));
        prop_assert!(holds, "{}, capacity {}, request {} of {:?}", text, capacity, position, objects);
        // Evictions are objects that were held and are not any more, each once.
        fast.drain_evictions(&mut evicted);
        let were_held = evicted.drain(..).all(|id| expected.remove(&u64::from(id)));
        prop_assert!(were_held, "{}, capacity {}, request {} of {:?}", text, capacity, position, objects);
        if fast.holds(id) {
            expected.insert(u64::from(id));
        }
        let held: BTreeSet<u64> = held.iter().map(|(id, _)| *id).collect();
        prop_assert_eq!(&expected, &held, "{}, capacity {}, request {} of {:?}", text, capacity, position, objects);
    }
    Ok(())
}

/// Each policy, with its variants and some of them behind each admission.
fn texts() -> Vec<String> {
    let plain = |kind: &&'static PolicyKind| {
        std::iter::once(&kind.name).chain(variants(kind.name)).map(|text| (*text).to_owned())
    };
    let admitted = ADMISSIONS.iter().flat_map(|admission| {
        ["opt", "lru", "s3-fifo", "random"].map(|policy| format!("{policy}+{}", gate(admission.name)))
    });
    POLICIES.iter().flat_map(plain).chain(admitted).collect()
}

fn every_variant(capacity: u64, objects: &[Object], is_by_size: bool) -> Result<(), TestCaseError> {
    texts().iter().try_for_each(|text| agree(text, capacity, objects, is_by_size))
}

/// What is held adds up while objects are removed now and then: after every `every`th request the object of the one
/// `back` requests before.
fn adds_up(text: &str, capacity: u64, keys: &[u64], every: usize, back: usize) -> Result<(), TestCaseError> {
    let objects: Vec<Object> = keys.iter().map(|key| (*key, 1 + key * 7 % 9)).collect();
    let requests = RequestSequence::from_objects(&objects).unwrap();
    let choice: PolicySpec = text.parse().unwrap();
    let mut cache = choice.create(capacity, &requests, true, SEED);
    cache.record_evictions();
    let (mut held, mut evicted) = (HashMap::new(), Vec::new());
    for position in 0..requests.len() {
        let request = CacheRequest { is_write: writes(position as u32), ..requests.at(position) };
        if request.size > capacity {
            continue;
        }
        prop_assert_eq!(cache.request(&request), held.contains_key(&request.id), "{}, request {}", text, position);
        if cache.holds(request.id) {
            held.insert(request.id, request.size);
        }
        if position % every == 0 {
            let id = requests.ids()[position.saturating_sub(back)];
            // What the request before evicted is reported none the less.
            cache.remove(id);
            prop_assert!(!cache.holds(id), "{}, request {}", text, position);
            held.remove(&id);
        }
        cache.drain_evictions(&mut evicted);
        evicted.drain(..).for_each(|id| _ = held.remove(&id));
        prop_assert_eq!(cache.used(), held.values().sum::<u64>(), "{}, request {}", text, position);
        prop_assert!(cache.used() <= capacity, "{}, request {}", text, position);
        prop_assert!(held.keys().all(|id| cache.holds(*id)), "{}, request {}", text, position);
    }
    Ok(())
}

#[test]
fn what_is_removed_misses_when_it_comes_again() {
    let requests = RequestSequence::from_keys([1, 2, 1, 1, 2, 1]).unwrap();
    for kind in POLICIES {
        let choice: PolicySpec = kind.name.parse().unwrap();
        let mut cache = choice.create(2, &requests, false, SEED);
        cache.remove(0);
        (0..4).for_each(|position| _ = cache.request(&requests.at(position)));
        let holds_other = cache.holds(1);
        cache.remove(0);
        cache.remove(0);
        let hits = [4, 5].map(|position| cache.request(&requests.at(position)));
        assert_eq!(hits, [holds_other, false], "{}", kind.name);
    }
}

/// Which requests write.
fn writes(position: u32) -> bool {
    position % 7 == 3
}

/// An admission with a parameter that turns some objects away.
fn gate(name: &str) -> String {
    if name == "size" { "size:max=5".to_owned() } else { name.to_owned() }
}

#[test]
fn without_requests_every_policy_does_as_its_model() {
    for is_by_size in [false, true] {
        every_variant(1, &[], is_by_size).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn by_objects_every_policy_does_as_its_model(capacity in 1_u64..=20, objects in by_object()) {
        every_variant(capacity, &objects, false)?;
    }

    #[test]
    fn by_sizes_every_policy_does_as_its_model(capacity in 1_u64..=40, objects in by_size()) {
        every_variant(capacity, &objects, true)?;
    }

    #[test]
    fn with_objects_removed_what_is_held_adds_up(
        capacity in 1_u64..=40,
        objects in by_object(),
        (every, back) in (1_usize..10, 0_usize..20),
    ) {
        let keys: Vec<u64> = objects.iter().map(|(key, _)| *key).collect();
        texts().iter().try_for_each(|text| adds_up(text, capacity, &keys, every, back))?;
    }

    /// It knows what is requested next of what is left, though what was removed comes again.
    #[test]
    fn with_objects_removed_opt_does_as_its_model(
        capacity in 1_u64..=40,
        objects in by_size(),
        (every, back) in (1_usize..10, 0_usize..20),
    ) {
        let requests = RequestSequence::from_objects(&objects).unwrap();
        let choice: PolicySpec = "opt".parse().unwrap();
        let numbered: Vec<Object> =
            (0..requests.len()).map(|at| (u64::from(requests.ids()[at]), requests.sizes()[at])).collect();
        let mut fast = choice.create(capacity, &requests, true, SEED);
        let mut slow = opt::Opt::new(ModelConfig { capacity, objects: &numbered, parameters: Vec::new() });
        for position in (0..requests.len()).filter(|at| numbered[*at].1 <= capacity) {
            let request = requests.at(position);
            prop_assert_eq!(fast.request(&request), slow.request(&request), "request {}", position);
            if position % every == 0 {
                let id = requests.ids()[position.saturating_sub(back)];
                fast.remove(id);
                slow.remove(id);
            }
            prop_assert_eq!(fast.used(), slow.held().iter().map(|(_, size)| *size).sum::<u64>(), "request {}", position);
        }
    }

    #[test]
    fn with_one_hundred_objects_every_policy_does_as_its_model(objects in traces::long()) {
        every_variant(100, &objects, false)?;
    }

    /// Over as many requests as those need that work by generations, periods or seconds.
    #[test]
    fn over_many_requests_dm_cache_does_as_its_models(capacity in 1_u64..=100, objects in traces::very_long()) {
        for text in ["dm-cache-mq:rate=1", "dm-cache-mq:rate=2:read=0", "dm-cache-smq:rate=4", "dm-cache-smq:rate=20:spot=4"] {
            agree(text, capacity, &objects, false)?;
        }
    }
}
