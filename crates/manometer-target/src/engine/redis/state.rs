//! Redis's own state, once an interval, from `INFO`; of a cluster, the sum over its servers.

use std::collections::BTreeMap;

use manometer_measure::{Clock, Column};

use super::Redis;
use super::node::Info;
use crate::engine::rates::Rates;
use crate::engine::{StateSampler, columns};

const COLUMNS: &[(&str, &str)] = &[
    ("used_memory", "B"),
    ("used_memory_rss", "B"),
    ("keys", "keys"),
    ("connected_clients", "clients"),
    ("rdb_bgsave_in_progress", "flag"),
    ("aof_rewrite_in_progress", "flag"),
    ("commands", "commands/s"),
    ("keyspace_hits", "keys/s"),
    ("keyspace_misses", "keys/s"),
    ("evicted_keys", "keys/s"),
    ("expired_keys", "keys/s"),
    ("net_input_bytes", "B/s"),
    ("net_output_bytes", "B/s"),
    ("aof_delayed_fsync", "syncs/s"),
    ("used_cpu_user", "s/s"),
    ("used_cpu_sys", "s/s"),
];

const GAUGES: [&str; 5] =
    ["used_memory", "used_memory_rss", "connected_clients", "rdb_bgsave_in_progress", "aof_rewrite_in_progress"];

/// Columns of rates and the counters they come from.
const COUNTERS: [(&str, &str); 10] = [
    ("commands", "total_commands_processed"),
    ("keyspace_hits", "keyspace_hits"),
    ("keyspace_misses", "keyspace_misses"),
    ("evicted_keys", "evicted_keys"),
    ("expired_keys", "expired_keys"),
    ("net_input_bytes", "total_net_input_bytes"),
    ("net_output_bytes", "total_net_output_bytes"),
    ("aof_delayed_fsync", "aof_delayed_fsync"),
    ("used_cpu_user", "used_cpu_user"),
    ("used_cpu_sys", "used_cpu_sys"),
];

pub(super) struct RedisState<'a> {
    engine: &'a Redis,
    rates: Rates,
}

impl<'a> RedisState<'a> {
    pub(super) fn new(engine: &'a Redis) -> Self {
        Self { engine, rates: Rates::default() }
    }
}

impl StateSampler for RedisState<'_> {
    fn columns(&self) -> Vec<Column> {
        columns(COLUMNS)
    }

    fn sample(&mut self, clock: &dyn Clock) -> BTreeMap<String, f64> {
        let mut row = BTreeMap::new();
        let infos: Result<Vec<Info>, _> = self.engine.nodes.iter().map(|node| node.info("telling its state")).collect();
        // What one server of many does not tell is missing for all.
        let Ok(infos) = infos else { return row };
        let sum = |name: &str| infos.iter().map(|info| info.number(name)).sum::<Option<f64>>();
        row.extend(GAUGES.iter().filter_map(|name| Some(((*name).to_owned(), sum(name)?))));
        row.insert("keys".to_owned(), infos.iter().map(Info::keys).sum());
        let counters = COUNTERS.iter().filter_map(|(column, name)| Some(((*column).to_owned(), sum(name)?))).collect();
        self.rates.add(clock.now_ns(), counters, &mut row);
        row
    }
}
