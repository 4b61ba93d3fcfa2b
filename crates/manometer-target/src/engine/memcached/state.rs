//! memcached's own state, once an interval, from `stats`, `stats slabs` and `stats items`.

use std::collections::{BTreeMap, BTreeSet};

use manometer_measure::Column;

use super::{Memcached, Stats};
use crate::engine::server::Rates;
use crate::engine::{State, columns};

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

/// What each class of slabs has: the column's name and unit behind that of the class, and where it stands in
/// `stats slabs` or `stats items`.
const CLASS_GAUGES: [(&str, &str); 7] = [
    ("chunk_size", "B"),
    ("total_pages", "pages"),
    ("used_chunks", "chunks"),
    ("free_chunks", "chunks"),
    ("number", "items"),
    ("mem_requested", "B"),
    ("age", "s"),
];
const CLASS_COUNTERS: [(&str, &str); 3] = [("cmd_set", "keys/s"), ("get_hits", "keys/s"), ("evicted", "items/s")];

const TELLING: &str = "telling its state";

pub(super) struct MemcachedState<'a> {
    engine: &'a Memcached,
    /// The classes of slabs that there were at the start: columns cannot be added later.
    classes: Vec<u32>,
    rates: Rates,
}

impl<'a> MemcachedState<'a> {
    pub(super) fn new(engine: &'a Memcached) -> Self {
        let classes = engine.stats(TELLING, "stats slabs").map(|slabs| classes(&slabs)).unwrap_or_default();
        Self { engine, classes, rates: Rates::default() }
    }
}

impl State for MemcachedState<'_> {
    fn columns(&self) -> Vec<Column> {
        let of_class = |class: &u32| {
            let named = CLASS_GAUGES.iter().chain(&CLASS_COUNTERS);
            named.map(|(name, unit)| Column::new(column(*class, name), *unit)).collect::<Vec<_>>()
        };
        columns(COLUMNS).into_iter().chain(self.classes.iter().flat_map(of_class)).collect()
    }

    fn sample(&mut self, t_ns: u64) -> BTreeMap<String, f64> {
        let [all, slabs, items] = ["stats", "stats slabs", "stats items"].map(|command| {
            // What cannot be asked is missing.
            self.engine.stats(TELLING, command).unwrap_or_default()
        });
        let named = |stats: &Stats, names: &[&str]| -> Vec<(String, f64)> {
            names.iter().filter_map(|name| Some(((*name).to_owned(), stats.number(name)?))).collect()
        };
        let of_class = |class: u32, name: &str| {
            let told =
                slabs.number(&format!("{class}:{name}")).or_else(|| items.number(&format!("items:{class}:{name}")));
            Some((column(class, name), told?))
        };
        let of_classes = |names: &[(&str, &str)]| -> Vec<(String, f64)> {
            let each = |class: &u32| names.iter().filter_map(|(name, _)| of_class(*class, name)).collect::<Vec<_>>();
            self.classes.iter().flat_map(each).collect()
        };
        let mut row: BTreeMap<String, f64> = named(&all, &GAUGES).into_iter().collect();
        row.extend(named(&slabs, &SLAB_GAUGES));
        row.extend(of_classes(&CLASS_GAUGES));
        let counters = named(&all, &COUNTERS).into_iter().chain(of_classes(&CLASS_COUNTERS)).collect();
        self.rates.add(t_ns, counters, &mut row);
        row
    }
}

fn column(class: u32, name: &str) -> String {
    format!("slab_{class}.{name}")
}

/// The classes of slabs in what `stats slabs` says.
fn classes(slabs: &Stats) -> Vec<u32> {
    let classes: BTreeSet<u32> = slabs.0.keys().filter_map(|name| name.split_once(':')?.0.parse().ok()).collect();
    classes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found_in_what_the_server_lists() {
        let lines = ["12:chunk_size", "12:used_chunks", "1:chunk_size", "active_slabs", "total_malloced"];
        assert_eq!(classes(&Stats(lines.map(|name| (name.to_owned(), "1".to_owned())).into())), [1, 12]);
        assert!(classes(&Stats::default()).is_empty());
    }
}
