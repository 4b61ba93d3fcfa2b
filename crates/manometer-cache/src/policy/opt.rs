//! OPT: what is requested again last goes. No policy that admits whatever it is asked for misses less often where all
//! objects are of one size; where sizes differ this is the usual approximation.

use super::{Kind, Policy, Request, Setting, by_weight};
use crate::Requests;
use crate::moments::Moments;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "opt",
    about: "evicts what is requested again last: the bound for all others; an approximation where sizes differ",
    source: "Belady, IBM Systems Journal 1966; cache thesis 3.1",
    parameters: &[],
    make: by_weight!(Opt),
};

/// An object stands for itself by the moment at which it is requested next, of which no two are equal.
struct Opt<'a, W> {
    capacity: u64,
    used: u64,
    requests: &'a Requests,
    next: &'a [u32],
    moments: Moments,
    /// Of each key's object, where it is in the cache.
    weights: Vec<W>,
}

impl<'a, W: Weight> Opt<'a, W> {
    fn new(setting: &Setting<'a>) -> Self {
        let requests = setting.requests;
        Self {
            capacity: setting.capacity,
            used: 0,
            requests,
            next: requests.next(),
            moments: Moments::new(requests.len() + requests.keys()),
            weights: vec![W::of(0); requests.keys()],
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(moment) = self.moments.latest() else { break };
            self.moments.remove(moment);
            let never = self.requests.len() as u32;
            let id = self.requests.ids().get(moment as usize).copied().unwrap_or(moment.wrapping_sub(never));
            self.used -= self.weights[id as usize].get();
        }
    }
}

impl<W: Weight> Policy for Opt<'_, W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        let next = self.next[request.position as usize];
        let is_hit = self.moments.has(request.position);
        if is_hit {
            self.moments.remove(request.position);
            self.used -= self.weights[request.id as usize].get();
        }
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        self.weights[request.id as usize] = weight;
        self.moments.insert(next);
        is_hit
    }
}
