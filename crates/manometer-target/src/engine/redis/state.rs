//! Redis's own state, sampled once an interval with `INFO`; for a cluster, the sum over its servers.

use std::collections::BTreeMap;

use manometer_measure::{Clock, Column};

use super::Redis;
use super::node::Info;
use crate::engine::rates::Rates;
use crate::engine::{StateColumn, StateSampler, columns};

/// The columns of its state.
pub(super) const STATE: &[StateColumn] = &[
    ("used_memory", "B", "Memory allocated by the server."),
    ("used_memory_rss", "B", "Resident memory of the server."),
    ("keys", "keys", "Keys stored."),
    ("connected_clients", "clients", "Connections."),
    ("rdb_bgsave_in_progress", "flag", "Whether a snapshot is being written."),
    ("aof_rewrite_in_progress", "flag", "Whether the append-only file is being rewritten."),
    ("commands", "commands/s", "Commands answered."),
    ("keyspace_hits", "keys/s", "Keys looked up and found."),
    ("keyspace_misses", "keys/s", "Keys looked up and not found."),
    ("evicted_keys", "keys/s", "Keys evicted for lack of memory."),
    ("expired_keys", "keys/s", "Expired keys."),
    ("net_input_bytes", "B/s", "Bytes from clients."),
    ("net_output_bytes", "B/s", "Bytes to clients."),
    ("aof_delayed_fsync", "syncs/s", "Delayed syncs of the append-only file."),
    ("used_cpu_user", "s/s", "The server's processor time in the program."),
    ("used_cpu_sys", "s/s", "The server's processor time in the kernel."),
];

const GAUGES: [&str; 5] =
    ["used_memory", "used_memory_rss", "connected_clients", "rdb_bgsave_in_progress", "aof_rewrite_in_progress"];

/// Rate columns and their counters.
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
        columns(STATE)
    }

    fn sample(&mut self, clock: &dyn Clock) -> BTreeMap<String, f64> {
        let mut row = BTreeMap::new();
        let infos: Result<Vec<Info>, _> =
            self.engine.nodes.iter().map(|node| node.info("reporting its state")).collect();
        // A value that one server does not report is missing for all.
        let Ok(infos) = infos else { return row };
        let sum = |name: &str| infos.iter().map(|info| info.number(name)).sum::<Option<f64>>();
        row.extend(GAUGES.iter().filter_map(|name| Some(((*name).to_owned(), sum(name)?))));
        row.insert("keys".to_owned(), infos.iter().map(Info::keys).sum());
        let counters = COUNTERS.iter().filter_map(|(column, name)| Some(((*column).to_owned(), sum(name)?))).collect();
        self.rates.add(clock.now_ns(), counters, &mut row);
        row
    }
}
