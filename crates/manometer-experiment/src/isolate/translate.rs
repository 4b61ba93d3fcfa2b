//! From limits to the files of control groups, of version 2 and of version 1: tables, one row a file.

use super::Limits;

/// The version of the control groups that a run uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

impl Version {
    pub(super) fn number(self) -> u8 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

/// A file of a group and what is written into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupFile {
    pub controller: &'static str,
    pub file: &'static str,
    pub text: String,
}

/// A limit, the controller and the file that hold it, and the text for the device of that number; a limit that is
/// unset gives the text that takes it away.
type Row = (&'static str, &'static str, &'static str, fn(&Limits, &str) -> String);

const V2: [Row; 6] = [
    ("io.max", "io", "io.max", |limits, device| format!("{device} {}", limits.io_max.unwrap_or_default().for_kernel())),
    ("io.weight", "io", "io.weight", |limits, _| format!("default {}", weight(limits))),
    ("io.weight", "io", "io.bfq.weight", |limits, _| format!("default {}", weight(limits))),
    ("io.latency", "io", "io.latency", |limits, device| {
        format!("{device} target={}", limits.io_latency.unwrap_or_default().target_us.unwrap_or(0))
    }),
    ("cpu.max", "cpu", "cpu.max", |limits, _| {
        let max = limits.cpu_max.unwrap_or_default();
        format!("{} {}", max.quota_us.map_or_else(|| "max".to_owned(), |us| us.to_string()), max.period_us)
    }),
    ("memory.max", "memory", "memory.max", |limits, _| {
        memory_bytes(limits).map_or_else(|| "max".to_owned(), |bytes| bytes.to_string())
    }),
];

const V1: [Row; 8] = [
    ("io.max", "blkio", "blkio.throttle.read_bps_device", |limits, device| bound(device, io_max(limits).rbps)),
    ("io.max", "blkio", "blkio.throttle.write_bps_device", |limits, device| bound(device, io_max(limits).wbps)),
    ("io.max", "blkio", "blkio.throttle.read_iops_device", |limits, device| bound(device, io_max(limits).riops)),
    ("io.max", "blkio", "blkio.throttle.write_iops_device", |limits, device| bound(device, io_max(limits).wiops)),
    ("io.weight", "blkio", "blkio.bfq.weight", |limits, _| weight(limits).to_string()),
    ("cpu.max", "cpu", "cpu.cfs_period_us", |limits, _| limits.cpu_max.unwrap_or_default().period_us.to_string()),
    ("cpu.max", "cpu", "cpu.cfs_quota_us", |limits, _| {
        limits.cpu_max.unwrap_or_default().quota_us.map_or_else(|| "-1".to_owned(), |us| us.to_string())
    }),
    ("memory.max", "memory", "memory.limit_in_bytes", |limits, _| {
        memory_bytes(limits).map_or_else(|| "-1".to_owned(), |bytes| bytes.to_string())
    }),
];

/// What version 1 has nothing for.
const ONLY_V2: [&str; 2] = ["io.latency", "io.cost"];

fn io_max(limits: &Limits) -> super::IoMax {
    limits.io_max.unwrap_or_default()
}

fn weight(limits: &Limits) -> u16 {
    limits.io_weight.unwrap_or_default().0
}

fn memory_bytes(limits: &Limits) -> Option<u64> {
    limits.memory_max.unwrap_or_default().0.map(|size| size.0)
}

/// A bound of version 1: 0 takes it away.
fn bound(device: &str, bound: Option<u64>) -> String {
    format!("{device} {}", bound.unwrap_or(0))
}

/// Whether `version` has a counterpart of `limit`.
pub(super) fn has_counterpart(limit: &str, version: Version) -> bool {
    version == Version::V2 || !ONLY_V2.contains(&limit)
}

/// The controllers that `limit` needs.
pub(super) fn controllers(limit: &str, version: Version) -> Vec<&'static str> {
    let mut all: Vec<&'static str> =
        rows(version).iter().filter(|row| row.0 == limit).map(|(_, controller, ..)| *controller).collect();
    all.dedup();
    all
}

/// The files that hold the limit `name`, with what `limits` say of it; `by_bfq` says whether weights count through
/// the scheduler bfq.
pub(super) fn files(limits: &Limits, name: &str, version: Version, device: &str, by_bfq: bool) -> Vec<GroupFile> {
    let other_weight = if by_bfq { "io.weight" } else { "io.bfq.weight" };
    let wanted = rows(version).iter().filter(|(limit, _, file, _)| *limit == name && *file != other_weight);
    wanted.map(|(_, controller, file, text)| GroupFile { controller, file, text: text(limits, device) }).collect()
}

fn rows(version: Version) -> &'static [Row] {
    match version {
        Version::V1 => &V1,
        Version::V2 => &V2,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(limits: serde_json::Value, version: Version, by_bfq: bool) -> Vec<String> {
        let limits: Limits = serde_json::from_value(limits).unwrap();
        let of = |name: &str| files(&limits, name, version, "8:0", by_bfq);
        let all = limits.set().flat_map(of);
        all.map(|GroupFile { controller, file, text }| format!("{controller}: {file} {text}")).collect()
    }

    fn all() -> serde_json::Value {
        json!({
            "io.max": "rbps=100MiB wiops=500", "io.weight": 50, "io.latency": "10ms", "io.cost": "auto",
            "io.prio.class": "idle", "cpu.max": "50ms 100ms", "memory.max": "1MiB",
        })
    }

    #[test]
    fn version_2_is_written_in_the_kernels_documented_forms() {
        let common = [
            "io: io.max 8:0 rbps=104857600 wbps=max riops=max wiops=500",
            "io: io.weight default 50",
            "io: io.latency 8:0 target=10000",
            "cpu: cpu.max 50000 100000",
            "memory: memory.max 1048576",
        ];
        assert_eq!(written(all(), Version::V2, false), common);
        assert_eq!(written(all(), Version::V2, true)[1], "io: io.bfq.weight default 50");
    }

    #[test]
    fn version_1_has_a_file_for_each_bound() {
        assert_eq!(
            written(all(), Version::V1, true),
            [
                "blkio: blkio.throttle.read_bps_device 8:0 104857600",
                "blkio: blkio.throttle.write_bps_device 8:0 0",
                "blkio: blkio.throttle.read_iops_device 8:0 0",
                "blkio: blkio.throttle.write_iops_device 8:0 500",
                "blkio: blkio.bfq.weight 50",
                "cpu: cpu.cfs_period_us 100000",
                "cpu: cpu.cfs_quota_us 50000",
                "memory: memory.limit_in_bytes 1048576",
            ]
        );
    }

    #[test]
    fn what_is_unset_is_taken_away() {
        let text = |name: &str, version| {
            let files = files(&Limits::default(), name, version, "8:0", false);
            files.into_iter().map(|file| file.text).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(text("io.max", Version::V2), "8:0 rbps=max wbps=max riops=max wiops=max");
        assert_eq!(text("io.latency", Version::V2), "8:0 target=0");
        assert_eq!(text("cpu.max", Version::V2), "max 100000");
        assert_eq!(text("memory.max", Version::V2), "max");
        assert_eq!(text("cpu.max", Version::V1), "100000; -1");
        assert_eq!(text("memory.max", Version::V1), "-1");
        assert_eq!(text("io.weight", Version::V1), "100");
    }

    #[test]
    fn every_limit_that_can_change_has_files_or_no_counterpart() {
        for name in Limits::CHANGEABLE {
            for version in [Version::V1, Version::V2] {
                assert_eq!(!controllers(name, version).is_empty(), has_counterpart(name, version), "{name}");
            }
        }
    }
}
