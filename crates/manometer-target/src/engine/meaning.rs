//! What the columns of the engines' states mean, for the manual and for recordings.

/// The columns of an engine's state: name, unit and meaning.
pub type StateColumns = &'static [(&'static str, &'static str, &'static str)];

/// The engines that tell a state, and their columns; `<N>` stands for a number.
pub const STATES: &[(&str, StateColumns)] = &[
    ("rocksdb", ROCKSDB),
    ("rlsm", RLSM),
    ("fjall", FJALL),
    ("lmdb", LMDB),
    ("redb", REDB),
    ("sqlite", SQLITE),
    ("map", MAP),
    ("redis", REDIS),
    ("memcached", MEMCACHED),
];

const ROCKSDB: StateColumns = &[
    ("level<N>_bytes", "B", "Size of the tables in level N."),
    ("level<N>_files", "files", "Tables in level N."),
    ("blob_bytes", "B", "Live values that lie apart from the tables, with `enable_blob_files`."),
    ("blob_files", "files", "Files that hold such values."),
    ("compacting_bytes", "B", "Input of the compactions that run."),
    ("pending_compaction_bytes", "B", "What compaction still has to rewrite, as the engine estimates it."),
    ("running_compactions", "compactions", "Compactions that run."),
    ("running_flushes", "flushes", "Memtables being written."),
    ("compactions", "compactions/s", "Compactions that ended."),
    ("flushes", "flushes/s", "Memtables that were written."),
    ("memtable_bytes", "B", "Memtables, those being written included."),
    ("block_cache_bytes", "B", "Blocks in the block cache."),
    ("write_stopped", "flag", "Whether writes are stopped until compaction has caught up."),
    ("delayed_write_rate", "B/s", "The rate that writes are slowed down to; 0 when they are not."),
    ("stalled", "s/s", "Time that writers were held back, summed over writers."),
    ("block_cache_hits", "blocks/s", "Blocks found in the block cache."),
    ("block_cache_misses", "blocks/s", "Blocks that had to be read."),
    ("user_written_bytes", "B/s", "Keys and values that were put."),
    ("wal_written_bytes", "B/s", "Bytes written to the write-ahead log."),
    ("flush_written_bytes", "B/s", "Bytes written by flushes."),
    ("compaction_read_bytes", "B/s", "Bytes read by compactions."),
    ("compaction_written_bytes", "B/s", "Bytes written by compactions."),
    ("write_amplification", "ratio", "Log, flushes and compactions over what was put, since the database was opened."),
];

const RLSM: StateColumns = &[
    ("level0_runs", "runs", "Flushed runs in level 0."),
    ("level0_bytes", "B", "Size of the runs in level 0."),
    ("level0_entries", "entries", "Versions of keys in level 0."),
    ("ranges", "ranges", "Key ranges of level 1."),
    ("level1_runs", "runs", "Runs of all ranges."),
    ("range_runs_mean", "runs", "Runs of a range, on average."),
    ("range_runs_max", "runs", "The most runs that a range has."),
    ("level1_bytes", "B", "Size of the runs in level 1."),
    ("level1_entries", "entries", "Versions of keys in level 1."),
    ("superseded_entries", "entries", "Versions that newer ones supersede, as fingerprints tell: an estimate."),
    ("sorted_entries", "entries", "Entries that lie in the order of their keys, since they are scanned much."),
    ("space_bytes", "B", "What all its files take on the device."),
    ("data_files", "files", "Files of runs."),
    ("logs", "files", "Write-ahead logs."),
    ("index_bytes", "B", "Tables of fingerprints, fences and samples, in memory."),
    ("memtable_bytes", "B", "Memtables, those that wait to be flushed included."),
    ("compaction_memory_bytes", "B", "Versions that the last compaction worked on, in memory at most."),
    ("frozen_memtables", "memtables", "Memtables that wait to be flushed."),
    ("block_cache_bytes", "B", "Blocks and sorted views in the caches."),
    ("snapshots", "snapshots", "Snapshots alive, those of scans included."),
    ("postponed_ranges", "ranges", "Ranges whose rewriting is put off because the device is squeezed."),
    ("sync_latency", "s", "A sync of the write-ahead log, median; measured with `feel_pressure`."),
    ("sync_latency_usual", "s", "What it takes without a neighbour, as learned."),
    ("read_latency", "s", "A read of a block that had to wait for the device, median; measured with `feel_pressure`."),
    ("read_latency_usual", "s", "What it takes without a neighbour, as learned."),
    ("write_amplification", "ratio", "All that was written over what was put, since the database was opened."),
    ("flushes", "flushes/s", "Memtables that were flushed."),
    ("compactions", "compactions/s", "Files that compactions wrote."),
    ("compacting", "s/s", "Time that compactions took."),
    ("stalls", "stalls/s", "Times that a writer had to wait for a flush."),
    ("stalled", "s/s", "Time that writers waited so, summed."),
    ("slowdowns", "slowdowns/s", "Times that a writer was slowed down because compaction was behind."),
    ("slowed", "s/s", "Time that writers were slowed down so, summed."),
    ("squeezed", "s/s", "Share of the time that the device was squeezed, with `feel_pressure`."),
    ("paused", "s/s", "Time that compaction paused because of that."),
    ("lingered", "s/s", "Time that writers waited for others to share a sync with because of that, summed."),
    ("block_cache_hits", "blocks/s", "Blocks found in the block cache."),
    ("block_cache_misses", "blocks/s", "Blocks that had to be read."),
    ("user_written_bytes", "B/s", "Keys and values that were put."),
    ("wal_written_bytes", "B/s", "Bytes written to the write-ahead log."),
    ("flush_written_bytes", "B/s", "Bytes written by flushes."),
    ("compaction_written_bytes", "B/s", "Bytes that compactions appended to ranges."),
    ("rebalance_written_bytes", "B/s", "Bytes written to write ranges anew."),
    ("postponed_bytes", "B/s", "Sizes of ranges each time that rewriting one was put off."),
];

const FJALL: StateColumns = &[
    ("tables_bytes", "B", "Size of all tables."),
    ("tables", "files", "Tables of all levels."),
    ("level0_tables", "files", "Tables in level 0."),
    ("journals", "files", "Journals that are kept until their memtables are written."),
    ("memtable_bytes", "B", "Memtables, those being written included."),
    ("sealed_memtables", "memtables", "Memtables that wait to be written."),
    ("pending_flushes", "flushes", "Flushes that wait or run."),
    ("running_compactions", "compactions", "Compactions that run."),
    ("block_cache_bytes", "B", "Blocks in the cache."),
];

const LMDB: StateColumns = &[
    ("entries", "records", "Records in the tree."),
    ("depth", "levels", "Height of the tree."),
    ("branch_pages", "pages", "Inner pages of the tree."),
    ("leaf_pages", "pages", "Leaves of the tree."),
    ("overflow_pages", "pages", "Pages of values that fit no leaf."),
    ("file_pages", "pages", "Pages of the file used so far, free ones included."),
    ("readers", "readers", "Slots of readers in use."),
];

const REDB: StateColumns = &[("file_bytes", "B", "Size of the file."), ("entries", "records", "Records in the table.")];

const SQLITE: StateColumns = &[
    ("page_count", "pages", "Pages of the database, free ones included."),
    ("freelist_count", "pages", "Free pages in it."),
    ("wal_bytes", "B", "Size of the write-ahead log."),
];

const MAP: StateColumns = &[("entries", "records", "Records in the map.")];

const REDIS: StateColumns = &[
    ("used_memory", "B", "Memory that the server has allocated."),
    ("used_memory_rss", "B", "Memory that the system has given it."),
    ("keys", "keys", "Keys that it holds."),
    ("connected_clients", "clients", "Connections."),
    ("rdb_bgsave_in_progress", "flag", "Whether a snapshot is being written."),
    ("aof_rewrite_in_progress", "flag", "Whether the append-only file is being rewritten."),
    ("commands", "commands/s", "Commands answered."),
    ("keyspace_hits", "keys/s", "Keys looked up and found."),
    ("keyspace_misses", "keys/s", "Keys looked up and not found."),
    ("evicted_keys", "keys/s", "Keys thrown out for want of memory."),
    ("expired_keys", "keys/s", "Keys whose time ran out."),
    ("net_input_bytes", "B/s", "Bytes from clients."),
    ("net_output_bytes", "B/s", "Bytes to clients."),
    ("aof_delayed_fsync", "syncs/s", "Syncs of the append-only file that came late."),
    ("used_cpu_user", "s/s", "The server's processor time in the program."),
    ("used_cpu_sys", "s/s", "The server's processor time in the kernel."),
];

const MEMCACHED: StateColumns = &[
    ("bytes", "B", "Items that it holds."),
    ("curr_items", "items", "How many they are."),
    ("curr_connections", "connections", "Connections."),
    ("active_slabs", "slabs", "Slab classes in use."),
    ("total_malloced", "B", "Memory given to slabs."),
    ("evictions", "items/s", "Items thrown out for want of memory."),
    ("get_hits", "keys/s", "Keys looked up and found."),
    ("get_misses", "keys/s", "Keys looked up and not found."),
    ("cmd_set", "keys/s", "Items put."),
    ("bytes_read", "B/s", "Bytes from clients."),
    ("bytes_written", "B/s", "Bytes to clients."),
    ("rusage_user", "s/s", "The server's processor time in the program."),
    ("rusage_system", "s/s", "The server's processor time in the kernel."),
    ("slab_<N>.chunk_size", "B", "Room for one item in slab class N."),
    ("slab_<N>.total_pages", "pages", "Pages of slab class N."),
    ("slab_<N>.used_chunks", "chunks", "Chunks of slab class N that hold an item."),
    ("slab_<N>.cmd_set", "keys/s", "Items put into slab class N."),
    ("slab_<N>.evicted", "items/s", "Items of slab class N thrown out for want of memory."),
];

/// What the column `name` of the state of `engine` means; nothing where that is not written down.
pub fn meaning(engine: &str, name: &str) -> Option<&'static str> {
    let (_, columns) = STATES.iter().find(|(other, _)| *other == engine)?;
    let pattern = pattern(name);
    let column = columns.iter().find(|(other, ..)| *other == name || *other == pattern)?;
    Some(column.2)
}

/// `name` with `<N>` for each number in it.
fn pattern(name: &str) -> String {
    let runs = name.as_bytes().chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit());
    runs.map(|run| if run[0].is_ascii_digit() { "<N>".into() } else { String::from_utf8_lossy(run) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_a_name_stands_for_all() {
        assert_eq!(meaning("rocksdb", "level3_files"), Some("Tables in level N."));
        assert_eq!(meaning("rocksdb", "level12_files"), Some("Tables in level N."));
        assert_eq!(meaning("memcached", "slab_12.total_pages"), Some("Pages of slab class N."));
        assert_eq!(meaning("rocksdb", "levelx_files"), None);
        assert_eq!(meaning("fjall", "level0_tables"), Some("Tables in level 0."));
        assert_eq!(meaning("fjall", "level3_files"), None);
        assert_eq!(meaning("nothing", "entries"), None);
    }
}
