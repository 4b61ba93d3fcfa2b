//! memcached's own state, sampled once an interval with `stats`, `stats slabs` and `stats items`.

use std::collections::BTreeMap;

use manometer_measure::{Clock, Column};

use super::{Memcached, Stats};
use crate::engine::rates::Rates;
use crate::engine::{StateColumn, StateSampler, columns};

/// The columns of its state.
pub(super) const STATE: &[StateColumn] = &[
    ("bytes", "B", "Size of the stored items."),
    ("curr_items", "items", "Items stored."),
    ("curr_connections", "connections", "Connections."),
    ("active_slabs", "slabs", "Slab classes in use."),
    ("total_malloced", "B", "Memory given to slabs."),
    ("evictions", "items/s", "Items evicted for lack of memory."),
    ("get_hits", "keys/s", "Keys looked up and found."),
    ("get_misses", "keys/s", "Keys looked up and not found."),
    ("cmd_set", "keys/s", "Items put."),
    ("bytes_read", "B/s", "Bytes from clients."),
    ("bytes_written", "B/s", "Bytes to clients."),
    ("rusage_user", "s/s", "The server's processor time in the program."),
    ("rusage_system", "s/s", "The server's processor time in the kernel."),
    ("slab_<N>.chunk_size", "B", "Chunk size of slab class N."),
    ("slab_<N>.total_pages", "pages", "Pages of slab class N."),
    ("slab_<N>.used_chunks", "chunks", "Used chunks of slab class N."),
    ("slab_<N>.cmd_set", "keys/s", "Items put into slab class N."),
    ("slab_<N>.evicted", "items/s", "Items evicted from slab class N for lack of memory."),
];

const GAUGES: [&str; 3] = ["bytes", "curr_items", "curr_connections"];
const SLAB_GAUGES: [&str; 2] = ["active_slabs", "total_malloced"];
const COUNTERS: [&str; 8] =
    ["evictions", "get_hits", "get_misses", "cmd_set", "bytes_read", "bytes_written", "rusage_user", "rusage_system"];

/// The largest number of slab classes, counted from 1. All have columns from the start: which come to exist depends on
/// the lengths of later values, and columns cannot be added to a recording.
const CLASSES: u32 = 63;

/// The gauges of each slab class: the column's name and unit after the class, and its name in `stats slabs` or `stats
/// items`.
const CLASS_GAUGES: [(&str, &str); 3] = [("chunk_size", "B"), ("total_pages", "pages"), ("used_chunks", "chunks")];
const CLASS_COUNTERS: [(&str, &str); 2] = [("cmd_set", "keys/s"), ("evicted", "items/s")];

const REPORTING: &str = "reporting its state";

pub(super) struct MemcachedState<'a> {
    engine: &'a Memcached,
    rates: Rates,
}

impl<'a> MemcachedState<'a> {
    pub(super) fn new(engine: &'a Memcached) -> Self {
        Self { engine, rates: Rates::default() }
    }
}

impl StateSampler for MemcachedState<'_> {
    fn columns(&self) -> Vec<Column> {
        let of_class = |class| {
            let named = CLASS_GAUGES.iter().chain(&CLASS_COUNTERS);
            named.map(move |(name, unit)| Column::new(column(class, name), *unit))
        };
        columns(STATE).into_iter().chain((1..=CLASSES).flat_map(of_class)).collect()
    }

    fn sample(&mut self, clock: &dyn Clock) -> BTreeMap<String, f64> {
        let [all, slabs, items] = ["stats", "stats slabs", "stats items"].map(|command| {
            // A failed query leaves a gap.
            self.engine.stats(REPORTING, command).unwrap_or_default()
        });
        let named = |stats: &Stats, names: &[&str]| -> Vec<(String, f64)> {
            names.iter().filter_map(|name| Some(((*name).to_owned(), stats.number(name)?))).collect()
        };
        let mut row: BTreeMap<String, f64> = named(&all, &GAUGES).into_iter().collect();
        row.extend(named(&slabs, &SLAB_GAUGES));
        row.extend(of_classes(&slabs, &items, &CLASS_GAUGES));
        let counters = named(&all, &COUNTERS).into_iter().chain(of_classes(&slabs, &items, &CLASS_COUNTERS)).collect();
        self.rates.add(clock.now_ns(), counters, &mut row);
        row
    }
}

fn column(class: u32, name: &str) -> String {
    format!("slab_{class}.{name}")
}

/// The values of `names` for the existing classes in `slabs` and `items`; a class without pages has none.
fn of_classes<'a>(
    slabs: &'a Stats,
    items: &'a Stats,
    names: &'a [(&str, &str)],
) -> impl Iterator<Item = (String, f64)> + 'a {
    let of_class = |class: u32, name: &str| {
        let value = slabs.number(&format!("{class}:{name}")).or_else(|| items.number(&format!("items:{class}:{name}")));
        Some((column(class, name), value?))
    };
    (1..=CLASSES).flat_map(move |class| names.iter().filter_map(move |(name, _)| of_class(class, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slab_class_reports_its_numbers_and_missing_ones_leave_gaps() {
        let stats = |lines: &[(&str, &str)]| {
            Stats(lines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        let slabs = stats(&[("12:chunk_size", "1184"), ("63:used_chunks", "3"), ("active_slabs", "2")]);
        let items = stats(&[("items:12:evicted", "5")]);
        let state = |names| of_classes(&slabs, &items, names).collect::<Vec<_>>();
        let wanted = [("slab_12.chunk_size".to_owned(), 1184.0), ("slab_63.used_chunks".to_owned(), 3.0)];
        assert_eq!(state(&CLASS_GAUGES), wanted);
        assert_eq!(state(&CLASS_COUNTERS), [("slab_12.evicted".to_owned(), 5.0)]);
    }
}
