//! MQ: queues by the logarithm of how often an object was requested, for caches behind other caches, where the
//! popular is rarely requested soon again. What is not requested for its lifetime moves a queue down; the count is
//! remembered for a while after eviction. Where objects have sizes the history's limit is in bytes.

use super::{Evicted, Kind, Parameter, Policy, Request, SWITCH, Setting, by_weight, share};
use crate::arena::Slot;
use crate::number::Id;
use crate::policy::lists::Lists;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "mq",
    about: "queues by the logarithm of an object's requests; what is not requested for a while moves down",
    source: "Zhou, Philbin and Li, USENIX 2001; cache thesis 3.5",
    parameters: &[
        Parameter {
            name: "queues",
            meaning: "how many queues",
            default: 8.0,
            min: 1.0,
            max: QUEUES_MAX as f64,
            is_whole: true,
        },
        Parameter {
            name: "lifetime",
            meaning: "after how many requests to the cache an object that is not requested moves down",
            default: 10_000.0,
            min: 1.0,
            max: (1_u32 << 31) as f64,
            is_whole: true,
        },
        Parameter {
            name: "history",
            meaning: "how many times the capacity is remembered after eviction",
            default: 4.0,
            min: 0.0,
            max: 1000.0,
            is_whole: false,
        },
        Parameter {
            name: "recall-first",
            meaning: "1: the count is recalled before another object is evicted and remembered, as in libCacheSim",
            ..SWITCH
        },
    ],
    details: Details::NONE,
    make: by_weight!(Mq),
};

const QUEUES_MAX: usize = 16;
const HISTORY: usize = QUEUES_MAX;

#[derive(Debug, Clone, Copy)]
struct Use {
    /// Kept in two halves, so that it does not widen what stands beside it.
    expires: [u16; 2],
    /// How often it was requested, up to what still tells queues apart.
    count: u16,
}

impl Use {
    #[inline]
    fn new(expires: u32, count: u16) -> Self {
        Self { expires: [expires as u16, (expires >> 16) as u16], count }
    }

    #[inline]
    fn expires(self) -> u32 {
        u32::from(self.expires[1]) << 16 | u32::from(self.expires[0])
    }
}

struct Mq<W> {
    capacity: u64,
    used: u64,
    queues: usize,
    lifetime: u32,
    history_max: u64,
    recalls_first: bool,
    now: u32,
    /// Before when nothing of each queue expires: what joins a queue expires after all that is in it.
    wakes: [u32; QUEUES_MAX],
    /// The first of them.
    wakes_first: u32,
    lists: Lists<Use, W, { QUEUES_MAX + 1 }>,
    evicted: Evicted,
}

impl<W: Weight> Mq<W> {
    fn new(setting: &Setting<'_>) -> Self {
        let [queues, lifetime, history, recalls_first] = [0, 1, 2, 3].map(|at| setting.parameters[at]);
        Self {
            capacity: setting.capacity,
            used: 0,
            queues: queues as usize,
            lifetime: lifetime as u32,
            history_max: share(setting.capacity, history),
            recalls_first: recalls_first == 1.0,
            now: 0,
            wakes: [0; QUEUES_MAX],
            wakes_first: 0,
            lists: Lists::new(setting.requests.keys()),
            evicted: Evicted::default(),
        }
    }

    fn queue_of(&self, count: u16) -> usize {
        (count.ilog2() as usize).min(self.queues - 1)
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(slot) = (0..self.queues).find_map(|queue| self.lists.oldest(queue)) else { break };
            self.used -= self.lists.weight_of(slot).get();
            self.evicted.note(self.lists.id(slot));
            self.lists.renew(slot, HISTORY);
            self.lists.forget_above(HISTORY, self.history_max);
        }
    }

    fn admit(&mut self, request: &Request, weight: W) {
        let limit = self.capacity - weight.get();
        if !self.recalls_first {
            self.evict_above(limit);
        }
        let mut count = 1;
        if let Some(ghost) = self.lists.find(request.id) {
            count = self.lists.value(ghost).count.saturating_add(1);
            self.lists.forget(ghost);
        }
        if self.recalls_first {
            self.evict_above(limit);
        }
        self.used += weight.get();
        let value = Use::new(self.now + self.lifetime, count);
        self.lists.insert(self.queue_of(count), request.id, value, weight);
    }

    fn hit(&mut self, slot: Slot, weight: W) {
        self.used = self.used - self.lists.weight_of(slot).get() + weight.get();
        self.lists.reweigh(slot, weight);
        let count = self.lists.value(slot).count.saturating_add(1);
        *self.lists.value_mut(slot) = Use::new(self.now + self.lifetime, count);
        self.lists.renew(slot, self.queue_of(count));
        self.evict_above(self.capacity);
    }

    /// Moves what has expired a queue down, at most one object of each queue.
    fn adjust(&mut self) {
        self.now += 1;
        if self.wakes_first >= self.now {
            return;
        }
        self.wakes_first = u32::MAX;
        for queue in 1..self.queues {
            if self.wakes[queue] < self.now {
                self.wakes[queue] = self.expire(queue);
            }
            self.wakes_first = self.wakes_first.min(self.wakes[queue]);
        }
    }

    /// Moves the oldest of a queue down where it has expired; says before when no other expires.
    fn expire(&mut self, queue: usize) -> u32 {
        let next = self.now + self.lifetime;
        let Some(slot) = self.lists.oldest(queue) else { return next };
        let value = self.lists.value(slot);
        if value.expires() >= self.now {
            return value.expires();
        }
        *self.lists.value_mut(slot) = Use::new(next, value.count);
        self.lists.renew(slot, queue - 1);
        self.lists.oldest(queue).map_or(next, |slot| self.lists.value(slot).expires())
    }
}

impl<W: Weight> Policy for Mq<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: Id) -> bool {
        self.lists.find(id).is_some_and(|slot| self.lists.list(slot) != HISTORY)
    }

    fn evicted(&mut self) -> &mut Evicted {
        &mut self.evicted
    }

    fn remove(&mut self, id: Id) {
        if let Some(slot) = self.lists.find(id).filter(|slot| self.lists.list(*slot) != HISTORY) {
            self.used -= self.lists.weight_of(slot).get();
            self.lists.forget(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        let held = self.lists.find(request.id).filter(|slot| self.lists.list(*slot) != HISTORY);
        match held {
            Some(slot) => self.hit(slot, weight),
            None => self.admit(request, weight),
        }
        self.adjust();
        held.is_some()
    }
}
