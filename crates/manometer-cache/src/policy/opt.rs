//! OPT: what is requested again last goes. No policy that admits whatever it is asked for misses less often where all
//! objects are of one size; where sizes differ this is the usual approximation.

use super::{Evicted, Kind, Policy, Request, Setting, by_weight};
use crate::Requests;
use crate::moments::Moments;
use crate::number::Id;
use crate::pages::filled;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "opt",
    about: "evicts what is requested again last: the bound for all others; an approximation where sizes differ",
    source: "Belady, IBM Systems Journal 1966; cache thesis 3.1",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Opt),
};

/// An object stands for itself by the moment at which it is requested next, of which no two are equal.
struct Opt<'a, W> {
    capacity: u64,
    used: u64,
    requests: &'a Requests,
    next: &'a [u32],
    moments: Moments,
    /// Of each key's object, where it is in the cache: when it is requested next, and what it weighs.
    held: Vec<Option<(u32, W)>>,
    evicted: Evicted,
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
            held: filled(None, requests.keys()),
            evicted: Evicted::default(),
        }
    }

    /// When the object of the request at a position is requested next: what is larger than the cache passes it by.
    fn next_after(&self, position: u32) -> u32 {
        let mut next = self.next[position as usize];
        while self.requests.sizes().get(next as usize).is_some_and(|size| *size > self.capacity) {
            next = self.next[next as usize];
        }
        next
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(moment) = self.moments.latest() else { break };
            let never = self.requests.len() as u32;
            let id = self.requests.ids().get(moment as usize).copied().unwrap_or(moment.wrapping_sub(never));
            self.evicted.note(id);
            self.remove(id);
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

    fn holds(&self, id: Id) -> bool {
        self.held[id as usize].is_some()
    }

    fn evicted(&mut self) -> &mut Evicted {
        &mut self.evicted
    }

    #[inline]
    fn remove(&mut self, id: Id) {
        if let Some((moment, weight)) = self.held[id as usize].take() {
            self.moments.remove(moment);
            self.used -= weight.get();
        }
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        let next = self.next_after(request.position);
        let is_hit = self.holds(request.id);
        self.remove(request.id);
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        self.held[request.id as usize] = Some((next, weight));
        self.moments.insert(next);
        is_hit
    }
}
