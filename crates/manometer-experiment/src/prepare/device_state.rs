//! `device_state` in `environment.json`: the state of the device at the start of a run.

use std::path::Path;

use manometer_measure::host;
use serde::Serialize;
use serde_json::{Value, json};

use super::ledger::{LedgerEntries, PreparedData};
use super::space::Space;
use crate::definition::Experiment;

/// How much of the device and of the file system is in use at one time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct SpaceUsage {
    /// The allocated space of the NVMe namespaces; nothing without one, or where it is not reported.
    utilisation_bytes: Option<u64>,
    /// The used share of the file system.
    file_system_share: Option<f64>,
}

impl SpaceUsage {
    /// The current usage below `directory`.
    pub(super) fn of(directory: &Path) -> Self {
        let share = |space: Space| 1.0 - space.free_bytes as f64 / space.size_bytes as f64;
        Self {
            utilisation_bytes: host::utilisation_bytes(directory),
            file_system_share: Space::of(directory).map(share).filter(|share| share.is_finite()),
        }
    }
}

/// The usage before and after databases were copied.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct CopyUsage {
    pub(super) before: SpaceUsage,
    pub(super) after: SpaceUsage,
}

/// The state by the ledger and the directory. Unknown values are null.
pub(super) fn device_state(
    experiment: &Experiment,
    entries: &LedgerEntries,
    space: Option<Space>,
    snapshot: Option<&str>,
    settled: Option<&PreparedData>,
    copies: Option<CopyUsage>,
) -> Value {
    let precondition = entries
        .precondition()
        .map(|(kind, bytes, at_unix_s)| json!({ "kind": kind.name(), "bytes": bytes, "at_unix_s": at_unix_s }));
    let over_provisioning =
        experiment.prepare.over_provisioning.and_then(|share| Some(space?.over_provisioning(share)));
    let settled = settled.and_then(|prepared| {
        let settled = prepared.settled?;
        Some(json!({ "steady": settled.steady, "seconds": settled.seconds, "under": prepared.settings }))
    });
    json!({
        "written_bytes": entries.written_bytes(),
        "budget_bytes": experiment.write_budget.map(|budget| budget.0),
        "precondition": precondition,
        "written_since_precondition_bytes": entries.written_since_precondition_bytes(),
        "over_provisioning": over_provisioning,
        "snapshot": snapshot,
        "copies": copies,
        "settled": settled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_usage_is_null() {
        let used = SpaceUsage::of(tempfile::tempdir().unwrap().path());
        assert!(used.file_system_share.is_some_and(|share| (0.0..=1.0).contains(&share)), "{used:?}");
        let unknown = SpaceUsage { utilisation_bytes: None, file_system_share: None };
        let known = SpaceUsage { utilisation_bytes: Some(1 << 40), file_system_share: Some(0.5) };
        let json = serde_json::to_value(CopyUsage { before: unknown, after: known }).unwrap();
        assert_eq!(json["before"], json!({ "utilisation_bytes": null, "file_system_share": null }));
        assert_eq!(json["after"], json!({ "utilisation_bytes": 1_u64 << 40, "file_system_share": 0.5 }));
    }
}
