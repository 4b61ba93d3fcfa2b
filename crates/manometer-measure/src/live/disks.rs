//! The activity of layers, from `/proc/diskstats`.

use procfs::DiskStat;
use serde::Serialize;

use crate::host::Layer;

/// The sector of the kernel's counters, independent of the sector size of the device.
const SECTOR_BYTES: f64 = 512.0;

/// The counters of a layer since boot.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DiskCounters {
    /// Reads completed.
    pub reads: f64,
    /// Writes completed.
    pub writes: f64,
    /// Bytes read.
    pub read_bytes: f64,
    /// Bytes written.
    pub write_bytes: f64,
    /// Time of reads in seconds, summed over reads.
    pub read_wait_s: f64,
    /// Time of writes in seconds, summed over writes.
    pub write_wait_s: f64,
    /// Time in which some request was in flight, in seconds.
    pub busy_s: f64,
    /// Time of all requests in seconds, summed over requests.
    pub queued_s: f64,
    /// Requests in flight.
    pub in_flight: f64,
}

impl From<&DiskStat> for DiskCounters {
    fn from(disk: &DiskStat) -> Self {
        Self {
            reads: disk.reads as f64,
            writes: disk.writes as f64,
            read_bytes: disk.sectors_read as f64 * SECTOR_BYTES,
            write_bytes: disk.sectors_written as f64 * SECTOR_BYTES,
            read_wait_s: disk.time_reading as f64 / 1e3,
            write_wait_s: disk.time_writing as f64 / 1e3,
            busy_s: disk.time_in_progress as f64 / 1e3,
            queued_s: disk.weighted_time_in_progress as f64 / 1e3,
            in_flight: disk.in_progress as f64,
        }
    }
}

/// The counters of each layer; `None` for one that is gone.
pub(super) fn read(layers: &[Layer]) -> Vec<Option<DiskCounters>> {
    let disks = procfs::diskstats().unwrap_or_default();
    let of = |layer: &Layer| {
        let number = (layer.device.major as i32, layer.device.minor as i32);
        disks.iter().find(|disk| (disk.major, disk.minor) == number).map(DiskCounters::from)
    };
    layers.iter().map(of).collect()
}

/// The activity of a layer between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Activity {
    /// Reads completed per second.
    pub reads_per_s: Option<f64>,
    /// Writes completed per second.
    pub writes_per_s: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<f64>,
    /// The mean time of a read in milliseconds; missing without reads.
    pub read_wait_ms: Option<f64>,
    /// The mean time of a write in milliseconds; missing without writes.
    pub write_wait_ms: Option<f64>,
    /// The share of time in which some request was in flight.
    pub busy: Option<f64>,
    /// The mean queue depth.
    pub queue: Option<f64>,
    /// Requests in flight now.
    pub in_flight: Option<f64>,
}

impl Activity {
    /// The activity from `last` to `now`, `seconds` later. A counter that fell was reset and gives no rate.
    pub fn between(last: Option<&DiskCounters>, now: Option<&DiskCounters>, seconds: Option<f64>) -> Self {
        let in_flight = now.map(|now| now.in_flight);
        let (Some(last), Some(now), Some(seconds)) = (last, now, seconds) else {
            return Self { in_flight, ..Self::default() };
        };
        let grown = |counter: fn(&DiskCounters) -> f64| {
            let grown = counter(now) - counter(last);
            (grown >= 0.0).then_some(grown)
        };
        let rate = |counter: fn(&DiskCounters) -> f64| grown(counter).map(|grown| grown / seconds);
        let mean_ms = |wait: Option<f64>, count: Option<f64>| {
            let count = count.filter(|count| *count > 0.0)?;
            Some(wait? / count * 1e3)
        };
        Self {
            reads_per_s: rate(|disk| disk.reads),
            writes_per_s: rate(|disk| disk.writes),
            read_bytes_per_s: rate(|disk| disk.read_bytes),
            write_bytes_per_s: rate(|disk| disk.write_bytes),
            read_wait_ms: mean_ms(grown(|disk| disk.read_wait_s), grown(|disk| disk.reads)),
            write_wait_ms: mean_ms(grown(|disk| disk.write_wait_s), grown(|disk| disk.writes)),
            // The kernel counts in its ticks, so that the busy time of a second may slightly exceed it.
            busy: rate(|disk| disk.busy_s).map(|share| share.min(1.0)),
            queue: rate(|disk| disk.queued_s),
            in_flight,
        }
    }

    /// Bytes read and written per second.
    pub fn bytes_per_s(&self) -> Option<f64> {
        Some(self.read_bytes_per_s? + self.write_bytes_per_s?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_waits_and_the_queue_follow_from_two_samples() {
        let last =
            DiskCounters { reads: 10.0, read_wait_s: 1.0, busy_s: 5.0, queued_s: 1.0, ..DiskCounters::default() };
        let now = DiskCounters {
            reads: 210.0,
            read_bytes: 819_200.0,
            read_wait_s: 1.4,
            busy_s: 6.0,
            queued_s: 5.0,
            in_flight: 3.0,
            ..last
        };
        let activity = Activity::between(Some(&last), Some(&now), Some(2.0));
        assert_eq!(activity.reads_per_s, Some(100.0));
        assert_eq!(activity.bytes_per_s(), Some(409_600.0));
        assert!((activity.read_wait_ms.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(activity.write_wait_ms, None, "no write, no wait");
        assert_eq!((activity.busy, activity.queue, activity.in_flight), (Some(0.5), Some(2.0), Some(3.0)));
    }

    #[test]
    fn a_missing_or_reset_counter_is_a_gap() {
        let (more, less) = (DiskCounters { writes: 9.0, ..DiskCounters::default() }, DiskCounters::default());
        assert_eq!(Activity::between(Some(&more), Some(&less), Some(1.0)).writes_per_s, None);
        assert_eq!(Activity::between(Some(&more), None, Some(1.0)), Activity::default());
        let first = Activity::between(None, Some(&more), None);
        assert_eq!((first.writes_per_s, first.in_flight), (None, Some(0.0)));
    }
}
