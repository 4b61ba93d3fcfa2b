//! The host's storage as it is now: a device, its layers, who uses storage, and who waits for it.
//!
//! Reads `/proc` and `/sys` and nothing else, so that it works beside anything. What is kept for later is a
//! recording's matter ([`crate::host`]).

mod disks;
mod stall;
mod users;

use std::path::Path;

use serde::Serialize;

pub use disks::{Activity, Counters};
pub use stall::{Stall, Stalls};
pub use users::User;

use crate::host::{Layer, device_of, layers_of};

/// One look at the storage; what cannot be known, as every rate at the first look, is missing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Frame {
    /// The device that holds the folder, then every layer below it.
    pub layers: Vec<LayerActivity>,
    /// The processes that moved bytes to or from storage since the last look, those that moved most first.
    pub users: Vec<User>,
    /// How many processes do not tell: another user's.
    pub hidden_users: usize,
    /// How much time tasks spend waiting.
    pub stalls: Stalls,
}

/// What one layer did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerActivity {
    /// Its name and kind.
    #[serde(flatten)]
    pub layer: Layer,
    /// What it did since the last look.
    pub activity: Activity,
}

/// Looks again and again.
#[derive(Debug)]
pub struct Live {
    layers: Vec<Layer>,
    last: Vec<Option<Counters>>,
    last_ns: Option<u64>,
    users: users::Users,
}

impl Live {
    /// To look at the device that holds `dir`; nothing where there is none.
    pub fn of(dir: &Path) -> Option<Self> {
        let layers = layers_of(&device_of(dir)?);
        let last = vec![None; layers.len()];
        Some(Self { layers, last, last_ns: None, users: users::Users::of_host() })
    }

    /// The storage at `t_ns`, and what happened since the last look.
    pub fn look(&mut self, t_ns: u64) -> Frame {
        let seconds = self.last_ns.filter(|last_ns| *last_ns < t_ns).map(|last_ns| (t_ns - last_ns) as f64 / 1e9);
        let now = disks::read(&self.layers);
        let activity = |(layer, (now, last)): (&Layer, (&Option<Counters>, &Option<Counters>))| LayerActivity {
            layer: layer.clone(),
            activity: Activity::between(last.as_ref(), now.as_ref(), seconds),
        };
        let layers = self.layers.iter().zip(now.iter().zip(&self.last)).map(activity).collect();
        let (users, hidden_users) = self.users.look(seconds);
        (self.last, self.last_ns) = (now, Some(t_ns));
        Frame { layers, users, hidden_users, stalls: Stalls::read() }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use manometer_testing::{Cause, skip};

    use super::*;

    #[test]
    fn this_process_is_seen_writing_and_rates_need_two_looks() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let Some(mut live) = Live::of(dir.path()) else {
            skip(Cause::BlockDevice, "none holds /var/tmp");
            return;
        };
        let first = live.look(1_000_000_000);
        assert!(first.users.is_empty());
        assert!(first.layers.iter().all(|layer| layer.activity.reads_per_s.is_none()));
        let mut file = std::fs::File::create(dir.path().join("file")).unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        let second = live.look(3_000_000_000);
        assert!(second.layers[0].activity.writes_per_s.is_some_and(|writes| writes > 0.0), "{:?}", second.layers);
        let own = second.users.iter().find(|user| user.pid == std::process::id()).unwrap();
        assert!(own.write_bytes_per_s >= f64::from(1 << 19), "{own:?}");
    }

    #[test]
    fn a_folder_without_a_device_cannot_be_watched() {
        assert!(Live::of(Path::new("/proc")).is_none());
    }
}
