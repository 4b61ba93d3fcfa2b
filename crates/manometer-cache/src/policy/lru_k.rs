//! LRU-K: what was requested K times longest ago goes; what was not requested K times goes before. The times of
//! requests are remembered for a while after eviction. Requests close together are not taken as one.

use super::lists::Lists;
use super::ranked::{Order, Ranked};
use super::{Kind, Parameter, Request, Setting, by_weight, share};
use crate::number::Id;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "lru-k",
    about: "evicts what had its K-th last request longest ago",
    source: "O'Neil, O'Neil and Weikum, SIGMOD 1993",
    parameters: &[
        Parameter {
            name: "k",
            meaning: "which of the last requests counts",
            default: 2.0,
            min: 1.0,
            max: K_MAX as f64,
            is_whole: true,
        },
        Parameter {
            name: "history",
            meaning: "how many times the capacity is remembered after eviction",
            default: 1.0,
            min: 0.0,
            max: 1000.0,
            is_whole: false,
        },
    ],
    details: Details::NONE,
    make: by_weight!(LruK),
};

const K_MAX: usize = 4;
/// A time before all others.
const NEVER: u32 = 0;

/// The last requests, the latest first: positions from 1 on.
type Times = [u32; K_MAX];

type LruK<W> = Ranked<W, LastRequests<W>>;

struct LastRequests<W> {
    k: usize,
    history_max: u64,
    history: Lists<Times, W, 1>,
}

impl<W: Weight> Order<W> for LastRequests<W> {
    type Mark = Times;
    /// By the K-th last request, then by the last.
    type Rank = (u32, u32);

    fn new(setting: &Setting<'_>) -> Self {
        Self {
            k: setting.parameters[0] as usize,
            history_max: share(setting.capacity, setting.parameters[1]),
            history: Lists::new(setting.requests.keys()),
        }
    }

    fn requested(&mut self, before: Option<Times>, request: &Request) -> Times {
        let remembered = || {
            let ghost = self.history.find(request.id)?;
            let times = self.history.value(ghost);
            self.history.forget(ghost);
            Some(times)
        };
        let [last, second, third, _] = before.or_else(remembered).unwrap_or([NEVER; K_MAX]);
        [request.position + 1, last, second, third]
    }

    fn rank(&self, times: Times, _: &Request, _: W) -> (u32, u32) {
        (times[self.k - 1], times[0])
    }

    fn evicted(&mut self, id: Id, _: (u32, u32), times: Times, weight: W) {
        self.history.insert(0, id, times, weight);
        self.history.forget_above(0, self.history_max);
    }
}
