//! The files of control groups that hold limits, in version 2 and in version 1: tables with one row per file.

use crate::limits::{IoMax, Limits};

/// The version of the control groups of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CgroupVersion {
    V1,
    V2,
}

impl CgroupVersion {
    pub(super) fn number(self) -> u8 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

/// A file of a group and the text written into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupFile {
    pub controller: &'static str,
    pub file: &'static str,
    pub text: String,
}

/// A limit, its controller and its file, and its text for a device number. The text of an unset limit removes it.
type LimitFile = (&'static str, &'static str, &'static str, fn(&Limits, &str) -> String);

const V2: [LimitFile; 6] = [
    ("io.max", "io", "io.max", |limits, device| {
        format!("{device} {}", limits.io_max.unwrap_or_default().kernel_value())
    }),
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

const V1: [LimitFile; 8] = [
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

/// The limits that version 1 does not have.
const V2_ONLY: [&str; 2] = ["io.latency", "io.cost"];

fn io_max(limits: &Limits) -> IoMax {
    limits.io_max.unwrap_or_default()
}

fn weight(limits: &Limits) -> u16 {
    limits.io_weight.unwrap_or_default().0
}

fn memory_bytes(limits: &Limits) -> Option<u64> {
    limits.memory_max.unwrap_or_default().0.map(|size| size.0)
}

/// A bound in version 1. 0 removes it.
fn bound(device: &str, bound: Option<u64>) -> String {
    format!("{device} {}", bound.unwrap_or(0))
}

/// Whether `version` supports `limit`.
pub(super) fn is_supported(limit: &str, version: CgroupVersion) -> bool {
    version == CgroupVersion::V2 || !V2_ONLY.contains(&limit)
}

/// The controllers of `limit`.
pub(super) fn controllers(limit: &str, version: CgroupVersion) -> Vec<&'static str> {
    let mut all: Vec<&'static str> =
        rows(version).iter().filter(|row| row.0 == limit).map(|(_, controller, ..)| *controller).collect();
    all.dedup();
    all
}

/// The files of the limit `name` with its values in `limits`; `by_bfq`: the scheduler bfq applies the weights.
pub(super) fn limit_files(
    limits: &Limits,
    name: &str,
    version: CgroupVersion,
    device: &str,
    by_bfq: bool,
) -> Vec<CgroupFile> {
    let unused_weight_file = if by_bfq { "io.weight" } else { "io.bfq.weight" };
    let matching = rows(version).iter().filter(|(limit, _, file, _)| *limit == name && *file != unused_weight_file);
    matching.map(|(_, controller, file, text)| CgroupFile { controller, file, text: text(limits, device) }).collect()
}

fn rows(version: CgroupVersion) -> &'static [LimitFile] {
    match version {
        CgroupVersion::V1 => &V1,
        CgroupVersion::V2 => &V2,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(limits: serde_json::Value, version: CgroupVersion, by_bfq: bool) -> Vec<String> {
        let limits: Limits = serde_json::from_value(limits).unwrap();
        let of = |name: &str| limit_files(&limits, name, version, "8:0", by_bfq);
        let all = limits.names_set().flat_map(of);
        all.map(|CgroupFile { controller, file, text }| format!("{controller}: {file} {text}")).collect()
    }

    fn all() -> serde_json::Value {
        json!({
            "io.max": "rbps=100MiB wiops=500", "io.weight": 50, "io.latency": "10ms", "io.cost": "auto",
            "io.prio.class": "idle", "cpu.max": "50ms 100ms", "memory.max": "1MiB",
        })
    }

    #[test]
    fn limits_of_version_2_are_written_in_the_kernels_format() {
        let common = [
            "io: io.max 8:0 rbps=104857600 wbps=max riops=max wiops=500",
            "io: io.weight default 50",
            "io: io.latency 8:0 target=10000",
            "cpu: cpu.max 50000 100000",
            "memory: memory.max 1048576",
        ];
        assert_eq!(written(all(), CgroupVersion::V2, false), common);
        assert_eq!(written(all(), CgroupVersion::V2, true)[1], "io: io.bfq.weight default 50");
    }

    #[test]
    fn version_1_has_one_file_per_bound() {
        assert_eq!(
            written(all(), CgroupVersion::V1, true),
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
    fn unset_limits_are_removed() {
        let text = |name: &str, version| {
            let files = limit_files(&Limits::default(), name, version, "8:0", false);
            files.into_iter().map(|file| file.text).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(text("io.max", CgroupVersion::V2), "8:0 rbps=max wbps=max riops=max wiops=max");
        assert_eq!(text("io.latency", CgroupVersion::V2), "8:0 target=0");
        assert_eq!(text("cpu.max", CgroupVersion::V2), "max 100000");
        assert_eq!(text("memory.max", CgroupVersion::V2), "max");
        assert_eq!(text("cpu.max", CgroupVersion::V1), "100000; -1");
        assert_eq!(text("memory.max", CgroupVersion::V1), "-1");
        assert_eq!(text("io.weight", CgroupVersion::V1), "100");
    }

    #[test]
    fn every_changeable_limit_has_files_or_is_unsupported() {
        for name in Limits::CHANGEABLE {
            for version in [CgroupVersion::V1, CgroupVersion::V2] {
                assert_eq!(!controllers(name, version).is_empty(), is_supported(name, version), "{name}");
            }
        }
    }
}
