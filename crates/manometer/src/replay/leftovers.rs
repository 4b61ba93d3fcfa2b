//! The folder of a replay that does not end in order.

use std::io::ErrorKind;
use std::path::PathBuf;

use manometer_measure::clock::WallAnchor;
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_session::protocol::Job;
use manometer_target::engine::directory::DatabaseManifest;

/// How often the folder is removed again, since the engine may still create files in it, and the time between.
const TRIES: u32 = 50;
const PAUSE_NS: u64 = 10_000_000;

/// What a replay leaves behind if it does not come to remove it.
#[derive(Debug, Clone)]
pub(super) struct Leftovers {
    folder: PathBuf,
    /// Whether the folder was there before, and the time then, in nanoseconds since 1970.
    was_there: bool,
    began_unix_ns: u64,
}

impl Leftovers {
    /// Those of `job`, which has not begun.
    pub(super) fn of(job: &Job) -> Self {
        let folder = job.directory.join(&job.name);
        Self { was_there: folder.exists(), folder, began_unix_ns: WallAnchor::now().unix_ns }
    }

    /// Removes the folder, unless it or its database is older than the replay. Returns a sentence about what stays, if
    /// something does.
    pub(super) fn remove(&self) -> Option<String> {
        let is_new = |marker: DatabaseManifest| marker.made_at_unix_ns >= self.began_unix_ns;
        if self.was_there && !DatabaseManifest::read(&self.folder).is_some_and(is_new) {
            return None;
        }
        for _ in 0..TRIES {
            match std::fs::remove_dir_all(&self.folder) {
                Ok(()) => return None,
                Err(error) if error.kind() == ErrorKind::NotFound => return None,
                Err(_) => MonotonicClock.sleep(PAUSE_NS),
            }
        }
        Some(format!("{} could not be removed: remove it yourself", self.folder.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leftovers(folder: PathBuf, was_there: bool, began_unix_ns: u64) -> Leftovers {
        Leftovers { folder, was_there, began_unix_ns }
    }

    #[test]
    fn only_what_is_no_older_than_the_replay_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("replay");
        let make = |made_at_unix_ns: u64| {
            std::fs::create_dir_all(folder.join("db")).unwrap();
            let marker = serde_json::json!({
                "engine": "redis", "engine_version": "7", "options": {}, "records": 0, "form": "keys of a trace",
                "value_bytes": 0, "load": "bulk", "seed": 1, "loaded": false, "made_at_unix_ns": made_at_unix_ns,
            });
            std::fs::write(folder.join("manometer.json"), marker.to_string()).unwrap();
        };
        make(100);
        assert_eq!((leftovers(folder.clone(), true, 101).remove(), folder.exists()), (None, true));
        assert_eq!((leftovers(folder.clone(), true, 100).remove(), folder.exists()), (None, false));
        std::fs::create_dir(&folder).unwrap();
        assert_eq!((leftovers(folder.clone(), true, 0).remove(), folder.exists()), (None, true), "it has no marker");
        assert_eq!((leftovers(folder.clone(), false, 0).remove(), folder.exists()), (None, false));
        assert_eq!(leftovers(folder, false, 0).remove(), None, "there is none");
    }
}
