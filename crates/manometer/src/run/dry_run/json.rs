//! The dry run as JSON.

use manometer_experiment::isolate;
use manometer_experiment::queue::PlannedRun;
use manometer_experiment::queue::cost::{RunCost, SetCost};
use manometer_experiment::queue::dry_run::DirectoryPreparation;
use manometer_measure::Plan;
use serde_json::{Value, json};

use super::DryRunReport;
use crate::preparation;

const UNBOUNDED: &str = "unbounded: the bytes that workloads write depend on the device; `rate` bounds them, and \
    `--write-speed` estimates them";

/// One document.
pub(super) fn document(report: &DryRunReport<'_>) -> Value {
    let dry = &report.dry_run;
    let run = |((run, plan), cost): ((&PlannedRun, &Plan), &RunCost)| {
        let experiment = &run.experiment;
        json!({
            "settings": experiment.swept, "experiment": experiment.resolved, "plan": plan,
            "repeat": run.repeat, "reference": run.combination.is_none(),
            "duration_s": plan.duration_s(), "bytes_to_prepare": cost.prepared_bytes,
            "write_budget_bytes": experiment.write_budget.map(|budget| budget.0), "isolation": isolate::describe(experiment),
        })
    };
    let SetCost { min: least, max: most, .. } = &dry.costs;
    let written = dry.max_written_bytes();
    let preparation = |one: &DirectoryPreparation<'_>| {
        let mut document = preparation::document(&one.first.directory, &one.budgets, one.ledger, &one.steps);
        document["directory"] = json!(one.first.directory);
        document["bytes_by_runs"] = one.by_workers_bytes.into();
        document
    };
    let runs = dry.runs.iter().zip(&dry.plans).zip(&dry.costs.runs);
    let mut document = json!({
        "runs": runs.map(run).collect::<Vec<_>>(),
        "preparations": dry.preparations().iter().map(preparation).collect::<Vec<_>>(),
        "duration_s": least.seconds, "duration_s_at_most": most.seconds, "settle_s_at_most": most.settle_s,
        "bytes_to_prepare": least.prepared_bytes, "bytes_to_prepare_at_most": most.prepared_bytes,
        "bytes_written_at_most": written,
        "findings": dry.findings,
    });
    if let Some(forecast) = &report.forecast {
        document["forecast"] = json!(forecast);
    }
    if written.is_none() {
        document["reason"] = UNBOUNDED.into();
    }
    document
}
