//! The order and the repeats of a sweep, and when measuring may stop.

use serde_json::Value;

use super::Checker;
use super::reading::{nearest_of, property_names};
use crate::file::sweep::{Order, PhaseStop, SweepRules, SweepStop, SweepTable};
use crate::file::tree::Node;
use crate::file::types::PlanTable;

/// More repeats, or runs from one reference to the next, are a slip of the finger.
const MOST_RUNS: u32 = 1000;

/// The keys of `[sweep]` that are no settings: these hold a dot.
fn words() -> Vec<String> {
    property_names::<SweepTable>().into_iter().filter(|name| name != "settings").collect()
}

impl Checker<'_> {
    /// What `[sweep]` says beside its settings.
    pub(super) fn sweep_rules(&mut self, root: &Node, settings: &[(String, Vec<Value>)]) -> SweepRules {
        let unsaid = SweepTable::default();
        let Some(table) = root.get("sweep") else { return unsaid.rules() };
        for (key, node) in table.entries().iter().filter(|(key, _)| !key.contains('.') && !words().contains(key)) {
            let help = match node.is_table() {
                true => "write settings in quotes: `\"workload.setting\" = [values]`".to_owned(),
                false => nearest_of(key, words().iter().map(String::as_str)),
            };
            self.report(format!("`{key}` is no key of a sweep"), Some(&node.key_origin), Some(&help));
        }
        let stop: Option<SweepStop> = table.get("stop").and_then(|node| self.whole_table(node, "stop"));
        let order: Option<Order> = self.optional(table, "order");
        let read = SweepTable {
            order: order.unwrap_or_default(),
            repeats: self.optional(table, "repeats"),
            reference_every: self.optional(table, "reference_every"),
            stop,
            ..unsaid
        };
        self.counts(table, &read);
        if read.stop.is_some() && root.get("primary").is_none() {
            let origin = table.get("stop").map(|node| node.key_origin.clone());
            let help = "the interval is that of a pressure: write a primary, or say `repeats`";
            self.report("`stop` of a sweep needs a primary", origin.as_ref(), Some(help));
        }
        let rules = read.rules();
        let repeats = rules.until.map_or(rules.repeats, |(_, most)| most);
        let sizes = settings.iter().map(|(_, values)| values.len()).chain([repeats as usize]);
        self.product_is_bounded("sweep", sizes, &table.key_origin);
        rules
    }

    fn counts(&mut self, table: &Node, read: &SweepTable) {
        let rules = read.rules();
        let mut refuse = |key: &str, message: String, help: &str| {
            let origin = table.get(key).map(|node| node.origin.clone());
            self.report(message, origin.as_ref(), Some(help));
        };
        if let Some(repeats) = read.repeats.filter(|repeats| !(1..=MOST_RUNS).contains(repeats)) {
            let help = format!("each combination runs 1 to {MOST_RUNS} times");
            refuse("repeats", format!("{repeats} repeats are out of range"), &help);
        }
        if let Some(every) = read.reference_every {
            if !(2..=MOST_RUNS).contains(&every) {
                let help = format!("every 2nd to every {MOST_RUNS}th run can be the reference");
                refuse("reference_every", format!("`reference_every = {every}` is out of range"), &help);
            } else if !table.entries().iter().any(|(key, _)| key.contains('.')) {
                let help =
                    "the reference is the file without the sweep's settings: with `repeats` alone every run is one";
                refuse("reference_every", "a reference needs settings that are swept".to_owned(), help);
            }
        }
        if let Some((_, most)) = rules.until.filter(|(_, most)| *most < rules.repeats || *most > MOST_RUNS) {
            let help = format!(
                "each combination runs at least {} times (`repeats`, and never fewer than 3), at most {MOST_RUNS} times",
                rules.repeats
            );
            refuse("stop", format!("`at_most = {most}` is out of range"), &help);
        }
    }

    /// When a phase has been measured for long enough.
    pub(super) fn phase_stop(&mut self, root: &Node, plan: &PlanTable) -> Option<PhaseStop> {
        let node = root.get("plan").and_then(|plan| plan.get("stop"))?;
        let stop: PhaseStop = self.whole_table(node, "stop")?;
        let longest = plan.step.iter().filter_map(|step| step.phase).chain(plan.baseline).fold(plan.phase, Ord::max);
        if let Some(at_most) = stop.at_most.filter(|at_most| *at_most < longest) {
            let origin = node.get("at_most").map(|node| node.origin.clone());
            let help = format!("the longest phase takes {longest}: say as much or more");
            self.report(format!("`at_most = {at_most}` is shorter than a phase"), origin.as_ref(), Some(&help));
        }
        Some(stop)
    }

    /// Reads a table whose keys are those of `T`.
    fn whole_table<T: serde::de::DeserializeOwned + schemars::JsonSchema>(
        &mut self,
        node: &Node,
        key: &str,
    ) -> Option<T> {
        let found_before = self.complaints.len();
        self.known_keys(node, &property_names::<T>());
        // A misspelt key would be told again as a missing one.
        (self.complaints.len() == found_before).then(|| self.value(node, key))?
    }
}
