//! Follows RocksDB's log: compactions and flushes as they start and end.
//!
//! The binding has no event listener. RocksDB logs an `EVENT_LOG_v1` line with a JSON document for each event; a custom
//! logger parses these lines and copies every line to a file.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use manometer_measure::directory::create_file;
use rocksdb::{InfoLogger, LogLevel};
use serde_json::Value;

const EVENT: &str = "EVENT_LOG_v1 ";
const BACKGROUND_ERROR: &str = "Background IO error ";

/// The largest size of the copied log, in bytes.
const LOG_BYTES_MAX: u64 = 64 << 20;

/// The background work in progress.
#[derive(Debug, Default)]
pub(super) struct Background {
    /// Bytes read by each running compaction, by its job number.
    compacting: HashMap<u64, u64>,
    compactions_total: u64,
    flushes_total: u64,
    error: Option<String>,
}

impl Background {
    /// Bytes that are being compacted.
    pub(super) fn compacting_bytes(&self) -> u64 {
        self.compacting.values().sum()
    }

    /// Compactions that ended since the database was opened.
    pub(super) fn compactions_total(&self) -> u64 {
        self.compactions_total
    }

    /// Flushes that ended since the database was opened.
    pub(super) fn flushes_total(&self) -> u64 {
        self.flushes_total
    }

    /// The first error of a flush or compaction.
    pub(super) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Handles one line of the log.
    fn handle_line(&mut self, line: &str) {
        if let Some((_, error)) = line.split_once(BACKGROUND_ERROR) {
            self.error.get_or_insert_with(|| error.to_owned());
        }
        let Some((_, document)) = line.split_once(EVENT) else { return };
        let Ok(event) = serde_json::from_str::<Value>(document) else { return };
        let number = |name: &str| event.get(name).and_then(Value::as_u64);
        match (event.get("event").and_then(Value::as_str), number("job")) {
            (Some("compaction_started"), Some(job)) => {
                self.compacting.insert(job, number("input_data_size").unwrap_or(0));
            }
            (Some("compaction_finished"), Some(job)) => {
                self.compacting.remove(&job);
                self.compactions_total += 1;
            }
            (Some("flush_finished"), _) => self.flushes_total += 1,
            _ => {}
        }
    }
}

/// A logger that copies to `path` and follows the background work.
pub(super) fn logger(path: &Path) -> std::io::Result<(InfoLogger, Arc<Mutex<Background>>)> {
    let file = Mutex::new((create_file(path)?, 0_u64));
    let background = Arc::new(Mutex::new(Background::default()));
    let shared = Arc::clone(&background);
    let logger = InfoLogger::new_callback_logger(LogLevel::Info, move |_, line| {
        shared.lock().unwrap_or_else(PoisonError::into_inner).handle_line(line);
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, written) = &mut *file;
        if *written < LOG_BYTES_MAX {
            // A failed write of the log must not end the run.
            let _ = writeln!(file, "{line}");
            *written += line.len() as u64 + 1;
        }
    });
    Ok((logger, background))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compaction_counts_from_its_start_to_its_end() {
        let mut background = Background::default();
        background.handle_line(
            r#"[db/compaction.cc:1] EVENT_LOG_v1 {"time_micros": 1, "job": 3, "event": "compaction_started", "files_L0": [9], "input_data_size": 4096}"#,
        );
        assert_eq!((background.compacting_bytes(), background.compactions_total()), (4096, 0));
        background.handle_line(r#"EVENT_LOG_v1 {"job": 3, "event": "compaction_finished"}"#);
        assert_eq!((background.compacting_bytes(), background.compactions_total()), (0, 1));
    }

    #[test]
    fn the_first_background_error_is_kept() {
        let mut background = Background::default();
        background.handle_line(
            "[db/error_handler.cc:422] Background IO error IO error: No space left on device: x, reason 1",
        );
        background.handle_line("[db/error_handler.cc:422] Background IO error IO error: other, reason 5");
        assert!(background.error().unwrap().starts_with("IO error: No space left"));
    }

    #[test]
    fn other_lines_are_no_events() {
        let mut background = Background::default();
        for line in ["", "EVENT_LOG_v1 ", "EVENT_LOG_v1 {", "EVENT_LOG_v1 []", "RocksDB version: 11.8.1"] {
            background.handle_line(line);
        }
        assert_eq!(background.compacting_bytes(), 0);
    }
}
