//! How sentences name an engine.

/// The engines whose title differs from their name in files and on the command line.
pub const TITLES: [(&str, &str); 6] = [
    ("lmdb", "LMDB"),
    ("map", "the hash map"),
    ("null", "the null engine"),
    ("redis", "Redis"),
    ("rocksdb", "RocksDB"),
    ("sqlite", "SQLite"),
];

/// The engine `name` in a sentence; its name where it has no other title.
pub fn title(name: &str) -> &str {
    TITLES.iter().find(|(known, _)| *known == name).map_or(name, |(_, title)| title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_without_a_title_has_its_name() {
        assert_eq!(["rocksdb", "rlsm", "YCSB"].map(title), ["RocksDB", "rlsm", "YCSB"]);
    }
}
