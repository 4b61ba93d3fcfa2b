//! memcached's own state, once an interval, from `stats`.

use std::collections::BTreeMap;

use super::{Memcached, Stats};
use crate::engine::State;
use crate::engine::server::Rates;

const COLUMNS: &[(&str, &str)] = &[
    ("bytes", "B"),
    ("curr_items", "items"),
    ("curr_connections", "connections"),
    ("active_slabs", "slabs"),
    ("total_malloced", "B"),
    ("evictions", "items/s"),
    ("get_hits", "keys/s"),
    ("get_misses", "keys/s"),
    ("cmd_set", "keys/s"),
    ("bytes_read", "B/s"),
    ("bytes_written", "B/s"),
    ("rusage_user", "s/s"),
    ("rusage_system", "s/s"),
];

const GAUGES: [&str; 3] = ["bytes", "curr_items", "curr_connections"];
const SLAB_GAUGES: [&str; 2] = ["active_slabs", "total_malloced"];
const COUNTERS: [&str; 8] =
    ["evictions", "get_hits", "get_misses", "cmd_set", "bytes_read", "bytes_written", "rusage_user", "rusage_system"];

pub(super) struct MemcachedState<'a> {
    engine: &'a Memcached,
    rates: Rates,
}

impl<'a> MemcachedState<'a> {
    pub(super) fn new(engine: &'a Memcached) -> Self {
        Self { engine, rates: Rates::default() }
    }
}

impl State for MemcachedState<'_> {
    fn columns(&self) -> &'static [(&'static str, &'static str)] {
        COLUMNS
    }

    fn sample(&mut self, t_ns: u64) -> BTreeMap<String, f64> {
        const TELLING: &str = "telling its state";
        let mut row = BTreeMap::new();
        let mut add = |stats: &Stats, names: &[&str]| {
            row.extend(names.iter().filter_map(|name| Some(((*name).to_owned(), stats.number(name)?))));
        };
        if let Ok(slabs) = self.engine.stats(TELLING, "stats slabs") {
            add(&slabs, &SLAB_GAUGES);
        }
        if let Ok(stats) = self.engine.stats(TELLING, "stats") {
            add(&stats, &GAUGES);
            let counters = COUNTERS.iter().filter_map(|name| Some((*name, stats.number(name)?))).collect();
            self.rates.add(t_ns, counters, &mut row);
        }
        row
    }
}
