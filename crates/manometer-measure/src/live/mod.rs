//! The current state of the host's storage: a device, its layers, the processes that use storage, and stalls.
//!
//! It reads only `/proc` and `/sys`, so that it works under any load. Observers ([`crate::host`]) record the same for
//! later.

mod disks;
mod processes;
mod stall;

use std::path::Path;

use serde::Serialize;

pub use disks::{Activity, DiskCounters};
pub use processes::ProcessActivity;
pub use stall::{Stall, Stalls};

use crate::host::{Layer, device_of, layers_of};

/// The state of the storage at one time; an unknown value, such as every rate of the first sample, is missing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StorageSnapshot {
    /// The device that holds the directory, then every layer below it.
    pub layers: Vec<LayerActivity>,
    /// The processes with I/O since the last sample, most I/O first.
    #[serde(rename = "users")]
    pub processes: Vec<ProcessActivity>,
    /// The number of processes whose I/O is hidden: those of other users.
    #[serde(rename = "hidden_users")]
    pub hidden_processes: usize,
    /// The time that tasks spend waiting.
    pub stalls: Stalls,
}

/// The activity of one layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerActivity {
    /// Its name and kind.
    #[serde(flatten)]
    pub layer: Layer,
    /// Its activity since the last sample.
    pub activity: Activity,
}

/// Samples the storage repeatedly.
#[derive(Debug)]
pub struct StorageMonitor {
    layers: Vec<Layer>,
    last: Vec<Option<DiskCounters>>,
    last_ns: Option<u64>,
    processes: processes::ProcessMonitor,
}

impl StorageMonitor {
    /// A monitor of the device that holds `dir`; `None` if there is none.
    pub fn of(dir: &Path) -> Option<Self> {
        let layers = layers_of(&device_of(dir)?);
        let last = vec![None; layers.len()];
        Some(Self { layers, last, last_ns: None, processes: processes::ProcessMonitor::of_host() })
    }

    /// The state of the storage at `t_ns`, and its activity since the last sample.
    pub fn sample(&mut self, t_ns: u64) -> StorageSnapshot {
        let seconds = self.last_ns.filter(|last_ns| *last_ns < t_ns).map(|last_ns| (t_ns - last_ns) as f64 / 1e9);
        let now = disks::read(&self.layers);
        let activity = |(layer, (now, last)): (&Layer, (&Option<DiskCounters>, &Option<DiskCounters>))| LayerActivity {
            layer: layer.clone(),
            activity: Activity::between(last.as_ref(), now.as_ref(), seconds),
        };
        let layers = self.layers.iter().zip(now.iter().zip(&self.last)).map(activity).collect();
        let (processes, hidden_processes) = self.processes.sample(seconds);
        (self.last, self.last_ns) = (now, Some(t_ns));
        StorageSnapshot { layers, processes, hidden_processes, stalls: Stalls::read() }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use manometer_testing::{Cause, skip};

    use super::*;

    #[test]
    fn the_writes_of_this_process_are_seen_and_rates_need_two_samples() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let Some(mut monitor) = StorageMonitor::of(dir.path()) else {
            skip(Cause::BlockDevice, "none holds /var/tmp");
            return;
        };
        let first = monitor.sample(1_000_000_000);
        assert!(first.processes.is_empty());
        assert!(first.layers.iter().all(|layer| layer.activity.reads_per_s.is_none()));
        let mut file = std::fs::File::create(dir.path().join("file")).unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        let second = monitor.sample(3_000_000_000);
        assert!(second.layers[0].activity.writes_per_s.is_some_and(|writes| writes > 0.0), "{:?}", second.layers);
        let own = second.processes.iter().find(|process| process.pid == std::process::id()).unwrap();
        assert!(own.write_bytes_per_s >= f64::from(1 << 19), "{own:?}");
    }

    #[test]
    fn a_directory_without_a_device_cannot_be_monitored() {
        assert!(StorageMonitor::of(Path::new("/proc")).is_none());
    }
}
