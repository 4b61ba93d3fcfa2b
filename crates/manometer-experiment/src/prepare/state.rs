//! `device_state` of `environment.json`: in which state the device is when a run begins.

use std::path::Path;

use manometer_measure::host;
use serde::Serialize;
use serde_json::{Value, json};

use super::ledger::{Book, Prepared};
use super::space::Space;
use crate::file::Experiment;

/// How much of the device and of the file system is used at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Used {
    /// What of the NVMe namespaces holds data; nothing where there is none, or it does not say.
    utilisation_bytes: Option<u64>,
    /// The share of the file system that is not free.
    file_system_share: Option<f64>,
}

impl Used {
    /// That under `directory` now.
    pub(super) fn of(directory: &Path) -> Self {
        let share = |space: Space| 1.0 - space.free_bytes as f64 / space.size_bytes as f64;
        Self {
            utilisation_bytes: host::utilisation_bytes(directory),
            file_system_share: Space::of(directory).map(share).filter(|share| share.is_finite()),
        }
    }
}

/// What was used before databases were copied, and after: copies move it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Copies {
    pub(super) before: Used,
    pub(super) after: Used,
}

/// The state as `book` and the directory show it; what is not known is null.
pub(super) fn state(
    experiment: &Experiment,
    book: &Book,
    space: Option<Space>,
    snapshot: Option<&str>,
    settled: Option<&Prepared>,
    copies: Option<Copies>,
) -> Value {
    let precondition = book
        .precondition()
        .map(|(kind, bytes, at_unix_s)| json!({ "kind": kind.name(), "bytes": bytes, "at_unix_s": at_unix_s }));
    let over_provisioning =
        experiment.prepare.over_provisioning.and_then(|share| Some(space?.over_provisioning(share)));
    let settled = settled.and_then(|prepared| {
        let settled = prepared.settled?;
        Some(json!({ "steady": settled.steady, "seconds": settled.seconds, "under": prepared.settings }))
    });
    json!({
        "written_bytes": book.written_bytes(),
        "budget_bytes": experiment.write_budget.map(|budget| budget.0),
        "precondition": precondition,
        "written_since_precondition_bytes": book.written_since_precondition_bytes(),
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
    fn what_is_used_is_told_with_gaps() {
        let used = Used::of(tempfile::tempdir().unwrap().path());
        assert!(used.file_system_share.is_some_and(|share| (0.0..=1.0).contains(&share)), "{used:?}");
        let unknown = Used { utilisation_bytes: None, file_system_share: None };
        let known = Used { utilisation_bytes: Some(1 << 40), file_system_share: Some(0.5) };
        let told = serde_json::to_value(Copies { before: unknown, after: known }).unwrap();
        assert_eq!(told["before"], json!({ "utilisation_bytes": null, "file_system_share": null }));
        assert_eq!(told["after"], json!({ "utilisation_bytes": 1_u64 << 40, "file_system_share": 0.5 }));
    }
}
