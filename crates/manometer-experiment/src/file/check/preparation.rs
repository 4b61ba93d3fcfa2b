//! The preparation: whether what is asked for can be had with these workloads.

use manometer_measure::Span;
use manometer_workload::files;
use manometer_workload::kv::KvPlan;
use manometer_workload::settings::WorkloadSettings;

use super::Checker;
use crate::file::experiment::Experiment;
use crate::file::prepare::PrepareTable;
use crate::file::tree::Node;
use crate::file::types::DeviceTable;

/// More of a device than this is not left unused.
const MOST_OVER_PROVISIONING: f64 = 0.9;

/// A settling is judged by a third of its time, in five rounds of at least four samples.
const FEWEST_SETTLE_INTERVALS: u32 = 60;

impl Checker<'_> {
    /// Reads the table `[prepare]`, which may be missing.
    pub(super) fn preparation(&mut self, root: &Node, interval: Span) -> Option<PrepareTable> {
        let Some(node) = root.get("prepare") else { return Some(PrepareTable::default()) };
        let table: PrepareTable = self.table(root, "prepare")?;
        let origin = |key: &str| node.get(key).map(|node| node.origin.clone());
        if table.over_provisioning.is_some_and(|share| !(0.0..=MOST_OVER_PROVISIONING).contains(&share)) {
            let help = format!("write a share of the device from 0 to {MOST_OVER_PROVISIONING}, such as 0.3");
            self.report("`over_provisioning` is no share", origin("over_provisioning").as_ref(), Some(&help));
        }
        if table.settle.is_some_and(|settle| settle.0 < interval.0 * FEWEST_SETTLE_INTERVALS) {
            let least = Span(interval.0 * FEWEST_SETTLE_INTERVALS);
            let help = format!("with samples every {interval} it takes at least {least} to tell that a run is steady");
            self.report("`settle` is too short to be judged", origin("settle").as_ref(), Some(&help));
        }
        for (key, asked) in [("settle", table.settle.is_some()), ("snapshot", table.snapshot)] {
            if asked && root.get("primary").is_none() {
                let help = "it is about the primary's database: write a primary, or leave it out";
                self.report(format!("`{key}` needs a primary"), origin(key).as_ref(), Some(help));
            }
        }
        Some(table)
    }

    pub(super) fn write_budget(&mut self, root: &Node, device: &DeviceTable) {
        if device.write_budget.is_some_and(|budget| budget.0 == 0) {
            let origin = root.get("device").and_then(|table| table.get("write_budget")).map(|node| node.origin.clone());
            let help = "write how many bytes may be written in all, such as 200GiB, or leave it out";
            self.report("a `write_budget` of nothing lets nothing run", origin.as_ref(), Some(help));
        }
    }
}

/// Why the primary of `run` cannot be prepared as asked.
pub(super) fn impossible(run: &Experiment) -> Option<String> {
    let (prepare, primary) = (&run.prepare, run.primary.as_ref()?);
    if prepare.snapshot && !matches!(primary.settings, WorkloadSettings::Kv(_)) {
        return Some("`snapshot` keeps a database, and the primary is no `kv` workload".to_owned());
    }
    if prepare.snapshot && !primary.settings.keeps_data() {
        return Some("`snapshot` keeps a database, and the primary's engine leaves none in its folder".to_owned());
    }
    let other_data = match &primary.settings {
        WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => true,
        // A run leaves other files behind than it began with.
        WorkloadSettings::Files(files) => !files::is_stable(files),
        WorkloadSettings::Io(_) | WorkloadSettings::Kv(_) => false,
    };
    let outlives = !other_data && primary.settings.keeps_data();
    if prepare.settle.is_some() && !outlives {
        return Some(
            "`settle` brings the primary's data into a state, and this primary leaves none that a later run could \
             begin with: use a longer `plan.warmup`"
                .to_owned(),
        );
    }
    let WorkloadSettings::Kv(kv) = &primary.settings else { return None };
    let unstable = KvPlan::new(kv).ok()?.work.unstable()?;
    let asked = [("settle", prepare.settle.is_some()), ("snapshot", prepare.snapshot)];
    let (key, _) = asked.into_iter().find(|(_, asked)| *asked)?;
    Some(format!(
        "`{key}` cannot be had with this primary ({unstable}): its data would be other data then; without it every run \
         loads them anew"
    ))
}
