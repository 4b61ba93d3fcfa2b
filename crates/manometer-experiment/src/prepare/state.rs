//! `device_state` of `environment.json`: in which state the device is when a run begins.

use serde_json::{Value, json};

use super::ledger::{Book, Prepared};
use super::space::Space;
use crate::file::Experiment;

/// The state as `book` and the directory show it; what is not known is null.
pub(super) fn state(
    experiment: &Experiment,
    book: &Book,
    space: Option<Space>,
    snapshot: Option<&str>,
    settled: Option<&Prepared>,
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
        "settled": settled,
    })
}
