//! The table `[prepare]`, and whether the workloads support it.

use manometer_measure::Span;
use manometer_workload::files;
use manometer_workload::kv::KvPlan;
use manometer_workload::settings::WorkloadSettings;

use super::Checker;
use crate::definition::{Experiment, PrepareSettings};
use crate::file::tables::DeviceTable;
use crate::file::tree::Node;

/// The maximum share of a device that is left unused.
const MAX_OVER_PROVISIONING: f64 = 0.9;

/// The minimum of `settle` in sample intervals: a third of it is judged, in five rounds of at least four samples.
const MIN_SETTLE_INTERVALS: u32 = 60;

impl Checker<'_> {
    /// Reads the optional table `[prepare]`.
    pub(super) fn read_preparation(&mut self, root: &Node, interval: Span) -> Option<PrepareSettings> {
        let Some(node) = root.get("prepare") else { return Some(PrepareSettings::default()) };
        let table: PrepareSettings = self.read_root_table(root, "prepare")?;
        let origin = |key: &str| node.get(key).map(|node| node.origin.clone());
        if table.over_provisioning.is_some_and(|share| !(0.0..=MAX_OVER_PROVISIONING).contains(&share)) {
            let help = format!("write a share of the device from 0 to {MAX_OVER_PROVISIONING}, such as 0.3");
            self.report("`over_provisioning` is out of range", origin("over_provisioning").as_ref(), Some(&help));
        }
        if table.settle.is_some_and(|settle| settle.0 < interval.0 * MIN_SETTLE_INTERVALS) {
            let least = Span(interval.0 * MIN_SETTLE_INTERVALS);
            let help =
                format!("with samples every {interval}, a steady state is recognised after {least} at the earliest");
            self.report("`settle` is too short", origin("settle").as_ref(), Some(&help));
        }
        for (key, is_set) in [("settle", table.settle.is_some()), ("snapshot", table.snapshot)] {
            if is_set && root.get("primary").is_none() {
                let help = "it prepares the primary's database: add a `[primary]`, or remove it";
                self.report(format!("`{key}` needs a primary"), origin(key).as_ref(), Some(help));
            }
        }
        Some(table)
    }

    pub(super) fn check_write_budget(&mut self, root: &Node, device: &DeviceTable) {
        if device.write_budget.is_some_and(|budget| budget.0 == 0) {
            let origin = root.get("device").and_then(|table| table.get("write_budget")).map(|node| node.origin.clone());
            let help = "write a number of bytes, such as 200GiB, or remove it";
            self.report("`write_budget` must be above 0", origin.as_ref(), Some(help));
        }
    }
}

/// Why the primary of `run` does not support the requested preparation.
pub(super) fn unsupported(run: &Experiment) -> Option<String> {
    let (prepare, primary) = (&run.prepare, run.primary.as_ref()?);
    if prepare.snapshot && !matches!(primary.settings, WorkloadSettings::Kv(_)) {
        return Some("`snapshot` needs a `kv` primary".to_owned());
    }
    if prepare.snapshot && !primary.settings.keeps_data() {
        return Some("`snapshot` needs a database on disk, and the primary's engine keeps none".to_owned());
    }
    let other_data = match &primary.settings {
        WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => true,
        // A run creates and deletes files.
        WorkloadSettings::Files(files) => !files::is_stable(files),
        WorkloadSettings::Io(_) | WorkloadSettings::Paths(_) | WorkloadSettings::Kv(_) => false,
    };
    let outlives = !other_data && primary.settings.keeps_data();
    if prepare.settle.is_some() && !outlives {
        return Some(
            "`settle` needs data that outlive the primary, and this primary leaves none for a later run: use a longer \
             `plan.warmup`"
                .to_owned(),
        );
    }
    let WorkloadSettings::Kv(kv) = &primary.settings else { return None };
    let unstable = KvPlan::new(kv).ok()?.spec.unstable()?;
    let settings = [("settle", prepare.settle.is_some()), ("snapshot", prepare.snapshot)];
    let (key, _) = settings.into_iter().find(|(_, is_set)| *is_set)?;
    Some(format!(
        "`{key}` is not supported with this primary ({unstable}): a run changes its data; without it, every run loads \
         them again"
    ))
}
