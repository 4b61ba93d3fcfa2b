//! Options that engines refuse.

use std::path::PathBuf;

use manometer_target::engine::EngineOptions;
use serde_json::json;

use super::subject::{
    Subject, engines_named, every_engine, every_engine_with_options_on_disk, every_engine_without_options_file,
};

fn table(name: &str, value: serde_json::Value) -> EngineOptions {
    EngineOptions::Table([(name.to_owned(), value)].into_iter().collect())
}

#[test]
fn an_option_that_does_not_exist_is_refused_before_anything_is_opened() {
    every_engine(|subject| {
        let options = table("no_such_option_anywhere", json!(1));
        let error = (subject.info.check_options)(&options).unwrap_err().to_string();
        assert!(error.contains(subject.info.name), "{error}");
        assert!(subject.open_with(&options).is_err() || subject.info.name == "null");
        (subject.info.check_options)(&EngineOptions::default()).unwrap();
        (subject.info.check_options)(&EngineOptions::Table(Default::default())).unwrap();
    });
}

#[test]
fn an_options_file_is_refused_where_none_is_read() {
    every_engine_without_options_file(|subject| {
        let error =
            (subject.info.check_options)(&EngineOptions::File(PathBuf::from("any.options"))).unwrap_err().to_string();
        assert!(error.contains(subject.info.name), "{error}");
    });
}

/// Every option of some engines, with a value other than its default.
fn other_than_the_defaults() -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("lmdb", json!({"map_size": "64MiB", "max_readers": 10, "sync": "no-sync", "no_read_ahead": true})),
        ("lmdb", json!({"sync": "no-meta-sync", "write_map": true, "no_mem_init": true, "map_size": "64MiB"})),
        ("redb", json!({"cache_size": "8MiB", "durability": "none", "check_integrity_on_open": true})),
        ("redb", json!({"two_phase_commit": true, "quick_repair": true})),
        (
            "sqlite",
            json!({"journal_mode": "delete", "synchronous": "extra", "page_size": "8KiB", "cache_size": "1MiB"}),
        ),
        (
            "sqlite",
            json!({"synchronous": "normal", "mmap_size": "64MiB", "busy_timeout": 5000, "wal_autocheckpoint": 10}),
        ),
        ("sqlite", json!({"journal_mode": "off", "synchronous": "off"})),
        ("sqlite", json!({"journal_mode": "truncate", "synchronous": "normal"})),
        (
            "rlsm",
            json!({"memtable_bytes": "1MiB", "range_bytes": "3MiB", "compaction_bytes": "2MiB", "split_ratio": 2.0,
                "stale_ratio": 0.75, "cache_bytes": "8MiB", "block_bytes": "8KiB", "maintenance": "inline"}),
        ),
        ("rlsm", json!({"sync": "never", "flush": "copy", "level0_compression": "lz4", "level1_compression": "zstd"})),
        ("rlsm", json!({"read": "recycle", "read_memory_bytes": "1MiB", "cache_bytes": "0B"})),
        ("rlsm", json!({"sync": "interval", "sync_interval_ms": 20, "level1_compression": "none"})),
        ("fjall", json!({"journal_persist": "none", "max_memtable_size": "1MiB", "cache_size": "8MiB"})),
        ("fjall", json!({"journal_persist": "sync-data", "data_block_size": "8KiB", "worker_threads": 1})),
        ("fjall", json!({"journal_persist": "sync-all", "kv_separation": true, "max_journaling_size": "64MiB"})),
        (
            "fjall",
            json!({"journal_persist": "sync-all", "data_block_compression": "none", "journal_compression": "none"}),
        ),
        ("fjall", json!({"journal_persist": "none", "expect_point_read_hits": true, "max_cached_files": 20})),
    ]
}

#[test]
fn options_are_in_force_and_reported_with_the_durability_of_a_put() {
    every_engine_with_options_on_disk(|subject| {
        let engine = subject.info.name;
        let tables = other_than_the_defaults().into_iter().filter(|(of, _)| *of == engine);
        assert!(tables.clone().next().is_some(), "{engine}: add options other than its defaults");
        for (_, given) in tables {
            let folder = tempfile::tempdir_in("/var/tmp").unwrap();
            let subject = Subject::within(subject.info, folder.path());
            let options = EngineOptions::Table(given.as_object().unwrap().clone());
            for round in 0..2_u8 {
                let opened = subject.open_with(&options).unwrap();
                let facts = opened.facts();
                for (name, value) in given.as_object().unwrap() {
                    assert_eq!(facts["options"].get(name), Some(value), "{engine}: {name}");
                }
                assert_ne!(facts["durability"] == subject.info.durability, changes_durability(&given), "{facts:?}");
                let mut session = opened.session();
                session.put(b"user1", &[round; 5_000]).unwrap();
                assert_eq!(session.get(b"user1").unwrap(), Some([round; 5_000].as_slice()));
                opened.settle().unwrap();
            }
        }
    });
}

fn changes_durability(given: &serde_json::Value) -> bool {
    let names = ["sync", "durability", "two_phase_commit", "synchronous", "journal_mode", "journal_persist"];
    names.iter().any(|name| given.get(name).is_some())
}

#[test]
fn an_option_that_fjall_would_ignore_is_refused() {
    engines_named(&["fjall"], |subject| {
        drop(subject.open());
        let error = subject.open_with(&table("max_memtable_size", json!("1MiB"))).err().unwrap().to_string();
        assert!(error.contains("max_memtable_size") && error.contains("64MiB"), "{error}");
        drop(subject.open());
    });
}

#[test]
fn values_that_an_engine_does_not_support_are_refused() {
    let refused = [
        ("lmdb", "map_size", json!("1KiB")),
        ("lmdb", "sync", json!("sometimes")),
        ("lmdb", "max_readers", json!(0)),
        ("redb", "durability", json!("eventual")),
        ("sqlite", "page_size", json!(5_000)),
        ("sqlite", "journal_mode", json!("wall")),
        ("rlsm", "memtable_bytes", json!("1KiB")),
        ("rlsm", "split_ratio", json!(0.5)),
        ("rlsm", "stale_ratio", json!("NaN")),
        ("rlsm", "block_bytes", json!("1MiB")),
        ("rlsm", "level1_compression", json!("gzip")),
        ("rlsm", "sync_interval_ms", json!(5)),
        ("rlsm", "read", json!("mmap")),
        ("rlsm", "read_memory_bytes", json!("1MiB")),
        ("fjall", "worker_threads", json!(0)),
        ("fjall", "max_cached_files", json!(1)),
        ("fjall", "max_journaling_size", json!("1MiB")),
        ("fjall", "data_block_size", json!("2MiB")),
    ];
    every_engine_with_options_on_disk(|subject| {
        let refused: Vec<_> = refused.iter().filter(|(engine, ..)| *engine == subject.info.name).collect();
        assert!(!refused.is_empty(), "{}: add options that it refuses", subject.info.name);
        for (_, name, value) in refused {
            let error = (subject.info.check_options)(&table(name, value.clone())).unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
    });
}
